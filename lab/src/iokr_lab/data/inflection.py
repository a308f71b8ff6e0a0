"""Inflection: words, grammatical tags, and the inflected forms."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_choice
from iokr_lab.data.archives import find_set, reading

__all__ = ["Inflection", "load_inflection"]

PARTS = ("train-low", "train-medium", "train-high", "dev", "test")


@dataclass(frozen=True)
class Inflection:
    """Lemmas, grammatical tags, and the inflected forms."""

    lemma: NDArray[np.object_]
    form: NDArray[np.object_]
    tags: NDArray[np.object_]  # as in "V;PST"

    def __len__(self) -> int:
        return len(self.lemma)


def load_inflection(language: str, part: str) -> Inflection:
    """The words of `data_home()`/inflection/`language`-`part`.tsv.gz: lines of lemma, form and tags.

    Parameters
    ----------
    language : str
        ``"english"``, ``"german"``, ``"turkish"``.
    part : {"train-low", "train-medium", "train-high", "dev", "test"}
        100, 1000 and 10000 training words, each part included in the next; 1000 development words; 1000 test words.
    """
    check_choice(part, "part", PARTS)
    path = find_set("inflection", f"{language}-{part}", ".tsv.gz")
    with reading(path, "an inflection"), gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    for i, cells in enumerate(lines):
        if len(cells) != 3 or not all(cells):
            raise ValueError(f"{path}: line {i + 1} must have lemma, form and tags, got {cells!r:.80}.")
    columns = np.array(lines, dtype=object).reshape(-1, 3)
    return Inflection(columns[:, 0], columns[:, 1], columns[:, 2])
