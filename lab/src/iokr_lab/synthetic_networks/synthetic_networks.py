"""B16, Tables 8, 9, Figures 3, 4, 8, and B11, Figure 1: networks reconstructed from inputs computed from them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr_lab.cells import memoized
from iokr_lab.lookup import Lookup
from iokr_lab.study import Case, Plan, Study
from iokr_lab.synthetic_networks import gaps, paths
from iokr_lab.synthetic_networks.models import MORE_WIDTHS, WIDTHS, Kernels
from iokr_lab.synthetic_networks.page import page
from iokr_lab.synthetic_networks.protocol import Matrix, Network, calibrate, labeled_set, mixture, random_graph

__all__ = ["STUDY"]


@dataclass(frozen=True)
class Data:
    """Graphs with the diffusion times of their generators, and kernels of a graph at an inertia."""

    graphs: Mapping[str, tuple[Matrix, float]]
    kernels: Callable[[str, int], Kernels]
    dense: tuple[Matrix, float]  # the graph of B11, Figure 1
    paths: Callable[[str], tuple[Network, dict[str, list[Lookup]]]]  # the network at 95 % and its kernels along λ₂

    def network(self, graph: str) -> Network:
        """A graph at 95 % inertia."""
        W, beta = self.dense if graph == f"{paths.DENSE:g}" else self.graphs[graph]
        return Network(W, beta, gaps.HEADLINE / 100)


def load(plan: Plan) -> Data:
    """Three random graphs, three other draws of each, four graphs with classes, and the dense graph of B11."""
    graphs: dict[str, tuple[Matrix, float]] = {}
    betas: dict[float, float] = {}  # density → diffusion time
    for i, (density, graph) in enumerate(zip(gaps.DENSITIES, gaps.GRAPHS, strict=True)):
        count = int(gaps.RANDOM[f"{graph}, {gaps.HEADLINE} %"]["components"].mean)
        streams = {graph: i} | {gaps.again(graph, j): 100 + j for j in range(gaps.OTHERS)}
        for name, stream in streams.items():
            W = random_graph(density, np.random.default_rng([plan.seed, stream]))
            graphs[name] = (W, calibrate(W, count))
        betas[density] = graphs[graph][1]
    for i, (graph, (classes, longer)) in enumerate(zip(gaps.CLASSED, gaps.LONGER.items(), strict=True)):
        W = mixture(*classes, np.random.default_rng([plan.seed, 10 + i]))
        graphs[graph] = (W, longer * _interpolated(W, betas))
    W = random_graph(paths.DENSE, np.random.default_rng([plan.seed, 50]))
    data: Data  # `along` reads it and is a part of it

    @memoized(16)
    def kernels(graph: str, inertia: int) -> Kernels:
        network = Network(*graphs[graph], inertia / 100)
        if inertia == gaps.HEADLINE and graph in gaps.GRAPHS:
            return Kernels.of(network, plain=WIDTHS, penalty=WIDTHS)
        if inertia == gaps.HEADLINE and graph in gaps.CLASSED:
            return Kernels.of(network, plain=MORE_WIDTHS)
        return Kernels.of(network)

    @memoized(4)
    def along(graph: str) -> tuple[Network, dict[str, list[Lookup]]]:
        network = data.network(graph)
        return network, paths.path_kernels(network)

    data = Data(graphs, kernels, (W, _extrapolated(betas)), along)
    return data


def _extrapolated(betas: Mapping[float, float]) -> float:
    """The diffusion time for the dense graph, by a power law through the two largest densities."""
    lower, upper = gaps.DENSITIES[1:]
    steps = np.log(paths.DENSE / upper) / np.log(upper / lower)
    return float(betas[upper] * (betas[upper] / betas[lower]) ** steps)


def _interpolated(W: Matrix, betas: Mapping[float, float]) -> float:
    """The diffusion time for a network without printed component counts, interpolated by its density."""
    density = W.sum() / (len(W) * (len(W) - 1))
    return float(np.exp(np.interp(np.log(density), np.log(list(betas)), np.log(list(betas.values())))))


def cases(plan: Plan, data: Data) -> list[Case]:
    """Every graph at every inertia, other draws at 95 % only, for every labelled set; then the figures."""
    figures: list[Case] = [
        paths.Along(graph, fraction, draw)
        for graph in dict.fromkeys((*paths.ALONG, *paths.FIRST))
        for fraction, draw in itertools.product(paths.SHARES, range(plan.repeat))
    ]
    tables: list[Case] = [
        gaps.Labels(graph, inertia, fraction, draw)
        for graph, inertia in itertools.product(data.graphs, gaps.INERTIAS)
        if inertia == gaps.HEADLINE or graph in (*gaps.GRAPHS, *gaps.CLASSED)
        for fraction, draw in itertools.product(gaps.FRACTIONS, range(plan.repeat))
    ]
    return [*tables, *figures, paths.Drawn(gaps.CLASSED[0])]


def work(case: gaps.Labels | paths.Along | paths.Drawn, plan: Plan, data: Data) -> dict[str, Any]:
    """Ridge and margin on one labelled set; at 95 % also the variants that the page compares, and the drawn network."""
    if isinstance(case, paths.Along):
        network, along = data.paths(case.graph)
        return paths.work_along(network, along, labeled_set(network.W, case.fraction, case.draw, plan.seed))
    if isinstance(case, paths.Drawn):
        network = data.network(case.graph)
        return paths.work_drawn(network, labeled_set(network.W, paths.SEEN, 0, plan.seed))
    kernels = data.kernels(case.graph, case.inertia)
    labeled = labeled_set(kernels.network.W, case.fraction, case.draw, plan.seed)
    cell = {**kernels.both(labeled), "components": kernels.network.X.shape[1]}
    if case.inertia == gaps.HEADLINE and case.graph in gaps.GRAPHS:
        cell |= kernels.changed(labeled)
    if case.inertia == gaps.HEADLINE and case.graph in gaps.CLASSED:
        cell |= kernels.as_published(labeled)
    return cell


STUDY = Study(
    plans={"short": Plan(repeat=1), "default": Plan(repeat=10)},
    load=load,
    cases=cases,
    work=work,
    page=page,
    ignored=("The outputs have different lengths",),  # K_Y of the margin has no constant diagonal, as published
)
