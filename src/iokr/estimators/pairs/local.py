"""Local models: g_a, one machine per node on its mates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iokr._array import asarray_like, cholesky, to_numpy
from iokr._validation import check_integer, check_number
from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.iterative.box_qp import minimize_box
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr.solvers.pairs.spectrum import CompletePairs

__all__ = ["local_loo", "machines", "solve_local"]


def machines(gram: PairGram) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each node with training pairs: which points are its own, and 2k between its mates."""
    node, mate = gram.left.T
    K = to_numpy(gram.nodes)
    order = np.argsort(node, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        yield own, 2 * K[np.ix_(mate[own], mate[own])]


def solve_local(problem: Problem, solver: Solver) -> Solution:
    """The coefficients of all machines, each (2K + λ/w)⁻¹ y on its mates, or the margin there."""
    gram = problem.gram
    assert isinstance(gram, PairGram)
    _check_solver(problem, solver)
    y, w = to_numpy(problem.Psi)[:, 0], _weights(problem)
    C, steps, gap = np.empty(len(y)), 1, 0.0
    if problem.loss.quadratic:
        complete = CompletePairs(gram, problem.alpha / w)
        if complete.exact:
            return Solution(asarray_like(complete.solve(y)[:, None], problem.Psi))
        for own, K in machines(gram):
            C[own] = _ridge(K, y[own], problem.alpha / w[own])
        return Solution(asarray_like(C[:, None], problem.Psi))
    tol = check_number(solver.tol, "tol", minimum=0.0, strict=True)
    given = solver.max_iter
    limit = 10_000 if given is None else check_integer(given, "max_iter", minimum=1)
    for own, K in machines(gram):
        Q = K * np.multiply.outer(y[own] / problem.alpha, y[own])
        alpha, done, apart = minimize_box(Q, w[own], tol, limit)
        C[own] = y[own] * alpha / problem.alpha
        steps, gap = max(steps, done), gap + apart * float(w[own].sum())
    gap /= float(w.sum())
    return Solution(asarray_like(C[:, None], problem.Psi), steps, gap, gap <= tol)


def local_loo(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """g₋ at each point without its own label, and whether its machine has other mates."""
    gram = problem.gram
    assert isinstance(gram, PairGram)
    y, w = to_numpy(problem.Psi)[:, 0], _weights(problem)
    g, others = np.zeros(len(y)), np.zeros(len(y), dtype=bool)
    for own, K in machines(gram):
        if len(own) > 1:
            inverse = np.linalg.inv(K + np.diag(problem.alpha / w[own]))
            g[own] = y[own] - (inverse @ y[own]) / np.diagonal(inverse)
            others[own] = True
    return g, others


def _ridge(K: np.ndarray, y: np.ndarray, shift: np.ndarray) -> np.ndarray:
    K.flat[:: len(K) + 1] += shift
    return np.asarray(cholesky(K).solve(y[:, None])[:, 0])


def _weights(problem: Problem) -> np.ndarray:
    return np.ones(problem.n_labeled) if problem.weight is None else np.asarray(problem.weight, dtype=float)


def _check_solver(problem: Problem, solver: Solver) -> None:
    fits = (Auto, Cholesky) if problem.loss.quadratic else (Auto, CoordinateDescent)
    if not isinstance(solver, fits):
        names = " or ".join(f"`{cls.__name__}()`" for cls in fits)
        raise ValueError(f'With `strategy="local"` and {problem.loss!r} `solver` must be {names}, got {solver!r}.')
