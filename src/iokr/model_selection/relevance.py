"""Which columns matter: forward selection by the evidence with a prior on sets of columns, or one width for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln

from iokr._array import is_sparse, to_numpy
from iokr._validation.arguments import check_vectors
from iokr.data.objects import take
from iokr.kernels.standardized import column_spread

if TYPE_CHECKING:
    from iokr.model_selection.tuning import Search

__all__ = ["Selection", "cost", "select", "unit_widths"]

_ALPHA = "alpha"
_TRIED = np.log([0.1, 1.0])  # widths at which a column is tried, over its unit
_NOISE = np.log([1.0, 0.5])  # alpha at which it is tried, over the last one
_ALL_NOISE = 2.0  # alpha over the mean of k(x, x) before a column is included
_FOLD = 8.0  # widths stay within e^±8 of their units, weights of the values that the model came with
_ALPHAS = np.log([1e-4, 10.0]) + np.array([-_FOLD, _FOLD])  # alpha over the mean of k(x, x)
_PATIENCE = 3  # inclusions in a row that may raise the criterion: two columns can help where neither does alone
_ROWS = 500  # on which columns are tried; widths are fitted to all rows
_STEPS = 50  # of L-BFGS after an inclusion


@dataclass(frozen=True, eq=False)
class Selection:
    """Parameters where the columns that play no role have the width 0, whose logarithm is −∞."""

    start: np.ndarray
    found: np.ndarray
    path: list[float]  # the criterion without a column, after each inclusion, and with one common width for all columns
    columns: dict[str, list[int]]  # by the name of their widths, in the order of inclusion


def cost(k: int, p: int, n: int) -> float:
    """−log prior of a set of k columns out of p and their widths: (k/2) log n + log C(p, k) + log(p + 1).

    Every number of columns from 0 to p has the same probability, and so has every set of the same number (Scott and
    Berger, 2010). (k/2) log n is what the integral over k widths takes from the largest likelihood (Schwarz, 1978).
    """
    sets = gammaln(p + 1) - gammaln(k + 1) - gammaln(p - k + 1)
    return float(k * np.log(n) / 2 + sets + np.log(p + 1))


def unit_widths(X: Any) -> np.ndarray:
    """1/(2s_l²) with s_l the standard deviation of column l; infinite for a constant column."""
    V = check_vectors(X)
    V = np.asarray(V.toarray() if is_sparse(V) else to_numpy(V), dtype=float)
    spread = column_spread(V)
    with np.errstate(over="ignore", divide="ignore"):
        return np.where(np.isinf(spread), np.inf, 1 / (2 * spread * spread))


def select(search: Search, units: Mapping[str, np.ndarray], most: int) -> Selection:
    """argmin of −log evidence − log prior: a set of at most `most` columns and their widths, or one width for all.

    The prior is ½ for one common width, and ½ for sets of columns, of which `cost` is −log. Sets are searched greedily
    from no column: a step tries every column at two widths with the others as they are, includes the best, and descends
    in all widths. `units` are the `unit_widths` of the columns by the name of their widths.
    """
    n = len(search.Y)
    widths = _flat(search, units)
    offered: list[int] = np.flatnonzero(np.isfinite(widths)).tolist()
    p = len(offered)
    bounds = _bounds(search, widths)
    sample = search if n <= _ROWS else _sample(search)
    z = start = _without_columns(search, units)
    if set(search.names) - set(units) - {_ALPHA}:  # weights of kernels that are there without a column
        z, _ = search.descend(z, bounds, _STEPS)
    best = z
    order: list[int] = []
    path = [search(z, gradient=False)[0] + cost(0, p, n)]
    lowest = 0
    while len(order) < min(most, p) and len(order) - lowest < _PATIENCE:
        z, place = _with_best(sample, z, widths, [place for place in offered if place not in order])
        z, _ = search.descend(z, bounds, _STEPS)
        order.append(place)
        path.append(search(z, gradient=False)[0] + cost(len(order), p, n))
        if path[-1] < path[lowest]:
            best, lowest = z, len(order)
    included = order[:lowest]

    together = search.start()
    common, _ = search.descend(together, groups=_groups(search, units))
    path.append(search(common, gradient=False)[0] + np.log(n) / 2)
    if path[-1] < path[lowest]:
        start, best, included = together, common, offered
    else:
        best, _ = search.descend(best, bounds)
    places = search.parts(np.arange(len(z)))
    columns = {name: [int(place - places[name][0]) for place in included if place in places[name]] for name in units}
    return Selection(start, best, path, columns)


def _with_best(search: Search, z: np.ndarray, widths: np.ndarray, places: list[int]) -> tuple[np.ndarray, int]:
    """z with the column whose inclusion has the largest evidence, and where its width is in z."""
    lowest = np.inf
    best, chosen = z, places[0]
    for place in places:
        for width in widths[place] + _TRIED:
            wider = z.copy()
            wider[place] = width
            _, _, K = search.gram(wider)
            for noise in _NOISE if _ALPHA in search.names else [0.0]:
                moved = wider.copy()
                if noise:
                    search.parts(moved)[_ALPHA] += noise
                f, _, _ = search.criterion(K, search.Y, search.alpha_at(moved), False, search.intercept)
                if f < lowest:
                    best, chosen, lowest = moved, place, f
    return best, chosen


def _sample(search: Search) -> Search:
    """The search on a sample of rows."""
    rows = np.sort(np.random.default_rng(0).permutation(len(search.Y))[:_ROWS])
    return replace(search, X=take(search.X, rows), Y=np.asfortranarray(search.Y[rows]))


def _without_columns(search: Search, units: Mapping[str, np.ndarray]) -> np.ndarray:
    """Widths of 0, and nearly all of the outputs is noise."""
    parts = {name: np.full(len(v), -np.inf) if name in units else np.log(v) for name, v in search.first.items()}
    if _ALPHA in parts:
        parts[_ALPHA] = np.log([_ALL_NOISE * search.size()])
    return np.concatenate(list(parts.values()))


def _bounds(search: Search, widths: np.ndarray) -> np.ndarray:
    """The smallest and the largest logarithm of each parameter."""
    first = np.log(np.concatenate(list(search.first.values())))
    middle = np.where(np.isnan(widths), first, widths)
    bounds = np.stack([middle - _FOLD, middle + _FOLD], axis=1)
    if _ALPHA in search.names:
        place = int(search.parts(np.arange(len(widths)))[_ALPHA][0])
        bounds[place] = np.log(search.size()) + _ALPHAS
    return bounds


def _groups(search: Search, units: Mapping[str, np.ndarray]) -> np.ndarray:
    """The same number for the widths of all columns, another for each other parameter."""
    numbers = search.parts(np.arange(len(np.concatenate(list(search.first.values())))))
    parts = [np.full(len(v), v[0]) if name in units else v for name, v in numbers.items()]
    return np.concatenate(parts)


def _flat(search: Search, units: Mapping[str, np.ndarray]) -> np.ndarray:
    """log units where z has the widths of columns, NaN for other parameters."""
    parts = [np.log(units[name]) if name in units else np.full(len(v), np.nan) for name, v in search.first.items()]
    return np.concatenate(parts)
