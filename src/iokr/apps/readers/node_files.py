"""Nodes from files: a table of features, or kernel matrices, with an id for every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr._system.text import printable
from iokr._validation.arguments import check_choice
from iokr._validation.matrices import check_psd
from iokr.apps.readers.file_table import Cells, FileTable
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.tables import read_table

__all__ = ["FILLED", "Nodes", "Rejection", "read_kernels", "read_nodes", "rejected"]

# What is done about missing features, for the values of `missing` that keep the node.
FILLED = {"mean": "filled with the mean of the column", "zero": "filled with 0"}

_ASYMMETRY = 1e-6  # of a kernel matrix, relative to its largest entry


@dataclass(frozen=True)
class Rejection:
    """An entry of a file that was rejected or changed.

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
    """The rejection of row i of a table."""
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
        The ids of all rows of the first file, including rejected ones: what row numbers refer to.
    numbered : bool
        Whether the ids are row numbers, because the file has none.
    comments : int
        Lines that begin with #, which were skipped.
    notes : tuple of str
        How files were read, where that may be a surprise.
    views : tuple of (str, int)
        Names of the tables that X consists of, and their numbers of columns.

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


# ------------------------------------------------------------------------------------------------------------ features


def read_nodes(
    path: Path | str | Cells,
    *,
    ids: Path | str | Cells | None = None,
    missing: str = "reject",
    means: Mapping[str, float] | None = None,
    layout: Layout | None = None,
) -> Nodes:
    """Features of nodes from a table whose first column is the id.

    Parameters
    ----------
    path : path
        A table, see `iokr.apps.readers.formats`. The ids of an .npz file may be in its array ``ids``; those of an .npy
        file are in `ids`. Without them, ids are row numbers from 0.
    ids : path, optional
        A file with the ids of the rows, in their order.
    missing : {"reject", "mean", "zero"}, default="reject"
        What to do about missing features: reject the node, or impute the mean of the column, or zero. Nodes without
        any feature are always rejected. All of them are listed in `rejections`.
    means : mapping of names of columns to numbers, optional
        The means to impute, for instance those of the training set; by default those of the table.
    layout : `iokr.apps.readers.layouts.Layout`, optional
        Which columns are the ids and the features, which are categories, and how numbers are written.

    Returns
    -------
    Nodes

    Raises
    ------
    ValueError
        With file and line: a cell that is not a number; one id with two different rows of features.

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
    check_choice(missing, "missing", ("reject", *FILLED))
    layout = replace(layout or Layout(), min_columns=2)
    table = _with_ids(read_table(path, layout=layout), ids)
    if layout.transpose:
        table = table.transposed()
    if not table.values.shape[1]:
        raise ValueError(
            f"{table.name} has ids but no features; expected numbers after the first column, whose first cell is "
            f"{str(table.text[0, 0])!r:.40}."
        )
    rows, duplicates = _first_of_each(table)
    values, empty, gaps = _impute(table, rows, missing, means)
    if empty.all():
        raise ValueError(
            f"{table.name}: every node has missing features ({gaps[0].detail} in {table.unit} {gaps[0].line}); impute "
            'them with `missing="mean"` or `missing="zero"`.'
        )
    return Nodes(
        table.text[rows[~empty], 0],
        values[~empty],
        _feature_names(table),
        rejections=(*duplicates, *gaps),
        origin=table.text[:, 0],
        numbered=table.numbered,
        comments=table.comments,
        notes=table.notes,
    )


def _with_ids(table: FileTable, ids: Path | str | Cells | None) -> FileTable:
    """The table, with the ids of another file in place of row numbers."""
    if ids is None:
        return table
    if not table.numbered:
        raise ValueError(f"{table.name} has its own ids; `ids` is for .npy and .npz files without them.")
    names = read_table(ids)
    if len(names.text) != len(table.text):
        raise ValueError(f"{table.name} has {len(table.text)} rows but {names.name} has {len(names.text)} ids.")
    return replace(table, text=names.text, numbered=False)


def _feature_names(table: FileTable) -> tuple[str, ...]:
    return table.columns or tuple(f"x{j + 1}" for j in range(table.values.shape[1]))


def _first_of_each(table: FileTable) -> tuple[NDArray[np.int64], list[Rejection]]:
    """The first row of each id, and the rows without id and the duplicates, which must be equal to the first row."""
    first: dict[str, int] = {}
    rejections = []
    for i, name in enumerate(table.text[:, 0].tolist()):
        if not name:
            rejections.append(rejected(table, i, "node", "", "", "no id", "left out"))
            continue
        k = first.setdefault(name, i)
        if k == i:
            continue
        earlier = f"{table.unit} {table.lines[k]}"
        if not np.array_equal(table.values[i], table.values[k], equal_nan=True):
            raise ValueError(f"{table.at(i)}: node {name!r} has other values than in {earlier}.")
        rejections.append(rejected(table, i, "node", name, "", "duplicate", "counted once", f"as in {earlier}"))
    if not first:
        raise ValueError(f"{table.name} has no ids.")
    return np.array(list(first.values())), rejections


def _impute(
    table: FileTable, rows: NDArray[np.int64], missing: str, means: Mapping[str, float] | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_], list[Rejection]]:
    """(values without gaps, which nodes to reject, the gaps)."""
    values = table.values[rows].copy()
    gaps = np.isnan(values)
    counts = gaps.sum(axis=1)
    p = values.shape[1]
    empty_columns = gaps.all(axis=0)
    if empty_columns.any() and means is None:
        raise ValueError(f"{table.name}, column {table.column(int(np.argmax(empty_columns)))}: every value is missing.")
    rejected_nodes = counts > 0 if missing == "reject" else counts == p
    if missing == "mean":
        mean = np.nanmean(values, axis=0) if means is None else [means[name] for name in _feature_names(table)]
        values[gaps] = np.broadcast_to(mean, values.shape)[gaps]
    elif missing == "zero":
        values[gaps] = 0.0
    rejections = []
    for i in np.flatnonzero(counts):
        action = "left out" if rejected_nodes[i] else FILLED[missing]
        name = str(table.text[rows[i], 0])
        detail = f"{counts[i]} of {p}"
        rejections.append(rejected(table, rows[i], "node", name, "", "missing features", action, detail))
    return values, rejected_nodes, rejections


# ------------------------------------------------------------------------------------------------------------- kernels


def read_kernels(paths: Sequence[Path | str | Cells], *, ids: Path | str | Cells | None = None) -> Nodes:
    """Kernel matrices between nodes, matched by their ids.

    A matrix in a text or Parquet file has the ids in its first column, and again as its header (in any order); without
    a header the columns are in the order of the rows. The ids of .npy and .npz files are as in `read_nodes`. Nodes that
    are not in every file are rejected.

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
    matrices = [_kernel_matrix(table) for table in tables]
    indices = [pd.Index(table.text[:, 0]) for table in tables]
    common = indices[0][np.all([index.get_indexer(indices[0]) >= 0 for index in indices], axis=0)]
    if not len(common):
        raise ValueError(f"{' and '.join(table.name for table in tables)} have no id in common.")
    kernels: dict[str, NDArray[np.float64]] = {}
    rejections: dict[str, Rejection] = {}
    for table, K, index in zip(tables, matrices, indices, strict=True):
        rows = index.get_indexer(common)
        part = table.name.rpartition(":")[2] if ".npz:" in table.name else table.name
        short = Path(part).name.split(".")[0]  # the array, or the file without its suffix
        kernels[table.name if short in kernels else short] = K[np.ix_(rows, rows)]
        for i, name in enumerate(index):
            lacking = [other.name for other, known in zip(tables, indices, strict=True) if name not in known]
            if lacking and name not in rejections:
                detail = f"not in {lacking[0]}"
                rejections[name] = rejected(table, i, "node", name, "", "not in every file", "left out", detail)
    return Nodes(
        np.array(common, dtype=str),
        None,
        kernels=kernels,
        rejections=tuple(rejections.values()),
        origin=tables[0].text[:, 0],
        numbered=tables[0].numbered,
        comments=sum(table.comments for table in tables),
    )


def _kernel_matrix(table: FileTable) -> NDArray[np.float64]:
    """The kernel matrix in a table, with rows and columns in the order of its ids."""
    names = table.text[:, 0].tolist()
    rows, _ = _first_of_each(table)
    if len(rows) < len(names):
        i = min(set(range(len(names))) - set(rows.tolist()))
        raise ValueError(
            f"{table.at(i)}: a kernel needs one row for each node, but {names[i]!r} is a duplicate or empty."
        )
    K = table.values
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{table.name}: a kernel must be square, got {K.shape[0]} rows and {K.shape[1]} columns.")
    if table.columns and list(table.columns) != names:
        if sorted(table.columns) != sorted(names):
            both = set(names) & set(table.columns)
            odd = next((name for name in (*names, *table.columns) if name not in both), names[0])
            raise ValueError(f"{table.name}: rows and columns must name the same nodes, but {odd!r} is not in both.")
        K = K[:, [table.columns.index(name) for name in names]]
    _check_kernel(table, K, names)
    return np.asarray(check_psd((K + K.T) / 2, table.name))


def _check_kernel(table: FileTable, K: NDArray[np.float64], names: Sequence[str]) -> None:
    """Raise unless all entries are there, some of them are not 0, and the matrix is symmetric."""
    gaps = np.argwhere(np.isnan(K))
    if len(gaps):
        i, j = gaps[0]
        raise ValueError(f"{table.at(i)}, column {names[j]!r}: missing value; a kernel must be complete.")
    if not K.any():
        raise ValueError(f"{table.name}: every entry of the kernel is 0.")
    difference = np.abs(K - K.T)
    if difference.max() > _ASYMMETRY * np.abs(K).max():
        i, j = divmod(int(difference.argmax()), len(K))
        a, b = printable(names[i]), printable(names[j])
        raise ValueError(
            f"{table.at(i)}: a kernel must be symmetric, but k({a}, {b}) = {K[i, j]:g} and k({b}, {a}) = {K[j, i]:g}."
        )
