"""Handwritten words, letter by letter: 16 × 8 binary pixels each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import find_data
from iokr_lab.data.archives import check_rows, read_arrays

__all__ = ["OCRLetters", "load_ocr_letters"]

SHAPE = (16, 8)  # rows and columns of a letter


@dataclass(frozen=True)
class OCRLetters:
    """n words of m letters: rows of 128 pixels, 0 or 1, row-major 16 × 8, one word after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.data import OCRLetters
    >>> letters = OCRLetters(np.zeros((5, 128)), np.array([2, 0, 19, 14, 13]), np.array([0, 3, 5]), np.array([0, 1]))
    >>> letters.spelling(0), len(letters), letters.image(1).shape
    ('cat', 2, (2, 128))
    """

    pixels: NDArray[np.float64]  # (m, 128)
    labels: NDArray[np.int64]  # (m,), 0 for a to 25 for z
    starts: NDArray[np.int64]  # (n + 1,), word i is letters starts[i] to starts[i + 1]
    fold: NDArray[np.int64]  # (n,), in the standard split into ten

    def __len__(self) -> int:
        return len(self.starts) - 1

    def image(self, i: int) -> NDArray[np.float64]:
        """The letters of word i, a row of pixels each."""
        return self.pixels[self.starts[i] : self.starts[i + 1]]

    def letters(self, i: int) -> NDArray[np.int64]:
        """The labels of word i."""
        return self.labels[self.starts[i] : self.starts[i + 1]]

    def spelling(self, i: int) -> str:
        """Word i as a string."""
        return "".join(chr(ord("a") + letter) for letter in self.letters(i))


def load_ocr_letters() -> OCRLetters:
    """The words of `data_home()`/ocr_letters/ocr_letters.npz.

    The file holds ``pixels``, 16 bytes of packed bits for every letter, ``labels`` 0–25, ``word_start``, where each
    word begins, the end of the last one included, and ``fold``, the ten standard folds. The first letter of every word
    is left out, as it is in the corpus: it was a capital.
    """
    path = find_data("ocr_letters/ocr_letters.npz")
    file = read_arrays(path, "an OCR letters", ("pixels", "labels", "word_start", "fold"))
    packed = file["pixels"]
    labels = file["labels"]
    starts = file["word_start"]
    fold = file["fold"]
    if packed.ndim != 2 or packed.shape[1] * 8 != SHAPE[0] * SHAPE[1] or packed.dtype != np.uint8:
        raise ValueError(f"{path}: `pixels` must be 16 bytes a letter, got {packed.dtype} of shape {packed.shape}.")
    check_rows(path, len(packed), {"labels": labels})
    _check_starts(path, starts, len(packed))
    check_rows(path, len(starts) - 1, {"fold": fold})
    if len(labels) and not (labels.min() >= 0 and labels.max() < 26):
        raise ValueError(f"{path}: `labels` must be 0 to 25, got {labels.min()} to {labels.max()}.")
    bits = np.unpackbits(packed, axis=1).astype(np.float64)
    return OCRLetters(bits, *(array.astype(np.int64) for array in (labels, starts, fold)))


def _check_starts(path: Any, starts: NDArray[Any], m: int) -> None:
    """Words follow each other, and none is empty."""
    steps = np.diff(starts.astype(np.int64)) if starts.ndim == 1 and starts.dtype.kind in "iu" else np.zeros(1)
    if not len(steps) or steps.min() < 1 or starts[0] != 0 or starts[-1] != m:
        raise ValueError(f"{path}: `word_start` must rise from 0 to the number of letters, {m}.")
