"""Random block graphs that depend on a number: structured outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from iokr._system.memory import check_memory
from iokr._validation.arguments import check_choice, check_integer, check_numbers
from iokr.data.objects import as_objects

__all__ = ["make_blocks"]

_WITHIN = 0.9  # probability of an edge in a block
_BETWEEN = 0.01  # and between blocks
_FIRST = 0.5  # smallest x
_LAST = 5.5  # largest x
_EXTRA = 5  # sizes of blocks vary by fewer nodes


def make_blocks(
    n: int = 50, *, x: Any = None, n_nodes: int = 40, directed: bool = False, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """(X, y): numbers between 0.5 and 5.5, and graphs of ⌊x⌋ blocks, one of which splits as x − ⌊x⌋ grows.

    Nodes are linked with probability 0.9 inside a block, 0.01 between blocks, and 0.9 − 0.89(x − ⌊x⌋) between the two
    parts of the block that splits. The label of a node is the number of its block, as a float: labels are coordinates.
    A node of the new part has the new number with probability x − ⌊x⌋. Sizes of blocks vary, and the order of nodes is
    random.

    Parameters
    ----------
    n : int, default=50
        Number of graphs.
    x : array of numbers of at least 0, default=None
        The inputs; None draws `n` of them.
    n_nodes : int, default=40
        Nodes of every graph.
    directed : bool, default=False
        Whether (i, j) and (j, i) are drawn independently, as in the example of the paper; `metrics.fgw` and
        `GraphBarycenter(rounded=False)` accept adjacency matrices that are not symmetric.
    seed : int, default=0

    Returns
    -------
    X : ndarray of shape (n, 1)
    y : ndarray of n pairs (adjacency, labels)

    Examples
    --------
    >>> from iokr.datasets import make_blocks
    >>> X, y = make_blocks(x=[1.0, 3.5])
    >>> [adjacency.shape for adjacency, labels in y], sorted(set(y[1][1].tolist()))
    ([(40, 40), (40, 40)], [0.0, 1.0, 2.0, 3.0])

    References
    ----------
    Brogat-Motte, Flamary, Brouard, Rousu and d'Alché-Buc, "Learning to predict graphs with fused Gromov-Wasserstein
    barycenters", ICML 2022: the graphs of their public example.
    """
    n = check_integer(n, "n", minimum=1)
    n_nodes = check_integer(n_nodes, "n_nodes", minimum=1)
    check_choice(directed, "directed", (True, False))
    rng = np.random.default_rng(check_integer(seed, "seed", minimum=0))
    if x is None:
        values = rng.uniform(_FIRST, _LAST, size=n)
    else:
        values = check_numbers(x, "x").astype(np.float64).ravel()
        if not len(values):
            raise ValueError("`x` is empty; at least one number is needed.")
        if not np.all(np.isfinite(values)):
            raise ValueError("`x` contains NaN or infinity; give finite numbers.")
        if np.any(values < 0):
            raise ValueError(f"`x` must not be negative, got {values.min():g}.")
    if int(values.max()) >= n_nodes:
        raise ValueError(f"`n_nodes` must exceed the largest `x`, {values.max():g}, got {n_nodes}.")
    check_memory(24.0 * n_nodes**2, "The adjacency of a graph", "Use fewer nodes.")
    return values[:, None], as_objects(_graph(float(value), n_nodes, directed, rng) for value in values)


def _graph(x: float, n_nodes: int, directed: bool, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """(adjacency, labels): the largest block splits until there is one more than ⌊x⌋; the last split is partial."""
    count = max(int(x), 1) + 1
    part = x - int(x) if x >= 1 else 0.0
    sizes = [n_nodes]
    old = 0
    while len(sizes) < count:
        old = int(np.argmax(sizes))
        half = sizes[old] // 2
        sizes.append(sizes[old] - half)
        sizes[old] = half
    new = count - 1
    blocks = rng.permutation(np.repeat(np.arange(count), np.array(sizes) + rng.integers(0, _EXTRA, size=count)))
    blocks = blocks[:n_nodes]
    probability = np.where(blocks[:, None] == blocks[None, :], _WITHIN, _BETWEEN)
    across_split = (blocks[:, None] == old) & (blocks[None, :] == new)
    probability[across_split | across_split.T] = _WITHIN + (_BETWEEN - _WITHIN) * part
    adjacency = (rng.random((n_nodes, n_nodes)) < probability).astype(np.int64)
    np.fill_diagonal(adjacency, 0)
    if not directed:
        adjacency = np.triu(adjacency) + np.triu(adjacency).T
    keeps_label = (blocks == new) & (rng.random(n_nodes) >= part)
    return adjacency, np.where(keeps_label, old, blocks).astype(np.float64)
