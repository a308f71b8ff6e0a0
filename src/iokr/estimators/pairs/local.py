"""Local models: g_a, one per node on its partners, and g_a(b) the value of the point (a, b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from iokr._array import Array, asarray_like, cholesky, to_numpy
from iokr._validation.arguments import check_stops
from iokr.estimators.pairs.leave_out import refit_scores
from iokr.estimators.pairs.strategies import BothOrders, PairProblem
from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.iterative.box_qp import minimize_box
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr.solvers.pairs.spectrum import CompletePairs

__all__ = ["OnePerNode", "local_grams"]


@dataclass(frozen=True)
class OnePerNode(BothOrders):
    """One local model per node on its partners, f({a, b}) the mean of g_a(b) and g_b(a), or the one that there is."""

    def score(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """The mean of the local models that exist; one that does not contributes 0 to the sum."""
        sums = self.sums(K, pairs, points, C, same)
        count = self._has_model(pairs, points, same).sum(axis=1)
        return sums / asarray_like(np.where(count > 0, count, np.nan), sums)

    def silent(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Pairs of two nodes without a local model."""
        return np.asarray(~self._has_model(pairs, points, same).any(axis=1))

    def solve(self, gram: PairGram, problem: Problem, solver: Solver, start: Solution | None = None) -> Solution:
        """(2K + λ/w)⁻¹ y on the partners of each node, or the margin there."""
        fits = (Auto, Cholesky) if problem.loss.quadratic else (Auto, CoordinateDescent)
        if not isinstance(solver, fits):
            names = " or ".join(f"`{cls.__name__}()`" for cls in fits)
            raise ValueError(f'With `strategy="local"` and {problem.loss!r} `solver` must be {names}, got {solver!r}.')
        y, w = to_numpy(problem.Psi)[:, 0], problem.row_weight
        if problem.loss.quadratic:
            return Solution(asarray_like(_ridges(gram, y, problem.alpha / w)[:, None], problem.Psi))
        tol, limit = check_stops(solver.tol, solver.max_iter, 10_000)
        C, steps, gap = np.empty(len(y)), 1, 0.0
        for own, K in local_grams(gram):
            Q = K * np.multiply.outer(y[own] / problem.alpha, y[own])
            alpha, done, apart = minimize_box(Q, w[own], tol, limit)
            C[own] = y[own] * alpha / problem.alpha
            steps, gap = max(steps, done), gap + apart * float(w[own].sum())
        gap /= float(w.sum())
        return Solution(asarray_like(C[:, None], problem.Psi), steps, gap, gap <= tol)

    def leave_pair_out(self, posed: PairProblem) -> np.ndarray:
        """The mean of the local models that exist without the pair; NaN where none does."""
        second, y, shift = posed.examples.second, posed.examples.target, posed.shift
        g = np.full(len(y), np.nan)
        for own, K in local_grams(posed.gram):
            if len(own) > 1:
                inverse = np.linalg.inv(K + np.diag(shift[own]))
                g[own] = y[own] - (inverse @ y[own]) / np.diagonal(inverse)
        both = np.stack([g[: len(second)], np.where(second >= 0, g[second], np.nan)], axis=1)
        count = np.count_nonzero(~np.isnan(both), axis=1)
        return np.asarray(np.nansum(both, axis=1) / np.where(count > 0, count, np.nan))

    def leave_pair_out_path(self, posed: PairProblem, alphas: Sequence[float]) -> Iterator[np.ndarray]:
        """A small system per node and alpha."""
        return (self.leave_pair_out(posed.at(alpha)) for alpha in alphas)

    def leave_node_out(self, posed: PairProblem) -> np.ndarray:
        """What is left is the local model of the other node."""
        return refit_scores(posed, Auto())

    def _has_model(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """(k, 2): whether each node of each pair has a local model."""
        return np.asarray(np.isin(same, points[:, 0])[pairs])  # −1, a new node, is among none


def local_grams(gram: PairGram) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each node with training pairs: which points are its own, and 2k between its partners."""
    node, partner = gram.left.T
    K = to_numpy(gram.nodes)
    order = np.argsort(node, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        yield own, 2 * K[np.ix_(partner[own], partner[own])]


def _ridges(gram: PairGram, y: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """(2K + diag(shift))⁻¹ y on the partners of every node; all at once where all pairs are there."""
    complete = CompletePairs(gram, shift)
    if complete.exact:
        return complete.solve(y)
    C = np.empty(len(y))
    for own, K in local_grams(gram):
        K.flat[:: len(K) + 1] += shift[own]
        C[own] = cholesky(K).solve(y[own][:, None])[:, 0]
    return C
