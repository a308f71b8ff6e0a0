"""Evaluate a grid as its values become known, and choose one point of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite, prod
from typing import Any

import numpy as np

from iokr.estimators.progress import Progress
from iokr.estimators.search.result import Axis, Choice, Rule, SearchResult, drop_single_axes, smallest

__all__ = ["Part", "cv_results", "forget_search", "n_points", "search", "select"]

_FAMILIAR = ("loo_errors_", "cv_errors_", "scores_", "areas_", "freedom_", "best_index_", "kernel_search_")


@dataclass(frozen=True, eq=False)
class Part:
    """Values at one index of the leading axes, along all remaining ones: often a path over alpha.

    `values` is the measure that the rule compares, or several by their names. On a fold they are sums, which the
    search divides by the `weight` of the fold. `solve` gives the model at a choice of the last parameter, from
    factorisations that the evaluation has at hand; it is called at once, and only for the best choice so far.
    """

    index: tuple[int, ...]
    values: Any
    fold: int | None = None
    weight: float = 1.0
    solve: Callable[[Choice], Any] | None = None


def n_points(axes: Sequence[Axis]) -> int:
    """The number of points of the grid."""
    return prod(len(axis.values) for axis in axes)


def search(
    axes: Sequence[Axis],
    evaluate: Iterable[Part],
    *,
    rule: Rule = smallest,
    solve: Callable[[SearchResult], Any] | None = None,
    n_folds: int = 1,
    progress: Progress | None = None,
) -> SearchResult:
    """Evaluate every point of the grid and choose one by `rule`.

    An interrupt (Ctrl-C) ends the search: the result has what is known, NaN elsewhere, and `interrupted` is True.

    Parameters
    ----------
    axes : sequence of Axis
    evaluate : iterable of Part
        Computes and yields the values of the grid, in the order in which factorisations can be reused.
    rule : Rule
        `smallest` error, `largest` score, or an `AreaRule`.
    solve : callable, default=None
        Called as `solve(result)` for the `solution` at the best point, unless the parts solved it on the way.
    n_folds : int
        Number of folds on which every point is evaluated; used for `progress` alone.
    progress : callable, default=None
        Called as `progress(done, total, what)` after every part with values that the rule compares.

    Returns
    -------
    SearchResult
    """
    record = _Record(tuple(axes), rule)
    total = n_points(axes) * n_folds
    done = 0
    best: tuple[tuple[int, ...], Choice] | None = None
    solution = None
    try:
        for part in evaluate:
            added = record.add(part)
            done += added
            member = part.index[: len(axes) - 1]
            if part.solve is not None and record.is_known(member):
                choice = record.choose(member, record.without_folds())
                if _is_better(member, choice, best):
                    best = (member, choice)
                    solution = part.solve(choice)
            if progress is not None and added:
                progress(done, total, _where(axes, part, n_folds))
        result = record.result()
        if not result.best:
            raise ValueError("No point of the grid has a finite value; scale the data or raise the alphas.")
        if solution is None and solve is not None:
            solution = solve(result)
    except KeyboardInterrupt:
        return replace(record.result(), interrupted=True)
    return replace(result, solution=solution)


def _is_better(member: tuple[int, ...], choice: Choice, best: tuple[tuple[int, ...], Choice] | None) -> bool:
    """Whether a choice is better than the best so far; of equal ones the first on the grid."""
    if not isfinite(choice.score):
        return False
    if best is None or choice.score > best[1].score:
        return True
    return choice.score == best[1].score and member < best[0]


def _where(axes: Sequence[Axis], part: Part, n_folds: int) -> str:
    """Which point, or path, was evaluated."""
    texts = []
    for axis, number in zip(axes, part.index, strict=False):
        if len(axis.values) > 1:
            name = axis.name.replace("__", " ").replace("_", " ")
            texts.append(f"{name} {number + 1} of {len(axis.values)}")
    if part.fold is not None:
        texts.append(f"fold {part.fold + 1} of {n_folds}")
    return ", ".join(texts)


@dataclass(eq=False)
class _Record:
    """The measures while the search runs: sums on every fold (key None: without folds), NaN where not known yet."""

    axes: tuple[Axis, ...]
    rule: Rule
    sums: dict[str, dict[int | None, np.ndarray]] = field(default_factory=dict)
    weights: dict[int | None, float] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each axis."""
        return tuple(len(axis.values) for axis in self.axes)

    def add(self, part: Part) -> int:
        """Write a part down; the number of values that became known."""
        compared = self.rule.measures[0]
        measures = part.values if isinstance(part.values, Mapping) else {compared: part.values}
        for name, values in measures.items():
            folds = self.sums.setdefault(name, {})
            if part.fold not in folds:
                folds[part.fold] = np.full(self.shape, np.nan)
            folds[part.fold][part.index] = values
        self.weights[part.fold] = part.weight
        return int(np.size(measures[compared])) if compared in measures else 0

    def without_folds(self) -> dict[str, np.ndarray]:
        """The measures that do not come from folds."""
        return {name: folds[None] for name, folds in self.sums.items() if None in folds}

    def is_known(self, member: tuple[int, ...]) -> bool:
        """Whether the whole path at this index of the leading axes is known, in a search without folds."""
        measures = self.without_folds()
        return all(name in measures and not np.isnan(measures[name][member]).any() for name in self.rule.measures)

    def choose(self, member: tuple[int, ...], measures: Mapping[str, np.ndarray]) -> Choice:
        """The choice along the last axis."""
        path = {name: values[member] for name, values in measures.items()}
        return self.rule.choose(path, self.axes[-1].values)

    def mean(self, name: str) -> np.ndarray:
        """Σ_f sums_f / Σ_f weights_f over the folds on which a point is known."""
        total, weight = np.zeros(self.shape), np.zeros(self.shape)
        for fold, sums in self.sums[name].items():
            known = ~np.isnan(sums)
            total[known] += sums[known]
            weight[known] += self.weights[fold]
        return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)

    def result(self) -> SearchResult:
        """The means over the folds, and the choice."""
        unknown = np.full(self.shape, np.nan)
        measures = {name: unknown for name in self.rule.measures}
        measures |= {name: self.mean(name) for name in self.sums}
        values = np.asarray(self.rule.values(measures))
        found = SearchResult(self.axes, values, self.rule.larger, measures)
        numbers = sorted(fold for fold in self.weights if fold is not None)
        if numbers:
            weights = np.array([self.weights[fold] for fold in numbers])
            found = replace(found, folds=np.array([self._on_fold(fold) for fold in numbers]), weights=weights)
        known = [member for member in np.ndindex(self.shape[:-1]) if not np.isnan(values[member]).any()]
        choices = {member: self.choose(member, measures) for member in known}
        finite = [member for member in known if isfinite(choices[member].score)]
        if not finite:
            return found
        member = max(finite, key=lambda member: choices[member].score)  # the first of equal ones
        choice = choices[member]
        chosen = {axis.name: axis.values[number] for axis, number in zip(self.axes, member, strict=False)}
        return replace(found, best={**chosen, self.axes[-1].name: choice.value}, best_index=(*member, choice.index))

    def _on_fold(self, fold: int) -> np.ndarray:
        """The compared values on one fold."""
        weight = self.weights[fold] or np.nan
        sums = {name: folds[fold] for name, folds in self.sums.items() if fold in folds}
        return np.asarray(self.rule.values({name: values / weight for name, values in sums.items()}))


def select(
    model: Any,
    axes: Sequence[Axis],
    evaluate: Iterable[Part],
    *,
    rule: Rule = smallest,
    solve: Callable[[SearchResult], Any] | None = None,
    n_folds: int = 1,
    progress: Progress | None = None,
) -> SearchResult:
    """`search` for a model that keeps the result: `search_`, `interrupted_`, `best_index_`, and the values.

    Without the axes of length one, the values are `scores_`, `loo_errors_`, or with the parameter `cv` `cv_errors_`;
    those of several measures are `areas_`.

    After an interrupt the model has these alone, not those of an earlier fit, and `KeyboardInterrupt` is raised.

    Parameters
    ----------
    model : estimator
    axes, evaluate, rule, solve, n_folds, progress :
        As in `search`.
    """
    found = search(axes, evaluate, rule=rule, solve=solve, n_folds=n_folds, progress=progress)
    forget_search(model)
    if found.interrupted:
        fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
        for name in fitted - {"n_features_in_", "feature_names_in_"}:
            del vars(model)[name]
    model.interrupted_ = found.interrupted
    model.search_ = replace(found, solution=None)
    values, index = drop_single_axes(found.values, found.best_index)
    left_out = found.folds is None and model.get_params(deep=False).get("cv") is None
    name = "loo_errors_" if left_out else "cv_errors_"
    setattr(model, "scores_" if rule.larger else name, values)
    if found.interrupted:
        raise KeyboardInterrupt
    model.best_index_ = index
    if rule.larger and len(rule.measures) > 1:
        model.areas_ = {measure: drop_single_axes(found.measures[measure])[0] for measure in rule.measures}
    return found


def forget_search(model: Any) -> None:
    """Remove what an earlier fit searched."""
    for name in ("search_", "interrupted_", *_FAMILIAR):
        vars(model).pop(name, None)


cv_results = property(
    lambda model: model.search_.table(),
    doc="""Every point of the grid with its score, for `pandas.DataFrame(model.cv_results_)`.

    Columns as in scikit-learn's searches: `params`, `param_NAME` for every searched parameter, `mean_test_score` (the
    score, or minus the error), `rank_test_score`, 1 for the best; with folds also `split0_test_score` and so on, and
    `std_test_score`. There are no times: in closed form many points share one factorisation.
    """,
)
