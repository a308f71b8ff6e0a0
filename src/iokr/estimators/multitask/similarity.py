"""Which tasks go together: their similarity, and the operators that follow from it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array, asarray_like, row_sq_norms, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_number
from iokr._validation.matrices import check_symmetric
from iokr.embeddings.base import Embedding, EuclideanEmbedding
from iokr.kernels.base import Kernel

__all__ = [
    "TaskMetric",
    "check_coordinates",
    "check_task_weight",
    "check_tasks",
    "output_metric",
    "task_operator",
    "task_similarity",
]

_TOL = 1e-8  # a matrix is called indefinite beyond this fraction of its largest eigenvalue


def task_similarity(
    Y: Array, weight: np.ndarray | None = None, given: Any = None, *, width: float | None = None
) -> np.ndarray:
    """M_pq = exp(−γ‖Y^p − Y^q‖²), Y^p the targets of task p; 1/γ is the median of these squared distances (B16 6.2.2).

    Unless M is given: then it is checked against the columns of Y; or γ is, `width`.

    With missing targets (NaN) a distance is n times the mean over the rows that have both; tasks without a common row
    have similarity 0. B16 takes γ from an information criterion that it does not define; the scale of w plays no role
    here.
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
    distances[distances <= 1e-14 * max(distances.max(initial=0.0), 0.0)] = 0.0
    np.fill_diagonal(distances, 0.0)
    apart = distances[np.triu_indices(len(distances), 1)]
    apart = apart[apart > 0]
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
    """Refuse an embedding whose columns are no tasks."""
    if not embedding.explicit:
        raise ValueError(f"Tasks are coordinates of vector outputs, which {embedding!r} does not keep.")


def check_task_weight(task_weight: Any, name: str = "task_weight") -> float:
    """0 ≤ μ_t < 1."""
    mu = check_number(task_weight, name, minimum=0.0)
    if mu >= 1:
        raise ValueError(
            f"`{name}` must be below 1, got {task_weight!r}: at 1 nothing is left of the penalty on the tasks "
            f"themselves, "
            "and their operator has no inverse."
        )
    return mu


def task_operator(M: np.ndarray, task_weight: float) -> np.ndarray:
    """A = (μL_M + (1−μ)I)⁻¹: ‖h‖² = (μ/2) Σ_pq M_pq‖h^p − h^q‖² + (1−μ) Σ_p ‖h^p‖²; L_M = diag(M1) − M."""
    laplacian = np.diag(M.sum(axis=1)) - M
    values, V = np.linalg.eigh(laplacian)
    return (V / (task_weight * np.clip(values, 0.0, None) + 1 - task_weight)) @ V.T if task_weight else np.eye(len(M))


def output_metric(M: np.ndarray, task_weight: float) -> np.ndarray:
    """A = μM + (1−μ)I, the inner product ⟨y, Ay'⟩ of the outputs; refused when it is none."""
    A = task_weight * M + (1 - task_weight) * np.eye(len(M))
    values = np.linalg.eigvalsh(A)
    if values[0] < -_TOL * values[-1]:
        bound = 1 / (1 - float(np.linalg.eigvalsh(M)[0]))
        raise ValueError(
            f"Coupling through the outputs needs a positive semi-definite A = μM + (1−μ)I, but with these `tasks` and "
            f"task_weight {task_weight:g} its eigenvalues run from {values[0]:.3g} to {values[-1]:.3g}. Lower "
            f"`task_weight` to "
            f'{bound:.3g} at most, or use `coupling="operator"`, which takes any similarity without negative entries.'
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

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Ψ (n, q)."""
        self.base_ = clone(self.base)
        Z = self.base_.fit_transform(Y, kernel, sample_weight)
        check_coordinates(self.base_)
        self.tasks_ = task_similarity(Z, sample_weight, self.tasks)
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
