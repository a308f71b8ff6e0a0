"""What `synthetic-networks` measured, and how far it is from the printed figures."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from iokr.report import Spread
from iokr_lab.synthetic_networks.models import Both, Grid, Rule
from iokr_lab.synthetic_networks.protocol import Areas
from iokr_lab.synthetic_networks.published import MIXTURES, RANDOM, SHARES, Row

__all__ = ["Gaps", "Results"]

DENSITIES = (0.007, 0.01, 0.02)
CLASSES = tuple(dict.fromkeys((inside, between) for inside, between, _ in MIXTURES))
INERTIAS = (75, 85, 95, 100)
HEADLINE = 95
# diffusion time of networks with classes, in units of that of random graphs of their density
LONGER = {(0.02, 5e-4): 2.1, (0.02, 1e-3): 1.6, (0.03, 5e-4): 3.5, (0.03, 1e-3): 2.6}
MEASURES = {"roc_auc": "ROC", "average_precision": "PR"}
TOLERANCE = {
    "ridge": {"roc_auc": 1.5, "average_precision": 3.0},
    "margin": {"roc_auc": 2.5, "average_precision": 4.0},
}
FIXED, FOLDS, AS_SAID = "one setting for all", "node folds, each set", "leave-one-out, each set"
RULES = {
    FOLDS: Rule("folds"),
    AS_SAID: Rule("loo"),
    "node folds, once a cell": Rule("folds", once=True),
    "leave-one-out, once a cell": Rule("loo", once=True),
    "judged pairs, each set": Rule("judged"),
}

Cell = tuple[float, float]  # density and share of labelled nodes
CELLS: list[Cell] = list(itertools.product(DENSITIES, SHARES))


@dataclass
class Results:
    """What was measured: lists have an entry for each labelled set."""

    grids: dict[tuple[str, Cell], list[Grid]] = field(default_factory=dict)  # ridge at 95 %, by reading
    margins: dict[tuple[str, Cell], list[Areas]] = field(default_factory=dict)  # at 95 %, one thing changed
    inertia: dict[tuple[int, Cell], list[Both]] = field(default_factory=dict)
    others: dict[Cell, list[list[Both]]] = field(default_factory=dict)  # at 95 %, for each other graph
    mixtures: dict[tuple[int, tuple[float, float], float], list[Both]] = field(default_factory=dict)
    mixtures_as_said: dict[tuple[tuple[float, float], float], list[Areas]] = field(default_factory=dict)
    counts: dict[tuple[float, int], int] = field(default_factory=dict)
    betas: dict[float, float] = field(default_factory=dict)

    def fixed(self, model: str, cell: Cell, inertia: int = HEADLINE) -> list[Areas]:
        """With the one setting."""
        return [getattr(both, model) for both in self.inertia[inertia, cell]]

    def chosen(self, reading: str, rule: str, cell: Cell) -> list[Areas]:
        """Ridge at 95 % with what a rule chooses."""
        return RULES[rule].choose(self.grids[reading, cell])


# ---------------------------------------------------------------------------------------------------------------- gaps


def spread(found: Iterable[Areas], measure: str) -> Spread:
    """Mean and deviation over the labelled sets."""
    return Spread.of([getattr(areas, measure) for areas in found], digits=1)


def published(row: Row, model: str, measure: str, share: float) -> Spread:
    """A printed figure."""
    return row[f"{model} {measure}"][SHARES.index(share)]


@dataclass(frozen=True)
class Gaps:
    """Ours minus the printed mean, for a list of cells: a pair (ROC, PR) each."""

    model: str
    pairs: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, model: str, cells: Iterable[tuple[Row, float, Sequence[Areas]]]) -> Gaps:
        """From the printed row, the share of labelled nodes and our figures of each cell."""
        return cls(
            model,
            tuple(
                (
                    spread(found, "roc_auc").mean - published(row, model, "roc_auc", share).mean,
                    spread(found, "average_precision").mean - published(row, model, "average_precision", share).mean,
                )
                for row, share, found in cells
            ),
        )

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


def random_gaps(model: str, found: Mapping[Cell, Sequence[Areas]], inertia: int = HEADLINE) -> Gaps:
    """Over the nine cells of Table 8 at one inertia."""
    return Gaps.of(model, ((RANDOM[cell[0], inertia][1], cell[1], found[cell]) for cell in CELLS))


def fixed_gaps(results: Results, model: str, inertia: int = HEADLINE) -> Gaps:
    """With the one setting."""
    return random_gaps(model, {cell: results.fixed(model, cell, inertia) for cell in CELLS}, inertia)


def rule_gaps(results: Results, reading: str, rule: str) -> Gaps:
    """Ridge, with what a rule chooses."""
    return random_gaps("ridge", {cell: results.chosen(reading, rule, cell) for cell in CELLS})


def other_gaps(results: Results, model: str) -> Gaps:
    """With the one setting, on the other draws of the graphs."""
    found = {cell: [getattr(both, model) for both in itertools.chain(*results.others[cell])] for cell in CELLS}
    return random_gaps(model, found)


def margin_gaps(results: Results, variant: str) -> Gaps:
    """Margin, with one thing changed."""
    return random_gaps("margin", {cell: results.margins[variant, cell] for cell in CELLS})


def variants(results: Results) -> list[str]:
    """What was changed for the margin."""
    return list(dict.fromkeys(name for name, _ in results.margins))


def mixture_gaps(results: Results, model: str, inertias: Iterable[int] = INERTIAS) -> Gaps:
    """Over the cells of Table 9, with the one setting."""
    return Gaps.of(
        model,
        (
            (MIXTURES[(*classes, inertia)], share, [getattr(both, model) for both in found])
            for (inertia, classes, share), found in results.mixtures.items()
            if inertia in inertias
        ),
    )


def mixture_as_said_gaps(results: Results) -> Gaps:
    """Over the cells of Table 9a at 95 %, supervised and by leave-one-out."""
    return Gaps.of(
        "ridge",
        (
            (MIXTURES[(*classes, HEADLINE)], share, found)
            for (classes, share), found in results.mixtures_as_said.items()
        ),
    )
