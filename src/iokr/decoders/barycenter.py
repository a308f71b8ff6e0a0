"""Graphs between the training graphs on which h(x) has its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, to_numpy
from iokr._component import component
from iokr._objects import as_objects
from iokr._validation import check_integer, check_number
from iokr.decoders.candidates import rank_shared
from iokr.decoders.graphs import GraphDecoder, Sketch
from iokr.embeddings.base import Embedding

__all__ = ["GraphBarycenter"]


@component
class GraphBarycenter(GraphDecoder):
    """ŷ = argmin_y Σ_i β_i(x) FGW(y, y_i)² over the graphs y_i with the largest weights in h(x) = Σ_i β_i(x) ψ(y_i).

    FGW is the fused Gromov–Wasserstein distance: labels and edges of two graphs after nodes are matched, softly. A
    barycentre is found for each size among the y_i, beginning from the heaviest of that size, then its edges and labels
    are rounded. Of these graphs and the training graph nearest to h(x) the one with the smallest
    k_Y(y, y) − 2⟨h(x), ψ(y)⟩ is the answer: never worse than `Candidates()`, but not the best of all graphs for sure.
    For every output kernel on graphs, through POT, which the `graph` extra installs.

    Parameters
    ----------
    n_neighbors : int, default=5
        Training graphs to be averaged, at most; those with negative weights never are.
    alpha : float, default=0.5
        Between 0, where labels alone count, and 1, where edges alone do.
    max_iter : int, default=20
        Steps of a barycentre, at most.

    Attributes
    ----------
    labels_ : list
        The labels of the nodes of the training graphs; None for nodes without.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.decoders import GraphBarycenter
    >>> from iokr.kernels import RBF, WeisfeilerLehman
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> model = IOKR(RBF(0.5), output_kernel=WeisfeilerLehman(1), decoder=GraphBarycenter(), alpha=0.01)
    >>> fitted = model.fit([[0], [1]], [(chain, "CAN"), (chain, "OAN")])  # doctest: +SKIP
    >>> fitted.predict([[1]])[0][1]  # doctest: +SKIP
    'OAN'

    Notes
    -----
    The answer is the candidate that the output kernel prefers. The estimator of Brogat-Motte et al. is another:
    argmin_z Σ_i α_i(x) FGW²(z, z_i) itself, without an output kernel, which `MinimumRisk("fgw")` has over candidates.

    References
    ----------
    Vayer, Chapel, Flamary, Tavenard and Courty, "Fused Gromov-Wasserstein distance for structured objects", Algorithms
    2020. Brogat-Motte, Flamary, Brouard, Rousu and d'Alché-Buc, "Learning to predict graphs with fused
    Gromov-Wasserstein barycenters", ICML 2022.
    """

    n_neighbors: int = 5
    alpha: float = 0.5
    max_iter: int = 20

    def fit(self, Y: Any, embedding: Embedding) -> GraphBarycenter:
        """Keep the training graphs."""
        check_integer(self.n_neighbors, "n_neighbors", minimum=1)
        check_integer(self.max_iter, "max_iter", minimum=1)
        if not 0 <= check_number(self.alpha, "alpha") <= 1:
            raise ValueError(f"`alpha` must lie between 0 and 1, got {self.alpha!r}.")
        self._read(Y, embedding)
        try:
            import ot  # noqa: F401
        except ImportError as error:
            raise ImportError("`GraphBarycenter` needs the package POT; install `iokr[graph]`.") from error
        return self

    def decode(self, H: Array, embedding: Any) -> Any:
        """A graph for each row of H."""
        weights = to_numpy(embedding.weights(H)).astype(np.float64)
        nearest, _ = rank_shared(H, embedding, self._Y, 1, by="distance")
        found = []
        for i, (beta, start) in enumerate(zip(weights, nearest[:, 0].tolist(), strict=True)):
            proposed = self._proposed(beta)
            costs = self._costs(H[i : i + 1, :], [self._sketches[start], *proposed], embedding)
            best = int(np.argmin(costs))
            found.append(self._written(proposed[best - 1]) if best else self._Y[start])
        return as_objects(found)

    def _proposed(self, beta: np.ndarray) -> list[Sketch]:
        """A rounded barycentre for each number of nodes."""
        heavy = np.argsort(-beta, kind="stable")[: self.n_neighbors]
        heavy = heavy[beta[heavy] > 0]
        graphs = [self._sketches[j] for j in heavy]
        first = {len(g.labels): g for g in reversed(graphs)}  # the heaviest of each size
        return [self._barycenter(g, graphs, beta[heavy] / beta[heavy].sum()) for g in first.values()]

    def _barycenter(self, start: Sketch, graphs: list[Sketch], shares: np.ndarray) -> Sketch:
        import ot

        onehot = np.eye(len(self.labels_))
        labels, edges = ot.gromov.fgw_barycenters(
            len(start.labels),
            [onehot[g.labels] for g in graphs],
            [g.adjacency.astype(np.float64) for g in graphs],
            ps=[np.full(len(g.labels), 1.0 / len(g.labels)) for g in graphs],
            lambdas=shares,
            alpha=float(self.alpha),
            max_iter=self.max_iter,
            tol=1e-6,
            init_C=start.adjacency.astype(np.float64),
            init_X=onehot[start.labels],
        )
        adjacency = (edges + edges.T) / 2 > 0.5
        np.fill_diagonal(adjacency, False)
        return Sketch(adjacency, np.argmax(labels, axis=1))
