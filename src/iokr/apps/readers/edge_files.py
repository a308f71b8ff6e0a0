"""Edge lists: tables whose columns are found by their names, and graph files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from iokr.apps.readers.cell_values import is_number, texts_of
from iokr.apps.readers.file_table import Cells, FileTable
from iokr.apps.readers.formats import check_file, format_of
from iokr.apps.readers.graph_files import READERS, UNWEIGHTED, WEIGHTS, has_attributes, read_edgelist
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
    if isinstance(path, Cells):
        return _table(path, source, target, weight, decimal, known)
    file, _ = split_name(path)
    if str(path) != STDIN:
        check_file(file)
    suffix = format_of(file)
    if suffix in READERS:
        if source:
            raise ValueError(f"{file}: `source` and `target` select columns of tables; {suffix} files have none.")
        return READERS[suffix](file, weight, known)
    if is_text(file) and str(path) != STDIN and has_attributes(file):
        return read_edgelist(file, weight, known)
    cells = cells_of_file(path, 2, 2)
    return _table(cells, source, target, weight, decimal, known)


def _table(
    cells: Cells, source: str | None, target: str | None, weight: str | None, decimal: str, known: Collection[str]
) -> FileTable:
    """The edge list in a table."""
    header = _header(cells)
    # a first row of two node ids is a link, even where the words are those of a header
    is_link = cells.header is None and len(header) > 1 and set(header[:2]) <= set(known)
    names = frozenset() if is_link else _NAMES_OF_ENDS
    columns = _columns(cells, header, names, source, target, weight)
    layout = Layout(decimal=decimal, min_columns=2)
    if columns is not None:
        layout = replace(layout, id=columns[:2], columns=columns[2:], header=not weight and not source)
    elif len(header) > _MAX_COLUMNS:
        raise _too_wide(cells.name, len(header), header)
    table = table_of_cells(cells, 2, names, layout)
    if table.values.shape[1] > 1:
        raise _too_wide(table.name, 2 + table.values.shape[1], header)
    notes = table.notes
    if is_link and not source and {name.casefold() for name in header[:2]} <= _NAMES_OF_ENDS:
        first = " ".join(header[:2])
        notes = (*notes, f"{table.name}: the first row, {first!r}, names two nodes and is read as a link")
    if columns is not None and not source:
        notes = (*notes, f"{table.name}: read the columns {', '.join((*table.head, *table.columns))}")
    return replace(table, notes=notes)


def _columns(
    cells: Cells,
    header: Sequence[str],
    names: Collection[str],
    source: str | None,
    target: str | None,
    weight: str | None,
) -> tuple[str, ...] | None:
    """Source, target and perhaps weight, by name or number; None for all columns in their order."""
    weights = () if weight in (None, UNWEIGHTED) else (str(weight),)
    if source and target:
        return (source, target, *weights)
    if weight:
        return ("1", "2", *weights)
    return _find_columns(header, names, cells)


def _header(cells: Cells) -> list[str]:
    """The header, or the first row, which may be one."""
    if cells.header is not None:
        return cells.header
    if not cells.may_have_header or not len(cells.frame):
        return []
    return texts_of(cells.frame.iloc[0])


def _find_columns(header: Sequence[str], names: Collection[str], cells: Cells) -> tuple[str, ...] | None:
    """The columns with the names of ends and weights, by number; None where these are all columns or unknown."""
    folded = [name.casefold() for name in header]
    pairs = [pair for pair in ENDS if all(name in names and folded.count(name) == 1 for name in pair)]
    if not pairs or (len(header) <= _MAX_COLUMNS and folded[:2] == list(pairs[0])):
        return None
    columns = [folded.index(name) for name in pairs[0]]
    weights = [folded.index(name) for name in WEIGHTS if folded.count(name) == 1]
    if weights and _holds_numbers(cells, weights[0]):
        columns.append(weights[0])
    return tuple(str(j + 1) for j in columns)


def _holds_numbers(cells: Cells, j: int) -> bool:
    """Whether at most half of a column are words; BioGRID's scores, for instance, are dashes."""
    first = 0 if cells.header is not None else 1
    texts = texts_of(cells.frame.iloc[first:, j])
    words = sum(not is_number(text) for text in texts)
    return 2 * words <= len(texts)


def _too_wide(name: str, n_columns: int, header: Sequence[str]) -> ValueError:
    return ValueError(
        f"{name}: expected source, target and perhaps weight, got {n_columns} columns, {' '.join(header)!r:.60}; "
        'select them with `source`, `target` and `weight` ("none" for unweighted links), by name or number.'
    )
