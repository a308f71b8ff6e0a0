"""K12 Table 3 on a few made-up words: the feature maps and the protocol, checked against plain loops.

Tests of `iokr_lab.words.ocr_protocol`.
"""

import numpy as np
import pytest

from iokr.apps.report import Figure
from iokr.datasets import DataNotFound
from iokr_lab import find
from iokr_lab.data import load_ocr_letters
from iokr_lab.data.ocr import OCRLetters
from iokr_lab.words import ocr_protocol as protocol
from iokr_lab.words.ocr_protocol import (
    CHOICES,
    CUBIC,
    LAM,
    OPERATORS,
    PUBLISHED,
    WordSplit,
    chosen_words,
    input_kernel,
    one_hot,
    predictions,
    recognised,
    splits,
)

pytestmark = pytest.mark.filterwarnings("ignore:`alpha` = .* is below 1e-12")  # λ of the paper beside unscaled kernels


def words(n: int = 40, seed: int = 0) -> OCRLetters:
    """Copies of seven short words; a letter is a noisy pattern of its own."""
    rng = np.random.default_rng(seed)
    patterns = rng.random((26, 128)) < 0.3
    texts = sorted(rng.choice(["cat", "dog", "horse", "bee", "ant", "zebra", "yak"], size=n))
    labels = np.array([ord(letter) - ord("a") for text in texts for letter in text])
    pixels = patterns[labels] ^ (rng.random((len(labels), 128)) < 0.05)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return OCRLetters(pixels.astype(float), labels, starts, np.arange(n) % 10)


def some_split() -> WordSplit:
    return splits(words(), "random", (0, 0))[0]


def by_hand(split: WordSplit, operator: str) -> list[np.ndarray]:
    """Φ_k and Φ_l by loops; the operators by the n² × n² system of K12 Proposition 1."""
    cubes = [(c, v) for word in split.X for v, c in enumerate(word)]

    def phi(word):
        return np.array(
            [(c @ word[v]) ** 3 / ((c @ c) * (word[v] @ word[v])) ** 1.5 if v < len(word) else 0 for c, v in cubes]
        )

    F, F_test = np.array([phi(word) for word in split.X]), np.array([phi(word) for word in split.X_test])
    Y = one_hot(split.Y, split.length)
    n, K, k = len(F), F @ F.T, F @ F_test.T
    T = {
        "identity": np.eye(n),
        "covariance": Y @ Y.T,
        "conditional covariance": np.linalg.solve(K + (c := 1e-2 * np.linalg.eigvalsh(K)[-1]) * np.eye(n), c * Y @ Y.T),
    }[operator]
    scale = 1 if operator == "identity" else n
    alpha = np.linalg.solve(np.kron(K, T) + scale * LAM * np.eye(n * n), np.eye(n).ravel()).reshape(n, n).T
    H = ((T @ alpha @ k).T @ Y).reshape(len(F_test), -1, 26)
    return [row[: len(truth)].argmax(axis=1) for row, truth in zip(H, split.Y_test, strict=True)]


def test_published_figures_are_those_of_the_paper():
    assert {name: (theirs.mean, theirs.std) for name, theirs in PUBLISHED.items()} == {
        "covariance": (83.8, 5.0),
        "conditional covariance": (86.1, 4.0),
    }


def test_outputs_are_indicators_side_by_side():
    Y = one_hot([np.array([2, 0, 19]), np.array([25])], 2).reshape(2, 2, 26)
    assert Y.sum() == 3 and Y[0, 0, 2] == Y[0, 1, 0] == Y[1, 0, 25] == 1


@pytest.mark.parametrize("operator", OPERATORS)
def test_predictions_are_the_formula(operator):
    split = some_split()
    ours = predictions(split, OPERATORS[operator](input_kernel("cos³(c,x)")), LAM)
    for answer, expected in zip(ours, by_hand(split, operator), strict=True):
        np.testing.assert_array_equal(answer[: len(expected)], expected)


def test_letters_past_the_longest_training_word_are_not_recognised():
    data = words()
    short = WordSplit(
        data_images(data, [0, 1]), [data.letters(0), data.letters(1)], data_images(data, [39]), [data.letters(39)]
    )
    assert data.spelling(0) == "ant" and data.spelling(39) == "zebra"
    [answer] = predictions(short, input_kernel("⟨c,x⟩³"), LAM)
    assert answer[3:].tolist() == [-1, -1]
    assert recognised(short, [data.letters(39)]) == 100 and recognised(short, [answer]) <= 60


def data_images(data, rows):
    return np.array([data.image(i) for i in rows] + [None], dtype=object)[:-1]


@pytest.mark.parametrize("choice", CHOICES)
def test_splits_train_on_a_fifth(choice):
    data = words(100)
    chosen = chosen_words(data, choice, (0, 0))
    assert len(np.unique(chosen)) == len(chosen)
    parts = splits(data, choice, (0, 0))
    assert len(parts) == 5
    assert sum(len(part.X) for part in parts) == len(chosen)
    assert all(len(part.X) + len(part.X_test) == len(chosen) for part in parts)
    spelled = {data.spelling(i) for i in chosen}
    assert len(spelled) == {"first": 7, "random": 7, "five": 5}[choice]


def test_page_has_published_beside_ours(monkeypatch, tmp_path):
    data = words(30)
    (tmp_path / "ocr_letters").mkdir()
    np.savez(
        tmp_path / "ocr_letters" / "ocr_letters.npz",
        pixels=np.packbits(data.pixels.astype(np.uint8), axis=1),
        labels=data.labels,
        word_start=data.starts,
        fold=data.fold,
    )
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    monkeypatch.setattr("iokr_lab.words.ocr.LAMS", (1e-2, 1.0))
    monkeypatch.setattr(protocol, "LAMS", (1e-2, 1.0))
    steps = []
    report = find("ocr").run(seed=1, repeat=1, progress=lambda done, total, what: steps.append((done, total)))
    table, epsilons = report.tables
    assert len(table.rows) == 1 + len(CHOICES) * len(CUBIC) and len(epsilons.rows) == len(CUBIC)
    assert table.rows[0]["conditional covariance"].mean == 86.1 and table.rows[0]["identity"] is None
    assert all(row[name].n == 5 for row in table.rows[1:] for name in OPERATORS)
    assert sum(isinstance(item, Figure) for item in report.items) == 3
    assert "86.1 ± 4.0" in report.html()
    n_cases = 3 * 4 * 3 + 2 * 3 * 1 + 4 * 4 + 3  # at λ = 0.01, also the first of two along λ; at the other; along ε
    assert steps[-1] == (n_cases, n_cases), "progress counts every case, to the end"


def test_real_words_behave_as_when_the_data_was_checked():
    """Identity operator, first 100 words: all letters; random words with same-position letters gave 28 %."""
    try:
        data = load_ocr_letters()
    except DataNotFound as error:
        pytest.skip(str(error))
    for choice, low, high in (("first", 99.9, 100), ("random", 20, 45), ("five", 60, 100)):
        split = splits(data, choice, (0, 0))[0]
        assert low <= recognised(split, predictions(split, input_kernel("(⟨c,x⟩+1)³"), LAM)) <= high
