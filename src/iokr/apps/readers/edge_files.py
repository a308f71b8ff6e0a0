"""Lists of links as programs write them: tables, SIF, GraphML, Cytoscape's and NetworkX's JSON, NetworkX's lists."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from iokr._system.memory import check_memory
from iokr.apps.readers.bounded import open_gzip
from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.sheets import read_sheet
from iokr.apps.readers.tables import read_table, split_name, table_of_cells
from iokr.apps.readers.text_tables import STDIN, Cells, is_number, read_cells, text_suffix

__all__ = ["ENDS", "read_edges"]

ENDS = (
    *(("source", "target"), ("from", "to"), ("node1", "node2"), ("node_1", "node_2"), ("id1", "id2")),
    *(("protein1", "protein2"), ("gene1", "gene2"), ("gene_a", "gene_b"), ("interactor a", "interactor b")),
    *(("official symbol interactor a", "official symbol interactor b"), ("preferredname_a", "preferredname_b")),
    *(("drug", "target"), ("compound", "protein"), ("compound", "target"), ("ligand", "receptor"), ("row", "column")),
    *(("user", "item"), ("mirna", "gene"), ("tf", "target"), ("regulator", "target"), ("disease", "gene")),
)
_WEIGHTS = ("weight", "combined_score", "score", "w")
_DICT = re.compile(r"([^\s,]+)[\s,]+([^\s,{]+)[\s,]+(\{.*\})")
NONE = "none"  # a weight that is not to be read


def read_edges(
    path: Path | str,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    decimal: str = "auto",
    known: Collection[str] = (),
) -> FileTable:
    """Two columns of ids and perhaps one of weights.

    A table's ends and weight are its first columns, or those that its header calls source and target, from and to,
    protein1 and protein2 and so on, and weight or score; `source`, `target` and `weight` name others ("none": no
    weight). Where a file has two names for a node, an id and a label, that which is among the `known` ones counts.
    """
    where, _ = split_name(path)
    suffix = Path(where.name.lower().removesuffix(".gz")).suffix
    if (source is None) != (target is None):
        raise ValueError(f"{path}: give both --source and --target, or neither.")
    if suffix in _GRAPHS and where.is_file():
        if source:
            raise ValueError(f"{where}: --source and --target are for tables; a {suffix} file says itself which nodes.")
        return _GRAPHS[suffix](where, weight, known)
    if text_suffix(where) is not None and str(path) != STDIN and where.is_file() and _ends_in_braces(where):
        return _attributed(where, weight)
    cells = _cells_of(path)
    head = list(cells.header or next(iter(cells.rows), [])) if cells is not None else _frame_head(where)
    names = frozenset(name for pair in ENDS for name in pair)
    both = cells is not None and cells.header is None and len(head) > 1 and {*head[:2]} <= set(known)
    odd = both and {name.casefold() for name in head[:2]} <= names  # a header by its words, a link by the nodes
    names = frozenset() if both else names
    layout = Layout(decimal=decimal, least=2)
    if source and target:
        layout = replace(layout, text=(source, target), values=() if weight in (None, NONE) else (str(weight),))
    elif weight:
        layout = replace(layout, text=("1", "2"), values=() if weight == NONE else (weight,))
    else:
        layout = _guessed(head, names, layout, [] if cells is None else cells.rows[cells.header is None :])
        if layout.values is None and len(head) > 3:
            raise ValueError(_too_wide(str(path), head))
    table = (
        read_table(path, 2, names=names, layout=layout) if cells is None else table_of_cells(cells, 2, names, layout)
    )
    if table.values.shape[1] > 1:
        raise ValueError(_too_wide(table.name, head or [""] * (2 + table.values.shape[1])))
    if odd and not source:
        said = f"{table.name}: its first row, {' '.join(head[:2])!r}, names two nodes and was taken for a link"
        table = replace(table, notes=(*table.notes, said))
    if layout.text and not source:
        read = ", ".join((*table.head, *table.columns))
        return replace(table, notes=(*table.notes, f"{table.name}: read the columns {read}"))
    return table


def _cells_of(path: Path | str) -> Cells | None:
    """The cells of a text file or a sheet; None for another file, and for one that is not there."""
    where, sheet = split_name(path)
    if str(path) == STDIN or (text_suffix(where) is not None and where.is_file()):
        return read_cells(where, 2)
    return read_sheet(where, sheet) if where.suffix.lower() == ".xlsx" and where.is_file() else None


def _frame_head(where: Path) -> list[str]:
    """The names of the columns of a Parquet file; nothing of others."""
    if where.suffix.lower() not in (".parquet", ".pq") or not where.is_file():
        return []
    try:
        from pyarrow import parquet

        return [str(name) for name in parquet.read_schema(where).names]
    except (ImportError, OSError, ValueError):  # said when the file is read
        return []


def _guessed(head: Sequence[str], names: Collection[str], layout: Layout, rows: Sequence[Sequence[str]] = ()) -> Layout:
    """With the columns that a header calls ends and weight, where they are not just the first ones.

    What is called a weight and holds hardly a number (BioGRID's scores are dashes) is none.
    """
    folded = [name.casefold() for name in head]
    some = [pair for pair in ENDS if all(folded.count(name) == 1 and name in names for name in pair)]
    if not some or (len(head) < 4 and folded[:2] == list(some[0])):
        return layout
    weights = [name for name in _WEIGHTS if folded.count(name) == 1][:1]
    for name in weights[:]:
        words = sum(not is_number(row[folded.index(name)]) for row in rows if len(row) == len(head))
        weights = [] if rows and 2 * words > len(rows) else weights
    text = tuple(str(folded.index(name) + 1) for name in some[0])
    return replace(layout, text=text, values=tuple(str(folded.index(name) + 1) for name in weights), header=True)


def _too_wide(name: str, head: Sequence[str]) -> str:
    return (
        f"{name}: expected source, target and perhaps weight, got {len(head)} columns, {' '.join(head)!r:.60}; say "
        "which are meant with --source, --target and --weight (or --weight none), by name or number."
    )


# ------------------------------------------------------------------------------------------------------------ networks


def _table(path: Path, found: Sequence[tuple[str, str, float | None]], lines: Sequence[int], unit: str) -> FileTable:
    if not found:
        raise ValueError(f"{path} holds no links.")
    weighted = any(value is not None for *_, value in found)
    if weighted and any(value is None for *_, value in found):
        i = next(i for i, (*_, value) in enumerate(found) if value is None)
        raise ValueError(
            f"{path}, {unit} {lines[i]}: this link has no weight, but others have; --weight none reads none."
        )
    text = np.array([[a.strip(), b.strip()] for a, b, _ in found], dtype=str)
    values = np.array([[value] for *_, value in found], dtype=float) if weighted else np.empty((len(found), 0))
    table = FileTable(str(path), text, np.empty((len(found), 0)), ("weight",) * weighted, np.array(lines), unit)
    return table.with_values(values)


def _text(path: Path) -> str:
    """The whole file, where there is memory for it."""
    check_memory(8.0 * path.stat().st_size, f"Reading {path}", "Give a smaller file.")
    try:
        content = open_gzip(path).read() if path.name.lower().endswith(".gz") else path.read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text in UTF-8: {error}.") from error


def _sif(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """Cytoscape: node, relation, nodes; by tabs where there are any, else by spaces."""
    content = _text(path)
    tabs = "\t" in content
    found: list[tuple[str, str, float | None]] = []
    lines, relations = [], set()
    for line, row in enumerate(content.splitlines(), start=1):
        cells = [cell.strip() for cell in row.split("\t")] if tabs else row.split()
        cells = [cell for cell in cells if cell]
        if len(cells) == 2:
            raise ValueError(f"{path}, line {line}: expected a node, a relation and nodes, got {row.strip()!r:.60}.")
        for other in cells[2:]:
            found.append((cells[0], other, None))
            lines.append(line)
            relations.add(cells[1])
    note = f"{path}: the relations {', '.join(sorted(relations)[:5])} are not told apart"
    return replace(_table(path, found, lines, "line"), notes=(note,) if len(relations) > 1 else ())


def _adjlist(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """NetworkX: a node and its neighbours."""
    found: list[tuple[str, str, float | None]] = []
    lines, comments = [], 0
    for line, row in enumerate(_text(path).splitlines(), start=1):
        cells = row.split("#")[0].split()
        comments += row.startswith("#")
        found += [(cells[0], other, None) for other in cells[1:]]
        lines += [line] * len(cells[1:])
    return replace(_table(path, found, lines, "line"), comments=comments)


def _ends_in_braces(path: Path) -> bool:
    """Whether the rows of a list end in a dictionary, as NetworkX writes them."""
    try:
        with open_gzip(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            head = file.read(4096).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError, EOFError):  # said when the file is read
        return False
    rows = [row for row in head if row.strip() and not row.startswith("#")]
    return bool(rows) and _DICT.fullmatch(rows[0].strip()) is not None


def _attributed(path: Path, weight: str | None) -> FileTable:
    """NetworkX's edge list, whose rows end in a Python dictionary."""
    found: list[tuple[str, str, float | None]] = []
    lines, comments = [], 0
    for line, row in enumerate(_text(path).splitlines(), start=1):
        if not row.strip() or row.startswith("#"):
            comments += row.startswith("#")
            continue
        match = _DICT.fullmatch(row.strip())
        try:
            values = ast.literal_eval(match[3]) if match else None
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            values = None
        if match is None or not isinstance(values, dict):
            raise ValueError(f"{path}, line {line}: expected two nodes and a dictionary such as {{}}, got {row!r:.60}.")
        found.append((match[1], match[2], _weight(values, weight)))
        lines.append(line)
    return replace(_table(path, found, lines, "line"), comments=comments)


def _weight(values: dict[Any, Any], asked: str | None = None) -> float | None:
    """What a link weighs, by the attribute asked for or one that is called so."""
    if asked == NONE:
        return None
    for name in (asked,) if asked else _WEIGHTS:
        value = values.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    return None


def _graphml(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    content = _text(path)
    if "<!DOCTYPE" in content[:2000] or "<!ENTITY" in content:
        raise ValueError(f"{path}: documents that define entities are not read.")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ValueError(f"{path} is not XML: {error}.") from error

    def local(tag: str) -> str:
        return tag.rpartition("}")[2]

    if local(root.tag) != "graphml":
        raise ValueError(f"{path} is XML, but no GraphML: it begins with <{local(root.tag)}>.")
    keys = {key.get("id"): key.get("attr.name", key.get("id")) for key in root.iter() if local(key.tag) == "key"}

    def data(element: Any) -> dict[str, str]:
        parts = (part for part in element if local(part.tag) == "data")
        return {str(keys.get(part.get("key"), part.get("key"))): (part.text or "").strip() for part in parts}

    nodes = {str(e.get("id")): data(e) for e in root.iter() if local(e.tag) == "node"}
    edges = [(e.get("source"), e.get("target"), data(e)) for e in root.iter() if local(e.tag) == "edge"]
    return _network(path, nodes, [(str(a), str(b), _numeric(values)) for a, b, values in edges], weight, known)


def _numeric(values: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = value
    return found


def _json(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """Cytoscape's ``elements``, or NetworkX's node-link data."""
    try:
        content = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from error
    elements = content.get("elements", content) if isinstance(content, dict) else {}
    if isinstance(elements, list):  # Cytoscape.js also has one list of both
        elements = {
            "nodes": [e for e in elements if "source" not in e.get("data", {})],
            "edges": [e for e in elements if "source" in e.get("data", {})],
        }
    links = elements.get("edges", elements.get("links")) if isinstance(elements, dict) else None
    if not isinstance(links, list):
        raise ValueError(f"{path}: expected Cytoscape's JSON (elements) or NetworkX's node-link data (nodes, edges).")

    def data(entry: Any) -> dict[str, Any]:
        inner = entry.get("data", entry) if isinstance(entry, dict) else {}
        return inner if isinstance(inner, dict) else {}

    nodes = {str(data(node).get("id")): data(node) for node in elements.get("nodes", [])}
    edges = [(str(data(e).get("source")), str(data(e).get("target")), data(e)) for e in links]
    return _network(path, nodes, edges, weight, known)


def _network(
    path: Path, nodes: dict[str, Any], edges: Sequence[tuple[str, str, Any]], weight: str | None, known: Collection[str]
) -> FileTable:
    """Links by the names of nodes that are known: their ids, or a label that every node has."""
    labels = [
        name for name in ("name", "label", "shared name", "shared_name") if all(name in v for v in nodes.values())
    ]
    namings: list[dict[str, str]] = [{one: one for one in nodes}]
    namings += [{one: str(values[label]) for one, values in nodes.items()} for label in labels if nodes]
    there = set(known)
    best = max(namings, key=lambda names: sum(name in there for name in names.values()))
    kind = next((label for label, names in zip(("", *labels), namings, strict=True) if names is best), "")
    found = [(best.get(a, a), best.get(b, b), _weight(values, weight)) for a, b, values in edges]
    table = _table(path, found, list(range(1, len(found) + 1)), "link")
    return replace(table, notes=(f"{path}: nodes go by their {kind}",)) if kind else table


_GRAPHS: dict[str, Callable[[Path, str | None, Collection[str]], FileTable]] = {
    ".sif": _sif,
    ".adjlist": _adjlist,
    ".graphml": _graphml,
    ".cyjs": _json,
    ".json": _json,
}
