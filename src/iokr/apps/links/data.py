"""Networks of one kind of nodes or of two: features, known links, and rejected rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr.apps.links.settings import each
from iokr.apps.readers import Nodes, Rejection
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.tables import split_name
from iokr.apps.readers.text_tables import STDIN
from iokr.apps.report import Table
from iokr.model_selection.links import SETTINGS

__all__ = ["LinkData", "Matrix", "Numbers", "described", "files_of", "left_out", "listed", "rejection_rows"]

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class LinkData:
    """A network: nodes of one kind, or rows and columns of two kinds, with features and the links that are known.

    Attributes
    ----------
    rows, columns : `iokr.apps.readers.Nodes`
        Ids and features. With one kind of nodes both are the same object.
    kinds : tuple of str
        What rows and columns are called.
    links : sparse array of shape (rows, columns)
        Weights of the known links; symmetric for one kind of nodes.
    labeled : ndarray
        The rows between which all links are known, so that an absent link counts as a true negative. With two kinds of
        nodes all rows, and links to all columns.
    rejections : tuple of `iokr.apps.readers.Rejection`
        Rows that were left out or modified.
    notes : tuple of str
        How tables were read, where that may be a surprise.
    comments : int
        Comment lines that were skipped.
    layout, missing :
        How the tables of nodes were read; those of new nodes are read in the same way.
    labeled_by : str
        Where labelled nodes come from: "edges", "all", or "list".
    by_position : bool
        Whether links named nodes by row number.
    files : tuple of Path
        The files that were read.

    Examples
    --------
    >>> import pandas as pd
    >>> from iokr.apps import links
    >>> nodes = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2]}, index=["a", "b", "c", "d"])
    >>> network = links.read(nodes=nodes, edges=pd.DataFrame({"source": ["a", "c"], "target": ["b", "d"]}))
    >>> network
    LinkData(4 nodes, 4 of them labelled, 2 known links, 0 rejections)
    >>> network.rows.ids.tolist(), network.links.toarray()[0].tolist()
    (['a', 'b', 'c', 'd'], [0.0, 1.0, 0.0, 0.0])
    """

    rows: Nodes
    columns: Nodes
    kinds: tuple[str, str]
    links: csr_array
    labeled: Numbers
    rejections: tuple[Rejection, ...] = ()
    notes: tuple[str, ...] = ()
    comments: int = 0
    layout: Layout = field(default_factory=Layout)
    missing: str = "reject"
    labeled_by: str = "edges"
    by_position: bool = False
    files: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        if self.across:
            kinds = zip(self.sides, self.kinds, strict=True)
            counts = ", ".join(f"{len(nodes.ids)} {kind}" for nodes, kind in kinds)
        else:
            counts = f"{len(self.rows.ids)} nodes, {len(self.labeled)} of them labelled"
        return f"LinkData({counts}, {self.n_links} known links, {len(self.rejections)} rejections)"

    @property
    def across(self) -> bool:
        """Whether there are two kinds of nodes; then only pairs of a row and a column are scored."""
        return self.columns is not self.rows

    @property
    def sides(self) -> tuple[Nodes, ...]:
        """The nodes of each kind."""
        return (self.rows, self.columns) if self.across else (self.rows,)

    @property
    def kinds_of_pairs(self) -> tuple[str, ...]:
        """Which nodes of a held-out pair are new: with two kinds of nodes the row, the column, or both."""
        return (*(f"new {kind}" for kind in self.kinds), "both new") if self.across else SETTINGS

    @property
    def n_links(self) -> int:
        """The number of known links that a model learns from: those between labelled nodes."""
        if self.across:
            return int(self.links.nnz)
        return int(self.links[self.labeled][:, self.labeled].nnz // 2)

    @property
    def arguments(self) -> dict[str, Any]:
        """What the network was read from, for `check_arguments`."""
        given: dict[str, Any] = {"kernels" if self.rows.X is None else "nodes": self.rows.views}
        return given | ({"partners": self.columns.views} if self.across else {})

    def input_table(self, *, listed_in: str = "rejected.tsv") -> Table:
        """Counts of nodes, links and rejected rows, for a report."""
        if self.across:
            sides = zip(self.kinds, self.sides, strict=True)
            counts = [(f"nodes, {kind}", len(side.ids), described(side)) for kind, side in sides]
            counts.append(("known links", self.n_links, ""))
        else:
            by = {"edges": "those in the edge list", "all": "all nodes"}.get(self.labeled_by, "in a list")
            by_row = "nodes are named by row number" if self.by_position else ""
            counts = [
                ("nodes", len(self.rows.ids), described(self.rows, names=True)),
                ("labelled nodes", len(self.labeled), by),
                ("known links between labelled nodes", self.n_links, by_row),
            ]
        if self.comments:
            counts.append(("comment lines (#)", self.comments, "skipped"))
        rows = [dict(zip(("item", "count", "details"), one, strict=True)) for one in counts]
        notes = [f"{note}." for note in self.notes]
        if listed_in:
            notes.append(listed(self.rejections))
        return Table("Input", rows + rejection_rows(self.rejections), note=" ".join(notes).strip())


def described(nodes: Nodes, *, names: bool = False) -> str:
    """The views, features or kernels of nodes, in a report."""
    if nodes.X is None:
        return f"kernels {', '.join(nodes.kernels or ())}"
    if len(nodes.views) > 1:
        return f"{len(nodes.views)} views: " + ", ".join(f"{name} ({count} features)" for name, count in nodes.views)
    p = len(nodes.columns)
    some = f": {', '.join(nodes.columns[:3])}{', …' if p > 3 else ''}" if names else ""
    return f"{p} features{some}"


def rejection_rows(rejections: Sequence[Rejection]) -> list[dict[str, Any]]:
    """How often each reason occurred, as rows of the table of the input."""
    reasons = Counter((f"{one.what}: {one.reason}", one.action) for one in rejections)
    return [{"item": item, "count": count, "details": action} for (item, action), count in reasons.items()]


def left_out(rejections: Sequence[Rejection]) -> list[Rejection]:
    """Those that are listed: nodes with imputed features are in the network."""
    return [one for one in rejections if not one.action.startswith("filled")]


def listed(rejections: Sequence[Rejection]) -> str:
    """Where rejected rows are listed, if there are any."""
    return "Rejected and modified rows are listed in `rejected.tsv`." if left_out(rejections) else ""


def files_of(tables: Iterable[Any], lists: Iterable[Any] = ()) -> tuple[Path, ...]:
    """The files among tables, or lists and mappings of them, and among lists of ids; each once."""
    names = [*lists, *(one for table in tables for one in each(table))]
    paths = [split_name(name)[0] for name in names if isinstance(name, (str, Path)) and str(name) != STDIN]
    return tuple(dict.fromkeys(paths))
