"""Inflection: words, grammatical tags, and the inflected forms."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import DataNotFound, data_files, find_data

__all__ = ["Inflection", "load_inflection"]

FOLDER, SUFFIX = "inflection", ".tsv.gz"
PARTS = ("train-low", "train-medium", "train-high", "dev", "test")


@dataclass(frozen=True)
class Inflection:
    """Lemmas, the form that is wanted of each, and that form.

    Attributes
    ----------
    lemma, form : ndarray of n str
    tags : ndarray of n str
        As in ``"V;PST"``.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.data import Inflection
    >>> words = Inflection(*(np.array([word], dtype=object) for word in ("walk", "walked", "V;PST")))
    >>> len(words), words.form[0]
    (1, 'walked')
    """

    lemma: NDArray[np.object_]
    form: NDArray[np.object_]
    tags: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.lemma)


def load_inflection(language: str, part: str) -> Inflection:
    """The words of `data_home()`/inflection/`language`-`part`.tsv.gz: lines of lemma, form and tags.

    Parameters
    ----------
    language : str
        ``"english"``, ``"german"``, ``"turkish"``.
    part : {"train-low", "train-medium", "train-high", "dev", "test"}
        100, 1000 and 10000 words to train on, each within the next; 1000 to choose by; 1000 to test on.

    Returns
    -------
    Inflection

    Raises
    ------
    DataNotFound
        When there is no such file; the message names the languages there are.
    ValueError
        When it is not such a file.

    Examples
    --------
    >>> from iokr.datasets import DataNotFound
    >>> from iokr_lab.data import load_inflection
    >>> try:
    ...     print(len(load_inflection("english", "train-low")), "words")
    ... except DataNotFound:
    ...     print("100 words, once IOKR_DATA is set")
    100 words...
    """
    if part not in PARTS:
        raise ValueError(f"`part` must be one of {', '.join(PARTS)}, got {part!r}.")
    folder = find_data(FOLDER)
    path = folder / f"{language}-{part}{SUFFIX}"
    if not path.is_file() or path.parent != folder:
        there = sorted({file.name.split("-")[0] for file in data_files(FOLDER) if file.name.endswith(SUFFIX)})
        raise DataNotFound(f"{FOLDER}/{path.name} is not in {folder.parent}; the languages are: {', '.join(there)}.")
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not an inflection file: {error}") from error
    for i, cells in enumerate(lines):
        if len(cells) != 3 or not all(cells):
            raise ValueError(f"{path}: line {i + 1} must be a lemma, a form and tags, got {cells!r:.80}.")
    columns = np.array(lines, dtype=object).reshape(-1, 3)
    return Inflection(columns[:, 0], columns[:, 1], columns[:, 2])
