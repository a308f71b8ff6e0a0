"""A fraction of the training outputs is far from the truth: ridge against Huber and the ε losses.

The data are simulated, so the truth is known; all parameters are chosen on the training part, which has outliers, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from iokr.apps.report import INK, MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.radial import RadialLoss
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
    Matrix,
    choose,
    draw,
    fitted,
)
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import Difference, chosen, difference, paired

__all__ = ["STUDY"]


@dataclass(frozen=True)
class Draw(Case):
    """A sample; without outliers all kinds are equal and only the first is run."""

    outliers: str
    fraction: float
    sample: int


def cases(plan: Plan, data: None) -> list[Draw]:
    """Every kind and fraction of outliers in every sample."""
    settings = [(next(iter(KINDS)), 0.0), *itertools.product(KINDS, FRACTIONS[1:])]
    return [Draw(kind, fraction, i) for i in range(plan.repeat) for kind, fraction in settings]


def work(case: Draw, plan: Plan, data: None) -> dict[str, Any]:
    """Clean test error, alpha and ε or κ (0 for the square loss) by method and criterion."""
    sample = draw(case.outliers, case.fraction, (plan.seed, case.sample))
    metrics: dict[str, Any] = {"error": {}, "alpha": {}, "parameter": {}}
    for method, criterion, choice in fitted(sample):
        residuals = np.asarray(choice.model.decision_function(sample.X_test)) - sample.F_test
        parameter = sum(choice.loss.get_params().values())  # ε or κ; the square loss has none
        found = {"error": float((residuals**2).sum(axis=1).mean()), "alpha": choice.alpha, "parameter": parameter}
        for name, value in found.items():
            metrics[name].setdefault(method, {})[criterion] = value
    return metrics


# ---------------------------------------------------------------------------------------------------------------- page

HEADLINE = 0.2
MEDIAN = "median"
STYLES = {
    RIDGE: (THEIRS, "-"),
    "ε-ridge": (THEIRS, ":"),
    "ε-SVR": (OURS, "--"),
    HUBER: (OURS, "-"),
    FLOOR: (MUTED, "-."),
}


def page(results: Results, plan: Plan, data: None) -> Report:
    """Clean test error against the fraction of outliers for four losses."""
    return Report(
        "Outliers among the outputs",
        _summary(results),
        (
            Text("The setting", (_SETTING, _CHOICE)),
            *(_errors_table(results, kind) for kind in KINDS),
            *(_errors_figure(results, kind) for kind in KINDS),
            Text("Huber and ridge, sample by sample", (_verdict(results),)),
            _paired_table(results),
            Text("Explanation", (_EXPLANATION,)),
            _influence_figure(),
            _plane_figure(plan.seed),
            Text("Effect of the criterion of choice", (_criterion_text(results),)),
            _criteria_table(results),
            _chosen_table(results),
        ),
        (
            f"Errors are means over {N_TEST} new inputs of ‖f(x) − h(x)‖² with the true function f: the test is clean, "
            f"without outliers and noise. Predicting zero has an error of about {OUTPUTS}.",
            f"± is the standard deviation over {plan.repeat} samples. Each sample uses the same function, inputs and "
            "noise for every fraction and kind.",
            f"“{FLOOR}” knows which rows are outliers; the difference to it is the cost of not knowing.",
        ),
    )


# --------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    f"A smooth function of two inputs with {OUTPUTS} outputs of unit variance, {N_TRAIN} training rows, Gaussian noise "
    f"with standard deviation {NOISE:g}. A fraction of the training outputs is moved by {DISTANCE:g}, about "
    f"{DISTANCE / np.sqrt(OUTPUTS):.1f} times the typical norm of an output: scattered, {KINDS['scattered']}, or "
    f"one-sided, {KINDS['one-sided']}. The methods do not know which rows are outliers."
)
_CHOICE = (
    "For every method, `alpha` and the parameter of the loss are chosen on a third of the training rows, which also "
    "has outliers, by the median distance to the outputs. Then the model is fitted to all rows."
)
_EXPLANATION = (
    "The influence of an output on h(x) is the slope of the loss. For the square loss it grows with the distance "
    "without bound, so an outlier has the influence of many good rows; ε-ridge differs only close to the output. "
    "Huber and ε-SVR have bounded influence."
)


def _of(
    results: Results, kind: str, fraction: float, method: str, criterion: str = MEDIAN, what: str = "error"
) -> Matrix:
    """A value per sample; without outliers there is one kind."""
    first = kind if fraction else next(iter(KINDS))
    return np.array(results.numbers(Draw, f"{what}.{method}.{criterion}", outliers=first, fraction=fraction))


def _summary(results: Results) -> str:
    parts = []
    for kind in KINDS:
        huber = _of(results, kind, HEADLINE, HUBER).mean()
        ridge = _of(results, kind, HEADLINE, RIDGE).mean()
        floor = _of(results, kind, HEADLINE, FLOOR).mean()
        parts.append(f"{kind}: ridge {ridge:.3f}, Huber {huber:.3f}, {FLOOR} {floor:.3f}")
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
    """The reduction of the error by Huber; samples are independent."""
    return difference(_of(results, kind, fraction, RIDGE), _of(results, kind, fraction, HUBER), ratio=0)


def _criterion_text(results: Results) -> str:
    median, mean = [_of(results, "one-sided", HEADLINE, HUBER, criterion).mean() for criterion in CRITERIA]
    return (
        "The rows used to choose parameters also have outliers. A mean of squares is dominated by them and favours a "
        f"compromise between outliers and other rows: with {HEADLINE:.0%} one-sided outliers Huber's error is "
        f"{mean:.2f} with this criterion, and {median:.2f} with the median."
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
    note = "Samples are independent, so no correction is needed (ρ = 0)."
    return paired("Ridge minus Huber on the same samples", rows, note=note, ours=("difference",))


def _criteria_table(results: Results) -> Table:
    rows = [
        {
            "outliers": kind,
            "chosen by": criterion,
            **{method: Spread.of(_of(results, kind, HEADLINE, method, criterion), digits=3) for method in METHODS},
        }
        for kind, criterion in itertools.product(KINDS, CRITERIA)
    ]
    return Table(f"{HEADLINE:.0%} outliers: clean test error by the criterion of choice", rows, ours=(HUBER,))


def _chosen_values(results: Results, kind: str, fraction: float, method: str) -> Iterator[tuple[float, float]]:
    """Parameter and alpha of each sample."""
    parameters = _of(results, kind, fraction, method, what="parameter")
    alphas = _of(results, kind, fraction, method, what="alpha")
    return zip(parameters, alphas, strict=True)


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
        for parameter, alpha in _chosen_values(results, kind, fraction, method)
    ]
    return chosen(
        pd.DataFrame(every),
        by={name: name for name in ("outliers", "share", "method")},
        what={name: name for name in ("ε or κ", "alpha")},
        title="Parameters chosen by the median criterion; for alpha the median (smallest to largest)",
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
            low = values.min(axis=1)
            high = values.max(axis=1)
            axes.fill_between(percents, low, high, color=colour, alpha=0.08, linewidth=0)
        axes.set(xlabel=f"{kind} outliers (%)", ylabel="clean test error", yscale="log")
        canvas.legend(loc="outside upper center", ncols=2)

    caption = f"{kind.capitalize()} outliers: mean over the samples; bands from smallest to largest."
    return plot(draw, caption=caption, size=(4.8, 3.8))


def _influence_figure() -> Figure:
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
        axes.set(xlabel="distance ‖h(x) − y‖", ylabel="influence", xlim=(0, 4), ylim=(0, 4))
        canvas.legend(loc="outside upper center", ncols=4)

    return plot(draw, caption="Influence of an output on h(x) by its distance, for ε = 0.5 and κ = 1.5.")


def _plane_figure(seed: int) -> Figure:
    rng = np.random.default_rng(seed)
    n = 120
    t = rng.uniform(size=(n, 1))
    place = np.linspace(0, 1, 400)[:, None]

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
