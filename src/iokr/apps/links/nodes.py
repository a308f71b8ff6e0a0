"""The nodes that a model scores: those of training, and new ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array

from iokr._array import matmul, to_numpy
from iokr.apps.links.data import LinkData, Matrix, Numbers
from iokr.apps.readers.network_files import alike
from iokr.apps.readers.tables import read_table
from iokr.estimators.bipartite import BipartitePredictor
from iokr.estimators.links.ranking import best_pairs, root_mean_square

__all__ = ["ModelNodes", "PairScores", "Selection", "Side", "rank"]

_SAMPLE = 1000  # labelled nodes between which the size of scores is measured


@dataclass(frozen=True, eq=False)
class Side:
    """Nodes of one kind: those of training, then new ones, which are called later nodes."""

    kind: str  # what they are called
    ids: NDArray[np.str_]
    X: Any  # as the kernels take it
    n_later: int = 0

    @property
    def n_fitted(self) -> int:
        """The number of nodes of training."""
        return len(self.ids) - self.n_later

    def with_later(self, later: tuple[NDArray[np.str_], Any] | None) -> Side:
        """The same nodes, then the later ones: their ids and features."""
        if later is None:
            return self
        ids, X = later
        return Side(self.kind, np.concatenate([self.ids, ids]), np.concatenate([self.X, X]), len(ids))


@dataclass(frozen=True, eq=False)
class ModelNodes:
    """Nodes of one kind, or rows and then columns of two, numbered from 0, and the known links between them."""

    sides: tuple[Side, ...]
    links: csr_array  # between the nodes of training, (rows, columns); symmetric for one kind
    labeled: Numbers  # rows

    @classmethod
    def of(cls, network: LinkData, X: Sequence[Any]) -> ModelNodes:
        """Of a network, and the features of each kind as the kernels take them."""
        named = zip(network.kinds, network.sides, X, strict=False)  # `kinds` has two names for one kind, too
        return cls(tuple(Side(kind, side.ids, x) for kind, side, x in named), network.links, network.labeled)

    @property
    def across(self) -> bool:
        """Whether there are two kinds of nodes."""
        return len(self.sides) == 2

    @property
    def kinds(self) -> tuple[str, str]:
        """What rows and columns are called."""
        return self.sides[0].kind, self.sides[-1].kind

    @cached_property
    def ids(self) -> NDArray[np.str_]:
        """The ids of all nodes."""
        return np.concatenate([side.ids for side in self.sides])

    @property
    def n_rows(self) -> int:
        """The number of rows, after which the columns of two kinds are numbered."""
        return len(self.sides[0].ids)

    @property
    def n_later(self) -> int:
        """The number of new nodes."""
        return sum(side.n_later for side in self.sides)

    @property
    def is_later(self) -> NDArray[np.bool_]:
        """Which nodes are new."""
        return np.concatenate([np.arange(len(side.ids)) >= side.n_fitted for side in self.sides])

    @property
    def is_labeled(self) -> NDArray[np.bool_]:
        """Which nodes are labelled."""
        return np.isin(np.arange(len(self.ids)), self.labeled)

    @cached_property
    def adjacency(self) -> csr_array:
        """The known links between all nodes, (N, N), symmetric; later nodes have none."""
        known: Any = csr_array(self.links, copy=True)
        known.resize(self.n_rows, len(self.sides[-1].ids))
        if self.across:
            known = block_array([[None, known], [known.T, None]])
        return csr_array(known)

    def with_later(self, later: Iterable[tuple[NDArray[np.str_], Any] | None]) -> ModelNodes:
        """The same nodes, and for each kind (ids, X) of new nodes, or None."""
        sides = (side.with_later(new) for side, new in zip(self.sides, later, strict=True))
        return replace(self, sides=tuple(sides))

    def groups(self) -> tuple[tuple[str, ...], Numbers]:
        """Names of groups of nodes, and the group of each: its kind, or whether it is labelled."""
        if self.across:
            return self.kinds, np.repeat([0, 1], [len(side.ids) for side in self.sides])
        return ("labelled", "new"), np.where(self.is_labeled, 0, 1)

    def known_links(self) -> tuple[Numbers, Matrix]:
        """Known links (i, j), i < j, and their weights."""
        known = self.adjacency.tocoo()
        half = known.row < known.col
        return np.column_stack([known.row, known.col])[half].astype(np.int64), known.data[half]

    def numbers_of(self, names: Sequence[str], where: str) -> Numbers:
        """Nodes by their ids, each once; an unknown one is an error that names those like it."""
        numbers = pd.Index(self.ids).get_indexer(list(names))
        for name, number in zip(names, numbers, strict=True):
            if number < 0:
                raise ValueError(
                    f"{where}: {name!r:.60} is not a node of the network; {_suggestion(name, self.ids.tolist())}"
                )
        return np.array(pd.unique(numbers), dtype=np.int64)


def _suggestion(unknown: str, names: Sequence[str]) -> str:
    """The end of an error: ids that contain the unknown one or are part of it, else ids with similar letters."""
    folded = alike(unknown)
    inside = [name for name in names if folded in alike(name) or alike(name) in folded]
    near = sorted(inside, key=lambda name: abs(len(name) - len(unknown))) or get_close_matches(unknown, names)
    if near:
        return f"did you mean {', '.join(map(repr, near[:3]))}?"
    return f"ids look like {names[0]!r}."


# ------------------------------------------------------------------------------------------------------ pairs to rank


@dataclass(frozen=True)
class Selection:
    """The pairs that are ranked: how many, and of which nodes."""

    top: int = 1000
    partners_of: tuple[str, ...] = ()
    between: tuple[Any, Any] | None = None  # lists of ids, or files of them

    def blocks(self, nodes: ModelNodes) -> list[tuple[Numbers, Numbers | None]]:
        """Lists of nodes without a common pair, between which pairs are ranked; None is a list and itself.

        By default pairs with a later node, if there are later nodes.
        """
        one, other = self._lists(nodes)
        blocks = _across(one, other, nodes.n_rows) if nodes.across else _within(one, other)
        blocks = [(a, b) for a, b in blocks if len(a) and (b is None or len(b))]
        if not any(_n_unknown(nodes, a, b) for a, b in blocks):
            between = " across the two kinds" if nodes.across else ""
            raise ValueError(f"No pair{between} is left to rank: all pairs of the selected nodes are known links.")
        return blocks

    def _lists(self, nodes: ModelNodes) -> tuple[Numbers, Numbers]:
        """The nodes of one end of a pair, and of the other."""
        everyone = np.arange(len(nodes.ids))
        if self.partners_of:
            return nodes.numbers_of(self.partners_of, "`partners_of`"), everyone
        if self.between:
            one, other = self.between
            return nodes.numbers_of(*_ids_of(one)), nodes.numbers_of(*_ids_of(other))
        if nodes.n_later:
            return np.flatnonzero(nodes.is_later), everyone
        return everyone, everyone

    def described(self) -> str:
        """The nodes, in a sentence."""
        if self.partners_of:
            names = ", ".join(name if "`" in name else f"`{name}`" for name in self.partners_of[:3])
            return f" with {names} …" if len(self.partners_of) > 3 else f" with {names}"
        return " between the two lists" if self.between else ""


def _within(one: Numbers, other: Numbers) -> list[tuple[Numbers, Numbers | None]]:
    """Nodes of one list alone with all of the other, shared nodes with the rest of the other, and shared nodes."""
    shared = np.intersect1d(one, other)
    rest = np.setdiff1d(other, shared)
    return [(np.setdiff1d(one, shared), np.union1d(rest, shared)), (shared, rest), (shared, None)]


def _across(one: Numbers, other: Numbers, n_rows: int) -> list[tuple[Numbers, Numbers | None]]:
    """Rows of one list with columns of the other, and rows of the other with columns of the one: each pair once."""
    rows = one[one < n_rows]
    columns = one[one >= n_rows]
    other_rows = other[other < n_rows]
    other_columns = other[other >= n_rows]
    return [
        (rows, other_columns),
        (np.setdiff1d(other_rows, rows), columns),
        (np.intersect1d(other_rows, rows), np.setdiff1d(columns, other_columns)),
    ]


def _n_unknown(nodes: ModelNodes, one: Numbers, other: Numbers | None) -> int:
    """How many pairs of two lists are not known to be linked."""
    if other is None:
        return len(one) * (len(one) - 1) // 2 - int(nodes.adjacency[one][:, one].nnz) // 2
    return len(one) * len(other) - int(nodes.adjacency[one][:, other].nnz)


def _ids_of(names: Any) -> tuple[list[str], str]:
    """The ids of a list or of a file, and where they come from."""
    if isinstance(names, (str, Path)):
        table = read_table(names, names=frozenset({"id", "ids", "node", "nodes", "name"}))
        return table.text[:, 0].tolist(), table.name
    return [str(name) for name in names], "`between`"


@dataclass(frozen=True, eq=False)
class PairScores:
    """Factors of the scores f(u, v) = ⟨a_u, b_v⟩: of all nodes, or of rows and of columns."""

    A: Matrix
    B: Matrix
    first: int = 0  # the number of the node of the first row of B

    @classmethod
    def of(cls, parts: Sequence[tuple[str, Any, float]], nodes: ModelNodes) -> PairScores:
        """Σ_m slope_m f_m(u, v), of fitted models (method, model, slope)."""
        if nodes.across:
            [(_, model, _)] = parts  # a single method, whose scores need no slope
            return cls(*_bipartite_factors(nodes, model), first=nodes.n_rows)
        factors = [_scaled_factors(nodes, model, slope) for _, model, slope in parts]
        left, right = zip(*factors, strict=True)
        return cls(np.hstack(left), np.hstack(right))

    def between(self, one: Numbers, other: Numbers) -> Matrix:
        """f(u, v) for every u of one list and every v of another."""
        return np.asarray(self.A[one] @ self.B[other - self.first].T)

    def of_pairs(self, pairs: Numbers) -> Matrix:
        """f(u, v) for each pair."""
        return np.asarray(np.einsum("ij,ij->i", self.A[pairs[:, 0]], self.B[pairs[:, 1] - self.first]))

    def size(self, labeled: Numbers) -> float:
        """The root mean square of scores between labelled nodes, at most a thousand of them."""
        sample = labeled[np.linspace(0, len(labeled) - 1, min(_SAMPLE, len(labeled))).astype(int)]
        return root_mean_square(self.between(sample, sample))


def _scaled_factors(nodes: ModelNodes, model: Any, slope: float) -> tuple[Matrix, Matrix]:
    """The factors of slope · f(u, v), for nodes of training and then for later ones."""
    [side] = nodes.sides
    A, B = map(to_numpy, model.factors())
    if side.n_later:
        later_A, later_B = map(to_numpy, model.factors(side.X[side.n_fitted :]))
        A = np.vstack([A, later_A])
        B = np.vstack([B, later_B])
    return slope * A, B


def _bipartite_factors(nodes: ModelNodes, model: BipartitePredictor) -> tuple[Matrix, Matrix]:
    """k₁(x, ·)ᵀ C and k₂(z, ·)."""
    rows, columns = nodes.sides
    K = to_numpy(model.kernel_(rows.X, rows.X[: rows.n_fitted]))
    L = to_numpy(model.partner_kernel_(columns.X, columns.X[: columns.n_fitted]))
    return np.asarray(matmul(K, to_numpy(model.row_model_.solution_.C))), L


def rank(
    nodes: ModelNodes, scores: PairScores, blocks: Sequence[tuple[Numbers, Numbers | None]], top: int
) -> tuple[Numbers, Matrix]:
    """The best pairs of nodes that are not known to be linked, and their scores.

    The node with the smaller number comes first, but with one kind a later node comes before one of training.
    """
    found = [_best(nodes, scores, one, other, top) for one, other in blocks]
    ends, values = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((ends[:, 1], ends[:, 0], -values))[:top]
    ends = ends[order]
    values = values[order]
    if nodes.across:
        return ends, values
    later = nodes.is_later[ends]
    swapped = later[:, 1] & ~later[:, 0]
    return np.where(swapped[:, None], ends[:, ::-1], ends), values


def _best(
    nodes: ModelNodes, scores: PairScores, one: Numbers, other: Numbers | None, top: int
) -> tuple[Numbers, Matrix]:
    """The best pairs of a node of one list and one of another, which shares none, or of two nodes of one list."""
    partners = one if other is None else other
    known = np.column_stack(nodes.adjacency[one][:, partners].nonzero())
    A = scores.A[one]
    B = scores.B[partners - scores.first]
    pairs, values = best_pairs(A, B, top=top, known=known, one_list=other is None)
    ends = np.column_stack([one[pairs[:, 0]], partners[pairs[:, 1]]])
    return np.sort(ends, axis=1).astype(np.int64), values
