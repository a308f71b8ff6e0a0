"""A function of two outputs as a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse
from iokr.data.objects import as_objects
from iokr.decoders._losses.base import PairLoss

__all__ = ["FunctionLoss"]


class FunctionLoss(PairLoss):
    """Δ(y, z) = f(y, z), one call per pair."""

    def __init__(self, f: Callable[[Any, Any], Any]) -> None:
        self.f = f

    def fit(self, Y: Any) -> FunctionLoss:
        """Nothing to learn."""
        return self

    def represent(self, Y: Any) -> Any:
        """A 1-D array of outputs."""
        if is_sparse(Y):
            Y = Y.toarray()
        return as_objects(list(Y)) if is_array(Y) else as_objects(Y)

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """A call for every pair, which must return a finite number."""
        D = np.empty((len(R), len(S)))
        for i, y in enumerate(R):
            for j, z in enumerate(S):
                D[i, j] = float(self.f(y, z))
                if not np.isfinite(D[i, j]):
                    raise ValueError(f"`loss` must return finite numbers, got {D[i, j]} for {y!r:.40} and {z!r:.40}.")
        return D
