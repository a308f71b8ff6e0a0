"""Small networks with features, and their output kernels written slowly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import reference


@dataclass(frozen=True)
class Sample:
    """N nodes at positions that decide their links, seen through noisy features; some of them are labelled."""

    X: NDArray
    W: NDArray
    labeled: NDArray
    X_new: NDArray
    gamma: float = 0.4

    @property
    def unlabeled(self) -> NDArray:
        return np.setdiff1d(np.arange(len(self.X)), self.labeled)

    @property
    def order(self) -> NDArray:
        """Labelled nodes, then the others."""
        return np.concatenate([self.labeled, self.unlabeled])

    @property
    def W_labeled(self) -> NDArray:
        return self.W[np.ix_(self.labeled, self.labeled)]

    def gram(self, A: NDArray, B: NDArray) -> NDArray:
        """The Gaussian kernel by two loops."""
        return reference.gram(reference.rbf(self.gamma), A, B)


def network(seed: int = 0, N: int = 18, n: int = 11, m: int = 4, density: float = 0.3) -> Sample:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N + m, 2))
    near = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    W = (near < np.quantile(near, density)) * 1.0
    np.fill_diagonal(W, 0)
    X = np.column_stack([Z + 0.2 * rng.normal(size=Z.shape), rng.normal(size=N + m)])
    labeled = rng.permutation(N)[:n]
    return Sample(X[:N], W[:N, :N], labeled, X[N:])


def laplacian(W: NDArray) -> NDArray:
    """diag(W1) − W."""
    return np.diag(W.sum(axis=1)) - W


def diffusion(W: NDArray, beta: float = 1.0) -> NDArray:
    """exp(−βL), by its series."""
    return reference.exponential(-beta * laplacian(W))


def normalized(K: NDArray) -> NDArray:
    d = np.sqrt(np.diag(K))
    return K / d[:, None] / d[None, :]
