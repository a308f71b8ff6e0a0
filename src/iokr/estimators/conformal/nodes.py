"""Sets of partners of a new node: of a network the nodes are exchangeable, its pairs are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse, to_numpy
from iokr.data.objects import n_objects
from iokr.estimators.conformal.closed import smaller

__all__ = ["NodeScores"]


class NodeScores:
    """s(u) = −min over the partners v of u of κ̂(u, v): how badly the worst partner is scored; −∞ without any.

    The model has seen the links between some nodes; n others, each with its row of links to these, give the scores
    s_i. v is in the set of u when fewer than k of them are below −κ̂(u, v), so that the set holds all partners of u
    when fewer than k are below s(u).

    Parameters
    ----------
    model : a fitted model of links
    nodes : numbers of the nodes that it was fitted on, among all
    n_nodes : how many nodes there are in all
    X : the other nodes
    links : their links to all nodes, (n, n_nodes)
    """

    def __init__(self, model: Any, nodes: np.ndarray, n_nodes: int, X: Any, links: Any) -> None:
        self.model, self.nodes, self.n_nodes = model, nodes, n_nodes
        self.own = self._worst(X, links)
        self.n = len(self.own)

    def _scores(self, X: Any) -> np.ndarray:
        """κ̂(u, v), (m, number of fitted nodes)."""
        return np.asarray(to_numpy(self.model.decision_function(X)), dtype=float)

    def _worst(self, X: Any, links: Any) -> np.ndarray:
        S = self._scores(X)
        return np.asarray(np.max(np.where(self._linked(links, len(S)), -S, -np.inf), axis=1))

    def _linked(self, links: Any, m: int) -> np.ndarray:
        """Whether u and v are linked, from rows over all nodes of which the columns of fitted ones are read."""
        values = links.toarray() if is_sparse(links) else to_numpy(links) if is_array(links) else np.asarray(links)
        if values.shape != (m, self.n_nodes):
            raise ValueError(
                f"`y` must hold a row of links for each of {m} nodes, with a column for each of the {self.n_nodes} "
                f"nodes of `fit`, got shape {values.shape}."
            )
        if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and not np.all(np.isfinite(values))):
            raise ValueError("`y` must hold finite numbers: the weight of each link, 0 where there is none.")
        return np.asarray(values[:, self.nodes] != 0)

    def counts(self, X: Any, y: Any, candidates: Any = None) -> np.ndarray:
        """How many scores are below that of u and its row of links."""
        _refuse(candidates)
        return smaller(self.own[None, :], self._worst(X, y)[:, None])

    def candidate_counts(self, X: Any, candidates: Any = None) -> Iterator[np.ndarray]:
        """How many are below −κ̂(u, v), for every node of `fit`; all of them for one that the model has not seen."""
        _refuse(candidates)
        for scores in self._scores(X):
            row = np.full(self.n_nodes, self.n)
            row[self.nodes] = smaller(self.own[None, :], -scores[:, None])
            yield row

    def radius(self, X: Any, k: int) -> np.ndarray:
        """There is none."""
        raise ValueError("Sets of partners are no balls; use `predict_set`.")

    def band(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """There is none."""
        raise ValueError("Sets of partners are no bands; use `predict_set`.")


def _refuse(candidates: Any) -> None:
    if candidates is not None:
        n = n_objects(candidates) if hasattr(candidates, "__len__") else 1
        raise ValueError(f"The partners of a node are among the nodes of `fit`; leave `candidates` ({n}) out.")
