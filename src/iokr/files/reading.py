"""From JSON and arrays back to a model: classes from the registry, fields as data, nothing executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from iokr._state import Stateful, made_from
from iokr.data.objects import as_objects
from iokr.files.arrays import ArrayReader, check_dtype
from iokr.files.objects import SPARSE, Unpacker, make_sparse
from iokr.files.registry import class_of
from iokr.files.structure import BIT_GENERATORS, TYPES, Hole
from iokr.files.trees import make_tree

__all__ = ["Reader", "UnfitPart", "UnknownClass"]

Renew = Callable[[Any, dict[str, Any]], tuple[Any, dict[str, Any]]]  # name and state of an earlier format to present

_FLOATS = ("nan", "inf", "-inf")


class UnknownClass(ValueError):
    """A class that this version does not have."""


class UnfitPart(ValueError):
    """A component of the user does not have the state in the file."""


class Reader:
    """`value` makes the object that a node describes; malformed nodes raise Python's own errors."""

    def __init__(
        self,
        objects: list[Any],
        arrays: ArrayReader,
        holes: list[Hole],
        parts: Mapping[str, Any],
        renew: Renew | None = None,
    ) -> None:
        self._objects = objects
        self._arrays = arrays
        self._holes = holes
        self._parts = parts
        self._renew = renew
        self.components: dict[str, Any] = {}  # users' components by their parameters
        self._made: dict[int, Any] = {}
        self._begun: set[int] = set()
        self._unpacker = Unpacker(arrays, self._registered)

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
        raise ValueError(f"{tag!r:.40} is not a kind of value")

    def _object(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._objects):
            raise ValueError(f"there is no object {number!r:.40}")
        if number in self._made:
            return self._made[number]
        if number in self._begun:
            raise ValueError(f"object {number} contains itself")
        entry = self._objects[number]
        self._begun.add(number)
        fields = {f: self.value(node) for f, node in entry["fields"].items()}
        if "class" in entry:
            made = self._registered(entry["class"], fields)
        elif "part" in entry:
            made = self._component(self._holes[entry["part"]], fields)
        else:
            made = _special(entry, fields)
        self._made[number] = made
        return made

    def _registered(self, name: Any, fields: dict[str, Any]) -> Any:
        """An object of a public class, or of a kind of values."""
        if self._renew is not None:
            name, fields = self._renew(name, fields)
        cls = class_of(name)
        if cls is None:
            raise UnknownClass(f"{name!r:.60}")
        return _made(cls, fields)

    def _component(self, hole: Hole, fields: dict[str, Any]) -> Any:
        """An object of a class that the user gave, or of the class of an object that the user gave."""
        part = self._parts[hole.path]
        cls = part if isinstance(part, type) else type(part)
        try:
            made = _made(cls, fields)
        except (ValueError, TypeError) as error:
            raise UnfitPart(f"`parts[{hole.path!r}]` does not take the state in the file: {error}.") from error
        self.components.setdefault(hole.path, made)
        return made


def _made(cls: Any, state: dict[str, Any]) -> Any:
    return cls.from_state(state) if issubclass(cls, Stateful) else made_from(cls, state)


def _special(entry: Mapping[str, Any], fields: dict[str, Any]) -> Any:
    """Sparse matrices, trees, random states, arrays of objects."""
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
    raise ValueError("an object is of an unknown kind")
