"""Barycentres of the training graphs with the largest weights in h(x)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import COUNT, FLAG, SHARE, either
from iokr.data.objects import BadObject, as_objects, error_context, is_numeric, key
from iokr.decoders._losses.objects import GraphLoss
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

_LIGHT = 1e-6  # of the largest weight: graphs with smaller weights are not neighbours
_NO_LABELS = "no labels"
_EQUAL = 1e-9  # of Σ|β|: risks with smaller differences are equal


@component
class GraphBarycenter(GraphDecoder):
    """ŷ = argmin_y Σ_i β_i(x) FGW(y, y_i) over the graphs y_i with the largest weights in h(x) = Σ_i β_i(x) ψ(y_i).

    FGW is the fused Gromov–Wasserstein distance of `iokr.metrics.fgw` (the square of the distance in the papers):
    differences of labels and edges after a soft matching of nodes. A barycentre is computed for each size in the range
    of the y_i, by alternating between couplings and graph from the y_i with the largest weight, deterministically.
    Negative weights are left out of barycentres, which would have no minimum.

    With an output kernel on graphs, the prediction is the best by k_Y(y, y) − 2⟨h(x), ψ(y)⟩ of the barycentres, with
    rounded edges and labels, and the training graph nearest to h(x): never worse than `Candidates()`, but not always
    the best graph. With `rounded=False`, and without a kernel on graphs, it is the best by Σ_i β_i(x) FGW(y, y_i) over
    the training graphs, with negative weights: this needs no output kernel, ranks candidates by that sum, and is
    available for every model with `weights`. Needs POT, which the `graph` extra installs.

    Parameters
    ----------
    n_neighbors : int, default=5
        The largest number of training graphs in a barycentre, all with positive weights.
    alpha : float, default=0.5
        From 0, for labels only, to 1, for edges only.
    max_iter : int, default=20
        The largest number of iterations of a barycentre.
    rounded : bool, default=True
        With False predictions are pairs (C, F): adjacency (N, N) with entries between 0 and 1, and labels (N, d),
        fractions of `labels_`, or means of labels that are floats or rows of floats, None for nodes without labels. For
        labelled edges C is (N, N, E), fractions of `edge_labels_`.
    sizes : int or (int, int), default=None
        The number of nodes of predictions, or the smallest and the largest; None is the range of the neighbours.
    n_compared : int, default=100
        The largest number of training graphs in risks Σ_i β_i(x) FGW(y, y_i), those with the largest |β|; None is all.

    Attributes
    ----------
    labels_ : list
        The labels of the nodes of the training graphs; [None] for nodes without labels.
    edge_labels_ : list
        The labels of their edges; [None] for edges without labels.

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

    limits: ClassVar[Limits] = {
        "n_neighbors": COUNT,
        "alpha": SHARE,
        "max_iter": COUNT,
        "rounded": FLAG,
        "n_compared": either(None, COUNT),
    }

    def _stored(self) -> dict[str, Any]:
        return {
            "size_range": self._range,
            "kernel": self._kernel,
            "fused": self._by_fgw,
            "points": self._points,
            "unlabelled": self._unlabelled,
            "symmetric": self._symmetric,
            "soft_graphs": self._soft,
        }

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        """Whether predictions are chosen by FGW, from β(x); before `fit`, True."""
        state = vars(self)
        return bool(state.get("_by_fgw", "labels_" not in state))  # not in old model files

    @property
    def by(self) -> str | None:  # type: ignore[override]
        """Minus the risk is to be large, if predictions are chosen by FGW."""
        return "score" if self.weighted else None

    def fit(self, Y: Any, embedding: Embedding) -> GraphBarycenter:
        """Keep the training graphs."""
        self.check_parameters()
        self._range = None if self.sizes is None else _size_range(self.sizes)
        import_ot("`GraphBarycenter`")
        kernel = graph_kernel(embedding)
        self._kernel = embedding.kernel_
        self._by_fgw = kernel is None or not self.rounded
        if is_numeric(Y):
            raise ValueError(
                f"`{type(self).__name__}()` decodes graphs, of NetworkX or pairs (adjacency, labels), but `y` contains "
                "numbers; use `Candidates()`."
            )
        if self._by_fgw:
            self._Y = as_objects(Y)
            self._label, self._edge_label = label_names(kernel)
        else:
            self._read(Y, embedding)
        with error_context("y"):
            self._read_soft()
        return self

    def _read_soft(self) -> None:
        """The training graphs in coordinates, nodes in canonical order; the coordinates of `labels_`."""
        soft = [soft_graph(y, self._label, i, self._edge_label) for i, y in enumerate(self._Y)]
        _check_labels(soft, float(self.alpha), self.rounded)
        if self._by_fgw:
            self._learn_labels()
        names = [key(label) for label in self.labels_]
        kinds = [key(label) for label in self.edge_labels_]
        arrays = [arrays_of(g, names, kinds) for g in soft]
        _check_widths(arrays)
        self._points = np.eye(len(names)) if soft[0].features is None else self._label_points(names, arrays)
        self._unlabelled = names == [None]
        self._symmetric = all(np.array_equal(C, C.transpose(0, 2, 1)) for C, _ in arrays)
        self._soft = []
        for C, F in arrays:
            order = canonical_order((C, F))
            self._soft.append((C[:, order[:, None], order[None, :]], F[order]))

    def _label_points(self, names: Sequence[Hashable], arrays: Sequence[Arrays]) -> np.ndarray:
        """The coordinates of labels that are floats or rows of floats, by their keys."""
        points = np.concatenate([F for _, F in arrays])
        keys = [key(label) for g in self._Y for label in given_labels(g, self._label, self._edge_label)[0]]
        return points[[keys.index(name) for name in names]]

    def decode(self, H: Array, embedding: Any) -> Any:
        """A graph for each row of H, h(x), or β(x) if it is chosen by FGW."""
        if self._by_fgw:
            return as_objects(self._of_smallest_risk(beta) for beta in to_numpy(H).astype(np.float64))
        weights = to_numpy(embedding.weights(H)).astype(np.float64)
        fitting = self._fitting()
        nearest = np.empty((len(weights), 0), dtype=np.intp)
        if len(fitting):
            nearest = fitting[rank_shared(H, embedding, self._Y[fitting], 1, by="distance")[0]]
        found = []
        for i, (beta, starts) in enumerate(zip(weights, nearest.tolist(), strict=True)):
            proposed = [self._sketches[j] for j in starts]
            proposed += [self._sharp(z) for z in self._proposed(beta)]
            best = int(np.argmin(self._costs(H[i : i + 1, :], proposed, embedding)))
            found.append(self._Y[starts[best]] if best < len(starts) else self._written(proposed[best]))
        return as_objects(found)

    def measure(self) -> Risk:
        """Minus Σ_i β_i(x) FGW(y, y_i), by which candidates are ranked."""
        loss = GraphLoss(float(self.alpha), self._label, self._edge_label, self.labels_, self.edge_labels_)
        return Risk(loss, self._Y, np.arange(len(self._Y)), self._kernel)

    def _of_smallest_risk(self, beta: np.ndarray) -> Any:
        """The barycentre with the smallest Σ_i β_i FGW(y, y_i); if rounded, or the training graph of largest weight."""
        proposed = list(self._proposed(beta))
        if not self.rounded:
            return self._relaxed(proposed[self._best(proposed, beta)])
        sharp = [self._sharp(z) for z in proposed]
        arrays = [self._arrays(g) for g in sharp]
        fitting = self._fitting()
        if len(fitting):
            heaviest = fitting[int(np.argmax(beta[fitting]))]
            arrays.append(self._soft[heaviest])
        best = self._best(arrays, beta)
        return self._written(sharp[best]) if best < len(sharp) else self._Y[heaviest]

    def _fitting(self) -> np.ndarray:
        """The training graphs with a number of nodes in the range of `sizes`."""
        low, high = self._range or (0, np.inf)
        return np.flatnonzero([low <= len(F) <= high for _, F in self._soft])

    def _best(self, proposed: list[Arrays], beta: np.ndarray) -> int:
        """The number of the graph with the smallest risk."""
        if len(proposed) == 1:
            return 0
        heaviest = np.argsort(-np.abs(beta), kind="stable")[: self.n_compared]
        known = [(float(beta[i]), self._soft[i]) for i in heaviest.tolist() if beta[i]]
        risks = [sum(b * fused_distance(z, y, float(self.alpha))[0] for b, y in known) for z in proposed]
        return int(np.argmax(np.array(risks) <= min(risks) + _EQUAL * np.abs(beta).sum()))

    def _proposed(self, beta: np.ndarray) -> Iterator[Arrays]:
        """A barycentre for each number of nodes; of the graph with the largest weight only if none is positive."""
        heavy = np.argsort(-beta, kind="stable")[: self.n_neighbors]
        largest = beta[heavy[0]]
        heavy = heavy[beta[heavy] > _LIGHT * largest] if largest > 0 else heavy[:1]
        graphs = [self._soft[j] for j in heavy]
        shares = beta[heavy] / beta[heavy].sum() if len(heavy) > 1 else np.ones(1)
        counts = np.array([len(F) for _, F in graphs])
        low, high = self._range or (int(counts.min()), int(counts.max()))
        # the size of the graph with the largest weight first, which is then the best of equal risks
        for size in sorted(range(low, high + 1), key=lambda size: abs(size - counts[0])):
            nearest = graphs[int(np.argmin(np.abs(counts - size)))]
            yield barycenter(_resized(nearest, size), graphs, shares, float(self.alpha), self.max_iter)[0]

    def _relaxed(self, z: Arrays) -> tuple[np.ndarray, np.ndarray | None]:
        """(C, F) for users: channels in the last axis, if any."""
        C, F = z
        structure = C[0] if len(C) == 1 else np.moveaxis(C, 0, 2).copy()
        return structure, None if self._unlabelled else F

    def _sharp(self, z: Arrays) -> Sketch:
        """The most frequent label of each edge, or no edge, and the nearest labels of the nodes."""
        C, F = z
        if self._symmetric:
            C = (C + C.transpose(0, 2, 1)) / 2
        shares = np.concatenate([1 - C.sum(axis=0, keepdims=True), C])
        adjacency = np.argmax(shares, axis=0)
        np.fill_diagonal(adjacency, 0)
        return Sketch(adjacency, np.argmin(squares(F, self._points), axis=1))

    def _arrays(self, g: Sketch) -> Arrays:
        """The coordinates of a rounded graph."""
        kinds = 1 + np.arange(len(self._soft[0][0]))
        return (g.adjacency[None] == kinds[:, None, None]).astype(np.float64), self._points[g.labels]


def _size_range(sizes: int | Sequence[int]) -> tuple[int, int]:
    """(smallest, largest) number of nodes."""
    pair = sizes if isinstance(sizes, Sequence) else (sizes, sizes)
    low, high = (COUNT(size, "sizes") for size in pair)
    if low > high:
        raise ValueError(f"`sizes` must begin with the smallest number of nodes, got {sizes!r:.60}.")
    return low, high


def _kind_of_labels(g: SoftGraph) -> str:
    if not g.names:
        return "labels as floats"
    return _NO_LABELS if g.names[0] is None else "labels that are categories"


def _check_widths(arrays: Sequence[Arrays]) -> None:
    widths = [(len(C), F.shape[1]) for C, F in arrays]
    for i, own in enumerate(widths):
        if own != widths[0]:
            raise BadObject(
                "Graph", i, " has labels or channels of another width than graph 0; all graphs need the same."
            )


def _check_labels(soft: Sequence[SoftGraph], alpha: float, rounded: bool) -> None:
    """The same kind of labels for all graphs, and labels of nodes if these alone are compared."""
    kinds = [_kind_of_labels(g) for g in soft]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise BadObject("Graph", i, f" has {kind}, but graph 0 has {kinds[0]}; all graphs need the same kind.")
    if alpha == 0 and kinds[0] == _NO_LABELS:
        raise ValueError("`alpha=0` compares labels of nodes only, but the graphs have none; label them.")
    channels = [i for i, g in enumerate(soft) if g.structure.ndim == 3]
    if channels and rounded:
        raise BadObject(
            "Graph", channels[0], " has an adjacency with channels; label its edges, or set `rounded=False`."
        )


def _resized(start: Arrays, size: int) -> Arrays:
    """A graph with `size` nodes: without those with the fewest edges, or with copies of these."""
    C, F = start
    order = np.argsort(-C.sum(axis=(0, 1)), kind="stable")
    if size <= len(F):
        nodes = np.sort(order[:size])
    else:
        nodes = np.concatenate([np.arange(len(F)), np.resize(order[::-1], size - len(F))])
    return C[:, nodes[:, None], nodes[None, :]], F[nodes]
