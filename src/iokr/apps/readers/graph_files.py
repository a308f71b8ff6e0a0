"""Links in graph files: those that NetworkX writes, read with NetworkX; SIF; the JSON of Cytoscape and NetworkX.

SIF and JSON are read here: NetworkX has no reader of SIF, and `networkx.cytoscape_graph` rejects the files that
Cytoscape writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np

from iokr.apps.readers.bounded import check_content, gzip_errors, open_binary
from iokr.apps.readers.file_table import FileTable

__all__ = ["READERS", "UNWEIGHTED", "WEIGHTS", "has_attributes", "read_edgelist"]

WEIGHTS = ("weight", "combined_score", "score", "w")
UNWEIGHTED = "none"  # a weight that is not read

_LABELS = ("name", "label", "shared name", "shared_name")
_ATTRIBUTED = re.compile(r"[^\s,]+[\s,]+[^\s,{]+[\s,]+\{.*\}")
_TEXT_TO_GRAPH = 8  # memory of a parsed file, in sizes of its text
_LISTED = 5  # relations in a note

Attributes = Mapping[Any, Any]
Link = tuple[str, str, float | None]  # source, target, weight


# ------------------------------------------------------------------------------------------------------------ NetworkX


def _read_graphml(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    content = _text(path)
    if "<!DOCTYPE" in content or "<!ENTITY" in content:
        raise ValueError(f"{path}: XML files that define entities are not supported.")
    return _parsed(path, weight, known, lambda nx: nx.parse_graphml(content, force_multigraph=True))


def _read_adjlist(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    lines = _text(path).splitlines()
    return _parsed(path, weight, known, lambda nx: nx.parse_adjlist(lines, create_using=nx.MultiGraph))


def read_edgelist(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """NetworkX's edge list, whose rows end in a dictionary."""
    lines = _text(path).splitlines()
    rows = (line for line in lines if line.strip() and not line.startswith("#"))
    delimiter = "," if "," in next(rows).partition("{")[0] else None
    return _parsed(path, weight, known, lambda nx: nx.parse_edgelist(lines, "#", delimiter, nx.MultiGraph))


def has_attributes(path: Path) -> bool:
    """Whether the rows of an edge list end in a dictionary."""
    try:
        with open_binary(path) as file:
            start = file.read(4096).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError, EOFError):  # reported when the file is read
        return False
    rows = [row.strip() for row in start if row.strip() and not row.startswith("#")]
    return bool(rows) and _ATTRIBUTED.fullmatch(rows[0]) is not None


def _parsed(path: Path, weight: str | None, known: Collection[str], parse: Callable[[Any], Any]) -> FileTable:
    """The links of a graph that NetworkX parses; as a multigraph it keeps duplicates."""
    try:
        import networkx
    except ImportError as error:
        raise ImportError(f"{path}: reading this format needs NetworkX: pip install 'iokr[report]'") from error
    try:
        graph = parse(networkx)
    except (ParseError, networkx.NetworkXError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a valid file of its format: {error}.") from error
    nodes = {str(node): values for node, values in graph.nodes(data=True)}
    return _network(path, nodes, list(graph.edges(data=True)), weight, known)


# ------------------------------------------------------------------------------------------------------- SIF and JSON


def _read_sif(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """Cytoscape's SIF: node, relation, nodes; separated by tabs where there are any, else by spaces."""
    content = _text(path)
    separator = "\t" if "\t" in content else None
    links: list[Link] = []
    lines: list[int] = []
    relations: set[str] = set()
    for line, row in enumerate(content.splitlines(), start=1):
        cells = [cell.strip() for cell in row.split(separator) if cell.strip()]
        if len(cells) == 2:
            raise ValueError(f"{path}, line {line}: expected a node, a relation and nodes, got {row.strip()!r:.60}.")
        links += [(cells[0], other, None) for other in cells[2:]]
        lines += [line] * len(cells[2:])
        relations.update(cells[1:2])
    table = _table(path, links, lines, "line")
    if len(relations) < 2:
        return table
    listed = ", ".join(sorted(relations)[:_LISTED])
    return replace(table, notes=(f"{path}: the relations {listed} are not distinguished",))


def _read_json(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """Cytoscape's elements, in one list or two, or NetworkX's node-link data."""
    try:
        content = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from error
    elements = content.get("elements", content) if isinstance(content, dict) else {}
    if isinstance(elements, list):
        entries = [_attributes(entry) for entry in elements]
        nodes = [entry for entry in entries if "source" not in entry]
        edges = [entry for entry in entries if "source" in entry]
    else:
        links = elements.get("edges", elements.get("links")) if isinstance(elements, dict) else None
        if not isinstance(links, list):
            raise ValueError(
                f"{path}: expected Cytoscape's JSON (elements) or NetworkX's node-link data (nodes, edges)."
            )
        nodes = [_attributes(entry) for entry in elements.get("nodes", [])]
        edges = [_attributes(entry) for entry in links]
    named = {str(node.get("id")): node for node in nodes}
    return _network(path, named, [(edge.get("source"), edge.get("target"), edge) for edge in edges], weight, known)


def _attributes(entry: Any) -> Attributes:
    """The attributes of a node or link: Cytoscape has them under `data`."""
    if isinstance(entry, dict):
        entry = entry.get("data", entry)
    return entry if isinstance(entry, dict) else {}


def _network(
    path: Path,
    nodes: Mapping[str, Attributes],
    edges: Sequence[tuple[Any, Any, Attributes]],
    weight: str | None,
    known: Collection[str],
) -> FileTable:
    """Links by the names of nodes that are known: their ids, or a label that every node has."""
    ids = set(known)
    names = {node: node for node in nodes}
    n_known = len(ids & names.keys())
    label = ""
    for attribute in _LABELS:
        if not all(attribute in values for values in nodes.values()):
            continue
        labels = {node: str(values[attribute]) for node, values in nodes.items()}
        count = sum(name in ids for name in labels.values())
        if count > n_known:
            names = labels
            n_known = count
            label = attribute
    links = []
    for source, target, values in edges:
        a, b = str(source), str(target)
        links.append((names.get(a, a), names.get(b, b), _weight(values, weight)))
    table = _table(path, links, range(1, len(links) + 1), "link")
    return replace(table, notes=(f"{path}: nodes are identified by their {label}",)) if label else table


# -------------------------------------------------------------------------------------------------------------- shared


def _text(path: Path) -> str:
    """The whole file, if there is memory for it."""
    check_content(path, _TEXT_TO_GRAPH * path.stat().st_size)
    try:
        with gzip_errors(str(path)), open_binary(path) as file:
            return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}.") from error


def _weight(values: Attributes, name: str | None) -> float | None:
    """The weight of a link: the attribute of this name, or the first of the usual ones."""
    if name == UNWEIGHTED:
        return None
    for attribute in (name,) if name else WEIGHTS:
        value = values.get(attribute)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None


def _table(path: Path, links: Sequence[Link], lines: Sequence[int], unit: str) -> FileTable:
    if not links:
        raise ValueError(f"{path} contains no links.")
    weights = [weight for *_, weight in links if weight is not None]
    if weights and len(weights) < len(links):
        i = next(i for i, (*_, weight) in enumerate(links) if weight is None)
        raise ValueError(
            f'{path}, {unit} {lines[i]}: this link has no weight, but others have; `weight="none"` reads no weights.'
        )
    text = np.array([[source.strip(), target.strip()] for source, target, _ in links], dtype=str)
    columns = ("weight",) if weights else ()
    table = FileTable(str(path), text, np.empty((len(links), 0)), columns, np.array(lines), unit)
    return table.with_values(np.array(weights).reshape(len(links), -1) if weights else table.values)


READERS: dict[str, Callable[[Path, str | None, Collection[str]], FileTable]] = {
    ".sif": _read_sif,
    ".adjlist": _read_adjlist,
    ".graphml": _read_graphml,
    ".cyjs": _read_json,
    ".json": _read_json,
}
