"""Leaving out pairs and nodes: in closed form for the square, by folds of nodes for any loss.

residual_F = (N_FF)⁻¹ c_F with N = (G + α diag(1/w))⁻¹, c = N y and F the examples left out together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iokr._array import cholesky, eigh, to_numpy
from iokr._system.memory import check_memory
from iokr._validation.arguments import check_integer
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver
from iokr.solvers.pairs.spectrum import CompletePairs

if TYPE_CHECKING:
    from iokr.estimators.pairs.strategies import PairProblem

__all__ = ["leave_node_out", "leave_pair_out", "leave_pair_out_path", "random_folds", "refit_scores"]


def leave_pair_out(posed: PairProblem) -> np.ndarray:
    """f₋ₚ(p) for every pair, in closed form."""
    target, second = posed.data.target, posed.examples.second
    complete = CompletePairs(posed.gram, posed.shift)
    if complete.exact:
        return np.asarray(target - complete.loo_residuals(posed.examples.target)[: len(target)])
    N = _inverse(posed)
    c = N @ posed.examples.target
    residual = c[: len(target)] / np.diagonal(N)[: len(target)]
    i = np.flatnonzero(second >= 0)
    j = second[i]
    residual[i] = _mean_over_orders(N[i, i], N[j, j], N[i, j], c[i], c[j])
    return np.asarray(target - residual)


def leave_pair_out_path(posed: PairProblem, alphas: Sequence[float]) -> Iterator[np.ndarray]:
    """f₋ₚ(p) for every pair at every alpha: √w G √w = U diag(s) Uᵀ once, then N = √w U diag(1/(s + α)) Uᵀ √w."""
    if len(alphas) == 1 or CompletePairs(posed.gram, posed.shift).exact:
        yield from (leave_pair_out(posed.at(alpha)) for alpha in alphas)
        return
    n = len(posed.shift)
    check_memory(32.0 * n * n, f"Leaving out of {n} examples in closed form", "Set `cv=5`.")
    root = np.sqrt(posed.problem.row_weight)
    G = np.array(to_numpy(posed.gram.detach()))
    G *= root[:, None]
    G *= root[None, :]
    s, U = eigh(G, overwrite=True)
    s, projected = np.clip(s, 0.0, None), U.T @ (root * posed.examples.target)
    n_pairs, second = len(posed.data.target), posed.examples.second
    i = np.flatnonzero(second >= 0)
    first, swapped, squares = U[i], U[second[i]], U[:n_pairs] ** 2
    w, w_i, w_j = root[:n_pairs] ** 2, root[i] ** 2, root[second[i]] ** 2
    for alpha in alphas:
        inverse = 1 / (s + alpha)
        c = root * (U @ (inverse * projected))
        residual = c[:n_pairs] / (w * (squares @ inverse))
        if len(i):
            N_ii, N_jj = w_i * (squares[i] @ inverse), w_j * (swapped**2 @ inverse)
            N_ij = root[i] * root[second[i]] * ((first * swapped) @ inverse)
            residual[i] = _mean_over_orders(N_ii, N_jj, N_ij, c[i], c[second[i]])
        yield posed.data.target - residual


def _mean_over_orders(
    N_ii: np.ndarray, N_jj: np.ndarray, N_ij: np.ndarray, c_i: np.ndarray, c_j: np.ndarray
) -> np.ndarray:
    """The mean of both residuals (N_FF)⁻¹ c_F of pairs whose orders i and j are left out together."""
    return np.asarray(((N_jj - N_ij) * c_i + (N_ii - N_ij) * c_j) / (2 * (N_ii * N_jj - N_ij**2)))


def leave_node_out(posed: PairProblem) -> np.ndarray:
    """(n, 2): the score of each pair without all pairs of its first, of its second node."""
    if CompletePairs(posed.gram, posed.shift).exact:
        return refit_scores(posed, Auto())
    N = _inverse(posed)
    c, pairs, second = N @ posed.examples.target, posed.data.pairs, posed.examples.second
    out = np.empty((len(pairs), 2))
    for node in np.unique(pairs):
        rows = np.flatnonzero((pairs == node).any(axis=1))
        two = second[rows] >= 0
        F = np.concatenate([rows, second[rows][two]])
        residual = np.linalg.solve(N[np.ix_(F, F)], c[F])
        mean = residual[: len(rows)].copy()
        mean[two] = (mean[two] + residual[len(rows) :]) / 2
        scores = posed.data.target[rows] - mean
        out[rows] = np.where(pairs[rows] == node, scores[:, None], out[rows])
    return out


def refit_scores(posed: PairProblem, solver: Solver, folds: Iterable[np.ndarray] | None = None) -> np.ndarray:
    """(n, 2): the score of each pair by a model without the fold of its first, of its second node; NaN: by none.

    Each node is a fold unless they are given.
    """
    pairs = posed.data.pairs
    out = np.full((len(pairs), 2), np.nan)
    for fold in np.unique(pairs)[:, None] if folds is None else folds:
        out = np.where(np.isin(pairs, fold), _without(posed, fold, solver)[:, None], out)
    return out


def random_folds(posed: PairProblem, cv: int, random_state: int | None) -> list[np.ndarray]:
    """The nodes of pairs in `cv` folds."""
    nodes = np.unique(posed.data.pairs)
    folds = check_integer(cv, "cv", minimum=2)
    if folds > len(nodes):
        raise ValueError(f"`cv` must be at most the number of nodes in pairs, {len(nodes)}, got {cv}.")
    if random_state is not None:
        random_state = check_integer(random_state, "random_state", minimum=0)
    return list(np.array_split(np.random.default_rng(random_state).permutation(nodes), folds))


def _without(posed: PairProblem, nodes: np.ndarray, solver: Solver) -> np.ndarray:
    """Scores of the pairs that hold one of `nodes`, by a model that has no such pair; NaN for the others."""
    pairs, points, strategy = posed.data.pairs, posed.examples.points, posed.strategy
    scores = np.full(len(pairs), np.nan)
    kept = ~np.isin(points, nodes).any(axis=1)
    if not kept.any():
        return scores
    present, where = np.unique(points[kept], return_inverse=True)
    where = where.reshape(-1, 2)
    K = to_numpy(posed.gram.nodes)
    small = strategy.gram(np.ascontiguousarray(K[np.ix_(present, present)]), where)
    weight = None if posed.problem.weight is None else np.asarray(posed.problem.weight)[kept]
    part = replace(posed.problem, gram=small, Psi=to_numpy(posed.problem.Psi)[kept], weight=weight)
    C = strategy.solve(small, part, solver).C
    rows = np.flatnonzero(np.isin(pairs, nodes).any(axis=1))
    everyone, left = np.unique(pairs[rows], return_inverse=True)
    same = np.full(len(everyone), -1)
    known = np.isin(everyone, present)
    same[known] = np.searchsorted(present, everyone[known])
    scores[rows] = strategy.score(K[np.ix_(everyone, present)], left.reshape(-1, 2), where, C, same)
    return scores


def _inverse(posed: PairProblem) -> np.ndarray:
    """N = (G + α diag(1/w))⁻¹, whole."""
    n = len(posed.shift)
    check_memory(24.0 * n * n, f"Leaving out of {n} examples in closed form", "Use `cv_decision_function()`.")
    G = np.array(to_numpy(posed.gram.detach()))
    G.flat[:: n + 1] += posed.shift
    return np.asarray(cholesky(G).solve(np.eye(n)))
