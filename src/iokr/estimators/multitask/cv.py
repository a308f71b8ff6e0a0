"""Selection of strength and alpha of a multi-task model: exact leave-one-out in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iokr._array import eye_like
from iokr._progress import begin, end, track, with_callbacks
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.multitask.learning import LearnedOperator, TaskProblem
from iokr.estimators.multitask.model import TaskRegression
from iokr.estimators.multitask.similarity import check_strength, task_operator
from iokr.estimators.regression.cv import _ALPHAS, _grid
from iokr.kernels.base import Kernel
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.decomposable import Decomposable
from iokr.problem import Solution

__all__ = ["MultiTaskCV"]

_STRENGTHS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)


class MultiTaskCV(TaskRegression):
    """argmin over μ and α of (1/n) Σ_i ‖y_i − h₋ᵢ(x_i)‖²: `MultiTask` chosen by exact leave-one-out in closed form.

    One eigendecomposition of K serves every strength and every alpha (with missing targets, each has a system of its
    own). The similarity of the tasks is held fixed in leave-one-out, and so is a learned operator; both have seen the
    row that is left out, which makes the error a little optimistic. `GridSearchCV(MultiTask(), ...)` refits everything.

    Parameters
    ----------
    kernel, tasks, embedding, manifold, decoder, tol, max_iter :
        As in `MultiTask`, with ``coupling="operator"`` and the square loss. Coupling through the outputs does not
        change the error on y, so there would be nothing to choose.
    strengths : sequence of float
        Values of μ in [0, 1); 0, independent tasks, is among the default ones.
    alphas : sequence of float
        Values of λ; 19 from 1e-6 to 1e3 by default.
    learn_tasks : bool, default=False
        Learn the operator at every alpha instead; `strengths` is not used.

    Attributes
    ----------
    alpha_ : float
        The selected value.
    strength_ : float or None
        The same; None when the operator is learned.
    loo_errors_ : array
        Mean leave-one-out error on y, axes strength × alpha, axes of length one dropped.
    best_index_ : tuple of int
        Where the smallest error stands.
    tasks_, A_, objective_, solution_, solver_, kernel_, embedding_, decoder_, n_features_in_ :
        As in `MultiTask`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import MultiTaskCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 6, 25)[:, None]
    >>> Y = np.sin(X) + 0.5 * rng.normal(size=(25, 6))
    >>> model = MultiTaskCV(alphas=(0.1, 1.0, 10.0), strengths=(0.0, 0.5, 0.9)).fit(X, Y)
    >>> model.strength_, model.alpha_, model.loo_errors_.shape
    (0.9, 1.0, (3, 3))
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        tasks: Any = None,
        strengths: Sequence[float] = _STRENGTHS,
        alphas: Sequence[float] = _ALPHAS,
        learn_tasks: bool = False,
        embedding: Embedding | None = None,
        manifold: Manifold | None = None,
        decoder: Decoder | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.kernel = kernel
        self.tasks = tasks
        self.strengths = strengths
        self.alphas = alphas
        self.learn_tasks = learn_tasks
        self.embedding = embedding
        self.manifold = manifold
        self.decoder = decoder
        self.tol = tol
        self.max_iter = max_iter

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> MultiTaskCV:
        """Select and learn h.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
        y : array of shape (n, q)
        sample_weight : array of shape (n,), default=None
        X_unlabeled : as X, or `Unlabeled(X)`, default=None

        Returns
        -------
        self
        """
        self.__dict__.pop("objective_", None)
        self._check_components()
        kernel, tol, max_iter = self._check_tasks()
        alphas = _grid(self.alphas, "alphas", strict=True)
        strengths = [check_strength(mu, "strengths") for mu in _grid(self.strengths, "strengths", strict=False)]
        progress = begin(self, len(alphas) if self.learn_tasks else len(strengths), X=X, y=y)
        data = self._check_data(X, y, sample_weight, X_unlabeled, kernel)
        problem = self._pose(data, Decomposable(kernel, eye_like(int(data.Psi.shape[1]), data.Psi)))
        tasks = TaskProblem(problem)
        if self.learn_tasks:
            errors = self._by_learning(tasks, alphas, tol, max_iter, progress)
        else:
            errors = self._by_strength(tasks, strengths, alphas, progress)
        if not np.all(np.isfinite(errors)):
            raise ValueError("Leave-one-out errors are not finite; scale the data or raise the alphas.")
        row, column = (int(i) for i in np.unravel_index(np.argmin(errors), errors.shape))
        kept = [axis for axis, size in enumerate(errors.shape) if size > 1]
        self.loo_errors_ = errors.reshape([errors.shape[axis] for axis in kept])
        self.best_index_ = tuple((row, column)[axis] for axis in kept)
        self.alpha_, self.strength_ = alphas[column], None if self.learn_tasks else strengths[row]
        self._keep(tasks, row, column)
        end(progress, self, X=X, y=y)
        return self

    def _by_strength(
        self, tasks: TaskProblem, strengths: list[float], alphas: list[float], progress: Any
    ) -> np.ndarray:
        """Errors (strengths, alphas)."""
        assert self.tasks_ is not None
        operators = [task_operator(self.tasks_, mu) for mu in strengths]
        self._tried: list[LearnedOperator] | list[np.ndarray] = operators
        Psi = tasks.problem.Psi
        each = track(progress, self, operators, "strength")
        return np.array([tasks.path(A).loo_errors(Psi, alphas) for A in each])

    def _by_learning(
        self, tasks: TaskProblem, alphas: list[float], tol: float, max_iter: int, progress: Any
    ) -> np.ndarray:
        """Errors (1, alphas); each alpha starts where its larger neighbour ended."""
        errors = np.empty((1, len(alphas)))
        learned: dict[int, LearnedOperator] = {}
        last = None
        for k in track(progress, self, sorted(range(len(alphas)), key=lambda k: -alphas[k]), "alpha"):
            last = learned[k] = tasks.learn(alphas[k], tol=tol, max_iter=max_iter, start=last)
            errors[0, k] = tasks.path(last.A).loo_errors(tasks.problem.Psi, [alphas[k]])[0]
        self._tried = [learned[k] for k in range(len(alphas))]
        return errors

    def _keep(self, tasks: TaskProblem, row: int, column: int) -> None:
        """Become the best model."""
        best = self._tried[column if self.learn_tasks else row]
        figures: dict[str, Any] = {}
        if isinstance(best, LearnedOperator):
            figures = {"n_iter": best.n_iter, "gap": best.gap, "converged": best.converged}
            self.objective_, best = best.objective, best.A
        del self._tried
        self._use_operator(best)
        self.solver_ = tasks.solver
        C = tasks.path(best).coefficients(tasks.problem.Psi, self.alpha_)
        self._solved(Solution(C, **figures), self.alpha_, tasks.problem.strength)
