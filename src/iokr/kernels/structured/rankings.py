"""Kernels on rankings, complete or not, with or without ties.

A ranking of d items is its vector of ranks: entry j is the rank of item j, lower is better. Only the order of the
numbers counts, so that positions from 0 or 1, or minus scores, are valid. Equal numbers are ties; NaN is an unknown
rank. ψ of a ranking with ties or unknown ranks is the mean of ψ over the complete rankings that agree with it, all with
the same probability. Give items that come last a common last rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, is_array, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import POSITIVE
from iokr.data.frames import read
from iokr.data.objects import BadObject, BadObjectType, as_array, as_objects, keys, n_objects
from iokr.kernels._data.counts import numbered
from iokr.kernels.base import FeatureKernel, Kernel, UnitKernel

__all__ = ["Kendall", "Mallows", "Spearman", "order_ranks", "pair_signs", "spearman_features"]


def check_rankings(X: Any, n_items: int | None = None) -> np.ndarray:
    """Rank vectors as an (n, d) matrix. Errors give the number of the ranking."""
    n_objects(X)
    X = read(X, matrix=True)
    values = to_numpy(X) if is_array(X) else None
    if values is None or values.dtype.kind not in "buif" or values.ndim != 2:
        values = _stacked(X)
    ranks = values.astype(np.float64)
    d = ranks.shape[1]
    if n_items is not None and d != n_items:
        raise BadObject("Ranking", 0, f" has {d} entries but rankings had {n_items} items at fit.")
    if d < 2:
        raise BadObject("Ranking", 0, f" must rank at least two items, got {d}.")
    _check_rows(np.isinf(ranks).any(axis=1), "has an infinite rank; give items that come last a common last rank")
    _check_rows(np.isnan(ranks).all(axis=1), "ranks no item; leave it out")
    return ranks


def _check_rows(bad: Any, problem: str) -> None:
    if bad.any():
        raise BadObject("Ranking", int(np.argmax(bad)), f" {problem}.")


def _stacked(X: Any) -> np.ndarray:
    """Rankings of one length as rows."""
    rows = [_ranking(x, i) for i, x in enumerate(as_objects(X))]
    if not rows:
        raise ValueError("`X` has no rankings; at least one is needed.")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise BadObject(
                "Ranking",
                i,
                f" has {len(row)} entries but ranking 0 has {len(rows[0])}; give every item a rank, NaN if unknown.",
            )
    return np.stack(rows)


def _ranking(x: Any, i: int) -> np.ndarray:
    try:
        row = as_array(x)
        row = np.empty(0) if row.dtype.kind == "c" else row.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        row = np.empty(0)
    if row.ndim != 1 or row.size == 0:
        raise BadObjectType(
            "Ranking",
            i,
            f" must be a vector of ranks, a number per item, got {x!r:.60}; "
            "`iokr.kernels.order_ranks` converts lists of items.",
        )
    return row


def order_ranks(orders: Sequence[Sequence[Any]], items: Sequence[Any] | None = None) -> np.ndarray:
    """ranks[i, j] = position of item j in order i, from 1; NaN if the order does not contain it.

    Parameters
    ----------
    orders : sequence of sequences
        The items of each ranking, best first, each at most once.
    items : sequence, default=None
        The items, a column each; None takes those of the orders, in order of appearance.

    Returns
    -------
    ndarray of shape (n, d)
        Objects for the kernels on rankings.

    Examples
    --------
    >>> from iokr.kernels import order_ranks
    >>> order_ranks([["tea", "milk"], ["milk", "water", "tea"]])
    array([[ 1.,  2., nan],
           [ 3.,  1.,  2.]])
    """
    n_objects(orders, "orders")
    lists = [_items(order, f"Order {i} of `orders`") for i, order in enumerate(as_objects(orders))]
    names = [item for order in lists for item in order] if items is None else _items(items, "`items`")
    columns, _ = numbered(keys(names))
    if items is not None and len(columns) != len(names):
        raise ValueError("`items` contains an item twice; each has one column.")
    ranks = np.full((len(lists), len(columns)), np.nan)
    for i, order in enumerate(lists):
        for position, (item, name) in enumerate(zip(order, keys(order), strict=True), start=1):
            if name not in columns:
                raise ValueError(f"Order {i} contains {item!r:.60}, which is not among `items`.")
            if not np.isnan(ranks[i, columns[name]]):
                raise ValueError(f"Order {i} contains {item!r:.60} twice; an item has one position.")
            ranks[i, columns[name]] = position
    return ranks


def _items(items: Any, what: str) -> list[Any]:
    """The items of a list, an array or a string."""
    if isinstance(items, str):
        return list(items)
    try:
        n_objects(items)
        return list(as_objects(items))
    except TypeError:
        raise TypeError(f"{what} must be a sequence of items, got {items!r:.60}.") from None


def pair_signs(ranks: np.ndarray) -> np.ndarray:
    """E sgn(rank_b − rank_a) for items a < b, (n, d(d−1)/2): the mean over complete rankings that agree.

    ±1 if both are ranked, 0 if they tie or neither is ranked. An item of unknown rank has each of the k + 1 positions
    among k ranked items with the same probability, hence the sign 1 − 2r/(k + 1) against an item of rank r.
    """
    first, second = np.triu_indices(ranks.shape[1], 1)
    with np.errstate(invalid="ignore"):
        signs: np.ndarray = np.sign(ranks[:, second] - ranks[:, first])
    unknown = np.isnan(ranks)
    if unknown.any():
        position = 2.0 * midranks(ranks) / ((~unknown).sum(axis=1, keepdims=True) + 1.0) - 1.0  # in (−1, 1)
        position[unknown] = 0.0
        known = unknown[:, first] | unknown[:, second]
        signs[known] = (position[:, second] - position[:, first])[known]
    return signs


def midranks(ranks: np.ndarray) -> np.ndarray:
    """Ranks from 1 among the ranked items, ties at the mean of their positions, NaN if unknown."""
    from scipy.stats import rankdata  # takes long to import

    return np.asarray(rankdata(ranks, axis=1, nan_policy="omit"))


def spearman_features(ranks: np.ndarray) -> np.ndarray:
    """E rank_j − (d + 1)/2, scaled to unit length for complete rankings: (d + 1)(r_j/(k + 1) − ½) for rank r_j of k."""
    d = ranks.shape[1]
    k = (~np.isnan(ranks)).sum(axis=1, keepdims=True)
    centred = (d + 1.0) * (midranks(ranks) / (k + 1.0) - 0.5)
    return np.asarray(np.nan_to_num(centred) * np.sqrt(12.0 / (d**3 - d)))


class _Rankings(Kernel):
    """Rankings of the number of items at fit."""

    domain = "rankings"

    def fit(self, X: Any) -> _Rankings:
        """Check the parameters, and learn the number of items."""
        self.check_parameters()
        self.n_items_ = int(check_rankings(X).shape[1])
        return self


@component
class Kendall(_Rankings, FeatureKernel):
    """k(x, z) = (concordant − discordant pairs of items) / (d choose 2): Kendall's τ of complete rankings.

    Objects are rank vectors: entry j is the rank of item j, equal numbers are ties, NaN is unknown (see `order_ranks`
    for lists of items). ψ(x) is the vector of signs of all pairs of items, or its mean over the complete rankings that
    agree with x; `Normalized(Kendall())` is τ_b for rankings with ties. A block costs nm d² flops, one product.

    Examples
    --------
    >>> from iokr.kernels import Kendall
    >>> Kendall()([[1, 2, 3]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]).round(3)
    array([[ 1.   ,  0.333, -1.   ]])

    References
    ----------
    Jiao and Vert, "The Kendall and Mallows kernels for permutations", ICML 2015.
    """

    def features(self, X: Any) -> np.ndarray:
        """The signs of all pairs of items, over √(d choose 2)."""
        signs = pair_signs(check_rankings(X, self.n_items_))
        signs /= np.sqrt(signs.shape[1])
        return signs


@component
class Spearman(_Rankings, FeatureKernel):
    """k(x, z) = (12/(d³ − d)) Σ_j (x_j − (d+1)/2)(z_j − (d+1)/2): Spearman's ρ of complete rankings.

    Objects are rank vectors, as for `Kendall`: ties have their mean rank, items of unknown rank the middle rank, and
    the ranks of the others are scaled to d items. A block costs 2nmd flops, one product.

    Examples
    --------
    >>> from iokr.kernels import Spearman
    >>> Spearman()([[1, 2, 3]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]).round(3)
    array([[ 1. ,  0.5, -1. ]])
    """

    def features(self, X: Any) -> np.ndarray:
        """Centred ranks, of unit length when complete."""
        return spearman_features(check_rankings(X, self.n_items_))


@component
class Mallows(_Rankings, UnitKernel):
    """k(x, z) = exp(−lam · discordant pairs of items) for complete rankings.

    In general exp(−(lam/4) ‖φ(x) − φ(z)‖²) with φ the signs of `Kendall`: a pair of items that is tied in one of the
    rankings counts a quarter. Objects are rank vectors, as for `Kendall`. A block costs nm d² flops and nm
    exponentials.

    Parameters
    ----------
    lam : float, default=1.0
        Larger is more local.

    Examples
    --------
    >>> from iokr.kernels import Mallows
    >>> Mallows(0.1)([[1, 2, 3]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]).round(3)
    array([[1.   , 0.905, 0.741]])
    """

    lam: float = 1.0

    limits: ClassVar[Limits] = {"lam": POSITIVE}

    def represent(self, X: Any) -> np.ndarray:
        """The signs of all pairs of items."""
        return pair_signs(check_rankings(X, self.n_items_))

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        K = R @ S.T
        K *= self.lam / 2
        K -= (self.lam / 4) * np.einsum("ij,ij->i", R, R)[:, None]
        K -= (self.lam / 4) * np.einsum("ij,ij->i", S, S)[None, :]
        np.minimum(K, 0.0, out=K)
        return np.exp(K, out=K)
