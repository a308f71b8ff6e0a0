"""A synthetic network: nodes in communities, links by latent positions, features that depend on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr._validation.arguments import check_integer, check_number
from iokr.datasets.edges import adjacency_of

__all__ = ["CommunityNetwork", "make_communities"]

_RING = 0.62  # radius of the ring of communities
_SPREAD = 0.1  # standard deviation of positions in a community
_REACH = 0.12  # length scale of links
_CLOSE = 0.5  # probability of a link at distance 0
_NUISANCE = 1.6  # standard deviation of the common factors of irrelevant features
_FACTORS = 3
_CONCENTRATION = 60.0  # of the sizes of communities


@dataclass(frozen=True)
class CommunityNetwork:
    """Nodes with features, links, and the latent positions and communities.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    edges : ndarray of shape (m, 2)
        Links, i < j.
    positions : ndarray of shape (n, 2)
    communities : ndarray of shape (n,)
    relevant : ndarray of bool of shape (p,)
        Which features depend on the positions.

    Examples
    --------
    >>> from iokr.datasets import make_communities
    >>> make_communities(50, seed=0).adjacency.shape
    (50, 50)
    """

    X: NDArray[np.float64]
    edges: NDArray[np.int64]
    positions: NDArray[np.float64]
    communities: NDArray[np.int64]
    relevant: NDArray[np.bool_]

    @property
    def adjacency(self) -> csr_array:
        """The adjacency matrix."""
        return adjacency_of(self.edges, len(self.X))


def make_communities(
    n_nodes: int = 700,
    n_communities: int = 7,
    *,
    n_relevant: int = 32,
    n_irrelevant: int = 14,
    noise: float = 0.25,
    seed: int = 0,
) -> CommunityNetwork:
    """P(i – j) = ½ exp(−‖z_i − z_j‖²/2ℓ²), z latent; features tanh(zᵀa + b) + noise, and irrelevant ones.

    Communities lie on a ring with one in the middle. The irrelevant features have three common factors of larger
    variance than the relevant ones, so that similar nodes are not always close. Features are not computed from the
    links.

    Parameters
    ----------
    n_nodes, n_communities, n_relevant, n_irrelevant : int
    noise : float, default=0.25
        Standard deviation of the noise on the relevant features, which have unit variance without it.
    seed : int, default=0

    Returns
    -------
    CommunityNetwork

    Examples
    --------
    >>> from iokr.datasets import make_communities
    >>> network = make_communities(seed=0)
    >>> network.X.shape, len(network.edges), int(network.relevant.sum())
    ((700, 46), 7629, 32)
    """
    n = check_integer(n_nodes, "n_nodes", minimum=2)
    c = check_integer(n_communities, "n_communities", minimum=1)
    p = check_integer(n_relevant, "n_relevant", minimum=1)
    q = check_integer(n_irrelevant, "n_irrelevant", minimum=0)
    noise = check_number(noise, "noise", minimum=0.0)
    rng = np.random.default_rng(check_integer(seed, "seed", minimum=0))
    communities = np.repeat(np.arange(c), rng.multinomial(n, rng.dirichlet(np.full(c, _CONCENTRATION))))
    angles = 2 * np.pi * (np.arange(c) + rng.uniform(-0.15, 0.15, size=c)) / c
    centres = _RING * np.column_stack([np.cos(angles), np.sin(angles)])
    centres[0] = 0.0
    z = centres[communities] + _SPREAD * rng.standard_normal((n, 2))
    squares = ((z[:, None, :] - z[None, :, :]) ** 2).sum(axis=2)
    linked = np.triu(rng.random((n, n)) < _CLOSE * np.exp(-squares / (2 * _REACH**2)), k=1)
    view = np.tanh(z @ (2.2 * rng.standard_normal((2, p))) + rng.uniform(-1, 1, size=p))
    relevant = (view - view.mean(axis=0)) / view.std(axis=0) + noise * rng.standard_normal((n, p))
    factors = rng.standard_normal((n, _FACTORS)) @ rng.standard_normal((_FACTORS, q)) / np.sqrt(_FACTORS)
    irrelevant = _NUISANCE * (factors + 0.5 * rng.standard_normal((n, q)))
    order = rng.permutation(p + q)
    X = np.hstack([relevant, irrelevant])[:, order]
    return CommunityNetwork(X, np.argwhere(linked), z, communities, order < p)
