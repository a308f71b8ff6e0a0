"""Networks of one kind of nodes or of two: features, known links, and what did not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr.apps.links.settings import check_arguments
from iokr.apps.readers import Nodes, Rejection, read_network, read_views
from iokr.apps.readers.edge_files import read_edges
from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.node_files import rejected
from iokr.apps.readers.tables import split_name
from iokr.apps.readers.text_tables import STDIN
from iokr.apps.report import Table

__all__ = ["LinkData", "files_of", "read", "rejection_rows"]


@dataclass(frozen=True, eq=False)
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
        Rows of the tables that were not taken as they are.
    notes : tuple of str
        How tables were read, where that may surprise.
    comments : int
        Comment lines that were skipped.
    layout, missing :
        How the tables of nodes were read; nodes that come later are read in the same way.
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
    >>> network.rows.ids.tolist(), network.n_links, network.across
    (['a', 'b', 'c', 'd'], 2, False)
    """

    rows: Nodes
    columns: Nodes
    kinds: tuple[str, str]
    links: csr_array
    labeled: NDArray[np.int64]
    rejections: tuple[Rejection, ...] = ()
    notes: tuple[str, ...] = ()
    comments: int = 0
    layout: Layout = field(default_factory=Layout)
    missing: str = "reject"
    labeled_by: str = "edges"
    by_position: bool = False
    files: tuple[Path, ...] = ()

    @property
    def across(self) -> bool:
        """Whether there are two kinds of nodes; then only pairs of a row and a column are scored."""
        return self.columns is not self.rows

    @property
    def sides(self) -> tuple[Nodes, ...]:
        """The nodes of each kind."""
        return (self.rows, self.columns) if self.across else (self.rows,)

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

    def input_table(self) -> Table:
        """Counts of what was read and of what did not fit, for a report."""
        rows = self._counts_across() if self.across else self._counts()
        if self.comments:
            rows.append({"what": "lines that begin with #", "count": self.comments, "": "taken for comments"})
        rows += rejection_rows(self.rejections)
        return Table(
            "Input", rows, note=" ".join((*(f"{note}." for note in self.notes), listed(self.rejections))).strip()
        )

    def _counts(self) -> list[dict[str, Any]]:
        by = {"edges": "those in the edge list", "all": "all"}.get(self.labeled_by, "as listed")
        by_row = "nodes named by row number" if self.by_position else ""
        return [
            {"what": "nodes", "count": len(self.rows.ids), "": described(self.rows, names=True)},
            {"what": "labelled nodes", "count": len(self.labeled), "": by},
            {"what": "known links, learned from", "count": self.n_links, "": by_row},
        ]

    def _counts_across(self) -> list[dict[str, Any]]:
        one, other = self.kinds
        return [
            {"what": f"nodes, {one}", "count": len(self.rows.ids), "": described(self.rows)},
            {"what": f"partners, {other}", "count": len(self.columns.ids), "": described(self.columns)},
            {"what": "known links", "count": self.n_links, "": ""},
        ]


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
    return [{"what": what, "count": count, "": action} for (what, action), count in reasons.items()]


def left_out(rejections: Sequence[Rejection]) -> list[Rejection]:
    """Those that are listed: nodes whose gaps were filled are in the network."""
    return [one for one in rejections if not one.action.startswith("filled")]


def listed(rejections: Sequence[Rejection]) -> str:
    """Where rejected rows are listed."""
    return "Every row that did not fit is listed in `rejected.tsv`." if left_out(rejections) else ""


def files_of(*names: Any) -> tuple[Path, ...]:
    """The files among what may be names of files, tables in memory, lists of these, or None; each once."""
    flat: list[Any] = []
    for name in names:
        flat += (
            list(name.values() if isinstance(name, Mapping) else name)
            if isinstance(name, (list, tuple, dict))
            else [name]
        )
    paths = [split_name(name)[0] for name in flat if isinstance(name, (str, Path)) and str(name) != STDIN]
    return tuple(dict.fromkeys(paths))


# -------------------------------------------------------------------------------------------------------------- reading


def read(
    nodes: Any = None,
    edges: Any = None,
    *,
    partners: Any = None,
    bipartite: bool = False,
    kernels: Any = None,
    ids: Any = None,
    labeled: Any = "edges",
    missing: str = "reject",
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    one_hot: Sequence[str] | None = None,
    transpose: bool = False,
    decimal: str = "auto",
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> LinkData:
    """Read nodes and known links, and list everything that does not fit.

    Parameters
    ----------
    nodes : path, DataFrame or array, or a list of them
        Features of the nodes, the id in the first column (of a frame, in an index of names). Several tables are views
        of the same nodes.
    edges : path, DataFrame, NetworkX graph, array of pairs, or adjacency matrix
        Known links: source, target, perhaps weight.
    partners : like `nodes`, optional
        Nodes of another kind: only pairs across the kinds are scored.
    bipartite : bool, default=False
        Two kinds of nodes in one table; the column of `edges` says which nodes are of which kind.
    kernels : like `nodes`, optional
        Kernel matrices with ids, in place of features.
    ids : path or sequence of str, optional
        Ids of the rows of arrays and of .npy and .npz files; default: row numbers.
    labeled : {"edges", "all"}, path or sequence of ids, default="edges"
        Nodes between which all links are known, so that an absent link counts as a true negative: those in the edge
        list, all, or a list.
    missing : {"reject", "mean", "zero"}, default="reject"
        Nodes with missing features: leave out, or fill in.
    columns, id_column, one_hot, transpose, decimal :
        Which columns are features (* and ? match any letters), the column of the ids, columns of categories, whether
        rows are features, and what precedes decimals ("auto", "point", "comma").
    source, target, weight : str, optional
        Columns of `edges`; `weight="none"` ignores weights.

    Returns
    -------
    LinkData

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.array([[0.0], [0.1], [3.0], [3.2]])
    >>> network = links.read(nodes=X, edges=np.array([[0, 1], [2, 3], [1, 0]]))
    >>> network.n_links, [one.reason for one in network.rejections]
    (2, ['duplicate, the other way round'])
    """
    check_arguments(locals())
    if edges is None:
        raise TypeError("`edges` is missing: give the known links.")
    own_ids = () if id_column is None else (id_column,)
    layout = Layout(own_ids, None if columns is None else tuple(columns), tuple(one_hot or ()), transpose, decimal)
    ends = {"source": source, "target": target, "weight": weight, "decimal": decimal}
    if partners is not None or bipartite:
        network = _read_across(nodes, edges, partners, ids, missing, layout, ends)
    else:
        network = _read_one_kind(nodes, edges, kernels, ids, labeled, missing, layout, ends)
    files = files_of(nodes, partners, kernels, edges, ids, None if network.labeled_by != "list" else labeled)
    return replace(network, layout=layout, missing=missing, files=files)


def _read_one_kind(
    nodes: Any, edges: Any, kernels: Any, ids: Any, labeled: Any, missing: str, layout: Layout, ends: dict[str, Any]
) -> LinkData:
    found = read_network(
        edges,
        nodes=nodes,
        kernels=() if kernels is None else kernels,
        ids=ids,
        labeled=labeled,
        missing=missing,
        layout=layout,
        columns=ends,
    )
    return LinkData(
        found.nodes,
        found.nodes,
        ("node", "node"),
        found.adjacency,
        found.labeled,
        found.rejections,
        found.notes,
        found.comments,
        labeled_by=labeled if labeled in ("edges", "all") else "list",
        by_position=found.by_position,
    )


def _read_across(
    nodes: Any, edges: Any, partners: Any, ids: Any, missing: str, layout: Layout, ends: dict[str, Any]
) -> LinkData:
    """Two tables of nodes, or one and the columns of the edge list."""
    rows = read_views(_listed(nodes), ids=ids, missing=missing, layout=layout)
    if partners is None:
        table = read_edges(edges, known=rows.ids.tolist(), **ends)
        names = ("rows", "columns")
        rows, columns, lost = _by_column(table, rows)
        rejections = (*rows.rejections, *lost)
        notes = rows.notes
        comments = rows.comments
    else:
        columns = read_views(_listed(partners), missing=missing, layout=layout)
        table = read_edges(edges, known=[*rows.ids.tolist(), *columns.ids.tolist()], **ends)
        names = (rows.views[0][0], columns.views[0][0])
        rejections = (*rows.rejections, *columns.rejections)
        notes = (*rows.notes, *columns.notes)
        comments = rows.comments + columns.comments
    titled = len(set(table.head)) == 2 and all(table.head)
    kinds = (table.head[0], table.head[1]) if titled else names
    links, more = _links_across(table, rows, columns)
    return LinkData(
        rows,
        columns,
        kinds,
        links,
        np.arange(len(rows.ids)),
        (*rejections, *more),
        (*notes, *table.notes),
        comments + table.comments,
    )


def _listed(tables: Any) -> list[Any]:
    return list(tables) if isinstance(tables, (list, tuple)) else [tables]


def _by_column(table: FileTable, nodes: Nodes) -> tuple[Nodes, Nodes, list[Rejection]]:
    """The nodes of the first column of an edge list, those of the second, and those of neither."""
    ids = nodes.ids.tolist()
    first, second = (set(table.text[:, side].tolist()) for side in (0, 1))
    both = sorted(first & second & set(ids))
    if both:
        raise ValueError(
            f"{table.name}: {both[0]!r} is in both columns, so its kind is ambiguous ({len(both)} such nodes); give "
            "two tables, `nodes` and `partners`, or leave `bipartite` out."
        )
    where = {"first": np.array([one in first for one in ids]), "second": np.array([one in second for one in ids])}
    for side, there in where.items():
        if not there.any():
            raise ValueError(
                f"{table.name}: no node of its {side} column has features; it begins with "
                f"{' '.join(table.text[0])!r:.60}, the nodes are like {ids[0]!r}."
            )
    neither = nodes.ids[~(where["first"] | where["second"])].tolist()
    why = ("in neither column", "left out", "its kind is not known")
    lost = [Rejection(table.name, None, "node", one, "", *why) for one in neither]
    rows, columns = (replace(nodes, ids=nodes.ids[at], X=np.asarray(nodes.X)[at]) for at in where.values())
    return rows, columns, lost


def _links_across(table: FileTable, rows: Nodes, columns: Nodes) -> tuple[csr_array, list[Rejection]]:
    """Links between rows and columns, in either order of the two ends, and what is not one."""
    at, to = ({one: i for i, one in enumerate(nodes.ids.tolist())} for nodes in (rows, columns))
    both = sorted(set(at) & set(to))
    if both:
        raise ValueError(f"{both[0]!r} is a node and a partner; ids of two kinds of nodes must differ.")
    weights = table.values[:, 0] if table.values.shape[1] else np.ones(len(table.text))
    links = np.zeros((len(at), len(to)))
    rejections: list[Rejection] = []
    for i, (a, b) in enumerate(table.text.tolist()):
        if not np.isfinite(weights[i]) or weights[i] < 0:
            raise ValueError(f"{table.at(i)}, column weight: expected a number of at least 0, got {weights[i]:g}.")
        if a in to and b in at:
            a, b = b, a
        reason = ""
        action = "left out"
        if a in at and b in to:
            if links[at[a], to[b]]:
                reason, action = "duplicate", "counted once"
            elif weights[i] == 0:
                reason, action = "weight 0", "taken as no link"
            else:
                links[at[a], to[b]] = 1.0
        elif {a, b} <= set(at) or {a, b} <= set(to):
            reason = "two nodes of one kind"
        elif i == 0 and a not in at and b not in to and not table.head:
            reason, action = "names no node", "taken for a header"
        else:
            reason = "unknown node"
        if reason:
            rejections.append(rejected(table, i, "edge", a, b, reason, action))
    if not links.any():
        raise ValueError(
            f"{table.name}: none of its {len(table.text)} rows joins a node like {str(rows.ids[0])!r} and a partner "
            f"like {str(columns.ids[0])!r}; it begins with {' '.join(table.text[0])!r:.60}."
        )
    if links.all():
        raise ValueError(
            f"{table.name}: every node is linked with every partner; there is nothing to learn or to find."
        )
    return csr_array(links), rejections
