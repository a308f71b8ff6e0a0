"""Quantiles of 20 small regressions: joint, level by level, linear, boosted; and a toy along the penalty on crossings.

Inputs and response are standardised on the training rows, seven in ten. Kernel, alpha, the width of the level kernel
and the penalty are chosen there, by 3 folds of the pinball loss at nine levels. Intervals of 80 % are the quantiles at
0.1 and 0.9 as they come, and calibrated.
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
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import chosen

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

LEVELS = tuple(j / 10 for j in range(1, 10))
COVERAGE = 0.8
SETS = tuple(name for name in QUANTILE_SETS if name != "bone")  # of the two papers
JOINT = "joint"
ALONE = "independent"
LINEAR = "linear"
BOOSTING = "boosting"
METHODS = (JOINT, ALONE, LINEAR, BOOSTING)
WIDTHS = (0.3, 1.0, 3.0)  # over the median squared distance
ALPHAS = tuple(a / len(LEVELS) for a in (10.0, 1.0, 0.1, 0.01))
LEVEL_WIDTHS = (3.0, 9.0)  # c of exp(−c(s − t)²)
CROSSINGS = (0.05, 0.5)
TOY = (0.0, 0.005, 0.05, 0.5)  # ν
TOY_LEVELS = tuple(np.round(np.linspace(0.05, 0.95, 19), 2).tolist())


@dataclass(frozen=True)
class Quantiles(Plan):
    """How many draws of training rows, and of which sets."""

    repeat: int = 3
    sets: tuple[str, ...] = SETS


@dataclass(frozen=True)
class Fit(Case):
    """A method on one draw of a set."""

    set: str
    method: str
    draw: int


@dataclass(frozen=True)
class Toy(Case):
    """The toy with one penalty."""

    nu: float


Sets = dict[str, QuantileSet]


def load(plan: Quantiles) -> Sets:
    """The sets, as they are in the files."""
    return {name: load_quantile(name) for name in plan.sets}


def cases(plan: Quantiles, data: Sets) -> list[Case]:
    """Every method on every draw, the largest sets first, then the toy."""
    names = sorted(data, key=lambda name: -len(data[name].y))
    fits = [Fit(*one) for one in itertools.product(names, METHODS, range(plan.repeat))]
    return [*fits, *(Toy(nu) for nu in TOY)]


# ---------------------------------------------------------------------------------------------------------------- work


@dataclass(frozen=True)
class Rows:
    """Training and test rows, standardised by the former."""

    X: Matrix
    y: Matrix
    X_test: Matrix
    y_test: Matrix


def rows(found: QuantileSet, seed: tuple[int, ...]) -> Rows:
    """Seven in ten for training."""
    order = np.random.default_rng(seed).permutation(len(found.y))
    cut = round(0.7 * len(order))
    train = order[:cut]
    test = order[cut:]
    shift = found.X[train].mean(axis=0)
    scale = found.X[train].std(axis=0)
    X = (found.X - shift) / np.where(scale > 0, scale, 1.0)
    y = (found.y - found.y[train].mean()) / found.y[train].std()
    return Rows(X[train], y[train], X[test], y[test])


def work(case: Case, plan: Quantiles, data: Sets) -> dict[str, Any]:
    """Pinball loss, crossings, cover and what was chosen."""
    if isinstance(case, Toy):
        return toy(case.nu, plan.seed)
    assert isinstance(case, Fit)
    drawn = rows(data[case.set], (plan.seed, SETS.index(case.set), case.draw))
    return _KINDS[case.method](drawn)


def kernel_quantiles(drawn: Rows, **levels: Any) -> dict[str, Any]:
    """Kernel quantiles, everything chosen by folds, with calibrated intervals."""
    median = RBF().fit(drawn.X).gamma_
    kernels = [RBF(width * median) for width in WIDTHS]
    model = QuantileCurvesCV(kernels, alphas=ALPHAS, levels=LEVELS, cv=3, **levels).fit(drawn.X, drawn.y)
    raw = np.asarray(model.predict(drawn.X_test, sort=False))
    found = measured(raw, drawn.y_test)
    found["chosen"] = {
        "kernel": WIDTHS[_place(kernels, model.kernel_)],
        "alpha": model.alpha_,
        "nu": model.levels_.crossing,
        "c": None if model.levels_.kernel is None else float(model.levels_.kernel.gamma_),
    }
    for calibration in ("cv+", "split"):
        interval = model.interval(drawn.X_test, COVERAGE, calibration)
        found[calibration] = cover(interval[:, 0], interval[:, 1], drawn.y_test)
        found[calibration]["scores"] = len(drawn.y) if calibration == "cv+" else len(drawn.y) - len(drawn.y) // 2
    return found


def _place(kernels: list[RBF], kernel: RBF) -> int:
    return [one.gamma for one in kernels].index(kernel.gamma)


def joint(drawn: Rows) -> dict[str, Any]:
    """One function of the level, with the penalty."""
    return kernel_quantiles(drawn, level_kernels=[RBF(c) for c in LEVEL_WIDTHS], crossings=CROSSINGS)


def alone(drawn: Rows) -> dict[str, Any]:
    """A model for each level."""
    return kernel_quantiles(drawn, level_kernels=[np.eye(len(LEVELS))], crossings=(0.0,))


def linear(drawn: Rows) -> dict[str, Any]:
    """scikit-learn's linear quantiles, without a penalty."""
    from sklearn.linear_model import QuantileRegressor

    models = [QuantileRegressor(quantile=level, alpha=0.0, solver="highs") for level in LEVELS]
    return measured(_each(models, drawn), drawn.y_test)


def boosting(drawn: Rows) -> dict[str, Any]:
    """scikit-learn's boosted quantiles, 50 trees of depth 2."""
    from sklearn.ensemble import GradientBoostingRegressor

    models = [
        GradientBoostingRegressor(loss="quantile", alpha=level, n_estimators=50, max_depth=2, random_state=0)
        for level in LEVELS
    ]
    return measured(_each(models, drawn), drawn.y_test)


def _each(models: list[Any], drawn: Rows) -> Matrix:
    return np.column_stack([model.fit(drawn.X, drawn.y).predict(drawn.X_test) for model in models])


_KINDS: dict[str, Callable[[Rows], dict[str, Any]]] = {JOINT: joint, ALONE: alone, LINEAR: linear, BOOSTING: boosting}


def measured(raw: Matrix, y: Matrix) -> dict[str, Any]:
    """From quantiles (m, levels) as they come: loss of the sorted ones, crossings before and after, cover."""
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
    """The share of adjacent levels in the wrong order."""
    return float(np.mean(np.diff(Q, axis=1) < 0))


def cover(low: Matrix, high: Matrix, y: Matrix) -> dict[str, Any]:
    """How many rows, how many inside, and the mean width."""
    return {"rows": len(y), "inside": int(np.sum((low <= y) & (y <= high))), "width": float(np.mean(high - low))}


def toy(nu: float, seed: int) -> dict[str, Any]:
    """A sine whose noise grows, few rows: quantiles on a grid, and how far they cross."""
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


def page(results: Results, plan: Quantiles, data: Sets) -> Report:
    """Losses, crossings and cover of every set, then the toy."""
    names = [name for name in SETS if name in data]
    rates = {name: {m: float(np.mean(values(results, name, m, "crossing"))) for m in METHODS} for name in names}
    fewer = [name for name in names if 3 * rates[name][JOINT] <= rates[name][ALONE]]
    after = max(max(values(results, name, m, "sorted")) for name in names for m in METHODS)
    losses = {name: {m: float(np.mean(values(results, name, m, "pinball"))) for m in METHODS} for name in names}
    wins = {m: [name for name in names if min(losses[name], key=lambda k: losses[name][k]) == m] for m in METHODS}
    bands = [band(results, names, kind) for kind in ("cv+", "split")]
    summary = (
        f"Joint quantiles cross at most a third as often as independent ones on {len(fewer)} of {len(names)} sets, "
        f"before sorting; after it the rate is {after:g}. Calibrated intervals of 80 % cover "
        + " and ".join(f"{100 * b['coverage']:.1f} % ({b['kind']}, {b['verdict']})" for b in bands)
        + ". The lowest pinball loss: "
        + ", ".join(f"{m} on {len(found)}" for m, found in wins.items())
        + f" of {len(names)} sets."
    )
    elsewhere = [*wins[LINEAR], *wins[BOOSTING]]
    return Report(
        "Quantiles of small regressions",
        summary,
        (
            Text("Where kernels lose", (_lost(wins, losses, elsewhere),)),
            _losses(results, names, data),
            _crossings(results, names),
            _covers(results, names),
            Table("Cover over all sets and draws, in percent", [_band_row(b) for b in bands]),
            _drawn(results),
            Table("The toy along ν", [_toy_row(results, nu) for nu in TOY]),
            chosen(
                results.frame(Fit)[lambda frame: frame["method"].isin([JOINT, ALONE])],
                by={"set": "set", "method": "method"},
                what={"chosen.kernel": "width", "chosen.alpha": "α", "chosen.c": "c", "chosen.nu": "ν"},
            ),
        ),
        (
            f"{plan.repeat} draws of seven in ten rows for training. Settings are chosen on these alone: γ over the "
            "inverse median squared distance, α, and for joint quantiles c of the level kernel and ν.",
            "Crossing is the share of adjacent levels out of order at the test rows, before sorting; losses and cover "
            "are of sorted quantiles. ± is the standard deviation over draws.",
            "A calibrated interval is judged over all test rows: at least 80 % less three standard deviations, at most "
            "80 % + 1/(n + 1) and three of them, n scores; the deviation counts both the scores and the test rows. "
            "Settings were chosen on the rows that calibrate, as a user would.",
            "The toy has 60 rows, 19 levels, α = 0.001 and Gaussian kernels, γ = 10 and c = 9; nothing is sorted. The "
            "penalty acts at the training inputs.",
        ),
    )


def values(results: Results, name: str, method: str, what: str) -> list[Any]:
    """A value per draw."""
    return results.numbers(Fit, what, set=name, method=method)


def _lost(wins: dict[str, list[str]], losses: dict[str, dict[str, float]], elsewhere: list[str]) -> str:
    if not elsewhere:
        return "On every set a kernel method has the lowest pinball loss."
    words = [
        f"{name} ({method} {losses[name][method]:.1f}, joint {losses[name][JOINT]:.1f})"
        for method in (LINEAR, BOOSTING)
        for name in wins[method]
    ]
    return "Linear or boosted quantiles have the lowest loss on " + ", ".join(words) + "."


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
    inside, count = (np.array(values(results, name, method, f"{kind}.{what}")) for what in ("inside", "rows"))
    return Spread.of(100 * inside / count, digits=0)


def _covers(results: Results, names: list[str]) -> Table:
    lines = []
    for name in names:
        line: dict[str, Any] = {"set": name}
        line |= {m: _share(results, name, m, "raw") for m in METHODS}
        line |= {f"joint {kind}": _share(results, name, JOINT, kind) for kind in ("cv+", "split")}
        width, plain = (np.mean(values(results, name, JOINT, f"{kind}.width")) for kind in ("cv+", "raw"))
        line["× wider"] = float(width / plain) if np.isfinite(width) and plain > 0 else None
        lines.append(line)
    return Table(
        "Cover of the interval between the quantiles at 0.1 and 0.9, in percent",
        lines,
        "Four methods as they come, then the joint one calibrated by folds and by a split; × wider is what folds cost.",
        ours=("joint cv+", "joint split"),
    )


def band(results: Results, names: list[str], kind: str) -> dict[str, Any]:
    """Cover over all sets and draws, beside what is allowed."""
    cells = [cell for name in names for cell in results.of(Fit, set=name, method=JOINT).values()]
    inside = np.array([cell[kind]["inside"] for cell in cells])
    count = np.array([cell[kind]["rows"] for cell in cells])
    scores = np.array([cell[kind]["scores"] for cell in cells])
    coverage = float(inside.sum() / count.sum())
    weight = count / count.sum()
    spread = float(np.sqrt(COVERAGE * (1 - COVERAGE) * np.sum(weight**2 * (1 / (scores + 2) + 1 / count))))
    low = COVERAGE - 3 * spread
    high = COVERAGE + float(np.sum(weight / (scores + 1))) + 3 * spread
    verdict = "within" if low <= coverage <= high else "below" if coverage < low else "above"
    return {"kind": kind, "coverage": coverage, "low": low, "high": high, "verdict": f"{verdict} what is allowed"}


def _band_row(found: dict[str, Any]) -> dict[str, Any]:
    least = 100 * found["low"]
    most = 100 * found["high"]
    return {
        "calibration": found["kind"],
        "cover": round(100 * found["coverage"], 2),
        "allowed": f"{least:.2f} to {most:.2f}",
        "": found["verdict"],
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

    return plot(draw, caption="The toy: quantiles at 19 levels along the penalty on crossings, unsorted.", size=(6, 5))


PLANS = {"short": Quantiles(repeat=1, sets=("CobarOre", "snowgeese", "topo")), "default": Quantiles()}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
