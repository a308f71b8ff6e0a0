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

    `labels` and `edge_labels` are those of the coordinates and channels of soft graphs.
    """

    def __init__(
        self,
        alpha: float = 0.5,
        label: str = "label",
        edge_label: str | None = None,
        labels: Sequence[Any] | None = None,
        edge_labels: Sequence[Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.label = label
        self.edge_label = edge_label
        self.columns = None if labels is None else [key(label) for label in labels]
        self.edges = None if edge_labels is None else [key(label) for label in edge_labels]

    def fit(self, Y: Any) -> GraphLoss:
        """Check that outputs are graphs, and that POT is installed."""
        import_ot("The loss 'fgw'")
        self.represent(Y)
        return self

    def represent(self, Y: Any) -> Any:
        """Structures and labels, nodes in canonical order."""
        graphs = np.empty(n_objects(Y), dtype=object)
        for i, y in enumerate(as_objects(Y)):
            graphs[i] = canonical(soft_graph(y, self.label, i, self.edge_label))
        return graphs

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """FGW of every pair, each by a search."""
        values = [[fgw_distance(y, z, self.alpha, self.columns, self.edges) for z in S] for y in R]
        return np.array(values).reshape(len(R), len(S))
