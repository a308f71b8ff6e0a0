"""B16, Figures 3, 4, 8, and B11, Figure 1: random networks along λ₂, and a network with classes and its prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import CLASSES, MUTED, OURS, Figure, Table, Text, layout, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.links.cv import LinkPredictorCV
from iokr_lab.links.along import MODELS, RATIOS, Path, along_figure, along_rows, deformed_kernels, path_of
from iokr_lab.links.protocol import MEASURES
from iokr_lab.lookup import Lookup
from iokr_lab.study import Case, Results
from iokr_lab.synthetic_networks.models import (
    MARGIN,
    MORE_ALPHAS,
    MORE_WIDTHS,
    RIDGE,
    grams,
    margin_at,
    output_kernel,
    ridge_at,
)
from iokr_lab.synthetic_networks.protocol import Matrix, Network

__all__ = ["ALONG", "DENSE", "Along", "Drawn", "draw_classes", "items", "path_kernels", "work_along", "work_drawn"]

DENSE = 0.03  # density that occurs only in B11, Figure 1
ALONG = ("0.007", "0.01", "0.02")  # densities of B16, Figures 3 and 4
FIRST = ("0.01", "0.02", f"{DENSE:g}")  # densities of B11, Figure 1
SHARES = {0.05: "5 %", 0.1: "10 %", 0.2: "20 %"}
SETTINGS = {"ridge": RIDGE, "margin": MARGIN}
SEMI = RATIOS.index(RIDGE.ratio)
_GREY = "#888888"  # for rasterised lines, which do not follow light and dark mode
SEEN = 0.2  # share of labelled nodes in Figure 8, which does not give it


@dataclass(frozen=True)
class Along(Case):
    """Both models along λ₂ on one labelled set of a random graph, at 95 % inertia."""

    graph: str
    fraction: float
    draw: int

    def __str__(self) -> str:
        return f"along λ₂, {super().__str__()}"


@dataclass(frozen=True)
class Drawn(Case):
    """A network of three classes and its prediction, to be drawn."""

    graph: str

    def __str__(self) -> str:
        return f"drawn, {self.graph}"


def path_kernels(network: Network) -> dict[str, list[Lookup]]:
    """The kernels of each model at every μ/λ; they serve all labelled sets."""
    return {model: deformed_kernels(network.gaussian(setting.width)) for model, setting in SETTINGS.items()}


def work_along(network: Network, kernels: Mapping[str, Sequence[Lookup]], labeled: NDArray[np.int64]) -> dict[str, Any]:
    """Areas of both models at every μ/λ."""
    target = output_kernel(network)
    return {
        "ridge": [ridge_at(network, labeled, kernel, target) for kernel in kernels["ridge"]],
        "margin": [margin_at(network, labeled, kernel, target) for kernel in kernels["margin"]],
    }


def work_drawn(network: Network, labeled: NDArray[np.int64]) -> dict[str, Any]:
    """Pairs above the threshold with the best F1 on training pairs, for supervised ridge by leave-one-out."""
    kernels = grams(network, MORE_WIDTHS, 0.0)
    model = LinkPredictorCV(kernels, alphas=MORE_ALPHAS, output_kernel=output_kernel(network), rule="best")
    nodes = np.arange(len(network.W))
    scores = np.asarray(model.fit(nodes, network.W, labeled=labeled).decision_function())
    above = np.argwhere(np.triu(scores > model.best_threshold(), k=1))
    truth = np.triu(network.W > 0, k=1)
    right = int(truth[tuple(above.T)].sum())
    return {
        "pairs": above.ravel().tolist(),
        "threshold": float(model.best_threshold()),
        "precision": 100 * right / max(len(above), 1),
        "recall": 100 * right / max(int(truth.sum()), 1),
    }


# ---------------------------------------------------------------------------------------------------------------- page


def items(results: Results, network: tuple[str, Matrix]) -> tuple[Any, ...]:
    """Texts, figures and their numbers; `network` is the name and the graph of Figure 8."""
    paths = {graph: _paths(results, graph) for graph in dict.fromkeys((*ALONG, *FIRST))}
    alphas = {model: setting.alpha for model, setting in SETTINGS.items()}
    rows = {f"density {graph}": paths[graph] for graph in ALONG}
    drawn = results[Drawn(network[0])]
    return (
        Text("Along λ₂: B16, Figures 3 and 4", (_ALONG,)),
        *(
            along_figure(rows, alphas, measure, f"B16, Figure {number}: AUC-{MEASURES[measure]} along λ₂, {_CAPTION}")
            for number, measure in ((3, "roc_auc"), (4, "average_precision"))
        ),
        _along_table(paths),
        Text("Supervised and semi-supervised: B11, Figure 1", (_B11,)),
        _b11_figure({graph: paths[graph]["ridge"] for graph in FIRST}),
        Text("A network and its prediction: B16, Figure 8", (_drawn_text(drawn),)),
        draw_classes(network[1], np.array(drawn["pairs"], dtype=int).reshape(-1, 2)),
    )


def _paths(results: Results, graph: str) -> dict[str, dict[str, Path]]:
    """model → share → path."""
    found: dict[str, dict[str, Path]] = {model: {} for model in MODELS}
    for fraction, share in SHARES.items():
        cells = list(results.of(Along, graph=graph, fraction=fraction).values())
        for model in MODELS:
            found[model][share] = path_of(cells, model)
    return found


def _along_table(paths: Mapping[str, Mapping[str, Mapping[str, Path]]]) -> Table:
    rows = []
    for graph, models in paths.items():
        for model, shares in models.items():
            rows += along_rows(model, shares, SETTINGS[model].alpha, density=graph)
    note = "The best λ₂ is chosen on the evaluated pairs."
    return Table("Supervised, and the best along λ₂", rows, note=note, folded=True)


def _b11_figure(graphs: Mapping[str, Mapping[str, Path]]) -> Figure:
    """ROC above, PR below, a column per density."""

    def draw(canvas: Canvas) -> None:
        grid = canvas.subplots(2, len(graphs), sharex=True, sharey="row", squeeze=False)
        percents = [100 * fraction for fraction in SHARES]
        for column, (graph, shares) in enumerate(graphs.items()):
            for axes, (measure, name) in zip(grid[:, column], MEASURES.items(), strict=True):
                for place, label, colour, style in (
                    (0, "supervised", MUTED, "o--"),
                    (SEMI, "semi-supervised", OURS, "s-"),
                ):
                    draws = [np.asarray(shares[share][measure][place]) for share in SHARES.values()]
                    mean = [values.mean() for values in draws]
                    spread = [values.std(ddof=1) if len(values) > 1 else 0.0 for values in draws]
                    axes.errorbar(percents, mean, spread, fmt=style, color=colour, label=label, markersize=4, capsize=2)
                axes.set_xticks(percents)
                if column == 0:
                    axes.set_ylabel(f"{name}, %")
            grid[0, column].set_title(f"density {graph}", fontsize=9)
            grid[1, column].set_xlabel("labelled, %")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside upper center", ncols=2)

    caption = "B11, Figure 1: ridge, supervised (λ₂ = 0) and with μ = λ; ROC above, PR below."
    return plot(draw, caption=caption, size=(6.4, 4.4))


def draw_classes(W: Matrix, predicted: NDArray[np.int64]) -> Figure:
    """The true and the predicted network with the same layout, and both adjacency matrices below."""
    n = len(W)
    classes = np.sort(np.arange(n) % 3)
    true = np.argwhere(np.triu(W > 0, k=1))
    places = layout(n, true)

    def draw(canvas: Canvas) -> None:
        from matplotlib.collections import LineCollection

        grid = canvas.subplots(2, 2)
        for axes, below, pairs, name in zip(grid[0], grid[1], (true, predicted), ("true", "predicted"), strict=True):
            lines = LineCollection(places[pairs], colors=_GREY, linewidths=0.25, alpha=0.35, rasterized=True)
            axes.add_collection(lines)
            for value in range(3):
                own = places[classes == value]
                axes.scatter(own[:, 0], own[:, 1], s=3, color=CLASSES[value], rasterized=True, zorder=2)
            axes.set_axis_off()
            axes.set_aspect("equal")
            axes.set_title(f"{name}, {len(pairs)} links", fontsize=9)
            both = np.concatenate([pairs, pairs[:, ::-1]])
            below.plot(both[:, 1], both[:, 0], ",", color=CLASSES[0], rasterized=True)
            below.set(xlim=(0, n), ylim=(n, 0), xticks=[], yticks=[], aspect="equal")
            below.grid(visible=False)
            for edge in np.flatnonzero(np.diff(classes)) + 1:
                below.axhline(edge, color=OURS, linewidth=0.6)
                below.axvline(edge, color=OURS, linewidth=0.6)

    caption = (
        "B16, Figure 8: a network of three classes (colours) and the prediction of ridge with the same layout; below, "
        "the adjacency matrices with nodes sorted by class."
    )
    return plot(draw, caption=caption, size=(6.0, 6.2))


def _drawn_text(cell: Mapping[str, Any]) -> str:
    return (
        f"The mixture with link probabilities 0.02 within and 5e-4 between three classes, with {100 * SEEN:g} % of the "
        "nodes labelled (the paper does not give the share), width and λ by leave-one-out. Links are predicted for "
        f"pairs with a score above {cell['threshold']:.3g}, the threshold with the best F1 on pairs of labelled nodes. "
        f"Precision is {cell['precision']:.1f} %, recall {cell['recall']:.1f} %. Pairs of two labelled nodes, whose "
        "links are known, are scored like the others."
    )


_CAPTION = (
    "margin left, ridge right, 95 % inertia; dotted, and left of the line: supervised (λ₂ = 0); bands: ± one standard "
    "deviation over labelled sets."
)
_ALONG = (
    "Both models with their single setting and the penalty exp(−L), taken literally, starting from λ₂ = 0 "
    "(supervised); μ = 2λ₂ for ridge and 4λ₂ for the margin. The grids of λ₂ are not printed. Taken literally, this "
    "penalty does not smooth: it shrinks what is common to all nodes, which the margin needs and ridge hardly does. As "
    "in the paper, ridge is better than the margin, especially in PR; the penalty helps the margin strongly, and ridge "
    "with few labelled nodes."
)
_B11 = (
    f"The densities of B11, including {DENSE:g}, with ridge. The paper chose λ₁, λ₂, β and β₂ by folds; here λ and the "
    "width are those of the single setting, μ = λ, and β₂ = 1. The paper prints no numbers. The diffusion time of the "
    f"graph of density {DENSE:g}, whose number of components is not printed, is extrapolated from 0.01 and 0.02."
)
