"""Label sets on official splits: data, methods and cases; `multilabel.py` makes the page.

All parameters are chosen on the training part: by leave-one-out in closed form for kernel ridge and IOKR, by out-of-bag
predictions for forests, by folds for logistic regression.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler, normalize

from iokr._array import is_sparse
from iokr.data.objects import keys
from iokr.estimators.trees.forest import OutputKernelForest
from iokr.kernels.base import Kernel
from iokr.kernels.features import Features
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF, Cosine
from iokr.metrics import f1_samples, hamming
from iokr.solvers.closed_form.eigen import Eigen
from iokr.solvers.closed_form.lowrank import LowRank
from iokr.solvers.closed_form.paths import ClosedForm
from iokr_lab.data.multilabel import MultiLabel
from iokr_lab.label_sets.ridge import FactoredRidge, by_f1, by_hamming, by_labels, by_seen_sets, least_risk
from iokr_lab.label_sets.sets import F1Map, Matrix, best_threshold, nearest_sets
from iokr_lab.study import Case, Plan

SETS = ("bibtex", "corel5k", "emotions", "scene", "yeast", "birds")
IOKR_RBF = "IOKR, Gaussian outputs"
IOKR_TANIMOTO = "IOKR, Tanimoto outputs"
IOKR_F1 = "IOKR, F1 outputs"
RISK_F1 = "IOKR, MinimumRisk, F1"
RISK_HAMMING = "IOKR, MinimumRisk, Hamming"
FOREST_TANIMOTO = "output-kernel forest, Tanimoto"
FOREST_F1 = "output-kernel forest, best F1"
RIDGE = "kernel ridge"
LOGISTIC = "logistic regression"
FOREST = "random forest"
HALF = "{}, threshold ½"
TUNED = "{}, threshold chosen"
OURS = (RISK_F1, RISK_HAMMING, IOKR_F1, IOKR_TANIMOTO, IOKR_RBF, FOREST_F1, FOREST_TANIMOTO)
METHODS = (*OURS, *(way.format(name) for name in (RIDGE, LOGISTIC, FOREST) for way in (TUNED, HALF)))

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # γ of a Gaussian input kernel, in units of 1/(2p) for p standardised features
OUTPUT_GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0)  # of a Gaussian output kernel; ‖y − z‖² is the number of labels that differ
DENSE_COSTS = (0.001, 0.01, 0.1, 1.0)  # C of logistic regression on standardised columns
SPARSE_COSTS = (1.0, 10.0, 100.0)  # C of logistic regression on normalised rows
LEAVES = (1, 4)  # minimal number of rows in a leaf
N_FOLDS = 3
N_TREES = 100
SPLIT_RANK = 20  # coordinates of the output kernel used for splits; leaves hold exact members
INPUT_RANK = 1200  # maximal number of landmarks of the inputs
OUTPUT_RANK = 400  # maximal number of landmarks of the label sets


@dataclass(frozen=True)
class LabelTask:
    """A data set: rows for trees and for kernels, label sets, and the candidates for the input kernel."""

    X: Matrix
    unit: Any  # standardised columns; normalised rows if X is sparse
    Y: Matrix
    X_test: Matrix
    unit_test: Any
    Y_test: Matrix
    kernels: dict[str, Kernel]  # on `unit`
    designs: dict[str, tuple[Any, Any]]  # candidates for training and test rows of logistic regression
    costs: tuple[float, ...]  # candidates for C of logistic regression
    solver: ClosedForm


@dataclass(frozen=True)
class Prediction:
    """0/1 predictions for the test part, the chosen parameters and the seconds."""

    sets: Matrix
    chosen: str
    seconds: float


def task_of(data: MultiLabel) -> LabelTask:
    """The official split, standardised by the training part; γ in units of the number of columns."""
    n = data.n_train
    Y = data.Y
    if is_sparse(data.X):
        unit = normalize(data.X)
        words = TfidfTransformer().fit(data.X[:n]).transform(data.X)
        kernels: dict[str, Kernel] = {
            "cosine": Nystroem(Cosine(), n_components=INPUT_RANK),
            "cosine of tf-idf": Nystroem(Features(TfidfTransformer()), n_components=INPUT_RANK),
        }
        counts = data.X.toarray()
        designs = {"unit rows": (unit[:n], unit[n:]), "tf-idf": (words[:n], words[n:])}
        parts = counts[:n], unit[:n], Y[:n], counts[n:], unit[n:], Y[n:]
        return LabelTask(*parts, kernels, designs, SPARSE_COSTS, LowRank())
    scaled = StandardScaler().fit(data.X[:n]).transform(data.X)
    p = scaled.shape[1]
    kernels = {f"Gaussian, γ = {width:g}/{2 * p}": RBF(gamma=width / (2 * p)) for width in WIDTHS}
    parts = data.X[:n], scaled[:n], Y[:n], data.X[n:], scaled[n:], Y[n:]
    return LabelTask(*parts, kernels, {"": (scaled[:n], scaled[n:])}, DENSE_COSTS, Eigen())


# ------------------------------------------------------------------------------------------- kernel ridge and IOKR


def ridges(task: LabelTask) -> Iterator[tuple[str, Prediction]]:
    """The input kernel by leave-one-out F1 of thresholded scores; alpha for each output kernel by its own F1."""
    start = perf_counter()
    found = []
    for name, kernel in task.kernels.items():
        ridge = FactoredRidge(kernel, task.unit, task.solver)
        found.append((*by_labels(ridge, task.Y, ALPHAS), name, ridge))
    _, alpha, left_out, name, ridge = max(found, key=lambda one: one[0])
    del found
    scores = ridge.values(task.Y, alpha, task.unit_test)
    chosen = f"{name}; alpha = {alpha:g}"
    yield from _thresholded(RIDGE, task.Y, left_out, scores, chosen, perf_counter() - start)

    gaussians: dict[str, Kernel] = {f"γ = {gamma:g} on outputs": RBF(gamma) for gamma in OUTPUT_GAMMAS}
    outputs: dict[str, dict[str, Kernel]] = {IOKR_TANIMOTO: {"": Tanimoto()}, IOKR_RBF: gaussians}
    for method, kernels in outputs.items():
        start = perf_counter()
        sets, of, alpha = by_seen_sets(ridge, task.Y, kernels, ALPHAS, OUTPUT_RANK, task.unit_test)
        chosen = "; ".join(part for part in (name, of, f"alpha = {alpha:g}") if part)
        yield method, Prediction(sets, chosen, perf_counter() - start)
    start = perf_counter()
    sets, alpha = by_f1(ridge, task.Y, _f1_map(task), ALPHAS, task.unit_test)
    yield IOKR_F1, Prediction(sets, f"{name}; alpha = {alpha:g}", perf_counter() - start)
    # F1 outputs are the same risk in features, so both have the same alpha.
    for method, loss in ((RISK_F1, "f1"), (RISK_HAMMING, "hamming")):
        start = perf_counter()
        best = alpha if loss == "f1" else by_hamming(ridge, task.Y, ALPHAS)
        sets = least_risk(ridge, task.Y, loss, best, task.unit_test)
        yield method, Prediction(sets, f"{name}; alpha = {best:g}", perf_counter() - start)


def _f1_map(task: LabelTask) -> F1Map:
    return F1Map(task.Y.shape[1], int(task.Y.sum(axis=1).max()))


def _thresholded(
    name: str, Y: Matrix, left_out: Matrix, scores: Matrix, chosen: str, seconds: float
) -> Iterator[tuple[str, Prediction]]:
    """The labels with scores above the threshold chosen on held-out training rows, and above ½."""
    threshold = best_threshold(Y, left_out)
    ways = {TUNED: (threshold, f"{chosen}; threshold {threshold:.3g}"), HALF: (0.5, chosen)}
    for way, (above, what) in ways.items():
        yield way.format(name), Prediction((scores > above).astype(np.float64), what, seconds)


# -------------------------------------------------------------------------------------------------------- forests


def forests(task: LabelTask, seed: int) -> Iterator[tuple[str, Prediction]]:
    """Trees on the Tanimoto kernel; the minimal leaf size by out-of-bag F1."""
    start = perf_counter()
    found = []
    for leaf in LEAVES:
        forest = OutputKernelForest(
            Tanimoto(),
            n_estimators=N_TREES,
            splitter="best",
            bootstrap=True,
            oob_score=True,
            max_features="sqrt",
            min_samples_leaf=leaf,
            n_components=SPLIT_RANK,
            random_state=seed,
        ).fit(task.X, task.Y)
        left_out = np.nan_to_num(forest.oob_decision_function_)
        found.append((f1_samples(task.Y, nearest_sets(left_out, forest.embedding_, task.Y)), leaf, forest))
    _, leaf, forest = max(found, key=lambda one: one[0])
    fitted = perf_counter() - start
    chosen = f"at least {leaf} rows in a leaf"
    sets = np.asarray(forest.predict(task.X_test))
    yield FOREST_TANIMOTO, Prediction(sets, chosen, perf_counter() - start)
    start = perf_counter()
    f1 = _f1_map(task)
    H = np.asarray(forest.weights(task.X_test)) @ f1.transform(task.Y)
    yield FOREST_F1, Prediction(f1.best_sets(H), chosen, fitted + perf_counter() - start)


def random_forests(task: LabelTask, seed: int) -> Iterator[tuple[str, Prediction]]:
    """scikit-learn's regression forests on 0/1 labels, whose variance criterion equals the Gini criterion."""
    start = perf_counter()
    found = []
    for leaf in LEAVES:
        forest = RandomForestRegressor(
            N_TREES, max_features="sqrt", min_samples_leaf=leaf, oob_score=True, random_state=seed
        ).fit(task.X, task.Y)
        left_out = forest.oob_prediction_
        found.append((f1_samples(task.Y, left_out > best_threshold(task.Y, left_out)), leaf, forest))
    _, leaf, forest = max(found, key=lambda one: one[0])
    scores = forest.predict(task.X_test)
    chosen = f"at least {leaf} rows in a leaf"
    yield from _thresholded(FOREST, task.Y, forest.oob_prediction_, scores, chosen, perf_counter() - start)


# -------------------------------------------------------------------------------------------- logistic regression


def logistic(task: LabelTask, seed: int) -> Iterator[tuple[str, Prediction]]:
    """scikit-learn's, one model per label; design, C and threshold by F1 on held-out folds."""
    start = perf_counter()
    folds = KFold(N_FOLDS, shuffle=True, random_state=seed)
    found = []
    for name, cost in itertools.product(task.designs, task.costs):
        model = OneVsRestClassifier(LogisticRegression(C=cost, solver="liblinear"))
        left_out = cross_val_predict(model, task.designs[name][0], task.Y, cv=folds, method="predict_proba")
        found.append((f1_samples(task.Y, left_out > best_threshold(task.Y, left_out)), name, cost, left_out))
    _, name, cost, left_out = max(found, key=lambda one: one[0])
    X, X_test = task.designs[name]
    model = OneVsRestClassifier(LogisticRegression(C=cost, solver="liblinear")).fit(X, task.Y)
    scores = model.predict_proba(X_test)
    chosen = "; ".join(part for part in (name, f"C = {cost:g}") if part)
    yield from _thresholded(LOGISTIC, task.Y, left_out, scores, chosen, perf_counter() - start)


# ------------------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class Seeds(Plan):
    """The data sets, the first of which gets more tables, and the number of seeds, starting with `seed`.

    The splits are the official ones; seeds concern the forests and the folds of logistic regression.
    """

    sets: tuple[str, ...] = SETS

    @property
    def seeds(self) -> range:
        """One for each repeat."""
        return range(self.seed, self.seed + self.repeat)


@dataclass(frozen=True)
class Run(Case):
    """Methods that share a fit, on one data set; deterministic ones run for the first seed only."""

    set: str
    family: str
    seed: int


FAMILIES: dict[str, Callable[[LabelTask, int], Iterator[tuple[str, Prediction]]]] = {
    "kernel ridge and IOKR": lambda task, seed: ridges(task),
    "output-kernel forests": forests,
    "random forests": random_forests,
    "logistic regression": logistic,
}


def cases(plan: Seeds, data: dict[str, MultiLabel]) -> list[Run]:
    """Every family on every data set; random ones for each seed."""
    deterministic, *others = FAMILIES
    runs = [(deterministic, plan.seed), *itertools.product(others, plan.seeds)]
    return [Run(name, *run) for name, run in itertools.product(plan.sets, runs)]


def work(case: Run, plan: Seeds, data: dict[str, MultiLabel]) -> dict[str, dict[str, Any]]:
    """method → metrics on the test part, chosen parameters, and seconds."""
    task = task_of(data[case.set])
    seen = seen_sets(data[case.set])
    return {
        method: {
            "f1": f1_samples(task.Y_test, found.sets),
            "hamming": hamming(task.Y_test, found.sets),
            "f1 of seen sets": f1_samples(task.Y_test[seen], found.sets[seen]) if seen.any() else 0.0,
            "f1 of other sets": f1_samples(task.Y_test[~seen], found.sets[~seen]) if not seen.all() else 0.0,
            "chosen": found.chosen,
            "seconds": found.seconds,
        }
        for method, found in FAMILIES[case.family](task, case.seed)
    }


def seen_sets(data: MultiLabel) -> NDArray[np.bool_]:
    """Mask of the test rows whose label set occurs in training."""
    known = set(keys(data.Y[: data.n_train]))
    return np.array([key in known for key in keys(data.Y[data.n_train :])])
