"""Edge lists: tables whose columns are found by their names, and graph files.

NetworkX reads the formats that it writes. SIF and JSON are read here: NetworkX has no reader of SIF, and
`networkx.cytoscape_graph` rejects the files that Cytoscape writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np

from iokr.apps.readers.bounded import check_content, open_binary, read_json, read_text
from iokr.apps.readers.file_table import Cells, FileTable, is_number, texts_of
from iokr.apps.readers.formats import GRAPHS, check_file, format_of
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.tables import cells_of_file, split_name, table_of_cells
from iokr.apps.readers.text_tables import STDIN, is_text

__all__ = ["ENDS", "read_edges"]

ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("protein1", "protein2"),
    ("gene1", "gene2"),
    ("gene_a", "gene_b"),
    ("interactor a", "interactor b"),
    ("official symbol interactor a", "official symbol interactor b"),
    ("preferredname_a", "preferredname_b"),
    ("drug", "target"),
    ("compound", "protein"),
    ("compound", "target"),
    ("ligand", "receptor"),
    ("row", "column"),
    ("user", "item"),
    ("mirna", "gene"),
    ("tf", "target"),
    ("regulator", "target"),
    ("disease", "gene"),
)
_NAMES_OF_ENDS = frozenset(name for pair in ENDS for name in pair)
_MAX_COLUMNS = 3  # source, target, weight

_WEIGHTS = ("weight", "combined_score", "score", "w")
_UNWEIGHTED = "none"  # a weight that is not read

_LABELS = ("name", "label", "shared name", "shared_name")
_ATTRIBUTED = re.compile(r"[^\s,]+[\s,]+[^\s,{]+[\s,]+\{.*\}")
_TEXT_TO_GRAPH = 8  # memory of a parsed file, in sizes of its text
_LISTED = 5  # relations in a note

Attributes = Mapping[Any, Any]
Nodes = Mapping[str, Attributes]
Edges = Sequence[tuple[Any, Any, Attributes]]


def read_edges(
    path: Path | str | Cells,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    decimal: str = "auto",
    known: Collection[str] = (),
) -> FileTable:
    """Two columns of ids, and a column of weights where there is one.

    The ends and the weight of a table are its first columns, or those that its header calls source and target, from and
    to, protein1 and protein2 and so on, and weight or score; `source`, `target` and `weight` select others, and
    ``weight="none"`` reads no weights. Where a file has several names for a node, such as an id and a label, those
    among the `known` ids are used.
    """
    if (source is None) != (target is None):
        raise ValueError(f"{path}: give both `source` and `target`, or neither.")
    graph = _graph_file(path)
    if graph is not None:
        suffix = format_of(graph)
        if suffix in GRAPHS and source:
            raise ValueError(f"{graph}: `source` and `target` select columns of tables; {suffix} files have none.")
        return _read_graph(graph, weight, known)
    cells = cells_of_file(path, 2, 2)
    header = _header(cells)
    # a first row of two node ids is a link, even where the words are those of a header
    is_link = cells.header is None and len(header) > 1 and set(header[:2]) <= set(known)
    names = frozenset() if is_link else _NAMES_OF_ENDS
    weights = () if weight in (None, _UNWEIGHTED) else (str(weight),)
    layout = Layout(decimal=decimal, min_columns=2)
    is_selected = bool(source or weight)
    found = () if is_selected else _columns_by_name(cells, header, names)
    if is_selected:
        layout = replace(layout, id=(source or "1", target or "2"), columns=weights)
    elif found:
        layout = replace(layout, id=found[:2], columns=found[2:], header=True)
    elif len(header) > _MAX_COLUMNS:
        raise _too_wide(cells.name, len(header), header)
    table = table_of_cells(cells, 2, names, layout)
    if table.values.shape[1] > 1:
        raise _too_wide(table.name, 2 + table.values.shape[1], header)
    notes = table.notes
    if is_link and not source and {name.casefold() for name in header[:2]} <= _NAMES_OF_ENDS:
        first = " ".join(header[:2])
        notes = (*notes, f"{table.name}: the first row, {first!r}, names two nodes and is read as a link")
    if found or (weight and not source):
        notes = (*notes, f"{table.name}: read the columns {', '.join((*table.head, *table.columns))}")
    return replace(table, notes=notes)


def _graph_file(path: Path | str | Cells) -> Path | None:
    """The file if it is a graph, or an edge list with attributes, rather than a table."""
    if isinstance(path, Cells) or str(path) == STDIN:
        return None
    file, _ = split_name(path)
    check_file(file)
    is_graph = format_of(file) in GRAPHS or (is_text(file) and _has_attributes(file))
    return file if is_graph else None


def _header(cells: Cells) -> list[str]:
    """The header, or the first row, which may be one."""
    if cells.header is None and cells.may_have_header and len(cells.frame):
        return texts_of(cells.frame.iloc[0])
    return cells.header or []


def _columns_by_name(cells: Cells, header: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    """The numbers of the columns of ends and weight by their names; none where these are all columns or unknown."""
    folded = [name.casefold() for name in header]
    pairs = [pair for pair in ENDS if all(name in names and folded.count(name) == 1 for name in pair)]
    if not pairs or (len(header) <= _MAX_COLUMNS and folded[:2] == list(pairs[0])):
        return ()
    columns = [folded.index(name) for name in pairs[0]]
    weights = [folded.index(name) for name in _WEIGHTS if folded.count(name) == 1]
    if weights:
        texts = texts_of(cells.frame.iloc[1 if cells.header is None else 0 :, weights[0]])
        words = sum(not is_number(text) for text in texts)
        if 2 * words <= len(texts):  # else they are not weights: BioGRID's scores, for instance, are dashes
            columns.append(weights[0])
    return tuple(str(j + 1) for j in columns)


def _too_wide(name: str, n_columns: int, header: Sequence[str]) -> ValueError:
    return ValueError(
        f"{name}: expected source, target and perhaps weight, got {n_columns} columns, {' '.join(header)!r:.60}; "
        'select them with `source`, `target` and `weight` ("none" for unweighted links), by name or number.'
    )


# --------------------------------------------------------------------------------------------------------- graph files


def _read_graph(path: Path, weight: str | None, known: Collection[str]) -> FileTable:
    """The links of a graph file, or of an edge list whose rows end in a dictionary.

    Nodes have the names that are `known`: their ids, or a label that every node has. `weight` is the name of an
    attribute, by default the first of the usual ones.
    """
    check_content(path, _TEXT_TO_GRAPH * path.stat().st_size)
    suffix = format_of(path)
    if suffix == ".sif":
        return _sif_table(path, read_text(path))
    if suffix in (".cyjs", ".json"):
        nodes, edges = _from_json(path, read_json(path))
    else:
        nodes, edges = _from_networkx(path, read_text(path), suffix if suffix in GRAPHS else "")

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


def _has_attributes(path: Path) -> bool:
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


def _from_json(path: Path, content: Any) -> tuple[Nodes, Edges]:
    """Nodes and links of Cytoscape's elements, in one list or two, or of NetworkX's node-link data."""
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
    if name == _UNWEIGHTED:
        return None
    for attribute in (name,) if name else _WEIGHTS:
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
    table = FileTable(
        name=str(path),
        lines=np.array(lines),
        unit=unit,
        text=np.char.strip(np.array(ends)),
        values=np.empty((len(ends), 0)),
        columns=("weight",) if known else (),
    )
    return table.with_values(np.array(known).reshape(len(ends), -1))
