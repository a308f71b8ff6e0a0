"""Random networks whose inputs come from the network itself (B16, Sec. 6.1.2 and App. C)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.estimators.links import LinkPredictor
from iokr.estimators.links_path import LinkPredictorCV
from iokr.experiments.link_protocol import Lookup
from iokr.kernels.nodes import Diffusion
from iokr.losses.margin import MaxMargin
from iokr.manifolds.heat import Heat

__all__ = ["Areas", "Network", "areas", "calibrate", "labelled_sets", "margins", "ridge"]

Matrix = NDArray[np.float64]

N_NODES = 700
WIDTHS = (0.03, 0.1, 0.178, 0.316, 0.562, 1.0)  # gamma in units of 1 / median of the squared distances
ALPHAS = (1e-3, 1e-2, 0.0316, 0.1, 0.316)
SUBGRAPH, BLOCK = "subgraph", "block of the whole"
READINGS = (SUBGRAPH, BLOCK)


@dataclass(frozen=True, eq=False)
class Network:
    """A graph, the diffusion time of its generator, and the share of inertia that the inputs keep."""

    W: Matrix
    beta: float
    inertia: float

    @cached_property
    def kernel(self) -> Matrix:
        """exp(−β_g L) of the whole graph."""
        return np.asarray(Diffusion(self.beta, self.W).fit(np.arange(len(self.W)))(np.arange(len(self.W))))

    @cached_property
    def X(self) -> Matrix:
        """Kernel PCA of it: the first components that reach the inertia, scaled by the roots of their eigenvalues."""
        return components(self.kernel, self.inertia)

    @cached_property
    def squares(self) -> Matrix:
        """‖x_i − x_j‖², in units of their median over pairs."""
        norms = (self.X**2).sum(axis=1)
        D = np.maximum(norms[:, None] + norms[None, :] - 2 * self.X @ self.X.T, 0.0)
        return np.asarray(D / np.median(D[np.triu_indices(len(D), k=1)]))

    def gaussian(self, width: float) -> Matrix:
        """The Gaussian kernel on the inputs."""
        return np.asarray(np.exp(-width * self.squares))


def random_graph(density: float, rng: np.random.Generator, n: int = N_NODES) -> Matrix:
    """Erdős and Rényi: every pair is linked with the same probability."""
    upper = np.triu(rng.random((n, n)) < density, k=1)
    return (upper | upper.T).astype(float)


def mixture(inside: float, between: float, rng: np.random.Generator, n: int = N_NODES) -> Matrix:
    """Three classes of (almost) the same size, with other probabilities of links within and between them."""
    classes = np.sort(np.arange(n) % 3)
    same = classes[:, None] == classes[None, :]
    upper = np.triu(rng.random((n, n)) < np.where(same, inside, between), k=1)
    return (upper | upper.T).astype(float)


def components(K: Matrix, inertia: float) -> Matrix:
    """Centred kernel PCA, (n, m): the first m components whose eigenvalues sum to the share `inertia` of all."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(centred)
    values, vectors = np.clip(values[::-1], 0.0, None), vectors[:, ::-1]
    m = min(len(K), int(np.searchsorted(np.cumsum(values) / values.sum(), inertia - 1e-12)) + 1)
    return np.asarray(vectors[:, :m] * np.sqrt(values[:m]))


def calibrate(W: Matrix, n_components: int, inertia: float = 0.95) -> float:
    """The diffusion time at which `n_components` reach the inertia, by bisection: a longer time needs fewer."""
    values = np.clip(np.linalg.eigvalsh(np.diag(W.sum(axis=1)) - W), 0.0, None)

    def count(beta: float) -> int:
        kept = np.sort(np.exp(-beta * values))[::-1][1:]  # centring takes the constant direction, e⁰ = 1, away
        return int(np.searchsorted(np.cumsum(kept) / kept.sum(), inertia - 1e-12)) + 1

    low, high = 0.01, 20.0
    for _ in range(30):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if count(middle) > n_components else (low, middle)
    return high


def labelled_sets(W: Matrix, share: float, repeat: int, seed: int) -> list[NDArray[np.int64]]:
    """Random choices of the labelled nodes, each with at least one link to learn from."""
    sets: list[NDArray[np.int64]] = []
    rng = np.random.default_rng(seed)
    while len(sets) < repeat:
        labeled = rng.permutation(len(W))[: round(share * len(W))]
        if W[np.ix_(labeled, labeled)].any():
            sets.append(labeled)
    return sets


# -------------------------------------------------------------------------------------------------------------- scores


@dataclass(frozen=True)
class Areas:
    """Areas under the ROC and the PR curve, in percent."""

    roc_auc: float
    average_precision: float


def areas(scores: Matrix, linked: NDArray[np.bool_]) -> Areas:
    """From the scores of pairs; the same figures as `pair_metrics` when no scores are equal, from one sort."""
    others, links = np.sort(scores[~linked]), np.sort(scores[linked])[::-1]
    above = len(others) - np.searchsorted(others, links, side="right")
    rank = np.arange(1, len(links) + 1)
    return Areas(100 * (1 - float(above.mean()) / len(others)), 100 * float((rank / (rank + above)).mean()))


def judge(network: Network, labeled: NDArray[np.int64]) -> Callable[[Any], Areas]:
    """A function that fits a model on the labelled nodes and judges its scores of pairs with an unlabelled node."""
    known = np.isin(np.arange(len(network.W)), labeled)
    pairs = np.triu(~(known[:, None] & known[None, :]), k=1)
    linked, nodes = network.W[pairs] > 0, np.arange(len(network.W))

    def figures(model: Any) -> Areas:
        model.fit(nodes, network.W, labeled=labeled)
        return areas(np.asarray(model.decision_function())[pairs].astype(np.float32), linked)

    return figures


def output_kernel(network: Network, reading: str, beta: float | None = None) -> Diffusion:
    """The kernel on labelled nodes: of the links between them alone, or the block of the whole network's."""
    beta = network.beta if beta is None else beta
    return Diffusion(beta) if reading == SUBGRAPH else Diffusion(beta, network.W)


@dataclass(frozen=True)
class Ridge:
    """What ridge makes of one labelled set, by how width and alpha are chosen.

    By leave-one-out on the labelled nodes; by the AUC-ROC of the pairs that are judged; by either measure on them.
    """

    loo: Areas
    by_roc: Areas
    best: Areas
    chosen: tuple[float, float]


def ridge(network: Network, labeled: NDArray[np.int64], reading: str, beta: float | None = None) -> Ridge:
    """Supervised ridge over the grid of widths and alphas."""
    figures = judge(network, labeled)
    target = output_kernel(network, reading, beta)
    kernels = [Lookup(network.gaussian(width)) for width in WIDTHS]
    grid = [[figures(LinkPredictor(k, output_kernel=target, alpha=alpha)) for alpha in ALPHAS] for k in kernels]
    nodes = np.arange(len(network.W))
    search = LinkPredictorCV(kernels, alphas=ALPHAS, output_kernel=target).fit(nodes, network.W, labeled=labeled)
    i, j = search.best_index_
    flat = [cell for row in grid for cell in row]
    by_roc = max(flat, key=lambda cell: cell.roc_auc)
    best = Areas(by_roc.roc_auc, max(cell.average_precision for cell in flat))
    return Ridge(grid[i][j], by_roc, best, (WIDTHS[i], ALPHAS[j]))


# -------------------------------------------------------------------------------------------------------------- margin

RAW, CENTRED, PENALTY = "Gaussian kernel", "centred kernel", "with exp(−L)"
PLAIN_WIDTHS = (0.01, 0.1, 1.0, 5.62)
PENALTY_WIDTHS, RATIOS = (0.562, 1.0, 1.78, 3.0), (0.3, 0.4, 1.0)  # μ/λ of the penalty
MARGIN_ALPHA = 10.0  # at which every node is a support vector; smaller ones change little

Variant = tuple[str, str]  # of the kernel: its kind, and its parameters in words


def margin_kernels(network: Network) -> Iterator[tuple[Variant, Lookup]]:
    """The Gaussian kernel as it is, centred, and deformed by the literal penalty P = exp(−L) over all nodes.

    Semi-supervised learning is supervised learning with the kernel K (I + (μ/λ) P K)⁻¹, which does not depend on which
    nodes are labelled.
    """
    n = len(network.W)
    for width in PLAIN_WIDTHS:
        K = network.gaussian(width)
        yield (RAW, f"width {width:g}"), Lookup(K)
        yield (CENTRED, f"width {width:g}"), Lookup(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())
    for width in PENALTY_WIDTHS:
        K = network.gaussian(width)
        P = np.asarray(Heat(1.0, literal=True).penalty(None, _Scalar(Lookup(K).gram(np.arange(n)))))  # type: ignore[arg-type]
        for ratio in RATIOS:
            deformed = np.linalg.solve(np.eye(n) + ratio * K @ P, K)
            yield (PENALTY, f"width {width:g}, μ/λ = {ratio:g}"), Lookup((deformed + deformed.T) / 2)


@dataclass(frozen=True)
class _Scalar:
    """What a manifold asks of an operator-valued Gram: the scalar one in it."""

    K: Any


def margins(
    network: Network, labeled: NDArray[np.int64], kernels: list[tuple[Variant, Lookup]]
) -> dict[Variant, Areas]:
    """Maximum margin with every variant of the kernel; K_Y as published, its diagonal not constant."""
    figures = judge(network, labeled)
    target = output_kernel(network, SUBGRAPH)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The outputs have different lengths")
        return {
            variant: figures(LinkPredictor(kernel, output_kernel=target, loss=MaxMargin(), alpha=MARGIN_ALPHA))
            for variant, kernel in kernels
        }
