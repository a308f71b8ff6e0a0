"""A network from files: nodes and the known links between them, with a list of all rejected entries."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr._system.text import printable
from iokr.apps.readers.edge_files import read_edges
from iokr.apps.readers.file_table import Cells, FileTable
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.node_files import Nodes, Rejection, read_kernels, rejected
from iokr.apps.readers.tables import read_table
from iokr.apps.readers.views import read_views
from iokr.datasets.edges import adjacency_of

__all__ = ["NetworkFiles", "alike", "links_between", "read_network"]

_MIN_BIPARTITE = 20  # links from which two columns without a common node are unlikely by chance
_HEADERS = frozenset({"id", "ids", "node", "nodes", "name"})  # of a list of ids

Links = dict[tuple[int, int], tuple[float, int]]  # (i, j), i < j: weight and row of the table


@dataclass(frozen=True)
class NetworkFiles:
    """A network read from files.

    Attributes
    ----------
    nodes : Nodes
    adjacency : sparse array of shape (N, N)
        Symmetric; the weights of known links, in the order of `nodes.ids`.
    labeled : ndarray
        Indices of the nodes between which all links are known.
    rejections : tuple of Rejection
        Nodes first.
    comments : int
        Comment lines in the files.
    by_position : bool
        Whether the edge list identifies nodes by row number.
    notes : tuple of str
        How files were read, where that may be a surprise.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_network
    >>> with TemporaryDirectory() as folder:
    ...     nodes, edges = Path(folder, "nodes.csv"), Path(folder, "edges.csv")
    ...     _ = nodes.write_text("id,size\\na,1\\nb,2\\nc,3\\n")
    ...     _ = edges.write_text("source,target\\na,b\\nb,a\\na,a\\na,z\\n")
    ...     network = read_network(edges, nodes=nodes)
    >>> network.adjacency.toarray().tolist(), network.labeled.tolist()
    ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [0, 1])
    >>> network.counts()
    {'edge: duplicate, the other way round': 1, 'edge: self-loop': 1, 'edge: unknown node': 1}
    """

    nodes: Nodes
    adjacency: csr_array
    labeled: NDArray[np.int64]
    rejections: tuple[Rejection, ...]
    comments: int = 0
    by_position: bool = False
    notes: tuple[str, ...] = ()

    @property
    def n_links(self) -> int:
        """Number of known links."""
        return self.adjacency.nnz // 2

    def counts(self) -> dict[str, int]:
        """Number of rejections for each reason."""
        return dict(Counter(f"{r.what}: {r.reason}" for r in self.rejections))


def read_network(
    edges: Path | str | Cells,
    *,
    nodes: Path | str | Sequence[Path | str | Cells] | None = None,
    kernels: Sequence[Path | str | Cells] = (),
    ids: Path | str | Cells | None = None,
    labeled: Path | str | Cells = "edges",
    missing: str = "reject",
    layout: Layout | None = None,
    columns: Mapping[str, Any] | None = None,
) -> NetworkFiles:
    """Nodes and the known links between them.

    Parameters
    ----------
    edges : path
        An edge list with rows `source target [weight]`, SIF, GraphML or JSON; links are undirected. An .npy or .npz
        file may identify nodes by row number (from 0).
    nodes : path, or sequence of paths, optional
        Table of features, see `read_nodes`; several are views of the same nodes, see `read_views`.
    kernels : sequence of paths
        Kernel matrices in place of features, see `read_kernels`.
    ids : path, optional
        Ids of the rows of .npy and .npz files.
    labeled : path or {"edges", "all"}, default="edges"
        The nodes between which all links are known, so that an absent link counts as a true negative: those in the edge
        list, all, or those listed in a file. The other nodes have features only.
    missing : {"reject", "mean", "zero"}, default="reject"
        See `read_nodes`.
    layout : `iokr.apps.readers.layouts.Layout`, optional
        Of the tables of features.
    columns : mapping, optional
        ``source``, ``target``, ``weight`` and ``decimal`` of the edge list, see
        `iokr.apps.readers.edge_files.read_edges`.

    Returns
    -------
    NetworkFiles

    Raises
    ------
    ValueError
        With file and line, when a link has two weights, or a weight is missing, not a number, or negative; and when no
        link joins two known nodes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_network
    >>> with TemporaryDirectory() as folder:
    ...     nodes, edges = Path(folder, "nodes.csv"), Path(folder, "edges.csv")
    ...     _ = nodes.write_text("id,size\\na,1\\nb,2\\nc,3\\n")
    ...     _ = edges.write_text("source,target\\na,b\\nb,z\\n")
    ...     network = read_network(edges, nodes=nodes)
    >>> network.nodes.ids.tolist(), network.n_links
    (['a', 'b', 'c'], 1)
    >>> [(one.line, one.reason) for one in network.rejections]
    [(3, 'unknown node')]
    """
    tables = [nodes] if isinstance(nodes, (str, Path)) else list(nodes or ())
    if bool(tables) == bool(kernels):
        raise ValueError("Give either tables of features, `nodes`, or kernel matrices, `kernels`.")
    found = read_kernels(kernels, ids=ids) if kernels else read_views(tables, ids=ids, missing=missing, layout=layout)
    at = {name: i for i, name in enumerate(found.ids.tolist())}
    table = read_edges(edges, known=at.keys(), **(columns or {}))
    if table.head and table.columns and all(name in at for name in table.head):
        first = " ".join((*table.head, *table.columns))
        raise ValueError(
            f"{table.name}: the first row, {first!r:.60}, names two nodes, but {table.columns[0]!r:.20} is not a "
            "weight; correct the weight, or rename the header."
        )
    by_position = table.numbered and not found.numbered and not any(name in at for name in set(table.text.flat))
    if by_position or found.numbered:
        _check_from_zero(table, found)
    ends = _ids_of_rows(table, found) if by_position else table.text
    links, rejections = links_between(table, ends, at, found.rejections)
    if not links:
        raise ValueError(_why_no_links(table, ends, found, rejections))
    chosen, not_chosen = _labeled(labeled, links, at)
    names = found.ids.tolist()
    is_chosen = np.isin(np.arange(len(at)), chosen)
    outside = [
        rejected(table, row, "edge", names[i], names[j], "a node that is not labelled", "not learned from")
        for (i, j), (_, row) in links.items()
        if not (is_chosen[i] and is_chosen[j])
    ]
    if len(outside) == len(links):
        raise ValueError(f"{table.name}: no link joins two labelled nodes.")
    weights = np.array([weight for weight, _ in links.values()])
    return NetworkFiles(
        found,
        adjacency_of(np.array(list(links), dtype=np.int64), len(at), weights),
        chosen,
        (*found.rejections, *rejections, *not_chosen, *outside),
        found.comments + table.comments,
        by_position,
        (*found.notes, *table.notes, *_bipartite_note(table, ends, at)),
    )


def _bipartite_note(table: FileTable, ends: NDArray[np.str_], at: Collection[str]) -> tuple[str, ...]:
    """A hint where the columns of an edge list have no node in common, such as drugs and targets."""
    sources, targets = ({name for name in column.tolist() if name in at} for column in ends.T)
    if len(ends) < _MIN_BIPARTITE or sources & targets or min(len(sources), len(targets)) < 2:
        return ()
    return (f"{table.name}: no node is in both columns; if they are two kinds of nodes, read them as bipartite",)


# --------------------------------------------------------------------------------------------------------- row numbers


def _ids_of_rows(table: FileTable, nodes: Nodes) -> NDArray[np.str_]:
    """The ids of nodes that the edge list identifies by row number; a number that is not a row stays as it is."""
    origin = nodes.ids if nodes.origin is None else nodes.origin
    names = {str(i): name for i, name in enumerate(origin.tolist())}
    return np.array([[names.get(end, end) for end in row] for row in table.text.tolist()])


def _check_from_zero(table: FileTable, nodes: Nodes) -> None:
    """Raise for row numbers 1 … n, which count from 1: taken from 0, every link would join other nodes."""
    n = len(nodes.ids if nodes.origin is None else nodes.origin)
    rows = [int(end) for end in table.text.flat if end.isdecimal()]
    if rows and min(rows) >= 1 and max(rows) == n:
        raise ValueError(f"{table.name}: row numbers go from {min(rows)} to {n}, but rows count from 0; subtract 1.")


# --------------------------------------------------------------------------------------------------------------- links


def links_between(
    table: FileTable,
    ends: NDArray[np.str_],
    at: Mapping[str, int],
    rejected_nodes: Iterable[Rejection],
    n_rows: int | None = None,
) -> tuple[Links, list[Rejection]]:
    """The links between known nodes, each once, and the rejected rows.

    With two kinds of nodes, the first `n_rows` are of one kind, and links within a kind are rejected.
    """
    weights = _weights(table)
    left_out = {r.source for r in rejected_nodes if r.action == "left out"}
    similar = {alike(name): name for name in at}
    first_rows: dict[tuple[str, str], int] = {}
    links: Links = {}
    rejections = []
    for i, (source, target) in enumerate(ends.tolist()):
        pair = (source, target) if source < target else (target, source)
        unknown = [end for end in (source, target) if end not in at]
        detail = ""
        action = "left out"
        if not source or not target:
            reason = "no id"
        elif source == target:
            reason = "self-loop"
        elif first_rows.setdefault(pair, i) != i:
            reason, detail = _duplicate(table, ends, weights, first_rows[pair], i)
            action = "counted once"
        elif i == 0 and len(unknown) == 2 and _is_header(table, at, left_out):
            reason = "names no node"
            action = "taken for a header"
        elif unknown:
            reason = "a node that was left out" if left_out.issuperset(unknown) else "unknown node"
            detail = ", ".join(unknown)
            known = [similar[alike(end)] for end in unknown if alike(end) in similar]
            if known:
                detail += f"; {', '.join(known)} is a node"
        elif n_rows is not None and (at[source] < n_rows) == (at[target] < n_rows):
            reason = "two nodes of one kind"
        elif weights[i] == 0:
            reason = "weight 0"
            action = "taken as no link"
        else:
            a = at[source]
            b = at[target]
            links[min(a, b), max(a, b)] = float(weights[i]), i
            continue
        rejections.append(rejected(table, i, "edge", source, target, reason, action, detail))
    return links, rejections


def _weights(table: FileTable) -> NDArray[np.float64]:
    """The weights of the rows, 1 where there are none."""
    if not table.values.shape[1]:
        return np.ones(len(table.text))
    weights = table.values[:, 0]
    wrong = np.flatnonzero(~(weights >= 0))
    if len(wrong):
        i = int(wrong[0])
        given = "the value is missing" if np.isnan(weights[i]) else f"must not be negative, got {weights[i]:g}"
        raise ValueError(f"{table.at(i)}, column weight: {given}.")
    return weights


def _duplicate(
    table: FileTable, ends: NDArray[np.str_], weights: NDArray[np.float64], first: int, i: int
) -> tuple[str, str]:
    """(reason, detail) of a link that is in an earlier row, with the same weight."""
    earlier = f"{table.unit} {table.lines[first]}"
    if weights[first] != weights[i]:
        link = printable(" – ".join(ends[i]))
        raise ValueError(
            f"{table.at(i)}: the link {link} has weight {weights[i]:g}, but {weights[first]:g} in {earlier}."
        )
    reason = "duplicate" if ends[first, 0] == ends[i, 0] else "duplicate, the other way round"
    return reason, f"as in {earlier}"


def _is_header(table: FileTable, at: Mapping[str, int], left_out: Collection[str]) -> bool:
    """Whether the first row may be a header: neither word is a node, or occurs in a later row."""
    first = set(table.text[0].tolist())
    return not table.head and first.isdisjoint(at) and first.isdisjoint((*table.text[1:].flat, *left_out))


def _why_no_links(table: FileTable, ends: NDArray[np.str_], nodes: Nodes, rejections: Iterable[Rejection]) -> str:
    """The message when no link is left; where ids do not match, with one of either file."""
    reasons = Counter(r.reason for r in rejections)
    n = len(ends)
    if "unknown node" not in reasons:
        counts = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        advice = ""
        if reasons["a node that was left out"] > n // 2:
            advice = ' Nodes with missing features were left out; `missing="mean"` imputes them.'
        return f"{table.name}: none of its {n} rows is a link: {counts}.{advice}"
    known = set(nodes.ids.tolist())
    named = set(ends.flat)
    columns = [name for name in nodes.columns if name in named or name.rpartition(": ")[2] in named]
    if len(columns) > 1:
        return (
            f"{table.name}: none of its {n} rows joins two known nodes, but it names {columns[0]!r}, a column of the "
            "nodes; if the nodes are columns there, read it with `transpose=True`."
        )
    stranger = str(next(end for end in ends.flat if end and end not in known))
    near = next((name for name in nodes.ids.tolist() if alike(name) == alike(stranger)), None)
    example = str(nodes.ids[0]) if near is None else near
    difference = "" if near is None else "; they differ in case or in the encoding of letters, and are compared exactly"
    return (
        f"{table.name}: none of its {n} rows joins two known nodes; it names nodes like {stranger!r}, `nodes` names "
        f"nodes like {example!r}{difference}."
    )


def alike(name: str) -> str:
    """An id without differences of case and of encoding."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


# ------------------------------------------------------------------------------------------------------ labelled nodes


def _labeled(
    labeled: Path | str | Cells, links: Links, at: Mapping[str, int]
) -> tuple[NDArray[np.int64], list[Rejection]]:
    """Positions of the labelled nodes, ascending, and the rejected entries of their list."""
    if str(labeled) == "edges":
        return np.unique(np.array(list(links), dtype=np.int64)), []
    if str(labeled) == "all":
        return np.arange(len(at)), []
    table = read_table(labeled, names=_HEADERS)
    chosen: set[int] = set()
    rejections = []
    for i, name in enumerate(table.text[:, 0].tolist()):
        if name not in at:
            rejections.append(rejected(table, i, "node", name, "", "unknown node", "left out"))
        elif at[name] in chosen:
            rejections.append(rejected(table, i, "node", name, "", "listed twice", "counted once"))
        else:
            chosen.add(at[name])
    if not chosen:
        first = str(table.text[0, 0])
        raise ValueError(f"{table.name}: none of its {len(table.text)} ids is a node; it begins with {first!r}.")
    return np.array(sorted(chosen)), rejections
