"""The contents of a model file as text, from its header alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from iokr._state import arguments
from iokr._system.memory import human_bytes
from iokr.files.container import Container, open_container
from iokr.files.format1 import present_names
from iokr.files.model import read_structure
from iokr.files.registry import MissingBaseline, class_of

__all__ = ["describe"]

_DEEP = 6
_LINE = 100  # characters
_MANY = 8  # arrays that are listed


def describe(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Sections of names and words: the file, the parameters, what was fitted, parts to be given, arrays, provenance.

    Only the header is read and no object is made, so that files that need parts can be described, too.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr import IOKR
    >>> from iokr.files import describe, save
    >>> model = IOKR(alpha=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "model.safetensors"))
    ...     sections = describe(Path(folder, "model.safetensors"))
    >>> sections["Parameters"]["alpha"]
    '0.1'
    """
    with open_container(path) as file:
        structure = read_structure(file)
        try:
            if structure["format"] == 1:
                structure["objects"] = [_present(entry) for entry in structure["objects"]]
            return _sections(file, structure)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
            raise file.bad(f"its structure is malformed ({type(error).__name__}: {error!s:.80})") from None


def _present(entry: dict[str, Any]) -> dict[str, Any]:
    """An object of format 1 with its present names."""
    if "class" not in entry:
        return entry
    name, fields = present_names(entry["class"], entry["fields"])
    return {"class": name, "fields": fields}


def _sections(file: Container, structure: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    words = _Words(structure, file)
    root = structure["objects"][structure["model"]["object"]]
    fields = root["fields"]
    fitted = {name: words.of(node) for name, node in fields.items() if name.endswith("_") and name[0] != "_"}
    versions = structure["versions"]
    sections = {
        "File": {
            "model": f"{root['class']}, {'fitted' if fitted else 'not fitted'}",
            "size": f"{human_bytes(file.size)}, {len(file.tensors)} arrays",
            "format": f"{structure['format']}, written by iokr {versions.get('iokr')}",
            "versions": ", ".join(f"{name} {version}" for name, version in versions.items() if name != "iokr"),
        },
        "Parameters": {name: words.of(fields[name]) for name in _parameters(root) if name in fields},
        "Fitted": fitted,
        "To be given to load": {
            hole["path"]: f"{hole['kind']} {hole['module']}.{hole['name']}" for hole in structure["holes"]
        },
        "Next to the model": {words.of(key): words.of(node) for key, node in structure["beside"]["dict"]},
        "Largest arrays": _largest(file),
        "Hashes of the training data": {name: str(digest) for name, digest in structure["data"].items()},
        "Provenance": {name: _short(str(value)) for name, value in structure["provenance"].items()},
    }
    return {title: {str(k): _short(v) for k, v in rows.items()} for title, rows in sections.items() if rows}


def _largest(file: Container) -> dict[str, str]:
    largest = sorted(file.tensors.items(), key=lambda item: -item[1].nbytes)[:_MANY]
    return {name: f"{one.dtype} of shape {one.shape}, {human_bytes(one.nbytes)}" for name, one in largest}


def _parameters(entry: Mapping[str, Any]) -> list[str]:
    """The arguments of a class, in their order; none for a class that is not installed."""
    if "part" in entry:
        return [name for name in entry["fields"] if not name.endswith("_")]
    try:
        cls = class_of(entry["class"])
    except MissingBaseline:
        cls = None
    return [] if cls is None else list(arguments(cls))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"


class _Words:
    """Nodes of a structure as text."""

    def __init__(self, structure: Mapping[str, Any], file: Container) -> None:
        self._objects, self._arrays, self._holes = structure["objects"], structure["arrays"], structure["holes"]
        self._file = file

    def of(self, node: Any, depth: int = 0) -> str:
        """A value as Python would write it, large things by their kind and size."""
        if not isinstance(node, dict):
            return repr(node)
        ((tag, content),) = node.items()
        if depth > _DEEP:
            return "…"
        match tag:
            case "float" | "type" | "dtype":
                return str(content)
            case "list" | "tuple" | "set" | "frozenset":
                inside = ", ".join(self.of(item, depth + 1) for item in content[:_MANY])
                more = ", …" if len(content) > _MANY else ""
                return f"({inside}{more})" if tag == "tuple" else f"[{inside}{more}]"
            case "dict":
                pairs = [f"{self.of(key)}: {self.of(item, depth + 1)}" for key, item in content[:_MANY]]
                return f"{{{', '.join(pairs)}}}"
            case "packed":
                return f"{content['parts'][0]['kind']} in arrays"
            case "array":
                return self._array(self._arrays[content])
            case "hole":
                return str(self._holes[content]["name"])
            case "object":
                return self._object(self._objects[content], depth)
        return str(tag)

    def _array(self, entry: Mapping[str, Any]) -> str:
        tensor = self._file.tensors.get(entry.get("tensor", entry.get("real")))
        if tensor is not None:  # else a view, which has a type and a shape of its own
            entry = {"dtype": tensor.dtype, "shape": tensor.shape, **entry}
        return f"{entry.get('library', 'array')} {entry['dtype']} of shape {tuple(entry['shape'])}"

    def _object(self, entry: Mapping[str, Any], depth: int) -> str:
        match entry:
            case {"sparse": kind, "shape": shape}:
                return f"{kind} {tuple(shape)}"
            case {"objects": shape}:
                return f"objects {tuple(shape)}"
            case {"tree": _}:
                return "tree"
            case {"random": _}:
                return "random"
            case {"part": number}:
                cls = self._holes[number]["name"]
            case _:
                cls = entry["class"].rpartition(".")[2]
        given = {name: entry["fields"].get(name) for name in _parameters(entry)}
        shown = [f"{name}={self.of(node, depth + 1)}" for name, node in given.items() if node is not None]
        return f"{cls}({', '.join(shown)})"
