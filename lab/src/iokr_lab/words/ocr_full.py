"""All ten folds of the OCR letters: handwritten words from single letters, neighbouring letters and a dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from iokr.apps.report import MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.embeddings.nystroem import Nystroem
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.generic import Delta
from iokr.kernels.vectors import RBF
from iokr_lab.data.ocr import OCRLetters, load_ocr_letters
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import chosen

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]

LETTERS = 26
FEW = 1000  # training letters on which parameters are chosen
GAMMAS = (0.01, 0.02, 0.04, 0.08)
ALPHAS = tuple(np.logspace(-5, 1, 13))
WEIGHTS = (0.1, 0.2, 0.4)  # weights of the pixels of neighbouring letters
ALONE = "letter alone"
NEIGHBOURS = "letter with its neighbours"
DICTIONARY = ", words seen in training"
BEST = NEIGHBOURS + DICTIONARY
OURS_HERE = (ALONE, NEIGHBOURS, ALONE + DICTIONARY, BEST)
METHODS = (*OURS_HERE, "nearest letters", "logistic regression")


@dataclass(frozen=True)
class LetterFolds(Plan):
    """The number of folds to train on, each time testing on the `tested` following ones; the seed draws letters."""

    repeat: int = 10
    tested: int = 1


@dataclass(frozen=True)
class LetterFold(Case):
    """Train on the words of one of the ten folds, test on those of the `tested` following folds."""

    train: int
    tested: int

    def __str__(self) -> str:
        return f"fold {self.train}, tested on {self.tested}"

    def words(self, data: OCRLetters) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Training words and test words."""
        after = (self.train + 1 + np.arange(self.tested)) % 10
        return np.flatnonzero(data.fold == self.train), np.flatnonzero(np.isin(data.fold, after))


def letter_rows(data: OCRLetters, words: NDArray[np.intp]) -> NDArray[np.intp]:
    """The indices of the letters of some words, word after word."""
    return np.concatenate([np.arange(data.starts[i], data.starts[i + 1]) for i in words])


def image_rows(data: OCRLetters, words: NDArray[np.intp], weight: float) -> Matrix:
    """Pixels of each letter; with a weight, also the weighted pixels of the previous and the next letter.

    The pixels before the first letter of a word and after the last letter are zeros.
    """
    rows = letter_rows(data, words)
    own = data.pixels[rows]
    if weight == 0:
        return own
    before = np.zeros_like(own)
    after = np.zeros_like(own)
    before[1:] = own[:-1]
    after[:-1] = own[1:]
    first = np.isin(rows, data.starts[:-1])
    before[first] = 0.0
    after[:-1][first[1:]] = 0.0
    return np.hstack([own, weight * before, weight * after])


# ------------------------------------------------------------------------------------------------------------- methods


def chosen_model(inputs: Sequence[tuple[float, Matrix]], y: Labels, seed: int) -> tuple[float, IOKR]:
    """(weight, model): weight, width and λ by leave-one-out on `FEW` letters, then fitted to all letters."""
    some = np.sort(np.random.default_rng(seed).permutation(len(y))[:FEW])
    shared: dict[str, Any] = {"output_kernel": Delta(), "embedding": Nystroem(LETTERS)}  # exact: a pivot per letter
    found = []
    for weight, X in inputs:
        search = IOKRCV([RBF(gamma) for gamma in GAMMAS], alphas=ALPHAS, **shared).fit(X[some], y[some])
        found.append((float(search.loo_errors_.min()), weight, search, X))
    _, weight, search, X = min(found, key=lambda item: item[0])
    return weight, IOKR(search.kernel_, alpha=search.alpha_, **shared).fit(X, y)


def scored_words(scores: Matrix, lengths: Sequence[int], dictionary: Sequence[tuple[int, ...]]) -> list[Labels]:
    """argmax of Σ_t ⟨h(x_t), ψ(y_t)⟩ over the words y of this length in the dictionary; without any, letter by letter.

    ψ(y) are the indicators of the letters at their positions, so ‖ψ(y)‖² is the length, the same for all candidates.
    """
    of_length: dict[int, Labels] = {}
    for length in {len(word) for word in dictionary}:
        of_length[length] = np.array([word for word in dictionary if len(word) == length])
    words = []
    for part in np.split(scores, np.cumsum(lengths)[:-1]):
        candidates = of_length.get(len(part))
        if candidates is None:
            words.append(part.argmax(axis=1))
        else:
            words.append(candidates[part[np.arange(len(part)), candidates].sum(axis=1).argmax()])
    return words


def _nearest(X: Matrix, y: Labels, X_test: Matrix) -> Labels:
    """The most frequent of the k nearest letters, k by leave-one-out."""
    own = y[NearestNeighbors(n_neighbors=7).fit(X).kneighbors(return_distance=False)]
    right = {}
    for k in (1, 3, 5, 7):
        votes = np.stack([(own[:, :k] == letter).sum(axis=1) for letter in range(LETTERS)], axis=1)
        right[k] = float(np.mean(votes.argmax(axis=1) == y))
    model = KNeighborsClassifier(max(right, key=lambda k: right[k])).fit(X, y)
    return np.asarray(model.predict(X_test), dtype=np.int64)


def _logistic(X: Matrix, y: Labels, X_test: Matrix) -> Labels:
    """Multinomial logistic regression; its regularisation is chosen on the last fifth of the training letters."""
    cut = len(X) - len(X) // 5
    right = {C: float(_fitted(C, X[:cut], y[:cut]).score(X[cut:], y[cut:])) for C in (0.03, 0.1, 0.3, 1.0)}
    return np.asarray(_fitted(max(right, key=lambda C: right[C]), X, y).predict(X_test), dtype=np.int64)


def _fitted(C: float, X: Matrix, y: Labels) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=500, tol=1e-3).fit(X, y)


# ----------------------------------------------------------------------------------------------------------- one fold


def run_fold(fold: LetterFold, plan: LetterFolds, data: OCRLetters) -> dict[str, Any]:
    """Correct letters and words in percent by method, and the chosen parameters."""
    train, test = fold.words(data)
    y = data.labels[letter_rows(data, train)]
    truth = data.labels[letter_rows(data, test)]
    lengths = [len(data.letters(i)) for i in test]
    spelled = [tuple(data.letters(i).tolist()) for i in range(len(data))]
    dictionary = sorted({spelled[i] for i in train})
    predicted: dict[str, Labels] = {}
    parameters = {}
    for name, weights in ((ALONE, (0.0,)), (NEIGHBOURS, WEIGHTS)):
        weight, model = chosen_model([(w, image_rows(data, train, w)) for w in weights], y, plan.seed)
        scores = np.asarray(model.scores(image_rows(data, test, weight), np.arange(LETTERS)))
        predicted[name] = scores.argmax(axis=1)
        predicted[name + DICTIONARY] = np.concatenate(scored_words(scores, lengths, dictionary))
        parameters[name] = {"γ": model.kernel_.gamma, "λ": model.alpha, "weight of the neighbours": weight}
    X = image_rows(data, train, 0.0)
    X_test = image_rows(data, test, 0.0)
    predicted["nearest letters"] = _nearest(X, y, X_test)
    predicted["logistic regression"] = _logistic(X, y, X_test)
    starts = np.cumsum([0, *lengths[:-1]])
    right = {name: predicted[name] == truth for name in METHODS}
    return {
        "letters": {name: 100 * float(those.mean()) for name, those in right.items()},
        "words": {name: 100 * float(np.logical_and.reduceat(those, starts).mean()) for name, those in right.items()},
        "chosen": parameters,
        "known": 100 * float(np.mean([spelled[i] in dictionary for i in test])),  # share of the test words
    }


def _cases(plan: LetterFolds, data: OCRLetters) -> list[LetterFold]:
    if plan.repeat > 10:
        raise ValueError(f"`repeat` must be at most 10, the number of folds to train on, got {plan.repeat}.")
    return [LetterFold(train, plan.tested) for train in range(plan.repeat)]


# --------------------------------------------------------------------------------------------------------------- page


def _page(results: Results, plan: LetterFolds, data: OCRLetters) -> Report:
    known = np.mean(results.numbers(LetterFold, "known"))
    full = "" if plan.tested == 9 else " `--full` tests on the other nine folds."
    return Report(
        "OCR letters: all ten folds",
        _summary(results),
        (
            Text("The setting", (_setting(data, list(results.of(LetterFold))), _CHOICE)),
            _table(results),
            _figure(results),
            _chosen_table(results),
        ),
        (
            f"± is the standard deviation over the training folds.{full}",
            f"The corpus has only 55 different words, without their first letters: {known:.1f} % of the test words are "
            "in the dictionary of the training fold, so the gain by the dictionary is specific to this corpus.",
        ),
    )


_CHOICE = (
    "IOKR maps images of letters into the feature space of the kernel 1{y = y'} on letters. The input is the letter "
    "alone, or with the previous and the next letter, their pixels times a weight. Gaussian width, λ and this weight "
    f"are chosen by leave-one-out on {FEW} of the training letters, and the model is fitted to all of them. A word is "
    "predicted letter by letter, or as the word of the training fold with the largest sum of scores. The baselines see "
    "the letter alone: nearest neighbours with their number chosen by leave-one-out, and logistic regression with its "
    "regularisation chosen on a fifth of the training letters."
)


def _setting(data: OCRLetters, folds: list[LetterFold]) -> str:
    n_train = [len(fold.words(data)[0]) for fold in folds]
    n_test = [len(fold.words(data)[1]) for fold in folds]
    after = "the next fold" if folds[0].tested == 1 else f"the {folds[0].tested} others"
    return (
        f"{len(data)} words, {len(data.labels)} letters in ten folds. Training on each of {len(folds)} of them "
        f"({min(n_train)} to {max(n_train)} words) and testing on {after} ({min(n_test)} to {max(n_test)} words)."
    )


def _of(results: Results, method: str, what: str) -> list[float]:
    return [cell[what][method] for cell in results.values()]


def _summary(results: Results) -> str:
    parts = [f"{method} {np.mean(_of(results, method, 'letters')):.1f} %" for method in METHODS]
    return f"Correct letters, mean over {len(results)} folds: {'; '.join(parts)}."


def _table(results: Results) -> Table:
    rows = [
        {
            "method": f"IOKR, {method}" if method in OURS_HERE else method,
            "letters, %": Spread.of(_of(results, method, "letters"), digits=1),
            "words, %": Spread.of(_of(results, method, "words"), digits=1),
        }
        for method in METHODS
    ]
    return Table("Correct letters and whole words", rows)


def _chosen_table(results: Results) -> Table:
    rows = [{"input": name, **values} for cell in results.values() for name, values in cell["chosen"].items()]
    names = {name: name for name in rows[0]}
    return chosen(pd.DataFrame(rows), by={"input": names.pop("input")}, what=names, title="Chosen parameters")


def _figure(results: Results) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        rows = np.arange(len(METHODS))
        for what, shift, alpha in (("letters", -0.2, 0.9), ("words", 0.2, 0.4)):
            means = [float(np.mean(_of(results, method, what))) for method in METHODS]
            colours = [OURS if method in OURS_HERE else THEIRS for method in METHODS]
            axes.barh(rows + shift, means, height=0.36, color=colours, alpha=alpha)
            for row, mean in zip(rows + shift, means, strict=True):
                axes.text(mean + 1, row, f"{mean:.1f} ({what})", va="center", fontsize=7, color=MUTED)
        axes.set_yticks(rows, [method.replace(", ", ",\n") for method in METHODS])
        axes.invert_yaxis()
        axes.set(xlabel="correct, %", xlim=(0, 119))

    return plot(draw, caption="Correct letters (dark) and whole words (light).", size=(5.2, 3.8))


PLANS = {"short": LetterFolds(repeat=2), "default": LetterFolds(), "full": LetterFolds(tested=9)}
STUDY = Study(plans=PLANS, load=lambda plan: load_ocr_letters(), cases=_cases, work=run_fold, page=_page)
