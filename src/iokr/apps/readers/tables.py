"""Reading tables: leading columns of text, then numbers, every row with its line in the file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from iokr._system.memory import check_memory
from iokr.apps.readers.array_tables import read_array
from iokr.apps.readers.cell_values import with_cells
from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.frame_tables import FRAMES, read_frame
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.sheets import read_sheet
from iokr.apps.readers.text_tables import STDIN, Cells, is_number, pointed, read_cells, text_suffix

__all__ = ["read_table", "split_name", "table_of_cells"]

_HEADINGS = frozenset({"", "id", "ids", "index", "name", "node", "nodes", "gene", "protein", "orf", "rownames"})
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_KINDS = ".tsv, .csv, .txt (spaces), .xlsx, .parquet, .feather, .h5ad, .npy or .npz, text also with .gz"
_ELSEWHERE = {
    ".xls": "in Excel, save it as .xlsx or 'CSV UTF-8'",
    ".ods": "in LibreOffice, save it as .xlsx or .csv",
    ".rds": "in R, write.csv(x, 'file.csv')",
    ".rdata": "in R, write.csv(x, 'file.csv')",
    ".zip": "unpack it first",
    ".bz2": "unpack it first (bunzip2)",
    ".xz": "unpack it first (unxz)",
    ".zst": "unpack it first (unzstd)",
    ".pkl": "pickles may execute anything and are not read; in pandas, frame.to_parquet('file.parquet')",
    ".mat": "in Python, numpy.savez of scipy.io.loadmat",
    ".gml": "in NetworkX, write_edgelist or write_graphml",
    ".gexf": "in Gephi, export GraphML or a .csv table of edges",
    ".net": "in NetworkX, write_edgelist(read_pajek(...))",
    ".cys": "in Cytoscape, export the network as .sif, .cyjs or GraphML",
    ".loom": "in Python, anndata.read_loom(...).write_h5ad",
}


def read_table(
    path: Path | str, n_text: int = 1, *, names: frozenset[str] = frozenset(), layout: Layout | None = None
) -> FileTable:
    """Read a table whose first `n_text` columns are text and whose other columns are numbers.

    The kind of file follows from its name: .tsv, .csv, .txt (spaces), each also with .gz; .xlsx, with
    ``file.xlsx:sheet`` to name one of its sheets; .parquet; .feather; .h5ad; .npy; .npz, with ``file.npz:array`` to
    name one of its arrays; ``-`` is text on standard input. In text files a first row is a header if one of its cells
    that should be a number is none, and most are none (else it is a row with a fault); if it begins with a word like
    "id"; if it begins with nothing and those cells count from 0 or from 1; if they repeat the first column, as in a
    kernel; if all its words are in `names`; or if `layout` asks for columns by its words.

    Raises
    ------
    ValueError
        With file and line, when a row has too few or too many cells, or a cell is no number.
    """
    layout = Layout() if layout is None else layout
    if not isinstance(path, (str, Path)):
        raise TypeError(f"`path` must be the name of a file, a string or a `Path`, got {type(path).__name__}.")
    path, part = split_name(path)
    if str(path) == STDIN:
        return table_of_cells(read_cells(path, max(n_text, layout.least)), n_text, names, layout)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    try:
        is_file = path.is_file()
    except OSError as error:  # no name of a file
        raise ValueError(f"{path!s:.60} cannot be the name of a file: {error.strerror}.") from None
    if not is_file:
        raise FileNotFoundError(f"{path!s:.200} is {'a folder, not a file' if path.is_dir() else 'not there'}.")
    if text_suffix(path) is not None:
        return table_of_cells(read_cells(path, max(n_text, layout.least)), n_text, names, layout)
    if suffix == ".xlsx":
        return table_of_cells(read_sheet(path, part), n_text, names, layout)
    if suffix in FRAMES:
        return _printable(read_frame(path, part, n_text, layout))
    if suffix in (".npy", ".npz"):
        return _printable(read_array(path, part, n_text))
    way_out = _ELSEWHERE.get(suffix)
    if way_out is not None:
        raise ValueError(f"{path}: {suffix} files are not read; {way_out}.")
    raise ValueError(f"{path}: cannot tell what kind of file this is; its name must end in {_KINDS}.")


def split_name(path: Path | str) -> tuple[Path, str | None]:
    """``file.npz:array`` and ``file.xlsx:sheet`` in their two parts; the second is None for other names."""
    head, _, tail = str(path).rpartition(":")
    return (Path(head), tail) if head.lower().endswith((".npz", ".xlsx", ".h5ad")) else (Path(path), None)


def _printable(table: FileTable) -> FileTable:
    """The same table, whose text has no control characters: neither GraphML nor people could read them."""
    for i, row in enumerate(table.text.tolist()):
        odd = next((cell for cell in row if not cell.isprintable() and _CONTROL.search(cell)), None)
        if odd is not None:
            raise ValueError(f"{table.at(i)}: {odd!r:.60} holds {_odd_in_words(odd, table.name)}.")
    return table


def _odd_in_words(cell: str, name: str) -> str:
    """What no id may hold, of that which this one holds."""
    if "\n" in cell or "\r" in cell:
        return "a line end; an id is one line"
    if "\t" not in cell:
        return "a character that cannot be printed"
    tabs = name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    return "a tab; an id has none" if tabs else "tabs; if columns are separated by them, the name must end in .tsv"


# ---------------------------------------------------------------------------------------------------------- text files


def table_of_cells(cells: Cells, n_text: int, names: frozenset[str], layout: Layout) -> FileTable:
    """The cells of a text file or a sheet as a table; arguments as in `read_table`."""
    if not cells.rows:
        raise ValueError(f"{cells.name} holds no rows; it must have `id` and features, or the two ends of links.")
    rows, lines = cells.rows, cells.lines
    _check_widths(cells, n_text)
    head = cells.header
    if head is None:
        again = n_text == 1 and len(rows) > 2 and rows[0][1:] == [row[0] for row in rows[1:]]
        asked = layout.header or any(name in rows[0] for name in layout.named)
        if asked or again or _is_header(rows[0], n_text, names):
            head, rows, lines = rows[0], rows[1:], lines[1:]
    if not rows:
        passed = f"; {cells.comments} lines begin with # and were taken for comments" if cells.comments else ""
        raise ValueError(f"{cells.name} holds a header and no rows{passed}.")
    order = layout.order(head or [""] * len(rows[0]), n_text, cells.name)
    if order is not None:
        head = None if head is None else [head[j] for j in order]
        rows = [[row[j] for j in order] for row in rows]
    longest = max(len(cell) for row in rows for cell in row[:n_text])
    room = 4 * longest * n_text * len(rows) + 8 * len(rows) * len(rows[0])
    check_memory(
        room, f"{cells.name}, {len(rows)} rows with ids of up to {longest} characters,", "Give a smaller file."
    )
    text = np.array([row[:n_text] for row in rows], dtype=str)
    said, columns = (tuple(head[:n_text]), tuple(head[n_text:])) if head is not None else ((), ())
    at, empty = np.array(lines), np.empty((len(rows), 0))
    table = FileTable(cells.name, text, empty, columns, at, cells.unit, comments=cells.comments)
    table = _printable(replace(table, head=said, notes=cells.notes))
    return with_cells(table, [row[n_text:] for row in rows], layout)


def _check_widths(cells: Cells, n_text: int) -> None:
    """All rows as wide as the first, and wide enough."""
    rows, lines = cells.rows, cells.lines
    width = len(rows[0])
    if width < n_text:
        raise ValueError(
            f"{cells.name}, {cells.unit} {lines[0]}: expected at least {n_text} columns separated by "
            f"{cells.separator}, got {width}: {' '.join(rows[0])!r:.60}."
        )
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            raise ValueError(
                f"{cells.name}, {cells.unit} {line}: expected {width} columns as in {cells.unit} {lines[0]}, got "
                f"{len(row)}."
            )


def _is_header(cells: list[str], n_text: int, names: frozenset[str]) -> bool:
    """Whether the first row names the columns."""
    if cells and names and {cell.lower() for cell in cells[:n_text]} <= names:
        return True
    rest = cells[n_text:]
    words = [cell for cell in rest if not is_number(cell) and not is_number(pointed(cell))]
    titled = {cell.lower() for cell in cells[:n_text]} <= _HEADINGS
    if words:
        return titled or 2 * len(words) > len(rest)
    counts = [str(j) for j in range(len(rest) + 1)]
    return titled and (any(cells[:n_text]) or rest in (counts[:-1], counts[1:]))
