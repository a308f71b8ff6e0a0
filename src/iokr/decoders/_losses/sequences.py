"""The edit distance between strings and other sequences."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from iokr.data.edits import coded, edit_matrix, hashable_sequences
from iokr.data.objects import as_objects
from iokr.decoders._losses.base import PairLoss

__all__ = ["EditLoss"]


class EditLoss(PairLoss):
    """Δ(y, z) = the fewest insertions, deletions and substitutions that turn y into z."""

    def fit(self, Y: Any) -> EditLoss:
        """Check that outputs are sequences."""
        self.codes: dict[Hashable, int] = {}
        self.represent(Y)
        return self

    def represent(self, Y: Any) -> Any:
        """Sequences, as objects."""
        return as_objects(hashable_sequences(Y))

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """The edit distance of every pair, each by a table over prefixes."""
        return edit_matrix(coded(R, self.codes), coded(S, self.codes))
