"""Leaving out pairs and nodes: in closed form for the square, by folds of nodes for any loss.

residual_F = (N_FF)⁻¹ c_F with N = (G + α diag(1/w))⁻¹, c = N y and F the examples left out together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from iokr._array import cholesky, to_numpy
from iokr._memory import check_memory
from iokr._validation import check_integer
from iokr.estimators.pairs.local import local_loo, solve_local
from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem
from iokr.solvers.base import Solver
from iokr.solvers.pairs.spectrum import CompletePairs

__all__ = ["fold_scores", "leave_node_out", "leave_pair_out"]


def leave_pair_out(problem: Problem, pairs: np.ndarray, target: np.ndarray, *, local: bool) -> np.ndarray:
    """f₋ₚ(p) for every pair."""
    gram, shift = _parts(problem)
    y = to_numpy(problem.Psi)[:, 0]
    if local:
        g, others = local_loo(problem)
        return _mean_of_machines(gram.left, pairs, g, others)
    complete = CompletePairs(gram, shift)
    if complete.exact:
        residual = complete.loo_residuals(y)
        return np.asarray(target - residual[: len(pairs)])
    N = _inverse(gram, shift)
    c = N @ y
    if not gram.ordered:
        return np.asarray(target - c / np.diagonal(N))
    n = len(pairs)
    two = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
    i, j = two, n + np.arange(len(two))
    residual = c[:n] / np.diagonal(N)[:n]
    det = N[i, i] * N[j, j] - N[i, j] ** 2
    residual[two] = ((N[j, j] - N[i, j]) * c[i] + (N[i, i] - N[i, j]) * c[j]) / (2 * det)
    return np.asarray(target - residual)


def leave_node_out(problem: Problem, pairs: np.ndarray, target: np.ndarray, *, local: bool) -> np.ndarray:
    """(n, 2): the score of each pair without all pairs of its first, of its second node."""
    gram, shift = _parts(problem)
    y = to_numpy(problem.Psi)[:, 0]
    out = np.empty((len(pairs), 2))
    if local or CompletePairs(gram, shift).exact:  # local: what is left is the other node's machine
        for node in np.unique(pairs):
            strategy = "local" if local else "other"
            _place(out, pairs, node, _without(problem, pairs, np.array([node]), strategy, None))
        return out
    N = _inverse(gram, shift)
    c, n = N @ y, len(pairs)
    second = np.full(n, -1)
    if gram.ordered:
        two = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
        second[two] = n + np.arange(len(two))
    for node in np.unique(pairs):
        rows = np.flatnonzero((pairs == node).any(axis=1))
        more = second[rows][second[rows] >= 0]
        F = np.concatenate([rows, more])
        residual = np.linalg.solve(N[np.ix_(F, F)], c[F])
        mean = residual[: len(rows)].copy()
        mean[second[rows] >= 0] = (mean[second[rows] >= 0] + residual[len(rows) :]) / 2 if len(more) else 0.0
        scores = np.full(n, np.nan)
        scores[rows] = target[rows] - mean
        _place(out, pairs, node, scores)
    return out


def fold_scores(
    problem: Problem,
    pairs: np.ndarray,
    target: np.ndarray,
    strategy: str,
    solver: Solver,
    cv: int,
    random_state: int | None,
) -> np.ndarray:
    """(n, 2): the score of each pair by a model without the fold of its first, of its second node."""
    nodes = np.unique(pairs)
    folds = check_integer(cv, "cv", minimum=2)
    if folds > len(nodes):
        raise ValueError(f"`cv` must be at most the number of nodes in pairs, {len(nodes)}, got {cv}.")
    nodes = np.random.default_rng(random_state).permutation(nodes)
    out = np.full((len(pairs), 2), np.nan)
    for fold in np.array_split(nodes, folds):
        scores = _without(problem, pairs, fold, strategy, solver)
        for node in fold:
            _place(out, pairs, node, scores)
    return out


def _without(
    problem: Problem, pairs: np.ndarray, nodes: np.ndarray, strategy: str, solver: Solver | None
) -> np.ndarray:
    """Scores of the pairs that hold one of `nodes`, by a model that has no such pair; NaN for the others."""
    from iokr.solvers.auto import Auto

    gram, _ = _parts(problem)
    points, n = gram.left, len(pairs)
    kept = ~np.isin(points, nodes).any(axis=1)
    scores = np.full(n, np.nan)
    rows = np.flatnonzero(np.isin(pairs, nodes).any(axis=1))
    if not kept.any():
        return scores
    present, where = np.unique(points[kept], return_inverse=True)
    where = where.reshape(-1, 2)
    K = to_numpy(gram.nodes)
    weight = None if problem.weight is None else np.asarray(problem.weight)[kept]
    small = PairGram(np.ascontiguousarray(K[np.ix_(present, present)]), where, mix=gram.mix, ordered=gram.ordered)
    part = replace(problem, gram=small, Psi=to_numpy(problem.Psi)[kept], weight=weight)
    chosen = Auto() if solver is None else solver
    solution = solve_local(part, chosen) if strategy == "local" else chosen.solve(part)
    left = pairs[rows]
    everyone, position = np.unique(left, return_inverse=True)
    position = position.reshape(-1, 2)
    same = np.full(len(everyone), -1)
    known = np.isin(everyone, present)
    same[known] = np.searchsorted(present, everyone[known])
    ends = position if not gram.ordered else np.concatenate([position, position[:, ::-1]])
    new = PairGram(K[np.ix_(everyone, present)], ends, where, mix=gram.mix, ordered=gram.ordered, same=same)
    f = (new @ solution.C)[:, 0]
    if gram.ordered:
        one, other = f[: len(rows)], f[len(rows) :]
        if strategy == "local":
            owners = np.isin(left, present[np.unique(where[:, 0])])
            share = np.where(owners.all(axis=1), 0.5, np.where(owners.any(axis=1), 1.0, np.nan))
            f = share * (one + other)
        else:
            f = (one + other) / 2
    scores[rows] = f
    return scores


def _place(out: np.ndarray, pairs: np.ndarray, node: int, scores: np.ndarray) -> None:
    for side in range(2):
        here = pairs[:, side] == node
        out[here, side] = scores[here]


def _mean_of_machines(points: np.ndarray, pairs: np.ndarray, g: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The mean of the machines that exist without the pair; NaN where none does."""
    n = len(pairs)
    two = np.flatnonzero(pairs[:, 0] != pairs[:, 1])
    total, count = np.where(others[:n], g[:n], 0.0), others[:n].astype(float)
    total[two] += np.where(others[n:], g[n:], 0.0)
    count[two] += others[n:]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _parts(problem: Problem) -> tuple[PairGram, np.ndarray]:
    gram = problem.gram
    assert isinstance(gram, PairGram)
    weight = np.ones(problem.n_labeled) if problem.weight is None else np.asarray(problem.weight, dtype=float)
    return gram, problem.alpha / weight


def _inverse(gram: PairGram, shift: np.ndarray) -> np.ndarray:
    """N = (G + diag(shift))⁻¹, whole."""
    n = len(shift)
    check_memory(24.0 * n * n, f"Leaving out of {n} examples in closed form", "Use `cv_decision_function()`.")
    G = np.array(to_numpy(gram.detach()))
    G.flat[:: n + 1] += shift
    return np.asarray(cholesky(G).solve(np.eye(n)))
