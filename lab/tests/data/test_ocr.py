"""The loader of handwritten words, on a small file of the same form and on the real one where it is."""

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import load_ocr_letters


def write(folder, **changes):
    bits = np.random.default_rng(0).integers(0, 2, size=(7, 128)).astype(np.uint8)
    arrays = {
        "pixels": np.packbits(bits, axis=1),
        "labels": np.array([2, 0, 19, 14, 13, 25, 1], np.uint8),
        "word_start": np.array([0, 3, 5, 7]),
        "fold": np.array([0, 1, 1], np.uint8),
    } | changes
    (folder / "ocr_letters").mkdir()
    np.savez(folder / "ocr_letters" / "ocr_letters.npz", **{k: a for k, a in arrays.items() if a is not None})
    return bits


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def test_words_are_runs_of_letters(home):
    bits = write(home)
    words = load_ocr_letters()
    assert len(words) == 3 and [words.spelling(i) for i in range(3)] == ["cat", "on", "zb"]
    np.testing.assert_array_equal(words.image(1), bits[3:5])
    np.testing.assert_array_equal(words.letters(2), [25, 1])


def test_not_there(home):
    with pytest.raises(DataNotFound, match=r"ocr_letters/ocr_letters\.npz"):
        load_ocr_letters()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fold": None}, "not a OCR letters file|not an? OCR letters file"),
        ({"pixels": np.zeros((7, 15), np.uint8)}, r"\(7, 15\)"),
        ({"labels": np.zeros(6, np.uint8)}, r"`labels` must have 7 rows"),
        ({"labels": np.full(7, 26, np.uint8)}, "0 to 25"),
        ({"word_start": np.array([0, 3, 3, 7])}, "`word_start`"),
        ({"word_start": np.array([0, 3, 5, 8])}, "`word_start`"),
        ({"fold": np.zeros(4, np.uint8)}, "`fold` must have 3 rows"),
    ],
)
def test_wrong_contents_are_named(home, changes, words):
    write(home, **changes)
    with pytest.raises(ValueError, match=words):
        load_ocr_letters()


def test_the_real_file():
    try:
        words = load_ocr_letters()
    except DataNotFound as error:
        pytest.skip(str(error))
    assert len(words) == 6877 and words.pixels.shape == (52152, 128)
    assert np.bincount(words.fold).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    assert len({words.spelling(i) for i in range(len(words))}) == 55
    lengths = np.diff(words.starts)
    assert (lengths.min(), lengths.max()) == (3, 14)
    assert words.spelling(0) == "ommanding"
