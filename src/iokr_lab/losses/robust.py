"""A fraction of the training outputs is far from where it should be: ridge against Huber and the ε losses.

Data made here, so that the truth is known; every parameter chosen on the training part, outliers and all.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.radial import RadialLoss
from iokr.report import INK, MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.report.figures import Canvas
from iokr_lab.losses.robust_protocol import (
    CRITERIA,
    DISTANCE,
    FLOOR,
    FRACTIONS,
    HUBER,
    KINDS,
    METHODS,
    N_TEST,
    N_TRAIN,
    NOISE,
    OUTPUTS,
    RIDGE,
    Drawn,
    Matrix,
    cases,
    choose,
    work,
)
from iokr_lab.study import Plan, Results, Study
from iokr_lab.tables import Difference, chosen, difference, paired

__all__ = ["STUDY"]

HEADLINE, MEDIAN = 0.2, "median"
STYLES = {
    RIDGE: (THEIRS, "-"),
    "ε-ridge": (THEIRS, ":"),
    "ε-SVR": (OURS, "--"),
    HUBER: (OURS, "-"),
    FLOOR: (MUTED, "-."),
}


def page(results: Results, plan: Plan, data: None) -> Report:
    """Clean test error against the fraction of outliers, for four losses."""
    return Report(
        "Outliers among the outputs",
        _summary(results),
        (
            Text("The setting", (_SETTING, _CHOICE)),
            *(_errors_table(results, kind) for kind in KINDS),
            *(_errors_figure(results, kind) for kind in KINDS),
            Text("Huber against ridge, sample by sample", (_verdict(results),)),
            _paired_table(results),
            Text("Why", (_WHY,)),
            _pull_figure(),
            _plane_figure(plan.seed),
            Text("How the parameters are chosen matters as much", (_criterion_text(results),)),
            _criteria_table(results),
            _chosen_table(results),
        ),
        (
            f"Errors are means over {N_TEST} new inputs of ‖f(x) − h(x)‖², f being the true function: the test is "
            f"clean, without outliers and without noise. Predicting zero would cost about {OUTPUTS}.",
            f"± is the standard deviation over {plan.repeat} samples. For one sample the same function, inputs and "
            "noise serve every fraction and kind.",
            f"“{FLOOR}” is given which rows are outliers: what is lost against it is the price of not knowing.",
        ),
    )


# --------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    f"A smooth function of two inputs with {OUTPUTS} outputs of unit variance, {N_TRAIN} training rows, Gaussian noise "
    f"of deviation {NOISE:g}. A fraction of the training outputs is moved by {DISTANCE:g}, about "
    f"{DISTANCE / np.sqrt(OUTPUTS):.1f} times the typical length of an output: scattered, {KINDS['scattered']}, or "
    f"one-sided, {KINDS['one-sided']}. Nobody says which rows these are."
)
_CHOICE = (
    "`alpha` and the parameter of the loss are chosen on a third of the training rows, which has its share of outliers "
    "too, by the median distance from the outputs: the same rule for every method. Then the model is fitted to all "
    "rows."
)
_WHY = (
    "How hard an output pulls at h(x) is the slope of the loss. With the square loss it grows with the distance, "
    "without limit, so that an outlier pulls as hard as many good rows; ε-ridge differs only close to the output. "
    "Huber and ε-SVR pull with a bounded force."
)


def _of(
    results: Results, kind: str, fraction: float, method: str, criterion: str = MEDIAN, what: str = "error"
) -> Matrix:
    """A value per sample; without outliers there is one kind."""
    first = kind if fraction else next(iter(KINDS))
    return np.array(results.numbers(Drawn, f"{what}.{method}.{criterion}", outliers=first, fraction=fraction))


def _summary(results: Results) -> str:
    parts = []
    for kind in KINDS:
        huber, ridge, floor = (_of(results, kind, HEADLINE, method).mean() for method in (HUBER, RIDGE, FLOOR))
        parts.append(f"{kind}, ridge {ridge:.3f}, Huber {huber:.3f}, ridge without them {floor:.3f}")
    return f"Error on clean test data with {HEADLINE:.0%} outliers: {'; '.join(parts)}."


def _verdict(results: Results) -> str:
    gains = {kind: _gain(results, kind, HEADLINE) for kind in KINDS}
    parts = [f"in {gain.wins} of {gain.n} samples when they are {kind}" for kind, gain in gains.items()]
    clean = _gain(results, next(iter(KINDS)), 0.0)
    return (
        f"With {HEADLINE:.0%} outliers Huber has the smaller error {' and '.join(parts)}. Without outliers it costs "
        f"{-clean.mean:+.3f} on average."
    )


def _gain(results: Results, kind: str, fraction: float) -> Difference:
    """How much smaller Huber's error is; samples are drawn anew."""
    return difference(_of(results, kind, fraction, RIDGE), _of(results, kind, fraction, HUBER), ratio=0)


def _criterion_text(results: Results) -> str:
    median, mean = (_of(results, "one-sided", HEADLINE, HUBER, criterion).mean() for criterion in CRITERIA)
    return (
        "The rows on which parameters are chosen have outliers too. A mean of squares is ruled by them and rewards a "
        f"model that goes half way: with {HEADLINE:.0%} one-sided outliers Huber's error is {mean:.2f} when chosen so, "
        f"and {median:.2f} by the median."
    )


# ------------------------------------------------------------------------------------------------------------- tables


def _errors_table(results: Results, kind: str) -> Table:
    rows = [
        {
            "outliers": f"{fraction:.0%}",
            **{method: Spread.of(_of(results, kind, fraction, method), digits=3) for method in STYLES},
        }
        for fraction in FRACTIONS
    ]
    title = f"{kind.capitalize()} outliers, {KINDS[kind]}: clean test error"
    return Table(title, rows, ours=(HUBER,))


def _paired_table(results: Results) -> Table:
    rows = [
        ({"outliers": kind, "share": f"{fraction:.0%}"}, _gain(results, kind, fraction))
        for kind, fraction in itertools.product(KINDS, FRACTIONS)
    ]
    note = "Samples are drawn anew, so there is nothing to correct for (ρ = 0)."
    return paired("Ridge minus Huber, the same sample", rows, note=note, ours=("difference",))


def _criteria_table(results: Results) -> Table:
    rows = [
        {
            "outliers": kind,
            "chosen by": criterion,
            **{method: Spread.of(_of(results, kind, HEADLINE, method, criterion), digits=3) for method in METHODS},
        }
        for kind, criterion in itertools.product(KINDS, CRITERIA)
    ]
    return Table(f"{HEADLINE:.0%} outliers: clean test error by the rule of choice", rows, ours=(HUBER,))


def _chosen_table(results: Results) -> Table:
    every = [
        {
            "outliers": kind,
            "share": f"{fraction:.0%}",
            "method": method,
            "ε or κ": None if method == RIDGE else f"{parameter:g}",
            "alpha": alpha,
        }
        for kind, fraction, method in itertools.product(KINDS, FRACTIONS, METHODS)
        for parameter, alpha in zip(
            *(_of(results, kind, fraction, method, what=what) for what in ("parameter", "alpha")), strict=True
        )
    ]
    return chosen(
        pd.DataFrame(every),
        by={name: name for name in ("outliers", "share", "method")},
        what={name: name for name in ("ε or κ", "alpha")},
        title="What was chosen by the median; of alpha, the median (smallest to largest)",
        numbers="range",
    )


# ------------------------------------------------------------------------------------------------------------ figures


def _errors_figure(results: Results, kind: str) -> Figure:
    percents = [100 * fraction for fraction in FRACTIONS]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for method, (colour, style) in STYLES.items():
            values = np.array([_of(results, kind, fraction, method) for fraction in FRACTIONS])
            axes.plot(percents, values.mean(axis=1), style, color=colour, label=method)
            low, high = values.min(axis=1), values.max(axis=1)
            axes.fill_between(percents, low, high, color=colour, alpha=0.08, linewidth=0)
        axes.set(xlabel=f"{kind} outliers (%)", ylabel="clean test error", yscale="log")
        canvas.legend(loc="outside upper center", ncols=2)

    caption = f"{kind.capitalize()} outliers: mean over the samples, the band from smallest to largest."
    return plot(draw, caption=caption, size=(4.8, 3.8))


def _pull_figure() -> Figure:
    losses: list[tuple[str, RadialLoss]] = [
        ("ε-ridge", EpsilonSquare(0.5)),
        ("ε-SVR", EpsilonInsensitive(0.5)),
        (HUBER, Huber(1.5)),
    ]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        r = np.linspace(0, 4, 401)
        axes.plot(r, r, STYLES[RIDGE][1], color=STYLES[RIDGE][0], label=RIDGE)
        for name, loss in losses:
            axes.plot(r, np.asarray(loss.slope(r)), STYLES[name][1], color=STYLES[name][0], label=name)
        axes.set(xlabel="distance ‖h(x) − y‖", ylabel="pull", xlim=(0, 4), ylim=(0, 4))
        canvas.legend(loc="outside upper center", ncols=4)

    return plot(draw, caption="How hard an output pulls at h(x), by its distance; here ε = 0.5 and κ = 1.5.")


def _plane_figure(seed: int) -> Figure:
    rng = np.random.default_rng(seed)
    n = 120
    t, place = rng.uniform(size=(n, 1)), np.linspace(0, 1, 400)[:, None]

    def curve(t: Matrix) -> Matrix:
        return np.hstack([1.5 * np.cos(1.5 * np.pi * t), np.sin(3 * np.pi * t)])

    Y = curve(t) + 0.05 * rng.normal(size=(n, 2))
    outlier = np.isin(np.arange(n), rng.permutation(n)[: round(HEADLINE * n)])
    Y[outlier] += np.array([2.0, 2.0]) + 0.3 * rng.normal(size=(int(outlier.sum()), 2))
    models = {method: choose(t, Y, METHODS[method])[MEDIAN].model for method in (RIDGE, HUBER)}
    curves = {method: np.asarray(model.decision_function(place)) for method, model in models.items()}

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot(*curve(place).T, color=MUTED, linewidth=5, alpha=0.3, label="true")
        for method, values in curves.items():
            axes.plot(*values.T, STYLES[method][1], color=STYLES[method][0], label=method)
        axes.plot(*Y[~outlier].T, ".", color=INK, markersize=3, label="outputs")
        axes.plot(*Y[outlier].T, "x", color=MUTED, markersize=4, label="outliers")
        axes.set_aspect("equal")
        canvas.legend(loc="outside upper center", ncols=3)

    caption = f"One input, two outputs, {HEADLINE:.0%} one-sided outliers: the curve h(x) over all inputs."
    return plot(draw, caption=caption, size=(4.8, 3.8))


PLANS = {"short": Plan(repeat=1), "default": Plan(repeat=10)}
STUDY = Study(plans=PLANS, load=lambda plan: None, cases=cases, work=work, page=page)
