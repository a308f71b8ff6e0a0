"""Quantiles of 20 small regressions: joint, independent, linear, boosted; and a toy along the penalty on crossings.

Inputs and response are standardised by the training rows, seven tenths of all. Kernel, alpha, the width of the level
kernel and the penalty are chosen on them by three folds of the pinball loss at nine levels. Intervals of 80 % are the
quantiles at 0.1 and 0.9, raw and calibrated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import MUTED, OURS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.quantiles.cv import QuantileCurvesCV
from iokr.estimators.quantiles.model import QuantileCurves
from iokr.kernels.vectors import RBF
from iokr.solvers.iterative.admm import ADMM
from iokr_lab.data.quantile import QUANTILE_SETS, QuantileSet, load_quantile
from iokr_lab.splits import TrainTest, standardised_split
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import chosen

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

LEVELS = tuple(j / 10 for j in range(1, 10))
COVERAGE = 0.8
CALIBRATIONS = ("cv+", "split")
SETS = tuple(name for name in QUANTILE_SETS if name != "bone")  # the data sets of the two papers
JOINT = "joint"
ALONE = "independent"
LINEAR = "linear"
BOOSTING = "boosting"
METHODS = (JOINT, ALONE, LINEAR, BOOSTING)
TRAINING = 0.7  # share of the rows
WIDTHS = (0.3, 1.0, 3.0)  # γ in units of 1 / median squared distance
ALPHAS = tuple(a / len(LEVELS) for a in (10.0, 1.0, 0.1, 0.01))
LEVEL_WIDTHS = (3.0, 9.0)  # c of exp(−c(s − t)²)
CROSSINGS = (0.05, 0.5)
TOY = (0.0, 0.005, 0.05, 0.5)  # ν of the toy
TOY_LEVELS = tuple(np.round(np.linspace(0.05, 0.95, 19), 2).tolist())


@dataclass(frozen=True)
class Quantiles(Plan):
    """The number of draws of training rows, and the data sets."""

    repeat: int = 3
    sets: tuple[str, ...] = SETS


@dataclass(frozen=True)
class Fit(Case):
    """A method on one draw of a data set."""

    set: str
    method: str
    draw: int


@dataclass(frozen=True)
class Toy(Case):
    """The toy with one penalty."""

    nu: float


Sets = dict[str, QuantileSet]


def load(plan: Quantiles) -> Sets:
    """The data sets of the plan."""
    return {name: load_quantile(name) for name in plan.sets}


def cases(plan: Quantiles, data: Sets) -> list[Case]:
    """Every method on every draw, the largest data sets first, then the toy."""
    names = sorted(data, key=lambda name: -len(data[name].y))
    fits = [Fit(*one) for one in itertools.product(names, METHODS, range(plan.repeat))]
    return [*fits, *(Toy(nu) for nu in TOY)]


# ---------------------------------------------------------------------------------------------------------------- work


def work(case: Case, plan: Quantiles, data: Sets) -> dict[str, Any]:
    """Pinball loss, crossings, coverage and the chosen parameters."""
    if isinstance(case, Toy):
        return toy(case.nu, plan.seed)
    assert isinstance(case, Fit)
    return _KINDS[case.method](rows(data[case.set], (plan.seed, SETS.index(case.set), case.draw)))


def rows(found: QuantileSet, seed: tuple[int, ...]) -> TrainTest:
    """A random split, standardised by its training rows."""
    return standardised_split(found.X, found.y, seed, TRAINING)


def kernel_quantiles(part: TrainTest, **levels: Any) -> dict[str, Any]:
    """Kernel quantiles with all parameters chosen by folds, and calibrated intervals."""
    median = RBF().fit(part.X).gamma_
    kernels = [RBF(width * median) for width in WIDTHS]
    model = QuantileCurvesCV(kernels, alphas=ALPHAS, levels=LEVELS, cv=3, **levels).fit(part.X, part.Y)
    raw = np.asarray(model.predict(part.X_test, sort=False))
    found = measured(raw, part.Y_test)
    found["chosen"] = {
        "kernel": WIDTHS[_place(kernels, model.kernel_)],
        "alpha": model.alpha_,
        "nu": model.levels_.crossing,
        "c": None if model.levels_.kernel is None else float(model.levels_.kernel.gamma_),
    }
    for calibration in CALIBRATIONS:
        interval = model.interval(part.X_test, COVERAGE, calibration)
        found[calibration] = cover(interval[:, 0], interval[:, 1], part.Y_test)
        found[calibration]["scores"] = len(part.Y) if calibration == "cv+" else len(part.Y) - len(part.Y) // 2
    return found


def _place(kernels: list[RBF], kernel: RBF) -> int:
    return [one.gamma for one in kernels].index(kernel.gamma)


def joint(part: TrainTest) -> dict[str, Any]:
    """Quantiles as one function of the level, with the penalty on crossings."""
    return kernel_quantiles(part, level_kernels=[RBF(c) for c in LEVEL_WIDTHS], crossings=CROSSINGS)


def alone(part: TrainTest) -> dict[str, Any]:
    """An independent model for each level."""
    return kernel_quantiles(part, level_kernels=[np.eye(len(LEVELS))], crossings=(0.0,))


def linear(part: TrainTest) -> dict[str, Any]:
    """scikit-learn's linear quantiles, without a penalty."""
    from sklearn.linear_model import QuantileRegressor

    models = [QuantileRegressor(quantile=level, alpha=0.0, solver="highs") for level in LEVELS]
    return measured(_each(models, part), part.Y_test)


def boosting(part: TrainTest) -> dict[str, Any]:
    """scikit-learn's boosted quantiles, 50 trees of depth 2."""
    from sklearn.ensemble import GradientBoostingRegressor

    models = [
        GradientBoostingRegressor(loss="quantile", alpha=level, n_estimators=50, max_depth=2, random_state=0)
        for level in LEVELS
    ]
    return measured(_each(models, part), part.Y_test)


def _each(models: list[Any], part: TrainTest) -> Matrix:
    return np.column_stack([model.fit(part.X, part.Y).predict(part.X_test) for model in models])


_KINDS: dict[str, Callable[[TrainTest], dict[str, Any]]] = {
    JOINT: joint,
    ALONE: alone,
    LINEAR: linear,
    BOOSTING: boosting,
}


def measured(raw: Matrix, y: Matrix) -> dict[str, Any]:
    """Metrics of raw quantiles (m, levels): loss of the sorted ones, crossings before and after sorting, coverage."""
    ordered = np.sort(raw, axis=1)
    levels = np.array(LEVELS)
    e = y[:, None] - ordered
    return {
        "pinball": float(100 * np.maximum(levels * e, (levels - 1) * e).mean()),
        "crossing": crossing(raw),
        "sorted": crossing(ordered),
        "raw": cover(ordered[:, 0], ordered[:, -1], y),
    }


def crossing(Q: Matrix) -> float:
    """The share of adjacent levels that cross."""
    return float(np.mean(np.diff(Q, axis=1) < 0))


def cover(low: Matrix, high: Matrix, y: Matrix) -> dict[str, Any]:
    """The numbers of rows and of covered rows, and the mean width."""
    return {"rows": len(y), "inside": int(np.sum((low <= y) & (y <= high))), "width": float(np.mean(high - low))}


def toy(nu: float, seed: int) -> dict[str, Any]:
    """A sine with increasing noise and few rows: quantiles on a grid, and their crossings."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1.5, size=(60, 1))
    y = np.sin(np.pi * x[:, 0]) * (1 + 0.5 * np.sin(3 * np.pi * x[:, 0])) + 0.15 * (1 + x[:, 0]) * rng.normal(size=60)
    model = QuantileCurves(RBF(10.0), levels=TOY_LEVELS, crossing=nu, alpha=1e-3, solver=ADMM(1e-6)).fit(x, y)
    grid = np.linspace(0, 1.5, 121)
    Q = np.asarray(model.predict(grid[:, None], sort=False))
    return {
        "x": np.round(x[:, 0], 4).tolist(),
        "y": np.round(y, 4).tolist(),
        "grid": np.round(grid, 4).tolist(),
        "quantiles": np.round(Q, 4).T.tolist(),
        "crossing": crossing(Q),
        "known": model.crossing_rate_,
        "violation": float(np.maximum(-np.diff(Q, axis=1), 0).mean()),
        "steps": model.solution_.n_iter,
    }


# ---------------------------------------------------------------------------------------------------------------- page


Means = dict[str, dict[str, float]]  # data set → method → mean over draws


def page(results: Results, plan: Quantiles, data: Sets) -> Report:
    """Losses, crossings and coverage on every data set, then the toy."""
    names = [name for name in SETS if name in data]
    losses = _means(results, names, "pinball")
    wins: dict[str, list[str]] = {method: [] for method in METHODS}
    for name, by_method in losses.items():
        wins[min(by_method, key=by_method.__getitem__)].append(name)
    bands = [band(results, names, kind) for kind in CALIBRATIONS]
    frame = results.frame(Fit)
    return Report(
        "Quantiles of small regressions",
        _summary(results, names, wins, bands),
        (
            Text("Data sets on which kernels lose", (_lost(wins, losses),)),
            _losses(results, names, data),
            _crossings(results, names),
            _covers(results, names),
            Table("Coverage over all data sets and draws, in percent", [_band_row(b) for b in bands]),
            _drawn(results),
            Table("The toy along ν", [_toy_row(results, nu) for nu in TOY]),
            chosen(
                frame[frame["method"].isin([JOINT, ALONE])],
                by={"set": "set", "method": "method"},
                what={"chosen.kernel": "width", "chosen.alpha": "α", "chosen.c": "c", "chosen.nu": "ν"},
            ),
        ),
        (
            f"{plan.repeat} draws of seven tenths of the rows for training. Parameters are chosen on the training "
            "rows: γ in units of 1 / median squared distance, α, and for joint quantiles c of the level kernel and ν.",
            "Crossing is the share of adjacent levels out of order at the test rows before sorting; losses and "
            "coverage are those of sorted quantiles. ± is the standard deviation over draws.",
            "The coverage of calibrated intervals is compared over all test rows with the range from 80 % minus three "
            "standard deviations to 80 % + 1/(n + 1) plus three standard deviations, for n scores; the deviation "
            "accounts for scores and test rows. The parameters were chosen on the calibration rows, as in practice.",
            "The toy has 60 rows, 19 levels, α = 0.001 and Gaussian kernels with γ = 10 and c = 9; its quantiles are "
            "not sorted. The penalty acts at the training inputs.",
        ),
    )


def values(results: Results, name: str, method: str, what: str) -> list[Any]:
    """A value per draw."""
    return results.numbers(Fit, what, set=name, method=method)


def _means(results: Results, names: list[str], what: str) -> Means:
    return {name: {m: float(np.mean(values(results, name, m, what))) for m in METHODS} for name in names}


def _summary(results: Results, names: list[str], wins: dict[str, list[str]], bands: list[dict[str, Any]]) -> str:
    rates = _means(results, names, "crossing")
    fewer = [name for name in names if 3 * rates[name][JOINT] <= rates[name][ALONE]]
    after = max(max(values(results, name, m, "sorted")) for name in names for m in METHODS)
    covered = [f"{100 * b['coverage']:.1f} % ({b['kind']}, {b['verdict']})" for b in bands]
    best = [f"{method} on {len(found)}" for method, found in wins.items()]
    return (
        f"Joint quantiles cross at most a third as often as independent ones on {len(fewer)} of {len(names)} data sets "
        f"before sorting; after sorting the rate is {after:g}. Coverage of calibrated intervals of 80 %: "
        f"{' and '.join(covered)}. The smallest pinball loss: {', '.join(best)} of {len(names)} data sets."
    )


def _lost(wins: dict[str, list[str]], losses: Means) -> str:
    lost = []
    for method in (LINEAR, BOOSTING):
        for name in wins[method]:
            lost.append(f"{name} ({method} {losses[name][method]:.1f}, joint {losses[name][JOINT]:.1f})")
    if not lost:
        return "On every data set a kernel method has the smallest pinball loss."
    return f"Linear or boosted quantiles have the smallest loss on {', '.join(lost)}."


def _losses(results: Results, names: list[str], data: Sets) -> Table:
    lines = [
        {
            "set": name,
            "rows": len(data[name].y),
            "inputs": data[name].X.shape[1],
            **{m: Spread.of(values(results, name, m, "pinball"), digits=1) for m in METHODS},
        }
        for name in names
    ]
    return Table("100 × mean pinball loss, response of unit variance", lines, ours=(JOINT,))


def _crossings(results: Results, names: list[str]) -> Table:
    lines = [
        {"set": name, **{m: Spread.of(100 * np.array(values(results, name, m, "crossing")), digits=1) for m in METHODS}}
        for name in names
    ]
    return Table("Adjacent levels that cross before sorting, in percent", lines, ours=(JOINT,))


def _share(results: Results, name: str, method: str, kind: str) -> Spread:
    inside = np.array(values(results, name, method, f"{kind}.inside"))
    count = np.array(values(results, name, method, f"{kind}.rows"))
    return Spread.of(100 * inside / count, digits=0)


def _covers(results: Results, names: list[str]) -> Table:
    lines = []
    for name in names:
        line: dict[str, Any] = {"set": name}
        line |= {m: _share(results, name, m, "raw") for m in METHODS}
        line |= {f"joint {kind}": _share(results, name, JOINT, kind) for kind in CALIBRATIONS}
        width = np.mean(values(results, name, JOINT, "cv+.width"))
        raw = np.mean(values(results, name, JOINT, "raw.width"))
        line["width ratio"] = float(width / raw) if np.isfinite(width) and raw > 0 else None
        lines.append(line)
    return Table(
        "Coverage of the interval between the quantiles at 0.1 and 0.9, in percent",
        lines,
        "The four methods without calibration, then joint quantiles calibrated by folds and by a split; the width "
        "ratio is that of calibration by folds to no calibration.",
        ours=("joint cv+", "joint split"),
    )


def band(results: Results, names: list[str], kind: str) -> dict[str, Any]:
    """Coverage over all data sets and draws, with the range of valid values."""
    cells = [cell for name in names for cell in results.of(Fit, set=name, method=JOINT).values()]
    inside = np.array([cell[kind]["inside"] for cell in cells])
    count = np.array([cell[kind]["rows"] for cell in cells])
    scores = np.array([cell[kind]["scores"] for cell in cells])
    coverage = float(inside.sum() / count.sum())
    weight = count / count.sum()
    spread = float(np.sqrt(COVERAGE * (1 - COVERAGE) * np.sum(weight**2 * (1 / (scores + 2) + 1 / count))))
    low = COVERAGE - 3 * spread
    high = COVERAGE + float(np.sum(weight / (scores + 1))) + 3 * spread
    verdict = "within"
    if coverage < low:
        verdict = "below"
    elif coverage > high:
        verdict = "above"
    return {"kind": kind, "coverage": coverage, "low": low, "high": high, "verdict": f"{verdict} the valid range"}


def _band_row(found: dict[str, Any]) -> dict[str, Any]:
    least = 100 * found["low"]
    most = 100 * found["high"]
    return {
        "calibration": found["kind"],
        "coverage": round(100 * found["coverage"], 2),
        "valid range": f"{least:.2f} to {most:.2f}",
        "verdict": found["verdict"],
    }


def _toy_row(results: Results, nu: float) -> dict[str, Any]:
    cell = results[Toy(nu)]
    return {
        "ν": nu,
        "crossings at the training inputs, %": round(100 * cell["known"], 2),
        "at new ones, %": round(100 * cell["crossing"], 2),
        "mean violation": f"{cell['violation']:.1e}",
        "steps": cell["steps"],
    }


def _drawn(results: Results) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(2, 2, sharex=True, sharey=True)
        for ax, nu in zip(axes.flat, TOY, strict=True):
            cell = results[Toy(nu)]
            ax.plot(cell["x"], cell["y"], ".", color=MUTED, markersize=3)
            for level, line in zip(TOY_LEVELS, cell["quantiles"], strict=True):
                ax.plot(cell["grid"], line, color=OURS, linewidth=0.7, alpha=1.0 - 1.2 * abs(level - 0.5))
            ax.set_title(f"ν = {nu:g}", fontsize=9)
        canvas.supxlabel("x", fontsize=9)
        canvas.supylabel("y", fontsize=9)

    return plot(
        draw, caption="The toy: quantiles at 19 levels along the penalty on crossings, not sorted.", size=(6, 5)
    )


PLANS = {"short": Quantiles(repeat=1, sets=("CobarOre", "snowgeese", "topo")), "default": Quantiles()}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
