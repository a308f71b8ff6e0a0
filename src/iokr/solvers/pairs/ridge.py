"""Ridge on pairs of nodes: the closed form where all are there, else conjugate gradients with a preconditioner."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, is_numpy
from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem, Solution
from iokr.solvers.pairs.spectrum import CompletePairs, pair_preconditioner

__all__ = ["conjugate_gradients", "solve_pairs"]

_FEW = 50  # pairs for which no preconditioner is made


def solve_pairs(problem: Problem, gram: PairGram, tol: float, limit: int, start: Solution | None) -> Solution:
    """(G + α diag(1/w)) C = Ψ from products with G; pairs of weight zero have no coefficient."""
    weight = np.ones(problem.n_labeled) if problem.weight is None else np.asarray(problem.weight)
    if np.any(weight == 0):
        raise ValueError("Pairs of weight zero count for nothing here; drop them.")
    shift, Psi = problem.alpha / weight, problem.Psi
    host = is_numpy(gram.nodes, Psi)
    if host and (complete := CompletePairs(gram, shift)).exact:
        return Solution(np.stack([complete.solve(Psi[:, j]) for j in range(Psi.shape[1])], axis=1))
    column, w = (asarray_like(values, Psi)[:, None] for values in (shift, weight))
    first = None if start is None or start.C.shape != Psi.shape else start.C

    def system(P: Array) -> Array:
        return gram @ P + column * P

    precondition = _by_columns(pair_preconditioner(gram, shift)) if host and len(shift) >= _FEW else _same
    C, R, n_iter = conjugate_gradients(system, Psi, precondition, tol, limit, first)
    xp = array_namespace(R)
    # ∇J is Σ_p k_P(·, p) d_p with d = −wR, and J is α-strongly convex in f: J − min J ≤ ⟨d, G d⟩/(2α).
    J_0 = float(xp.sum(w * Psi * Psi)) / 2
    gap = float(xp.sum(w * R * (gram @ (w * R)))) / (2 * problem.alpha * J_0) if J_0 else 0.0
    return Solution(C, max(n_iter, 1), max(gap, 0.0), _small(R, Psi, tol))


def conjugate_gradients(
    system: Callable[[Array], Array],
    B: Array,
    precondition: Callable[[Array], Array],
    tol: float,
    limit: int,
    start: Array | None = None,
) -> tuple[Array, Array, int]:
    """(X, B − A X, steps): every column to ‖residual‖ ≤ tol ‖b‖, or as far as `limit` and rounding let it."""
    xp = array_namespace(B)
    X = xp.zeros_like(B) if start is None else start
    R = B if start is None else B - system(X)
    goal, steps = tol * _norms(B), 0
    while steps < limit and bool(xp.any(_norms(R) > goal)):
        begun = steps
        Z = precondition(R)
        P, rz = Z, xp.sum(R * Z, axis=0)
        while steps < limit and bool(xp.any(_norms(R) > goal)):
            A = system(P)
            t = _ratio(rz, xp.sum(P * A, axis=0))
            X, R, steps = X + t * P, R - t * A, steps + 1
            Z = precondition(R)
            rz, before = xp.sum(R * Z, axis=0), rz
            P = Z + _ratio(rz, before) * P
        R = B - system(X)  # without the rounding of the recurrence
        if steps - begun <= 1:
            break
    return X, R, steps


def _same(R: Array) -> Array:
    return R


def _by_columns(one: Callable[[np.ndarray], np.ndarray]) -> Callable[[Array], Array]:
    return lambda R: np.stack([one(R[:, j]) for j in range(R.shape[1])], axis=1)


def _small(R: Array, Psi: Array, tol: float) -> bool:
    return bool(array_namespace(R).all(_norms(R) <= tol * _norms(Psi)))


def _norms(R: Array) -> Array:
    xp = array_namespace(R)
    return xp.sqrt(xp.sum(R * R, axis=0))


def _ratio(a: Array, b: Array) -> Array:
    """a/b, and 0 where b vanishes: that column is done."""
    xp = array_namespace(a)
    return xp.where(b > 0, a / xp.where(b > 0, b, xp.ones_like(b)), xp.zeros_like(b))
