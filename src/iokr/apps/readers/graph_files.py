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
from iokr.apps.readers.formats import GRAPHS, format_of

__all__ = ["UNWEIGHTED", "WEIGHTS", "has_attributes", "read_graph"]

WEIGHTS = ("weight", "combined_score", "score", "w")
UNWEIGHTED = "none"  # a weight that is not read

_LABELS = ("name", "label", "shared name", "shared_name")
_ATTRIBUTED = re.compile(r"[^\s,]+[\s,]+[^\s,{]+[\s,]+\{.*\}")
_TEXT_TO_GRAPH = 8  # memory of a parsed file, in sizes of its text
_LISTED = 5  # relations in a note

Attributes = Mapping[Any, Any]
Nodes = Mapping[str, Attributes]
Edges = Sequence[tuple[Any, Any, Attributes]]


def read_graph(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """The links of a graph file, or of an edge list whose rows end in a dictionary.

    Nodes have the names that are `known`: their ids, or a label that every node has. `weight` is the name of an
    attribute, by default the first of the usual ones.
    """
    check_content(path, _TEXT_TO_GRAPH * path.stat().st_size)
    try:
        with gzip_errors(str(path)), open_binary(path) as file:
            content = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text: {error}.") from error
    suffix = format_of(path)
    if suffix == ".sif":
        return _sif_table(path, content)
    if suffix in (".cyjs", ".json"):
        nodes, edges = _from_json(path, content)
    else:
        nodes, edges = _from_networkx(path, content, suffix if suffix in GRAPHS else "")

    names = {"": {node: node for node in nodes}}  # by label; ids have none
    for attribute in _LABELS:
        if all(attribute in values for values in nodes.values()):
            names[attribute] = {node: str(values[attribute]) for node, values in nodes.items()}
    ids = set(known)
    label = max(names, key=lambda attribute: len(ids.intersection(names[attribute].values())))
    ends = [[names[label].get(str(end), str(end)) for end in edge[:2]] for edge in edges]
    weights = [_weight(values, weight) for *_, values in edges]
    table = _table(path, ends, weights, range(1, len(edges) + 1), "link")
    return replace(table, notes=(f"{path}: nodes are identified by their {label}",)) if label else table


def has_attributes(path: Path) -> bool:
    """Whether the rows of an edge list end in a dictionary, as NetworkX writes them."""
    try:
        with open_binary(path) as file:
            start = file.read(4096).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError, EOFError):  # reported when the file is read
        return False
    rows = [row.strip() for row in start if row.strip() and not row.startswith("#")]
    return bool(rows) and _ATTRIBUTED.fullmatch(rows[0]) is not None


def _from_networkx(path: Path, content: str, suffix: str) -> tuple[Nodes, Edges]:
    """Nodes and links of a graph that NetworkX parses; as a multigraph it keeps duplicates."""
    try:
        import networkx as nx
    except ImportError as error:
        raise ImportError(f"{path}: reading this format needs NetworkX: pip install 'iokr[report]'") from error
    if suffix == ".graphml" and ("<!DOCTYPE" in content or "<!ENTITY" in content):
        raise ValueError(f"{path}: XML files that define entities are not supported.")
    lines = content.splitlines()
    parsers: dict[str, Callable[[], Any]] = {
        ".graphml": lambda: nx.parse_graphml(content, force_multigraph=True),
        ".gml": lambda: nx.parse_gml(lines),
        ".adjlist": lambda: nx.parse_adjlist(lines, create_using=nx.MultiGraph),
        "": lambda: nx.parse_edgelist(lines, "#", _delimiter(lines), nx.MultiGraph),
    }
    try:
        graph = parsers[suffix]()
    except (ParseError, nx.NetworkXError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} is not a valid file of its format: {error}.") from error
    return {str(node): values for node, values in graph.nodes(data=True)}, list(graph.edges(data=True))


def _delimiter(lines: Sequence[str]) -> str | None:
    """The separator of an edge list; None is spaces."""
    first = next(line for line in lines if line.strip() and not line.startswith("#"))
    return "," if "," in first.partition("{")[0] else None


def _from_json(path: Path, text: str) -> tuple[Nodes, Edges]:
    """Nodes and links of Cytoscape's elements, in one list or two, or of NetworkX's node-link data."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from error
    elements: Any = content.get("elements", content) if isinstance(content, dict) else None
    if isinstance(elements, list):
        entries = [_attributes(entry) for entry in elements]
        nodes = [entry for entry in entries if "source" not in entry]
        edges = [entry for entry in entries if "source" in entry]
    else:
        links: Any = elements.get("edges", elements.get("links")) if isinstance(elements, dict) else None
        if not isinstance(links, list):
            raise ValueError(
                f"{path}: expected Cytoscape's JSON (elements) or NetworkX's node-link data (nodes, edges)."
            )
        nodes = [_attributes(entry) for entry in elements.get("nodes", [])]
        edges = [_attributes(entry) for entry in links]
    named = {str(node.get("id")): node for node in nodes}
    return named, [(edge.get("source"), edge.get("target"), edge) for edge in edges]


def _attributes(entry: Any) -> Attributes:
    """The attributes of a node or link: Cytoscape has them under `data`."""
    if isinstance(entry, dict):
        entry = entry.get("data", entry)
    return entry if isinstance(entry, dict) else {}


def _sif_table(path: Path, content: str) -> FileTable:
    """Cytoscape's SIF: node, relation, nodes; separated by tabs where there are any, else by spaces."""
    separator = "\t" if "\t" in content else None
    ends: list[list[str]] = []
    lines: list[int] = []
    relations: set[str] = set()
    for line, row in enumerate(content.splitlines(), start=1):
        cells = [cell.strip() for cell in row.split(separator) if cell.strip()]
        if len(cells) == 2:
            raise ValueError(f"{path}, line {line}: expected a node, a relation and nodes, got {row.strip()!r:.60}.")
        ends += [[cells[0], other] for other in cells[2:]]
        lines += [line] * len(cells[2:])
        relations.update(cells[1:2])
    table = _table(path, ends, [None] * len(ends), lines, "line")
    if len(relations) < 2:
        return table
    listed = ", ".join(sorted(relations)[:_LISTED])
    return replace(table, notes=(f"{path}: the relations {listed} are not distinguished",))


def _weight(values: Attributes, name: str | None) -> float | None:
    """The weight of a link: the attribute of this name, or the first of the usual ones."""
    if name == UNWEIGHTED:
        return None
    for attribute in (name,) if name else WEIGHTS:
        value = values.get(attribute)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None


def _table(
    path: Path, ends: list[list[str]], weights: Sequence[float | None], lines: Sequence[int], unit: str
) -> FileTable:
    """The links as a table, whose weights are those of all links or of none."""
    if not ends:
        raise ValueError(f"{path} contains no links.")
    known = [weight for weight in weights if weight is not None]
    if known and len(known) < len(ends):
        raise ValueError(
            f"{path}, {unit} {lines[weights.index(None)]}: this link has no weight, but others have; "
            '`weight="none"` reads no weights.'
        )
    columns = ("weight",) if known else ()
    table = FileTable(
        str(path), np.char.strip(np.array(ends)), np.empty((len(ends), 0)), columns, np.array(lines), unit
    )
    return table.with_values(np.array(known).reshape(len(ends), -1))
