"""Nodes as rows of numbers, for rivals that split or multiply features."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, is_sparse, to_numpy
from iokr.apps.links.baselines.base import positive_eigen
from iokr.data.objects import n_objects, take

__all__ = ["check_features", "eigen_basis", "node_vectors"]


def check_features(features: Any, kernel: Any) -> None:
    """`features` has a row for every node number, so that the kernel must be one on these."""
    if features is not None and getattr(kernel, "domain", "vectors") != "indices":
        raise ValueError(
            "`features` has a row for every node number, so `kernel` must be one on these, such as "
            f"`Precomputed(matrix)`, got {kernel!r:.60}; or leave `features` out."
        )


def eigen_basis(K: Array, n_components: int | None = None) -> np.ndarray:
    """U diag(s)^(−½), K = U diag(s) Uᵀ: k_u times it are coordinates of u; the leading ones where so many are asked."""
    U, s = (to_numpy(part) for part in positive_eigen(K))
    if n_components is not None:
        U = U[:, -n_components:]
        s = s[-n_components:]
    largest = np.take_along_axis(U, np.argmax(np.abs(U), axis=0)[None, :], axis=0)
    return np.asarray(U * np.sign(largest) / np.sqrt(s))  # signs that do not depend on who computed U


def node_vectors(R: Any, K: Array, features: Any, basis: np.ndarray | None) -> Any:
    """The nodes' own vectors R, the rows of `features` at their numbers, or diag(s)^(−½) Uᵀ k_u."""
    if basis is not None:
        return to_numpy(K) @ basis
    if features is None:
        return R if is_sparse(R) else to_numpy(R)
    numbers = to_numpy(R)
    if numbers.max() >= n_objects(features, "features"):
        raise ValueError(f"`features` has {n_objects(features)} rows, but there is a node {int(numbers.max())}.")
    return take(features, numbers)
