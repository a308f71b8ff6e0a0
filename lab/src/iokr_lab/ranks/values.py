"""Reduced rank for all ranks at once: candidates ranked with an increasing number of rotated coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from iokr.data.objects import distinct
from iokr.kernels.structured.sets import Tanimoto

__all__ = ["Values", "coordinates", "nearest_by_rank"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """Fitted values F and targets Z of training rows, values H of test rows, candidates S and their squared norms."""

    F: Matrix  # (n, q)
    H: Matrix  # (m, q)
    Z: Matrix  # (n, q)
    S: Matrix  # (c, q)
    norms: Matrix  # (c,)

    def fitted_directions(self) -> Matrix:
        """Eigenvectors of FᵀF by decreasing eigenvalue."""
        return _leading(self.F)

    def output_directions(self) -> Matrix:
        """Eigenvectors of ZᵀZ by decreasing eigenvalue."""
        return _leading(self.Z)


def _leading(F: Matrix) -> Matrix:
    return np.asarray(np.linalg.eigh(F.T @ F)[1][:, ::-1])


def coordinates(Y: Matrix, candidates: Matrix) -> tuple[Matrix, Matrix]:
    """Orthonormal coordinates of ψ of training outputs and of candidates under Tanimoto's kernel."""
    first, which = distinct(Y)
    kernel = Tanimoto().fit(Y)
    t, Q = np.linalg.eigh(np.asarray(kernel(Y[first])))
    positive = t > len(t) * np.finfo(float).eps * t[-1]
    W = Q[:, positive] / np.sqrt(t[positive])
    return (Q[:, positive] * np.sqrt(t[positive]))[which], np.asarray(kernel(candidates, Y[first])) @ W


def nearest_by_rank(values: Values, V: Matrix, ranks: Sequence[int], k: int) -> Iterator[NDArray[np.integer]]:
    """The k nearest candidates of each test row, for each rank in ascending order."""
    H = values.H @ V
    S = values.S @ V
    costs = np.tile(values.norms, (len(H), 1))
    for begin, stop in pairwise([0, *ranks]):
        costs -= 2 * H[:, begin:stop] @ S[:, begin:stop].T
        best = np.argpartition(costs, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(costs, best, axis=1), axis=1, kind="stable")
        yield np.take_along_axis(best, order, axis=1)
