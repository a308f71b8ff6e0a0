"""What `synthetic-networks` measured, cell by cell of the tables, and how far it is from the printed numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr.apps.report import Spread
from iokr_lab.published import published
from iokr_lab.study import Case, Results
from iokr_lab.synthetic_networks.models import Rule
from iokr_lab.synthetic_networks.protocol import MEASURES, Areas

__all__ = ["Cell", "Found", "Gaps", "Labels", "gaps_of", "printed", "spread"]

RANDOM = published("b16_table8", n=10)
MIXTURES = published("b16_table9", n=10)
DENSITIES = (0.007, 0.01, 0.02)
# diffusion time of networks with classes, in units of that of random graphs of their density
LONGER = {(0.02, 5e-4): 2.1, (0.02, 1e-3): 1.6, (0.03, 5e-4): 3.5, (0.03, 1e-3): 2.6}
FRACTIONS = {0.05: "5%", 0.1: "10%", 0.2: "20%"}
INERTIAS = (75, 85, 95, 100)
HEADLINE = 95
OTHERS = 3  # further draws of each random graph
TOLERANCE = {
    "ridge": {"roc_auc": 1.5, "average_precision": 3.0},
    "margin": {"roc_auc": 2.5, "average_precision": 4.0},
}
FIXED = "one setting for all"
FOLDS = "node folds, each set"
AS_SAID = "leave-one-out, each set"
FOLDS_WEIGHTED = "node folds, weighted, each set"
LOO_WEIGHTED = "leave-one-out, weighted, each set"
RULES = {
    FOLDS: Rule("folds"),
    AS_SAID: Rule("loo"),
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
    """One labelled set of a graph whose inputs keep `inertia` percent; other draws of a graph are `"0.01 again 1"`."""

    graph: str
    inertia: int
    fraction: float
    draw: int


def again(graph: str, i: int) -> str:
    """The name of another draw of a random graph."""
    return f"{graph} again {i}"


@dataclass(frozen=True)
class Found:
    """What was measured, a list with an entry for each labelled set of a cell."""

    results: Results

    def cells(self, cell: Cell, inertia: int = HEADLINE) -> list[Mapping[str, Any]]:
        """All of it."""
        return list(self.results.of(Labels, graph=cell[0], inertia=inertia, fraction=cell[1]).values())

    def fixed(self, model: str, cell: Cell, inertia: int = HEADLINE) -> list[Areas]:
        """With the one setting."""
        return [found[model] for found in self.cells(cell, inertia)]

    def others(self, model: str, cell: Cell) -> list[Areas]:
        """With the one setting, on the other draws of the graph."""
        return [areas for i in range(OTHERS) for areas in self.fixed(model, (again(cell[0], i), cell[1]))]

    def chosen(self, interpretation: str, rule: str, cell: Cell) -> list[Areas]:
        """Ridge at 95 % with what a rule chooses."""
        return RULES[rule].choose([found["grids"][interpretation] for found in self.cells(cell)])

    def margins(self, variant: str, cell: Cell) -> list[Areas]:
        """Margin at 95 %, with one thing changed."""
        return [found["margins"][variant] for found in self.cells(cell)]

    def variants(self) -> list[str]:
        """What was changed for the margin."""
        return list(self.cells(CELLS[0])[0]["margins"])


# ---------------------------------------------------------------------------------------------------------------- gaps


def spread(found: Iterable[Areas], measure: str) -> Spread:
    """Mean and deviation over the labelled sets."""
    return Spread.of([areas[measure] for areas in found], digits=1)


def printed(cell: Cell, model: str, measure: str, inertia: int = HEADLINE) -> Spread:
    """A number of Table 8 or 9."""
    return (RANDOM | MIXTURES)[f"{cell[0]}, {inertia} %"][f"{model} {MEASURES[measure]}, {FRACTIONS[cell[1]]}"]


@dataclass(frozen=True)
class Gaps:
    """Ours minus the printed mean, for a list of cells: a pair (ROC, PR) each."""

    model: str
    pairs: tuple[tuple[float, float], ...]

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(self.model, self.pairs + other.pairs)

    @property
    def within(self) -> list[bool]:
        """For each cell, whether both measures are as close as was asked for."""
        limits = tuple(TOLERANCE[self.model].values())
        return [all(abs(gap) <= limit for gap, limit in zip(pair, limits, strict=True)) for pair in self.pairs]

    @property
    def count(self) -> str:
        """How many are."""
        return f"{sum(self.within)} of {len(self.pairs)}"

    def text(self, i: int) -> str:
        """Both gaps of a cell, and a mark when it is not within."""
        roc, pr = (round(gap, 1) + 0.0 for gap in self.pairs[i])  # never −0.0
        return f"{roc:+.1f}, {pr:+.1f}{'' if self.within[i] else ' ✗'}".replace("-", "−")

    def mean(self, place: int) -> float:
        """The mean size of the gaps of a measure."""
        return float(np.mean([abs(pair[place]) for pair in self.pairs]))

    def worst(self, place: int) -> float:
        """The largest gap of a measure, with its sign."""
        return float(f"{max((pair[place] for pair in self.pairs), key=abs):.1f}")


def gaps_of(
    model: str, values: Callable[[Cell], list[Areas]], cells: Iterable[Cell] = CELLS, inertia: int = HEADLINE
) -> Gaps:
    """Of what `values` gives for each cell, at one inertia."""

    def gap(cell: Cell, measure: str) -> float:
        return spread(values(cell), measure).mean - printed(cell, model, measure, inertia).mean

    return Gaps(model, tuple((gap(cell, "roc_auc"), gap(cell, "average_precision")) for cell in cells))


def fixed_gaps(found: Found, model: str, cells: Iterable[Cell] = CELLS, inertia: int = HEADLINE) -> Gaps:
    """With the one setting."""
    return gaps_of(model, lambda cell: found.fixed(model, cell, inertia), cells, inertia)


def rule_gaps(found: Found, interpretation: str, rule: str) -> Gaps:
    """Ridge, with what a rule chooses."""
    return gaps_of("ridge", lambda cell: found.chosen(interpretation, rule, cell))


def margin_gaps(found: Found, variant: str) -> Gaps:
    """Margin, with one thing changed."""
    return gaps_of("margin", lambda cell: found.margins(variant, cell))
