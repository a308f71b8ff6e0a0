"""The OCR letters, all ten folds: inputs, methods and runs; `ocr_full.py` shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from iokr.embeddings.nystroem import Nystroem
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.generic import Delta
from iokr.kernels.vectors import RBF
from iokr_lab.data.ocr import OCRLetters
from iokr_lab.study import Case

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]

LETTERS = 26
FEW = 1000  # training letters on which parameters are chosen
GAMMAS = (0.01, 0.02, 0.04, 0.08)
ALPHAS = tuple(np.logspace(-5, 1, 13))
WEIGHTS = (0.1, 0.2, 0.4)  # of the pixels of the neighbouring letters
ALONE, NEIGHBOURS = "letter alone", "letter with its neighbours"
DICTIONARY = ", words seen in training"
BEST = NEIGHBOURS + DICTIONARY
METHODS = (ALONE, NEIGHBOURS, ALONE + DICTIONARY, BEST, "nearest letters", "logistic regression")


@dataclass(frozen=True)
class Fold(Case):
    """Train on the words of one of the ten folds, test on those of `tested` folds that follow it."""

    train: int
    tested: int

    def __str__(self) -> str:
        return f"fold {self.train}, tested on {self.tested}"

    def words(self, data: OCRLetters) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Training words and test words."""
        after = (self.train + 1 + np.arange(self.tested)) % 10
        return np.flatnonzero(data.fold == self.train), np.flatnonzero(np.isin(data.fold, after))


def letter_rows(data: OCRLetters, words: NDArray[np.intp]) -> NDArray[np.intp]:
    """The letters of some words, one word after the other."""
    return np.concatenate([np.arange(data.starts[i], data.starts[i + 1]) for i in words])


def image_rows(data: OCRLetters, words: NDArray[np.intp], weight: float) -> Matrix:
    """Pixels of each letter; with a weight, then those of the letter before and of the one after, times the weight.

    There is nothing, zeros, before the first letter of a word and after the last.
    """
    rows = letter_rows(data, words)
    own = data.pixels[rows]
    if weight == 0:
        return own
    before, after = np.zeros_like(own), np.zeros_like(own)
    before[1:], after[:-1] = own[:-1], own[1:]
    first = np.isin(rows, data.starts[:-1])
    before[first] = 0.0
    after[:-1][first[1:]] = 0.0
    return np.hstack([own, weight * before, weight * after])


# ------------------------------------------------------------------------------------------------------------- methods


def chosen_model(inputs: Sequence[tuple[float, Matrix]], y: Labels, seed: int) -> tuple[float, IOKR]:
    """(weight, model): weight, width and λ by leave-one-out on `FEW` letters, then fitted to all."""
    some = np.sort(np.random.default_rng(seed).permutation(len(y))[:FEW])
    shared: dict[str, Any] = {"output_kernel": Delta(), "embedding": Nystroem(LETTERS)}  # exact: a pivot per letter
    found = []
    for weight, X in inputs:
        search = IOKRCV([RBF(gamma) for gamma in GAMMAS], alphas=ALPHAS, **shared).fit(X[some], y[some])
        found.append((float(search.loo_errors_.min()), weight, search, X))
    _, weight, search, X = min(found, key=lambda item: item[0])
    return weight, IOKR(search.kernel_, alpha=search.alpha_, **shared).fit(X, y)


def read_words(scores: Matrix, lengths: Sequence[int]) -> list[Labels]:
    """The best letter at each place of each word."""
    return np.split(scores.argmax(axis=1), np.cumsum(lengths)[:-1])


def scored_words(scores: Matrix, lengths: Sequence[int], dictionary: Sequence[tuple[int, ...]]) -> list[Labels]:
    """argmax over the words y of the dictionary of that length of Σ_t ⟨h(x_t), ψ(y_t)⟩; else letter by letter.

    With ψ(y) the indicators of the letters at their places, ‖ψ(y)‖² is the length, the same for all candidates.
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
    """Multinomial logistic regression, its strength by the last fifth of the training letters."""
    cut = len(X) - len(X) // 5
    right = {C: float(_fitted(C, X[:cut], y[:cut]).score(X[cut:], y[cut:])) for C in (0.03, 0.1, 0.3, 1.0)}
    return np.asarray(_fitted(max(right, key=lambda C: right[C]), X, y).predict(X_test), dtype=np.int64)


def _fitted(C: float, X: Matrix, y: Labels) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=500, tol=1e-3).fit(X, y)


# ----------------------------------------------------------------------------------------------------------- one fold


def run_fold(fold: Fold, data: OCRLetters, seed: int) -> dict[str, Any]:
    """Letters and words that are right, in percent, by method, and what was chosen."""
    train, test = fold.words(data)
    y, truth = data.labels[letter_rows(data, train)], data.labels[letter_rows(data, test)]
    lengths = [len(data.letters(i)) for i in test]
    dictionary = sorted({tuple(data.letters(i).tolist()) for i in train})
    answers: dict[str, Labels] = {}
    chosen = {}
    for name, weights in ((ALONE, (0.0,)), (NEIGHBOURS, WEIGHTS)):
        weight, model = chosen_model([(w, image_rows(data, train, w)) for w in weights], y, seed)
        scores = np.asarray(model.scores(image_rows(data, test, weight), np.arange(LETTERS)))
        answers[name] = np.concatenate(read_words(scores, lengths))
        answers[name + DICTIONARY] = np.concatenate(scored_words(scores, lengths, dictionary))
        chosen[name] = {"γ": model.kernel_.gamma, "λ": model.alpha, "weight of the neighbours": weight}
    X, X_test = image_rows(data, train, 0.0), image_rows(data, test, 0.0)
    answers["nearest letters"] = _nearest(X, y, X_test)
    answers["logistic regression"] = _logistic(X, y, X_test)
    starts = np.cumsum([0, *lengths[:-1]])
    right = {name: answers[name] == truth for name in METHODS}
    return {
        "letters": {name: 100 * float(those.mean()) for name, those in right.items()},
        "words": {name: 100 * float(np.logical_and.reduceat(those, starts).mean()) for name, those in right.items()},
        "chosen": chosen,
        "known": 100 * _known(data, test, dictionary),
    }


def _known(data: OCRLetters, test: NDArray[np.intp], dictionary: Sequence[tuple[int, ...]]) -> float:
    """The fraction of test words that are in the dictionary."""
    known = set(dictionary)
    return float(np.mean([tuple(data.letters(i).tolist()) in known for i in test]))
