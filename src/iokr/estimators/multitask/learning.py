"""The operator between tasks, learned with h: a convex problem solved by two closed forms in turn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from iokr._array import Array, array_namespace, asarray_like, matmul, row_sq_norms, to_numpy
from iokr.gram.operators import as_operator
from iokr.gram.separable import SeparableGram
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.eigen import Eigen
from iokr.solvers.closed_form.spectral import SpectralPath

__all__ = ["LearnedOperator", "TaskProblem", "learn_operator"]

_RIDGE = 1e-3  # ε, as a fraction of the mean eigenvalue of BᵀKB at A = I

Step = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]
"""(γ, E) ↦ (J, N): J the minimum over B of 𝓕 without its ε term, N = EᵀCᵀKCE."""


@dataclass(frozen=True, eq=False)
class LearnedOperator:
    """A = E diag(γ) Eᵀ with tr A = q, and how well it was found."""

    gamma: np.ndarray
    E: np.ndarray
    objective: np.ndarray  # 𝓕 after every step
    gap: float  # bounds (𝓕 − min 𝓕)/P₀
    n_iter: int
    converged: bool

    @property
    def A(self) -> np.ndarray:
        """The operator."""
        return _matrix(self.gamma, self.E)


def _matrix(gamma: np.ndarray, E: np.ndarray) -> np.ndarray:
    """E diag(γ) Eᵀ, symmetric to the last digit."""
    A: np.ndarray = (E * gamma) @ E.T
    return (A + A.T) / 2  # type: ignore[no-any-return]


def learn_operator(
    step: Step, q: int, alpha: float, size: float, *, tol: float, max_iter: int, start: LearnedOperator | None = None
) -> LearnedOperator:
    """min over B and A ≻ 0, tr A = q, of 𝓕 = Σ w_iℓ_i + (λ/2) tr(A⁻¹(BᵀKB + εI)), h(x) = Bᵀk_x.

    In turn: B = CA with C the ridge solution at A; A = q M^½ / tr M^½ with M = BᵀKB + εI. Both are exact minima and 𝓕
    is jointly convex, so it falls to its global minimum. After a B step 𝓕 − 𝓕⋆ ≤ (λ/2)(q λ_max(A⁻¹MA⁻¹) − tr(A⁻¹M)).
    These turns alone creep where A tends to low rank: they hardly turn eigenvectors of different γ. So first
    A^½(A⁻¹MA⁻¹)ᵗA^½ is tried, which has the same fixed points; it is kept where 𝓕 ends no higher than the closed form
    promises. The bound is taken relative to `size`, P₀ = ½ Σ w_i‖y_i‖²; the minimum does not depend on `start`.
    """
    gamma, E = np.ones(q), np.eye(q)
    value, N = step(gamma, E)
    epsilon = _RIDGE * float(np.trace(N)) / q
    if epsilon == 0 or size == 0:  # h = 0 whatever A is
        return LearnedOperator(gamma, E, np.array([value]), 0.0, 1, True)
    if start is not None:
        gamma, E = start.gamma, start.E
        value, N = step(gamma, E)
    objective: list[float] = []
    n_iter, power = 1, 0.5
    while True:
        objective.append(value + alpha * epsilon / 2 * float(np.sum(1 / gamma)))
        penalty = float(np.sum(np.diag(N) * gamma) + epsilon * np.sum(1 / gamma))  # tr(A⁻¹M)
        pull, W = np.linalg.eigh(N + np.diag(epsilon / gamma**2))  # A⁻¹MA⁻¹, a multiple of I at the minimum
        gap = alpha / 2 * (q * float(pull[-1]) - penalty) / size
        if gap <= tol or n_iter >= max_iter:
            return LearnedOperator(gamma, E, np.array(objective), max(gap, 0.0), n_iter, gap <= tol)
        n_iter += 1
        m, V = np.linalg.eigh(gamma[:, None] * N * gamma + epsilon * np.eye(q))  # M
        root = np.sqrt(np.clip(m, epsilon, None))
        promised = objective[-1] - max(alpha / 2 * (penalty - float(root.sum()) ** 2 / q), 0.0)
        longer, F = _long_step(gamma, pull, W, power)
        turned = E @ F
        value, N = step(longer, turned)
        if value + alpha * epsilon / 2 * float(np.sum(1 / longer)) <= promised:
            gamma, E, power = longer, turned, min(1.3 * power, 4.0)
        else:
            gamma, E, power = q * root / root.sum(), E @ V, max(0.6 * power, 0.3)
            value, N = step(gamma, E)


def _long_step(gamma: np.ndarray, pull: np.ndarray, W: np.ndarray, power: float) -> tuple[np.ndarray, np.ndarray]:
    """The spectrum of A^½ P^t A^½, scaled to the trace of A = diag(γ); P = W diag(pull) Wᵀ."""
    half = np.sqrt(gamma)[:, None] * W * np.clip(pull, 0.0, None) ** (power / 2)
    values, F = np.linalg.eigh(half @ half.T)
    values = np.clip(values, 1e-12 * values[-1], None)
    return gamma.sum() * values / values.sum(), F


class TaskProblem:
    """A problem of least squares under any operator on the outputs: K is factored once, unless targets are missing."""

    def __init__(self, problem: Problem) -> None:
        self.problem = replace(problem, gram=problem.gram.K)
        self.solver = Eigen()
        self._path: SpectralPath | None = None
        if problem.mask is None:
            path = self.solver.path(self.problem)
            assert isinstance(path, SpectralPath)
            self._path = path

    def path(self, A: np.ndarray) -> Path:
        """The solutions under k·A, for every α."""
        problem = self._under(A)
        return self.solver.path(problem) if self._path is None else self._path.with_operator(problem)

    def _under(self, A: np.ndarray) -> Problem:
        """The problem under k·A."""
        operator = as_operator(asarray_like(A, self.problem.Psi))
        return replace(self.problem, gram=SeparableGram(self.problem.gram.K, operator))

    def learn(
        self, alpha: float, *, tol: float, max_iter: int, start: LearnedOperator | None = None
    ) -> LearnedOperator:
        """The operator that minimises 𝓕 at `alpha`."""
        step = self._entries_step(alpha) if self._path is None else self._spectral_step(self._path, alpha)
        squares, weight = to_numpy(row_sq_norms(self.problem.Psi)), self.problem.weight
        size = 0.5 * float(squares.sum() if weight is None else weight @ squares)  # missing entries are 0
        q = int(self.problem.Psi.shape[1])
        learned = learn_operator(step, q, alpha, size, tol=tol, max_iter=max_iter, start=start)
        if not learned.converged:
            warnings.warn(
                f"The task operator was not found to `tol` = {tol:.1e} in {learned.n_iter} steps; its objective is "
                f"within {learned.gap:.1e} of the minimum, relative to that of h = 0. Raise `max_iter` or `tol`.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return learned

    def _spectral_step(self, path: SpectralPath, alpha: float) -> Step:
        """In the eigenbasis of FᵀKF a step costs O(N q²): no product with K."""
        targets = path.points.targets(self.problem.Psi)
        T = matmul(path.V.T, path.points.from_labels(targets))
        xp = array_namespace(T)
        B = path.points.remainder
        rest = 0.0 if B is None else 0.5 * float(xp.sum(targets * matmul(B, targets)))

        def step(gamma: np.ndarray, E: np.ndarray) -> tuple[float, np.ndarray]:
            rotated = T @ asarray_like(E, T)
            S = rotated / (alpha + path.omega[:, None] * asarray_like(gamma, T)[None, :])
            # ½⟨Y, Y − H⟩ is the minimum of a quadratic; C = F V S, hence CᵀKC = Sᵀ diag(ω) S.
            value = rest + alpha / 2 * float(xp.sum(rotated * S))
            return value, to_numpy(S.T @ (path.omega[:, None] * S))

        return step

    def _entries_step(self, alpha: float) -> Step:
        """With missing targets every A has its own system over the observed entries."""

        def step(gamma: np.ndarray, E: np.ndarray) -> tuple[float, np.ndarray]:
            problem = replace(self._under(_matrix(gamma, E)), alpha=alpha)
            C: Array = self.solver.path(problem).coefficients(problem.Psi, alpha)
            N = E.T @ to_numpy(C.T @ (problem.gram.K @ C)) @ E
            return problem.objective(C), (N + N.T) / 2

        return step
