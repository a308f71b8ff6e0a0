"""How often conformal sets hold the truth, over many draws of rows, and how large they are.

Kernels and alphas are fixed beforehand and nothing is estimated from the rows, so that the theorems apply; a draw is a
random order of a set's rows, the first for training, or a new sample.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import INK, MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.conformal.model import Conformal
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF
from iokr_lab.data.growth import load_growth
from iokr_lab.data.msms import load_msms_fp490
from iokr_lab.data.multilabel import load_multilabel
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

LEVELS = (0.8, 0.9, 0.95)
FULL, SPLIT, BOOSTING = "full conformal", "split conformal", "quantile boosting"
METHODS = {FULL: "full", "jackknife+": "jackknife+", "jackknife": "jackknife", SPLIT: "split"}
PROMISED = (FULL, SPLIT)  # whose coverage is proved to be at least the level
SCALAR = "a number"


@dataclass(frozen=True)
class Setting:
    """Rows to draw from, how many are for training and for the test, and a model with nothing left to choose."""

    about: str
    model: IOKR
    n: int
    m: int
    X: Any = None  # None where each draw is a new sample
    Y: Any = None

    def draw(self, seed: tuple[int, ...]) -> tuple[Any, Any, Any, Any]:
        """Training inputs and outputs, then those of the test."""
        rng = np.random.default_rng(seed)
        X, Y = (self.X, self.Y) if self.X is not None else sample(rng, self.n + self.m)
        order = rng.permutation(len(Y))
        first, then = order[: self.n], order[self.n : self.n + self.m]
        return X[first], Y[first], X[then], Y[then]


def sample(rng: np.random.Generator, n: int) -> tuple[Matrix, Matrix]:
    """One input, one output, and noise that grows with |x|."""
    X = rng.uniform(-2, 2, size=(n, 1))
    x = X[:, 0]
    return X, np.sin(2 * x) + (0.1 + 0.3 * np.abs(x)) * rng.normal(size=n)


def load(plan: Plan) -> dict[str, Setting]:
    """The four settings."""
    yeast, growth, spectra = load_multilabel("yeast"), load_growth(), load_msms_fp490()
    early = growth.age <= 8
    heights, sex = growth.heights[:, early], 10.0 * growth.boy[:, None]
    return {
        "yeast labels": Setting(
            "14 labels of genes from 103 features, RBF(1), α = 1",
            IOKR(RBF(1.0)),
            300,
            300,
            np.asarray(yeast.X),
            yeast.Y,
        ),
        "growth curves": Setting(
            "20 heights after the age of 8, less 150 cm, from those before and the sex, RBF(0.001), α = 0.1",
            IOKR(RBF(1e-3), alpha=0.1),
            60,
            33,
            np.hstack([heights, sex]),
            growth.heights[:, ~early] - 150.0,
        ),
        "spectra": Setting(
            "fingerprints under the Tanimoto kernel from spectra, whose kernel is given, α = 0.1",
            IOKR(Precomputed(spectra.K), output_kernel=Tanimoto(), alpha=0.1),
            350,
            140,
            np.arange(len(spectra.K)),
            spectra.fingerprints,
        ),
        SCALAR: Setting(
            "sin(2x) with noise of deviation 0.1 + 0.3 |x|, drawn anew, RBF(1), α = 0.3",
            IOKR(RBF(1.0), alpha=0.3),
            100,
            200,
        ),
    }


# ---------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Draw(Case):
    """A set and the number of a draw."""

    set: str
    draw: int


def cases(plan: Plan, data: dict[str, Setting]) -> list[Draw]:
    """Every draw of every set."""
    return [Draw(name, i) for name, i in itertools.product(data, range(plan.repeat))]


def work(case: Draw, plan: Plan, data: dict[str, Setting]) -> dict[str, Any]:
    """Coverage on the test rows and mean radius, by method and level."""
    setting = data[case.set]
    number = list(data).index(case.set)
    X, Y, X_test, Y_test = setting.draw((plan.seed, number, case.draw))
    found = {}
    for name, method in METHODS.items():
        sets = Conformal(setting.model, method=method, random_state=case.draw).fit(X, Y)
        if name in PROMISED and not sets.guarantee_.startswith("coverage at least as asked"):
            raise AssertionError(f"{case}: {name} promises {sets.guarantee_!r}.")
        p = np.asarray(sets.p_values(X_test, Y_test))
        found[name] = {
            _percent(level): {
                "coverage": float(np.mean(p > 1 - level + 1e-9)),
                "radius": float(np.mean(sets.radius(X_test, level))),
            }
            for level in LEVELS
        }
    if case.set == SCALAR:
        found[BOOSTING] = {_percent(level): boosted(X, Y, X_test, Y_test, level) for level in LEVELS}
    return found


def boosted(X: Matrix, y: Matrix, X_test: Matrix, y_test: Matrix, level: float) -> dict[str, float]:
    """scikit-learn's gradient boosting of the two quantiles, with its own parameters: nothing is calibrated."""
    from sklearn.ensemble import GradientBoostingRegressor

    ends = [
        GradientBoostingRegressor(loss="quantile", alpha=tau, random_state=0).fit(X, y).predict(X_test)
        for tau in ((1 - level) / 2, (1 + level) / 2)
    ]
    inside = (ends[0] <= y_test) & (y_test <= ends[1])
    return {"coverage": float(inside.mean()), "radius": float(np.mean(np.clip(ends[1] - ends[0], 0, None)) / 2)}


def _percent(level: float) -> str:
    return f"{100 * level:.0f} %"


# ---------------------------------------------------------------------------------------------------------------- page


def values(results: Results, name: str, method: str, level: float, what: str) -> Matrix:
    """A value per draw."""
    return np.array([cell[method][_percent(level)][what] for cell in results.of(Draw, set=name).values()])


def short_of(coverage: Matrix, level: float) -> float:
    """How far the mean coverage is below the level less three standard errors; at most 0 where the promise is kept."""
    return (
        float(level - 3 * coverage.std(ddof=1) / np.sqrt(len(coverage)) - coverage.mean()) if len(coverage) > 1 else 0.0
    )


def page(results: Results, plan: Plan, data: dict[str, Setting]) -> Report:
    """A table of coverages and one of radii per set, and coverage against level."""
    kept = [
        short_of(values(results, name, method, level, "coverage"), level) <= 0
        for name, method, level in itertools.product(data, PROMISED, LEVELS)
    ]
    ratios = {
        name: np.mean(values(results, name, FULL, 0.9, "radius")) / np.mean(values(results, name, SPLIT, 0.9, "radius"))
        for name in data
    }
    summary = (
        f"Full and split conformal sets keep their promise in {sum(kept)} of {len(kept)} cases over {plan.repeat} "
        "draws. "
        "At 90 % the radius of a full set is, as a fraction of that of a split set: "
        + ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        + "."
    )
    return Report(
        "Coverage of conformal sets",
        summary,
        (
            Text("The setting", tuple(_about(name, setting) for name, setting in data.items())),
            *(_table(results, name) for name in data),
            _figure(results, list(data)),
        ),
        (
            f"± is the standard deviation over {plan.repeat} draws; a promise is kept where the mean coverage is at "
            "least the level less three standard errors of it.",
            "Radii are of balls around h(x) in the space of ψ, means over test rows and draws; for full conformal and "
            "the jackknife+ of a ball that holds the set; for quantile boosting half the width of the interval.",
            "Coverage is proved for full and split conformal, and at least 1 − 2a for the jackknife+ at the level "
            "1 − a; nothing is for the jackknife and for quantile boosting.",
        ),
    )


def _about(name: str, setting: Setting) -> str:
    rows = f"{setting.n} rows for training (half of them to calibrate on, for split), {setting.m} test rows"
    return f"{name}: {setting.about}; {rows}."


def _table(results: Results, name: str) -> Table:
    methods = [*METHODS, *([BOOSTING] if name == SCALAR else [])]
    rows = []
    for method in methods:
        row: dict[str, Any] = {"method": method}
        for level in LEVELS:
            coverage = 100 * values(results, name, method, level, "coverage")
            row[f"coverage at {_percent(level)}"] = Spread.of(coverage, digits=1)
            row[f"radius at {_percent(level)}"] = Spread.of(values(results, name, method, level, "radius"), digits=3)
        short = max(short_of(values(results, name, method, level, "coverage"), level) for level in LEVELS)
        row["promise"] = ("kept" if short <= 0 else f"{100 * short:.1f} below") if method in PROMISED else None
        rows.append(row)
    return Table(f"{name.capitalize()}: coverage in percent, and radius", rows, our_rows=(0,))


_STYLES = {
    FULL: (OURS, "o-"),
    "jackknife+": (OURS, "s--"),
    "jackknife": (MUTED, "^:"),
    SPLIT: (THEIRS, "d-"),
    BOOSTING: (INK, "x:"),
}


def _figure(results: Results, names: list[str]) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(2, 2, sharex=True, sharey=True)
        for ax, name in zip(axes.flat, names, strict=False):
            ax.plot([75, 100], [75, 100], color=MUTED, linewidth=0.8)
            for method, (colour, style) in _STYLES.items():
                if method == BOOSTING and name != SCALAR:
                    continue
                means = [100 * values(results, name, method, level, "coverage").mean() for level in LEVELS]
                label = method if name == SCALAR else None
                ax.plot([100 * level for level in LEVELS], means, style, color=colour, markersize=3, label=label)
            ax.set_title(name, fontsize=9)
            ax.set(xlim=(78, 97), ylim=(57, 101))
        canvas.supxlabel("level (%)", fontsize=9)
        canvas.supylabel("coverage (%)", fontsize=9)
        canvas.legend(loc="outside upper center", ncols=2)

    return plot(draw, caption="Mean coverage against the level asked for; the line is equality.", size=(4.8, 4.8))


PLANS = {"short": Plan(repeat=5), "default": Plan(repeat=200)}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
