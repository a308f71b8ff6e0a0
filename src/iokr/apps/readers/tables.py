"""Tables from files: leading columns of text, then numbers, each row with its line in the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from iokr._system.memory import check_memory
from iokr.apps.readers.file_table import Cells, FileTable, is_number, texts_of, with_numbers, with_point
from iokr.apps.readers.formats import TABLES, as_path, check_file, format_of, unknown_format
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.text_tables import STDIN, is_text, read_cells
from iokr.apps.readers.typed_tables import ARRAYS, FRAMES, read_array, read_frame, read_sheet

__all__ = ["cells_of_file", "read_table", "split_name", "table_of_cells"]

_ID_NAMES = frozenset({"", "id", "ids", "index", "name", "node", "nodes", "gene", "protein", "orf", "rownames"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_WITH_PARTS = (".npz", ".xlsx", ".h5ad")


def read_table(
    path: Path | str | Cells, n_text: int = 1, *, names: frozenset[str] = frozenset(), layout: Layout | None = None
) -> FileTable:
    """Read a table whose first `n_text` columns are text and whose other columns are numbers.

    The suffix states the format, see `iokr.apps.readers.formats`; ``file.xlsx:sheet``, ``file.npz:array`` and
    ``file.h5ad:layer`` select a part, and ``-`` is text on standard input. The first row of a text file is a header if
    most of its cells that should be numbers are words; if it begins with a word such as "id", or with an empty cell
    before numbers that count from 0 or 1; if it repeats the first column, as in a kernel; if all its words are in
    `names`; or if `layout` names one of its cells.

    Raises
    ------
    ValueError
        With file and line, when rows differ in width, or a cell is not a number.
    """
    layout = Layout() if layout is None else layout
    return table_of_cells(cells_of_file(path, n_text, layout.min_columns), n_text, names, layout)


def cells_of_file(path: Path | str | Cells, n_text: int = 1, min_columns: int = 1) -> Cells:
    """The cells of a file of any format, or of a table in memory."""
    if isinstance(path, Cells):
        return path
    path, part = split_name(path)
    if str(path) != STDIN:
        check_file(path)
    if is_text(path):
        return read_cells(path, max(n_text, min_columns))
    suffix = format_of(path)
    if suffix == ".xlsx":
        return read_sheet(path, part)
    if suffix in FRAMES:
        return read_frame(path, part)
    if suffix in ARRAYS:
        return read_array(path, part, n_text)
    raise unknown_format(path, TABLES)


def split_name(path: Path | str | Cells) -> tuple[Path, str | None]:
    """``file.npz:array`` as file and part; the part of other names is None."""
    path = Path(path.name) if isinstance(path, Cells) else as_path(path)
    head, _, tail = str(path).rpartition(":")
    if head.lower().endswith(_WITH_PARTS):
        return Path(head), tail
    return path, None


def table_of_cells(cells: Cells, n_text: int, names: Iterable[str], layout: Layout) -> FileTable:
    """Cells as a table; arguments as in `read_table`."""
    width = cells.frame.shape[1]
    if not len(cells.frame):
        raise ValueError(f"{cells.name} is empty; expected ids and features, or the two ends of links.")
    if width < n_text:
        first = " ".join(texts_of(cells.frame.iloc[0]))
        raise ValueError(
            f"{cells.at(0)}: expected at least {n_text} columns separated by {cells.separator}, got {width}: "
            f"{first!r:.60}."
        )
    cells = _with_header(cells, n_text, frozenset(names), layout)
    if not len(cells.frame):
        comments = f"; {cells.comments} lines begin with # and are comments" if cells.comments else ""
        raise ValueError(f"{cells.name} has a header but no rows{comments}.")
    header = cells.header
    frame = cells.frame
    order = layout.order(header or [""] * width, n_text, cells.name)
    if order != list(range(width)):
        frame = frame.iloc[:, order]
        header = None if header is None else [header[j] for j in order]
    ids = [texts_of(frame.iloc[:, j]) for j in range(n_text)]
    longest = max(len(cell) for column in ids for cell in column)
    size = 4 * longest * n_text * len(frame) + 8 * frame.size  # NumPy's text has one width
    check_memory(
        size, f"{cells.name}, {len(frame)} rows with ids of up to {longest} characters,", "Give a smaller file."
    )
    table = FileTable(
        name=cells.name,
        lines=cells.lines,
        unit=cells.unit,
        comments=cells.comments,
        numbered=cells.numbered,
        notes=cells.notes,
        text=np.array(ids, dtype=str).T,
        values=np.empty((len(frame), 0)),
        columns=tuple(header[n_text:]) if header else (),
        head=tuple(header[:n_text]) if header else (),
    )
    _check_printable(table)
    return with_numbers(table, frame.iloc[:, n_text:], layout)


# ------------------------------------------------------------------------------------------------------------- headers


def _with_header(cells: Cells, n_text: int, names: frozenset[str], layout: Layout) -> Cells:
    """The cells with the first row as their header, if it is one."""
    if cells.header is not None or not cells.may_have_header:
        return cells
    first = cells.frame.iloc[0].tolist()
    ids = cells.frame.iloc[1:, 0].tolist()
    is_kernel = n_text == 1 and len(ids) > 1 and first[1:] == ids
    named = (*layout.id, *(layout.columns or ()), *layout.one_hot)
    is_named = layout.header or any(name in first for name in named)
    if not is_kernel and not is_named and not _is_header(first, n_text, names):
        return cells
    return replace(cells, header=first, frame=cells.frame.iloc[1:], lines=cells.lines[1:])


def _is_header(cells: list[str], n_text: int, names: frozenset[str]) -> bool:
    """Whether the first row names the columns."""
    ids = {cell.lower() for cell in cells[:n_text]}
    if names and ids <= names:
        return True
    values = cells[n_text:]
    words = sum(not is_number(cell) and not is_number(with_point(cell)) for cell in values)
    named_ids = ids <= _ID_NAMES
    if words:
        return named_ids or 2 * words > len(values)
    counts = [str(j) for j in range(len(values) + 1)]
    return named_ids and (any(cells[:n_text]) or values in (counts[:-1], counts[1:]))


# ----------------------------------------------------------------------------------------------------------------- ids


def _check_printable(table: FileTable) -> None:
    """Raise for ids with control characters, which GraphML cannot hold and people cannot see."""
    for i, row in enumerate(table.text.tolist()):
        for cell in row:
            if not cell.isprintable() and _CONTROL.search(cell):
                raise ValueError(
                    f"{table.at(i)}: {cell!r:.60} contains a tab, a line end or a control character, which ids must "
                    "not contain; if tabs separate the columns, the file name must end in .tsv."
                )
