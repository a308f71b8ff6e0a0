"""Graphs: the fused Gromov–Wasserstein distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iokr.data.objects import as_objects, key, n_objects
from iokr.decoders._losses.base import PairLoss
from iokr.decoders._search.transport import import_ot
from iokr.decoders.fgw import canonical, fgw_distance, soft_graph

__all__ = ["GraphLoss"]


class GraphLoss(PairLoss):
    """Δ(y, z) = FGW(y, z) with uniform nodes.

    `labels` and `edge_labels` say what the coordinates and channels of soft graphs stand for.
    """

    def __init__(
        self,
        alpha: float = 0.5,
        label: str = "label",
        edge_label: str | None = None,
        labels: Sequence[Any] | None = None,
        edge_labels: Sequence[Any] | None = None,
    ) -> None:
        self.alpha, self.label, self.edge_label = alpha, label, edge_label
        self.columns = None if labels is None else [key(label) for label in labels]
        self.edges = None if edge_labels is None else [key(label) for label in edge_labels]

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
            graphs[i] = canonical(soft_graph(y, self.label, i, self.edge_label))
        return graphs

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """A search for every pair."""
        values = [[fgw_distance(y, z, self.alpha, self.columns, self.edges) for z in S] for y in R]
        return np.array(values).reshape(len(R), len(S))
