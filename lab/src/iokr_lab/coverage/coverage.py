"""Coverage and size of conformal prediction sets over many draws of rows.

Kernels and alphas are fixed in advance and nothing is estimated from the rows, so the theorems apply. A draw is a
random order of the rows of a data set, the first of which are for training, or a new sample.
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
from iokr_lab.splits import TrainTest
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

LEVELS = (0.8, 0.9, 0.95)
FULL = "full conformal"
SPLIT = "split conformal"
BOOSTING = "quantile boosting"
METHODS = {FULL: "full", "jackknife+": "jackknife+", "jackknife": "jackknife", SPLIT: "split"}
GUARANTEED = (FULL, SPLIT)  # methods whose coverage is proved to be at least the level
SCALAR = "a number"


@dataclass(frozen=True)
class Setting:
    """Rows to draw from, the numbers n and m of training and test rows, and a model without free parameters."""

    about: str
    model: IOKR
    n: int
    m: int
    X: Any = None  # None: each draw is a new sample
    Y: Any = None

    def draw(self, seed: tuple[int, ...]) -> TrainTest:
        """A random split."""
        rng = np.random.default_rng(seed)
        X = self.X
        Y = self.Y
        if X is None:
            X, Y = sample(rng, self.n + self.m)
        order = rng.permutation(len(Y))
        return TrainTest.of(X, Y, order[: self.n], order[self.n : self.n + self.m])


def sample(rng: np.random.Generator, n: int) -> tuple[Matrix, Matrix]:
    """One input, one output, noise that grows with |x|."""
    X = rng.uniform(-2, 2, size=(n, 1))
    x = X[:, 0]
    return X, np.sin(2 * x) + (0.1 + 0.3 * np.abs(x)) * rng.normal(size=n)


def load(plan: Plan) -> dict[str, Setting]:
    """The four settings."""
    yeast = load_multilabel("yeast")
    growth = load_growth()
    spectra = load_msms_fp490()
    early = growth.age <= 8
    heights = growth.heights[:, early]
    sex = 10.0 * growth.boy[:, None]
    return {
        "yeast labels": Setting(
            "14 labels of genes from 103 features, RBF(1), α = 1",
            IOKR(RBF(1.0), intercept=False),
            300,
            300,
            np.asarray(yeast.X),
            yeast.Y,
        ),
        "growth curves": Setting(
            "20 heights after the age of 8, minus 150 cm, from earlier heights and the sex, RBF(0.001), α = 0.1",
            IOKR(RBF(1e-3), alpha=0.1, intercept=False),
            60,
            33,
            np.hstack([heights, sex]),
            growth.heights[:, ~early] - 150.0,
        ),
        "spectra": Setting(
            "fingerprints under the Tanimoto kernel from spectra with a given kernel, α = 0.1",
            IOKR(Precomputed(spectra.K), output_kernel=Tanimoto(), alpha=0.1),
            350,
            140,
            np.arange(len(spectra.K)),
            spectra.fingerprints,
        ),
        SCALAR: Setting(
            "sin(2x) with noise of deviation 0.1 + 0.3 |x|, a new sample in each draw, RBF(1), α = 0.3",
            IOKR(RBF(1.0), alpha=0.3, intercept=False),
            100,
            200,
        ),
    }


# ---------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Draw(Case):
    """A data set and the number of a draw."""

    set: str
    draw: int


def cases(plan: Plan, data: dict[str, Setting]) -> list[Draw]:
    """Every draw of every set."""
    return [Draw(name, i) for name, i in itertools.product(data, range(plan.repeat))]


def work(case: Draw, plan: Plan, data: dict[str, Setting]) -> dict[str, Any]:
    """Coverage on the test rows and mean radius, by method and level."""
    setting = data[case.set]
    number = list(data).index(case.set)
    part = setting.draw((plan.seed, number, case.draw))
    found = {}
    for name, method in METHODS.items():
        sets = Conformal(setting.model, method=method, random_state=case.draw).fit(part.X, part.Y)
        if name in GUARANTEED and not sets.guarantee_.startswith("coverage of at least the requested level"):
            raise AssertionError(f"{case}: {name} guarantees {sets.guarantee_!r}.")
        p = np.asarray(sets.p_values(part.X_test, part.Y_test))
        found[name] = {
            _percent(level): {
                "coverage": float(np.mean(p > 1 - level + 1e-9)),
                "radius": float(np.mean(sets.radius(part.X_test, level))),
            }
            for level in LEVELS
        }
    if case.set == SCALAR:
        found[BOOSTING] = {_percent(level): boosted(part, level) for level in LEVELS}
    return found


def boosted(part: TrainTest, level: float) -> dict[str, float]:
    """scikit-learn's gradient boosting of both quantiles with default parameters, not calibrated."""
    from sklearn.ensemble import GradientBoostingRegressor

    ends = []
    for tau in ((1 - level) / 2, (1 + level) / 2):
        model = GradientBoostingRegressor(loss="quantile", alpha=tau, random_state=0).fit(part.X, part.Y)
        ends.append(model.predict(part.X_test))
    low, high = ends
    inside = (low <= part.Y_test) & (part.Y_test <= high)
    return {"coverage": float(inside.mean()), "radius": float(np.mean(np.clip(high - low, 0, None)) / 2)}


def _percent(level: float) -> str:
    return f"{100 * level:.0f} %"


# ---------------------------------------------------------------------------------------------------------------- page


def values(results: Results, name: str, method: str, level: float, what: str) -> Matrix:
    """A value per draw."""
    return np.array([cell[method][_percent(level)][what] for cell in results.of(Draw, set=name).values()])


def shortfall(coverage: Matrix, level: float) -> float:
    """Level minus three standard errors minus mean coverage: positive if the coverage is significantly too low."""
    if len(coverage) < 2:
        return 0.0
    error = coverage.std(ddof=1) / np.sqrt(len(coverage))
    return float(level - 3 * error - coverage.mean())


def page(results: Results, plan: Plan, data: dict[str, Setting]) -> Report:
    """A table of coverages and one of radii per set, and coverage against level."""
    covered = [
        shortfall(values(results, name, method, level, "coverage"), level) <= 0
        for name, method, level in itertools.product(data, GUARANTEED, LEVELS)
    ]
    ratios = []
    for name in data:
        full = np.mean(values(results, name, FULL, 0.9, "radius"))
        split = np.mean(values(results, name, SPLIT, 0.9, "radius"))
        ratios.append(f"{name} {full / split:.2f}")
    summary = (
        f"Full and split conformal sets have the guaranteed coverage in {sum(covered)} of {len(covered)} cases over "
        f"{plan.repeat} draws. Radius of full sets relative to split sets at 90 %: {', '.join(ratios)}."
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
            f"± is the standard deviation over {plan.repeat} draws. The guarantee holds if the mean coverage is at "
            "least the level minus three standard errors.",
            "Radii are those of balls around h(x) in the space of ψ, averaged over test rows and draws; for full "
            "conformal and the jackknife+, of a ball that contains the set; for quantile boosting, half the width of "
            "the interval.",
            "Models have no intercept.",
            "Coverage is proved for full and split conformal, and is at least 1 − 2a for the jackknife+ at level 1 − "
            "a. The jackknife and quantile boosting have no guarantee.",
        ),
    )


def _about(name: str, setting: Setting) -> str:
    rows = f"{setting.n} training rows (split conformal calibrates on half of them), {setting.m} test rows"
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
        row["guarantee"] = _guarantee(results, name, method)
        rows.append(row)
    return Table(f"{name.capitalize()}: coverage in percent, and radius", rows, our_rows=(0,))


def _guarantee(results: Results, name: str, method: str) -> str | None:
    if method not in GUARANTEED:
        return None
    short = max(shortfall(values(results, name, method, level, "coverage"), level) for level in LEVELS)
    return "holds" if short <= 0 else f"{100 * short:.1f} below"


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

    return plot(draw, caption="Mean coverage against the nominal level; the line is equality.", size=(4.8, 4.8))


PLANS = {"short": Plan(repeat=5), "default": Plan(repeat=200)}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
