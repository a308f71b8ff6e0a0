"""The lower half of scikit-learn's digits from their upper half."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

from iokr.embeddings.identity import Identity
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.report import MUTED, OURS, THEIRS, Figure, Pictures, Report, Table, Text, plot
from iokr.report.progress import Progress, silent
from iokr_lab.images.halves import halves, hidden, whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["run"]

Matrix = NDArray[np.float64]

WIDTHS = (0.5, 1.0, 2.0, 4.0)  # what to try for gamma, in units of the default
WHITE, BLACK = 0, 16  # grey levels of scikit-learn's digits


def run(*, seed: int = 0, repeat: int | None = None, progress: Progress = silent) -> Report:
    """Complete digits that were held out, and compare with two baselines.

    Half of the digits is held out. Bandwidth and alpha are chosen on the other half, by leave-one-out in closed form.
    Nothing but the split is drawn, so `repeat` changes nothing.
    """
    digits = load_digits()
    upper, lower = halves(digits.data)
    train, test = train_test_split(np.arange(len(upper)), test_size=0.5, stratify=digits.target, random_state=seed)
    X, Y, X_test, Y_test = upper[train], lower[train], upper[test], lower[test]

    progress(0, 4, "choosing bandwidth and alpha")
    gamma = RBF().fit(X).gamma_
    model = IOKRCV([RBF(gamma * width) for width in WIDTHS], embedding=Identity(centered=True)).fit(X, Y)
    gamma = gamma * WIDTHS[model.best_index_[0]]
    progress(1, 4, "learning with an output kernel")
    chooser = IOKRCV(RBF(gamma), output_kernel=RBF()).fit(X, Y)
    progress(2, 4, "completing digits")
    lower_halves = {
        "IOKR": model.predict(X_test),
        "IOKR, output kernel": chooser.predict(X_test),
        "nearest neighbour": KNeighborsRegressor(n_neighbors=1).fit(X, Y).predict(X_test),
        "mean image": np.broadcast_to(Y.mean(axis=0), Y_test.shape),
    }
    progress(3, 4, "the path of alpha")
    loo = np.sqrt(model.loo_errors_ / Y.shape[1])
    held_out = [
        _rmse(IOKR(RBF(gamma), embedding=Identity(centered=True), alpha=alpha).fit(X, Y).predict(X_test), Y_test)
        for alpha in model.alphas
    ]
    progress(4, 4, "drawing the page")
    shown = np.array([np.flatnonzero(digits.target[test] == digit)[0] for digit in range(10)])
    return Report(
        "The lower half of a digit from its upper half",
        f"A model learned from {len(train)} digits sees the upper half of {len(test)} others and draws the rest.",
        (
            _errors(lower_halves, Y_test),
            _pictures(X_test, Y_test, lower_halves, shown),
            Text(
                "How strong a penalty?",
                (
                    "Leave-one-out tells, for every bandwidth and every `alpha`, how well each training digit is "
                    "completed by a model that has not seen it. In closed form this costs one eigendecomposition for "
                    "each bandwidth. The held-out digits were not used to choose; they show that it chose well.",
                ),
            ),
            _curve(model, loo, held_out),
            _path(model, loo, held_out),
        ),
        (
            "Errors are root mean squares over pixels of the lower half, whose grey levels go from 0 to 16.",
            "`IOKR` predicts the 32 pixels as a vector, `h(x) = Σ cᵢ k(xᵢ, x)`, around their mean: the best guess on "
            "average, hence a little blurred. With a Gaussian output kernel the answer is a lower half that was seen "
            "in training, the one whose features are closest to `h(x)`: sharp, though not as close pixel by pixel.",
        ),
    )


def _rmse(predicted: Any, true: Matrix) -> float:
    return float(np.sqrt(np.mean((np.asarray(predicted) - true) ** 2)))


def _errors(lower_halves: dict[str, Any], Y_test: Matrix) -> Table:
    errors = {name: _rmse(predicted, Y_test) for name, predicted in lower_halves.items()}
    rows = [
        {"method": name, "error": error, "of the mean image's": f"{error / errors['mean image']:.0%}"}
        for name, error in errors.items()
    ]
    return Table(f"Error on {len(Y_test)} held-out digits (grey levels of {BLACK})", rows, ours=("error",))


def _pictures(X_test: Matrix, Y_test: Matrix, lower_halves: dict[str, Any], shown: NDArray[Any]) -> Pictures:
    rows = {"given": hidden(X_test[shown]), "true": whole(X_test[shown], Y_test[shown])}
    for name, predicted in lower_halves.items():
        rows[name] = whole(X_test[shown], np.clip(np.asarray(predicted)[shown], WHITE, BLACK))
    return Pictures(rows, "The first held-out example of each digit; only the upper half is given.", WHITE, BLACK)


def _curve(model: IOKRCV, loo: Matrix, held_out: list[float]) -> Figure:
    best = model.best_index_

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for errors in np.delete(loo, best[0], axis=0):
            axes.semilogx(model.alphas, errors, color=MUTED, linewidth=0.7, alpha=0.6)
        axes.semilogx([], [], color=MUTED, linewidth=0.7, label="other bandwidths")
        axes.semilogx(model.alphas, loo[best[0]], color=OURS, label="leave-one-out")
        axes.semilogx(model.alphas, held_out, color=THEIRS, linestyle="--", label="held out")
        axes.plot(model.alpha_, loo[best], "o", color=OURS, label="chosen")
        axes.set(xlabel="alpha", ylabel="error (grey levels)")
        axes.legend()

    caption = f"Leave-one-out error over `alpha`; it is lowest at alpha = {model.alpha_:.3g}."
    return plot(draw, caption=caption)


def _path(model: IOKRCV, loo: Matrix, held_out: list[float]) -> Table:
    kernel, chosen = model.best_index_
    rows = [
        {
            "alpha": float(alpha),
            "leave-one-out error": float(loo[kernel, i]),
            "held-out error": held_out[i],
            "": "← chosen" if i == chosen else "",
        }
        for i, alpha in enumerate(model.alphas)
    ]
    return Table("The path of alpha, at the chosen bandwidth", rows, ours=("leave-one-out error",), folded=True)
