"""Curves from curves: weather, gait, growth and nerve tracts; integral kernels, bases and baselines.

Leave-one-curve-out in closed form; ten folds with all parameters chosen on the training curves; sparse and noisy
weather; and steps of conjugate gradients against the share of observed points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.data.curves import quadrature_weights
from iokr_lab.curves.methods import (
    INTEGRAL,
    LINES,
    METHODS,
    WIDTHS,
    Pairs,
    closed_form,
    installed,
    predicted,
    sparse,
    steps,
)
from iokr_lab.data.growth import load_dti, load_gait, load_growth, load_weather
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.timing import timed

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

FOLDS = 10
SPARSE = ((1.0, 0.0), (0.1, 0.0), (0.1, 0.3), (0.03, 0.3))  # share of observed days, standard deviation of the noise
SHARES = (0.03, 0.1, 0.3, 0.7, 0.96, 1.0)
GAPS = "DTI with gaps"


@dataclass(frozen=True)
class Plans(Plan):
    """The data sets, the folds, and the number of draws of sparse weather."""

    repeat: int = 5
    sets: tuple[str, ...] = ("weather", "gait", "growth", "DTI", GAPS)
    folds: tuple[int, ...] = tuple(range(FOLDS))


@dataclass(frozen=True)
class LeaveOneOut(Case):
    """Leave-one-curve-out with one output space."""

    set: str
    space: str


@dataclass(frozen=True)
class Fold(Case):
    """A method on one of ten folds."""

    set: str
    method: str
    fold: int


@dataclass(frozen=True)
class Sparse(Case):
    """Weather observed on a share of the days, with noise."""

    share: float
    noise: float
    draw: int


@dataclass(frozen=True)
class Steps(Case):
    """A problem with a share of its entries observed."""

    share: float


def load(plan: Plans) -> dict[str, Pairs]:
    """The data sets by name."""
    return {name: _LOADERS[name]() for name in plan.sets}


def _weather() -> Pairs:
    data = load_weather()
    return Pairs(data.X, data.Y, data.Y_points, periodic=True)


def _gait() -> Pairs:
    data = load_gait()
    return Pairs(data.X, data.Y, data.Y_points, periodic=True)


def _growth() -> Pairs:
    data = load_growth()
    early = data.age <= 8
    late = data.age[~early]
    X = np.hstack([data.heights[:, early], 10.0 * data.boy[:, None]])
    return Pairs(X, data.heights[:, ~early], (late - late[0]) / (late[-1] - late[0]), periodic=False)


def _dti() -> Pairs:
    data = load_dti()
    whole = ~np.isnan(data.Y).any(axis=1)
    return Pairs(data.X[whole], data.Y[whole], data.Y_points, periodic=False)


def _dti_gaps() -> Pairs:
    data = load_dti()
    return Pairs(data.X, data.Y, data.Y_points, periodic=False)


_LOADERS: dict[str, Callable[[], Pairs]] = {
    "weather": _weather,
    "gait": _gait,
    "growth": _growth,
    "DTI": _dti,
    GAPS: _dti_gaps,
}
_ABOUT = {
    "weather": "temperature to log10 precipitation over a year, 35 stations",
    "gait": "angle of the hip to that of the knee over a stride, 39 children",
    "growth": "heights up to the age of 8 and the sex to heights after it, 93 children",
    "DTI": "profiles of two nerve tracts, 92 people with complete curves",
    GAPS: "the same including 49 people whose second curve has gaps",
}


def cases(plan: Plans, data: dict[str, Pairs]) -> list[Case]:
    """Leave-one-out, folds, sparse weather and steps."""
    found: list[Case] = []
    for name, space in itertools.product(data, LINES):
        if data[name].complete or space in INTEGRAL:
            found.append(LeaveOneOut(name, space))
    for name, method, fold in itertools.product(data, METHODS, plan.folds):
        if data[name].complete and installed(method):
            found.append(Fold(name, method, fold))
    if "weather" in data:
        found += [Sparse(*how, draw) for how in SPARSE for draw in range(plan.repeat)]
    return [*found, *(Steps(share) for share in SHARES)]


def work(case: Case, plan: Plans, data: dict[str, Pairs]) -> dict[str, Any]:
    """The metrics of a case."""
    if isinstance(case, LeaveOneOut):
        return closed_form(data[case.set], case.space)
    if isinstance(case, Fold):
        return folded(case, plan, data[case.set])
    if isinstance(case, Sparse):
        return sparse(data["weather"], case.share, case.noise, (plan.seed, case.draw))
    assert isinstance(case, Steps)
    return steps(case.share, plan.seed)


def folded(case: Fold, plan: Plans, pairs: Pairs) -> dict[str, Any]:
    """Errors on the curves of a fold, all parameters chosen on the other folds; processor seconds."""
    n = len(pairs.X)
    order = np.random.default_rng(plan.seed).permutation(n)
    test = np.sort(order[case.fold :: FOLDS])
    train = np.setdiff1d(np.arange(n), test)
    found, seconds = timed(lambda: predicted(case.method, pairs.take(train), pairs.X[test]))
    truth = pairs.Y[test]
    w = quadrature_weights("uniform" if pairs.periodic else "trapezoid", pairs.points)
    mean = pairs.Y[train].mean(axis=0)
    slope_error = np.gradient(truth, pairs.points, axis=1) - np.gradient(found, pairs.points, axis=1)
    return {
        "ise": ((truth - found) ** 2 @ w).tolist(),
        "total": ((truth - mean) ** 2 @ w).tolist(),
        "sup": np.abs(truth - found).max(axis=1).tolist(),
        "slope": (slope_error**2 @ w).tolist(),
        "seconds": seconds,
    }


# ---------------------------------------------------------------------------------------------------------------- page


def page(results: Results, plan: Plans, data: dict[str, Pairs]) -> Report:
    """Leave-one-out, folds, sparse curves and steps."""
    whole = [name for name in data if data[name].complete]
    best = []
    for name in whole:
        scores = {method: _r2(results, name, method) for method in METHODS if installed(method)}
        method = max(scores, key=lambda method: scores[method])
        best.append(f"{name} {scores[method]:.3f} ({method})")
    notes = _NOTES if all(map(installed, METHODS)) else (*_NOTES, "scikit-fda is not installed: its row is missing.")
    parts: list[Any] = [
        Text("Data", tuple(f"{name}: {_ABOUT[name]}." for name in data)),
        _left_out(results, data),
        *(_folds(results, name) for name in whole),
    ]
    if "weather" in data:
        parts += [_sparse_table(results, plan.repeat), _sparse_figure(results)]
    parts.append(_steps_table(results))
    return Report(
        "Curves from curves",
        f"The largest R² over ten folds, parameters chosen on the training curves: {', '.join(best)}.",
        tuple(parts),
        notes,
    )


_NOTES = (
    "Inputs are vectors of values under Gaussian kernels with 5 widths around the median distance; 19 alphas from 1e-6 "
    "to 1e3. Curves are centred; periodic data sets have a periodic curve kernel.",
    "In the first table, widths and alphas minimise the reported leave-one-out error, R² is relative to the mean of "
    "the other curves, and bases are learned from all curves, so its numbers are optimistic, especially for "
    "components. In the tables by data set all parameters are chosen on nine folds.",
)


def _r2(results: Results, name: str, method: str) -> float:
    ise = np.concatenate(results.numbers(Fold, "ise", set=name, method=method))
    total = np.concatenate(results.numbers(Fold, "total", set=name, method=method))
    return float(1 - ise.sum() / total.sum())


def _left_out(results: Results, data: dict[str, Pairs]) -> Table:
    lines = []
    for name, pairs in data.items():
        line: dict[str, Any] = {"set": name, "curves": len(pairs.X), "points": pairs.Y.shape[1]}
        for space in LINES:
            cell = results.get(LeaveOneOut(name, space))
            line[space] = None if cell is None else round(cell["r2"], 3)
        lines.append(line)
    note = f"Integral kernels of width {', '.join(map(str, WIDTHS))}, relative to the range, and principal components."
    return Table("Leave-one-curve-out R², relative to the mean of the other curves", lines, note)


def _folds(results: Results, name: str) -> Table:
    lines = []
    for method in METHODS:
        if not installed(method):
            continue
        cells = list(results.of(Fold, set=name, method=method).values())
        ise = np.concatenate([cell["ise"] for cell in cells])
        sup = np.concatenate([cell["sup"] for cell in cells])
        slope = np.concatenate([cell["slope"] for cell in cells])
        lines.append(
            {
                "method": method,
                "ISE": float(f"{ise.mean():.4g}"),
                "R²": round(_r2(results, name, method), 3),
                "sup": float(f"{sup.mean():.4g}"),
                "ISE of slopes": float(f"{slope.mean():.4g}"),
                "processor s": Spread.of([cell["seconds"] for cell in cells], digits=2),
            }
        )
    ours = tuple(i for i, line in enumerate(lines) if str(line["method"]).startswith("iokr"))
    title = name if name.isupper() else name.capitalize()
    return Table(f"{title}: ten folds, means over curves", lines, our_rows=ours)


def _sparse_cells(results: Results, share: float, noise: float, what: str) -> list[float]:
    return results.numbers(Sparse, what, share=share, noise=noise)


def _sparse_table(results: Results, n_draws: int) -> Table:
    lines = []
    for share, noise in SPARSE:
        one = _sparse_cells(results, share, noise, "masked")
        other = _sparse_cells(results, share, noise, "interpolated")
        lines.append(
            {
                "observed": f"{100 * share:.0f} %",
                "noise": noise,
                "integral kernel": Spread.of(one, digits=4),
                "interpolation, then point by point": Spread.of(other, digits=4),
                "wins": f"{sum(a < b for a, b in zip(one, other, strict=True))} of {len(one)}",
            }
        )
    note = f"25 training stations, 10 test stations, {n_draws} draws; alpha by leave-one-out on the observed points."
    return Table(
        "Sparse weather: mean ISE on complete test curves without noise", lines, note, ours=("integral kernel",)
    )


def _sparse_figure(results: Results) -> Figure:
    share, noise = SPARSE[-1]
    cell = results[Sparse(share, noise, 0)]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots(1, 2, sharey=True)
        for ax, k in zip(axes, range(2), strict=True):
            ax.plot(cell["points"], cell["truth"][k], color=MUTED, linewidth=0.6, label="truth")
            ax.plot(cell["points"], cell["curve"][k], color=OURS, linewidth=1.2, label="integral kernel")
            ax.plot(cell["points"], cell["other"][k], color=THEIRS, linewidth=0.8, label="interpolation")
            ax.set_xlabel("share of the year")
        axes[0].set_ylabel("log10 precipitation")
        axes[0].legend(fontsize=7)

    caption = f"Two test stations; training curves observed on {100 * share:.0f} % of the days with noise {noise:g}."
    return plot(draw, caption=caption, size=(7, 3))


def _steps_table(results: Results) -> Table:
    lines = []
    for share in SHARES:
        cell = results[Steps(share)]
        lines.append(
            {
                "observed": f"{100 * share:.0f} %",
                "preconditioned": cell["preconditioned"],
                "plain": cell["plain"],
                "difference to a dense solve": f"{cell['apart']:.0e}",
            }
        )
    return Table("Steps of conjugate gradients by the share of observed points, 40 curves of 15 points", lines)


PLANS = {
    "short": Plans(repeat=1, sets=("gait", "weather"), folds=(0,)),
    "default": Plans(),
}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
