"""Graphs between the training graphs on which h(x) has its weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from iokr._array import Array, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_integer, check_number
from iokr.data.objects import BadObject, as_objects, error_context, is_numeric, key
from iokr.decoders._losses.graphs import GraphLoss
from iokr.decoders._search.transport import (
    Arrays,
    barycenter,
    canonical_order,
    fused_distance,
    import_ot,
    squares,
)
from iokr.decoders.candidates import rank_shared
from iokr.decoders.fgw import SoftGraph, arrays_of, soft_graph
from iokr.decoders.graphs import GraphDecoder, Sketch, given_labels, graph_kernel, label_names
from iokr.decoders.risk import Risk
from iokr.embeddings.base import Embedding

__all__ = ["GraphBarycenter"]

_LIGHT = 1e-6  # of the largest weight: graphs of smaller weights are no neighbours
_EQUAL = 1e-9  # of Σ|β|: risks that differ by less are equal


@component
class GraphBarycenter(GraphDecoder):
    """ŷ = argmin_y Σ_i β_i(x) FGW(y, y_i) over the graphs y_i with the largest weights in h(x) = Σ_i β_i(x) ψ(y_i).

    FGW is the fused Gromov–Wasserstein distance of `iokr.metrics.fgw` (the square of the distance in the papers):
    labels and edges of two graphs after nodes are matched, softly. A barycentre is found for each size in the range of
    the y_i, from the heaviest of them, by couplings and graph in turns, the same each time; weights below zero are left
    out there, since the sum would have no minimum.

    With an output kernel on graphs, k_Y(y, y) − 2⟨h(x), ψ(y)⟩ decides between these graphs, edges and labels rounded,
    and the training graph nearest to h(x): never worse than `Candidates()`, but not the best of all graphs for sure.
    With `rounded=False`, and without a kernel on graphs, Σ_i β_i(x) FGW(y, y_i) over the training graphs decides,
    negative weights among them: no output kernel is needed, and candidates are ranked by that sum. Then for every model
    with `weights`. Needs POT, which the `graph` extra installs.

    Parameters
    ----------
    n_neighbors : int, default=5
        Training graphs to be averaged, at most; those with negative weights never are.
    alpha : float, default=0.5
        Between 0, where labels alone count, and 1, where edges alone do.
    max_iter : int, default=20
        Turns of a barycentre, at most.
    rounded : bool, default=True
        False answers with pairs (C, F): adjacency (N, N) with entries between 0 and 1, and labels (N, d): fractions of
        `labels_`, or means of labels that are floats or rows of floats; None where nodes have no labels. Where edges
        have labels, C is (N, N, E), fractions of `edge_labels_`.
    sizes : int or (int, int), default=None
        The number of nodes of the answers, or the smallest and the largest; None is the range of the neighbours.
    n_compared : int, default=100
        Training graphs over which risks of barycentres are summed where FGW decides, those of the largest |β|, at most;
        None is all.

    Attributes
    ----------
    labels_ : list
        The labels of the nodes of the training graphs; [None] for nodes without.
    edge_labels_ : list
        The labels of their edges; [None] for edges without.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.decoders import GraphBarycenter
    >>> from iokr.kernels import RBF
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> ring = 1 - np.eye(3, dtype=int)
    >>> model = IOKR(RBF(0.5), decoder=GraphBarycenter(rounded=False), alpha=0.01)
    >>> fitted = model.fit([[0], [1]], [(chain, "CAN"), (ring, "CAN")])
    >>> C, F = fitted.predict([[0.5]])[0]
    >>> bool(abs(C[C > 0.01].min() - 0.5) < 0.01)  # half an edge between C and N
    True

    Notes
    -----
    With `rounded=False` this is the estimator of Brogat-Motte et al., argmin_z Σ_i α_i(x) FGW²(z, z_i), over
    barycentres; `MinimumRisk("fgw")` is the same over candidates.

    References
    ----------
    Vayer, Chapel, Flamary, Tavenard and Courty, "Fused Gromov-Wasserstein distance for structured objects", Algorithms
    2020. Brogat-Motte, Flamary, Brouard, Rousu and d'Alché-Buc, "Learning to predict graphs with fused
    Gromov-Wasserstein barycenters", ICML 2022.
    """

    n_neighbors: int = 5
    alpha: float = 0.5
    max_iter: int = 20
    rounded: bool = True
    sizes: int | Sequence[int] | None = None
    n_compared: int | None = 100

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        """Whether FGW decides, which takes β(x); before `fit`, whether it can."""
        return bool(getattr(self, "_by_fgw", not hasattr(self, "labels_")))

    @property
    def by(self) -> str | None:  # type: ignore[override]
        """What ranking makes large: minus the risk, where FGW decides."""
        return "score" if self.weighted else None

    def fit(self, Y: Any, embedding: Embedding) -> GraphBarycenter:
        """Keep the training graphs."""
        check_integer(self.n_neighbors, "n_neighbors", minimum=1)
        check_integer(self.max_iter, "max_iter", minimum=1)
        check_choice(self.rounded, "rounded", (True, False))
        if self.n_compared is not None:
            check_integer(self.n_compared, "n_compared", minimum=1)
        if not 0 <= check_number(self.alpha, "alpha") <= 1:
            raise ValueError(f"`alpha` must lie between 0 and 1, got {self.alpha!r}.")
        self._range = _checked_sizes(self.sizes)
        import_ot("`GraphBarycenter`")
        kernel, self._kernel = graph_kernel(embedding), embedding.kernel_
        self._by_fgw = kernel is None or not self.rounded
        if is_numeric(Y):
            raise ValueError(
                f"`{type(self).__name__}()` decodes graphs, of NetworkX or pairs (adjacency, labels), but `y` holds "
                "numbers; use `Candidates()`."
            )
        if not self._by_fgw:
            self._read(Y, embedding)
        else:
            self._Y, (self._label, self._edge_label) = as_objects(Y), label_names(kernel)
        with error_context("y"):
            self._read_soft()
        return self

    def _read_soft(self) -> None:
        """The training graphs in coordinates, nodes in an order of their own; the coordinates of `labels_`."""
        soft = [soft_graph(y, self._label, i, self._edge_label) for i, y in enumerate(self._Y)]
        _check_labels(soft, float(self.alpha), self.rounded)
        if self._by_fgw:
            self._keep_labels()
        named = soft[0].features is None
        names = [key(label) for label in self.labels_]
        kinds = [key(label) for label in self.edge_labels_]
        made = [arrays_of(g, names, kinds) for g in soft]
        for i, (C, F) in enumerate(made):
            if len(C) != len(made[0][0]) or F.shape[1] != made[0][1].shape[1]:
                raise BadObject("Graph", i, " has labels or channels of another width than graph 0; give them alike.")
        if not named:
            at = np.concatenate([F for _, F in made])
            names_of_all = [key(label) for g in self._Y for label in given_labels(g, self._label, self._edge_label)[0]]
            self._points = at[[names_of_all.index(name) for name in names]]
        else:
            self._points = np.eye(len(names))
        self._unlabelled = names == [None]
        self._symmetric = all(np.array_equal(C, C.transpose(0, 2, 1)) for C, _ in made)
        self._soft = []
        for C, F in made:
            order = canonical_order((C, F))
            self._soft.append((C[:, order[:, None], order[None, :]], F[order]))

    def decode(self, H: Array, embedding: Any) -> Any:
        """A graph for each row of H: of h(x), or of β(x) where FGW decides."""
        if self._by_fgw:
            return as_objects(self._of_least_risk(beta) for beta in to_numpy(H).astype(np.float64))
        weights = to_numpy(embedding.weights(H)).astype(np.float64)
        fitting = self._fitting()
        nearest = np.empty((len(weights), 0), dtype=np.intp)
        if len(fitting):
            nearest = fitting[rank_shared(H, embedding, self._Y[fitting], 1, by="distance")[0]]
        found = []
        for i, (beta, starts) in enumerate(zip(weights, nearest.tolist(), strict=True)):
            proposed = [*(self._sketches[j] for j in starts), *(self._sharp(z) for z in self._proposed(beta))]
            best = int(np.argmin(self._costs(H[i : i + 1, :], proposed, embedding)))
            found.append(self._Y[starts[best]] if best < len(starts) else self._written(proposed[best]))
        return as_objects(found)

    def measure(self) -> Risk:
        """Minus Σ_i β_i(x) FGW(y, y_i), for what ranks candidates."""
        loss = GraphLoss(float(self.alpha), self._label, self._edge_label, self.labels_, self.edge_labels_)
        return Risk(loss, self._Y, np.arange(len(self._Y)), self._kernel)

    def _of_least_risk(self, beta: np.ndarray) -> Any:
        """The proposal with the least Σ_i β_i FGW(y, y_i); among rounded ones also the heaviest training graph."""
        proposed = list(self._proposed(beta))
        if not self.rounded:
            return self._relaxed(proposed[self._best(proposed, beta)])
        sharp = [self._sharp(z) for z in proposed]
        fitting = self._fitting()
        start = fitting[int(np.argmax(beta[fitting]))] if len(fitting) else -1
        best = self._best([*map(self._arrays, sharp), *([self._soft[start]] if start >= 0 else [])], beta)
        return self._written(sharp[best]) if best < len(sharp) else self._Y[start]

    def _fitting(self) -> np.ndarray:
        """The training graphs that have one of the sizes asked for."""
        low, high = self._range or (0, np.inf)
        return np.flatnonzero([low <= len(F) <= high for _, F in self._soft])

    def _best(self, proposed: list[Arrays], beta: np.ndarray) -> int:
        """Which has the least risk."""
        if len(proposed) == 1:
            return 0
        heaviest = np.argsort(-np.abs(beta), kind="stable")[: self.n_compared]
        known = [(float(beta[i]), self._soft[i]) for i in heaviest.tolist() if beta[i]]
        alpha = float(self.alpha)
        risks = [sum(b * fused_distance(z, y, alpha)[0] for b, y in known) for z in proposed]
        return int(np.argmax(np.array(risks) <= min(risks) + _EQUAL * np.abs(beta).sum()))

    def _proposed(self, beta: np.ndarray) -> Iterator[Arrays]:
        """A barycentre for each number of nodes, of the graph of largest weight alone where none is positive."""
        heavy = np.argsort(-beta, kind="stable")[: self.n_neighbors]
        heavy = heavy[beta[heavy] > _LIGHT * beta[heavy[0]]] if beta[heavy[0]] > 0 else heavy[:1]
        graphs = [self._soft[j] for j in heavy]
        shares = beta[heavy] / beta[heavy].sum() if len(heavy) > 1 else np.ones(1)
        counts = np.array([len(F) for _, F in graphs])
        low, high = self._range or (int(counts.min()), int(counts.max()))
        for size in sorted(range(low, high + 1), key=lambda size: abs(size - counts[0])):  # of equal risks, the nearest
            start = graphs[int(np.argmin(np.abs(counts - size)))]  # the heaviest of the nearest size
            yield barycenter(_resized(start, size), graphs, shares, float(self.alpha), self.max_iter)[0]

    def _relaxed(self, z: Arrays) -> tuple[np.ndarray, np.ndarray | None]:
        """(C, F) as they are given to users."""
        C, F = z
        return (C[0] if len(C) == 1 else np.moveaxis(C, 0, 2).copy()), (None if self._unlabelled else F)

    def _sharp(self, z: Arrays) -> Sketch:
        """Edges of the kind with the largest share, no edge among them, and the nearest labels."""
        C, F = z
        C = (C + C.transpose(0, 2, 1)) / 2 if self._symmetric else C
        shares = np.concatenate([1 - C.sum(axis=0, keepdims=True), C])
        adjacency = np.argmax(shares, axis=0)
        np.fill_diagonal(adjacency, 0)
        return Sketch(adjacency, np.argmin(squares(F, self._points), axis=1))

    def _arrays(self, g: Sketch) -> Arrays:
        """The coordinates of a rounded graph."""
        kinds = 1 + np.arange(len(self._soft[0][0]))
        return (g.adjacency[None] == kinds[:, None, None]).astype(np.float64), self._points[g.labels]


def _checked_sizes(sizes: Any) -> tuple[int, int] | None:
    """(smallest, largest) number of nodes."""
    if sizes is None:
        return None
    if isinstance(sizes, (tuple, list, np.ndarray)):
        if len(sizes) != 2:
            raise ValueError(f"`sizes` must be a number of nodes, or the smallest and the largest, got {sizes!r:.60}.")
        low, high = (check_integer(size, "sizes", minimum=1) for size in sizes)
        if low > high:
            raise ValueError(f"`sizes` must begin with the smallest number of nodes, got {sizes!r:.60}.")
        return low, high
    return (check_integer(sizes, "sizes", minimum=1),) * 2


def _check_labels(soft: Sequence[SoftGraph], alpha: float, rounded: bool) -> None:
    """Labels everywhere or nowhere, of one kind, and some where they alone count."""
    kinds = ["none" if g.names and g.names[0] is None else "names" if g.names else "coordinates" for g in soft]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            words = {
                "none": "no labels",
                "names": "labels that are categories",
                "coordinates": "labels as floats",
            }
            raise BadObject("Graph", i, f" has {words[kind]}, but graph 0 has {words[kinds[0]]}; give them alike.")
    if alpha == 0 and kinds[0] == "none":
        raise ValueError("`alpha=0` compares labels of nodes alone, but the graphs have none; label them.")
    channels = [i for i, g in enumerate(soft) if g.structure.ndim == 3]
    if channels and rounded:
        raise BadObject(
            "Graph", channels[0], " has an adjacency with channels; label its edges, or set `rounded=False`."
        )


def _resized(start: Arrays, size: int) -> Arrays:
    """A graph with so many nodes: without those of the fewest edges, or with twins of them."""
    C, F = start
    order = np.argsort(-C.sum(axis=(0, 1)), kind="stable")
    if size <= len(F):
        kept = np.sort(order[:size])
    else:
        kept = np.concatenate([np.arange(len(F)), np.resize(order[::-1], size - len(F))])
    return C[:, kept[:, None], kept[None, :]], F[kept]
