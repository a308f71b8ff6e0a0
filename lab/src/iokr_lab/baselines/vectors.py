"""Nodes as feature vectors, for baselines that split or multiply features."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, is_sparse, to_numpy
from iokr.apps.links.baselines import positive_eigen
from iokr.data.objects import n_objects, take

__all__ = ["check_features", "eigen_basis", "node_vectors"]


def check_features(features: Any, kernel: Any) -> None:
    """`features` has a row for every node index, so the kernel must be a kernel on indices."""
    if features is not None and getattr(kernel, "domain", "vectors") != "indices":
        raise ValueError(
            "`kernel` must be a kernel on indices of nodes with `features`, such as `Precomputed(matrix)`, "
            f"got {kernel!r:.60}."
        )


def eigen_basis(K: Array, n_components: int | None = None) -> np.ndarray:
    """U diag(s)^(−½) for the leading eigenvectors of K = U diag(s) Uᵀ: k_u times this matrix are coordinates of u."""
    U, s = map(to_numpy, positive_eigen(K))
    if n_components is not None:
        U = U[:, -n_components:]
        s = s[-n_components:]
    largest = np.take_along_axis(U, np.argmax(np.abs(U), axis=0)[None, :], axis=0)
    return np.asarray(U * np.sign(largest) / np.sqrt(s))  # signs that do not depend on the eigensolver


def node_vectors(R: Any, K: Array, features: Any, basis: np.ndarray | None) -> Any:
    """The vectors R of the nodes, the rows of `features` at their indices, or diag(s)^(−½) Uᵀ k_u."""
    if basis is not None:
        return to_numpy(K) @ basis
    if features is None:
        return R if is_sparse(R) else to_numpy(R)
    indices = to_numpy(R)
    largest = int(indices.max())
    if largest >= n_objects(features, "features"):
        raise ValueError(
            f"`features` must have a row for every node, got {n_objects(features)} rows and node {largest}."
        )
    return take(features, indices)
