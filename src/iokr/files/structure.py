"""A model as data: every object by its name in files and its state, written once, arrays apart."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from iokr._array import is_array, is_numpy, is_sparse
from iokr._state import Stateful, state_of
from iokr.files.arrays import ArrayWriter
from iokr.files.objects import SEQUENCES, SPARSE, Packer, is_graph, kind_of
from iokr.files.registry import name_of
from iokr.files.trees import is_tree, tree_fields

__all__ = ["BIT_GENERATORS", "TYPES", "Hole", "Writer", "role_of"]

TYPES: dict[str, Any] = {
    cls.__name__: cls for cls in (str, bytes, int, float, bool, tuple, list, set, frozenset, dict, np.ndarray)
}
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_FEW = 16  # objects of a list that are written one by one
_LONG = 200  # characters of a text that goes to the arrays


@dataclass(frozen=True)
class Hole:
    """A function, a foreign object, or the class of a user's component, which a file names and does not hold."""

    path: str  # as in get_params
    kind: str  # "function", "object" or "class"
    module: str
    name: str  # of the function, or of the class
    role: str = ""  # of a class: the public base class, such as Kernel

    def __str__(self) -> str:
        what = {"function": "the function", "class": "the class"}.get(self.kind, "an object of")
        return f"`{self.path}`, {what} {self.module}.{self.name}"


class Writer:
    """`node` describes a value in JSON; objects, arrays and holes are collected."""

    def __init__(self, model: Any = None) -> None:
        self.arrays, self.objects = ArrayWriter(), list[Any]()
        self.holes: list[Hole] = []
        self._packer = Packer(self.arrays.add, _describe)
        self._numbers: dict[int, int] = {}  # of objects by their address
        self._alive: list[Any] = []
        self._given = dict(_foreign_parameters(model, ()))
        self._by_address = {id(value): path for path, value in self._given.items()}
        self._names = set(model.get_params()) if isinstance(model, BaseEstimator) else set()

    def node(self, value: Any, path: str = "", *, few: int = _FEW) -> Any:
        """A value in JSON; a container of more than `few` plain things as arrays."""
        cls = type(value)
        if value is None or cls is bool or (cls is str and len(value) <= _LONG and value.isprintable()):
            return value
        if cls is int and abs(value) < 1 << 63:
            return value
        if cls is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if cls in SEQUENCES or cls is dict:
            return self._container(value, path, few)
        if cls in (int, str, complex, bytes) or isinstance(value, np.generic) or is_graph(value):
            return {"packed": self._packer.pack([value], path)}
        if cls is slice or cls is range:
            return {cls.__name__: [self.node(getattr(value, name), path) for name in ("start", "stop", "step")]}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, type) and (known := [name for name in TYPES if TYPES[name] is value]):
            return {"type": known[0]}
        if is_array(value) and not (is_numpy(value) and value.dtype == object):
            return {"array": self.arrays.add(value, path)}
        return self._object(value, path)

    def _container(self, value: Any, path: str, few: int) -> Any:
        name = type(value).__name__
        if len(value) > few and _is_plain(value):
            return {"packed": self._packer.pack([value], path)}
        if isinstance(value, dict):
            return {"dict": [[self.node(k, f"{path}.keys"), self.node(v, f"{path}.{k}")] for k, v in value.items()]}
        items = value
        if isinstance(value, (set, frozenset)):
            items = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
        return {name: [self.node(item, f"{path}.{i}") for i, item in enumerate(items)]}

    def _object(self, value: Any, path: str) -> dict[str, int]:
        """Things that have an identity: each is written where it is first seen."""
        if id(value) in self._numbers:
            return {"object": self._numbers[id(value)]}
        special = self._special(value)
        if special is None and name_of(type(value)) is None and not isinstance(value, Stateful):
            return {"hole": self._hole(value, path)}
        number = self._numbers[id(value)] = len(self.objects)
        self._alive.append(value)
        self.objects.append(None)
        self.objects[number] = self._component(value, path) if special is None else self._described(*special, path)
        return {"object": number}

    def _described(self, tag: dict[str, Any], fields: dict[str, Any], path: str) -> dict[str, Any]:
        few = 0 if "objects" in tag else _FEW
        nodes = {f: self.node(v, path if f == "items" else f"{path}.{f}", few=few) for f, v in fields.items()}
        return {**tag, "fields": nodes}

    def _special(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """(tag, fields) of sparse matrices, trees, random states and arrays of objects."""
        cls = type(value)
        if is_sparse(value) and cls.__name__ in SPARSE:
            parts = {name: getattr(value, name) for name in SPARSE[cls.__name__]}
            return {"sparse": cls.__name__, "shape": [int(n) for n in value.shape]}, parts
        if is_tree(value):
            return {"tree": "sklearn"}, tree_fields(value)
        if isinstance(value, np.random.Generator) and type(value.bit_generator).__name__ in BIT_GENERATORS:
            return {"random": type(value.bit_generator).__name__}, {"state": value.bit_generator.state}
        if cls is np.random.RandomState:
            return {"random": "RandomState"}, {"state": value.get_state(legacy=False)}
        if cls is np.ndarray:
            return None if value.dtype != object else ({"objects": list(value.shape)}, {"items": list(value.ravel())})
        return None

    def _component(self, value: Any, path: str) -> dict[str, Any]:
        cls = type(value)
        name = name_of(cls)
        origin = {"part": self._class_hole(value, path)} if name is None else {"class": name}
        state = _state(value)
        parameters = set(value.get_params(deep=False)) if isinstance(value, BaseEstimator) else set()

        # parameters first, then what was fitted of each, so that these name the holes
        first = [f for f in state if f in parameters]
        fitted = [f for f in state if f not in parameters and f.removesuffix("_") in parameters]
        nodes = {f: self.node(state[f], f"{path}.{f}".lstrip(".")) for f in dict.fromkeys([*first, *fitted, *state])}
        return {**origin, "fields": {f: nodes[f] for f in state}}

    def _hole(self, value: Any, path: str) -> int:
        """The number of the hole that a function or a foreign object leaves."""
        path = self._parameter(value, path)
        known = [hole.path for hole in self.holes]
        if path in known:
            return known.index(path)
        self.holes.append(Hole(path, *_named(value, path)))
        return len(known)

    def _class_hole(self, value: Any, path: str) -> int:
        """The number of the hole for the class of a user's component: one for all objects of the class."""
        _, module, name = _named(value, path)
        known = [(hole.kind, hole.module, hole.name) for hole in self.holes]
        if ("class", module, name) in known:
            return known.index(("class", module, name))
        self.holes.append(Hole(self._parameter(value, path), "class", module, name, role_of(type(value))))
        return len(known)

    def _parameter(self, value: Any, path: str) -> str:
        """The parameter that an object is, or was fitted from."""
        if id(value) in self._by_address:
            return self._by_address[id(value)]
        place = "__".join(part.removesuffix("_") for part in path.split("."))
        if place in self._given or (place in self._names and path.endswith("_")):  # or fitted where None was given
            return place
        same_class = [p for p, given in self._given.items() if type(given) is type(value)]
        if len(same_class) == 1 and not _is_function(value):
            return same_class[0]
        cls = type(value)
        raise TypeError(
            f"`{path}` is an object of {cls.__module__}.{cls.__qualname__}, which a file cannot hold as data. It "
            "cannot be left out, as it is not a parameter of the model."
        )


def role_of(cls: type) -> str:
    """The public base class of a component, such as Kernel; "" for other classes."""
    from iokr import extend

    names = [base.__name__ for base in cls.__mro__ if getattr(extend, base.__name__, None) is base]
    return next((name for name in reversed(names) if name != "Component"), "")


def _state(value: Any) -> dict[str, Any]:
    return value.state() if isinstance(value, Stateful) else state_of(value)


def _describe(value: Any) -> tuple[str, dict[str, Any]] | None:
    """(name, state) of a value of ours; None for estimators, components and other objects."""
    name = name_of(type(value))
    if name is None or isinstance(value, BaseEstimator):  # estimators have an identity
        return None
    return name, _state(value)


def _is_plain(value: Any) -> bool:
    """Whether an object can be put end to end with others; nothing is stored."""
    try:
        Packer(lambda array, name: 0, _describe).pack([value], "")
    except TypeError:
        return False
    return True


def _is_function(value: Any) -> bool:
    return callable(value) and hasattr(value, "__qualname__") and not isinstance(value, type)


def _foreign_parameters(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """(path, object) of the parameters that are functions or objects of others."""
    ours = isinstance(value, Stateful)
    if ours and isinstance(value, BaseEstimator):
        if path and name_of(type(value)) is None:
            yield "__".join(path), value
        for name, part in value.get_params(deep=False).items():
            yield from _foreign_parameters(part, (*path, name))
    elif is_dataclass(value) and not isinstance(value, type) and name_of(type(value)) is not None:
        for field in fields(value):
            yield from _foreign_parameters(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _foreign_parameters(part, (*path, str(i)))
    elif path and (_is_function(value) or (hasattr(value, "__dict__") and kind_of(value, _describe) is None)):
        yield "__".join(path), value


def _named(value: Any, path: str) -> tuple[str, str, str]:
    """(kind, module, name) of something that a program finds again by its name."""
    kind, named = ("function", value) if _is_function(value) else ("object", type(value))
    module, name = getattr(named, "__module__", None) or "", getattr(named, "__qualname__", "")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not named:
        raise TypeError(
            f"`{path}` is {value!r:.80}, which has no name in its module, so a file cannot refer to it; define it at "
            "the top level of a module."
        )
    return kind, module, name
