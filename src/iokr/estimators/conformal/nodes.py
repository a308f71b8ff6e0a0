"""Prediction sets of the partners of a new node: the nodes of a network are exchangeable, its pairs are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy
from iokr.data.objects import n_objects
from iokr.estimators.conformal.scores import Scores, smaller

__all__ = ["NodeScores"]


class NodeScores(Scores):
    """s(u) = −min over the partners v of u of κ̂(u, v), minus the lowest score of a partner; −∞ without any.

    The model was fitted to the links between some nodes. n others, each with its row of links to these, give the scores
    s_i. v is in the set of u if fewer than k of them are below −κ̂(u, v), so the set holds all partners of u if fewer
    than k are below s(u).

    Parameters
    ----------
    model : a fitted model of links
    nodes : numbers of the nodes that it was fitted on, among all
    n_nodes : the number of all nodes
    X : the other nodes
    links : their links to all nodes, (n, n_nodes)
    """

    needs_candidates = False

    def __init__(self, model: Any, nodes: np.ndarray, n_nodes: int, X: Any, links: Any) -> None:
        self.model = model
        self.nodes = nodes
        self.n_nodes = n_nodes
        self.own = self._worst(X, links)
        self.n = len(self.own)

    def predict(self, X: Any, candidates: Any) -> Any:
        """κ̂(u, v) for the nodes v that the model was fitted on."""
        return self.model.decision_function(X)

    def _scores(self, X: Any) -> np.ndarray:
        """κ̂(u, v), (m, number of fitted nodes)."""
        return np.asarray(to_numpy(self.model.decision_function(X)), dtype=float)

    def _worst(self, X: Any, links: Any) -> np.ndarray:
        S = self._scores(X)
        partners = self._partners(links, len(S))
        return np.asarray(np.max(np.where(partners, -S, -np.inf), axis=1))

    def _partners(self, links: Any, m: int) -> np.ndarray:
        """Whether u and v are linked, (m, number of fitted nodes), from rows of links to all nodes."""
        dense = links.toarray() if is_sparse(links) else links
        values = to_numpy(dense) if is_array(dense) else np.asarray(dense)
        if values.shape != (m, self.n_nodes):
            raise ValueError(
                f"`y` must hold a row of links for each of {m} nodes, with a column for each of the {self.n_nodes} "
                f"nodes of `fit`, got shape {values.shape}."
            )
        if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and not np.all(np.isfinite(values))):
            raise ValueError("`y` must hold finite numbers: the weight of each link, 0 without a link.")
        return np.asarray(values[:, self.nodes] != 0)

    def counts(self, X: Any, y: Any, candidates: Any = None) -> np.ndarray:
        """How many scores are below that of u and its row of links."""
        _reject(candidates)
        return smaller(self.own[None, :], self._worst(X, y)[:, None])

    def candidate_counts(self, X: Any, candidates: Any = None) -> Iterator[np.ndarray]:
        """How many scores are below −κ̂(u, v), for every node of `fit`; n for nodes that the model was not fitted on."""
        _reject(candidates)
        for scores in self._scores(X):
            row = np.full(self.n_nodes, self.n)
            row[self.nodes] = smaller(self.own[None, :], -scores[:, None])
            yield row

    def radius(self, X: Any, k: int) -> np.ndarray:
        """Not defined."""
        raise ValueError("Prediction sets of partners are not balls; use `predict_set`.")

    def band(self, X: Any, k: int) -> np.ndarray:
        """Not defined."""
        raise ValueError("Prediction sets of partners are not bands; use `predict_set`.")


def _reject(candidates: Any) -> None:
    if candidates is not None:
        n = n_objects(candidates) if hasattr(candidates, "__len__") else 1
        raise ValueError(
            f"`candidates` must be None, got {n}: the candidates are the nodes of `fit`; leave `candidates` out."
        )
