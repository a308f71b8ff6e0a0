"""Rankings of labels from features: structured kernels and exact decoding beside plain rivals, on public sets."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr.report import INK, MUTED, THEIRS, Figure, Report, Spread, Table, Text, plot, usable_cores
from iokr.report import OURS as COLOUR
from iokr.report.progress import Progress, silent
from iokr_lab.cells import Cells
from iokr_lab.data.label_ranking import LabelRanking
from iokr_lab.rankings.protocol import (
    ALWAYS,
    FEW,
    FOLDS,
    FOREST,
    KENDALL,
    LINEAR,
    METHODS,
    MORE,
    NEAR,
    OURS,
    SPEARMAN,
    Case,
    Protocol,
    cases,
    run_case,
    small_sets,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["run"]

MARKS = {
    KENDALL: (COLOUR, "o"),
    SPEARMAN: (COLOUR, "x"),
    FOREST: (COLOUR, "^"),
    NEAR: (THEIRS, "s"),
    LINEAR: (INK, "+"),
    ALWAYS: (MUTED, "|"),
}
Taus = dict[str, dict[str, list[list[float]]]]  # set, method: a list of folds for each drawing


def run(
    *,
    seed: int = 0,
    repeat: int | None = None,
    progress: Progress = silent,
    complete: bool = False,
    folder: Path | None = None,
) -> Report:
    """Kendall's τ of every method on every set of at most 5000 rows, ten folds, drawn several times.

    Parameters
    ----------
    seed : int, default=0
    repeat : int, default=5
        How often the ten folds are drawn; those of sets of more than 1000 rows once, unless `complete`.
    progress : callable, optional
    complete : bool, default=False
        Draw the folds of the large sets as often as those of the others.
    folder : Path, optional
        Where finished folds are kept, in `cells.jsonl`; a run that is taken up again begins where it stopped.
    """
    times = repeat or 5
    protocol = Protocol(times, times if complete else 1)
    sets = small_sets()
    total = FOLDS * sum(protocol.times(len(data)) for data in sets.values())
    steps = itertools.count(1)
    cells = Cells(None if folder is None else folder / "cells.jsonl", {"seed": seed})
    progress(0, total, "data")
    done = list(cases(sets, protocol))
    found = cells.fill(
        done,
        lambda case: run_case(case, sets[case.name], seed),
        lambda what: progress(next(steps), total, what),
        usable_cores(),
    )
    taus = _taus(done, cells)
    return Report(
        "Label ranking: Kendall's τ by ten folds",
        _summary(taus),
        (
            Text("The setting", (_SETTING, _CHOICE)),
            _tau_table(taus),
            _figure(taus),
            _difference_table(sets, taus),
            Text("What the two output kernels mean", (_KERNELS,)),
            _chosen_table(done, cells),
        ),
        (
            f"Folds are drawn {_times(times)}"
            + (
                f", those of sets of more than {protocol.large} rows once (`--full`: as often)."
                if times > 1 and not complete
                else "."
            )
            + " ± is the standard deviation over all folds; behind a difference, its standard error over all folds, "
            "which share training rows, so it is too small.",
            f"{found} of {total} folds were found from an earlier run.",
            "The sets are those of Korba, Garcia and d'Alché-Buc (2018), Table 1, without elevators, which was not at "
            "hand; nor were the published figures.",
        ),
    )


# ------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    "The features of a row are numbers, categories as indicators; the output is an order of the labels, tied in places "
    "in algae. Features are scaled to [−1, 1] on the training part. Kendall's τ is 1 for the true order, −1 for its "
    "reverse, 0 on average for a random one; τ_b where labels are tied. Every answer is a complete order."
)
_CHOICE = (
    "Everything is chosen on the training folds. IOKR: Gaussian or Laplacian kernel and its width by leave-one-out in "
    f"the output feature space, on at most {FEW} training rows, λ on at most {MORE}, then fitted to all. The forest, "
    "100 extra-trees in the feature space of Kendall's kernel, decoded exactly: the least size of a leaf, on at most "
    f"{MORE} training rows, by those that a tree did not draw. Beside them: labels by their mean rank among the "
    "nearest rows, whose number is chosen by the τ of leave-one-out; a linear ridge of the rank of each label, its α "
    "by leave-one-out; and one ranking for all, the labels by their mean rank."
)
_KERNELS = (
    "Kendall's kernel embeds an order as the signs of all pairs of labels (Kemeny embedding); the order closest to "
    "h(x) is a linear ordering problem, solved exactly by dynamic programming over sets of labels. Spearman's kernel "
    "embeds it as centred ranks; there the closest order sorts h(x), so that method is kernel ridge regression of the "
    "rank of each label, and linear ridge is the same without a kernel."
)


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _taus(done: list[Case], cells: Cells) -> Taus:
    taus: Taus = {}
    for case in done:
        for method, tau in cells[str(case)]["tau"].items():
            draws = taus.setdefault(case.name, {}).setdefault(method, [])
            if len(draws) <= case.repeat:
                draws.append([])
            draws[case.repeat].append(tau)
    return taus


def _mean(draws: list[list[float]]) -> float:
    return float(np.mean(list(itertools.chain(*draws))))


def _summary(taus: Taus) -> str:
    ours = ", ".join(f"{name} {_mean(found[KENDALL]):.3f}" for name, found in taus.items())
    ranks = _mean_ranks(taus)
    order = ", ".join(f"{method} {ranks[method]:.1f}" for method in sorted(ranks, key=lambda method: ranks[method]))
    return f"Mean τ with Kendall's kernel: {ours}. Mean place of the methods over {len(taus)} sets: {order}."


def _mean_ranks(taus: Taus) -> dict[str, float]:
    """The mean place of each method over the sets, 1 the best."""
    values = np.array([[_mean(found[method]) for method in METHODS] for found in taus.values()])
    places = 1 + (values[:, None, :] > values[:, :, None]).sum(axis=2)
    return dict(zip(METHODS, places.mean(axis=0).tolist(), strict=True))


# ----------------------------------------------------------------------------------------------------------- tables


def _tau_table(taus: Taus) -> Table:
    rows: list[dict[str, Any]] = []
    for name, found in taus.items():
        scores = {method: Spread.of(itertools.chain(*found[method]), digits=3) for method in METHODS}
        rows.append({"set": name, **scores})
    ranks = _mean_ranks(taus)
    rows.append({"set": "mean place", **{method: round(ranks[method], 2) for method in METHODS}})
    return Table("Kendall's τ on the test folds", rows, ours=OURS)


def _difference_table(sets: dict[str, LabelRanking], taus: Taus) -> Table:
    rows = []
    for name, found in taus.items():
        ours = np.concatenate(found[KENDALL])
        row: dict[str, Any] = {"set": name, "rows": len(sets[name]), "labels": sets[name].ranks.shape[1]}
        for method in list(METHODS)[1:]:
            gap = ours - np.concatenate(found[method])
            row[method] = f"{gap.mean():+.3f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.3f}"
        rows.append(row)
    return Table("Kendall's kernel minus each of the others, on the same folds", rows, "± is the standard error.")


def _chosen_table(done: list[Case], cells: Cells) -> Table:
    rows = []
    for name, method in itertools.product(dict.fromkeys(case.name for case in done), METHODS):
        counts = Counter(cells[str(case)]["chosen"][method] for case in done if case.name == name)
        often = "; ".join(f"{what} ({n} ×)" for what, n in counts.most_common(4) if what)
        if often:
            rows.append({"set": name, "method": method, "chosen": often})
    return Table("What was chosen, the four most frequent", rows, folded=True)


# ---------------------------------------------------------------------------------------------------------- figure


def _figure(taus: Taus) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        places = np.arange(len(taus))
        for method, (colour, mark) in MARKS.items():
            lost = [1 - _mean(found[method]) for found in taus.values()]
            axes.plot(lost, places, mark, color=colour, markersize=5, label=method)
        axes.set_yticks(places, list(taus))
        axes.invert_yaxis()
        axes.set(xlabel="1 − τ, logarithmic", xscale="log", ylim=(len(taus) - 0.5, -0.5))
        axes.set_xticks(ticks := [0.02, 0.05, 0.1, 0.2, 0.5, 1.0], [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        canvas.legend(loc="outside upper center", ncols=2)

    caption = "What is missing to the true order, 1 − τ, mean over the test folds; to the left is better."
    return plot(draw, caption=caption, size=(5.6, 0.35 * len(taus) + 1.8))
