"""Nodes from files: a table of features, or kernel matrices, with an id for every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from iokr._system.text import printable
from iokr._validation.matrices import check_psd
from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.tables import read_table

__all__ = ["Nodes", "Rejection", "read_kernels", "read_nodes", "rejected"]

FILLS = ("reject", "mean", "zero")


@dataclass(frozen=True)
class Rejection:
    """Something in a file that was not taken as it is.

    Examples
    --------
    >>> from iokr.apps.readers import Rejection
    >>> Rejection("edges.tsv", 7, "edge", "a", "a", "self-loop", "left out").reason
    'self-loop'
    """

    file: str
    line: int | None
    what: str
    source: str
    target: str
    reason: str
    action: str
    detail: str = ""


def rejected(
    table: FileTable, i: int, what: str, source: str, target: str, reason: str, action: str, detail: str = ""
) -> Rejection:
    """Row i of a table, and why it was not taken."""
    return Rejection(table.name, int(table.lines[i]), what, source, target, reason, action, detail)


@dataclass(frozen=True)
class Nodes:
    """Ids, with the features of each node or with kernels between them.

    Attributes
    ----------
    ids : ndarray of shape (N,)
    X : ndarray of shape (N, p), or None when kernels were given
    columns : tuple of str
        Names of the features.
    kernels : dict of str to ndarray of shape (N, N)
    rejections : tuple of Rejection
    origin : ndarray
        The ids of all rows of the first file, also of those that were left out: what row numbers refer to.
    numbered : bool
        The ids are row numbers, for want of others.
    comments : int
        Lines that begin with # and were passed over.
    notes : tuple of str
        How files were read, where that may surprise.
    views : tuple of (str, int)
        Names of the tables that X is made of, and their numbers of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps.readers import Nodes
    >>> Nodes(np.array(["a", "b"]), np.eye(2), ("u", "v")).X.shape
    (2, 2)
    """

    ids: NDArray[np.str_]
    X: NDArray[np.float64] | None
    columns: tuple[str, ...] = ()
    kernels: dict[str, NDArray[np.float64]] | None = None
    rejections: tuple[Rejection, ...] = ()
    origin: NDArray[np.str_] | None = None
    numbered: bool = False
    comments: int = 0
    notes: tuple[str, ...] = ()
    views: tuple[tuple[str, int], ...] = ()


def read_nodes(
    path: Path | str,
    *,
    ids: Path | str | None = None,
    missing: str = "reject",
    means: Mapping[str, float] | None = None,
    layout: Layout | None = None,
) -> Nodes:
    """Features of nodes from a table whose first column is the id.

    Parameters
    ----------
    path : path
        As `iokr.apps.readers.tables.read_table` takes it. An .npy file has no ids: they are in `ids`, or are the row
        numbers from 0; an .npz file may have them as its array ``ids``.
    ids : path, optional
        A file with the ids of the rows, in their order.
    missing : {"reject", "mean", "zero"}, default="reject"
        What to do with nodes some of whose features are missing: leave them out, or fill in the mean of the column,
        or zero. Nodes without any feature are left out in any case. All of them are listed.
    means : mapping of names of columns to numbers, optional
        The means to fill in, those of other nodes; None is those of the table.
    layout : `iokr.apps.readers.layouts.Layout`, optional
        Which columns are the ids and the features, which are categories, and how numbers are written.

    Returns
    -------
    Nodes

    Raises
    ------
    ValueError
        With file and line: a cell that is no number; one id with two different rows of features.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_nodes
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "nodes.tsv")
    ...     _ = path.write_text("id\\tsize\\tmass\\na\\t1\\t2\\nb\\t\\t3\\na\\t1\\t2\\n")
    ...     nodes = read_nodes(path)
    >>> nodes.ids.tolist(), [(r.source, r.line, r.reason) for r in nodes.rejections]
    (['a'], [('a', 4, 'duplicate'), ('b', 3, 'missing features')])
    """
    if missing not in FILLS:
        raise ValueError(f"`missing` must be one of {', '.join(FILLS)}, got {missing!r}.")
    layout = Layout(least=2) if layout is None else replace(layout, least=2)
    table = _with_ids(read_table(path, layout=layout), ids)
    table = table.transposed() if layout.transpose else table
    if not table.values.shape[1]:
        raise ValueError(
            f"{table.name} has ids and no features; expected numbers after the first column{_parted(table)}."
        )
    keep, repeated = _first_of_each(table)
    values, absent, notes = _fill(table, keep, missing, means)
    keep = keep[~absent]
    if not len(keep):
        raise ValueError(
            f"{table.name}: every node has missing features ({notes[0].detail} in {table.unit} {notes[0].line}); "
            "fill them with --missing mean, or --missing zero."
        )
    X = values[~absent]
    origin = table.text[:, 0]
    return Nodes(
        table.text[keep, 0],
        X,
        _names(table),
        None,
        (*repeated, *notes),
        origin,
        table.numbered,
        table.comments,
        table.notes,
    )


def read_kernels(paths: Sequence[Path | str], *, ids: Path | str | None = None) -> Nodes:
    """Kernel matrices between nodes, matched by their ids.

    A matrix in a text or Parquet file has the ids in its first column, and again as its header (in any order); without
    a header the columns are in the order of the rows. In an .npy or .npz file it is as `read_nodes` says. Nodes that
    are not in every file are left out and listed.

    Raises
    ------
    ValueError
        When a matrix is not square or not symmetric, or its rows and columns name different nodes, with file and line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_kernels
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "k.tsv")
    ...     _ = path.write_text("id\\ta\\tb\\na\\t2\\t1\\nb\\t1\\t2\\n")
    ...     nodes = read_kernels([path])
    >>> nodes.ids.tolist(), nodes.kernels["k"].tolist()
    (['a', 'b'], [[2.0, 1.0], [1.0, 2.0]])
    """
    if not paths:
        raise ValueError("`paths` must name at least one file.")
    tables = [_with_ids(read_table(path), ids) for path in paths]
    read = [_kernel(table) for table in tables]
    shared = set(read[0][0]).intersection(*(names for names, *_ in read[1:]))
    lost = {}
    for table, (names, _, _) in zip(tables, read, strict=True):
        for i, name in enumerate(names):
            if name not in shared and name not in lost:
                elsewhere = next(other.name for other, (have, *_) in zip(tables, read, strict=True) if name not in have)
                detail = f"not in {elsewhere}"
                lost[name] = rejected(table, i, "node", name, "", "not in every file", "left out", detail)
    if not shared:
        raise ValueError(f"{' and '.join(table.name for table in tables)} have no id in common.")
    order = [name for name in read[0][0] if name in shared]
    kernels: dict[str, NDArray[np.float64]] = {}
    for table, (names, K, _) in zip(tables, read, strict=True):
        at = {name: i for i, name in enumerate(names)}
        rows = np.array([at[name] for name in order])
        kernels[_fresh(table.name, kernels)] = K[np.ix_(rows, rows)]
    rejections = (*(r for *_, more in read for r in more), *lost.values())
    origin, comments = tables[0].text[:, 0], sum(table.comments for table in tables)
    return Nodes(np.array(order), None, (), kernels, rejections, origin, tables[0].numbered, comments)


def _parted(table: FileTable) -> str:
    """A hint at the separator, when an id looks like a whole row."""
    first = str(table.text[0, 0])
    words = {",": "commas (.csv)", ";": "semicolons (.csv)", " ": "spaces (.txt)"}
    found = next((word for mark, word in words.items() if mark in first), None)
    return f", but its columns seem to be separated by {found}: {first!r:.40}" if found else ""


def _with_ids(table: FileTable, ids: Path | str | None) -> FileTable:
    """The table, with the ids of another file in place of row numbers."""
    if ids is None:
        return table
    if not table.numbered:
        raise ValueError(f"{table.name} has ids of its own; --ids is for .npy and .npz files that have none.")
    names = read_table(ids)
    if len(names.text) != len(table.text):
        raise ValueError(f"{table.name} has {len(table.text)} rows but {names.name} has {len(names.text)} ids.")
    return replace(table, text=names.text, numbered=False)


def _names(table: FileTable) -> tuple[str, ...]:
    """Of the features."""
    return tuple(table.columns) or tuple(f"x{j + 1}" for j in range(table.values.shape[1]))


def _first_of_each(table: FileTable) -> tuple[NDArray[np.int64], list[Rejection]]:
    """Rows of the first occurrence of each id; rows without id and repeated rows are listed, contradictions stop."""
    first: dict[str, int] = {}
    rejections = []
    for i, name in enumerate(table.text[:, 0].tolist()):
        if not name:
            rejections.append(rejected(table, i, "node", "", "", "no id", "left out"))
        elif name not in first:
            first[name] = i
        elif np.array_equal(table.values[i], table.values[first[name]], equal_nan=True):
            detail = f"as in {table.unit} {table.lines[first[name]]}"
            rejections.append(rejected(table, i, "node", name, "", "duplicate", "counted once", detail))
        else:
            raise ValueError(
                f"{table.at(i)}: node {name!r} has other values than in {table.unit} {table.lines[first[name]]}."
            )
    if not first:
        raise ValueError(f"{table.name} has no ids.")
    return np.array(list(first.values())), rejections


def _fill(
    table: FileTable, keep: NDArray[np.int64], missing: str, means: Mapping[str, float] | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_], list[Rejection]]:
    """(values with holes filled, which nodes to leave out, what to list)."""
    values = table.values[keep].copy()
    holes = np.isnan(values)
    counts, p = holes.sum(axis=1), values.shape[1]
    empty = holes.all(axis=0)
    if empty.any() and means is None:
        raise ValueError(f"{table.name}, column {table.column(int(np.argmax(empty)))}: there is no value in it.")
    absent = counts == p if missing != "reject" else counts > 0
    if missing == "mean":
        mean = np.nanmean(values, axis=0) if means is None else [means[name] for name in _names(table)]
        values[holes] = np.broadcast_to(mean, values.shape)[holes]
    elif missing == "zero":
        values[holes] = 0.0
    filled = {"mean": "filled with the mean of the column", "zero": "filled with 0"}.get(missing, "")
    notes = []
    for i in np.flatnonzero(counts):
        name, action = str(table.text[keep[i], 0]), "left out" if absent[i] else filled
        notes.append(rejected(table, keep[i], "node", name, "", "missing features", action, f"{counts[i]} of {p}"))
    return values, absent, notes


def _kernel(table: FileTable) -> tuple[list[str], NDArray[np.float64], list[Rejection]]:
    """(ids, symmetric matrix in their order, what to list) of one file."""
    keep, rejections = _first_of_each(table)
    if len(keep) < len(table.text):
        i = min(set(range(len(table.text))) - set(keep.tolist()))
        raise ValueError(f"{table.at(i)}: node {str(table.text[i, 0])!r} appears twice in a kernel file, or has no id.")
    names, K = table.text[:, 0].tolist(), table.values
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{table.name}: a kernel must be square, got {K.shape[0]} rows and {K.shape[1]} columns.")
    if table.columns and list(table.columns) != names:
        if sorted(table.columns) != sorted(names):
            odd = next(name for name in (*names, *table.columns) if name not in names or name not in table.columns)
            raise ValueError(f"{table.name}: rows and columns must name the same nodes, but {odd!r} is not in both.")
        at = {name: j for j, name in enumerate(table.columns)}
        K = K[:, [at[name] for name in names]]
    holes = np.isnan(K)
    if holes.any():
        i, j = divmod(int(holes.argmax()), len(K))
        raise ValueError(f"{table.at(i)}, column {names[j]!r}: a kernel has no missing values.")
    if not K.any():
        raise ValueError(f"{table.name}: every entry of the kernel is 0.")
    difference = np.abs(K - K.T)
    if difference.max() > 1e-6 * np.abs(K).max():
        i, j = divmod(int(difference.argmax()), len(K))
        one, other = printable(names[i]), printable(names[j])
        raise ValueError(
            f"{table.at(i)}: a kernel must be symmetric, but k({one}, {other}) = {K[i, j]:g} and "
            f"k({other}, {one}) = {K[j, i]:g}."
        )
    return names, np.asarray(check_psd((K + K.T) / 2, table.name)), rejections


def _fresh(name: str, taken: dict[str, NDArray[np.float64]]) -> str:
    """A short name for the kernel of a file, its own."""
    base = Path(name.rpartition(":")[2] if ".npz:" in name else name).name.split(".")[0]
    return base if base not in taken else name
