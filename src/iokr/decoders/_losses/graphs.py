"""Graphs: the fused Gromov–Wasserstein distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._objects import as_objects, n_objects
from iokr.decoders._losses.base import PairLoss
from iokr.decoders.fgw import fgw_distance, import_ot, soft_graph

__all__ = ["GraphLoss"]


class GraphLoss(PairLoss):
    """Δ(y, z) = FGW(y, z) with α = ½ and uniform nodes."""

    def fit(self, Y: Any) -> GraphLoss:
        """Graphs alone, and POT."""
        import_ot("The loss 'fgw'")
        self.represent(Y)
        return self

    def represent(self, Y: Any) -> Any:
        """Structures and labels."""
        n_objects(Y)
        graphs = np.empty(n_objects(Y), dtype=object)
        for i, y in enumerate(as_objects(Y)):
            graphs[i] = soft_graph(y, number=i)
        return graphs

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """A search for every pair."""
        return np.array([[fgw_distance(y, z, 0.5) for z in S] for y in R]).reshape(len(R), len(S))
