"""Ten folds of a few made-up words: inputs, reading and the page, checked against plain loops."""

import numpy as np
import pytest

from iokr.apps.report import Figure
from iokr.datasets import DataNotFound
from iokr_lab import find
from iokr_lab.data import load_ocr_letters
from iokr_lab.data.ocr import OCRLetters
from iokr_lab.words import ocr_full
from iokr_lab.words.ocr_full import (
    ALONE,
    BEST,
    DICTIONARY,
    METHODS,
    NEIGHBOURS,
    LetterFold,
    LetterFolds,
    chosen_model,
    image_rows,
    letter_rows,
    run_fold,
    scored_words,
)


def words(n: int = 80, seed: int = 0, noise: float = 0.15) -> OCRLetters:
    """Copies of short words in a random order; a letter is a noisy pattern of its own."""
    rng = np.random.default_rng(seed)
    patterns = rng.random((26, 128)) < 0.3
    texts = rng.choice(["cat", "dog", "horse", "bee", "ant", "zebra", "yak"], size=n)
    labels = np.array([ord(letter) - ord("a") for text in texts for letter in text])
    pixels = patterns[labels] ^ (rng.random((len(labels), 128)) < noise)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return OCRLetters(pixels.astype(float), labels, starts, np.arange(n) % 10)


def test_neighbours_stop_at_the_ends_of_words():
    data = words(12)
    chosen = np.array([7, 2, 3])
    rows = []
    for i in chosen:
        image, nothing = data.image(i), np.zeros(128)
        for t, letter in enumerate(image):
            before = image[t - 1] if t else nothing
            after = image[t + 1] if t + 1 < len(image) else nothing
            rows.append(np.concatenate([letter, 0.5 * before, 0.5 * after]))
    np.testing.assert_array_equal(image_rows(data, chosen, 0.5), rows)
    np.testing.assert_array_equal(image_rows(data, chosen, 0.0), np.array(rows)[:, :128])


def test_folds_follow_each_other():
    data = words()
    train, test = LetterFold(8, 3).words(data)
    assert set(data.fold[train]) == {8} and set(data.fold[test]) == {9, 0, 1}
    train, test = LetterFold(4, 9).words(data)
    assert len(train) + len(test) == len(data) and not set(train) & set(test)


def test_words_are_those_with_the_largest_sum():
    scores = np.random.default_rng(0).normal(size=(3 + 2 + 4, 26))
    dictionary = [(1, 2, 3), (3, 2, 1), (0, 25), (7, 7, 8)]
    read = scored_words(scores, [3, 2, 4], dictionary)
    sums = {word: sum(scores[t, letter] for t, letter in enumerate(word)) for word in dictionary if len(word) == 3}
    assert tuple(read[0]) == max(sums, key=sums.get)
    assert tuple(read[1]) == (0, 25), "the only word of two letters"
    np.testing.assert_array_equal(read[2], scores[5:].argmax(axis=1))
    assert [len(word) for word in read] == [3, 2, 4]


def test_scores_are_kernel_ridge_of_indicators():
    data = words(30)
    train, test = np.arange(20), np.arange(20, 30)
    X, Z, y = image_rows(data, train, 0.0), image_rows(data, test, 0.0), data.labels[letter_rows(data, train)]
    weight, model = chosen_model([(0.0, X)], y, 0)
    K, k = model.kernel_(X), model.kernel_(Z, X)
    H = k @ np.linalg.solve(K + model.alpha * np.eye(len(K)), np.eye(26)[y])
    assert weight == 0.0
    np.testing.assert_allclose(np.asarray(model.scores(Z, np.arange(26))), H, atol=1e-9)


def test_a_fold_counts_letters_and_words(monkeypatch):
    """Clean patterns are all read; of noisy ones a word is right at most as often as a letter."""
    monkeypatch.setattr(ocr_full, "WEIGHTS", (0.2,))
    clean = run_fold(LetterFold(0, 1), LetterFolds(), words(200, noise=0.0))
    assert clean["known"] == 100 and clean["letters"][BEST] == clean["words"][BEST] == 100
    noisy = run_fold(LetterFold(0, 1), LetterFolds(), words(200, noise=0.3))
    assert all(noisy["words"][method] <= noisy["letters"][method] for method in METHODS)
    assert noisy["words"][ALONE + DICTIONARY] >= noisy["words"][ALONE]


def test_page(monkeypatch, tmp_path):
    data = words(100)
    (tmp_path / "ocr_letters").mkdir()
    np.savez(
        tmp_path / "ocr_letters" / "ocr_letters.npz",
        pixels=np.packbits(data.pixels.astype(np.uint8), axis=1),
        labels=data.labels,
        word_start=data.starts,
        fold=data.fold,
    )
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    monkeypatch.setattr(ocr_full, "WEIGHTS", (0.2,))
    steps = []
    folder = tmp_path / "run"
    report = find("ocr-full").run(
        repeat=2, progress=lambda done, total, what: steps.append((done, total)), folder=folder
    )
    assert steps[1:] == [(0, 2), (1, 2), (2, 2), (2, 2)]
    table, chosen = report.tables
    assert len(table.rows) == len(METHODS) and all(row["letters, %"].n == 2 for row in table.rows)
    assert {row["input"] for row in chosen.rows} == {ALONE, NEIGHBOURS}
    assert sum(isinstance(item, Figure) for item in report.items) == 1 and "ten folds" in report.html()
    assert "2 of 2 cells were found" in find("ocr-full").run(repeat=2, folder=folder).notes[-1]
    full = find("ocr-full").run(repeat=1, plan="full", folder=folder)
    assert not any("were found" in note for note in full.notes), "another plan has other cells"
    with pytest.raises(ValueError, match="`repeat` must be at most 10"):
        find("ocr-full").run(repeat=11)


def test_real_letters_behave():
    """Eighty words for training: well above chance, and the 55 words help."""
    try:
        data = load_ocr_letters()
    except DataNotFound as error:
        pytest.skip(str(error))
    rng = np.random.default_rng(0)
    train, test = np.split(rng.choice(len(data), size=160, replace=False), 2)
    y, truth = data.labels[letter_rows(data, train)], data.labels[letter_rows(data, test)]
    _, model = chosen_model([(0.0, image_rows(data, train, 0.0))], y, 0)
    scores = np.asarray(model.scores(image_rows(data, test, 0.0), np.arange(26)))
    dictionary = sorted({tuple(data.letters(i).tolist()) for i in range(len(data))})
    assert len(dictionary) == 55
    lengths = [len(data.letters(i)) for i in test]
    alone = np.mean(scores.argmax(axis=1) == truth)
    assert 0.45 < alone < 0.9
    assert np.mean(np.concatenate(scored_words(scores, lengths, dictionary)) == truth) > alone
