"""Rankings of labels from features: structured kernels and exact decoding beside plain rivals, on public sets."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from iokr.report import INK, MUTED, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.report import OURS as COLOUR
from iokr.report.figures import Canvas
from iokr_lab.rankings.protocol import (
    ALWAYS,
    FEW,
    FOLDS,
    FOREST,
    KENDALL,
    LARGE,
    LINEAR,
    METHODS,
    MORE,
    NEAR,
    OURS,
    SPEARMAN,
    Fold,
    RankingPlan,
    Sets,
    cases,
    load,
    work,
)
from iokr_lab.study import Results, Study
from iokr_lab.tables import difference, frequent

__all__ = ["STUDY"]

MARKS = {
    KENDALL: (COLOUR, "o"),
    SPEARMAN: (COLOUR, "x"),
    FOREST: (COLOUR, "^"),
    NEAR: (THEIRS, "s"),
    LINEAR: (INK, "+"),
    ALWAYS: (MUTED, "|"),
}
Taus = dict[str, dict[str, list[float]]]  # set, method: a value per fold


def page(results: Results, plan: RankingPlan, sets: Sets) -> Report:
    """Kendall's τ of every method on every set, ten folds, drawn several times."""
    taus = {name: {method: results.numbers(Fold, f"tau.{method}", name=name) for method in METHODS} for name in sets}
    once = f", those of sets of more than {LARGE} rows once (`--full`: as often)"
    return Report(
        "Label ranking: Kendall's τ by ten folds",
        _summary(taus),
        (
            Text("The setting", (_SETTING, _CHOICE)),
            _tau_table(taus),
            _figure(taus),
            _difference_table(sets, taus),
            Text("What the two output kernels mean", (_KERNELS,)),
            _chosen_table(results, sets),
        ),
        (
            f"Folds are drawn {'once' if plan.repeat == 1 else f'{plan.repeat} times'}"
            f"{once if plan.repeat > 1 and not plan.full else ''}. ± is the standard deviation over all folds; behind "
            "a difference, its standard error over all folds, corrected for the training rows that they share (Nadeau "
            "and Bengio, 2003).",
            "The sets are those of Korba, Garcia and d'Alché-Buc (2018), Table 1, without elevators, which was not at "
            "hand; nor were the published numbers.",
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


def _summary(taus: Taus) -> str:
    ours = ", ".join(f"{name} {np.mean(found[KENDALL]):.3f}" for name, found in taus.items())
    ranks = _mean_ranks(taus)
    order = ", ".join(f"{method} {ranks[method]:.1f}" for method in sorted(ranks, key=lambda method: ranks[method]))
    return f"Mean τ with Kendall's kernel: {ours}. Mean place of the methods over {len(taus)} sets: {order}."


def _mean_ranks(taus: Taus) -> dict[str, float]:
    """The mean place of each method over the sets, 1 the best."""
    values = np.array([[np.mean(found[method]) for method in METHODS] for found in taus.values()])
    places = 1 + (values[:, None, :] > values[:, :, None]).sum(axis=2)
    return dict(zip(METHODS, places.mean(axis=0).tolist(), strict=True))


# ----------------------------------------------------------------------------------------------------------- tables


def _tau_table(taus: Taus) -> Table:
    rows: list[dict[str, Any]] = []
    for name, found in taus.items():
        scores = {method: Spread.of(found[method], digits=3) for method in METHODS}
        rows.append({"set": name, **scores})
    ranks = _mean_ranks(taus)
    rows.append({"set": "mean place", **{method: round(ranks[method], 2) for method in METHODS}})
    return Table("Kendall's τ on the test folds", rows, ours=OURS)


def _difference_table(sets: Sets, taus: Taus) -> Table:
    rows = []
    for name, found in taus.items():
        row: dict[str, Any] = {"set": name, "rows": len(sets[name]), "labels": sets[name].ranks.shape[1]}
        for method in list(METHODS)[1:]:
            gap = difference(found[KENDALL], found[method], ratio=1 / (FOLDS - 1))
            row[method] = f"{gap.mean:+.3f} ± {gap.error:.3f}"
        rows.append(row)
    return Table("Kendall's kernel minus each of the others, on the same folds", rows, "± is the standard error.")


def _chosen_table(results: Results, sets: Sets) -> Table:
    chosen = {
        (name, method): frequent(results.numbers(Fold, f"chosen.{method}", name=name))
        for name, method in itertools.product(sets, METHODS)
    }
    rows = [{"set": name, "method": method, "chosen": often} for (name, method), often in chosen.items() if often]
    return Table("What was chosen, the four most frequent", rows, folded=True)


# ---------------------------------------------------------------------------------------------------------- figure


def _figure(taus: Taus) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        places = np.arange(len(taus))
        for method, (colour, mark) in MARKS.items():
            lost = [1 - np.mean(found[method]) for found in taus.values()]
            axes.plot(lost, places, mark, color=colour, markersize=5, label=method)
        axes.set_yticks(places, list(taus))
        axes.invert_yaxis()
        axes.set(xlabel="1 − τ, logarithmic", xscale="log", ylim=(len(taus) - 0.5, -0.5))
        axes.set_xticks(ticks := [0.02, 0.05, 0.1, 0.2, 0.5, 1.0], [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        canvas.legend(loc="outside upper center", ncols=2)

    caption = "What is missing to the true order, 1 − τ, mean over the test folds; to the left is better."
    return plot(draw, caption=caption, size=(5.6, 0.35 * len(taus) + 1.8))


PLANS = {
    "short": RankingPlan(repeat=1, largest=250),
    "default": RankingPlan(repeat=5),
    "full": RankingPlan(repeat=5, full=True),
}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
