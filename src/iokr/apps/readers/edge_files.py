"""Edge lists: tables whose columns are found by their names, and graph files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from iokr.apps.readers.cell_values import is_number, texts_of
from iokr.apps.readers.file_table import Cells, FileTable
from iokr.apps.readers.formats import GRAPHS, check_file, format_of
from iokr.apps.readers.graph_files import UNWEIGHTED, WEIGHTS, has_attributes, read_graph
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
    if not isinstance(path, Cells) and str(path) != STDIN:
        file, _ = split_name(path)
        check_file(file)
        suffix = format_of(file)
        if suffix in GRAPHS and source:
            raise ValueError(f"{file}: `source` and `target` select columns of tables; {suffix} files have none.")
        if suffix in GRAPHS or (is_text(file) and has_attributes(file)):
            return read_graph(file, weight, known)
    cells = cells_of_file(path, 2, 2)
    header = _header(cells)
    # a first row of two node ids is a link, even where the words are those of a header
    is_link = cells.header is None and len(header) > 1 and set(header[:2]) <= set(known)
    names = frozenset() if is_link else _NAMES_OF_ENDS
    weights = () if weight in (None, UNWEIGHTED) else (str(weight),)
    layout = Layout(decimal=decimal, min_columns=2)
    found: tuple[str, ...] = ()
    if source and target:
        layout = replace(layout, id=(source, target), columns=weights)
    elif weight:
        layout = replace(layout, id=("1", "2"), columns=weights)
    else:
        found = _columns_by_name(cells, header, names)
        if found:
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


def _header(cells: Cells) -> list[str]:
    """The header, or the first row, which may be one."""
    if cells.header is not None:
        return cells.header
    if not cells.may_have_header or not len(cells.frame):
        return []
    return texts_of(cells.frame.iloc[0])


def _columns_by_name(cells: Cells, header: Sequence[str], names: Collection[str]) -> tuple[str, ...]:
    """The numbers of the columns of ends and weight by their names; none where these are all columns or unknown."""
    folded = [name.casefold() for name in header]
    pairs = [pair for pair in ENDS if all(name in names and folded.count(name) == 1 for name in pair)]
    if not pairs or (len(header) <= _MAX_COLUMNS and folded[:2] == list(pairs[0])):
        return ()
    columns = [folded.index(name) for name in pairs[0]]
    weights = [folded.index(name) for name in WEIGHTS if folded.count(name) == 1]
    if weights:
        texts = texts_of(cells.frame.iloc[1 if cells.header is None else 0 :, weights[0]])
        words = sum(not is_number(text) for text in texts)
        if 2 * words <= len(texts):  # else they are no weights: BioGRID's scores, for instance, are dashes
            columns.append(weights[0])
    return tuple(str(j + 1) for j in columns)


def _too_wide(name: str, n_columns: int, header: Sequence[str]) -> ValueError:
    return ValueError(
        f"{name}: expected source, target and perhaps weight, got {n_columns} columns, {' '.join(header)!r:.60}; "
        'select them with `source`, `target` and `weight` ("none" for unweighted links), by name or number.'
    )
