"""Label sets from features, six data sets on their official splits: IOKR and output-kernel forests beside rivals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr._objects import keys
from iokr.report import MUTED, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.report import OURS as COLOUR
from iokr.report.progress import Progress, silent
from iokr_lab.data.multilabel import MultiLabel, load_multilabel
from iokr_lab.label_sets.protocol import (
    FOREST_F1,
    INPUT_RANK,
    IOKR_F1,
    IOKR_RBF,
    IOKR_TANIMOTO,
    METHODS,
    N_FOLDS,
    N_TREES,
    OURS,
    OUTPUT_RANK,
    SETS,
    SPLIT_RANK,
    Results,
    Task,
    n_steps,
    run_all,
    task_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["run"]

HEADLINE = "bibtex"
SHOWN = (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF, FOREST_F1)  # beside the rivals with chosen thresholds


def run(*, seed: int = 0, repeat: int | None = None, progress: Progress = silent) -> Report:
    """Every method on every set; all parameters chosen on the training part.

    Parameters
    ----------
    seed : int, default=0
        Of the forests, and of the folds of logistic regression.
    repeat : int, default=1
        How many seeds, from `seed` on; the splits are the official ones.
    progress : callable, optional
    """
    seeds = [seed + i for i in range(repeat or 1)]
    data = {name: load_multilabel(name) for name in SETS}
    total, steps = n_steps(len(SETS), len(seeds)), itertools.count()
    tasks: Iterator[Task] = (task_of(name, one) for name, one in data.items())
    results = run_all(tasks, seeds, lambda what: progress(next(steps), total, what))
    progress(total, total, "drawing the page")
    return Report(
        "Label sets on official splits",
        _summary(results, seeds),
        (
            Text("The question", (_QUESTION, _METHODS)),
            _data_table(data),
            _metric_table(results.f1, "Example-F1 on the test part (%), higher is better"),
            _dots(results),
            _metric_table(results.hamming, "Hamming loss on the test part (%), lower is better", digits=2),
            Text("What decides", (_DECIDES, _decoding_text(results, data))),
            _seen_figure(results, data),
            Text("How everything was chosen", (_CHOICE,)),
            _chosen_table(results),
            _seconds_table(results),
        ),
        (
            "Example-F1 is the mean over test rows of 2|y ∩ ŷ| / (|y| + |ŷ|), 1 where both are empty; Hamming loss is "
            "the share of wrong labels. All choices are for F1, so Hamming is that of the same answers; the rows with "
            "threshold ½ are those that care for it.",
            f"Seeds {', '.join(map(str, seeds))}, of the forests and of the folds of logistic regression; ± is the "
            "standard deviation over several seeds. Kernel ridge and IOKR have no chance in them.",
            f"On sparse sets at most {INPUT_RANK} training rows stand for all inputs, and at most {OUTPUT_RANK} label "
            "sets for all outputs (pivoted Cholesky), for which leave-one-out is exact.",
            "Kernel ridge is IOKR with linear outputs, and its answers are those of scikit-learn's `KernelRidge`.",
        ),
    )


# --------------------------------------------------------------------------------------------------------------- text

_QUESTION = (
    "Each row has a set of labels. The first rows of each file are the official training part, the others are the test "
    "part, and are used once."
)
_METHODS = (
    "IOKR predicts h(x) in the feature space of a kernel on label sets and answers with the nearest set: for Tanimoto "
    "and Gaussian outputs among the sets seen in training, for F1 outputs, the kernel 2|y ∩ z| / (|y| + |z|), among "
    "all sets, exactly. Output-kernel forests weigh training sets by leaves that they share; the same weights serve "
    "both ways. The rivals score each label and keep those above one threshold, ½ or chosen."
)
_DECIDES = (
    "With a linear output and a threshold every label is decided by itself. Tanimoto and F1 outputs are near to the "
    "measure, and the answer is one set as a whole. Where test sets were seldom seen in training, a search among "
    "seen sets cannot be right, and a search among all can."
)
_CHOICE = (
    "Always by F1 on rows of the training part that had no say in their own answer. Kernel ridge and IOKR: exact "
    "leave-one-out, for the input kernel (by kernel ridge, then kept), alpha, the width of Gaussian outputs and the "
    f"threshold; a set that only the row itself has is no candidate. Forests ({N_TREES} trees, √p features a split, "
    f"{SPLIT_RANK} coordinates of the output kernel for splits): rows that a tree did not draw, for the least size of "
    f"leaves and the threshold. Logistic regression: {N_FOLDS} folds, for C, the threshold and, on sparse "
    "sets, rows of unit length or tf-idf."
)


def _mean(values: dict[tuple[str, str], list[float]], method: str, name: str) -> float:
    return 100 * float(np.mean(values[method, name]))


def _rival(results: Results, name: str) -> str:
    """The rival with the best F1 on a set."""
    rivals = [method for method in METHODS if method not in OURS]
    return max(rivals, key=lambda method: _mean(results.f1, method, name))


def _summary(results: Results, seeds: list[int]) -> str:
    rival = _rival(results, HEADLINE)
    ours = ", ".join(
        f"{_mean(results.f1, method, HEADLINE):.1f} by {method}" for method in (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF)
    )
    return (
        f"Example-F1 on {HEADLINE}, official split, all parameters chosen on the training part: {ours}; the best "
        f"rival, {rival}, has {_mean(results.f1, rival, HEADLINE):.1f}. Seeds: {', '.join(map(str, seeds))}."
    )


def _decoding_text(results: Results, data: dict[str, MultiLabel]) -> str:
    ahead = [
        name
        for name in data
        if max(_mean(results.f1, method, name) for method in OURS) > _mean(results.f1, _rival(results, name), name)
    ]
    names = ", ".join(ahead) or "none"
    return f"The best of our rows is ahead of the best rival, in F1, on {len(ahead)} of {len(data)} sets: {names}."


# ------------------------------------------------------------------------------------------------------------- tables


def _seen(data: MultiLabel) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which test rows have a label set that some training row has."""
    known = set(keys(data.Y[: data.n_train]))
    return np.array([key in known for key in keys(data.Y[data.n_train :])])


def _data_table(data: dict[str, MultiLabel]) -> Table:
    rows = [
        {
            "set": name,
            "training rows": one.n_train,
            "test rows": len(one.Y) - one.n_train,
            "features": one.X.shape[1],
            "labels": one.Y.shape[1],
            "labels a row": Spread(float(one.Y.sum(axis=1).mean()), float("nan"), digits=2),
            "label sets": len(set(keys(one.Y[: one.n_train]))),
            "test sets seen in training": f"{_seen(one).mean():.0%}",
        }
        for name, one in data.items()
    ]
    return Table("The data", rows)


def _metric_table(values: dict[tuple[str, str], list[float]], title: str, digits: int = 1) -> Table:
    rows = [
        {
            "method": method,
            **{name: Spread.of([100 * value for value in values[method, name]], digits=digits) for name in SETS},
        }
        for method in METHODS
    ]
    return Table(title, rows)


def _chosen_table(results: Results) -> Table:
    rows = [
        {"set": name, "method": method, "chosen": " / ".join(dict.fromkeys(results.chosen[method, name]))}
        for name, method in itertools.product(SETS, METHODS)
    ]
    return Table("What was chosen", rows, folded=True)


def _seconds_table(results: Results) -> Table:
    rows = [
        {"method": method, **{name: Spread.of(results.seconds[method, name], digits=1) for name in SETS}}
        for method in METHODS
    ]
    note = "With the choice of parameters. IOKR goes on from the factorisation that kernel ridge has paid for."
    return Table("Seconds", rows, note=note, folded=True)


# ------------------------------------------------------------------------------------------------------------ figures


def _dots(results: Results) -> Figure:
    rivals = [method for method in METHODS if method not in OURS and "½" not in method]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for methods, colour in ((rivals, THEIRS), (SHOWN, COLOUR)):
            for method, marker in zip(methods, "os^D", strict=False):
                values = [_mean(results.f1, method, name) for name in SETS]
                filled = colour if methods is SHOWN else "none"
                places = np.arange(len(SETS)) + (0.12 if methods is SHOWN else -0.12)
                axes.plot(places, values, marker, color=colour, markerfacecolor=filled, markersize=5, label=method)
        axes.set_xticks(range(len(SETS)), SETS)
        axes.set(ylabel="example-F1 (%)")
        canvas.legend(loc="outside upper center", ncols=1, fontsize=7)

    caption = "Example-F1 on the test parts: ours filled, rivals with chosen thresholds as rings."
    return plot(draw, caption=caption, size=(4.8, 4.6))


def _seen_figure(results: Results, data: dict[str, MultiLabel]) -> Figure:
    seen = _seen(data[HEADLINE])
    methods = (*SHOWN, _rival(results, HEADLINE))
    parts = {f"set seen in training ({int(seen.sum())} rows)": seen, f"set not seen ({int((~seen).sum())} rows)": ~seen}

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        places = np.arange(len(methods))[::-1]
        for (label, rows), colour, shift in zip(parts.items(), (COLOUR, MUTED), (0.18, -0.18), strict=True):
            values = [100 * results.f1_by_row[method, HEADLINE][rows].mean() if rows.any() else 0 for method in methods]
            axes.barh(places + shift, values, height=0.34, color=colour, label=label)
        axes.set_yticks(places, methods, fontsize=7)
        axes.set(xlabel=f"example-F1 on {HEADLINE} (%)")
        canvas.legend(loc="outside upper center", ncols=1, fontsize=7)

    caption = f"{HEADLINE}: test rows whose label set some training row has, and the others; last, the best rival."
    return plot(draw, caption=caption, size=(4.8, 3.6))
