"""M = F Fᵀ, the points that the loss and the penalty touch, in the coordinates where every system is symmetric."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    NotPositiveDefinite,
    array_namespace,
    asarray_like,
    cholesky,
    eigh,
    empty_like,
    is_numpy,
    matmul,
    take_rows,
    to_numpy,
)
from iokr.problem import Problem

__all__ = ["BlockFactor", "Geometry", "ManifoldGeometry", "geometry", "weight_ratio"]

_EPS = float(np.finfo(np.float64).eps)


class Geometry:
    """Supervised: M = diag(w) = F Fᵀ with F = √w on the rows of positive weight, S = Fᵀ K F, G = I, 𝓑 = 0.

    Column j of the outputs (eigenvalue γ of A) solves (λI + γS) z = G√w y, then c = F z; on the labelled points
    N = I − H = 𝓑 + λ Gᵀ(λI + γS)⁻¹G, from which leave-one-out follows without cancellation.
    """

    remainder: Array | None = None  # 𝓑
    graded = False  # whether S falls from its top left to its bottom right

    def __init__(self, problem: Problem) -> None:
        self.N, self.n = problem.gram.shape[0], problem.n_labeled
        self.gram = problem.gram.K
        weight = problem.weight
        self.active = np.arange(self.n) if weight is None else np.flatnonzero(weight > 0)
        self.sqrt_w = None if weight is None else asarray_like(np.sqrt(weight[self.active]), problem.Psi)
        self.whole = len(self.active) == self.N

    def system(self) -> Array:
        """S = Fᵀ K F, right in its lower triangle, for the caller to overwrite."""
        gram = self.gram if self.whole else self.gram.restrict(self.active)
        S = gram.detach(lower=True)
        if self.sqrt_w is not None:
            S *= self.sqrt_w[:, None]
            S *= self.sqrt_w[None, :]
        return S

    def eigenpairs(self) -> tuple[Array, Array]:
        """S = V diag(ω) Vᵀ, from the Gram where somebody has asked it before."""
        if self.whole and self.sqrt_w is None and not self.graded:
            pairs = self.gram.eigenpairs(known=True)
            if pairs is not None:
                return pairs
        return eigh(self.system(), overwrite=True, graded=self.graded)

    def targets(self, Psi: Array) -> Array:
        """√w Ψ on the active rows."""
        if len(self.active) != self.n:
            Psi = take_rows(Psi, self.active)
        return Psi if self.sqrt_w is None else self.sqrt_w[:, None] * Psi

    def to_points(self, Z: Array) -> Array:
        """F Z, a row per point."""
        if self.sqrt_w is not None:
            Z = self.sqrt_w[:, None] * Z
        return Z if self.whole else scatter(Z, self.active, self.N)

    def from_labels(self, Y: Array) -> Array:
        """G Y."""
        return Y

    def to_labels(self, Z: Array) -> Array:
        """Gᵀ Z."""
        return Z

    def spectrum_to_labels(self, V: Array) -> Array:
        """Gᵀ V for eigenvectors V of S: Tᵀ."""
        return V

    def largest(self, found: float) -> float:
        """s_max(K), or a lower bound of it, given the largest eigenvalue (or pivot) found in S."""
        return found

    def finish(self, R: Array, Q: Array, plain: Any) -> Array:
        """Leave-one-out residuals of all n rows from R/Q: diag(1/√w), and the plain residual where w = 0."""
        loo = R / Q
        if self.sqrt_w is not None:
            loo = loo / self.sqrt_w[:, None]
            root = to_numpy(self.sqrt_w)
            small = np.flatnonzero(root < 1e-6 * root.max())
            if len(small):  # R is only right to eps, absolutely: take y − h instead
                exact = plain(self.active[small]) / take_rows(Q, small)
                loo = replace_rows(loo, small, exact)
        if len(self.active) == self.n:
            return loo
        rest = np.setdiff1d(np.arange(self.n), self.active)
        return replace_rows(scatter(loo, self.active, self.n), rest, plain(rest))


class BlockFactor:
    """The block factor of M = Jᵀdiag(w)J + μL for every μ: Cholesky of L_uu, eigenvectors of the Schur complement.

    L_uu = R_u R_uᵀ, X = L_lu R_u⁻ᵀ, w^{-½}(L_ll − X Xᵀ)w^{-½} = O diag(σ) Oᵀ.
    """

    def __init__(self, problem: Problem) -> None:
        base = Geometry(problem)
        self.base = base
        L: Array = problem.penalty
        rest = np.setdiff1d(np.arange(base.N), base.active)
        self.order = np.concatenate([base.active, rest])
        if not np.array_equal(self.order, np.arange(base.N)):
            L = take_rows(take_rows(L, self.order).T, self.order).T
        n, u = len(base.active), len(rest)
        xp = array_namespace(L)
        L_lu = L[:n, n:]
        if u:
            self.R_u, back = _factor_unlabeled(L[n:, n:], base.N)
            self.X = back(L_lu.T).T
            schur = L[:n, :n] - self.X @ self.X.T
        else:
            self.R_u, self.X = L[n:, n:], L_lu
            schur = L[:n, :n] * 1.0
        if base.sqrt_w is not None:
            schur = schur / base.sqrt_w[:, None] / base.sqrt_w[None, :]
        sigma, self.O = eigh((schur + schur.T) / 2, overwrite=True)
        self.sigma = xp.clip(sigma, min=0.0)


def _factor_unlabeled(L_uu: Array, N: int) -> tuple[Array, Any]:
    """R_u with R_u R_uᵀ = L_uu, and B ↦ R_u⁻¹ B (pseudo-inverse where L_uu is singular)."""
    xp = array_namespace(L_uu)
    try:
        factor = cholesky(L_uu)
        pivots = xp.linalg.diagonal(factor.L)
        if float(xp.min(pivots)) >= 1e-7 * float(xp.max(pivots)):
            return xp.tril(factor.L), factor.solve_lower
    except NotPositiveDefinite:
        pass
    m, Q = eigh(L_uu)  # a component without labels: its constant functions cost nothing
    keep = int(xp.sum(xp.astype(m > N * _EPS * xp.max(m), xp.int64)))
    first = m.shape[0] - keep
    root, Q = xp.sqrt(m[first:]), Q[:, first:]
    return Q * root[None, :], lambda B: (Q / root[None, :]).T @ B


class ManifoldGeometry(Geometry):
    """Semi-supervised: M = Jᵀdiag(w)J + μL = F Fᵀ by blocks, at one μ.

    F = [√w O√(1+μσ)  √μ X ; 0  √μ R_u],  G = [(1+μσ)^{-½} Oᵀ ; 0],  𝓑 = O diag(μσ/(1+μσ)) Oᵀ.
    """

    def __init__(self, problem: Problem, factor: BlockFactor | None = None) -> None:
        super().__init__(problem)
        self.blocks = BlockFactor(problem) if factor is None else factor
        self.mu = problem.strength
        b = self.blocks
        xp = array_namespace(b.sigma)
        self._root = xp.sqrt(1 + self.mu * b.sigma)
        share = self.mu * b.sigma / (1 + self.mu * b.sigma)
        self.remainder = (b.O * share[None, :]) @ b.O.T

    @cached_property
    def F(self) -> Array:
        """F, rows in the order of the points."""
        b = self.blocks
        n, k = b.X.shape
        top = b.O * self._root[None, :]
        if self.sqrt_w is not None:
            top = self.sqrt_w[:, None] * top
        F = empty_like((self.N, n + k), b.O)
        F[:n, :n] = top
        F[:n, n:] = self.mu**0.5 * b.X
        F[n:, :n] = 0.0
        F[n:, n:] = self.mu**0.5 * b.R_u
        inverse = np.argsort(b.order)
        return F if np.array_equal(inverse, np.arange(self.N)) else take_rows(F, inverse)

    @property
    def graded(self) -> bool:  # type: ignore[override]
        """Whether the columns of F for labels outweigh those of the penalty, √μ X and √μ R_u."""
        n = self.blocks.O.shape[0]
        norm = array_namespace(self.F).linalg.matrix_norm
        return bool(norm(self.F[:, :n]) >= norm(self.F[:, n:]))

    def system(self) -> Array:
        """S = Fᵀ K F."""
        S = matmul(self.F.T, matmul(self.gram.dense(), self.F))
        return (S + S.T) / 2

    def largest(self, found: float) -> float:
        """At least the largest k(x, x): S is not K here."""
        diagonal = self.gram.diagonal()
        return float(array_namespace(diagonal).max(diagonal))

    def to_points(self, Z: Array) -> Array:
        """F Z."""
        return matmul(self.F, Z)

    def from_labels(self, Y: Array) -> Array:
        """G Y."""
        xp = array_namespace(Y)
        top = (self.blocks.O.T @ Y) / self._root[:, None]
        rest = self.F.shape[1] - top.shape[0]
        return xp.concat([top, top[:1, :] * xp.zeros_like(self.F[0, :rest])[:, None]], axis=0) if rest else top

    def to_labels(self, Z: Array) -> Array:
        """Gᵀ Z."""
        n = self.blocks.O.shape[0]
        return matmul(self.blocks.O, Z[:n, :] / self._root[:, None])

    def spectrum_to_labels(self, V: Array) -> Array:
        """Gᵀ V."""
        return self.to_labels(V)


def weight_ratio(problem: Problem) -> float:
    """Largest over smallest positive weight: with a penalty, the block factor loses this many units of rounding."""
    if problem.weight is None:
        return 1.0
    positive = problem.weight[problem.weight > 0]
    return float(positive.max() / positive.min())


def geometry(problem: Problem, factor: BlockFactor | None = None) -> Geometry:
    """The geometry of a problem, with or without a penalty."""
    if problem.penalty is None or (problem.strength == 0 and factor is None):
        return Geometry(problem)
    return ManifoldGeometry(problem, factor)


def scatter(Z: Array, rows: np.ndarray, N: int) -> Array:
    """N rows, those of Z at `rows` and zero elsewhere."""
    if is_numpy(Z):
        out = np.zeros((N, Z.shape[1]))
        out[rows] = Z
        return out
    xp = array_namespace(Z)
    place = np.full(N, Z.shape[0])
    place[rows] = np.arange(len(rows))
    return take_rows(xp.concat([Z, xp.zeros_like(Z[:1, :])], axis=0), place)


def replace_rows(Z: Array, rows: np.ndarray, values: Array) -> Array:
    """Z with other values at some rows."""
    if is_numpy(Z):
        Z[rows] = values
        return Z
    xp = array_namespace(Z)
    place = np.arange(Z.shape[0])
    place[rows] = Z.shape[0] + np.arange(len(rows))
    return take_rows(xp.concat([Z, values], axis=0), place)
