"""B16 Figures 6 and 7 drawn again, and what the paper says of them beside what we find."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from iokr.report import INK, OURS, THEIRS, Figure, Spread, Table, plot
from iokr_lab.tasks.protocol import LAMBDA2, OUTPUTS, SHARES, STRENGTHS, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["claims_table", "figure6", "figure7", "figure7_table", "sweep_table"]

BEST = 0.8  # μ_t of model 2 in Figure 7
_METRIC = {"y": "on y", "published": "published metric"}
_MODELS = (("model 0", 1, 0.0), ("model 1, μₜ = 1", 1, 1.0), (f"model 2, μₜ = {BEST:g}", 2, BEST))
_STYLES = {0: (INK, "-"), 1: (THEIRS, "--"), 2: (OURS, "-")}


def claims_table(swept: Sweep) -> Table:
    """What the text says of Figures 6 and 7, and whether our runs show it, in the published metric and on y."""

    def low(kind: str, share: float, model: int, mu_t: float, metric: str, lam2s: tuple[float, ...] = LAMBDA2) -> float:
        return min(float(swept.of(kind, share, model, lam2, mu_t, metric).mean()) for lam2 in lam2s)

    def order(kind: str, share: float, metric: str) -> str:
        best = {
            "0": low(kind, share, 1, 0.0, metric),
            "1": low(kind, share, 1, 1.0, metric),
            "2": low(kind, share, 2, BEST, metric),
        }
        if metric == "y":
            best = {"0 = 1": best["0"], "2": best["2"]}
        return " < ".join(sorted(best, key=lambda model: best[model]))

    rows = []
    for kind in OUTPUTS:
        for model, share in itertools.product((1, 2), SHARES):
            mu_t = 1.0 if model == 1 else BEST
            rows.append(
                {
                    "outputs": kind,
                    "labelled": f"{share:.0%}",
                    "published, in words": f"unlabelled molecules lower the error of model {model}",
                    "published metric": _yes(
                        low(kind, share, model, mu_t, "published", LAMBDA2[1:])
                        < float(swept.of(kind, share, model, 0.0, mu_t, "published").mean())
                    ),
                    "on y": _yes(
                        low(kind, share, model, mu_t, "y", LAMBDA2[1:])
                        < float(swept.of(kind, share, model, 0.0, mu_t, "y").mean())
                    ),
                }
            )
            rows.append(
                {
                    "outputs": kind,
                    "labelled": f"{share:.0%}",
                    "published, in words": f"μ_t = {mu_t:g} lowers the error of model {model}, supervised",
                    "published metric": _yes(
                        swept.of(kind, share, model, 0.0, mu_t, "published").mean()
                        < swept.of(kind, share, model, 0.0, 0.0, "published").mean()
                    ),
                    "on y": "no change"
                    if model == 1
                    else _yes(
                        swept.of(kind, share, model, 0.0, mu_t).mean() < swept.of(kind, share, model, 0.0, 0.0).mean()
                    ),
                }
            )
        for share, said in zip(SHARES, ("2 best", "1 and 2 alike", "1 clearly best"), strict=False):
            rows.append(
                {
                    "outputs": kind,
                    "labelled": f"{share:.0%}",
                    "published, in words": f"order of the models: {said}",
                    "published metric": order(kind, share, "published"),
                    "on y": order(kind, share, "y"),
                }
            )
    note = f"Models at their best λ₂; model 1 at μ_t = 1, model 2 at μ_t = {BEST:g}, as in Figure 7."
    return Table("What the paper says of Figures 6 and 7, and what we find", rows, note=note, ours=("on y",))


def _yes(found: object) -> str:
    return "yes" if found else "no"


def figure7_table(swept: Sweep) -> Table:
    rows = []
    for kind, share, (label, model, mu_t) in itertools.product(OUTPUTS, SHARES, _MODELS):
        row: dict[str, object] = {"outputs": kind, "labelled": f"{share:.0%}", "model": label}
        for metric in ("y", "published"):
            means = {lam2: swept.of(kind, share, model, lam2, mu_t, metric).mean() for lam2 in LAMBDA2}
            best = min(means, key=lambda lam2: means[lam2])
            row[f"{_METRIC[metric]}, λ₂ = 0"] = Spread.of(swept.of(kind, share, model, 0.0, mu_t, metric), digits=2)
            row[f"{_METRIC[metric]}, best λ₂"] = Spread.of(swept.of(kind, share, model, best, mu_t, metric), digits=2)
        rows.append(row)
    return Table("Figure 7 in figures: supervised, and at the best λ₂ of the grid", rows, ours=("on y, best λ₂",))


def sweep_table(swept: Sweep) -> Table:
    rows = [
        {
            "outputs": kind,
            "labelled": f"{share:.0%}",
            "model": model,
            "μ_t": mu_t,
            "λ₂": f"{lam2:g}",
            "on y": Spread.of(swept.of(kind, share, model, lam2, mu_t), digits=2),
            "published metric": Spread.of(swept.of(kind, share, model, lam2, mu_t, "published"), digits=2),
        }
        for kind, share, model, lam2, mu_t, metric in swept.errors
        if metric == "y"
    ]
    return Table("The whole grid (model 0 is μ_t = 0)", rows, folded=True)


def _positions() -> tuple[list[float], list[str]]:
    """λ₂ on a logarithmic axis, 0 one step to the left."""
    logs = [float(np.log10(lam2)) for lam2 in LAMBDA2[1:]]
    return [logs[0] - 1.5, *logs], ["0", *(f"{lam2:.0e}".replace("e-0", "e−") for lam2 in LAMBDA2[1:])]


def figure6(swept: Sweep, kind: str, model: int) -> Figure:
    strengths = STRENGTHS if model == 2 else (0.0, BEST, 1.0)
    places, labels = _positions()

    def draw(canvas: Canvas) -> None:
        panels = canvas.subplots(len(SHARES), 1, sharex=True, squeeze=False)[:, 0]
        for axes, share in zip(panels, SHARES, strict=True):
            for i, mu_t in enumerate(strengths):
                errors = [swept.of(kind, share, model, lam2, mu_t, "published").mean() for lam2 in LAMBDA2]
                strong = i / max(1, len(strengths) - 1)
                axes.plot(
                    places, errors, "o-", color=OURS, alpha=0.3 + 0.7 * strong, markersize=3, label=f"μₜ = {mu_t:g}"
                )
            axes.set_xticks(places, labels, rotation=60)
            axes.set(title=f"{share:.0%} labelled", ylabel="error, published metric")
        panels[-1].set_xlabel("λ₂")
        handles, names = panels[0].get_legend_handles_labels()
        canvas.legend(handles, names, loc="outside upper center", ncols=3)

    caption = f"Figure 6, model {model}, outputs {kind}: error in the published metric over λ₂, darker for larger μ_t."
    return plot(draw, caption=caption, size=(4.8, 2.2 * len(SHARES) + 1.2))


def figure7(swept: Sweep, kind: str, metric: str) -> Figure:
    places, labels = _positions()

    def draw(canvas: Canvas) -> None:
        panels = canvas.subplots(len(SHARES), 1, sharex=True, squeeze=False)[:, 0]
        for axes, share in zip(panels, SHARES, strict=True):
            for i, (label, model, mu_t) in enumerate(_MODELS):
                errors = [swept.of(kind, share, model, lam2, mu_t, metric).mean() for lam2 in LAMBDA2]
                colour, style = _STYLES[i]
                axes.plot(places, errors, style, color=colour, marker="o", markersize=3, label=label)
            axes.set_xticks(places, labels, rotation=60)
            axes.set(title=f"{share:.0%} labelled", yscale="linear" if metric == "y" else "log")
            axes.set_ylabel("error on y" if metric == "y" else "error, published metric")
        panels[-1].set_xlabel("λ₂")
        handles, names = panels[0].get_legend_handles_labels()
        canvas.legend(handles, names, loc="outside upper center", ncols=3)

    same = "; on y models 0 and 1 are one curve" if metric == "y" else ""
    return plot(
        draw, caption=f"Figure 7, outputs {kind}, {_METRIC[metric]}{same}.", size=(4.8, 2.2 * len(SHARES) + 1.2)
    )
