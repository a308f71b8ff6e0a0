"""Edge lists as matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["adjacency_of"]


def adjacency_of(edges: NDArray[Any], n: int, weight: NDArray[Any] | None = None) -> csr_array:
    """The symmetric (n, n) adjacency matrix of an undirected edge list, with ones or weights."""
    i, j = np.concatenate([edges, edges[:, ::-1]]).T
    values = np.ones(len(i)) if weight is None else np.concatenate([weight, weight])
    return csr_array((values, (i, j)), shape=(n, n))
