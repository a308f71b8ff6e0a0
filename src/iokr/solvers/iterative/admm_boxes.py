"""Alternating directions for entrywise boxes: quantiles, in the leading eigenbases of kernel and operator."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, eigh, matmul, to_numpy
from iokr.solvers.iterative.certificate import Certificate, feasible
from iokr.solvers.iterative.reduced import LabeledProblem

__all__ = ["State", "iterate_boxes"]

_RELAX = 1.7
_KEEP = 1e-13  # eigenvalues below this fraction of the largest are rounding
_CHECK = 20  # steps between evaluations of the gap
_COARSE = 1e-5  # tolerance down to which ρ by residuals is faster than by curvature, for boxes with two sides
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class State:
    """Iterate: values u and multipliers ρb, and the last ρ where the next problem starts with it."""

    u: Array
    rho_b: Array
    rho: float = 1.0


class _LeadingKernel:
    """𝒦 = K ⊗ A by the leading eigenvectors: a product costs 4nr(q + k) instead of 4n²q + 4nq²."""

    def __init__(self, problem: LabeledProblem) -> None:
        s, U = problem.leading()
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
        constant = None if problem.U is None else matmul(problem.U.T, u - b)
        if step > 1 and ((step - 1) % _CHECK == 0 or step > limit):
            found = _certify(problem, kernel, feasible(problem, a), T, constant, P0)
            best = found if best is None or found.gap < best.gap else best
            if best.gap <= tol or step > limit:
                return best, step - 1, State(u, rho * b, rho)
        v = kernel.back(kernel.G * T)
        if problem.U is not None:
            v = v + matmul(problem.U, constant)
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
            else:  # rows at a kink have no curvature: twice the estimate from the others
                shown = 2.0 * float(norm(b - b_before)) / max(float(norm(u - before)), _TINY)
                factor = min(max(shown, 0.05), 20.0)
            if not 2 / 3 <= factor <= 3 / 2:
                rho, b = max(factor * rho, _TINY), b / factor
    raise AssertionError("the last step returns")


def _certify(
    problem: LabeledProblem, kernel: _LeadingKernel, W: Array, T: Array, constant: Array | None, P0: float
) -> Certificate:
    """The gap between the better of two primal points, the linear step's and W/λ, and the dual at W."""
    xp, lam = array_namespace(W), problem.lam
    shift = 0.0 if constant is None else matmul(problem.U, constant)
    R = kernel.into(W)
    KW = kernel.back(kernel.G * R)
    energy = float(xp.sum(kernel.G * R * R))
    dual = float(xp.sum(W * problem.Psi)) - energy / (2 * lam)
    plain = problem.objective(kernel.back(kernel.G * T) + shift, float(xp.sum(kernel.G * T * T)))
    from_dual = problem.objective(KW / lam + shift, energy / lam / lam)
    scale = max(P0, float(np.finfo(float).tiny))
    if from_dual <= plain:
        return Certificate(W / lam, dual, (from_dual - dual) / scale, constant)
    return Certificate(kernel.back(T), dual, (plain - dual) / scale, constant)
