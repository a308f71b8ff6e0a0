"""Label sets from features on official splits: the data, the methods and the runs; `multilabel.py` shows them.

Every parameter is chosen on the training part: by leave-one-out in closed form for kernel ridge and IOKR, by the rows
that a tree did not draw for forests, by folds for logistic regression.
"""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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
from iokr.estimators.trees.forest import OutputKernelForest
from iokr.kernels.base import Kernel
from iokr.kernels.features import Features
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF, Cosine
from iokr.metrics import f1_samples, hamming
from iokr.solvers.base import ClosedForm
from iokr.solvers.closed_form.eigen import Eigen
from iokr.solvers.closed_form.lowrank import LowRank
from iokr_lab.data.multilabel import MultiLabel
from iokr_lab.label_sets.ridge import Ridge, by_f1, by_labels, by_seen_sets
from iokr_lab.label_sets.sets import F1Map, Matrix, best_threshold, nearest_sets

__all__ = [
    "FOREST_F1",
    "FOREST_TANIMOTO",
    "IOKR_F1",
    "IOKR_RBF",
    "IOKR_TANIMOTO",
    "METHODS",
    "OURS",
    "SETS",
    "Answer",
    "Results",
    "Task",
    "forests",
    "logistic",
    "n_steps",
    "random_forests",
    "ridges",
    "run_all",
    "task_of",
]

Step = Callable[[str], None]

SETS = ("bibtex", "corel5k", "emotions", "scene", "yeast", "birds")
IOKR_RBF, IOKR_TANIMOTO, IOKR_F1 = "IOKR, Gaussian outputs", "IOKR, Tanimoto outputs", "IOKR, F1 outputs"
FOREST_TANIMOTO, FOREST_F1 = "output-kernel forest, Tanimoto", "output-kernel forest, best F1"
RIDGE, LOGISTIC, FOREST = "kernel ridge", "logistic regression", "random forest"
HALF, TUNED = "{}, threshold ½", "{}, threshold chosen"
OURS = (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF, FOREST_F1, FOREST_TANIMOTO)
METHODS = (*OURS, *(way.format(name) for name in (RIDGE, LOGISTIC, FOREST) for way in (TUNED, HALF)))

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # γ of a Gaussian input kernel, in units of 1/(2p) for p standardised features
OUTPUT_GAMMAS = (0.01, 0.03, 0.1, 0.3, 1.0)  # of a Gaussian output kernel; ‖y − z‖² is the number of labels that differ
STRENGTHS = (0.001, 0.01, 0.1, 1.0), (1.0, 10.0, 100.0)  # C of logistic regression: columns scaled, rows of unit length
LEAVES = (1, 4)  # rows in a leaf, at least
N_FOLDS, N_TREES = 3, 100
SPLIT_RANK = 20  # coordinates of the output kernel that trees split on; leaves keep exact members
INPUT_RANK, OUTPUT_RANK = 1200, 400  # training inputs and label sets that stand for all, where there are more
EACH = ("kernel ridge", "Tanimoto outputs", "Gaussian outputs", "F1 outputs")  # steps of one set
EACH_SEED = ("output-kernel forest", "random forest", "logistic regression")  # steps of one set and seed


@dataclass(frozen=True)
class Task:
    """One data set: rows as trees and as linear models see them, label sets, and the input kernels to choose from."""

    name: str
    X: Matrix
    unit: Any  # standardised columns, or rows of unit length where X is sparse
    Y: Matrix
    X_test: Matrix
    unit_test: Any
    Y_test: Matrix
    kernels: dict[str, Kernel]  # on `unit`
    designs: dict[str, tuple[Any, Any]]  # training and test rows that linear models choose from
    strengths: tuple[float, ...]  # C of logistic regression
    solver: ClosedForm


@dataclass(frozen=True)
class Answer:
    """0/1 predictions for the test part, and how they came about."""

    sets: Matrix
    chosen: str
    seconds: float


@dataclass
class Results:
    """Figures by method and set, a value for each seed where there is chance."""

    f1: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    hamming: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    chosen: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))
    f1_by_row: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)  # of the first seed

    def add(self, task: Task, method: str, answer: Answer) -> None:
        key = method, task.name
        self.f1[key].append(f1_samples(task.Y_test, answer.sets))
        self.hamming[key].append(hamming(task.Y_test, answer.sets))
        self.seconds[key].append(answer.seconds)
        self.chosen[key].append(answer.chosen)
        rows = [f1_samples(y[None], z[None]) for y, z in zip(task.Y_test, answer.sets, strict=True)]
        self.f1_by_row.setdefault(key, np.array(rows))


def task_of(name: str, data: MultiLabel) -> Task:
    """The official split; columns scaled, and γ in units of their number, by the training part alone."""
    n, Y = data.n_train, data.Y
    if is_sparse(data.X):
        unit, words = normalize(data.X), TfidfTransformer().fit(data.X[:n]).transform(data.X)
        kernels: dict[str, Kernel] = {
            "cosine": Nystroem(Cosine(), rank=INPUT_RANK),
            "cosine of tf-idf": Nystroem(Features(TfidfTransformer()), rank=INPUT_RANK),
        }
        counts = data.X.toarray()
        designs = {"unit rows": (unit[:n], unit[n:]), "tf-idf": (words[:n], words[n:])}
        parts = counts[:n], unit[:n], Y[:n], counts[n:], unit[n:], Y[n:]
        return Task(name, *parts, kernels, designs, STRENGTHS[1], LowRank())
    scaled = StandardScaler().fit(data.X[:n]).transform(data.X)
    p = scaled.shape[1]
    kernels = {f"Gaussian, γ = {width:g}/{2 * p}": RBF(gamma=width / (2 * p)) for width in WIDTHS}
    parts = data.X[:n], scaled[:n], Y[:n], data.X[n:], scaled[n:], Y[n:]
    return Task(name, *parts, kernels, {"": (scaled[:n], scaled[n:])}, STRENGTHS[0], Eigen())


def n_steps(n_sets: int, n_seeds: int) -> int:
    """How often `run_all` calls `step`."""
    return n_sets * (len(EACH) + n_seeds * len(EACH_SEED))


def run_all(tasks: Iterator[Task], seeds: list[int], step: Step) -> Results:
    """Every method on every set; what is random once for each seed."""
    results = Results()
    for task in tasks:
        for method, answer in ridges(task, step):
            results.add(task, method, answer)
        for seed in seeds:
            for run in (forests, random_forests, logistic):
                for method, answer in run(task, seed, step):
                    results.add(task, method, answer)
    return results


# ------------------------------------------------------------------------------------------- kernel ridge and IOKR


def ridges(task: Task, step: Step) -> Iterator[tuple[str, Answer]]:
    """The input kernel by the F1 of thresholded scores left out; alpha anew for each output kernel, by its own F1."""
    step(f"{task.name}: {EACH[0]}")
    start = perf_counter()
    found = []
    for name, kernel in task.kernels.items():
        ridge = Ridge(kernel, task.unit, task.solver)
        found.append((*by_labels(ridge, task.Y, ALPHAS), name, ridge))
    _, alpha, left_out, name, ridge = max(found, key=lambda one: one[0])
    del found
    scores = ridge.values(task.Y, alpha, task.unit_test)
    chosen = f"{name}; alpha = {alpha:g}"
    yield from _thresholded(RIDGE, task.Y, left_out, scores, chosen, perf_counter() - start)

    gaussians: dict[str, Kernel] = {f"γ = {gamma:g} on outputs": RBF(gamma) for gamma in OUTPUT_GAMMAS}
    outputs: dict[str, dict[str, Kernel]] = {IOKR_TANIMOTO: {"": Tanimoto()}, IOKR_RBF: gaussians}
    for what, (method, kernels) in zip(EACH[1:], outputs.items(), strict=False):
        step(f"{task.name}: {what}")
        start = perf_counter()
        sets, of, alpha = by_seen_sets(ridge, task.Y, kernels, ALPHAS, OUTPUT_RANK, task.unit_test)
        chosen = "; ".join(part for part in (name, of, f"alpha = {alpha:g}") if part)
        yield method, Answer(sets, chosen, perf_counter() - start)
    step(f"{task.name}: {EACH[3]}")
    start = perf_counter()
    sets, alpha = by_f1(ridge, task.Y, _f1_map(task), ALPHAS, task.unit_test)
    yield IOKR_F1, Answer(sets, f"{name}; alpha = {alpha:g}", perf_counter() - start)


def _f1_map(task: Task) -> F1Map:
    return F1Map(task.Y.shape[1], int(task.Y.sum(axis=1).max()))


def _thresholded(
    name: str, Y: Matrix, left_out: Matrix, scores: Matrix, chosen: str, seconds: float
) -> Iterator[tuple[str, Answer]]:
    """The labels whose score is above the threshold chosen on scores of training rows, and above ½."""
    threshold = best_threshold(Y, left_out)
    ways = {TUNED: (threshold, f"{chosen}; threshold {threshold:.3g}"), HALF: (0.5, chosen)}
    for way, (above, what) in ways.items():
        yield way.format(name), Answer((scores > above).astype(np.float64), what, seconds)


# -------------------------------------------------------------------------------------------------------- forests


def forests(task: Task, seed: int, step: Step) -> Iterator[tuple[str, Answer]]:
    """Trees on the Tanimoto kernel; the least size of a leaf by the F1 of rows that trees did not draw."""
    step(f"{task.name}: {EACH_SEED[0]}, seed {seed}")
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
            n_jobs=2,
            random_state=seed,
        ).fit(task.X, task.Y)
        left_out = np.nan_to_num(forest.oob_decision_function_)
        found.append((f1_samples(task.Y, nearest_sets(left_out, forest.embedding_, task.Y)), leaf, forest))
    _, leaf, forest = max(found, key=lambda one: one[0])
    fitted = perf_counter() - start
    chosen = f"at least {leaf} rows in a leaf"
    sets = np.asarray(forest.predict(task.X_test))
    yield FOREST_TANIMOTO, Answer(sets, chosen, perf_counter() - start)
    start, f1 = perf_counter(), _f1_map(task)
    H = np.asarray(forest.weights(task.X_test)) @ f1.transform(task.Y)
    yield FOREST_F1, Answer(f1.best_sets(H), chosen, fitted + perf_counter() - start)


def random_forests(task: Task, seed: int, step: Step) -> Iterator[tuple[str, Answer]]:
    """scikit-learn's on the 0/1 labels: their variance splits as Gini does."""
    step(f"{task.name}: {EACH_SEED[1]}, seed {seed}")
    start = perf_counter()
    found = []
    for leaf in LEAVES:
        forest = RandomForestRegressor(
            N_TREES, max_features="sqrt", min_samples_leaf=leaf, oob_score=True, n_jobs=2, random_state=seed
        ).fit(task.X, task.Y)
        left_out = forest.oob_prediction_
        found.append((f1_samples(task.Y, left_out > best_threshold(task.Y, left_out)), leaf, forest))
    _, leaf, forest = max(found, key=lambda one: one[0])
    scores, chosen = forest.predict(task.X_test), f"at least {leaf} rows in a leaf"
    yield from _thresholded(FOREST, task.Y, forest.oob_prediction_, scores, chosen, perf_counter() - start)


# -------------------------------------------------------------------------------------------- logistic regression


def logistic(task: Task, seed: int, step: Step) -> Iterator[tuple[str, Answer]]:
    """scikit-learn's, one model per label; words, C and the threshold by the F1 of rows in the fold left out."""
    step(f"{task.name}: {EACH_SEED[2]}, seed {seed}")
    start = perf_counter()
    folds = KFold(N_FOLDS, shuffle=True, random_state=seed)
    found = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Label not .* is present in all training examples")
        for name, strength in itertools.product(task.designs, task.strengths):
            model = OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear"))
            left_out = cross_val_predict(model, task.designs[name][0], task.Y, cv=folds, method="predict_proba")
            found.append((f1_samples(task.Y, left_out > best_threshold(task.Y, left_out)), name, strength, left_out))
        _, name, strength, left_out = max(found, key=lambda one: one[0])
        X, X_test = task.designs[name]
        model = OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear")).fit(X, task.Y)
    scores = model.predict_proba(X_test)
    chosen = "; ".join(part for part in (name, f"C = {strength:g}") if part)
    yield from _thresholded(LOGISTIC, task.Y, left_out, scores, chosen, perf_counter() - start)
