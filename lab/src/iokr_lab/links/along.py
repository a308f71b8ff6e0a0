"""Areas along λ₂, the weight of the penalty on unlabelled nodes: B16, Figures 3, 4 and 5, and B11, Figure 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import CLASSES, MUTED, Figure, Spread, plot
from iokr.apps.report.figures import Canvas
from iokr.manifolds.laplacian import Heat
from iokr_lab.links.protocol import MEASURES, Matrix
from iokr_lab.lookup import Lookup

__all__ = ["HALVES", "MODELS", "RATIOS", "Path", "along_figure", "along_rows", "deformed", "deformed_kernels"]
__all__ += ["heat_penalty", "path_of", "second_lambda"]

RATIOS = (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)  # μ/λ; the papers print no grid
MODELS = ("margin", "ridge")  # left and right as printed
HALVES = {"ridge": 2.0, "margin": 4.0}  # μ = 2λ₂ for ridge, 4λ₂ for the margin

Path = Mapping[str, Sequence[Sequence[float]]]
"""measure → ratio → the values of all draws."""


@dataclass(frozen=True)
class _Scalar:
    """The part of an operator-valued Gram that a manifold needs: its scalar Gram."""

    K: Any


def heat_penalty(K: Matrix) -> Matrix:
    """exp(−L), with L the Laplacian of the graph with weights K: the penalty as printed, taken literally."""
    nodes = np.arange(len(K))
    return np.asarray(Heat(1.0, literal=True).penalty(None, _Scalar(Lookup(K).gram(nodes))))  # type: ignore[arg-type]


def deformed(K: Matrix, P: Matrix, ratio: float) -> Matrix:
    """K (I + ρ P K)⁻¹: supervised learning with it equals semi-supervised learning with K, penalty P and μ = ρλ."""
    if ratio == 0:
        return K
    found = np.linalg.solve(np.eye(len(K)) + ratio * K @ P, K)
    return np.asarray((found + found.T) / 2)


def deformed_kernels(K: Matrix) -> list[Lookup]:
    """The kernel at every ratio μ/λ, with the penalty of the graph of the whole kernel."""
    P = heat_penalty(K)
    return [Lookup(deformed(K, P, ratio)) for ratio in RATIOS]


def path_of(cells: Sequence[Mapping[str, Any]], model: str) -> Path:
    """The path of a model from cells with its areas at every ratio."""
    return {measure: [[cell[model][k][measure] for cell in cells] for k in range(len(RATIOS))] for measure in MEASURES}


def along_rows(model: str, shares: Mapping[str, Path], alpha: float, **names: Any) -> list[dict[str, Any]]:
    """A row per share of labelled nodes: each measure at λ₂ = 0 and at the best λ₂."""
    rows = []
    for share, path in shares.items():
        row: dict[str, Any] = {**names, "model": model, "labelled": share}
        for measure, name in MEASURES.items():
            best = int(np.argmax([float(np.mean(draws)) for draws in path[measure]]))
            row[f"{name}, λ₂ = 0"] = Spread.of(path[measure][0], digits=1)
            row[f"{name}, best"] = Spread.of(path[measure][best], digits=1)
            row[f"λ₂ of best {name}"] = f"{second_lambda(model, RATIOS[best], alpha):.2g}"
        rows.append(row)
    return rows


def second_lambda(model: str, ratio: float, alpha: float) -> float:
    """The paper's λ₂ from μ/λ and λ."""
    return ratio * alpha / HALVES[model]


def along_figure(
    rows: Mapping[str, Mapping[str, Mapping[str, Path]]],
    alphas: Mapping[str, float],
    measure: str,
    caption: str,
    ratios: Sequence[float] = RATIOS,
) -> Figure:
    """A row of panels per network and a column per model, with a line over λ₂ per share of labelled nodes.

    `rows[network][model][share]` is a `Path`.
    """
    models = [model for model in MODELS if all(model in row for row in rows.values())]

    def draw(canvas: Canvas) -> None:
        grid = canvas.subplots(len(rows), len(models), sharey="row", squeeze=False)
        for axes_row, (network, row) in zip(grid, rows.items(), strict=True):
            for axes, model in zip(axes_row, models, strict=True):
                _draw_lines(axes, row[model], _places(model, alphas[model], ratios), measure)
                axes.set_title(f"{model}{', ' if network else ''}{network}", fontsize=9)
            axes_row[0].set_ylabel(f"{MEASURES[measure]}, %")
        for axes in grid[-1]:
            axes.set_xlabel("λ₂")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside upper center", ncols=len(labels))

    return plot(draw, caption=caption, size=(max(3.6, 2.8 * len(models)), 0.6 + 2.1 * len(rows)))


def _places(model: str, alpha: float, ratios: Sequence[float]) -> NDArray[np.float64]:
    """Positions of λ₂ on a logarithmic axis; 0 is one decade left of the smallest."""
    found = np.array([second_lambda(model, ratio, alpha) for ratio in ratios])
    found[0] = found[1] / 10
    return found


def _draw_lines(axes: Any, shares: Mapping[str, Path], places: NDArray[np.float64], measure: str) -> None:
    for number, (share, path) in enumerate(shares.items()):
        values = [np.asarray(draws, dtype=float) for draws in path[measure]]
        mean = np.array([draws.mean() for draws in values])
        colour = CLASSES[number % len(CLASSES)]
        style = ("o-", "s--", "D-.", "^:")[number % 4]
        axes.plot(places, mean, style, color=colour, markersize=3, label=f"{share} labelled")
        if min(map(len, values)) > 1:
            spread = np.array([draws.std(ddof=1) for draws in values])
            axes.fill_between(places, mean - spread, mean + spread, color=colour, alpha=0.12, linewidth=0)
        axes.axhline(mean[0], color=colour, linewidth=0.6, linestyle=":")
    axes.set_xscale("log")
    ticks = [places[0], *places[2::2]]
    axes.set_xticks(ticks, ["0", *(f"{place:.0e}".replace("e-0", "e−").replace("e+0", "e") for place in ticks[1:])])
    axes.minorticks_off()
    axes.axvline(np.sqrt(places[0] * places[1]), color=MUTED, linewidth=0.6)
