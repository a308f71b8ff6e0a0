"""K12 Table 3: the feature maps, the choices of words and the cases; `ocr.py` makes the page.

Φ_k(x) compares a word with every letter image of the training words at the same position; Φ_l(y) is the concatenation
of one indicator vector of 26 letters per position. Both kernels are inner products of these features.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from iokr.data.objects import as_objects
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel
from iokr.kernels.features import EmpiricalMap
from iokr.kernels.structured.sequences import Positional
from iokr.kernels.vectors import Linear, Polynomial
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr_lab.data.ocr import OCRLetters
from iokr_lab.published import published
from iokr_lab.splits import TrainTest
from iokr_lab.study import Case, Plan

Matrix = NDArray[np.float64]
Letters = NDArray[np.int64]
Draw = tuple[int, int]  # seed of one draw of words

ALPHABET = 26
LAM = 0.01
PUBLISHED = {operator: row["letters"] for operator, row in published("k12_table3").items()}
OPERATORS: dict[str, Callable[[Kernel], Any]] = {
    "identity": lambda kernel: kernel,
    "covariance": Covariance,
    "conditional covariance": ConditionalCovariance,
}
BASELINE = "nearest training letter"
CHOICES = {"first": "copies of one word", "random": "random words", "five": "copies of five words"}
CUBIC: dict[str, Kernel] = {  # the paper gives the degree but neither offset nor scale
    "(⟨c,x⟩+1)³": Polynomial(3, 1.0, 1.0),
    "⟨c,x⟩³": Polynomial(3, 1.0, 0.0),
    "(⟨c,x⟩/128+1)³": Polynomial(3, 1 / 128, 1.0),
    "cos³(c,x)": Normalized(Polynomial(3, 1.0, 0.0)),
}
ALONG = "cos³(c,x)"  # the cubic kernel used along λ
N_WORDS = 100
N_FOLDS = 5
LAMS = tuple(10.0**k for k in range(-4, 5))
EPSILONS = (1e-6, 1e-4, 1e-2, 1.0)  # in units of s_max(K)/n


class WordSplit(TrainTest):
    """Words as arrays of letter images X and as letters Y."""

    @property
    def length(self) -> int:
        """p, the number of letters of the longest training word."""
        return max(len(letters) for letters in self.Y)


def chosen_words(words: OCRLetters, choice: str, draw: Draw) -> NDArray[np.int64]:
    """100 words by one of the choices that the paper leaves open, in random order."""
    rng = np.random.default_rng(draw)
    if choice == "first":  # the file is sorted by word
        found = np.arange(min(N_WORDS, len(words)))
    elif choice == "random":
        found = rng.choice(len(words), size=min(N_WORDS, len(words)), replace=False)
    else:
        spelled = np.array([words.spelling(i) for i in range(len(words))])
        five = rng.choice(np.unique(spelled), size=5, replace=False)
        copies = [np.flatnonzero(spelled == word) for word in five]
        found = np.concatenate([rng.choice(rows, size=min(N_WORDS // 5, len(rows)), replace=False) for rows in copies])
    return rng.permutation(found)


def splits(words: OCRLetters, choice: str, draw: Draw) -> list[WordSplit]:
    """Train on one fifth of the words and test on the others, for every fifth."""
    chosen = chosen_words(words, choice, draw)
    every = np.arange(len(chosen))
    found = []
    for train in np.array_split(every, N_FOLDS):
        test = np.delete(every, train)
        found.append(WordSplit(*_part(words, chosen[train]), *_part(words, chosen[test])))
    return found


def _part(words: OCRLetters, rows: NDArray[np.int64]) -> tuple[NDArray[np.object_], list[Letters]]:
    """Letter images and letters of some words."""
    return as_objects(words.image(int(i)) for i in rows), [words.letters(int(i)) for i in rows]


def one_hot(y: Sequence[Letters], length: int) -> Matrix:
    """Φ_l(y) in ℝ^{26p}; letters past position p are dropped."""
    Y = np.zeros((len(y), length, ALPHABET))
    for row, letters in zip(Y, y, strict=True):
        first = letters[:length]
        row[np.arange(len(first)), first] = 1.0
    return Y.reshape(len(y), -1)


def input_kernel(cubic: str) -> Kernel:
    """⟨Φ_k(x), Φ_k(x')⟩: letters compared with the training letters at the same position."""
    return Positional(EmpiricalMap(CUBIC[cubic]), pooled=False)


def predictions(split: WordSplit, kernel: Any, lam: float) -> list[Letters]:
    """The predicted letters of the test words: the largest of 26 coordinates at each position; −1 past position p."""
    model = IOKR(kernel, output_kernel=Linear(), alpha=lam, intercept=False)
    model.fit(split.X, one_hot(split.Y, split.length))
    H = model.embedding_.vectors(model.decision_function(split.X_test))
    best = H.reshape(len(H), split.length, ALPHABET).argmax(axis=2)
    found = []
    for row, truth in zip(best, split.Y_test, strict=True):
        letters = np.full(len(truth), -1)
        letters[: len(row)] = row[: len(truth)]
        found.append(letters)
    return found


def recognised(split: WordSplit, predicted: Sequence[Letters]) -> float:
    """Percentage of the letters of the test words that were recognised."""
    return 100 * float(np.mean(np.concatenate(predicted) == np.concatenate(split.Y_test)))


def nearest_letters(split: WordSplit) -> list[Letters]:
    """Every test letter as its nearest training letter, regardless of position."""
    nearest = KNeighborsClassifier(n_neighbors=1)
    nearest.fit(np.concatenate(list(split.X)), np.concatenate(split.Y))
    return [nearest.predict(word) for word in split.X_test]


# ------------------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class WordDraws(Plan):
    """The number of draws of words, each cut into folds."""

    repeat: int = 10


@dataclass(frozen=True)
class Recognition(Case):
    """One draw of words and one operator, or the baseline."""

    choice: str
    draw: int
    cubic: str
    operator: str
    lam: float = LAM
    epsilon: float | None = None  # in units of s_max(K)/n


def cases(plan: WordDraws, words: OCRLetters) -> list[Recognition]:
    """For every draw: Table 3 under every interpretation, one kernel along λ, all kernels along ε."""
    found: dict[Recognition, None] = {}
    for draw in range(plan.repeat):
        table = itertools.product(CHOICES, [draw], CUBIC, OPERATORS)
        along_lambda = itertools.product(("five", "random"), [draw], [ALONG], OPERATORS, LAMS)
        along_epsilon = itertools.product(["five"], [draw], CUBIC, ["conditional covariance"], [LAM], EPSILONS)
        baseline = itertools.product(CHOICES, [draw], [""], [BASELINE])
        for which in itertools.chain(table, along_lambda, along_epsilon, baseline):
            found[Recognition(*which)] = None
    return list(found)


def work(case: Recognition, plan: WordDraws, words: OCRLetters) -> dict[str, list[float]]:
    """Percentage of recognised letters for each fold."""
    parts = splits(words, case.choice, (plan.seed, case.draw))
    return {"recognised": [recognised(split, _letters(case, split)) for split in parts]}


def _letters(case: Recognition, split: WordSplit) -> list[Letters]:
    if case.operator == BASELINE:
        return nearest_letters(split)
    kernel = input_kernel(case.cubic)
    if case.epsilon is None:
        return predictions(split, OPERATORS[case.operator](kernel), case.lam)
    unit = float(np.linalg.eigvalsh(kernel(split.X))[-1]) / len(split.X)
    return predictions(split, ConditionalCovariance(kernel, case.epsilon * unit), case.lam)
