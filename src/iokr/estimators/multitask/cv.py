"""Selection of kernel, width, task_weight and alpha of a multi-task model: exact leave-one-out in closed form."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from iokr._component import component
from iokr._validation.arguments import check_groups
from iokr.data.objects import n_objects
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.multitask.learning import LearnedOperator, TaskProblem
from iokr.estimators.multitask.model import TaskRegression
from iokr.estimators.multitask.similarity import check_coordinates, check_task_weight, task_operator, task_similarity
from iokr.estimators.outputs import encode
from iokr.estimators.progress import begin, end, track, with_callbacks
from iokr.estimators.regression.posing import Data, FittedInputs, check_data, pose
from iokr.estimators.regression.selection import ALPHAS, Track, best_of, check_grid, check_values, drop_single_axes
from iokr.estimators.search.tally import Searching, Tally
from iokr.manifolds.base import Manifold

__all__ = ["MultiTaskCV"]


@component
class MultiTaskCV(Searching, TaskRegression):
    """argmin over k, γ, μ and α of (1/n) Σ_i ‖y_i − h₋ᵢ(x_i)‖²: `MultiTask` chosen by leave-one-out in closed form.

    One eigendecomposition of K is reused for every width, every task_weight and every alpha (with missing targets, each
    has a system of its own). The similarity of the tasks is held fixed in leave-one-out, and so is a learned operator;
    both have seen the row that is left out, which makes the error a little optimistic. `GridSearchCV(MultiTask(), ...)`
    refits everything.

    Parameters
    ----------
    kernel, manifold :
        As in `MultiTask`, or lists of them, which are searched: `[Laplacian(0.01), Laplacian(0.1)]` are two
        task_weights
        of one manifold.
    tasks, embedding, decoder, tol, max_iter :
        As in `MultiTask`, with ``coupling="operator"`` and the square loss. Coupling through the outputs does not
        change the error on y, so there would be nothing to choose.
    task_weights : sequence of float
        Values of μ in [0, 1); 0, independent tasks, is among the default ones.
    widths : sequence of float, default=None
        Values of γ in the similarity M_pq = exp(−γ‖Y^p − Y^q‖²) of the tasks, larger is more local; None takes 1/γ the
        median of these squared distances. Not with `tasks`, nor with `learn_tasks`.
    alphas : sequence of float
        Values of λ; 19 from 1e-6 to 1e3 by default.
    learn_tasks : bool, default=False
        Learn the operator at every alpha instead; `task_weights` is not used.

    Attributes
    ----------
    alpha_, task_weight_, width_ : float
        The selected values; `task_weight_` is None when the operator is learned, `width_` without `widths`.
    loo_errors_ : array
        Mean leave-one-out error on y, axes kernel × manifold × width × task_weight × alpha, axes of length one dropped.
    best_index_ : tuple of int
        Index of the smallest error.
    cv_results_ : dict
        The same errors as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True when Ctrl-C ended the search: the errors so far are kept, NaN where there are none yet.
    tasks_, A_, objective_, solution_, solver_, kernel_, embedding_, decoder_, n_features_in_ :
        As in `MultiTask`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import MultiTaskCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 6, 25)[:, None]
    >>> Y = np.sin(X) + 0.5 * rng.normal(size=(25, 6))
    >>> model = MultiTaskCV(alphas=(0.1, 1.0, 10.0), task_weights=(0.0, 0.5, 0.9)).fit(X, Y)
    >>> model.task_weight_, model.alpha_, model.loo_errors_.shape
    (0.9, 1.0, (3, 3))
    """

    kernel: Any = None
    _: KW_ONLY
    tasks: Any = None
    task_weights: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)
    widths: Sequence[float] | None = None
    alphas: Sequence[float] = ALPHAS
    learn_tasks: bool = False
    embedding: Embedding | None = None
    manifold: Any = None
    decoder: Decoder | None = None
    tol: float = 1e-6
    max_iter: int = 1000

    _searched: ClassVar[tuple[str, ...]] = ("manifold",)

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None, groups: Any = None
    ) -> MultiTaskCV:
        """Select and learn h.

        Parameters
        ----------
        X, y, sample_weight, X_unlabeled :
            As in `MultiTask.fit`.
        groups : sequence of n names, default=None
            Rows of one group are left out together, in closed form.
        """
        self.__dict__.pop("objective_", None)
        self._check_components()
        grid = check_grid(self.kernel, None, self.alphas, None)
        kernels, tol, max_iter = self._check_tasks(grid.kernels)
        alphas, manifolds = grid.alphas, self._manifolds()
        task_weights = [
            check_task_weight(mu, "task_weights")
            for mu in check_values(self.task_weights, "task_weights", strict=False)
        ]
        widths = self._widths()
        turns = len(kernels) * len(manifolds) * (len(alphas) if self.learn_tasks else len(widths) * len(task_weights))
        progress = begin(self, turns, X=X, y=y)
        given = check_data(self, X, y, sample_weight, X_unlabeled, kernels[0])
        together = None if groups is None else check_groups(groups, n_objects(given.y), several=True)
        data = Data(given, *encode(given.y, given.weight, frame=given.frame, **self._output_parts()))
        check_coordinates(data.outputs.embedding)
        similarities: list[np.ndarray | None] = [None]
        if not self.learn_tasks:
            observed = data.targets.observed()
            similarities = [task_similarity(observed, given.weight, self.tasks, width=width) for width in widths]
        operators = [[task_operator(M, mu) for mu in task_weights] for M in similarities if M is not None]
        each = partial(track, progress, self, name="alpha" if self.learn_tasks else "task_weight")
        best: _Best | None = None
        tally = _tally(kernels, manifolds, widths, None if self.learn_tasks else task_weights, alphas)
        kept = tally.grid(len(kernels) * len(manifolds), *tally.shape[2:])
        with self._searching(tally):
            for number, (kernel, manifold) in enumerate(itertools.product(kernels, manifolds)):
                part = data if manifold is not None else replace(data, given=replace(given, X_unlabeled=None))
                inputs, problem = pose(part, kernel, manifold)
                tasks, learned, errors = TaskProblem(problem), None, kept[number]
                if self.learn_tasks:
                    learned = _by_learning(tasks, alphas, errors, each, together, tol=tol, max_iter=max_iter)
                else:
                    for place, A in enumerate(each(itertools.chain(*operators))):
                        errors[divmod(place, len(task_weights))] = tasks.path(A).loo_errors(
                            problem.Psi, alphas, together
                        )
                if not np.all(np.isfinite(errors)):
                    raise ValueError("Leave-one-out errors are not finite; scale the data or raise the alphas.")
                if best is None or errors.min() < best.error:
                    best = _Best(float(errors.min()), part, inputs, tasks, learned)
        self._keep_search(tally)
        assert best is not None
        errors = tally.values
        _, _, w, i, k = index = best_of(errors)
        self.loo_errors_, self.best_index_ = drop_single_axes(errors, index)
        self.alpha_, self.task_weight_ = alphas[k], None if self.learn_tasks else task_weights[i]
        self.width_ = widths[w]
        if best.learned is not None:
            self._keep_learned(best.data, best.inputs, best.tasks, best.learned[k], self.alpha_)
        else:
            self._keep_operator(best.data, best.inputs, best.tasks, operators[w][i], self.alpha_)
            self.tasks_ = similarities[w]
        end(progress, self, X=X, y=y)
        return self

    def _manifolds(self) -> list[Manifold | None]:
        """One, or those of a list."""
        if not isinstance(self.manifold, (list, tuple)):
            return [self.manifold]
        if not self.manifold:
            raise ValueError("`manifold` is an empty list; give at least one.")
        return list(self.manifold)

    def _widths(self) -> list[float | None]:
        """Those of the similarity of the tasks; None is the median rule."""
        if self.widths is None:
            return [None]
        if self.learn_tasks or self.tasks is not None:
            name = "learn_tasks" if self.learn_tasks else "tasks"
            raise ValueError(
                f"`widths` are of the similarity that is estimated, which `{name}` replaces; leave one out."
            )
        return list(check_values(self.widths, "widths", strict=True))


@dataclass(frozen=True, eq=False)
class _Best:
    """The kernel and manifold with the smallest error so far, posed."""

    error: float
    data: Data
    inputs: FittedInputs
    tasks: TaskProblem
    learned: list[LearnedOperator] | None


def _by_learning(
    tasks: TaskProblem,
    alphas: list[float],
    errors: np.ndarray,
    track: Track,
    groups: np.ndarray | None,
    *,
    tol: float,
    max_iter: int,
) -> list[LearnedOperator]:
    """The operators, and their errors into (1, 1, alphas); each alpha starts where its larger neighbour ended."""
    learned: dict[int, LearnedOperator] = {}
    last = None
    for k in track(sorted(range(len(alphas)), key=lambda k: -alphas[k])):
        last = learned[k] = tasks.learn(alphas[k], tol=tol, max_iter=max_iter, start=last)
        errors[0, 0, k] = tasks.path(last.A).loo_errors(tasks.problem.Psi, [alphas[k]], groups)[0]
    return [learned[k] for k in range(len(alphas))]


def _tally(
    kernels: list[Any], manifolds: list[Any], widths: list[Any], task_weights: list[Any] | None, alphas: list[float]
) -> Tally:
    """Errors at every point of the grid, by the names of its axes in `MultiTask`; `width` is that of `tasks`."""
    axes: dict[str, Sequence[Any]] = {"kernel": kernels, "manifold": manifolds, "width": widths}
    return Tally(
        {**axes, "task_weight": [None] if task_weights is None else task_weights, "alpha": alphas}, "loo_errors_"
    )
