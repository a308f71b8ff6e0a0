"""Kernels on the proteins of two yeast networks, and their links with random pairs without a link."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.edges import adjacency_of
from iokr.kernels.algebra import Normalized
from iokr.kernels.nodes import Diffusion
from iokr.kernels.vectors import RBF, Cosine
from iokr_lab.data.networks import YeastNetwork

__all__ = ["Matrix", "labelled_pairs", "node_gram"]

Matrix = NDArray[np.float64]


def node_gram(data: YeastNetwork, inputs: str) -> Matrix:
    """k on the nodes, with unit diagonal for nodes with data; "integrated" is the sum."""
    if inputs == "integrated":
        parts = ("exp", "loc") if data.edges_y2h_full is None else ("exp", "loc", "y2h")
        return np.asarray(sum(node_gram(data, part) for part in parts))
    if inputs == "exp":
        return np.asarray(RBF()(data.expression))
    if inputs == "loc":
        return np.asarray(Cosine()(data.loc))
    assert data.edges_y2h_full is not None
    graph = adjacency_of(data.edges_y2h_full, len(data.orf))
    nodes = np.arange(len(data.orf))
    return np.asarray(Normalized(Diffusion(1.0, graph)).fit(nodes)(nodes))


def labelled_pairs(data: YeastNetwork, decoys: int, seed: int) -> tuple[NDArray[np.int64], Matrix]:
    """Edges and random pairs without an edge, in random order."""
    rng = np.random.default_rng([seed, decoys])
    m = len(data.orf)
    edges = np.sort(data.edges, axis=1)
    taken = set((edges[:, 0] * m + edges[:, 1]).tolist())
    apart: list[int] = []
    while len(apart) < decoys * len(edges):
        a, b = np.sort(rng.integers(m, size=2)).tolist()
        if a != b and a * m + b not in taken:
            taken.add(a * m + b)
            apart.append(a * m + b)
    pairs = np.concatenate([edges, np.array([divmod(key, m) for key in apart])])
    y = np.concatenate([np.ones(len(edges)), -np.ones(len(apart))])
    order = rng.permutation(len(y))
    return pairs[order], y[order]
