"""Sequences of plain objects as arrays: texts, numbers, sets, tuples, dictionaries, arrays, sparse matrices, graphs.

A column is {"kinds": a number for every object, "parts": what the objects of each kind are}. Lengths lie in arrays, so
that the header of a file stays small and a file cannot ask for more memory than a multiple of its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from scipy import sparse

from iokr.data.objects import as_objects
from iokr.files.arrays import ArrayReader

__all__ = ["GRAPHS", "SEQUENCES", "SPARSE", "Packer", "Unpacker", "is_graph", "kind_of", "make_sparse"]

GRAPHS = ("Graph", "DiGraph", "MultiGraph", "MultiDiGraph")
SPARSE = {
    **{name: ("data", "indices", "indptr") for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")},
    **{name: ("data", "row", "col") for name in ("coo_array", "coo_matrix")},
}
_SCALARS: dict[type, str] = {
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "str",
    bytes: "bytes",
}
SEQUENCES: dict[type, str] = {tuple: "tuple", list: "list", set: "set", frozenset: "frozenset"}
_MADE = {name: cls for cls, name in SEQUENCES.items()}
_NUMBERS = {"bool": "|b1", "int": "<i8", "float": "<f8", "complex": "<c16"}
_SMALL = range(-(1 << 63), 1 << 63)

Describe = Callable[[Any], tuple[str, dict[str, Any]] | None]
Make = Callable[[Any, dict[str, Any]], Any]


def kind_of(value: Any, describe: Describe) -> tuple[Any, ...] | None:
    """The kind as which an object is stored; None for other objects."""
    cls = type(value)
    if cls in _SCALARS:
        return ("big",) if cls is int and value not in _SMALL else (_SCALARS[cls],)
    if cls in SEQUENCES:
        return (SEQUENCES[cls],)
    if cls is dict:
        return ("dict",)
    if cls is np.ndarray:
        return ("objects", value.ndim) if value.dtype == object else ("array", value.dtype.str, value.ndim)
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return ("scalar", value.dtype.str)
    if sparse.issparse(value) and cls.__name__ in SPARSE:
        return ("sparse", cls.__name__)
    if is_graph(value):
        return ("graph", cls.__name__)
    found = describe(value)
    return None if found is None else ("object", found[0], *found[1])


def is_graph(value: Any) -> bool:
    """Whether an object is a graph of NetworkX."""
    cls = type(value)
    return cls.__name__ in GRAPHS and cls.__module__.startswith("networkx.")


def make_sparse(name: Any, shape: Any, parts: Sequence[np.ndarray]) -> Any:
    """A sparse matrix from its parts, every index checked."""
    if name not in SPARSE:
        raise ValueError(f"{name!r:.40} is not a kind of sparse matrix")
    shape = tuple(int(n) for n in shape)
    if len(shape) != 2 or any(part.ndim != 1 for part in parts):
        raise ValueError("a sparse matrix is malformed")
    data, first, second = parts
    if name.startswith("coo"):
        return getattr(sparse, name)((data, (first, second)), shape=shape)
    made = getattr(sparse, name)((data, first, second), shape=shape)
    made.check_format(full_check=True)
    return made


class Packer:
    """Objects into arrays: `put(array, name)` keeps one and returns its number."""

    def __init__(self, put: Callable[[Any, str], int], describe: Describe) -> None:
        self._put, self._describe = put, describe

    def pack(self, values: Iterable[Any], name: str) -> dict[str, Any]:
        """A column."""
        values = list(values)
        groups: dict[Any, list[Any]] = {}
        numbers: dict[Any, int] = {}
        kinds = np.empty(len(values), dtype=np.uint8)
        for i, value in enumerate(values):
            kind = kind_of(value, self._describe)
            if kind is None:
                cls = type(value)
                raise TypeError(
                    f"`{name}` has an object of {cls.__module__}.{cls.__qualname__}, which a file cannot hold as data; "
                    "texts, numbers, arrays, sequences, sets, dictionaries, sparse matrices and NetworkX graphs can."
                )
            kinds[i] = numbers.setdefault(kind, min(len(numbers), 255))
            groups.setdefault(kind, []).append(value)
        if len(numbers) > 255:
            raise TypeError(f"`{name}` has objects of more than 255 kinds, which a file cannot hold.")
        parts = [
            {"kind": kind[0], **self._part(kind, items, f"{name}.{kind[0]}" if len(groups) > 1 else name)}
            for kind, items in groups.items()
        ]
        return {"kinds": self._put(kinds, f"{name}.kinds"), "parts": parts}

    def _part(self, kind: tuple[Any, ...], items: list[Any], name: str) -> dict[str, Any]:
        match kind[0]:
            case "none":
                return {}
            case "bool" | "int" | "float" | "complex":
                return {"values": self._put(np.array(items, dtype=_NUMBERS[kind[0]]), name)}
            case "big":
                return self._texts([f"{item:x}".encode() for item in items], name)
            case "str":
                return self._texts([item.encode("utf-8", "surrogatepass") for item in items], name)
            case "bytes":
                return self._texts(items, name)
            case "tuple" | "list":
                return self._nested(items, name)
            case "set" | "frozenset":
                return self._nested([_sorted(item) for item in items], name)
            case "dict":
                keys = [key for item in items for key in item]
                values = [value for item in items for value in item.values()]
                return {
                    "ends": self._ends(items, name),
                    "keys": self.pack(keys, f"{name}.keys"),
                    "values": self.pack(values, name),
                }
            case "scalar":
                return {"values": self._put(np.array(items), name)}
            case "array":
                shapes = np.array([item.shape for item in items], dtype=np.int64).reshape(len(items), kind[2])
                flat = np.concatenate([item.reshape(-1) for item in items])
                return {"shapes": self._put(shapes, f"{name}.shapes"), "values": self._put(flat, name)}
            case "objects":
                shapes = np.array([item.shape for item in items], dtype=np.int64).reshape(len(items), kind[1])
                inside = [x for item in items for x in item.ravel()]
                return {"shapes": self._put(shapes, f"{name}.shapes"), "items": self.pack(inside, name)}
            case "sparse":
                sizes = self._put(np.array([item.shape for item in items], dtype=np.int64), f"{name}.shapes")
                parts = [self.pack([getattr(i, part) for i in items], f"{name}.{part}") for part in SPARSE[kind[1]]]
                return {"class": kind[1], "shapes": sizes, "parts": parts}
            case "graph":
                return {"class": kind[1], **self._graphs(items, name)}
        described = [self._describe(item) for item in items]
        fields = {f: self.pack([d[1][f] for d in described if d is not None], f"{name}.{f}") for f in kind[2:]}
        return {"class": kind[1], "fields": fields}

    def _ends(self, items: Sequence[Any], name: str) -> int:
        return self._put(np.cumsum([len(item) for item in items], dtype=np.int64), f"{name}.ends")

    def _texts(self, items: list[bytes], name: str) -> dict[str, Any]:
        return {"ends": self._ends(items, name), "bytes": self._put(np.frombuffer(b"".join(items), np.uint8), name)}

    def _nested(self, items: Sequence[Sequence[Any]], name: str) -> dict[str, Any]:
        return {"ends": self._ends(items, name), "items": self.pack([x for item in items for x in item], name)}

    def _graphs(self, items: list[Any], name: str) -> dict[str, Any]:
        """Nodes with their data, then edges by the numbers of their nodes, with theirs."""
        edges = [list(g.edges(keys=True, data=True) if g.is_multigraph() else g.edges(data=True)) for g in items]
        numbers = [{node: j for j, node in enumerate(g)} for g in items]
        pairs = [(n[e[0]], n[e[1]]) for n, some in zip(numbers, edges, strict=True) for e in some]
        return {
            "about": self.pack([dict(g.graph) for g in items], f"{name}.about"),
            "nodes": self._nested([list(g) for g in items], f"{name}.nodes"),
            "data": self.pack([dict(d) for g in items for _, d in g.nodes(data=True)], f"{name}.nodes.data"),
            "ends": self._ends(edges, f"{name}.edges"),
            "pairs": self._put(np.array(pairs, dtype=np.int64).reshape(-1, 2), f"{name}.edges"),
            "keys": self.pack([e[2] if len(e) > 3 else None for some in edges for e in some], f"{name}.edges.keys"),
            "links": self.pack([dict(e[-1]) for some in edges for e in some], f"{name}.edges.data"),
        }


def _sorted(items: Any) -> list[Any]:
    """In an order that does not change from process to process, where there is one."""
    try:
        return sorted(items)
    except TypeError:
        return list(items)


class Unpacker:
    """Arrays back into objects; inconsistent ones raise `ValueError`."""

    def __init__(self, arrays: ArrayReader, make: Make) -> None:
        self._arrays, self._make = arrays, make

    def unpack(self, column: Any) -> list[Any]:
        """The objects of a column."""
        kinds = self._arrays.numbers(column["kinds"], "|u1")
        parts = column["parts"]
        counts = np.bincount(kinds, minlength=len(parts))
        if len(counts) > len(parts):
            raise ValueError("a column has objects of an unknown kind")
        values = np.empty(len(kinds), dtype=object)
        for number, (part, count) in enumerate(zip(parts, counts.tolist(), strict=True)):
            items = self._items(part, count)
            if len(items) != count:
                raise ValueError(f"a column has {len(items)} objects of a kind where {count} are expected")
            values[kinds == number] = as_objects(items)
        return list(values)

    def _items(self, part: Any, count: int) -> list[Any]:
        match part["kind"]:
            case "none":
                return [None] * count
            case "bool" | "int" | "float" | "complex" as kind:
                return list(self._arrays.numbers(part["values"], _NUMBERS[kind]).tolist())
            case "big":
                return [int(text, 16) for text in self._texts(part)]
            case "str":
                return [text.decode("utf-8", "surrogatepass") for text in self._texts(part)]
            case "bytes":
                return self._texts(part)
            case "tuple" | "list" | "set" | "frozenset" as kind:
                return [_MADE[kind](item) for item in self._nested(part)]
            case "dict":
                keys, values = self.unpack(part["keys"]), self.unpack(part["values"])
                pairs = list(zip(keys, values, strict=True))
                return [dict(pairs[a:b]) for a, b in self._spans(part["ends"], len(pairs))]
            case "scalar":
                return list(self._arrays.get(part["values"]))
            case "array":
                return self._shaped(part["shapes"], self._arrays.get(part["values"]))
            case "objects":
                return self._shaped(part["shapes"], as_objects(self.unpack(part["items"])))
            case "sparse":
                shapes = self._arrays.numbers(part["shapes"], "<i8", 2).tolist()
                columns = zip(*(self.unpack(column) for column in part["parts"]), strict=True)
                return [make_sparse(part["class"], s, c) for s, c in zip(shapes, columns, strict=True)]
            case "graph":
                return self._graphs(part)
            case "object":
                fields = {name: self.unpack(column) for name, column in part["fields"].items()}
                return [self._make(part["class"], {f: fields[f][i] for f in fields}) for i in range(count)]
        raise ValueError(f"{part['kind']!r:.40} is not a kind of object")

    def _spans(self, ends: Any, total: int) -> list[tuple[int, int]]:
        """[start, stop) of every item among `total` things."""
        stops = self._arrays.numbers(ends, "<i8")
        starts = np.concatenate([[0], stops[:-1]]).astype(np.int64)
        if np.any(stops < starts) or (int(stops[-1]) if len(stops) else 0) != total:
            raise ValueError("the lengths of objects do not add up")
        return list(zip(starts.tolist(), stops.tolist(), strict=True))

    def _texts(self, part: Any) -> list[bytes]:
        raw = self._arrays.numbers(part["bytes"], "|u1").tobytes()
        return [raw[a:b] for a, b in self._spans(part["ends"], len(raw))]

    def _nested(self, part: Any) -> list[list[Any]]:
        items = self.unpack(part["items"])
        return [items[a:b] for a, b in self._spans(part["ends"], len(items))]

    def _shaped(self, shapes: Any, flat: np.ndarray) -> list[Any]:
        table = self._arrays.get(shapes)
        if table.dtype.str != "<i8" or table.ndim != 2 or flat.ndim != 1 or np.any(table < 0):
            raise ValueError("the shapes of arrays are malformed")
        stops = list(accumulate(map(math.prod, table.tolist()), initial=0))
        if stops[-1] != len(flat):
            raise ValueError("the shapes of arrays do not add up")
        return [flat[a:b].reshape(shape).copy() for shape, (a, b) in zip(table.tolist(), pairwise(stops), strict=True)]

    def _graphs(self, part: Any) -> list[Any]:
        if part["class"] not in GRAPHS:
            raise ValueError(f"{part['class']!r:.40} is not a kind of graph")
        try:
            cls = getattr(import_module("networkx"), part["class"])
        except ImportError as error:
            raise ImportError(
                "This model holds graphs of NetworkX, which is not installed; install iokr[report]."
            ) from error
        nodes, data = self._nested(part["nodes"]), iter(self.unpack(part["data"]))
        pairs = self._arrays.numbers(part["pairs"], "<i8", 2).tolist()
        edges = list(zip(pairs, self.unpack(part["keys"]), self.unpack(part["links"]), strict=True))
        spans = self._spans(part["ends"], len(edges))
        found = []
        for about, some, (a, b) in zip(self.unpack(part["about"]), nodes, spans, strict=True):
            graph = cls()
            graph.graph.update(about)
            graph.add_nodes_from((node, next(data)) for node in some)
            for (u, v), key, link in edges[a:b]:
                if not (0 <= u < len(some) and 0 <= v < len(some)):
                    raise ValueError("an edge refers to a node that does not exist")
                ends = (some[u], some[v], key) if graph.is_multigraph() else (some[u], some[v])
                graph.add_edge(*ends)
                graph.edges[ends].update(link)
            found.append(graph)
        return found
