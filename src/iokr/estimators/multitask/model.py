"""Several outputs that should help each other: multi-task regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import (
    COUNT,
    FLAG,
    POSITIVE,
    check_groups,
    check_number,
    one_of,
)
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.embeddings.identity import Identity
from iokr.estimators.inputs import check_scalar
from iokr.estimators.multitask.operators import (
    LearnedOperator,
    TaskMetric,
    TaskProblem,
    check_coordinates,
    check_task_weight,
    task_operator,
    task_similarity,
)
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.estimators.regression.base import KernelRegression, fitted_problem
from iokr.estimators.regression.posing import Data, Fit, FittedInputs, check_data, pose, solve
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.decomposable import Decomposable
from iokr.solvers.base import Solver

__all__ = ["MultiTask", "TaskRegression"]


class TaskRegression(KernelRegression):
    """What `MultiTask` and `MultiTaskCV` share: vector outputs, their similarity, errors on y."""

    output_kernel: Kernel | None = None
    loss: Loss | None = None
    solver: Solver | None = None
    tasks: Any
    learn_tasks: bool
    tol: float
    max_iter: int

    tasks_: np.ndarray | None
    limits: ClassVar[Limits] = {"learn_tasks": FLAG, "tol": POSITIVE, "max_iter": COUNT}

    def _check_tasks(self) -> None:
        """Either a similarity of the tasks is given, or their operator is learned."""
        if self.learn_tasks and self.tasks is not None:
            raise ValueError("`learn_tasks=True` learns how tasks go together, so `tasks` must be None.")

    def _keep_learned(
        self, data: Data, inputs: FittedInputs, tasks: TaskProblem, learned: LearnedOperator, alpha: float
    ) -> None:
        """Keep the model with the operator that was learned."""
        self._keep_operator(
            data,
            inputs,
            tasks,
            learned.A,
            alpha,
            n_iter=learned.n_iter,
            gap=learned.gap,
            converged=learned.converged,
        )
        self.tasks_, self.objective_ = None, learned.objective

    def _keep_operator(
        self, data: Data, inputs: FittedInputs, tasks: TaskProblem, A: np.ndarray, alpha: float, **how: Any
    ) -> None:
        """Keep the model with the kernel k·A; `how` the operator was found goes into the solution."""
        Psi, task_weight = tasks.problem.Psi, tasks.problem.manifold_weight
        coupled = Decomposable.of_fitted(inputs.kernel, asarray_like(A, Psi))
        solution = replace(tasks.path(A).solution(Psi, alpha), **how)
        self._set_fit(data, Fit(replace(inputs, kernel=coupled), tasks.solver, solution, alpha, task_weight))
        self.A_ = A

    def _measured(self, H: Array) -> tuple[Embedding, Array]:
        """On y, for every coupling."""
        metric = self.embedding_
        return (metric.base_, metric.plain(H)) if isinstance(metric, TaskMetric) else (metric, H)

    def loo_error(self, groups: Any = None) -> float:
        """Mean of ‖y_i − ŷ₋ᵢ‖² over the training rows, each predicted without its own targets, in closed form.

        On y for every coupling, so that models can be compared. The similarity of the tasks (or the learned
        operator) is held fixed. With missing targets, q times the mean over the observed entries; weighted as the fit.
        With `groups`, a name for each row, the rows of a group leave together.
        """
        problem = fitted_problem(self)
        together = None if groups is None else check_groups(groups, problem.n_labeled)
        path = self._closed_form(problem, "Leave-one-out").path(problem)
        R = to_numpy(self._measured(path.loo_residuals(problem.Psi, problem.alpha, together))[1])
        weight, mask = self.targets_.weight, self.targets_.mask
        weights = np.ones(R.shape) if mask is None else np.asarray(mask, dtype=float)
        weights = weights if weight is None else weights * weight[:, None]
        return float(R.shape[1] * (weights * R**2).sum() / weights.sum())


@component
class MultiTask(TaskRegression):
    """min_h Σ_i ℓ(h(x_i), y_i) + (α/2)[(μ/2) Σ_pq M_pq ‖h^p − h^q‖² + (1−μ) Σ_p ‖h^p‖²]: tasks that go together.

    A task is a coordinate of y, M the similarity of tasks, μ = `task_weight`. Two ways to couple them:

    * ``coupling="operator"``, the formula above: the kernel is k(x, z) A with A = (μL_M + (1−μ)I)⁻¹, L_M the
      Laplacian of M. Similar tasks share their data.
    * ``coupling="output"``: the kernel is k(x, z) I and outputs are compared in the metric A = μM + (1−μ)I,
      ψ(y) = A^½ y. **With the square loss this changes how candidates are ranked, and what a selection in that metric
      chooses, but not the prediction**: h = A^½ h₀ with h₀ the model without coupling, and `predict` answers h₀(x)
      for every task_weight (its projection on the range of A, where that is singular).

    ``coupling=None`` is independent tasks, which share kernel and alpha. With ``learn_tasks=True`` the operator is
    learned with h: see below.

    Parameters
    ----------
    kernel : Kernel, default=None
        Scalar kernel on the inputs; None is `RBF()` with the median bandwidth.
    tasks : array of shape (q, q), default=None
        M: symmetric, no negative entry. None takes M_pq = exp(−γ‖Y^p − Y^q‖²) from the training targets, of deviations
        from the means with an intercept, with 1/γ the median of these squared distances. ``coupling="output"`` also
        needs μM + (1−μ)I positive semi-definite, which is checked.
    coupling : {"operator", "output", None}, default="operator"
    task_weight : float, default=0.5
        0 ≤ μ < 1: larger couples more, 0 not at all. The differences of q tasks weigh about q times as much as one
        task, so 0.5 is strong for many tasks. Not used with `learn_tasks`.
    learn_tasks : bool, default=False
        Learn A ≻ 0 with tr A = q: the global minimum over h and A of Σ_i ℓ_i + (α/2)(‖h‖²_A + ε tr A⁻¹), ε being a
        thousandth of the mean eigenvalue of the first fit. Square loss, ``coupling="operator"``. This is not output
        kernel learning as Dinuzzo et al. (ICML 2011) pose it, with ‖A‖²_F in the penalty and alternating steps.
    embedding : Embedding, default=None
        None is `Identity()`.
    loss, alpha, manifold, decoder, solver, intercept :
        As in `IOKR`; every task has an intercept of its own.
    tol : float, default=1e-6
        With `learn_tasks`: stop when the objective is certified to be this close to its minimum, relative to h = 0.
    max_iter : int, default=1000
        With `learn_tasks`: steps at most.

    Attributes
    ----------
    tasks_ : array of shape (q, q) or None
        M, when there is one.
    A_ : array of shape (q, q)
        The operator, or the metric; I without coupling.
    objective_ : array
        With `learn_tasks`, the objective after every step: it never rises.
    solution_, solver_, kernel_, embedding_, decoder_, n_features_in_ :
        As in `IOKR`; with `learn_tasks`, `solution_.gap` is the certificate and `solution_.n_iter` the steps.

    Notes
    -----
    Missing targets are NaN entries of y (not with ``coupling="output"``, whose metric needs them all). Errors are on
    y: `score` and `loo_error` do not depend on the metric. To choose alpha and task_weight by leave-one-out use
    `MultiTaskCV`; to choose by folds, `GridSearchCV(MultiTask(), {"alpha": ..., "task_weight": ...})`.

    Cost: as `IOKR` with an operator; a step of `learn_tasks` costs Nq² + 9q³ after one eigendecomposition (with missing
    targets, one system over the observed entries). Paper: Brouard, Szafranski, d'Alché-Buc, JMLR 2016, 5.2 (models
    0, 1, 2 stand for None, "output", "operator"; μ_t is `task_weight`; μ_t = 1 is an error, as A would be singular).

    Examples
    --------
    Two tasks that are nearly the same; the second has three targets only.

    >>> import numpy as np
    >>> from iokr import MultiTask
    >>> from iokr.kernels import RBF
    >>> x = np.linspace(0, 6, 30)[:, None]
    >>> truth = np.column_stack([np.sin(x[:, 0]), np.sin(x[:, 0]) + 0.1])
    >>> y = truth.copy()
    >>> y[:, 1] = np.nan
    >>> y[[3, 12, 25], 1] = truth[[3, 12, 25], 1]
    >>> alone = MultiTask(RBF(0.5), coupling=None, alpha=0.01).fit(x, y)
    >>> together = MultiTask(RBF(0.5), task_weight=0.9, alpha=0.01).fit(x, y)
    >>> [round(float(np.abs(model.predict(x) - truth)[:, 1].mean()), 2) for model in (alone, together)]
    [0.26, 0.03]
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    tasks: Any = None
    coupling: str | None = "operator"
    task_weight: float = 0.5
    learn_tasks: bool = False
    embedding: Embedding | None = None
    loss: Loss | None = None
    alpha: float = 1.0
    manifold: Manifold | None = None
    decoder: Decoder | None = None
    solver: Solver | None = None
    tol: float = 1e-6
    max_iter: int = 1000
    intercept: bool | None = None

    limits: ClassVar[Limits] = {**TaskRegression.limits, "coupling": one_of("operator", "output", None)}

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> MultiTask:
        """Learn h; arguments as in `IOKR.fit`, y (n, q) with a column per task and NaN where a target is missing."""
        progress = begin(self, 0, X=X, y=y)
        self.__dict__.pop("objective_", None)
        self._check_components()
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        self._check_tasks()
        kernel = check_scalar(self.kernel)
        if self.learn_tasks:
            self._check_learning()
        data = self._encode_outputs(check_data(self, X, y, sample_weight, X_unlabeled, kernel))
        if self.learn_tasks:
            check_coordinates(data.outputs.embedding)
            inputs, problem = pose(data, kernel, self.manifold)
            learner = TaskProblem(problem)
            self._keep_learned(data, inputs, learner, learner.learn(alpha, tol=self.tol, max_iter=self.max_iter), alpha)
        else:
            tasks, A = self._operator(data)
            coupled = Decomposable(kernel, A) if self.coupling == "operator" else kernel
            self._set_fit(data, solve(data, coupled, alpha, manifold=self.manifold, solver=self.solver))
            self.tasks_, self.A_ = tasks, A
        end(progress, self, X=X, y=y)
        return self

    def _check_learning(self) -> None:
        """Learning an operator needs one, and its own closed forms."""
        if self.coupling != "operator":
            raise ValueError(
                f'`learn_tasks=True` learns the operator of `coupling="operator"`, got `coupling={self.coupling!r}`.'
            )
        if self.loss is not None and not self.loss.quadratic:
            raise ValueError(
                f"`learn_tasks=True` takes turns of closed forms, so `loss` must be `Square()`, got {self.loss!r}."
            )
        if self.solver is not None:
            raise ValueError(f"`learn_tasks=True` has its own solver; leave `solver` None, got {self.solver!r}.")

    def _output_parts(self) -> dict[str, Any]:
        """In the metric of the tasks when they are coupled through the outputs."""
        parts = super()._output_parts()
        if self.coupling != "output":
            return parts
        base = Identity() if self.embedding is None else self.embedding
        centred = self.intercept is not False and (self.loss is None or self.loss.calibrated)
        return {**parts, "embedding": TaskMetric(base, self.tasks, self.task_weight, centred)}

    def _operator(self, data: Data) -> tuple[np.ndarray | None, np.ndarray]:
        """M, when there is one, and A: the operator, or the metric of the outputs."""
        embedding, targets = data.outputs.embedding, data.targets
        check_coordinates(embedding)
        if isinstance(embedding, TaskMetric):
            return embedding.tasks_, embedding.A_
        observed = targets.observed()
        if self.coupling is None:
            return None, np.eye(int(observed.shape[1]))
        M = task_similarity(observed, targets.weight, self.tasks, centred=data.intercept)
        return M, task_operator(M, check_task_weight(self.task_weight))
