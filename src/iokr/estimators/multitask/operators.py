"""Operators between tasks: from their similarity, or learned with h in closed forms that take turns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from iokr._array import Array, array_namespace, asarray_like, matmul, row_sq_norms, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_number
from iokr._validation.matrices import check_symmetric
from iokr.embeddings.base import Embedding, EuclideanEmbedding
from iokr.gram.operators import as_operator
from iokr.gram.separable import SeparableGram
from iokr.kernels.base import Kernel
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.eigen import Eigen
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.constants import centred_targets

__all__ = [
    "LearnedOperator",
    "TaskMetric",
    "TaskProblem",
    "check_coordinates",
    "check_task_weight",
    "check_tasks",
    "learn_operator",
    "output_metric",
    "task_operator",
    "task_similarity",
]

_RIDGE = 1e-3  # ε, as a fraction of the mean eigenvalue of BᵀKB at A = I
_TOL = 1e-8  # a matrix is called indefinite beyond this fraction of its largest eigenvalue

Step = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]
"""(γ, E) ↦ (J, N): J the minimum over B of 𝓕 without its ε term, N = EᵀCᵀKCE."""


def task_similarity(
    Y: Array, weight: np.ndarray | None = None, given: Any = None, *, width: float | None = None, centred: bool = False
) -> np.ndarray:
    """M_pq = exp(−γ‖Y^p − Y^q‖²), Y^p the targets of task p; 1/γ is the median of these squared distances (B16 6.2.2).

    Unless M is given: then it is checked against the columns of Y; or γ is, `width`.

    With missing targets (NaN) a distance is n times the mean over the rows that have both; tasks without a common row
    have similarity 0. If `centred`, for tasks with intercepts, the squared mean of the differences is taken from it, so
    that a constant added to a task changes nothing. B16 takes γ from an information criterion that it does not define;
    the scale of w plays no role here.
    """
    if given is not None:
        return check_tasks(given, int(Y.shape[1]))
    values = np.asarray(to_numpy(Y), dtype=float)
    w = np.ones(len(values)) if weight is None else weight
    observed = ~np.isnan(values)
    weights = observed * w[:, None]
    # Distances between tasks stay when a number is taken from all targets of a row: what they share would cost digits.
    count = observed.sum(axis=1)
    mean = np.where(observed, values, 0.0).sum(axis=1) / np.where(count > 0, count, 1)
    Z = np.where(observed, values - mean[:, None], 0.0)
    common = weights.T @ observed
    squares = (weights * Z**2).T @ observed
    distances = np.clip(squares + squares.T - 2 * (weights * Z).T @ Z, 0.0, None) / np.where(common > 0, common, 1.0)
    if centred:
        sums = (weights * Z).T @ observed
        distances = np.clip(distances - ((sums - sums.T) / np.where(common > 0, common, 1.0)) ** 2, 0.0, None)
    distances[distances <= 1e-14 * max(distances.max(initial=0.0), 0.0)] = 0.0
    np.fill_diagonal(distances, 0.0)
    apart = distances[np.triu(distances) > 0]
    unit = np.median(apart) if len(apart) else 1.0
    similarity = np.exp(-distances / unit if width is None else -width * len(values) * distances)
    similarity = np.where(common > 0, (similarity + similarity.T) / 2, 0.0)
    np.fill_diagonal(similarity, 1.0)
    return similarity


def check_tasks(tasks: Any, q: int) -> np.ndarray:
    """A similarity that the user brings: (q, q), symmetric, no negative entry."""
    M = np.asarray(to_numpy(check_symmetric(tasks, "tasks")), dtype=float)
    if M.shape[0] != q:
        raise ValueError(f"`tasks` has shape {M.shape} but the outputs have {q} coordinates; it must be ({q}, {q}).")
    if M.min() < 0:
        raise ValueError(
            f"`tasks` must be a similarity without negative entries, got {M.min():.3g}: a penalty on the difference "
            "of two tasks cannot be negative. Clip it at 0, or give the operator itself: "
            "`IOKR(Decomposable(kernel, A))`."
        )
    return M


def check_coordinates(embedding: Embedding) -> None:
    """Raise for an embedding whose columns are not tasks."""
    if not embedding.explicit:
        raise ValueError(f"Tasks are coordinates of vector outputs, which {embedding!r} does not keep.")


def check_task_weight(task_weight: Any, name: str = "task_weight") -> float:
    """0 ≤ μ_t < 1."""
    mu = check_number(task_weight, name, minimum=0.0)
    if mu >= 1:
        raise ValueError(
            f"`{name}` must be below 1, got {task_weight!r}: at 1 the tasks themselves have no penalty, and their "
            "operator has no inverse."
        )
    return mu


def task_operator(M: np.ndarray, task_weight: float) -> np.ndarray:
    """A = (μL_M + (1−μ)I)⁻¹: ‖h‖² = (μ/2) Σ_pq M_pq‖h^p − h^q‖² + (1−μ) Σ_p ‖h^p‖²; L_M = diag(M1) − M."""
    laplacian = np.diag(M.sum(axis=1)) - M
    values, V = np.linalg.eigh(laplacian)
    return (V / (task_weight * np.clip(values, 0.0, None) + 1 - task_weight)) @ V.T if task_weight else np.eye(len(M))


def output_metric(M: np.ndarray, task_weight: float) -> np.ndarray:
    """A = μM + (1−μ)I, the inner product ⟨y, Ay'⟩ of the outputs; an error unless A is positive semi-definite."""
    A = task_weight * M + (1 - task_weight) * np.eye(len(M))
    values = np.linalg.eigvalsh(A)
    if values[0] < -_TOL * values[-1]:
        bound = 1 / (1 - float(np.linalg.eigvalsh(M)[0]))
        raise ValueError(
            f"Coupling through the outputs needs a positive semi-definite A = μM + (1−μ)I, but with these `tasks` and "
            f"task_weight {task_weight:g} its eigenvalues run from {values[0]:.3g} to {values[-1]:.3g}. Lower "
            f"`task_weight` to {bound:.3g} at most, or use "
            '`coupling="operator"`, which takes any similarity without negative entries.'
        )
    return A


@component
class TaskMetric(EuclideanEmbedding):
    """ψ(y) = A^½ φ(y), φ an embedding of vectors, A = μM + (1−μ)I: ⟨ψ(y), ψ(y')⟩ = ⟨φ(y), A φ(y')⟩.

    A may be singular; then `vectors` is the least-norm y, the projection on the range of A.
    """

    base: Embedding  # φ
    tasks: Any = None  # M (q, q); None takes it from the training targets
    task_weight: float = 0.5  # μ
    centred: bool = False  # whether M is that of tasks with intercepts

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Ψ (n, q)."""
        self.base_ = clone(self.base)
        Z = self.base_.fit_transform(Y, kernel, sample_weight)
        check_coordinates(self.base_)
        self.tasks_ = task_similarity(Z, sample_weight, self.tasks, centred=self.centred)
        if np.isnan(to_numpy(Z)).any():
            raise ValueError(
                '`y` contains NaN, but with `coupling="output"` ψ(y) = A^½ y mixes the targets of a row, so all of '
                'them must be there; use `coupling="operator"`.'
            )
        self.A_ = output_metric(self.tasks_, check_task_weight(self.task_weight))
        values, V = np.linalg.eigh(self.A_)
        root = np.sqrt(np.where(values > _TOL * values[-1], values, 0.0))
        self.root_ = (V * root) @ V.T
        self.inverse_root_ = (V * np.where(root > 0, 1 / np.where(root > 0, root, 1.0), 0.0)) @ V.T
        return self.metric(Z)

    def metric(self, Z: Array) -> Array:
        """Z A^½."""
        return Z @ asarray_like(self.root_, Z)

    def plain(self, H: Array) -> Array:
        """H A^{+½}: back to the coordinates of φ."""
        return H @ asarray_like(self.inverse_root_, H)

    def represent(self, Y: Any, name: str = "y") -> Array:
        """ψ(y)."""
        return self.metric(self.base_.represent(Y, name))

    def sq_residuals(self, H: Array, S: Array) -> Array:
        """‖h_i − ψ(y_i)‖²; NaN where a target is missing, which no metric measures."""
        return row_sq_norms(H - asarray_like(S, H))

    def vectors(self, H: Array) -> Array:
        """The least-norm y with ψ(y) nearest to h."""
        return self.base_.vectors(self.plain(H))


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
    if epsilon == 0 or size == 0:  # h = 0 for every A
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
            self._path = cast(SpectralPath, self.solver.path(self.problem))

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
        squares, weight = to_numpy(row_sq_norms(centred_targets(self.problem))), self.problem.weight
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
            path = self.solver.path(problem)
            C: Array = path.coefficients(problem.Psi, alpha)
            N = E.T @ to_numpy(C.T @ (problem.gram.K @ C)) @ E
            return problem.objective(C, path.unpenalised(problem.Psi, C)), (N + N.T) / 2

        return step
