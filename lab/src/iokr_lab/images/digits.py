"""The lower half of scikit-learn's digits from their upper half.

Half of the digits is held out. Bandwidth and alpha are chosen on the other half, by leave-one-out in closed form.
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
from iokr.embeddings.identity import Identity
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr_lab.images.halves import ImageSplit, Matrix, halves, hidden, whole
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

WIDTHS = (0.5, 1.0, 2.0, 4.0)  # what to try for gamma, in units of the default
WHITE, BLACK = 0, 16  # grey levels of scikit-learn's digits
VECTORS, KERNEL, NEAREST, MEAN = METHODS = ("IOKR", "IOKR, output kernel", "nearest neighbour", "mean image")


@dataclass(frozen=True)
class Digits(Plan):
    """How many digits there are; nothing but the split is drawn."""

    repeat: int = 0
    n_digits: int = 1797


@dataclass(frozen=True)
class Completed(Case):
    """The held-out digits, completed by one method."""

    method: str


Data = tuple[ImageSplit, NDArray[np.intp]]  # and the first held-out example of each digit


def _load(plan: Digits) -> Data:
    digits = load_digits()
    target = digits.target[: plan.n_digits]
    upper, lower = halves(digits.data[: plan.n_digits])
    train, test = train_test_split(np.arange(len(upper)), test_size=0.5, stratify=target, random_state=plan.seed)
    shown = np.array([np.flatnonzero(target[test] == digit)[0] for digit in range(10)])
    return ImageSplit(upper[train], lower[train], upper[test], lower[test]), shown


def _work(case: Completed, plan: Digits, data: Data) -> dict[str, Any]:
    """The error, the examples that are shown and, where alpha is chosen, its path."""
    split, shown = data
    X, Y, pixels = split.X, split.Y, Identity(centered=True)
    path: dict[str, Any] = {}
    if case.method == MEAN:
        lower = np.broadcast_to(Y.mean(axis=0), split.Y_test.shape)
    elif case.method == NEAREST:
        lower = KNeighborsRegressor(n_neighbors=1).fit(X, Y).predict(split.X_test)
    else:
        gamma = RBF().fit(X).gamma_
        model = IOKRCV([RBF(gamma * width) for width in WIDTHS], embedding=pixels).fit(X, Y)
        kernel = RBF(gamma * WIDTHS[model.best_index_[0]])
        if case.method == VECTORS:
            each = [IOKR(kernel, embedding=pixels, alpha=alpha).fit(X, Y) for alpha in model.alphas]
            path = {
                "alphas": list(map(float, model.alphas)),
                "loo": np.sqrt(model.loo_errors_ / Y.shape[1]),  # a row for each bandwidth
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
    path = results[Completed(VECTORS)]
    n_train, n_test = len(data[0].X), len(data[0].X_test)
    return Report(
        "The lower half of a digit from its upper half",
        f"A model learned from {n_train} digits sees the upper half of {n_test} others and draws the rest.",
        (
            _errors(results, n_test),
            _pictures(results, data),
            Text(
                "How strong a penalty?",
                (
                    "Leave-one-out tells, for every bandwidth and every `alpha`, how well each training digit is "
                    "completed by a model that has not seen it. In closed form this costs one eigendecomposition for "
                    "each bandwidth. The held-out digits were not used to choose; they show that it chose well.",
                ),
            ),
            _curve(path),
            _path(path),
        ),
        (
            "Errors are root mean squares over pixels of the lower half, whose grey levels go from 0 to 16.",
            "`IOKR` predicts the 32 pixels as a vector, `h(x) = Σ cᵢ k(xᵢ, x)`, around their mean: the best guess on "
            "average, hence a little blurred. With a Gaussian output kernel the answer is a lower half that was seen "
            "in training, the one whose features are closest to `h(x)`: sharp, though not as close pixel by pixel.",
        ),
    )


def _errors(results: Results, n_test: int) -> Table:
    errors = {name: results[Completed(name)]["error"] for name in METHODS}
    rows = [
        {"method": name, "error": error, "of the mean image's": f"{error / errors[MEAN]:.0%}"}
        for name, error in errors.items()
    ]
    return Table(f"Error on {n_test} held-out digits (grey levels of {BLACK})", rows, ours=("error",))


def _pictures(results: Results, data: Data) -> Pictures:
    split, shown = data
    X, Y = split.X_test[shown], split.Y_test[shown]
    rows = {"given": hidden(X), "true": whole(X, Y)}
    for name in METHODS:
        rows[name] = whole(X, np.clip(results[Completed(name)]["shown"], WHITE, BLACK))
    return Pictures(rows, "The first held-out example of each digit; only the upper half is given.", WHITE, BLACK)


def _curve(path: Mapping[str, Any]) -> Figure:
    alphas, loo, (kernel, best) = path["alphas"], np.array(path["loo"]), path["best"]

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

    return plot(draw, caption=f"Leave-one-out error over `alpha`; it is lowest at alpha = {alphas[best]:.3g}.")


def _path(path: Mapping[str, Any]) -> Table:
    kernel, best = path["best"]
    rows = [
        {
            "alpha": alpha,
            "leave-one-out error": path["loo"][kernel][i],
            "held-out error": path["held out"][i],
            "": "← chosen" if i == best else "",
        }
        for i, alpha in enumerate(path["alphas"])
    ]
    return Table("The path of alpha, at the chosen bandwidth", rows, ours=("leave-one-out error",), folded=True)


PLANS = {"short": Digits(n_digits=400), "default": Digits()}
STUDY = Study(plans=PLANS, load=_load, cases=lambda plan, data: [*map(Completed, METHODS)], work=_work, page=_page)
