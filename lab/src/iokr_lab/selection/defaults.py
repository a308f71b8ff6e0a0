"""Estimators without arguments compared with tuned conventional models: numbers, labels and label sets.

The tables are in `default_tables.py`, the conventional models and their grids in `conventional.py`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold

from iokr.apps.report import Report, Spread, Table, Text
from iokr.decoders.risk import MinimumRisk
from iokr.estimators.plain.classifier import IOKRClassifier
from iokr.estimators.plain.regressor import IOKRRegressor
from iokr.estimators.regression.cv import IOKRCV
from iokr.metrics import f1_samples
from iokr_lab.selection.conventional import (
    CLASSIFIERS,
    GRIDS,
    LABELLERS,
    REGRESSORS,
    SEARCH_ROWS,
    TUNED_CLASSIFIERS,
    TUNED_REGRESSORS,
    Search,
)
from iokr_lab.selection.default_tables import ASIDE, CLASSIFICATION, LABEL_SETS, REGRESSION, Sample, found
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import frequent
from iokr_lab.timing import timed

__all__ = ["STUDY", "DefaultsPlan", "Fold", "Level"]

NUMBERS = "regression"
LABELS = "classification"
SETS = "label sets"
REGRESSOR = "IOKRRegressor()"
CLASSIFIER = "IOKRClassifier()"
FIRST = 'IOKRCV(decoder=MinimumRisk("f1"))'
HALF = "h(x) above ½"

MANY = 1500  # larger tables, and label sets, have one repetition of the folds
MARGIN = {NUMBERS: 0.02, LABELS: 0.01, SETS: 0.02}  # of R², accuracy and F1
BAR = 0.8  # share of the tables
SIGNAL = 0.1  # R² of another model from which a negative one of ours counts


@dataclass(frozen=True)
class DefaultsPlan(Plan):
    """The tables, folds and inner folds; `repeat` is the number of repetitions of the folds.

    `aside` adds the regressions that were kept aside while the defaults were chosen.
    """

    repeat: int = 5
    regression: tuple[str, ...] = tuple(REGRESSION)
    classification: tuple[str, ...] = tuple(CLASSIFICATION)
    label_sets: tuple[str, ...] = tuple(LABEL_SETS)
    aside: bool = False
    folds: int = 5
    inner: int = 3
    coarse: bool = False

    def key(self) -> dict[str, Any]:
        """Without the lists of tables, so that a longer list finds the cells of a shorter one."""
        lists = ("repeat", "regression", "classification", "label_sets", "aside")
        return {name: value for name, value in asdict(self).items() if name not in lists}


@dataclass(frozen=True)
class Fold(Case):
    """A fold of a repetition of a table; all models have the same folds."""

    task: str
    table: str
    repetition: int
    fold: int


@dataclass(frozen=True)
class Data:
    """The tables by kind and name, and a sentence for each that could not be read."""

    samples: dict[str, dict[str, Sample]]
    absent: tuple[str, ...]


def load(plan: DefaultsPlan) -> Data:
    """Every table whose file or package is there."""
    numbers = {**{name: REGRESSION[name] for name in plan.regression}, **(ASIDE if plan.aside else {})}
    samples = {}
    absent: list[str] = []
    for kind, loaders, names in (
        (NUMBERS, numbers, tuple(numbers)),
        (LABELS, CLASSIFICATION, plan.classification),
        (SETS, LABEL_SETS, plan.label_sets),
    ):
        samples[kind], missing = found(loaders, names)
        absent += missing
    return Data(samples, tuple(absent))


def cases(plan: DefaultsPlan, data: Data) -> list[Fold]:
    """Every fold, those of large tables first, as they take longest."""
    every = []
    for kind, samples in data.samples.items():
        for name, sample in samples.items():
            single = kind == SETS or len(sample.y) > MANY
            repetitions = 1 if single else plan.repeat
            every += [Fold(kind, name, *place) for place in itertools.product(range(repetitions), range(plan.folds))]
    return sorted(every, key=lambda case: -data.samples[case.task][case.table].X.size * _columns(case, data))


def _columns(case: Fold, data: Data) -> int:
    """Models per table: classes or labels, as boosting and chains have one for each."""
    y = data.samples[case.task][case.table].y
    if case.task == NUMBERS:
        return 1
    return len(np.unique(y)) if case.task == LABELS else int(y.shape[1])


def rows_of(case: Fold, plan: DefaultsPlan, sample: Sample) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Training and test rows; of a classification with the same fractions of the classes."""
    kind = StratifiedKFold if case.task == LABELS else KFold
    splitter = kind(plan.folds, shuffle=True, random_state=plan.seed + case.repetition)
    train, test = list(splitter.split(np.zeros(len(sample.y)), sample.y))[case.fold]
    return train, test


# ------------------------------------------------------------------------------------------------------------ one fold


def work(case: Fold, plan: DefaultsPlan, data: Data) -> dict[str, Any]:
    """model → measures on the test rows, processor seconds and chosen parameters."""
    sample = data.samples[case.task][case.table]
    train, test = rows_of(case, plan, sample)
    parts = sample.X[train], sample.y[train], sample.X[test], sample.y[test]
    search = Search(plan.inner, plan.seed + case.repetition, plan.coarse)
    return {NUMBERS: regression, LABELS: classification, SETS: sets}[case.task](*parts, search)


def regression(X: Any, y: Any, X_test: Any, y_test: Any, search: Search) -> dict[str, Any]:
    """R² of every model."""
    cell = {}
    for name, fit in {REGRESSOR: _default(IOKRRegressor), **REGRESSORS}.items():
        (model, chosen), seconds = timed(partial(fit, X, y, search))
        score = float(r2_score(y_test, model.predict(X_test)))
        cell[name] = {"score": score, "seconds": round(seconds, 3), "chosen": chosen}
    return cell


def classification(X: Any, y: Any, X_test: Any, y_test: Any, search: Search) -> dict[str, Any]:
    """Accuracy and log loss of every model."""
    cell = {}
    for name, fit in {CLASSIFIER: _default(IOKRClassifier), **CLASSIFIERS}.items():
        (model, chosen), seconds = timed(partial(fit, X, y, search))
        accuracy = float(np.mean(model.predict(X_test) == y_test))
        loss = float(log_loss(y_test, model.predict_proba(X_test), labels=model.classes_))
        cell[name] = {"score": accuracy, "loss": loss, "seconds": round(seconds, 3), "chosen": chosen}
    return cell


def sets(X: Any, Y: Any, X_test: Any, Y_test: Any, search: Search) -> dict[str, Any]:
    """F1 of every model; both of ours are one fit, decoded in two ways."""
    model, seconds = timed(lambda: IOKRCV(decoder=MinimumRisk("f1")).fit(X, Y))
    fitted = {"seconds": round(seconds, 3), "chosen": _chosen(model)}
    cell = {
        FIRST: {"score": f1_samples(Y_test, np.asarray(model.predict(X_test))), **fitted},
        HALF: {"score": f1_samples(Y_test, np.asarray(model.decision_function(X_test)) > 0.5), **fitted},
    }
    for name, fit in LABELLERS.items():
        (scores, threshold, chosen), seconds = timed(partial(fit, X, Y, X_test, search))
        f1 = f1_samples(Y_test, scores > threshold)
        cell[name] = {"score": f1, "seconds": round(seconds, 3), "chosen": chosen}
    return cell


def _default(estimator: Callable[[], Any]) -> Callable[..., tuple[Any, str]]:
    """Fit an estimator without arguments."""

    def fit(X: Any, y: Any, search: Search) -> tuple[Any, str]:
        model = estimator().fit(X, y)
        return model, _chosen(model)

    return fit


def _chosen(model: Any) -> str:
    """The family of the kernel: Laplacian, RBF or Linear."""
    text = repr(model.kernel_)
    return next((family for family in ("Laplacian", "RBF", "Linear") if f"{family}(" in text), text)


# ------------------------------------------------------------------------------------------------------------- verdicts


@dataclass(frozen=True)
class Level:
    """Our default and the tuned model with the best mean on a table.

    Parameters
    ----------
    table, best : str
    theirs, ours : float
        Means over the folds.
    error : float
        Standard error of the mean of the differences on the folds, as if these were independent: the one of the
        corrected resampled test is 2.7 times as large for 5 × 5 folds.
    margin : float
        A difference that does not count.

    Examples
    --------
    >>> from iokr_lab.selection.defaults import Level
    >>> Level("engel", "RidgeCV", 0.85, 0.82, error=0.01, margin=0.02).reached
    False
    """

    table: str
    best: str
    theirs: float
    ours: float
    error: float
    margin: float

    @classmethod
    def of(
        cls, table: str, scores: Mapping[str, Sequence[float]], ours: str, tuned: Iterable[str], margin: float
    ) -> Level:
        """From the scores of every model on the folds."""
        best = max(tuned, key=lambda name: float(np.mean(scores[name])))
        differences = np.array(scores[best]) - np.array(scores[ours])
        n = len(differences)
        error = float(differences.std(ddof=1) / math.sqrt(n)) if n > 1 else 0.0
        return cls(table, best, float(np.mean(scores[best])), float(np.mean(scores[ours])), error, margin)

    @property
    def reached(self) -> bool:
        """Whether ours is within the margin, or one standard error, of the best."""
        return self.theirs - self.ours <= max(self.margin, self.error)

    def row(self) -> dict[str, Any]:
        """Of a table."""
        return {
            "table": self.table,
            "best tuned model": self.best,
            "best tuned": round(self.theirs, 3),
            "ours": round(self.ours, 3),
            "best − ours": f"{self.theirs - self.ours:+.3f} ± {self.error:.3f}",
            "within": "yes" if self.reached else "no",
        }


def verdict(levels: Sequence[Level], what: str) -> str:
    """On how many tables our default is within the margin or a standard error of the best."""
    n = sum(level.reached for level in levels)
    missed = [level.table for level in levels if not level.reached]
    names = f"; not on {', '.join(missed)}" if missed else ""
    return f"{what}: {n} of {len(levels)} tables ({n / len(levels):.0%}){names}."


def negatives(results: Results, names: Iterable[str]) -> list[str]:
    """Tables where R² of our default is negative, while that of another model is above 0.1."""
    found = []
    for name in names:
        means = {method: float(np.mean(values)) for method, values in _scores(results, NUMBERS, name).items()}
        ours = means.pop(REGRESSOR)
        if ours < 0 and max(means.values()) > SIGNAL:
            found.append(name)
    return found


# ----------------------------------------------------------------------------------------------------------------- page


def page(results: Results, plan: DefaultsPlan, data: Data) -> Report:
    """Scores, verdicts and seconds of every table, and the grids."""
    names = {kind: list(samples) for kind, samples in data.samples.items()}
    aside = [name for name in names[NUMBERS] if name in ASIDE]
    main = [name for name in names[NUMBERS] if name not in ASIDE]
    lines = []
    items: list[Text | Table] = [Text("The question", (_QUESTION, _FOLDS))]
    if main:
        levels = _levels(results, NUMBERS, main)
        share = sum(level.reached for level in levels) / len(levels)
        lines.append(
            verdict(levels, f"Regression, within {MARGIN[NUMBERS]} of R² or one standard error of the best tuned")
        )
        lines.append(f"The bar is {BAR:.0%}: {'reached' if share >= BAR else 'missed'}.")
        lines.append(_signs(negatives(results, [*main, *aside])))
        items += _part(results, data, NUMBERS, main, "Regression: R² on test folds", levels)
    if aside:
        levels = _levels(results, NUMBERS, aside)
        lines.append(verdict(levels, "Regressions kept aside while the defaults were chosen"))
        items += _part(results, data, NUMBERS, aside, "Kept aside: R² on test folds", levels)
    if names[LABELS]:
        levels = _levels(results, LABELS, names[LABELS])
        lines.append(verdict(levels, f"Classification, within {MARGIN[LABELS]} of accuracy or one standard error"))
        items += _part(results, data, LABELS, names[LABELS], "Classification: accuracy on test folds", levels)
        items.append(
            _scores_table(results, data, LABELS, names[LABELS], "Classification: log loss on test folds", "loss")
        )
    if names[SETS]:
        levels = _levels(results, SETS, names[SETS])
        lines.append(verdict(levels, f"Label sets, within {MARGIN[SETS]} of F1 or one standard error"))
        items += _part(results, data, SETS, names[SETS], "Label sets: example-based F1 on test folds", levels)
    for kind in names:
        if names[kind]:
            title = f"Processor seconds of a fit with its search: {kind}"
            items.append(_scores_table(results, data, kind, names[kind], title, "seconds", digits=2, folded=True))
    items += [_kernels_table(results, names), _grid_table()]
    return Report(
        "Estimators without arguments and tuned conventional models",
        " ".join(lines),
        tuple(items),
        (*_NOTES, *data.absent),
    )


_QUESTION = (
    "Each of our estimators is called without arguments: it standardises columns of numbers, and chooses the kernel "
    "and alpha by leave-one-out. The conventional models are at their defaults, and tuned on inner folds of the "
    "training rows. The best tuned model of a table is the one with the best mean on the test folds, which favours it."
)
_FOLDS = (
    f"All models have the same folds, repeated with other seeds, once on tables of more than {MANY} rows and on label "
    "sets; those of a classification are stratified."
)
_NOTES = (
    "± in the tables of scores is the standard deviation over the folds, in the differences it is the standard error "
    "of their mean as if folds were independent.",
    "KernelRidge and SVR have columns and response in units of the standard deviation over the training rows, and "
    f"gamma in units of one over the number of columns; they are tuned on at most {SEARCH_ROWS} rows and fitted to "
    "all. Classifiers are tuned by log loss, SVC by accuracy, with probabilities by Platt's sigmoid; label sets by F1, "
    "with a threshold. Chains are the mean of five in random orders.",
    "USPS and bibtex are samples of rows, 2000 and 3000; crabs as a classification has species and sex as classes.",
)


def _signs(found: Sequence[str]) -> str:
    names = ", ".join(found) or "no table"
    return f"Mean R² is negative, where another model has more than {SIGNAL}, on {names}."


def _models(kind: str) -> tuple[str, ...]:
    """Every model, ours first."""
    return {
        NUMBERS: (REGRESSOR, *REGRESSORS),
        LABELS: (CLASSIFIER, *CLASSIFIERS),
        SETS: (FIRST, HALF, *LABELLERS),
    }[kind]


def _tuned(kind: str) -> tuple[str, ...]:
    return {NUMBERS: TUNED_REGRESSORS, LABELS: TUNED_CLASSIFIERS, SETS: tuple(LABELLERS)}[kind]


def _scores(results: Results, kind: str, name: str, metric: str = "score") -> dict[str, list[float]]:
    """model → a number for each fold."""
    return {model: results.numbers(Fold, f"{model}.{metric}", task=kind, table=name) for model in _models(kind)}


def _levels(results: Results, kind: str, names: Iterable[str]) -> list[Level]:
    ours = _models(kind)[0]
    return [Level.of(name, _scores(results, kind, name), ours, _tuned(kind), MARGIN[kind]) for name in names]


def _part(
    results: Results, data: Data, kind: str, names: Sequence[str], title: str, levels: Sequence[Level]
) -> list[Text | Table]:
    """The scores and the verdicts of some tables."""
    compared = Table(f"{title}: ours and the best tuned model", [level.row() for level in levels], ours=("ours",))
    return [_scores_table(results, data, kind, names, title), compared]


def _scores_table(
    results: Results,
    data: Data,
    kind: str,
    names: Sequence[str],
    title: str,
    metric: str = "score",
    digits: int = 3,
    folded: bool = False,
) -> Table:
    rows = []
    for name in names:
        n, p = data.samples[kind][name].X.shape
        scores = _scores(results, kind, name, metric)
        row: dict[str, Any] = {"table": name, "rows": n, "columns": p}
        rows.append(row | {model: Spread.of(values, digits=digits) for model, values in scores.items()})
    return Table(title, rows, ours=_models(kind)[:1], folded=folded)


def _kernels_table(results: Results, names: Mapping[str, Sequence[str]]) -> Table:
    rows = []
    for kind, tables in names.items():
        for name in tables:
            chosen = results.numbers(Fold, f"{_models(kind)[0]}.chosen", task=kind, table=name)
            rows.append({"kind": kind, "table": name, "kernels": frequent(chosen)})
    return Table("Kernels that our defaults chose", rows, folded=True)


def _grid_table() -> Table:
    rows = []
    for kind, model, grid in GRIDS:
        for name, values in grid.items():
            shown = ", ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in values)
            rows.append({"kind": kind, "model": model, "parameter": name, "values": shown})
    return Table("Grids of the tuned models", rows)


PLANS = {
    "short": DefaultsPlan(
        repeat=1,
        regression=("caution", "diabetes"),
        classification=("iris",),
        label_sets=("emotions",),
        folds=2,
        inner=2,
        coarse=True,
    ),
    "default": DefaultsPlan(),
    "full": DefaultsPlan(aside=True),
}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page, processes=True)
