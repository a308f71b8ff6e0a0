"""Losses between outputs that are compared pair by pair: functions, and distances of graphs, sequences and trees."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse
from iokr.data.objects import as_objects, key
from iokr.decoders._losses.base import PairLoss
from iokr.decoders._search.transport import import_ot
from iokr.decoders.fgw import canonical, fgw_distance, soft_graph

__all__ = ["EditLoss", "FunctionLoss", "GraphLoss"]


class FunctionLoss(PairLoss):
    """Δ(y, z) = f(y, z), one call per pair."""

    def __init__(self, f: Callable[[Any, Any], Any]) -> None:
        self.f = f

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

    def fit(self, Y: Any) -> PairLoss:
        """Check that outputs are graphs, and that POT is installed."""
        import_ot("The loss 'fgw'")
        return super().fit(Y)

    def represent(self, Y: Any) -> Any:
        """Structures and labels, nodes in canonical order."""
        return as_objects(canonical(soft_graph(y, self.label, i, self.edge_label)) for i, y in enumerate(as_objects(Y)))

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """FGW of every pair, each by a search."""
        values = [[fgw_distance(y, z, self.alpha, self.columns, self.edges) for z in S] for y in R]
        return np.array(values).reshape(len(R), len(S))


class EditLoss(PairLoss):
    """Δ(y, z) = the fewest edits that turn y into z: of the entries of sequences, or of the nodes of ordered trees.

    `read` checks and parses outputs, `code` writes them in whole numbers by a table that grows, and `compare` returns
    the edit distance of every pair, each by a table over the parts of both.
    """

    def __init__(self, read: Callable[..., Any], code: Callable[..., Any], compare: Callable[..., np.ndarray]) -> None:
        self.read = read
        self.code = code
        self.compare = compare
        self.codes: dict[Hashable, int] = {}

    def represent(self, Y: Any) -> Any:
        """Parsed outputs, as objects."""
        return as_objects(self.read(Y))

    def matrix(self, R: Any, S: Any) -> np.ndarray:
        """The edit distance of every pair."""
        return self.compare(self.code(R, self.codes), self.code(S, self.codes))
