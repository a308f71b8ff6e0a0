"""k(x, x) − k_xᵀ(K + λI)⁻¹k_x: the variance of h(x) given the training inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    NotPositiveDefinite,
    array_namespace,
    asarray_like,
    blocks,
    cholesky,
    eye_like,
    matmul,
    take_rows,
)
from iokr._system.memory import check_memory
from iokr.estimators.regression.posing import FittedInputs
from iokr.gram.blocks import SumGram
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem
from iokr.solvers.base import join_columns
from iokr.solvers.closed_form.blocks import flatten
from iokr.solvers.closed_form.lowrank import LowRank, ThinPath
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import geometry

__all__ = ["variances"]

_ROWS = 64  # new inputs at a time if the kernel does not separate


def variances(problem: Problem, inputs: FittedInputs, R: Any, *, full: bool, implicit: bool) -> Array:
    """Variances (m,) or (m, q) of h at represented inputs; covariances (m, q, q) if `full`.

    `implicit` outputs have no coordinates, and one variance for all of them.
    """
    xp = array_namespace(problem.like)
    q = int(problem.Psi.shape[1])
    operator = problem.gram.operator
    if operator is None or (problem.mask is not None and operator.E is not None):
        S = covariances(problem, inputs, R)
        return S if full else xp.clip(xp.linalg.diagonal(S), min=0.0)
    V, gamma = column_variances(problem, inputs, R)
    E = operator.E
    if full:  # E diag(V) Eᵀ
        V = xp.broadcast_to(V, (V.shape[0], q))
        basis = eye_like(q, V) if E is None else E
        return matmul(basis[None, :, :] * V[:, None, :], basis.T)
    if E is not None:
        return matmul(V, (E * E).T)
    if V.shape[1] == 1 and isinstance(inputs.kernel, OperatorKernel) and not implicit:
        return xp.broadcast_to(V, (V.shape[0], q))
    return V[:, 0] if len(gamma) == 1 and problem.mask is None else V


def column_variances(problem: Problem, inputs: FittedInputs, R: Any) -> tuple[Array, np.ndarray]:
    """γ_j [k(x, x) − γ_j k_xᵀF(λI + γ_jFᵀKF)⁻¹Fᵀk_x], (m, r), of the columns of Ψ E; and γ.

    M = F Fᵀ is the part on which the loss and a penalty act: F = √w without a penalty. There is one column for all if
    A = aI and no entry is missing.
    """
    prior = inputs.kernel.gram(R).K.diagonal()
    cross = inputs.kernel.gram(R, inputs.points).K.dense()
    operator = problem.operator
    if problem.mask is None:
        width = len(operator.gamma)
        parts = [(columns, _explained(problem, cross, g)) for g, columns in operator.groups(width)]
    else:  # A = aI: column j has the rows with m_ij = 1
        patterns, which = np.unique(np.asarray(problem.mask).T, axis=0, return_inverse=True)
        width = int(problem.mask.shape[1])
        parts = []
        for number, pattern in enumerate(patterns):
            weight = problem.row_weight * pattern
            part = replace(problem, mask=None, weight=weight)
            explained = 0 * prior
            if weight.max() > 0:
                explained = _explained(part, cross, float(operator.gamma[0]))
            parts.append((np.flatnonzero(which.ravel() == number), explained))
    xp = array_namespace(prior)
    gamma = np.array(np.broadcast_to(operator.gamma, (width,)))
    columns = join_columns([(group, xp.stack([values] * len(group), axis=1)) for group, values in parts])
    g = asarray_like(gamma, prior)[None, :]
    return xp.clip(g * (prior[:, None] - g * columns), min=0.0), gamma


def _explained(problem: Problem, cross: Array, g: float) -> Array:
    """k_xᵀF(λI + gFᵀKF)⁻¹Fᵀk_x, (m,): by features, by one Cholesky factor, or by eigenvectors that are kept."""
    alpha = problem.alpha
    scalar = replace(problem, gram=problem.gram.K)
    few = problem.gram.factor is not None and LowRank().refuses(scalar) is None
    if not few and problem.operator.n_distinct == 1 and g > 0:
        points = geometry(scalar)
        S = points.system()
        plain = points.whole and points.sqrt_w is None and points.remainder is None
        left = cross if plain else matmul(cross, points.to_points(eye_like(S.shape[0], S)))
        try:
            Z = cholesky(S, alpha / g, overwrite=True).solve_lower(left.T)
            return array_namespace(Z).sum(Z * Z, axis=0) / g
        except NotPositiveDefinite:  # α below rounding: eigenvalues are clipped
            pass
    path = ThinPath(scalar) if few else _spectral(scalar)
    left = matmul(cross, path.points.to_points(path.V))
    return matmul(left * left, (1 / (alpha + g * path.omega))[:, None])[:, 0]


def _spectral(problem: Problem) -> SpectralPath:
    """The path by eigenvectors; those of a plain Gram are computed once for all eigenvalues of A."""
    points = geometry(problem)
    if points.whole and points.sqrt_w is None and points.remainder is None:
        return SpectralPath(problem, points, problem.gram.K.eigenpairs())
    return SpectralPath(problem, points)


def covariances(problem: Problem, inputs: FittedInputs, R: Any) -> Array:
    """𝒦(x, x) − 𝒦_xF(λI + Fᵀ𝐊F)⁻¹Fᵀ𝒦_xᵀ, (m, q, q), over the entries of all outputs: nothing has to separate."""
    q = int(problem.Psi.shape[1])
    size = problem.gram.shape[0] * q
    check_memory(24.0 * size**2, f"The covariance of {q} coupled outputs", "To reduce memory: fewer rows.")
    # a sum of one term has the matrix over points × outputs, K ⊗ A where 𝒦 separates
    points = geometry(flatten(replace(problem, gram=SumGram([problem.gram], q))))
    S = points.system()
    F = points.to_points(eye_like(S.shape[0], S))
    factor = cholesky(S, problem.alpha, overwrite=True)
    xp = array_namespace(F)
    found = []
    for rows in blocks(R.shape[0], _ROWS):
        some = take_rows(R, rows)
        own = SumGram([inputs.kernel.gram(some)], q).flat.dense()
        cross = SumGram([inputs.kernel.gram(some, inputs.points)], q).flat.dense()
        Z = factor.solve_lower(matmul(cross, F).T)
        for i in range(own.shape[0] // q):
            at = slice(i * q, (i + 1) * q)
            found.append(own[at, at] - matmul(Z[:, at].T, Z[:, at]))
    return xp.stack(found, axis=0)
