"""Local models: g_a, one per node on its partners, and g_a(b) the value of the point (a, b)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iokr._array import asarray_like, cholesky, to_numpy
from iokr._validation import check_stops
from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.iterative.box_qp import minimize_box
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr.solvers.pairs.spectrum import CompletePairs

__all__ = ["local_grams", "local_loo", "solve_local"]


def local_grams(gram: PairGram) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each node with training pairs: which points are its own, and 2k between its partners."""
    node, partner = gram.left.T
    K = to_numpy(gram.nodes)
    order = np.argsort(node, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        yield own, 2 * K[np.ix_(partner[own], partner[own])]


def solve_local(gram: PairGram, problem: Problem, solver: Solver) -> Solution:
    """The coefficients of all local models, each (2K + λ/w)⁻¹ y on its node's partners, or the margin there."""
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


def local_loo(gram: PairGram, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """g₋ at each point without its own label, and whether its local model has other partners."""
    y, w = to_numpy(problem.Psi)[:, 0], problem.row_weight
    g, others = np.zeros(len(y)), np.zeros(len(y), dtype=bool)
    for own, K in local_grams(gram):
        if len(own) > 1:
            inverse = np.linalg.inv(K + np.diag(problem.alpha / w[own]))
            g[own] = y[own] - (inverse @ y[own]) / np.diagonal(inverse)
            others[own] = True
    return g, others


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
