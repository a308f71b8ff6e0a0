"""Random networks with inputs computed from the network itself (B16, Sec. 6.1.2 and App. C)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.kernels.nodes import Diffusion
from iokr_lab.links.protocol import MEASURES

__all__ = ["Areas", "Network", "areas", "calibrate", "evaluate", "labeled_set", "mixture", "random_graph"]

Matrix = NDArray[np.float64]

N_NODES = 700


@dataclass(frozen=True, eq=False)
class Network:
    """A graph, the diffusion time of its generator, and the fraction of inertia of the inputs."""

    W: Matrix
    beta: float
    inertia: float

    @cached_property
    def kernel(self) -> Matrix:
        """exp(−β_g L) of the whole graph."""
        nodes = np.arange(len(self.W))
        return np.asarray(Diffusion(self.beta, self.W).fit(nodes)(nodes))

    @cached_property
    def X(self) -> Matrix:
        """Kernel PCA: the first components that reach the inertia, scaled by the roots of their eigenvalues."""
        return components(self.kernel, self.inertia)

    @cached_property
    def squares(self) -> Matrix:
        """‖x_i − x_j‖² divided by the median over pairs, or by the mean if the median is 0."""
        norms = (self.X**2).sum(axis=1)
        D = np.maximum(norms[:, None] + norms[None, :] - 2 * self.X @ self.X.T, 0.0)
        pairs = D[np.triu_indices(len(D), k=1)]
        return np.asarray(D / (np.median(pairs) or pairs.mean()))

    def gaussian(self, width: float) -> Matrix:
        """The Gaussian kernel on the inputs."""
        return np.asarray(np.exp(-width * self.squares))


def random_graph(density: float, rng: np.random.Generator, n: int = N_NODES) -> Matrix:
    """Erdős–Rényi graph: every pair is linked with the same probability."""
    upper = np.triu(rng.random((n, n)) < density, k=1)
    return (upper | upper.T).astype(float)


def mixture(inside: float, between: float, rng: np.random.Generator, n: int = N_NODES) -> Matrix:
    """Three classes of nearly equal size, with different probabilities of links within and between classes."""
    classes = np.sort(np.arange(n) % 3)
    same = classes[:, None] == classes[None, :]
    upper = np.triu(rng.random((n, n)) < np.where(same, inside, between), k=1)
    return (upper | upper.T).astype(float)


def components(K: Matrix, inertia: float) -> Matrix:
    """Centred kernel PCA, (n, m): the first m components whose eigenvalues sum to the fraction `inertia` of all."""
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(centred)
    values = np.clip(values[::-1], 0.0, None)
    vectors = vectors[:, ::-1]
    m = min(len(K), int(np.searchsorted(np.cumsum(values) / values.sum(), inertia - 1e-12)) + 1)
    return np.asarray(vectors[:, :m] * np.sqrt(values[:m]))


def calibrate(W: Matrix, n_components: int, inertia: float = 0.95) -> float:
    """The diffusion time at which `n_components` reach the inertia, by bisection: longer times need fewer."""
    values = np.clip(np.linalg.eigvalsh(np.diag(W.sum(axis=1)) - W), 0.0, None)

    def count(beta: float) -> int:
        centred = np.sort(np.exp(-beta * values))[::-1][1:]  # centring removes the constant direction, e⁰ = 1
        return int(np.searchsorted(np.cumsum(centred) / centred.sum(), inertia - 1e-12)) + 1

    low = 0.01
    high = 20.0
    for _ in range(30):
        middle = float(np.sqrt(low * high))
        if count(middle) > n_components:
            low = middle
        else:
            high = middle
    return high


def labeled_set(W: Matrix, fraction: float, draw: int, seed: int) -> NDArray[np.int64]:
    """Random choice number `draw` of the labelled nodes, among choices with at least one link."""
    rng = np.random.default_rng(seed)
    while True:
        labeled = rng.permutation(len(W))[: round(fraction * len(W))]
        draw -= bool(W[np.ix_(labeled, labeled)].any())
        if draw < 0:
            return labeled


# -------------------------------------------------------------------------------------------------------------- scores

Areas = dict[str, float]
"""Areas under the ROC and the PR curve in percent."""


def areas(scores: Matrix, linked: NDArray[np.bool_]) -> Areas:
    """Both areas from one sort of the scores of pairs; equal to `pair_metrics` for distinct scores.

    A link counts as ranked above half of the pairs without a link that have the same score.
    """
    others = np.sort(scores[~linked])
    links = np.sort(scores[linked])[::-1]
    above = len(others) - (np.searchsorted(others, links, "left") + np.searchsorted(others, links, "right")) / 2
    rank = np.arange(1, len(links) + 1)
    roc = 100 * (1 - float(above.mean()) / len(others))
    pr = 100 * float((rank / (rank + above)).mean())
    return dict(zip(MEASURES, (roc, pr), strict=True))


def evaluate(network: Network, labeled: NDArray[np.int64]) -> Callable[[Any], Areas]:
    """A function that fits a model to the labelled nodes and evaluates it on pairs with an unlabelled node."""
    known = np.isin(np.arange(len(network.W)), labeled)
    pairs = np.flatnonzero(np.triu(~(known[:, None] & known[None, :]), k=1))
    linked = network.W.ravel()[pairs] > 0
    nodes = np.arange(len(network.W))

    def measure(model: Any) -> Areas:
        model.fit(nodes, network.W, labeled=labeled)
        return areas(np.asarray(model.decision_function()).ravel()[pairs].astype(np.float32), linked)

    return measure
