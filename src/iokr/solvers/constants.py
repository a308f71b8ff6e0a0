"""Unpenalised functions such as an intercept, by least squares on what the penalised part leaves."""

from __future__ import annotations

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, matmul, to_numpy
from iokr.gram.operators import IdentityMatrix, as_array
from iokr.problem import Problem

__all__ = ["centred_targets", "least_squares", "left_out_constants", "typical_constants", "without_constants"]

_NOTHING = 1e-14  # fraction of the weight that is rounding


def least_squares(problem: Problem, Psi: Array | IdentityMatrix, C: Array) -> Array | None:
    """B (k, q) for given coefficients, by a product with the Gram matrix; None without an intercept."""
    if problem.constants is None:
        return None
    return _fitted(problem, as_array(Psi) - (problem.gram @ C)[: problem.n_labeled, :])


def typical_constants(problem: Problem) -> Array:
    """B (k, q) for h = 0."""
    return _fitted(problem, problem.targets)


def centred_targets(problem: Problem) -> Array:
    """Ψ without the best constants; Ψ without an intercept."""
    return problem.targets if problem.constants is None else without_constants(problem, typical_constants(problem))


def without_constants(problem: Problem, B: Array) -> Array:
    """Ψ − BᵀE, 0 where an entry is missing."""
    Psi = problem.targets
    moved = Psi - matmul(asarray_like(problem.constants, Psi), B)
    if problem.mask is None:
        return moved
    return array_namespace(Psi).where(asarray_like(problem.mask, Psi), moved, 0.0)


def _fitted(problem: Problem, left: Array) -> Array:
    """b_kj = Σ_i w_i m_ij e_ik r_ij / Σ_i w_i m_ij e_ik², m_ij = 0 where missing: no two e are nonzero at one point."""
    counted = np.ones(tuple(left.shape)) if problem.mask is None else np.asarray(problem.mask, dtype=float)
    counted = counted * problem.row_weight[:, None]
    e = np.asarray(problem.constants, dtype=float)
    total = (e * e).T @ counted
    sums = matmul(asarray_like(e, left).T, asarray_like(counted, left) * left)
    if problem.shapes is None:
        return sums / asarray_like(np.where(total > 0, total, 1.0), left)
    S = np.asarray(problem.shapes, dtype=float)
    beta = np.linalg.lstsq((S * total) @ S.T, S @ to_numpy(sums).T, rcond=None)[0]
    return asarray_like(beta.T @ S, left)


def left_out_constants(problem: Problem, Psi: Array, groups: np.ndarray | None = None) -> Array:
    """ψ_i − B₋ᵢᵀe_i (n, q), B from the outputs of the other rows, or groups; Ψ without an intercept."""
    if problem.constants is None:
        return Psi
    e = np.asarray(problem.constants, dtype=float)
    together = np.arange(len(e)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_parts = int(together.max()) + 1
    Y, w = to_numpy(Psi), problem.row_weight
    left = np.array(Y)
    for k in range(e.shape[1]):
        weight = np.bincount(together, w * e[:, k] ** 2, n_parts)
        sums = np.stack([np.bincount(together, w * e[:, k] * y, n_parts) for y in Y.T], axis=1)
        rest = weight.sum() - weight
        others = sums.sum(axis=0) - sums
        # without other rows the mean is 0, as of no outputs
        known = rest > _NOTHING * weight.sum()
        means = np.where(known[:, None], others / np.where(known, rest, 1.0)[:, None], 0.0)
        left -= e[:, k, None] * means[together]
    return asarray_like(left, Psi)
