"""Handwritten words as letters of 16 × 8 binary pixels."""

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
    """n words with m letters in total: rows of 128 binary pixels, row-major 16 × 8, word after word.

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
    fold: NDArray[np.int64]  # (n,), of the standard split into ten

    def __len__(self) -> int:
        return len(self.starts) - 1

    def image(self, i: int) -> NDArray[np.float64]:
        """The letters of word i as rows of pixels."""
        return self.pixels[self.starts[i] : self.starts[i + 1]]

    def letters(self, i: int) -> NDArray[np.int64]:
        """The labels of word i."""
        return self.labels[self.starts[i] : self.starts[i + 1]]

    def spelling(self, i: int) -> str:
        """Word i as a string."""
        return "".join(chr(ord("a") + letter) for letter in self.letters(i))


def load_ocr_letters() -> OCRLetters:
    """The words of `data_home()`/ocr_letters/ocr_letters.npz.

    The file has ``pixels``, 16 bytes of packed bits for every letter, ``labels`` 0–25, ``word_start``, the start of
    each word and the end of the last one, and ``fold``, the ten standard folds. As in the corpus, the first letter of
    every word, a capital, is missing.
    """
    path = find_data("ocr_letters/ocr_letters.npz")
    file = read_arrays(path, "an OCR letters", ("pixels", "labels", "word_start", "fold"))
    packed = file["pixels"]
    labels = file["labels"]
    starts = file["word_start"]
    fold = file["fold"]
    if packed.ndim != 2 or packed.shape[1] * 8 != SHAPE[0] * SHAPE[1] or packed.dtype != np.uint8:
        raise ValueError(f"{path}: `pixels` must be 16 bytes per letter, got {packed.dtype} of shape {packed.shape}.")
    check_rows(path, len(packed), {"labels": labels})
    _check_starts(path, starts, len(packed))
    check_rows(path, len(starts) - 1, {"fold": fold})
    if len(labels) and not (labels.min() >= 0 and labels.max() < 26):
        raise ValueError(f"{path}: `labels` must be 0 to 25, got {labels.min()} to {labels.max()}.")
    bits = np.unpackbits(packed, axis=1).astype(np.float64)
    return OCRLetters(bits, labels.astype(np.int64), starts.astype(np.int64), fold.astype(np.int64))


def _check_starts(path: Any, starts: NDArray[Any], m: int) -> None:
    """Raise `ValueError` unless words follow each other and are not empty."""
    valid = starts.ndim == 1 and starts.dtype.kind in "iu" and len(starts) > 1
    if valid:
        steps = np.diff(starts.astype(np.int64))
        valid = steps.min() >= 1 and starts[0] == 0 and starts[-1] == m
    if not valid:
        raise ValueError(f"{path}: `word_start` must increase from 0 to the number of letters, {m}.")
