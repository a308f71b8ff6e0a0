"""All ten folds of the OCR letters: handwritten words from their letters, their neighbours and a dictionary."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr.report import MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot, usable_cores
from iokr.report.progress import Progress, silent
from iokr_lab.cells import Cells
from iokr_lab.data.ocr import OCRLetters, load_ocr_letters
from iokr_lab.words.ocr_full_protocol import ALONE, BEST, DICTIONARY, FEW, METHODS, NEIGHBOURS, Fold, run_fold

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["run"]

OURS_HERE = (ALONE, NEIGHBOURS, ALONE + DICTIONARY, BEST)


def run(
    *,
    seed: int = 0,
    repeat: int | None = None,
    progress: Progress = silent,
    complete: bool = False,
    folder: Path | None = None,
) -> Report:
    """Train on each of the ten folds in turn, test on the next one, or on all others.

    Parameters
    ----------
    seed : int, default=0
        Draws the letters on which parameters are chosen.
    repeat : int, default=10
        How many of the ten folds to train on.
    progress : callable, optional
    complete : bool, default=False
        Test on the nine other folds instead of the next one.
    folder : Path, optional
        Where finished folds are kept, in `cells.jsonl`; a run that is taken up again begins where it stopped.
    """
    data = load_ocr_letters()
    folds = [Fold(train, 9 if complete else 1) for train in range(min(repeat or 10, 10))]
    cells = Cells(None if folder is None else folder / "cells.jsonl", {"seed": seed})
    steps = itertools.count(1)
    progress(0, len(folds), "data")
    found = cells.fill(
        folds,
        lambda fold: run_fold(fold, data, seed),
        lambda what: progress(next(steps), len(folds), what),
        usable_cores(),
    )
    done = [cells[str(fold)] for fold in folds]
    return Report(
        "OCR letters: all ten folds",
        _summary(done),
        (Text("The setting", (_setting(data, folds), _CHOICE)), _table(done), _figure(done), _chosen_table(done)),
        (
            "± is the standard deviation over the folds trained on.",
            f"{found} of {len(folds)} folds were found from an earlier run. "
            + ("" if complete else "`--full` tests on the nine other folds."),
            "There are only 55 different words in the corpus, without their first letters: "
            f"{np.mean([cell['known'] for cell in done]):.1f} % of the test words are in the dictionary of a training "
            "fold, so what it adds is special to this corpus.",
        ),
    )


# ------------------------------------------------------------------------------------------------------------- text

_CHOICE = (
    "IOKR maps images of letters into the feature space of the kernel 1{y = y'} on letters. The input is the letter "
    "alone, or with the letters before and after it, their pixels times a weight. Gaussian width, λ and that weight "
    f"are chosen by leave-one-out on {FEW} of the training letters, and the model is fitted to all of them. A word is "
    "read letter by letter, or as the word of the training fold with the largest sum of scores. Nearest letters choose "
    "their number by leave-one-out, logistic regression its strength on a fifth of the training letters; both see the "
    "letter alone."
)


def _setting(data: OCRLetters, folds: list[Fold]) -> str:
    n_train = [len(fold.words(data)[0]) for fold in folds]
    n_test = [len(fold.words(data)[1]) for fold in folds]
    after = "the next one" if folds[0].tested == 1 else f"the {folds[0].tested} others"
    return (
        f"{len(data)} words, {len(data.labels)} letters in ten folds. Training on each of {len(folds)} of them "
        f"({min(n_train)} to {max(n_train)} words) and testing on {after} ({min(n_test)} to {max(n_test)} words)."
    )


def _of(done: list[dict[str, Any]], method: str, what: str) -> list[float]:
    return [cell["right"][method][what] for cell in done]


def _summary(done: list[dict[str, Any]]) -> str:
    parts = [f"{method} {np.mean(_of(done, method, 'letters')):.1f} %" for method in METHODS]
    return f"Letters that are right, mean over {len(done)} folds: {'; '.join(parts)}."


def _table(done: list[dict[str, Any]]) -> Table:
    rows = [
        {
            "method": f"IOKR, {method}" if method in OURS_HERE else method,
            "letters, %": Spread.of(_of(done, method, "letters"), digits=1),
            "words, %": Spread.of(_of(done, method, "words"), digits=1),
        }
        for method in METHODS
    ]
    return Table("Letters and whole words that are right", rows)


def _chosen_table(done: list[dict[str, Any]]) -> Table:
    rows = []
    for method in (ALONE, NEIGHBOURS):
        counts = Counter(tuple(cell["chosen"][method].items()) for cell in done)
        for values, n in counts.most_common():
            rows.append({"input": method, **{name: f"{value:.3g}" for name, value in values}, "folds": n})
    return Table("What was chosen", rows, folded=True)


def _figure(done: list[dict[str, Any]]) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        places = np.arange(len(METHODS))
        for what, shift, alpha in (("letters", -0.2, 0.9), ("words", 0.2, 0.4)):
            means = [float(np.mean(_of(done, method, what))) for method in METHODS]
            colours = [OURS if method in OURS_HERE else THEIRS for method in METHODS]
            axes.barh(places + shift, means, height=0.36, color=colours, alpha=alpha)
            for place, mean in zip(places + shift, means, strict=True):
                axes.text(mean + 1, place, f"{mean:.1f} ({what})", va="center", fontsize=7, color=MUTED)
        axes.set_yticks(places, [method.replace(", ", ",\n") for method in METHODS])
        axes.invert_yaxis()
        axes.set(xlabel="right, %", xlim=(0, 119))

    return plot(draw, caption="Letters (dark) and whole words (light) that are right.", size=(5.2, 3.8))
