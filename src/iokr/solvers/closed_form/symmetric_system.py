"""M = F Fᵀ of loss and penalty, in coordinates in which every system is symmetric."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    FullPacked,
    NotPositiveDefinite,
    Packed,
    array_namespace,
    asarray_like,
    blocks,
    cholesky,
    clear_upper,
    eigh,
    eye_like,
    is_numpy,
    matmul,
    mirror_upper,
    take_rows,
    to_numpy,
)
from iokr.gram.operators import OutputOperator
from iokr.gram.scalar import ScalarGram
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.constants import Constants

__all__ = ["BlockFactor", "Geometry", "ManifoldGeometry", "PointsPath", "geometry", "weight_ratio"]

_EPS = float(np.finfo(np.float64).eps)
_NOT_CONSTANT = 1e-8  # of the norm of a penalty that annihilates constants
_PANEL = 512  # rows of K that a congruence takes at a time


class Geometry:
    """Supervised: M = diag(w) = F Fᵀ with F = √w on the rows of positive weight, S = Fᵀ K F, G = I, 𝓑 = 0.

    Column j of the outputs (eigenvalue γ of A) solves (λI + γS) z = G√w y, then c = F z; on the labelled points
    N = I − H = 𝓑 + λ Gᵀ(λI + γS)⁻¹G, from which leave-one-out follows without cancellation.

    With an intercept M = √w P √w and G = P = I − U Uᵀ, where the columns of U span √w e, e the functions that are not
    penalised: what they can explain is subtracted from outputs, kernel and residuals, so that N U = 0.
    """

    remainder: Array | None = None  # 𝓑
    graded = False  # whether the entries of S fall from the top left to the bottom right

    def __init__(self, problem: Problem) -> None:
        self.N, self.n = problem.gram.shape[0], problem.n_labeled
        self._gram = problem.gram
        weight = problem.weight
        self.active = np.arange(self.n) if weight is None else np.flatnonzero(weight > 0)
        self.sqrt_w = None if weight is None else asarray_like(np.sqrt(weight[self.active]), problem.like)
        self.whole = len(self.active) == self.N
        self.constants = None if problem.constants is None else Constants(problem, self.active)

    @property
    def gram(self) -> ScalarGram:
        """K of all points."""
        return self._gram.K

    @cached_property
    def labeled_gram(self) -> ScalarGram:
        """K on the rows of positive weight."""
        return self.gram if self.whole else self.gram.restrict(self.active)

    @property
    def small_rows(self) -> np.ndarray:
        """The active rows whose √w is so small that a division by it loses too many digits."""
        if self.sqrt_w is None:
            return np.empty(0, dtype=int)
        root = to_numpy(self.sqrt_w)
        return np.flatnonzero(root < 1e-6 * root.max())

    def rows_of(self, Z: Array) -> Array:
        """Those rows of Z, one for each label, that are active."""
        return Z if len(self.active) == self.n else take_rows(Z, self.active)

    def times(self, Z: Array) -> Array:
        """S Z, by panels of K; with an intercept P S Z."""
        if self.sqrt_w is None:
            return self.centre(self.labeled_gram @ Z)
        root = self.sqrt_w[:, None]
        return self.centre(root * (self.labeled_gram @ (root * Z)))

    def system(self, *, lift: bool = False) -> Array:
        """S = Fᵀ K F, valid in its lower triangle, for the caller to overwrite. May be overridden.

        With an intercept P S P; with `lift` P S P + τ U Uᵀ, which is better conditioned, τ from `lifted`.
        """
        tau = self.lifted if lift else 0.0
        S = self.labeled_gram.detach(lower=True)
        if self.sqrt_w is not None:
            S *= self.sqrt_w[:, None]
            S *= self.sqrt_w[None, :]
        if self.constants is None:
            return S
        whole = FullPacked(S)
        self.constants.centre_system(whole, self.sqrt_w, tau)
        return whole.K

    def packed(self, *, single: bool = False) -> Packed:
        """S by its lower triangle only, for the caller to factor in place; with `single` in float32.

        With an intercept P S P + τ U Uᵀ.
        """
        tau = self.lifted
        half = self.labeled_gram.packed(self.sqrt_w, single=single)
        if self.constants is not None:
            self.constants.centre_system(half, self.sqrt_w, tau)
            if single:
                self.constants.KU = None  # computed again in float64
        return half

    @cached_property
    def lifted(self) -> float:
        """τ, the trace of S: the eigenvalue of `system(lift=True)` in the directions of an intercept, 0 without one."""
        if self.constants is None:
            return 0.0
        diagonal = self.labeled_gram.diagonal()
        if self.sqrt_w is not None:
            diagonal = diagonal * self.sqrt_w * self.sqrt_w
        return float(array_namespace(diagonal).sum(diagonal))

    def own_share(self, alpha: float, g: float = 1.0) -> Array | float:
        """What U contributes to the diagonal of λ(λI + γS)⁻¹ for the lifted S: λ/(λ + γτ) diag(U Uᵀ)."""
        if self.constants is None:
            return 0.0
        return alpha / (alpha + g * self.lifted) * self.constants.diagonal

    def centre(self, Z: Array) -> Array:
        """P Z; Z without an intercept."""
        return Z if self.constants is None else self.constants.centre(Z)

    def unit_diagonal(self, rows: slice) -> Array | float:
        """The diagonal of P at some active rows, (n, 1); 1 without an intercept."""
        return 1.0 if self.constants is None else 1 - self.constants.diagonal[rows][:, None]

    def leaves_nothing(self, groups: np.ndarray | None = None) -> bool:
        """Whether an intercept would be left without rows: h is then 0, the mean of no outputs."""
        n_parts = len(self.active) if groups is None else len(np.unique(groups))
        return self.constants is not None and n_parts == 1

    def eigenpairs(self) -> tuple[Array, Array]:
        """S = V diag(ω) Vᵀ, reusing the cached eigenpairs of the Gram if present."""
        if self.whole and self.sqrt_w is None and not self.graded and self.constants is None:
            pairs = self.gram.eigenpairs(known=True)
            if pairs is not None:
                return pairs
        omega, V = eigh(self.system(), overwrite=True, graded=self.graded)
        return omega, self.without_constants(V)

    def without_constants(self, V: Array) -> Array:
        """P V: eigenvectors of small eigenvalues have a part along U by rounding, which 1/λ makes large.

        May be overridden.
        """
        return self.centre(V)

    def targets(self, Psi: Array) -> Array:
        """P√w Ψ on the active rows."""
        return self.centre(self.uncentred(Psi))

    def uncentred(self, Psi: Array) -> Array:
        """√w Ψ on the active rows."""
        return self.times_root(self.rows_of(Psi))

    def times_root(self, Z: Array) -> Array:
        """√w Z."""
        return Z if self.sqrt_w is None else self.sqrt_w[:, None] * Z

    def to_points(self, Z: Array) -> Array:
        """F Z, a row per point. May be overridden."""
        if self.sqrt_w is not None:
            Z = self.sqrt_w[:, None] * Z
        return self.everywhere(Z)

    def everywhere(self, Z: Array) -> Array:
        """The N rows of all points: those of Z at the active ones, zero elsewhere."""
        return Z if self.whole else scatter(Z, self.active, self.N)

    def from_labels(self, Y: Array) -> Array:
        """G Y for Y = P Y. May be overridden."""
        return Y

    def to_labels(self, Z: Array) -> Array:
        """Gᵀ Z. May be overridden."""
        return self.centre(Z)

    def unpenalised(self, Psi: Any, C: Array, operator: OutputOperator) -> Array | None:
        """B (k, q) for the coefficients C of all points; None without an intercept. May be overridden."""
        if self.constants is None:
            return None
        if self.constants.KU is None:
            self.constants.KU = self.labeled_gram @ self.constants.weighted
        return self.constants.coefficients(Psi, C if self.whole else take_rows(C, self.active), operator)

    def largest(self, found: float) -> float:
        """s_max(K), or a lower bound of it, given the largest eigenvalue (or pivot) found in S. May be overridden."""
        return found

    def finish(self, R: Array, Q: Array, plain: Any) -> Array:
        """Leave-one-out residuals of all n rows from R/Q: diag(1/√w), and the plain residual where w = 0."""
        loo = R / Q
        if self.sqrt_w is not None:
            loo = loo / self.sqrt_w[:, None]
        small = self.small_rows
        if len(small):  # R has absolute errors of eps only: take y − h instead
            loo = replace_rows(loo, small, plain(self.active[small]) / take_rows(Q, small))
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
        n = len(base.active)
        self.R_u, self.X, schur = L[n:, n:], L[:n, n:], L[:n, :n] * 1.0
        if len(rest):
            self.R_u, back = _factor_unlabeled(self.R_u, base.N)
            self.X = back(self.X.T).T
            schur = schur - self.X @ self.X.T
        if base.sqrt_w is not None:
            schur = schur / base.sqrt_w[:, None] / base.sqrt_w[None, :]
        schur = (schur + schur.T) / 2
        self.schur: Array | None = None  # itself, if constants, which are not part of the loss, are penalised
        if base.constants is not None:
            if not _annihilates(schur, base.constants.U):
                self.schur = schur
                return
            whole = FullPacked(schur)
            whole.project(base.constants.U, -1.0)  # U are the eigenvectors of the smallest eigenvalue, −1
            schur = whole.K
        sigma, self.O = eigh(schur, overwrite=True)
        self.sigma = array_namespace(L).clip(sigma, min=0.0)


def _annihilates(schur: Array, U: Array) -> bool:
    """Whether U is in the null space, up to rounding."""
    norm = array_namespace(schur).linalg.matrix_norm
    return float(norm(matmul(schur, U))) <= _NOT_CONSTANT * float(norm(schur))


def _factor_unlabeled(L_uu: Array, N: int) -> tuple[Array, Any]:
    """R_u with R_u R_uᵀ = L_uu, and B ↦ R_u⁻¹ B (pseudo-inverse where L_uu is singular)."""
    xp = array_namespace(L_uu)
    try:
        factor = cholesky(L_uu)
        pivots = xp.linalg.diagonal(factor.L)
        if float(xp.min(pivots)) >= 1e-7 * float(xp.max(pivots)):
            if not is_numpy(factor.L):
                return xp.tril(factor.L), factor.solve_lower
            clear_upper(factor.L)
            return factor.L, factor.solve_lower
    except NotPositiveDefinite:
        pass
    m, Q = eigh(L_uu)  # a component without labels: its constant functions have no penalty
    keep = int(xp.sum(xp.astype(m > N * _EPS * xp.max(m), xp.int64)))
    first = m.shape[0] - keep
    root, Q = xp.sqrt(m[first:]), Q[:, first:]
    return Q * root[None, :], lambda B: (Q / root[None, :]).T @ B


class ManifoldGeometry(Geometry):
    """Semi-supervised: M = Jᵀdiag(w)J + μL = F Fᵀ by blocks, at one μ.

    F = [√w O√(1+μσ)  √μ X ; 0  √μ R_u],  G = [(1+μσ)^{-½} Oᵀ ; 0],  𝓑 = O diag(μσ/(1+μσ)) Oᵀ.

    With an intercept, which is not part of the penalty, U has no coordinate. If the penalty annihilates U, these are
    columns of O with σ = 0, which are left out; if not, P + μ(L_ll − X Xᵀ) is diagonalised at every μ.
    """

    def __init__(self, problem: Problem, factor: BlockFactor | None = None) -> None:
        super().__init__(problem)
        self.blocks = BlockFactor(problem) if factor is None else factor
        self.mu = problem.manifold_weight
        b = self.blocks
        if b.schur is not None:
            root, self._O, self.remainder = self._with_constants(b.schur)
        else:
            xp = array_namespace(b.sigma)
            root, self._O = xp.sqrt(1 + self.mu * b.sigma), b.O
            first = 0 if self.constants is None else int(self.constants.U.shape[1])
            root = xp.where(asarray_like(np.arange(len(self.active)) >= first, root), root, 0.0)  # U comes first
            fraction = self.mu * b.sigma / (1 + self.mu * b.sigma)
            self.remainder = (b.O * fraction[None, :]) @ b.O.T
        xp = array_namespace(root)
        self._inverse_root = xp.where(root > 0, 1 / xp.where(root > 0, root, 1.0), 0.0)
        self._top = self._O * root[None, :]
        if self.sqrt_w is not None:
            self._top = self.sqrt_w[:, None] * self._top
        self._in_order = np.array_equal(b.order, np.arange(self.N))

    def _with_constants(self, schur: Array) -> tuple[Array, Array, Array]:
        """√τ, O and 𝓑 = P − P O τ⁻¹ Oᵀ P with P + μ·schur = O diag(τ) Oᵀ, where constants are penalised."""
        assert self.constants is not None  # else there is nothing to project out
        xp, U = array_namespace(schur), self.constants.U
        P = eye_like(int(schur.shape[0]), schur) - matmul(U, U.T)
        tau, vectors = eigh(P + self.mu * schur)
        kept = tau > len(self.active) * _EPS * tau[-1]
        root = xp.where(kept, xp.sqrt(xp.where(kept, tau, 1.0)), 0.0)
        half = self.centre(vectors) * xp.where(kept, 1 / xp.where(kept, root, 1.0), 0.0)[None, :]
        return root, vectors, P - matmul(half, half.T)

    @property
    def graded(self) -> bool:  # type: ignore[override]
        """Whether the columns of F for labels are larger than those of the penalty, √μ X and √μ R_u."""
        norm = array_namespace(self._top).linalg.matrix_norm
        rest = self.mu**0.5 * float(np.hypot(float(norm(self.blocks.X)), float(norm(self.blocks.R_u))))
        return bool(float(norm(self._top)) >= rest)

    def system(self, *, lift: bool = False) -> Array:
        """S = Fᵀ K F by blocks, overwriting K if R_u is square; nothing has to be lifted, as λI is added."""
        b, n = self.blocks, self._top.shape[0]
        K = self.gram.detach()
        if self.constants is not None:
            self.constants.KU = matmul(K, self.everywhere(self.constants.weighted))
        if not self._in_order:
            K = take_rows(take_rows(K, b.order).T, b.order).T
        X, R = self.mu**0.5 * b.X, b.R_u
        if is_numpy(K) and R.shape[0] == R.shape[1]:
            return _congruence(np.ascontiguousarray(K), self._top, X, R, self.mu**0.5)
        xp, R = array_namespace(K), self.mu**0.5 * R
        left, right = K[:, :n], K[:, n:]
        KF = xp.concat([matmul(left, self._top), matmul(left, X) + matmul(right, R)], axis=1)
        above, below = KF[:n, :], KF[n:, :]
        S = xp.concat([matmul(self._top.T, above), matmul(X.T, above) + matmul(R.T, below)], axis=0)
        return (S + S.T) / 2

    def largest(self, found: float) -> float:
        """At least the largest k(x, x), as S differs from K here."""
        diagonal = self.gram.diagonal()
        return float(array_namespace(diagonal).max(diagonal))

    def to_points(self, Z: Array) -> Array:
        """F Z."""
        b, n = self.blocks, self._top.shape[0]
        above, below = Z[:n, :], self.mu**0.5 * Z[n:, :]
        points = [matmul(self._top, above) + matmul(b.X, below), matmul(b.R_u, below)]
        out = array_namespace(Z).concat(points, axis=0)
        return out if self._in_order else take_rows(out, np.argsort(b.order))

    def from_labels(self, Y: Array) -> Array:
        """G Y."""
        xp = array_namespace(Y)
        top = matmul(self._O.T, self.centre(Y)) * self._inverse_root[:, None]
        return xp.concat([top, xp.zeros_like(self.blocks.X.T @ top)], axis=0)

    def to_labels(self, Z: Array) -> Array:
        """Gᵀ Z."""
        n = self._O.shape[0]
        return self.centre(matmul(self._O, Z[:n, :] * self._inverse_root[:, None]))

    def own_share(self, alpha: float, g: float = 1.0) -> float:
        """0: U has no coordinate here."""
        return 0.0

    def without_constants(self, V: Array) -> Array:
        """V: U has no coordinate here."""
        return V

    def unpenalised(self, Psi: Any, C: Array, operator: OutputOperator) -> Array | None:
        """B (k, q); K√wU has a row for every point."""
        if self.constants is None:
            return None
        if self.constants.KU is None:
            self.constants.KU = self.gram @ self.everywhere(self.constants.weighted)
        return self.constants.coefficients(Psi, C, operator)


def _congruence(K: np.ndarray, top: np.ndarray, X: np.ndarray, R: np.ndarray, root: float) -> np.ndarray:
    """FᵀKF, overwriting K, for F = [top  X ; 0  √μ R] with R lower triangular: K F row by row, then Fᵀ(KF)."""
    n, N = len(top), len(K)
    for rows in blocks(N, _PANEL):
        left, right = K[rows, :n].copy(), K[rows, n:].copy()
        K[rows, :n] = matmul(left, top)
        K[rows, n:] = matmul(left, X)
        for columns in blocks(N - n, _PANEL):  # R falls away above its diagonal
            part = matmul(right[:, columns.start :], R[columns.start :, columns])
            K[rows, n + columns.start : n + columns.stop] += root * part
    for columns in blocks(N, _PANEL):  # on and below the diagonal
        first = max(columns.start - n, 0)
        above, below = K[:n, columns].copy(), K[n + first :, columns].copy()
        K[n + first :, columns] = matmul(X[:, first:].T, above)
        for rows in blocks(N - n - first, _PANEL):
            part = matmul(R[first + rows.start :, first + rows.start : first + rows.stop].T, below[rows.start :])
            K[n + first + rows.start : n + first + rows.stop, columns] += root * part
        if columns.start < n:
            K[:n, columns] = matmul(top.T, above)
    mirror_upper(K.T, np.diagonal(K).copy())  # the lower triangle of K is the upper one of Kᵀ
    return K


def weight_ratio(problem: Problem) -> float:
    """Largest over smallest positive weight: with a penalty, the error of the block factor grows with it."""
    if problem.weight is None:
        return 1.0
    positive = problem.weight[problem.weight > 0]
    return float(positive.max() / positive.min())


def geometry(problem: Problem, factor: BlockFactor | None = None) -> Geometry:
    """The geometry of a problem, with or without a penalty."""
    if problem.penalty is None or (problem.manifold_weight == 0 and factor is None):
        return Geometry(problem)
    return ManifoldGeometry(problem, factor)


class PointsPath(Path):
    """A path in the coordinates of its `points`."""

    points: Geometry

    def leave_out(self, R: Array, Q: Array, Psi: Array, alpha: float) -> Array:
        """diag(1/√w) [(𝓑√wΨE + R)/(diag 𝓑 + Q)] Eᵀ, the residuals of all rows."""
        B = self.points.remainder
        if B is not None:
            R = R + B @ self.points.targets(self.operator.rotate(Psi))
            Q = Q + array_namespace(B).linalg.diagonal(B)[:, None]

        if self.points.leaves_nothing():
            R = self.points.uncentred(self.operator.rotate(Psi))
            Q = array_namespace(R).ones_like(R)

        def plain(rows: np.ndarray) -> Array:
            return self.operator.rotate(self.plain_residuals(Psi, alpha, rows))

        return self.operator.unrotate(self.points.finish(R, Q, plain))

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q)."""
        return self.points.unpenalised(Psi, C, self.operator)


def scatter(Z: Array, rows: np.ndarray, N: int) -> Array:
    """N rows, those of Z at `rows` and zero elsewhere."""
    return replace_rows(asarray_like(np.zeros((N, Z.shape[1])), Z), rows, Z)


def replace_rows(Z: Array, rows: np.ndarray, values: Array) -> Array:
    """Z with other values at some rows."""
    if is_numpy(Z):
        Z[rows] = values
        return Z
    xp = array_namespace(Z)
    index = np.arange(Z.shape[0])
    index[rows] = Z.shape[0] + np.arange(len(rows))
    return take_rows(xp.concat([Z, values], axis=0), index)
