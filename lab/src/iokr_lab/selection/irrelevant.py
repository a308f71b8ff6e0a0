"""Friedman's function of five columns among columns that play no role: R² on new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Spread, Table
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.standardized import Standardized
from iokr.kernels.vectors import ARD, RBF
from iokr.model_selection.tuning import tune
from iokr_lab.study import Case, Results
from iokr_lab.timing import timed

__all__ = ["COUNTS", "METHODS", "Irrelevant", "at_least_boosting", "evaluate", "table"]

Matrix = NDArray[np.float64]
COUNTS = (20, 100, 500)  # irrelevant columns
RELEVANT = 5
ROWS = 200
NEW_ROWS = 2000
MOST = 10  # draws

TUNED = "ARD, evidence with the prior"
DEFAULT = "ARD, evidence, prior by default"
ORACLE = "ARD, evidence, on the five columns"
ONE = "one width, leave-one-out"
BOOSTING = "gradient boosting"
HISTOGRAMS = "boosting of histograms"


@dataclass(frozen=True)
class Irrelevant(Case):
    """The number of columns that play no role, and of a draw of all rows."""

    columns: int
    draw: int


def tuned(prior: str, X: Matrix, y: Matrix) -> Any:
    """Widths and alpha; "auto" takes the prior where there are more widths than a fifth of the rows."""
    return tune(IOKR(ARD()), X, y, ["kernel__gammas", "alpha"], prior=prior)


def one_width(X: Matrix, y: Matrix) -> Any:
    """Nine widths in steps of e about 1/(2p) on standardised columns, and alpha."""
    unit = 1 / (2 * X.shape[1])
    return IOKRCV([Standardized(RBF(unit * scale)) for scale in np.exp(np.arange(-4.0, 5.0)).tolist()]).fit(X, y)


def boosting(X: Matrix, y: Matrix) -> Any:
    """With default parameters."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=0).fit(X, y)


def histograms(X: Matrix, y: Matrix) -> Any:
    """With default parameters."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0).fit(X, y)


METHODS: dict[str, Callable[[Matrix, Matrix], Any]] = {
    TUNED: partial(tuned, "sparse"),
    DEFAULT: partial(tuned, "auto"),
    ORACLE: partial(tuned, "auto"),
    ONE: one_width,
    BOOSTING: boosting,
    HISTOGRAMS: histograms,
}


def evaluate(case: Irrelevant, seed: int) -> dict[str, Any]:
    """R² on new rows and processor seconds of every method, and how many columns of each kind `tune` included."""
    from sklearn.datasets import make_friedman1

    state = int(np.random.SeedSequence((seed, case.columns, case.draw)).generate_state(1)[0])
    X, y = make_friedman1(ROWS + NEW_ROWS, RELEVANT + case.columns, noise=1.0, random_state=state)
    found: dict[str, Any] = {}
    for name, method in METHODS.items():
        inputs = X[:, :RELEVANT] if name == ORACLE else X
        model, seconds = timed(partial(method, inputs[:ROWS], y[:ROWS]))
        found[name] = {"r2": float(model.score(inputs[ROWS:], y[ROWS:])), "seconds": round(seconds, 3)}
        if name == TUNED:
            included = np.array(model.tuning_["columns"]["kernel__gammas"])
            found["relevant"] = int(np.sum(included < RELEVANT))
            found["irrelevant"] = int(np.sum(included >= RELEVANT))
    return found


def at_least_boosting(results: Results, counts: tuple[int, ...]) -> str:
    """A sentence about the mean R² of `tune` and of the better boosting."""

    def mean(method: str, count: int) -> float:
        return float(np.mean(results.numbers(Irrelevant, f"{method}.r2", columns=count)))

    ours = ", ".join(f"{mean(TUNED, count):.2f}" for count in counts)
    theirs = ", ".join(f"{max(mean(BOOSTING, count), mean(HISTOGRAMS, count)):.2f}" for count in counts)
    listed = ", ".join(str(count) for count in counts)
    return (
        f"On Friedman's function with {listed} irrelevant columns ARD with the prior has R² {ours} on new rows, the "
        f"better of two gradient boostings {theirs}."
    )


def table(results: Results, counts: tuple[int, ...]) -> Table:
    """A row per number of irrelevant columns."""
    rows = []
    for count in counts:

        def of(what: str, count: int = count) -> list[float]:
            return results.numbers(Irrelevant, what, columns=count)

        row: dict[str, Any] = {"irrelevant columns": count}
        row |= {name: Spread.of(of(f"{name}.r2"), digits=3) for name in METHODS}
        row["relevant included"] = f"{np.mean(of('relevant')):.1f} of {RELEVANT}"
        row["irrelevant included"] = round(float(np.mean(of("irrelevant"))), 1)
        row["seconds of the prior"] = Spread.of(of(f"{TUNED}.seconds"), digits=1)
        rows.append(row)
    note = (
        f"sklearn.datasets.make_friedman1 with noise 1, {ROWS} training rows, {NEW_ROWS} new rows; ± is the standard "
        "deviation over draws of all rows. The noise alone limits R² to about .96. Boosting is scikit-learn's with "
        "default parameters."
    )
    return Table("Friedman's function among irrelevant columns: R² on new rows", rows, note, ours=(TUNED,))
