"""k(x, x) − k_xᵀ(K + λI)⁻¹k_x: the variance of h(x) given the training inputs.

With an intercept b it is larger by λ(1 − h₁(x))²/Σ_i w_i(1 − h₁(x_i)), where h₁ is the fit without b to targets that
are one: what is not known of b, under a flat prior.
"""

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
from iokr.gram.features import FeatureGram
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram
from iokr.losses.square import Square
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem
from iokr.solvers.auto import Auto
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
    problem, prior, cross = _about_mean(problem, prior, cross)
    xp = array_namespace(prior)

    def variance(part: Problem, g: float) -> Array:
        explained = _explained(part, cross, g)
        return xp.clip(g * (prior - g * explained), min=0.0) + _of_intercept(part, cross, g)

    if problem.mask is None:
        width = len(operator.gamma)
        parts = [(columns, variance(problem, g)) for g, columns in operator.groups(width)]
    else:  # A = aI: column j has the rows with m_ij = 1
        patterns, which = np.unique(np.asarray(problem.mask).T, axis=0, return_inverse=True)
        width = int(problem.mask.shape[1])
        parts = []
        for number, pattern in enumerate(patterns):
            weight = problem.row_weight * pattern
            part = replace(problem, mask=None, weight=weight)
            g = float(operator.gamma[0])
            found = variance(part, g) if weight.max() > 0 else g * prior
            parts.append((np.flatnonzero(which.ravel() == number), found))
    gamma = np.array(np.broadcast_to(operator.gamma, (width,)))
    return join_columns([(group, xp.stack([values] * len(group), axis=1)) for group, values in parts]), gamma


def _about_mean(problem: Problem, prior: Array, cross: Array) -> tuple[Problem, Array, Array]:
    """Few features are counted from their mean, if there is an intercept: h + b stays what it is.

    Far from zero 1 − h₁ would be small, and lost in the rounding of h₁; from the mean h₁ is zero.
    """
    Phi, n = problem.gram.K.factor, problem.n_labeled
    if problem.constants is None or problem.penalised or Phi is None or Phi.shape[0] != n:
        return problem, prior, cross
    e = asarray_like(problem.constants[:, :1], cross)
    share = asarray_like(problem.row_weight, cross)[:, None] * e
    share = share / array_namespace(cross).sum(share * e)
    mean = matmul(Phi.T, share)
    own, new, at = matmul(mean.T, mean), matmul(cross, share), matmul(Phi, mean)  # k(mean, ·) of mean, x and the points
    K = FeatureGram(Phi - matmul(e, mean.T))
    gram = K if isinstance(problem.gram, ScalarGram) else SeparableGram(K, problem.operator)
    return replace(problem, gram=gram), prior - (2 * new - own)[:, 0], cross - at.T - matmul(new - own, e.T)


def _of_intercept(problem: Problem, cross: Array, g: float) -> Array | float:
    """λ(1 − h₁(x))²/Σ_i w_i e_i(e_i − h₁(x_i)), (m,), h₁ the fit to e with the kernel gk; 0 without an intercept."""
    if problem.constants is None:
        return 0.0
    e = asarray_like(problem.constants[:, :1], cross)
    w = asarray_like(problem.row_weight, cross)[:, None]
    xp = array_namespace(cross)
    if g == 0:
        return problem.alpha / xp.sum(w * e * e) + 0.0 * cross[:, 0]
    ones = replace(problem, gram=problem.gram.K, Psi=e, loss=Square(), alpha=problem.alpha / g, constants=None)
    C = Auto().closed_form(ones).path(ones).coefficients(e, ones.alpha)
    left = e - (ones.gram @ C)[: problem.n_labeled, :]
    return problem.alpha * (1 - matmul(cross, C)[:, 0]) ** 2 / xp.sum(w * e * left)


def _explained(problem: Problem, cross: Array, g: float) -> Array:
    """k_xᵀF(λI + gFᵀKF)⁻¹Fᵀk_x, (m,): by features, by one Cholesky factor, or by eigenvectors that are kept."""
    alpha = problem.alpha
    scalar = replace(problem, gram=problem.gram.K, constants=None)
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
    flat = flatten(replace(problem, gram=SumGram([problem.gram], q)))
    points = geometry(replace(flat, constants=None))
    S = points.system()
    F = points.to_points(eye_like(S.shape[0], S))
    factor = cholesky(S, problem.alpha, overwrite=True)
    xp = array_namespace(F)
    constants = None if problem.constants is None else _constants(flat)
    found = []
    for rows in blocks(R.shape[0], _ROWS):
        some = take_rows(R, rows)
        own = SumGram([inputs.kernel.gram(some)], q).flat.dense()
        cross = SumGram([inputs.kernel.gram(some, inputs.points)], q).flat.dense()
        Z = factor.solve_lower(matmul(cross, F).T)
        for i in range(own.shape[0] // q):
            at = slice(i * q, (i + 1) * q)
            one = own[at, at] - matmul(Z[:, at].T, Z[:, at])
            if constants is not None:
                C, known = constants
                left = eye_like(q, C) - matmul(cross[at, :], C)
                one = one + problem.alpha * matmul(left, xp.linalg.solve(known, left.T))
            found.append(one)
    return xp.stack(found, axis=0)


def _constants(flat: Problem) -> tuple[Array, Array]:
    """Coefficients of the fits H₁ to the constant of each output, (Nq, q), and Σ w E ᵀ(E − H₁), (q, q)."""
    E = asarray_like(flat.constants, flat.like)
    ones = replace(flat, Psi=E, loss=Square(), constants=None)
    C = Auto().closed_form(ones).path(ones).coefficients(E, ones.alpha)
    left = E - (ones.gram @ C)[: flat.n_labeled, :]
    w = asarray_like(flat.row_weight, E)[:, None]
    known = matmul(E.T, w * left)
    return C, (known + known.T) / 2
