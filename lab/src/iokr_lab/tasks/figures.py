"""B16 Figures 6 and 7, and the statements of the paper about them compared with our results."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from iokr.apps.report import INK, OURS, THEIRS, Figure, Spread, Table, plot
from iokr.apps.report.figures import Canvas
from iokr_lab.study import Results
from iokr_lab.tasks.protocol import FRACTIONS, LAMBDA2, OUTPUTS, TASK_WEIGHTS, Matrix, Sweep

__all__ = ["Errors", "claims_table", "figure6", "figure7", "figure7_table", "sweep_table", "swept_errors"]

Setting = tuple[str, float]  # outputs and labelled fraction
Errors = dict[tuple[str, float, int, float, float, str], Matrix]  # …, model, λ₂, μ_t, metric → a value per split

BEST = 0.8  # μ_t of model 2 in Figure 7
_METRIC = {"y": "on y", "published": "published metric"}
_MODELS = (
    ("model 0", 1, 0.0, INK, "-"),
    ("model 1, μₜ = 1", 1, 1.0, THEIRS, "--"),
    (f"model 2, μₜ = {BEST:g}", 2, BEST, OURS, "-"),
)


def swept_errors(results: Results) -> Errors:
    """The error of every point of the grid, a value per split."""
    found: dict[Any, list[float]] = defaultdict(list)
    for case, cell in results.of(Sweep).items():
        for *point, on_y, published in cell["errors"]:
            for metric, error in (("y", on_y), ("published", published)):
                found[case.outputs, case.fraction, *point, metric].append(error)
    return {key: np.array(errors) for key, errors in found.items()}


def claims_table(errors: Errors) -> Table:
    """The statements of the paper on Figures 6 and 7, and whether they hold here in the published metric and on y."""

    def mean(setting: Setting, model: int, lam2: float, mu_t: float, metric: str) -> float:
        return float(errors[*setting, model, lam2, mu_t, metric].mean())

    def low(setting: Setting, model: int, mu_t: float, metric: str, lam2s: tuple[float, ...] = LAMBDA2) -> float:
        return min(mean(setting, model, lam2, mu_t, metric) for lam2 in lam2s)

    def unlabelled(setting: Setting, model: int, mu_t: float, metric: str) -> str:
        return _yes(low(setting, model, mu_t, metric, LAMBDA2[1:]) < mean(setting, model, 0.0, mu_t, metric))

    def coupling(setting: Setting, model: int, mu_t: float, metric: str) -> str:
        if (model, metric) == (1, "y"):
            return "no change"
        return _yes(mean(setting, model, 0.0, mu_t, metric) < mean(setting, model, 0.0, 0.0, metric))

    def order(setting: Setting, metric: str) -> str:
        zero = low(setting, 1, 0.0, metric)
        two = low(setting, 2, BEST, metric)
        one = {"0 = 1": zero} if metric == "y" else {"0": zero, "1": low(setting, 1, 1.0, metric)}
        best = {**one, "2": two}
        return " < ".join(sorted(best, key=lambda model: best[model]))

    def row(setting: Setting, statement: str, find: Callable[[str], str]) -> dict[str, str]:
        kind, fraction = setting
        found = {_METRIC[metric]: find(metric) for metric in ("published", "y")}
        return {"outputs": kind, "labelled": f"{fraction:.0%}", "statement of the paper": statement, **found}

    rows = []
    for kind in OUTPUTS:
        for (model, mu_t), fraction in itertools.product(((1, 1.0), (2, BEST)), FRACTIONS):
            at = ((kind, fraction), model, mu_t)
            helps = f"unlabelled molecules lower the error of model {model}"
            rows.append(row((kind, fraction), helps, partial(unlabelled, *at)))
            lowers = f"μ_t = {mu_t:g} lowers the error of model {model}, supervised"
            rows.append(row((kind, fraction), lowers, partial(coupling, *at)))
        for fraction, best in zip(FRACTIONS, ("2 best", "1 and 2 equal", "1 clearly best"), strict=False):
            rows.append(row((kind, fraction), f"order of the models: {best}", partial(order, (kind, fraction))))
    note = f"Models at their best λ₂; model 1 at μ_t = 1, model 2 at μ_t = {BEST:g}, as in Figure 7."
    return Table("Statements of the paper on Figures 6 and 7, and our results", rows, note=note, ours=("on y",))


def _yes(found: object) -> str:
    return "yes" if found else "no"


def figure7_table(errors: Errors) -> Table:
    rows = []
    for kind, fraction, (label, model, mu_t, *_) in itertools.product(OUTPUTS, FRACTIONS, _MODELS):
        row: dict[str, object] = {"outputs": kind, "labelled": f"{fraction:.0%}", "model": label}
        for metric, name in _METRIC.items():
            found = [errors[kind, fraction, model, lam2, mu_t, metric] for lam2 in LAMBDA2]
            row[f"{name}, λ₂ = 0"] = Spread.of(found[0], digits=2)
            best = min(found, key=lambda one: float(one.mean()))
            row[f"{name}, best λ₂"] = Spread.of(best, digits=2)
        rows.append(row)
    return Table("Figure 7 in numbers: supervised, and at the best λ₂ of the grid", rows, ours=("on y, best λ₂",))


def sweep_table(errors: Errors) -> Table:
    rows = [
        {
            "outputs": kind,
            "labelled": f"{fraction:.0%}",
            "model": model,
            "μ_t": mu_t,
            "λ₂": f"{lam2:g}",
            "on y": Spread.of(found, digits=2),
            "published metric": Spread.of(errors[kind, fraction, model, lam2, mu_t, "published"], digits=2),
        }
        for (kind, fraction, model, lam2, mu_t, metric), found in errors.items()
        if metric == "y"
    ]
    return Table("The complete grid (model 0 is μ_t = 0)", rows, folded=True)


def figure6(errors: Errors, kind: str, model: int) -> Figure:
    task_weights = TASK_WEIGHTS if model == 2 else (0.0, BEST, 1.0)
    lines = [
        Line(model, mu_t, OURS, "-", 0.3 + 0.7 * i / max(1, len(task_weights) - 1), f"μₜ = {mu_t:g}")
        for i, mu_t in enumerate(task_weights)
    ]
    caption = f"Figure 6, model {model}, outputs {kind}: error in the published metric over λ₂, darker for larger μ_t."
    return _panels(errors, kind, "published", lines, "linear", caption)


def figure7(errors: Errors, kind: str, metric: str) -> Figure:
    lines = [Line(model, mu_t, colour, style, 1.0, label) for label, model, mu_t, colour, style in _MODELS]
    same = "; on y models 0 and 1 are one curve" if metric == "y" else ""
    caption = f"Figure 7, outputs {kind}, {_METRIC[metric]}{same}."
    return _panels(errors, kind, metric, lines, "linear" if metric == "y" else "log", caption)


class Line(NamedTuple):
    """A curve over λ₂."""

    model: int
    mu_t: float
    colour: str
    style: str
    opacity: float
    label: str


def _panels(errors: Errors, kind: str, metric: str, lines: list[Line], scale: str, caption: str) -> Figure:
    """A panel per fraction of labelled molecules; λ₂ on a logarithmic axis, with 0 at the left."""
    logs = [float(np.log10(lam2)) for lam2 in LAMBDA2[1:]]
    places = [logs[0] - 1.5, *logs]
    labels = ["0", *(f"{lam2:.0e}".replace("e-0", "e−") for lam2 in LAMBDA2[1:])]

    def draw(canvas: Canvas) -> None:
        panels = canvas.subplots(len(FRACTIONS), 1, sharex=True, squeeze=False)[:, 0]
        for axes, fraction in zip(panels, FRACTIONS, strict=True):
            for model, mu_t, colour, style, opacity, label in lines:
                means = [errors[kind, fraction, model, lam2, mu_t, metric].mean() for lam2 in LAMBDA2]
                axes.plot(places, means, style, color=colour, alpha=opacity, marker="o", markersize=3, label=label)
            axes.set_xticks(places, labels, rotation=60)
            axes.set(title=f"{fraction:.0%} labelled", yscale=scale)
            axes.set_ylabel("error on y" if metric == "y" else "error, published metric")
        panels[-1].set_xlabel("λ₂")
        handles, names = panels[0].get_legend_handles_labels()
        canvas.legend(handles, names, loc="outside upper center", ncols=3)

    return plot(draw, caption=caption, size=(4.8, 2.2 * len(FRACTIONS) + 1.2))
