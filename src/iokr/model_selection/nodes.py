"""Folds over the nodes of a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from iokr._objects import n_objects
from iokr._validation import check_integer

__all__ = ["NodeKFold"]


class NodeKFold:
    """nodes = ∪ folds: every node is new once, with all of its links hidden.

    Folds over links leave some links of every node in training; a node with none, known by its features alone, is the
    harder and commoner case. A fold of nodes gives both kinds of honest pairs, known–new and new–new.

    Parameters
    ----------
    n_splits : int, default=5
    shuffle : bool, default=True
    random_state : int, default=0
        Of the shuffle.

    Examples
    --------
    >>> from iokr.model_selection import NodeKFold
    >>> [(len(train), len(test)) for train, test in NodeKFold(3).split(range(7))]
    [(4, 3), (5, 2), (5, 2)]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: int = 0) -> None:
        self.n_splits = check_integer(n_splits, "n_splits", minimum=2)
        self.shuffle = shuffle
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"NodeKFold({self.n_splits}, shuffle={self.shuffle}, random_state={self.random_state})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(train, test) node numbers, ascending, a fold at a time; X is the nodes, only their number is read."""
        n = n_objects(X)
        if n < self.n_splits:
            raise ValueError(f"There are {n} nodes, too few for {self.n_splits} folds.")
        order = np.random.default_rng(self.random_state).permutation(n) if self.shuffle else np.arange(n)
        for fold in np.array_split(order, self.n_splits):
            new = np.zeros(n, dtype=bool)
            new[fold] = True
            yield np.flatnonzero(~new), np.flatnonzero(new)
