"""Alternating directions for entrywise boxes: quantiles, in the leading eigenbases of kernel and operator."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, eigh, eye_like, matmul, to_numpy
from iokr.solvers.iterative.certificate import Certificate, feasible
from iokr.solvers.iterative.reduced import LabeledProblem

__all__ = ["State", "iterate_boxes"]

_RELAX = 1.7
_KEEP = 1e-13  # eigenvalues below this fraction of the largest are rounding
_CHECK = 20  # steps between evaluations of the gap
_KINK = 2.0  # rows at a kink have no curvature, so that the estimate from the others is too small
_SOON = 100  # steps after which few rows come to a kink or leave it
_LATE = 0.5  # the directions that are left then have less curvature than the estimate, in which the fast ones prevail
_COARSE = 1e-5  # tolerance down to which ρ by residuals is faster than by curvature, for boxes with two sides
_TINY = 1e-300
_FAR = 1e290  # c beyond which products with it overflow
_OUTSIDE = 1e-13  # parts of a unit vector below this are rounding


@dataclass(frozen=True, eq=False)
class State:
    """Iterate: values u and multipliers ρb, and the last ρ where the next problem starts with it."""

    u: Array
    rho_b: Array
    rho: float = 1.0


class _LeadingKernel:
    """𝒦 = K ⊗ A by the leading eigenvectors: a product costs 4nr(q + k) instead of 4n²q + 4nq²."""

    def __init__(self, problem: LabeledProblem) -> None:
        s, U = problem.leading(centred=False)
        first = _first(s)
        self.U, s = U[:, first:], s[first:]
        operator = problem.operator
        if operator.scale is None:
            gamma, E = eigh(operator.matrix(problem.Psi.shape[1], problem.Psi))
            first = _first(gamma)
            self.E, gamma = E[:, first:], gamma[first:]
        else:
            self.E, gamma = None, asarray_like(np.array([operator.scale]), problem.Psi)
        self.G = s[:, None] * gamma[None, :]

    def into(self, X: Array) -> Array:
        """UᵀXE."""
        T = matmul(self.U.T, X)
        return T if self.E is None else matmul(T, self.E)

    def back(self, T: Array) -> Array:
        """UTEᵀ."""
        T = T if self.E is None else matmul(T, self.E.T)
        return matmul(self.U, T)


class _FreeConstants:
    """Constants u t S that are not penalised: A with 𝒦A + u t S + cA = X and ⟨u s_l, A⟩ = 0, in the eigenbases.

    t = M⁻¹⟨u s_l, (𝒦 + cI)⁻¹X⟩ with M = ⟨u s_l, (𝒦 + cI)⁻¹u s_m⟩; both have a part outside of the eigenbases, over c.
    """

    def __init__(self, problem: LabeledProblem, kernel: _LeadingKernel) -> None:
        xp = array_namespace(problem.Psi)
        self.kernel, self.u = kernel, problem.U
        self.S = eye_like(int(problem.Psi.shape[1]), problem.Psi) if problem.S is None else problem.S
        self.p = matmul(kernel.U.T, self.u)  # (r, 1)
        self.F = self.S if kernel.E is None else matmul(self.S, kernel.E)
        self._u = _outside(self.u, kernel.U)
        self._S = self.S * 0.0 if kernel.E is None else _outside(self.S.T, kernel.E).T
        self._M = float(xp.sum(self._u * self._u)) * matmul(self.F, self.F.T) + matmul(self._S, self._S.T)
        self._whole = not bool(xp.any(self._M != 0))  # nothing of u s_l is outside
        self._inverse: tuple[float, Array] | None = None

    def _unit(self, c: float) -> float:
        """A number of the size of 𝒦 + cI."""
        return c + float(array_namespace(self.p).max(self.kernel.G))

    def _inverse_at(self, c: float) -> Array:
        """(unit · M)⁻¹."""
        if self._inverse is None or self._inverse[0] != c:
            xp, unit = array_namespace(self.p), self._unit(c)
            w = xp.sum(self.p * self.p * (unit / (self.kernel.G + c)), axis=0)
            M = matmul(self.F * w[None, :], self.F.T)
            if not self._whole:
                M = M + min(unit / c, _FAR**0.5) * self._M
            self._inverse = c, xp.linalg.pinv(M)  # singular where α underflows
        return self._inverse[1]

    def take(self, X: Array, T: Array, c: float) -> tuple[Array, Array]:
        """The part of A in the eigenbases, and u t S, from T = UᵀXE/(G + c)."""
        unit = self._unit(c)
        if not unit < _FAR:  # nothing but constants is left
            return T, matmul(self.u, matmul(matmul(self.S, matmul(X.T, self.u)).T, self.S))
        along = matmul(self.F, matmul((T * unit).T, self.p))
        if not self._whole:  # u s − (UUᵀu)(sEEᵀ), without cancellation
            outside = matmul(self.S - self._S, matmul(X.T, self._u)) + matmul(self._S, matmul(X.T, self.u))
            along = along + min(unit / c, _FAR**0.5) * outside
        t = matmul(self._inverse_at(c), along)
        T = T - matmul(self.p, matmul(t.T, self.F)) / (self.kernel.G + c)
        return T, matmul(self.u, matmul(t.T, self.S))


def _outside(X: Array, Q: Array) -> Array:
    """(I − QQᵀ)X for orthonormal columns of Q; columns of X have length one."""
    xp = array_namespace(X)
    for _ in range(2):
        X = X - matmul(Q, matmul(Q.T, X))
    return xp.where(xp.linalg.vector_norm(X, axis=0)[None, :] > _OUTSIDE, X, 0.0)


def _first(values: Array) -> int:
    """The first of ascending eigenvalues that is not rounding, at most the last one."""
    kept = np.flatnonzero(to_numpy(values) > _KEEP * float(values[-1]))
    return int(kept[0]) if len(kept) else int(values.shape[0]) - 1


def iterate_boxes(
    problem: LabeledProblem, P0: float, tol: float, limit: int, warm: State | None
) -> tuple[Certificate, int, State]:
    """The loop of `ADMM`, in the leading eigenbases, with ρ by residuals or by curvature."""
    xp, lam, Psi, weight = array_namespace(problem.Psi), problem.lam, problem.Psi, problem.weight
    squares = float(xp.sum(Psi * Psi))
    if not math.isfinite(squares):
        raise ValueError("`y` has numbers too large: Σ‖y‖² overflows; divide the data by a constant.")
    norm = xp.linalg.matrix_norm
    kernel = _LeadingKernel(problem)
    free = None if problem.U is None else _FreeConstants(problem, kernel)
    lo, hi = problem.loss.bounds(int(Psi.shape[1]))
    one_sided = bool(np.any((lo == 0) | (hi == 0)))
    by_residuals = one_sided or tol > _COARSE
    low = weight[:, None] * asarray_like(lo, Psi)[None, :]
    high = weight[:, None] * asarray_like(hi, Psi)[None, :]
    if warm is not None and warm.u.shape == Psi.shape:
        rho, u = warm.rho, warm.u
        b = warm.rho_b / rho
    else:
        rho, u, b = max(P0 / max(squares, _TINY), _TINY), Psi * 0.0, Psi * 0.0
    balance, best, a = 10, None, Psi * 0.0
    for step in range(1, limit + 2):
        shrink = kernel.G + lam / rho
        T = kernel.into(u - b) / shrink
        constant = 0.0
        if free is not None:
            T, constant = free.take(u - b, T, lam / rho)
        if step > 1 and ((step - 1) % _CHECK == 0 or step > limit):
            found = _certify(problem, kernel, feasible(problem, a), T, constant, P0)
            best = found if best is None or found.gap < best.gap else best
            if best.gap <= tol or step > limit:
                return best, step - 1, State(u, rho * b, rho)
        v = kernel.back(kernel.G * T) + constant
        z = _RELAX * v + (1 - _RELAX) * u + b
        a = xp.minimum(xp.maximum(rho * (Psi - z), low), high)  # dual feasible
        before, b_before = u, b
        u, b = z + a / rho, -a / rho
        if step == balance:
            balance *= 2
            if by_residuals:
                primal = float(norm(v - u)) / max(float(norm(v)), float(norm(u)), _TINY)
                dual = float(norm(u - before)) / max(float(norm(b)), _TINY)
                factor = min(max(float(np.sqrt(primal / max(dual, _TINY))), 0.1), 10.0)
            else:
                shown = float(norm(b - b_before)) / max(float(norm(u - before)), _TINY)
                shown = (_KINK if step < _SOON else _LATE) * shown
                factor = min(max(shown, 0.05), 20.0)
            if not 2 / 3 <= factor <= 3 / 2:
                rho, b = max(factor * rho, _TINY), b / factor
    raise AssertionError("the last step returns")


def _certify(
    problem: LabeledProblem, kernel: _LeadingKernel, W: Array, T: Array, constant: Array | float, P0: float
) -> Certificate:
    """The gap between the better of two primal points, the linear step's and W/λ, and the dual at W."""
    xp, lam = array_namespace(W), problem.lam
    R = kernel.into(W)
    KW = kernel.back(kernel.G * R)
    energy = float(xp.sum(kernel.G * R * R))
    dual = float(xp.sum(W * problem.Psi)) - energy / (2 * lam)
    H, from_W = kernel.back(kernel.G * T) + constant, KW / lam + constant
    plain = problem.objective(H, float(xp.sum(kernel.G * T * T)))
    from_dual = problem.objective(from_W, energy / lam / lam)
    scale = max(P0, float(np.finfo(float).tiny))

    def along(values: Array) -> Array | None:
        return None if problem.U is None else matmul(problem.U.T, values)

    if from_dual <= plain:
        return Certificate(W / lam, dual, (from_dual - dual) / scale, along(from_W))
    return Certificate(kernel.back(T), dual, (plain - dual) / scale, along(H))
