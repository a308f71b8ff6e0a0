"""A network from files: nodes and the known links between them, with a list of everything that did not fit."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr._system.text import printable
from iokr.apps.readers.edge_files import read_edges
from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.node_files import Nodes, Rejection, read_kernels, rejected
from iokr.apps.readers.tables import read_table
from iokr.apps.readers.views import read_views
from iokr.datasets.edges import adjacency_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["NetworkFiles", "alike", "read_network"]


@dataclass(frozen=True)
class NetworkFiles:
    """A network as files tell it.

    Attributes
    ----------
    nodes : Nodes
    adjacency : sparse array of shape (N, N)
        Symmetric; the weights of known links, in the order of `nodes.ids`.
    labeled : ndarray
        Indices of the nodes between which all links are known.
    rejections : tuple of Rejection
        What did not fit, nodes first.
    comments : int
        Comment lines in the files.
    by_position : bool
        The edge list names nodes by row number.
    notes : tuple of str
        How files were read, where that may surprise.

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
        """How many links are known."""
        return self.adjacency.nnz // 2

    @property
    def n_learned(self) -> int:
        """How many of them join two labelled nodes: those that a model learns from."""
        return self.adjacency[self.labeled][:, self.labeled].nnz // 2

    def counts(self) -> dict[str, int]:
        """How often each reason was given."""
        return dict(Counter(f"{r.what}: {r.reason}" for r in self.rejections))


def read_network(
    edges: Path | str,
    *,
    nodes: Path | str | Sequence[Path | str] | None = None,
    kernels: Sequence[Path | str] = (),
    ids: Path | str | None = None,
    labeled: Path | str = "edges",
    missing: str = "reject",
    layout: Layout | None = None,
    columns: Mapping[str, Any] | None = None,
) -> NetworkFiles:
    """Read nodes and known links, and list everything that does not fit.

    Parameters
    ----------
    edges : path
        Rows `source target [weight]`, SIF, GraphML or JSON; the order of the two does not matter. In an .npy or .npz
        file the nodes may be named by row number (from 0).
    nodes : path, or sequence of paths, optional
        Table of features, see `read_nodes`; several are views of the same nodes, see `read_views`.
    kernels : sequence of paths
        Kernel matrices in place of features, see `read_kernels`.
    ids : path, optional
        Ids of the rows of .npy and .npz files.
    labeled : path or {"edges", "all"}, default="edges"
        The nodes between which all links are known, so that a missing link is none: those in the edge list; all; or
        those listed in a file. The other nodes have features only.
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
        With file and line, when one link has two weights, or a weight is missing, no number, or negative; and when no
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
    several = [] if nodes is None else [nodes] if isinstance(nodes, (str, Path)) else list(nodes)
    if bool(several) == bool(kernels):
        raise ValueError("Give either a table of features or kernel matrices, `nodes` or `kernels`.")
    found = read_views(several, ids=ids, missing=missing, layout=layout) if several else read_kernels(kernels, ids=ids)
    table = read_edges(edges, known=found.ids.tolist(), **(columns or {}))
    at = {name: i for i, name in enumerate(found.ids.tolist())}
    if table.columns and all(name in at for name in table.head):
        raise ValueError(
            f"{table.name}: its first row, {' '.join((*table.head, *table.columns))!r:.60}, reads like a header, as "
            f"{table.columns[0]!r:.20} is not a number, but names two nodes."
        )
    by_position = table.numbered and not found.numbered and not any(name in at for name in set(table.text.flat))
    if by_position or found.numbered:
        _check_from_zero(table, found)
    ends = _by_position(table, found) if by_position else table.text
    links, rejections = _links(table, ends, at, found)
    if not links:
        raise ValueError(_no_links(table, ends, found, rejections))
    chosen, more = _labeled(labeled, links, at)
    known, outside = _split(links, set(chosen.tolist()), table, found)
    if not known:
        raise ValueError(f"{table.name}: no link joins two labelled nodes.")
    weight = np.array([value for value, _ in links.values()])
    adjacency = adjacency_of(np.array(list(links), dtype=np.int64), len(at), weight)
    rejections = [*found.rejections, *rejections, *more, *outside]
    notes = (*found.notes, *table.notes, *_two_kinds(table, ends, at))
    return NetworkFiles(
        found, adjacency, chosen, tuple(rejections), found.comments + table.comments, by_position, notes
    )


_ACROSS = 20  # links from which two columns without a common node are no accident


def _two_kinds(table: FileTable, ends: NDArray[np.str_], at: dict[str, int]) -> tuple[str, ...]:
    """A hint where the columns of an edge list have no node in common, as drugs and targets have none."""
    sides = [{name for name in column.tolist() if name in at} for column in ends.T]
    if len(ends) < _ACROSS or sides[0] & sides[1] or min(map(len, sides)) < 2:
        return ()
    return (f"{table.name}: no node is in both columns; of two kinds of nodes --bipartite lists pairs across only",)


def _by_position(table: FileTable, nodes: Nodes) -> NDArray[np.str_]:
    """The ids of the nodes that the edge list names by row number; a number that is no row stays as it is."""
    origin = nodes.origin if nodes.origin is not None else nodes.ids
    names = {str(i): name for i, name in enumerate(origin.tolist())}
    return np.array([[names.get(end, end) for end in row] for row in table.text.tolist()])


def _check_from_zero(table: FileTable, nodes: Nodes) -> None:
    """Row numbers 1 … n are those of somebody who counts from 1; taken as they are, every link would be another."""
    n = len(nodes.ids if nodes.origin is None else nodes.origin)
    rows = [int(end) for end in table.text.flat if end.isdecimal()]
    if rows and min(rows) >= 1 and max(rows) == n:
        raise ValueError(f"{table.name}: it names rows from {min(rows)} to {n}, but rows count from 0; subtract 1.")


Links = dict[tuple[int, int], tuple[float, int]]  # (i, j), i < j: weight and row of the table


def _links(table: FileTable, ends: NDArray[np.str_], at: dict[str, int], nodes: Nodes) -> tuple[Links, list[Rejection]]:
    """The links between known nodes, each once, and what is not one."""
    lost = {r.source for r in nodes.rejections if r.action == "left out"}
    weights = table.values[:, 0] if table.values.shape[1] else np.ones(len(ends))
    seen: dict[tuple[str, str], tuple[float, int, str]] = {}
    links: Links = {}
    rejections = []
    like = {alike(name): name for name in at}
    for i, ((source, target), weight) in enumerate(zip(ends.tolist(), weights.tolist(), strict=True)):
        _check_weight(table, i, weight)
        reason, action, detail = "", "left out", ""
        pair = (min(source, target), max(source, target))
        if not source or not target:
            reason = "no id"
        elif source == target:
            reason = "self-loop"
        elif pair in seen:
            other, row, first = seen[pair]
            if other != weight:
                raise ValueError(
                    f"{table.at(i)}: the link {printable(f'{source} – {target}')} has weight {weight:g}, but "
                    f"{other:g} in {table.unit} {table.lines[row]}."
                )
            reason = "duplicate" if first == source else "duplicate, the other way round"
            action, detail = "counted once", f"as in {table.unit} {table.lines[row]}"
        else:
            seen[pair] = weight, i, source
            unknown = [end for end in (source, target) if end not in at]
            words = table.text[1:].ravel().tolist() if i == 0 and len(unknown) == 2 and not table.head else None
            if words is not None and not {source, target} & {*words, *lost}:
                reason, action = "names no node", "taken for a header"
            elif unknown:
                reason = "a node that was left out" if all(end in lost for end in unknown) else "unknown node"
                near = [like[alike(end)] for end in unknown if alike(end) in like]
                detail = ", ".join(unknown) + (f"; {', '.join(near)} is a node" if near else "")
            elif weight == 0:
                reason, action = "weight 0", "taken as no link"
            else:
                a, b = at[source], at[target]
                links[min(a, b), max(a, b)] = weight, i
        if reason:
            rejections.append(rejected(table, i, "edge", source, target, reason, action, detail))
    return links, rejections


def _check_weight(table: FileTable, i: int, weight: float) -> None:
    if np.isnan(weight):
        raise ValueError(f"{table.at(i)}, column weight: there is no value.")
    if weight < 0:
        raise ValueError(f"{table.at(i)}, column weight: a weight must not be negative, got {weight:g}.")


def _no_links(table: FileTable, ends: NDArray[np.str_], nodes: Nodes, rejections: list[Rejection]) -> str:
    """Why no link is left; where ids do not match, with one of either file."""
    reasons = Counter(r.reason for r in rejections)
    if "unknown node" not in reasons:
        counts = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        lost = reasons["a node that was left out"] > len(ends) // 2
        fill = " Nodes with missing features were left out; --missing mean fills them in." if lost else ""
        return f"{table.name}: none of its {len(ends)} rows is a link: {counts}.{fill}"
    known, named = set(nodes.ids.tolist()), set(ends.flat)
    across = [name for name in nodes.columns if name in named or name.rpartition(": ")[2] in named]
    if len(across) > 1:
        return (
            f"{table.name}: none of its {len(ends)} rows joins two nodes that are there, but it names {across[0]!r}, "
            "which is a column of the nodes: is that table transposed? --transpose takes columns for nodes."
        )
    stranger = str(next(end for end in ends.flat if end and end not in known))
    near = next((name for name in nodes.ids.tolist() if alike(name) == alike(stranger)), None)
    return (
        f"{table.name}: none of its {len(ends)} rows joins two nodes that are there; it names nodes like {stranger!r}, "
        f"`nodes` are like {(str(nodes.ids[0]) if near is None else near)!r}{_apart(stranger, near)}."
    )


def alike(name: str) -> str:
    """An id without what the eye may miss: case, and how letters are encoded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _apart(stranger: str, near: str | None) -> str:
    """What tells two names apart that look the same."""
    if near is None:
        return ""
    one, other = (unicodedata.normalize("NFC", name) for name in (stranger, near))
    how = "in case" if one.lower() == other.lower() else "in forms of letters, such as ﬁ and fi"
    how = "in how letters with marks are encoded, the forms NFC and NFD of Unicode" if one == other else how
    return f"; they differ {how}, and ids are compared letter by letter"


def _labeled(labeled: Path | str, links: Links, at: dict[str, int]) -> tuple[NDArray[np.int64], list[Rejection]]:
    """Positions of the labelled nodes, in order."""
    if str(labeled) == "edges":
        return np.unique(np.array(list(links), dtype=np.int64)), []
    if str(labeled) == "all":
        return np.arange(len(at)), []
    table = read_table(labeled, names=frozenset({"id", "ids", "node", "nodes", "name"}))
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


def _split(links: Links, chosen: set[int], table: FileTable, nodes: Nodes) -> tuple[Links, list[Rejection]]:
    """The links between labelled nodes; the others are known too, but a model does not learn from them."""
    known = {pair: value for pair, value in links.items() if pair[0] in chosen and pair[1] in chosen}
    ids = nodes.ids.tolist()
    outside = [
        rejected(table, row, "edge", ids[i], ids[j], "a node that is not labelled", "not learned from")
        for (i, j), (_, row) in links.items()
        if (i, j) not in known
    ]
    return known, outside
