"""The measurements of `synthetic-networks` by table cell, and their differences to the printed numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr.apps.report import Spread
from iokr_lab.links.protocol import MEASURES
from iokr_lab.published import published
from iokr_lab.study import Case, Results
from iokr_lab.synthetic_networks.models import Rule
from iokr_lab.synthetic_networks.protocol import Areas

__all__ = ["Cell", "Gaps", "Labels", "Measurements", "gaps_of", "printed", "spread"]

RANDOM = published("b16_table8", n=10)
MIXTURES = published("b16_table9", n=10)
DENSITIES = (0.007, 0.01, 0.02)
# Diffusion time of networks with classes, relative to random graphs of the same density.
LONGER = {(0.02, 5e-4): 2.1, (0.02, 1e-3): 1.6, (0.03, 5e-4): 3.5, (0.03, 1e-3): 2.6}
FRACTIONS = {0.05: "5%", 0.1: "10%", 0.2: "20%"}
INERTIAS = (75, 85, 95, 100)
HEADLINE = 95
OTHERS = 3  # number of other draws of each random graph
TOLERANCE = {
    "ridge": {"roc_auc": 1.5, "average_precision": 3.0},
    "margin": {"roc_auc": 2.5, "average_precision": 4.0},
}
FIXED = "one setting for all cells"
FOLDS = "node folds, each set"
AS_PUBLISHED = "leave-one-out, each set"
FOLDS_WEIGHTED = "node folds, weighted, each set"
LOO_WEIGHTED = "leave-one-out, weighted, each set"
RULES = {
    FOLDS: Rule("folds"),
    AS_PUBLISHED: Rule("loo"),
    "node folds, once a cell": Rule("folds", once=True),
    "leave-one-out, once a cell": Rule("loo", once=True),
    FOLDS_WEIGHTED: Rule("folds", weighted=True),
    LOO_WEIGHTED: Rule("loo", weighted=True),
    "evaluated pairs, each set": Rule("evaluated"),
}

GRAPHS = tuple(f"{density:g}" for density in DENSITIES)
CLASSED = tuple(f"{inside:g}, {between:g}" for inside, between in LONGER)
Cell = tuple[str, float]  # graph and fraction of labelled nodes
CELLS: list[Cell] = list(itertools.product(GRAPHS, FRACTIONS))
MIXED: list[Cell] = list(itertools.product(CLASSED, FRACTIONS))


@dataclass(frozen=True)
class Labels(Case):
    """One labelled set of a graph with inputs of `inertia` percent; other draws are named `"0.01 again 1"`."""

    graph: str
    inertia: int
    fraction: float
    draw: int


def again(graph: str, i: int) -> str:
    """The name of another draw of a random graph."""
    return f"{graph} again {i}"


@dataclass(frozen=True)
class Measurements:
    """The measurements by cell: lists with an entry for each labelled set."""

    results: Results

    def cells(self, cell: Cell, inertia: int = HEADLINE) -> list[Mapping[str, Any]]:
        """Everything measured for a cell."""
        return list(self.results.of(Labels, graph=cell[0], inertia=inertia, fraction=cell[1]).values())

    def fixed(self, model: str, cell: Cell, inertia: int = HEADLINE) -> list[Areas]:
        """Areas with the single setting."""
        return [found[model] for found in self.cells(cell, inertia)]

    def others(self, model: str, cell: Cell) -> list[Areas]:
        """Areas with the single setting on the other draws of the graph."""
        return [areas for i in range(OTHERS) for areas in self.fixed(model, (again(cell[0], i), cell[1]))]

    def chosen(self, interpretation: str, rule: str, cell: Cell) -> list[Areas]:
        """Areas of ridge at 95 % with the choice of a rule."""
        return RULES[rule].choose([found["grids"][interpretation] for found in self.cells(cell)])

    def margins(self, variant: str, cell: Cell) -> list[Areas]:
        """Areas of the margin at 95 % with one change."""
        return [found["margins"][variant] for found in self.cells(cell)]

    def variants(self) -> list[str]:
        """The names of the changes to the margin."""
        return list(self.cells(CELLS[0])[0]["margins"])


# ---------------------------------------------------------------------------------------------------------------- gaps


def spread(found: Iterable[Areas], measure: str) -> Spread:
    """Mean and standard deviation over the labelled sets."""
    return Spread.of([areas[measure] for areas in found], digits=1)


def printed(cell: Cell, model: str, measure: str, inertia: int = HEADLINE) -> Spread:
    """A number of Table 8 or 9."""
    return (RANDOM | MIXTURES)[f"{cell[0]}, {inertia} %"][f"{model} {MEASURES[measure]}, {FRACTIONS[cell[1]]}"]


@dataclass(frozen=True)
class Gaps:
    """Our mean minus the printed mean for a list of cells, each a pair (ROC, PR)."""

    model: str
    pairs: tuple[tuple[float, float], ...]

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(self.model, self.pairs + other.pairs)

    @property
    def within(self) -> list[bool]:
        """For each cell, whether both measures are within the tolerance."""
        limits = tuple(TOLERANCE[self.model].values())
        return [all(abs(gap) <= limit for gap, limit in zip(pair, limits, strict=True)) for pair in self.pairs]

    @property
    def count(self) -> str:
        """The number of cells within the tolerance."""
        return f"{sum(self.within)} of {len(self.pairs)}"

    def text(self, i: int) -> str:
        """Both gaps of a cell, with a mark if it is not within the tolerance."""
        roc, pr = [round(gap, 1) + 0.0 for gap in self.pairs[i]]  # + 0.0 turns −0.0 into 0.0
        mark = "" if self.within[i] else " ✗"
        return f"{roc:+.1f}, {pr:+.1f}{mark}".replace("-", "−")

    def mean(self, place: int) -> float:
        """The mean absolute gap of a measure."""
        return float(np.mean([abs(pair[place]) for pair in self.pairs]))

    def worst(self, place: int) -> float:
        """The gap of largest size of a measure, with its sign."""
        return float(f"{max((pair[place] for pair in self.pairs), key=abs):.1f}")


def gaps_of(
    model: str, values: Callable[[Cell], list[Areas]], cells: Iterable[Cell] = CELLS, inertia: int = HEADLINE
) -> Gaps:
    """The gaps of the areas that `values` gives for each cell, at one inertia."""

    def gap(cell: Cell, measure: str) -> float:
        return spread(values(cell), measure).mean - printed(cell, model, measure, inertia).mean

    return Gaps(model, tuple((gap(cell, "roc_auc"), gap(cell, "average_precision")) for cell in cells))


def fixed_gaps(found: Measurements, model: str, cells: Iterable[Cell] = CELLS, inertia: int = HEADLINE) -> Gaps:
    """The gaps with the single setting."""
    return gaps_of(model, lambda cell: found.fixed(model, cell, inertia), cells, inertia)


def rule_gaps(found: Measurements, interpretation: str, rule: str) -> Gaps:
    """The gaps of ridge with the choice of a rule."""
    return gaps_of("ridge", lambda cell: found.chosen(interpretation, rule, cell))


def margin_gaps(found: Measurements, variant: str) -> Gaps:
    """The gaps of the margin with one change."""
    return gaps_of("margin", lambda cell: found.margins(variant, cell))


def other_gaps(found: Measurements, model: str) -> Gaps:
    """The gaps with the single setting on the other draws of the graphs."""
    return gaps_of(model, lambda cell: found.others(model, cell))
