"""HV10 Table 1 and Fig. 2: kernels for unordered pairs between TPPK and local models, on two networks of yeast."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from iokr.report import INK, THEIRS, Figure, Report, Spread, Table, Text, plot, usable_cores
from iokr.report.progress import Progress, silent
from iokr_lab.cells import Cells
from iokr_lab.pairs.protocol import (
    DUPLICATE,
    KERNEL,
    PUBLISHED,
    Protocol,
    Row,
    cases,
    curves,
    default,
    full,
    run_case,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["run"]

NAMES = {KERNEL: "pair kernel", DUPLICATE: "duplicate", None: "both (TPPK)"}
SHOWN = (("metabolic", "loc"), ("interaction", "exp"), ("interaction", "integrated"))  # Fig. 2
Curves = dict[Row, dict[str, list[list[float]]]]


def run(
    *,
    seed: int = 0,
    repeat: int | None = None,
    progress: Progress = silent,
    complete: bool = False,
    folder: Path | None = None,
) -> Report:
    """Mean ROC of support vector machines on pairs along δ, for both strategies.

    Parameters
    ----------
    seed : int, default=0
        Draws decoys and folds.
    repeat : None
        Decoys and folds are drawn once; another `seed` draws others.
    progress : callable, optional
    complete : bool, default=False
        The published protocol instead of the short one: four times the cells, each with more folds and pairs.
    folder : Path, optional
        Where finished cells are kept, in `cells.jsonl`; a run that is taken up again begins where it stopped.
    """
    if repeat is not None:
        raise ValueError(
            "pairs draws decoys and folds once, so `--repeat` means nothing; another `--seed` draws others."
        )
    protocol = full() if complete else default()
    cells = Cells(None if folder is None else folder / "cells.jsonl", protocol.key(seed))
    every, steps = list(cases(protocol)), itertools.count(1)
    total = len(every)
    progress(0, total, "data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the page reports the gap instead
        cells.fill(
            every,
            lambda case: run_case(case, protocol, seed),
            lambda what: progress(next(steps), total, what),
            usable_cores(),
        )
    progress(total, total, "drawing the page")
    found = {row: curves(row, protocol, cells) for row in PUBLISHED if row.possible}
    return Report(
        "Unordered pairs: between TPPK and local models",
        _summary(found, protocol),
        (
            Text("The setting", (_SETTING, _which(protocol, cells))),
            _winners_table(found, protocol),
            *(_curve_figure(row, found[row], protocol) for row in found if (row.network, row.inputs) in SHOWN),
            _roc_table(found, protocol),
            *(_curve_figure(row, found[row], protocol) for row in found if (row.network, row.inputs) not in SHOWN),
            Text("What differs from the paper", _DIFFERENCES),
            _cells_table(protocol, cells),
        ),
        (
            "± is the standard deviation over the five folds of one drawing of decoys.",
            "The best strategy and δ are picked on the folds that judge them; a lead small beside ± says little.",
            "The paper prints no ROC, only the best strategy and δ of each row.",
            "Pairs that localisations leave exactly alike are ties: scores are compared to nine digits.",
        ),
    )


# ------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    "Links of yeast proteins against random pairs without a link (decoys). A support vector machine without a bias, "
    "with the kernel 2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d) on pairs: averaged over the orders of both pairs (pair "
    "kernel), or on both orders as examples of weight ½ (duplicate). δ = 0 is the tensor product kernel TPPK, where "
    "both are the same; duplicate at δ = 1 is one local model per protein. Five folds over pairs, C from 1 to 32 by "
    "ROC inside the training part."
)
_DIFFERENCES = (
    "Interactions: the network is that of the paper, 984 proteins and 2438 links; expression (Gaussian kernel, median "
    "width), localisation (cosine) and yeast two-hybrid (diffusion, β = 1, unit diagonal) are rebuilt from the "
    "original studies, and the forms of the published kernels are not known. There are no phylogenetic profiles, so "
    "these two rows cannot be run, and “integrated” is the sum of the others.",
    "Metabolic: a reconstruction from the genome-scale model iMM904, 666 genes and 2589 links, not the published "
    "network of 668 and 2782. Its figures cannot be compared one by one.",
    "The paper used libsvm, which has a bias, and does not say how duplicates were weighted; here there is no bias and "
    "both orders weigh ½, as its theory wants.",
)


def _which(protocol: Protocol, cells: Cells) -> str:
    published, figures = full(), list(cells.values.values())
    short = "" if protocol == published else f" The published protocol ({published.words}) is `--full`."
    gap, hours = max(cell["gap"] for cell in figures), sum(cell["seconds"] for cell in figures) / 3600
    return (
        f"Run here: {protocol.words}; {len(figures)} cells, {len(cells.earlier)} of them found from an earlier run, in "
        f"{hours:.2g} hours of one processor. The relative duality gap of a machine is at most {gap:.1e}.{short}"
    )


def _best(curve: dict[str, list[list[float]]], protocol: Protocol) -> tuple[str | None, float, list[float]]:
    """The strategy and δ of the largest mean ROC; None: both, at δ = 0."""
    means = {strategy: [float(np.mean(folds)) for folds in values] for strategy, values in curve.items()}
    strategy = max(means, key=lambda name: max(means[name]))
    place = int(np.argmax(means[strategy]))
    mix = protocol.mixes[place]
    return (strategy if mix > 0 else None), mix, curve[strategy][place]


def _in_words(strategy: str | None, mix: float) -> str:
    """Broken at the comma only."""
    return f"{NAMES[strategy]}, δ = {mix:g}".replace(" ", "\N{NO-BREAK SPACE}").replace(",\N{NO-BREAK SPACE}", ", ")


def _summary(found: Curves, protocol: Protocol) -> str:
    same = [row for row, curve in found.items() if _best(curve, protocol)[0] == row.strategy]
    return (
        f"Hue and Vert (2010), Table 1: in {len(same)} of {len(found)} rows that can be run the best strategy is the "
        f"published one. {protocol.words[0].upper()}{protocol.words[1:]}."
    )


# ----------------------------------------------------------------------------------------------------------- tables


def _winners_table(found: Curves, protocol: Protocol) -> Table:
    rows = []
    for row in PUBLISHED:
        cells: dict[str, Any] = {"network, inputs": str(row), "published": _in_words(row.strategy, row.mix)}
        if row in found:
            strategy, mix, folds = _best(found[row], protocol)
            at_zero, local = found[row][KERNEL][0], found[row][DUPLICATE][-1]
            cells |= {
                "ours": _in_words(strategy, mix),
                "ROC": Spread.of(folds, digits=3),
                "TPPK": Spread.of(at_zero, digits=3),
                "local models": Spread.of(local, digits=3),
            }
            if folds not in (at_zero, local):
                ahead = int(np.sum(np.array(folds) > np.maximum(at_zero, local)))
                cells["folds ahead of both"] = f"{ahead} of {len(folds)}"
        rows.append(cells)
    note = (
        "There are no phylogenetic profiles. Local models are duplicate at δ = 1. In how many folds the best is ahead "
        "of TPPK and of local models is said where it is neither."
    )
    return Table("The best strategy and δ of each row", rows, note, ours=("ours", "ROC"))


def _roc_table(found: Curves, protocol: Protocol) -> Table:
    narrow = len(protocol.mixes) > 5
    delta = "" if narrow else "δ = "

    def figure(folds: list[float]) -> Spread:
        return Spread.of([100 * float(np.mean(folds))], digits=1) if narrow else Spread.of(folds, digits=3)

    rows = [
        {
            "network, inputs": str(row),
            "strategy": NAMES[strategy],
            **{f"{delta}{mix:g}": figure(folds) for mix, folds in zip(protocol.mixes, values, strict=True)},
        }
        for row, curve in found.items()
        for strategy, values in curve.items()
    ]
    return Table("ROC of every curve along δ", rows, "Means over the folds, in percent." if narrow else "")


def _cells_table(protocol: Protocol, cells: Cells) -> Table:
    rows = [
        {
            "network": case.network,
            "inputs": case.inputs,
            "strategy": NAMES[case.strategy],
            "δ": case.mix,
            "fold": case.fold,
            "ROC": cells[str(case)]["roc"],
            "C": cells[str(case)]["C"],
            "gap": f"{cells[str(case)]['gap']:.1e}",
            "processor seconds": cells[str(case)]["seconds"],
            "run": "earlier" if str(case) in cells.earlier else "now",
        }
        for case in cases(protocol)
    ]
    return Table("Every cell", rows, folded=True)


# ---------------------------------------------------------------------------------------------------------- figures


def _curve_figure(row: Row, curve: dict[str, list[list[float]]], protocol: Protocol) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for strategy, colour, marker in ((DUPLICATE, THEIRS, "s-"), (KERNEL, INK, "o-")):
            values = np.array(curve[strategy])
            axes.plot(protocol.mixes, values.mean(axis=1), marker, color=colour, label=NAMES[strategy], markersize=4)
            low, high = values.min(axis=1), values.max(axis=1)
            axes.fill_between(protocol.mixes, low, high, color=colour, alpha=0.08, linewidth=0)
        if row.strategy is not None:
            axes.axvline(row.mix, color=THEIRS if row.strategy == DUPLICATE else INK, linewidth=0.8, linestyle=":")
        axes.set(xlabel="δ", ylabel="ROC")
        canvas.legend(loc="outside upper center", ncols=2)

    best = "δ = 0 (TPPK)" if row.strategy is None else f"{NAMES[row.strategy]} at δ = {row.mix:g} (dotted)"
    caption = (
        f"{row.network.capitalize()}, {row.inputs}: mean over the folds, bands from smallest to largest; published "
        f"best: {best}."
    )
    return plot(draw, caption=caption)
