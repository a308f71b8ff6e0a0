"""Selection of kernel, width, task_weight and alpha of a multi-task model: exact leave-one-out in closed form."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from iokr._component import component
from iokr._validation.arguments import check_groups
from iokr.data.frames import check_aligned
from iokr.data.objects import n_objects
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.inputs import check_scalar
from iokr.estimators.multitask.model import TaskRegression
from iokr.estimators.multitask.operators import (
    LearnedOperator,
    TaskProblem,
    check_coordinates,
    check_task_weight,
    task_operator,
    task_similarity,
)
from iokr.estimators.progress import begin, end, report, with_callbacks
from iokr.estimators.regression.evaluate import check_grid
from iokr.estimators.regression.posing import Data, FittedInputs, check_data, pose
from iokr.estimators.search.ends import warn_at_ends
from iokr.estimators.search.engine import Part, cv_results, n_points, select
from iokr.estimators.search.kernels import default_kernel
from iokr.estimators.search.result import ALPHAS, Axis, Choice, check_values, listed
from iokr.manifolds.base import Manifold

__all__ = ["MultiTaskCV"]


@component
class MultiTaskCV(TaskRegression):
    """argmin over k, γ, μ and α of (1/n) Σ_i ‖y_i − h₋ᵢ(x_i)‖²: `MultiTask` chosen by leave-one-out in closed form.

    One eigendecomposition of K is reused for every width, every task_weight and every alpha (with missing targets, each
    has a system of its own). The similarity of the tasks is held fixed in leave-one-out, and so is a learned operator;
    both have seen the row that is left out, which makes the error a little optimistic. `GridSearchCV(MultiTask(), ...)`
    refits everything.

    Parameters
    ----------
    kernel, manifold :
        As in `MultiTask`, or lists of them, which are searched: `[Laplacian(0.01), Laplacian(0.1)]` are two
        weights of one manifold.
    tasks, embedding, decoder, tol, max_iter, intercept :
        As in `MultiTask`, with ``coupling="operator"`` and the square loss. Coupling through the outputs does not
        change the error on y, so there would be nothing to choose.
    task_weights : sequence of float
        Values of μ in [0, 1); 0, independent tasks, is among the default ones.
    widths : sequence of float, default=None
        Values of γ in the similarity M_pq = exp(−γ‖Y^p − Y^q‖²) of the tasks, larger is more local; None takes 1/γ the
        median of these squared distances. Not with `tasks`, nor with `learn_tasks`.
    alphas : sequence of float
        Values of λ; 19 from 1e-6 to 1e3 by default.
    standardize : {"auto", True, False}, default="auto"
        Whether kernels act on `Standardized` columns; "auto" is where no kernel is given and X is a dense matrix.
    learn_tasks : bool, default=False
        Learn the operator at every alpha instead; `task_weights` is not used.

    Attributes
    ----------
    alpha_, task_weight_, width_ : float
        The selected values; None for `task_weight_` when the operator is learned, and for `width_` without `widths`.
    loo_errors_ : array
        Mean leave-one-out error on y, axes kernel × manifold × width × task_weight × alpha, axes of length one dropped.
    search_ : SearchResult
        The errors on named axes, all of them kept, and the choice.
    best_index_ : tuple of int
        Index of the smallest error.
    cv_results_ : dict
        The same errors as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True if the search was interrupted (Ctrl-C); unknown errors are then NaN.
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
    intercept: bool | None = None
    standardize: Any = "auto"

    _listable: ClassVar[tuple[str, ...]] = ("manifold",)

    cv_results_ = cv_results

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
        self._check_tasks()
        kernels = [check_scalar(kernel) for kernel in self._on_columns(grid.kernels, X)]
        manifolds = listed(self.manifold, "manifold")
        task_weights = [
            check_task_weight(mu, "task_weights")
            for mu in check_values(self.task_weights, "task_weights", strict=False)
        ]
        widths = self._widths()
        axes = (
            Axis("kernel", kernels),
            Axis("manifold", manifolds),
            Axis("width", widths),
            Axis("task_weight", [None] if self.learn_tasks else task_weights),
            Axis("alpha", grid.alphas),
        )
        progress = begin(self, n_points(axes), X=X, y=y)
        given = check_data(self, X, y, sample_weight, X_unlabeled, kernels[0])
        check_aligned(X, groups, "X", "groups")
        together = None if groups is None else check_groups(groups, n_objects(given.y), several=True)
        data = self._encode_outputs(given)
        check_coordinates(data.outputs.embedding)
        posed = _posed(data, kernels, manifolds)
        if self.learn_tasks:
            evaluate = _learning(posed, grid.alphas, together, tol=self.tol, max_iter=self.max_iter)
        else:
            observed = data.targets.observed()
            similarities = [
                task_similarity(observed, given.weight, self.tasks, width=width, centred=data.intercept)
                for width in widths
            ]
            evaluate = _leave_one_out(posed, similarities, task_weights, grid.alphas, together)
        found = select(self, axes, evaluate, progress=report(progress, self))
        warn_at_ends(found, data.targets.n)
        self.alpha_, self.task_weight_ = found.best["alpha"], found.best["task_weight"]
        self.width_ = found.best["width"]
        best: _TaskModel = found.solution
        if best.learned is not None:
            self._keep_learned(best.posed.data, best.posed.inputs, best.posed.tasks, best.learned, self.alpha_)
        else:
            self._keep_operator(best.posed.data, best.posed.inputs, best.posed.tasks, best.A, self.alpha_)
            self.tasks_ = best.similarity
        end(progress, self, X=X, y=y)
        return self

    def _on_columns(self, kernels: list[Any], X: Any) -> list[Any]:
        """The kernels, `RBF()` if none was given, on standardised columns where these are wanted."""
        if self.kernel is None:
            return [default_kernel(None, self.standardize, X)]
        return [default_kernel(kernel, self.standardize, X) for kernel in kernels]

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
class _Posed:
    """The problem with one kernel and manifold, numbers (i, m) on their axes."""

    index: tuple[int, int]
    data: Data
    inputs: FittedInputs
    tasks: TaskProblem


@dataclass(frozen=True, eq=False)
class _TaskModel:
    """The chosen problem, and the operator: learned, or from a similarity of the tasks."""

    posed: _Posed
    A: np.ndarray
    similarity: np.ndarray | None = None
    learned: LearnedOperator | None = None


def _posed(data: Data, kernels: list[Any], manifolds: list[Manifold | None]) -> Iterator[_Posed]:
    """The problem with every kernel and manifold; without a manifold unlabelled inputs are left out."""
    for (i, kernel), (m, manifold) in itertools.product(enumerate(kernels), enumerate(manifolds)):
        part = data
        if manifold is None:
            part = replace(data, rows=replace(data.rows, X_unlabeled=None))
        inputs, problem = pose(part, kernel, manifold)
        yield _Posed((i, m), part, inputs, TaskProblem(problem))


def _leave_one_out(
    posed: Iterable[_Posed],
    similarities: list[np.ndarray],
    task_weights: list[float],
    alphas: list[float],
    groups: np.ndarray | None,
) -> Iterator[Part]:
    """Errors under every operator, along the alphas, from one eigendecomposition of K for each problem."""
    operators = [[task_operator(M, mu) for mu in task_weights] for M in similarities]
    for one in posed:
        for w, M in enumerate(similarities):
            for t, A in enumerate(operators[w]):
                errors = one.tasks.path(A).loo_errors(one.tasks.problem.Psi, alphas, groups)
                yield Part((*one.index, w, t), _finite(errors), solve=partial(_as_it_is, _TaskModel(one, A, M)))


def _learning(
    posed: Iterable[_Posed], alphas: list[float], groups: np.ndarray | None, *, tol: float, max_iter: int
) -> Iterator[Part]:
    """Errors under the operator that is learned at each alpha, started where its larger neighbour ended."""
    for one in posed:
        learned: dict[int, LearnedOperator] = {}
        last = None
        for k in sorted(range(len(alphas)), key=lambda k: -alphas[k]):
            last = learned[k] = one.tasks.learn(alphas[k], tol=tol, max_iter=max_iter, start=last)
            errors = one.tasks.path(last.A).loo_errors(one.tasks.problem.Psi, [alphas[k]], groups)
            yield Part((*one.index, 0, 0, k), _finite(errors)[0], solve=partial(_learned_at, one, learned))


def _finite(errors: np.ndarray) -> np.ndarray:
    if not np.all(np.isfinite(errors)):
        raise ValueError("Leave-one-out errors are not finite; scale the data or raise the alphas.")
    return errors


def _as_it_is(chosen: _TaskModel, choice: Choice) -> _TaskModel:
    """The operator is the same at every alpha."""
    return chosen


def _learned_at(posed: _Posed, learned: dict[int, LearnedOperator], choice: Choice) -> _TaskModel:
    """The operator that was learned at the chosen alpha."""
    operator = learned[choice.index]
    return _TaskModel(posed, operator.A, learned=operator)
