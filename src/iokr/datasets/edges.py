"""Edge lists as matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["adjacency_of"]


def adjacency_of(edges: NDArray[Any], n: int) -> csr_array:
    """The symmetric (n, n) matrix of zeros and ones of an undirected edge list."""
    from scipy.sparse import csr_array

    i, j = np.concatenate([edges, edges[:, ::-1]]).T
    return csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
