"""A fraction of the training outputs is far from where it should be: ridge against Huber and the ε losses.

Data made here, so that the truth is known; every parameter chosen on the training part, outliers and all.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from iokr.apps.report import INK, MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.losses.base import Loss
from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.radial import RadialLoss
from iokr.losses.square import Square
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import Difference, chosen, difference, paired

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

N_TRAIN = 150
N_TEST = 500
INPUTS = 2
OUTPUTS = 8
NOISE = 0.1  # deviation of the noise in each output; how far an outlier is from its place
DISTANCE = 10.0
FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3)
KINDS = {"scattered": "each outlier in a direction of its own", "one-sided": "all outliers in the same direction"}
ALPHAS = np.logspace(-3, 2, 9)
RIDGE = "ridge"
HUBER = "Huber"
FLOOR = "ridge without the outliers"
METHODS: dict[str, list[Loss]] = {
    RIDGE: [Square()],
    "ε-ridge": [EpsilonSquare(epsilon) for epsilon in (0.1, 0.3, 1.0, 3.0)],
    "ε-SVR": [EpsilonInsensitive(epsilon) for epsilon in (0.1, 0.3, 1.0, 3.0)],
    HUBER: [Huber(kappa) for kappa in (0.1, 0.3, 1.0, 3.0)],
}
CRITERIA: dict[str, Callable[[Matrix], float]] = {
    "median": lambda distances: float(np.median(distances)),
    "mean of squares": lambda distances: float(np.mean(distances**2)),
}


@dataclass(frozen=True)
class Sample:
    """Training outputs with outliers, and what is true at test inputs."""

    X: Matrix
    Y: Matrix
    outlier: NDArray[np.bool_]
    X_test: Matrix
    F_test: Matrix  # without noise


def draw(kind: str, fraction: float, seed: tuple[int, int]) -> Sample:
    """A smooth function of two inputs with eight outputs of unit variance; noise; some rows moved far away.

    The same seed gives the same function, inputs and noise for every kind and fraction, and a larger one moves more
    rows.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(N_TRAIN, INPUTS))
    X_test = rng.uniform(size=(N_TEST, INPUTS))
    f = _smooth_function(rng)
    F = f(X)
    F_test = f(X_test)
    Y = F + NOISE * rng.normal(size=F.shape)
    order = rng.permutation(N_TRAIN)
    directions = rng.normal(size=(N_TRAIN, OUTPUTS))
    if kind == "one-sided":
        directions = np.broadcast_to(directions[0], directions.shape)
    outlier = np.isin(np.arange(N_TRAIN), order[: round(fraction * N_TRAIN)])
    moved = Y + DISTANCE * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return Sample(X, np.where(outlier[:, None], moved, Y), outlier, X_test, F_test)


def _smooth_function(rng: Generator, n_waves: int = 6) -> Callable[[Matrix], Matrix]:
    """Sums of sines, each output of mean 0 and variance 1 over the inputs, about."""
    frequencies = rng.uniform(-1.5, 1.5, size=(INPUTS, n_waves))
    phases = rng.uniform(0, 2 * np.pi, size=n_waves)
    amplitudes = rng.normal(size=(n_waves, OUTPUTS))
    grid = rng.uniform(size=(2000, INPUTS))

    def waves(X: Matrix) -> Matrix:
        return np.asarray(np.sin(X @ frequencies * np.pi + phases) @ amplitudes)

    values = waves(grid)
    mean = values.mean(axis=0)
    deviation = values.std(axis=0)
    return lambda X: (waves(X) - mean) / deviation


# ------------------------------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Choice:
    """What was chosen on the training part, fitted to all of it."""

    loss: Loss
    alpha: float
    model: IOKR


def model_of(loss: Loss, alpha: float) -> IOKR:
    return IOKR(RBF(), loss=loss, alpha=alpha)


def choose(X: Matrix, Y: Matrix, losses: list[Loss]) -> dict[str, Choice]:
    """The best loss and alpha by each criterion, on a third of the training rows, outliers and all; fitted to all rows.

    The rows come in random order, so the last third is a random one.
    """
    cut = len(X) - len(X) // 3
    scores: dict[str, dict[tuple[int, float], float]] = defaultdict(dict)
    for (i, loss), alpha in itertools.product(enumerate(losses), ALPHAS.tolist()):
        residuals = np.asarray(model_of(loss, alpha).fit(X[:cut], Y[:cut]).decision_function(X[cut:])) - Y[cut:]
        for name, criterion in CRITERIA.items():
            scores[name][i, alpha] = criterion(np.linalg.norm(residuals, axis=1))
    best = {name: min(found, key=found.__getitem__) for name, found in scores.items()}
    models = {(i, alpha): model_of(losses[i], alpha).fit(X, Y) for i, alpha in set(best.values())}
    return {name: Choice(losses[at[0]], at[1], models[at]) for name, at in best.items()}


def fitted(sample: Sample) -> Iterator[tuple[str, str, Choice]]:
    """Every method, by every criterion; and ridge without the outliers."""
    for method, losses in METHODS.items():
        for criterion, choice in choose(sample.X, sample.Y, losses).items():
            yield method, criterion, choice
    clean = ~sample.outlier
    for criterion, choice in choose(sample.X[clean], sample.Y[clean], METHODS[RIDGE]).items():
        yield FLOOR, criterion, choice


# ---------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Drawn(Case):
    """A sample; without outliers all kinds are the same, and only the first is run."""

    outliers: str
    fraction: float
    sample: int


def cases(plan: Plan, data: None) -> list[Drawn]:
    """Every kind and fraction of outliers in every sample."""
    settings = [(next(iter(KINDS)), 0.0), *itertools.product(KINDS, FRACTIONS[1:])]
    return [Drawn(kind, fraction, i) for i in range(plan.repeat) for kind, fraction in settings]


def work(case: Drawn, plan: Plan, data: None) -> dict[str, Any]:
    """Clean test error, alpha and ε or κ (0 for the square loss), by method and criterion."""
    sample = draw(case.outliers, case.fraction, (plan.seed, case.sample))
    metrics: dict[str, Any] = {"error": {}, "alpha": {}, "parameter": {}}
    for method, criterion, choice in fitted(sample):
        residuals = np.asarray(choice.model.decision_function(sample.X_test)) - sample.F_test
        parameter = getattr(choice.loss, "kappa", getattr(choice.loss, "epsilon", 0.0))
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
        huber = _of(results, kind, HEADLINE, HUBER).mean()
        ridge = _of(results, kind, HEADLINE, RIDGE).mean()
        floor = _of(results, kind, HEADLINE, FLOOR).mean()
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
            low = values.min(axis=1)
            high = values.max(axis=1)
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
