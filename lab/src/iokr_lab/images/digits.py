"""The lower half of scikit-learn's digits predicted from the upper half.

Half of the digits are held out. Bandwidth and alpha are chosen on the other half by leave-one-out in closed form. The
models of pixels have an intercept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from iokr.apps.report import MUTED, OURS, THEIRS, Figure, Pictures, Report, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr_lab.images.halves import Matrix, halves, upper_only, whole
from iokr_lab.splits import TrainTest
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

WIDTHS = (0.5, 1.0, 2.0, 4.0)  # grid of gamma, in units of the default
# Grey levels of scikit-learn's digits.
WHITE = 0
BLACK = 16
VECTORS = "IOKR"
KERNEL = "IOKR, output kernel"
NEAREST = "nearest neighbour"
MEAN = "mean image"
METHODS = (VECTORS, KERNEL, NEAREST, MEAN)


@dataclass(frozen=True)
class Digits(Plan):
    """The number of digits; only the split is random."""

    repeat: int = 0
    n_digits: int = 1797


@dataclass(frozen=True)
class Completion(Case):
    """The held-out digits, completed by one method."""

    method: str


Data = tuple[TrainTest, NDArray[np.intp]]  # and the first held-out example of each digit


def _load(plan: Digits) -> Data:
    digits = load_digits()
    target = digits.target[: plan.n_digits]
    upper, lower = halves(digits.data[: plan.n_digits])
    train, test = train_test_split(np.arange(len(upper)), test_size=0.5, stratify=target, random_state=plan.seed)
    shown = np.array([np.flatnonzero(target[test] == digit)[0] for digit in range(10)])
    return TrainTest.of(upper, lower, train, test), shown


def _work(case: Completion, plan: Digits, data: Data) -> dict[str, Any]:
    """The error, the examples shown and, for the method that chooses alpha, its path."""
    split, shown = data
    X = split.X
    Y = split.Y
    path: dict[str, Any] = {}
    if case.method == MEAN:
        lower = np.broadcast_to(Y.mean(axis=0), split.Y_test.shape)
    elif case.method == NEAREST:
        lower = KNeighborsRegressor(n_neighbors=1).fit(X, Y).predict(split.X_test)
    else:
        gamma = RBF().fit(X).gamma_
        model = IOKRCV([RBF(gamma * width) for width in WIDTHS], intercept=True).fit(X, Y)
        kernel = RBF(gamma * WIDTHS[model.best_index_[0]])
        if case.method == VECTORS:
            each = [IOKR(kernel, alpha=alpha, intercept=True).fit(X, Y) for alpha in model.alphas]
            path = {
                "alphas": list(map(float, model.alphas)),
                "loo": np.sqrt(model.loo_errors_ / Y.shape[1]),  # a row per bandwidth
                "held out": [_rmse(one.predict(split.X_test), split.Y_test) for one in each],
                "best": list(map(int, model.best_index_)),
            }
        else:
            model = IOKRCV(kernel, output_kernel=RBF()).fit(X, Y)
        lower = np.asarray(model.predict(split.X_test))
    return {"error": _rmse(lower, split.Y_test), "shown": lower[shown], **path}


def _rmse(predicted: Any, true: Matrix) -> float:
    return float(np.sqrt(np.mean((np.asarray(predicted) - true) ** 2)))


# --------------------------------------------------------------------------------------------------------------- page


def _page(results: Results, plan: Digits, data: Data) -> Report:
    path = results[Completion(VECTORS)]
    n_train = len(data[0].X)
    n_test = len(data[0].X_test)
    return Report(
        "The lower half of a digit from its upper half",
        f"A model trained on {n_train} digits predicts the lower half of {n_test} other digits from the upper half.",
        (
            _errors(results, n_test),
            _pictures(results, data),
            Text(
                "Choice of the regularisation",
                (
                    "For every bandwidth and every `alpha`, the leave-one-out error measures how well each training "
                    "digit is completed by a model fitted without it. In closed form this costs one eigendecomposition "
                    "per bandwidth. The held-out digits were not used for the choice and confirm it.",
                ),
            ),
            _curve(path),
            _path(path),
        ),
        (
            "Errors are root mean squared errors over the pixels of the lower half, with grey levels from 0 to 16.",
            "`IOKR` predicts the 32 pixels as a vector, `h(x) = Σ cᵢ k(xᵢ, x) + b`: the best prediction "
            "on average, hence slightly blurred. With a Gaussian output kernel the prediction is the lower half of a "
            "training digit, the one whose features are closest to `h(x)`: sharp, but with a larger pixel error.",
        ),
    )


def _errors(results: Results, n_test: int) -> Table:
    errors = {name: results[Completion(name)]["error"] for name in METHODS}
    rows = [
        {"method": name, "error": error, "relative to mean image": f"{error / errors[MEAN]:.0%}"}
        for name, error in errors.items()
    ]
    return Table(f"Error on {n_test} held-out digits (grey levels of {BLACK})", rows, ours=("error",))


def _pictures(results: Results, data: Data) -> Pictures:
    split, shown = data
    X = split.X_test[shown]
    Y = split.Y_test[shown]
    rows = {"input": upper_only(X), "true": whole(X, Y)}
    for name in METHODS:
        rows[name] = whole(X, np.clip(results[Completion(name)]["shown"], WHITE, BLACK))
    return Pictures(rows, "The first held-out example of each digit; the input is the upper half.", WHITE, BLACK)


def _curve(path: Mapping[str, Any]) -> Figure:
    alphas = path["alphas"]
    loo = np.array(path["loo"])
    kernel, best = path["best"]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for errors in np.delete(loo, kernel, axis=0):
            axes.semilogx(alphas, errors, color=MUTED, linewidth=0.7, alpha=0.6)
        axes.semilogx([], [], color=MUTED, linewidth=0.7, label="other bandwidths")
        axes.semilogx(alphas, loo[kernel], color=OURS, label="leave-one-out")
        axes.semilogx(alphas, path["held out"], color=THEIRS, linestyle="--", label="held out")
        axes.plot(alphas[best], loo[kernel, best], "o", color=OURS, label="chosen")
        axes.set(xlabel="alpha", ylabel="error (grey levels)")
        axes.legend()

    return plot(draw, caption=f"Leave-one-out error over `alpha`; the minimum is at alpha = {alphas[best]:.3g}.")


def _path(path: Mapping[str, Any]) -> Table:
    kernel, best = path["best"]
    rows = [
        {
            "alpha": alpha,
            "leave-one-out error": path["loo"][kernel][i],
            "held-out error": path["held out"][i],
            "chosen": "yes" if i == best else "",
        }
        for i, alpha in enumerate(path["alphas"])
    ]
    return Table("The path of alpha, at the chosen bandwidth", rows, ours=("leave-one-out error",), folded=True)


PLANS = {"short": Digits(n_digits=400), "default": Digits()}
STUDY = Study(plans=PLANS, load=_load, cases=lambda plan, data: [*map(Completion, METHODS)], work=_work, page=_page)
