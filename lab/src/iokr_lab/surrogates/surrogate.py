"""Closed form, network and forest on the same coordinates of an output kernel, against the number of training rows.

USPS: lower halves of digits under a Gaussian kernel from upper halves. bibtex, official split: label sets under
Tanimoto's kernel from tf-idf words. All methods predict the same `rank` Nyström coordinates of the output kernel; the
prediction is the nearest training output.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import INK, OURS, THEIRS, Figure, Report, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.embeddings.nystroem import Nystroem
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.surrogate.model import Surrogate
from iokr.estimators.surrogate.neural import NeuralRegressor
from iokr.kernels.base import Kernel
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF, Linear
from iokr.metrics import f1_samples, rbf_loss
from iokr_lab.data.multilabel import load_multilabel
from iokr_lab.data.usps import load_usps
from iokr_lab.images.halves import halves
from iokr_lab.splits import TrainTest
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.surrogates.threads import import_torch, one_thread
from iokr_lab.timing import timed

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

USPS = "USPS halves"
BIBTEX = "bibtex"
CLOSED = "closed form"
NETWORK = "network"
FOREST = "forest"
METHODS = (CLOSED, NETWORK, FOREST)
SIGMA = 7.0  # width of the kernel on lower halves, exp(−‖y − z‖²/(2σ²))
FEW = 1000  # maximal number of rows on which input kernel and alpha of the closed form are chosen
ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Sizes(Plan):
    """Numbers of training rows, test rows, output coordinates, epochs of the network and trees of the forest."""

    sizes: tuple[int, ...] = (500, 1000, 2000, 4000, 7000)
    tested: int = 1000
    rank: int = 200
    epochs: int = 100
    trees: int = 100


@dataclass(frozen=True)
class Fit(Case):
    """One method on the first rows of a random order of one data set."""

    set: str
    rows: int
    method: str
    draw: int


@dataclass(frozen=True, eq=False)
class Task(TrainTest):
    """Training and test part of a data set, the output kernel, and the candidates for the input kernel."""

    output_kernel: Kernel
    kernels: tuple[Kernel, ...]


def load(plan: Sizes) -> dict[str, Task]:
    """Both data sets; words are weighted by the training part."""
    import_torch()
    from sklearn.feature_extraction.text import TfidfTransformer

    digits = load_usps()
    m = plan.tested
    X, Y = halves(digits.X_train)
    X_test, Y_test = halves(digits.X_test)
    widths = tuple(RBF(gamma) for gamma in (0.005, 0.01, 0.02, 0.04))
    found = load_multilabel("bibtex")
    n = found.n_train
    words = TfidfTransformer().fit(found.X[:n]).transform(found.X).toarray()
    gaussian = RBF(1 / (2 * SIGMA**2))
    labels = found.Y[:n], words[n : n + m], found.Y[n : n + m]
    return {
        USPS: Task(X, Y, X_test[:m], Y_test[:m], gaussian, widths),
        BIBTEX: Task(words[:n], *labels, Tanimoto(), (Linear(), RBF(0.3), RBF(1.0))),
    }


def cases(plan: Sizes, data: dict[str, Task]) -> list[Fit]:
    """Every method with every number of rows, at most all rows of the data set."""
    found = []
    for name, task in data.items():
        sizes = dict.fromkeys(min(size, len(task.X)) for size in plan.sizes)
        found += [Fit(name, n, method, draw) for n in sizes for draw in range(plan.repeat) for method in METHODS]
    return found


def work(case: Fit, plan: Sizes, data: dict[str, Task]) -> dict[str, Any]:
    """Mean squared error in the output feature space, prediction error, and processor seconds of fit and prediction."""
    task = data[case.set]
    rows = np.random.default_rng([plan.seed, case.draw]).permutation(len(task.X))[: case.rows]
    X = task.X[rows]
    Y = task.Y[rows]
    with one_thread() if case.method == NETWORK else nullcontext():
        (model, chosen), fit_seconds = timed(lambda: _fitted(case.method, task, X, Y, plan, case.draw))
        predicted, predict_seconds = timed(lambda: np.asarray(model.predict(task.X_test)))
    E = model.embedding_
    S = E.represent(task.Y_test)
    residuals = np.asarray(E.sq_residuals(np.asarray(model.decision_function(task.X_test)), S))
    Z = np.asarray(E.coordinates(S, np.empty((0, 0))))
    lost = np.asarray(E.sq_norms(S)) - (Z * Z).sum(axis=1)  # ‖ψ(y)‖² outside the coordinates
    return {
        "feature error": float(np.mean(residuals)),
        "floor": float(np.mean(lost)),
        "error": _error(case.set, task.Y_test, predicted),
        "fit": fit_seconds,
        "predict": predict_seconds,
        "chosen": chosen,
    }


def _error(name: str, truth: Matrix, predicted: Matrix) -> float:
    """The mean of 1 − k_Y for halves, of 1 − F1 for label sets."""
    if name == USPS:
        return rbf_loss(truth, predicted, gamma=1 / (2 * SIGMA**2)) / 2
    return 1 - f1_samples(truth, predicted)


def _fitted(method: str, task: Task, X: Matrix, Y: Matrix, plan: Sizes, draw: int) -> tuple[Any, str]:
    """A model on the shared output coordinates, and a description of the chosen parameters."""
    outputs: dict[str, Any] = {
        "output_kernel": task.output_kernel,
        "embedding": Nystroem(min(plan.rank, len(X)), random_state=plan.seed),
    }
    if method == CLOSED:
        few = IOKRCV(list(task.kernels), alphas=ALPHAS, **outputs).fit(X[:FEW], Y[:FEW])
        kernel = few.kernel_
        alpha = few.alpha_
        model = few if len(X) <= FEW else IOKR(kernel, alpha=alpha, **outputs).fit(X, Y)
        return model, f"{kernel!r}, λ = {alpha:g}"
    seed = plan.seed + draw
    if method == NETWORK:
        network = Surrogate(NeuralRegressor(epochs=plan.epochs, random_state=seed), **outputs).fit(X, Y)
        return network, f"{len(network.regressor_.losses_)} epochs"
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(plan.trees, max_features="sqrt", min_samples_leaf=2, random_state=seed)
    return Surrogate(forest, **outputs).fit(X, Y), f"{plan.trees} trees"


# ---------------------------------------------------------------------------------------------------------------- page

_QUESTION = (
    "`Surrogate` fits any regressor to the coordinates of an output kernel. Is a network or a forest better than the "
    "closed form of IOKR where the latter is feasible? All three predict the same coordinates, z(y) = L⁻¹ k_Y(P, y) "
    "with the same landmarks P, and decode to the nearest training output."
)
_CHOICE = (
    f"Closed form: Gaussian widths (bibtex: and the linear kernel) and λ by leave-one-out on at most {FEW} training "
    "rows, then fitted to all rows. Network: `NeuralRegressor()` with default parameters, two hidden layers of 512, "
    "early stopping on a tenth of the training rows. Forest: scikit-learn's, √p features per split, at least two rows "
    "per leaf. Network and forest are not tuned."
)


def page(results: Results, plan: Sizes, data: dict[str, Task]) -> Report:
    """Errors and seconds against the number of training rows."""
    return Report(
        "Closed form, network and forest on the same outputs",
        _summary(results, data),
        (
            Text("The question", (_QUESTION, _CHOICE)),
            *(_table(results, name) for name in data),
            _figure(results, data),
        ),
        (
            f"{plan.rank} coordinates. The floor is the mean loss of these coordinates on the test outputs, k_Y(y, y) "
            "− ‖z(y)‖², a lower bound for every regressor. Seconds are processor seconds of one thread, including the "
            "choice of parameters; compare them with each other only.",
            f"{plan.repeat} random order{'s' * (plan.repeat > 1)} of the training rows; {plan.tested} test rows.",
        ),
    )


def _mean(results: Results, metric: str, **same: Any) -> float:
    return float(np.mean(results.numbers(Fit, metric, **same)))


def _table(results: Results, name: str) -> Table:
    what = "1 − k_Y" if name == USPS else "1 − F1"
    rows = []
    for n in dict.fromkeys(case.rows for case in results.of(Fit, set=name)):
        row: dict[str, Any] = {"rows": n, "floor": f"{_mean(results, 'floor', set=name, rows=n):.3f}"}
        for method in METHODS:
            same: dict[str, Any] = {"set": name, "rows": n, "method": method}
            row[f"{method}: features"] = f"{_mean(results, 'feature error', **same):.3f}"
            row[f"{method}: predictions"] = f"{_mean(results, 'error', **same):.3f}"
            row[f"{method}: s"] = f"{_mean(results, 'fit', **same) + _mean(results, 'predict', **same):.1f}"
        rows.append(row)
    note = f"features: mean ‖ψ(y) − h(x)‖²; predictions: mean {what}; s: processor seconds of fit and prediction."
    return Table(f"{name}: errors and seconds", rows, note=note)


def _summary(results: Results, data: dict[str, Task]) -> str:
    parts = []
    for name in data:
        n = max(case.rows for case in results.of(Fit, set=name))
        errors = {method: _mean(results, "error", set=name, rows=n, method=method) for method in METHODS}
        best = min(errors, key=lambda method: errors[method])
        shown = ", ".join(f"{method} {value:.3f}" for method, value in errors.items())
        parts.append(f"{name} with {n} rows, prediction error: {shown}; the best is the {best}")
    return f"{'. '.join(parts)}."


def _figure(results: Results, data: dict[str, Task]) -> Figure:
    looks = dict(zip(METHODS, ((OURS, "o-"), (THEIRS, "s--"), (INK, "^:")), strict=True))

    def draw(canvas: Canvas) -> None:
        panels = canvas.subplots(len(data), 2, squeeze=False)
        for row, name in zip(panels, data, strict=True):
            sizes = list(dict.fromkeys(case.rows for case in results.of(Fit, set=name)))
            for method, (colour, style) in looks.items():
                errors = [_mean(results, "error", set=name, rows=n, method=method) for n in sizes]
                seconds = [_mean(results, "fit", set=name, rows=n, method=method) for n in sizes]
                row[0].plot(sizes, errors, style, color=colour, markersize=4, label=method)
                row[1].plot(sizes, seconds, style, color=colour, markersize=4)
            row[0].set(ylabel=f"error, {name}", xlabel="training rows")
            row[1].set(ylabel="processor s of the fit", xlabel="training rows", yscale="log")
        canvas.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3)

    caption = "Prediction error and processor seconds of the fit against the number of training rows."
    return plot(draw, caption=caption, size=(7.0, 5.6))


STUDY = Study(
    plans={
        "short": Sizes(sizes=(200, 400), tested=200, rank=50, epochs=10, trees=20),
        "default": Sizes(),
        "full": Sizes(repeat=5, epochs=200),
    },
    load=load,
    cases=cases,
    work=work,
    page=page,
)
