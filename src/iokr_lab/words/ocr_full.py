"""All ten folds of the OCR letters: handwritten words from their letters, their neighbours and a dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iokr.report import MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr_lab.data.ocr import OCRLetters, load_ocr_letters
from iokr_lab.study import Plan, Results, Study
from iokr_lab.tables import chosen
from iokr_lab.words.ocr_full_protocol import ALONE, BEST, DICTIONARY, FEW, METHODS, NEIGHBOURS, Fold, run_fold

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["STUDY"]

OURS_HERE = (ALONE, NEIGHBOURS, ALONE + DICTIONARY, BEST)


@dataclass(frozen=True)
class Folds(Plan):
    """On how many of the ten folds to train, and on how many of the following ones to test; the seed draws letters."""

    repeat: int = 10
    tested: int = 1


def _cases(plan: Folds, data: OCRLetters) -> list[Fold]:
    if plan.repeat > 10:
        raise ValueError(f"there are ten folds to train on, but `--repeat` is {plan.repeat}.")
    return [Fold(train, plan.tested) for train in range(plan.repeat)]


def _page(results: Results, plan: Folds, data: OCRLetters) -> Report:
    known = np.mean(results.numbers(Fold, "known"))
    return Report(
        "OCR letters: all ten folds",
        _summary(results),
        (
            Text("The setting", (_setting(data, list(results.of(Fold))), _CHOICE)),
            _table(results),
            _figure(results),
            _chosen_table(results),
        ),
        (
            "± is the standard deviation over the folds trained on."
            + ("" if plan.tested == 9 else " `--full` tests on the nine other folds."),
            f"There are only 55 different words in the corpus, without their first letters: {known:.1f} % of the test "
            "words are in the dictionary of a training fold, so what it adds is special to this corpus.",
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


def _of(results: Results, method: str, what: str) -> list[float]:
    return [cell[what][method] for cell in results.values()]


def _summary(results: Results) -> str:
    parts = [f"{method} {np.mean(_of(results, method, 'letters')):.1f} %" for method in METHODS]
    return f"Letters that are right, mean over {len(results)} folds: {'; '.join(parts)}."


def _table(results: Results) -> Table:
    rows = [
        {
            "method": f"IOKR, {method}" if method in OURS_HERE else method,
            "letters, %": Spread.of(_of(results, method, "letters"), digits=1),
            "words, %": Spread.of(_of(results, method, "words"), digits=1),
        }
        for method in METHODS
    ]
    return Table("Letters and whole words that are right", rows)


def _chosen_table(results: Results) -> Table:
    rows = [{"input": name, **values} for cell in results.values() for name, values in cell["chosen"].items()]
    names = {name: name for name in rows[0]}
    return chosen(pd.DataFrame(rows), by={"input": names.pop("input")}, what=names)


def _figure(results: Results) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        places = np.arange(len(METHODS))
        for what, shift, alpha in (("letters", -0.2, 0.9), ("words", 0.2, 0.4)):
            means = [float(np.mean(_of(results, method, what))) for method in METHODS]
            colours = [OURS if method in OURS_HERE else THEIRS for method in METHODS]
            axes.barh(places + shift, means, height=0.36, color=colours, alpha=alpha)
            for place, mean in zip(places + shift, means, strict=True):
                axes.text(mean + 1, place, f"{mean:.1f} ({what})", va="center", fontsize=7, color=MUTED)
        axes.set_yticks(places, [method.replace(", ", ",\n") for method in METHODS])
        axes.invert_yaxis()
        axes.set(xlabel="right, %", xlim=(0, 119))

    return plot(draw, caption="Letters (dark) and whole words (light) that are right.", size=(5.2, 3.8))


STUDY = Study(
    plans={"short": Folds(repeat=2), "default": Folds(), "full": Folds(tested=9)},
    load=lambda plan: load_ocr_letters(),
    cases=_cases,
    work=lambda case, plan, data: run_fold(case, data, plan.seed),
    page=_page,
)
