"""From JSON and arrays back to a model: classes from the registry, fields as data, nothing executed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from iokr.data.objects import as_objects
from iokr.files.arrays import ArrayReader, check_dtype
from iokr.files.format1 import RENAMED, renewed
from iokr.files.objects import SPARSE, Unpacker, make_sparse
from iokr.files.registry import class_of
from iokr.files.structure import BIT_GENERATORS, TYPES, Hole
from iokr.files.trees import make_tree

__all__ = ["Reader", "UnknownClass"]

_FLOATS = ("nan", "inf", "-inf")


class UnknownClass(ValueError):
    """A class that this version does not have."""


class Reader:
    """`value` makes what a node describes; whatever does not fit together is an error of Python's own."""

    def __init__(self, objects: list[Any], arrays: ArrayReader, holes: list[Hole], parts: Mapping[str, Any]) -> None:
        self._objects, self._arrays, self._holes, self._parts = objects, arrays, holes, parts
        self._made: dict[int, Any] = {}
        self._begun: set[int] = set()
        self._unpacker = Unpacker(arrays, _make)

    def value(self, node: Any) -> Any:
        """What a node describes."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        ((tag, content),) = node.items()
        match tag:
            case "float" if content in _FLOATS:
                return float(content)
            case "list" | "tuple" | "set" | "frozenset":
                return TYPES[tag](self.value(item) for item in content)
            case "dict":
                return {self.value(key): self.value(item) for key, item in content}
            case "packed":
                (value,) = self._unpacker.unpack(content)
                return value
            case "array":
                return self._arrays.get(content)
            case "object":
                return self._object(content)
            case "hole":
                return self._parts[self._holes[content].path]
            case "slice":
                return slice(*(self.value(item) for item in content))
            case "range":
                return range(*(self.value(item) for item in content))
            case "dtype":
                return check_dtype(content)
            case "type":
                return TYPES[content]
        raise ValueError(f"{tag!r:.40} is no kind of value")

    def _object(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._objects):
            raise ValueError(f"there is no object {number!r:.40}")
        if number in self._made:
            return self._made[number]
        if number in self._begun:
            raise ValueError(f"object {number} holds itself")
        entry = self._objects[number]
        if "class" in entry:
            cls = _class(entry["class"])
            if not issubclass(cls, tuple):
                shell = self._made[number] = cls.__new__(cls)
                _fill(shell, entry["class"], {f: self.value(node) for f, node in entry["fields"].items()})
                return shell
        self._begun.add(number)
        fields = {f: self.value(node) for f, node in entry["fields"].items()}
        self._made[number] = _make(entry["class"], fields) if "class" in entry else _special(entry, fields)
        return self._made[number]


def _class(name: Any) -> Any:
    cls = class_of(renewed(name))
    if cls is None:
        raise UnknownClass(f"{name!r:.60}")
    return cls


def _fill(shell: Any, name: Any, fields: dict[str, Any]) -> None:
    if name in RENAMED:
        fields = RENAMED[name][1](fields)
    if not all(name.isidentifier() for name in fields):
        raise ValueError("a field has no name")
    vars(shell).update(fields)


def _make(name: Any, fields: dict[str, Any]) -> Any:
    """An object of a registered class."""
    cls = _class(name)
    if issubclass(cls, tuple):
        return cls(**fields)
    shell = cls.__new__(cls)
    _fill(shell, name, fields)
    return shell


def _special(entry: Mapping[str, Any], fields: dict[str, Any]) -> Any:
    """What is no object of ours: sparse matrices, trees, random states, arrays of objects."""
    if "sparse" in entry:
        return make_sparse(entry["sparse"], entry["shape"], [fields[name] for name in SPARSE[entry["sparse"]]])
    if "tree" in entry:
        return make_tree(fields)
    if "objects" in entry:
        return as_objects(fields["items"]).reshape([int(n) for n in entry["objects"]])
    if entry["random"] == "RandomState":
        legacy = np.random.RandomState(0)
        legacy.set_state(fields["state"])
        return legacy
    if entry["random"] in BIT_GENERATORS:
        bits = getattr(np.random, entry["random"])(0)
        bits.state = fields["state"]
        return np.random.Generator(bits)
    raise ValueError("an object is of no kind")
