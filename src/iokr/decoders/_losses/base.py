"""Δ(y, z), the loss of predicting z where y is true, for all pairs of outputs of two lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

__all__ = ["PairLoss"]


class PairLoss(ABC):
    """Δ(y, z) for outputs of one kind."""

    def fit(self, Y: Any) -> PairLoss:
        """Reject outputs of another kind. May be overridden: learn from the training outputs, too."""
        self.represent(Y)
        return self

    @abstractmethod
    def represent(self, Y: Any) -> Any:
        """Outputs for `matrix`, sliceable by rows."""

    @abstractmethod
    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """Δ(y_i, z_j), (n, c), the truth first."""

    def search(self, B: np.ndarray, R: Any) -> Any:
        """argmin_z Σ_i β_i Δ(y_i, z) over all outputs, for each row of B, or None. May be overridden."""
        return None
