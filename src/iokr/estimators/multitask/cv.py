"""Selection of strength and alpha of a multi-task model: exact leave-one-out in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np

from iokr._component import component
from iokr._progress import begin, end, track, with_callbacks
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.multitask.learning import LearnedOperator, TaskProblem
from iokr.estimators.multitask.model import TaskRegression
from iokr.estimators.multitask.similarity import check_coordinates, check_strength, task_operator, task_similarity
from iokr.estimators.outputs import encode
from iokr.estimators.regression.posing import Data, check_data, pose
from iokr.estimators.regression.selection import ALPHAS, Track, best_of, check_values, drop_single_axes
from iokr.kernels.base import Kernel
from iokr.manifolds.base import Manifold

__all__ = ["MultiTaskCV"]

_STRENGTHS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)


@component
class MultiTaskCV(TaskRegression):
    """argmin over μ and α of (1/n) Σ_i ‖y_i − h₋ᵢ(x_i)‖²: `MultiTask` chosen by exact leave-one-out in closed form.

    One eigendecomposition of K is reused for every strength and every alpha (with missing targets, each has a system of
    its own). The similarity of the tasks is held fixed in leave-one-out, and so is a learned operator; both have seen
    the row that is left out, which makes the error a little optimistic. `GridSearchCV(MultiTask(), ...)` refits
    everything.

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
    alpha_, strength_ : float
        The selected values; `strength_` is None when the operator is learned.
    loo_errors_ : array
        Mean leave-one-out error on y, axes strength × alpha, axes of length one dropped.
    best_index_ : tuple of int
        Index of the smallest error.
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

    kernel: Kernel | None = None
    _: KW_ONLY
    tasks: Any = None
    strengths: Sequence[float] = _STRENGTHS
    alphas: Sequence[float] = ALPHAS
    learn_tasks: bool = False
    embedding: Embedding | None = None
    manifold: Manifold | None = None
    decoder: Decoder | None = None
    tol: float = 1e-6
    max_iter: int = 1000

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> MultiTaskCV:
        """Select and learn h; arguments as in `MultiTask.fit`."""
        self.__dict__.pop("objective_", None)
        self._check_components()
        kernel, tol, max_iter = self._check_tasks()
        alphas = check_values(self.alphas, "alphas", strict=True)
        strengths = [check_strength(mu, "strengths") for mu in check_values(self.strengths, "strengths", strict=False)]
        progress = begin(self, len(alphas) if self.learn_tasks else len(strengths), X=X, y=y)
        given = check_data(self, X, y, sample_weight, X_unlabeled, kernel)
        data = Data(given, *encode(given.y, given.weight, **self._output_parts()))
        check_coordinates(data.outputs.embedding)
        M = None if self.learn_tasks else task_similarity(data.targets.observed(), given.weight, self.tasks)
        inputs, problem = pose(data, kernel, self.manifold)
        tasks = TaskProblem(problem)
        if M is None:
            each = partial(track, progress, self, name="alpha")
            errors, learned = _by_learning(tasks, alphas, each, tol=tol, max_iter=max_iter)
        else:
            operators = [task_operator(M, mu) for mu in strengths]
            each = partial(track, progress, self, name="strength")
            errors = np.array([tasks.path(A).loo_errors(problem.Psi, alphas) for A in each(operators)])
        if not np.all(np.isfinite(errors)):
            raise ValueError("Leave-one-out errors are not finite; scale the data or raise the alphas.")
        i, k = index = best_of(errors)
        self.loo_errors_, self.best_index_ = drop_single_axes(errors, index)
        self.alpha_, self.strength_ = alphas[k], strengths[i] if M is not None else None
        if M is None:
            self._keep_learned(data, inputs, tasks, learned[k], self.alpha_)
        else:
            self._keep_operator(data, inputs, tasks, operators[i], self.alpha_)
            self.tasks_ = M
        end(progress, self, X=X, y=y)
        return self


def _by_learning(
    tasks: TaskProblem, alphas: list[float], track: Track, *, tol: float, max_iter: int
) -> tuple[np.ndarray, list[LearnedOperator]]:
    """Errors (1, alphas) and the operators; each alpha starts where its larger neighbour ended."""
    errors = np.empty((1, len(alphas)))
    learned: dict[int, LearnedOperator] = {}
    last = None
    for k in track(sorted(range(len(alphas)), key=lambda k: -alphas[k])):
        last = learned[k] = tasks.learn(alphas[k], tol=tol, max_iter=max_iter, start=last)
        errors[0, k] = tasks.path(last.A).loo_errors(tasks.problem.Psi, [alphas[k]])[0]
    return errors, [learned[k] for k in range(len(alphas))]
