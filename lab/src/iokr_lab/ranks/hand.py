"""Reduced rank for every rank at once: values in orthonormal coordinates, turned, ranked with more and more of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from iokr.data.objects import distinct
from iokr.kernels.structured.sets import Tanimoto

__all__ = ["Split", "coordinates", "curves"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Fitted values and targets of training rows, values of test rows, candidates and their squared norms."""

    F: Matrix  # (n, q)
    H: Matrix  # (m, q)
    Z: Matrix  # (n, q)
    S: Matrix  # (c, q)
    norms: Matrix  # (c,)

    def fitted_directions(self) -> Matrix:
        """V of FᵀF, leading ones first."""
        return _leading(self.F)

    def output_directions(self) -> Matrix:
        """V of ZᵀZ, leading ones first."""
        return _leading(self.Z)


def _leading(F: Matrix) -> Matrix:
    return np.asarray(np.linalg.eigh(F.T @ F)[1][:, ::-1])


def coordinates(Y: Matrix, candidates: Matrix) -> tuple[Matrix, Matrix]:
    """Orthonormal coordinates of ψ of training outputs, and of candidates, under Tanimoto's kernel."""
    first, which = distinct(Y)
    kernel = Tanimoto().fit(Y)
    t, Q = np.linalg.eigh(np.asarray(kernel(Y[first])))
    kept = t > len(t) * np.finfo(float).eps * t[-1]
    W = Q[:, kept] / np.sqrt(t[kept])
    return (Q[:, kept] * np.sqrt(t[kept]))[which], np.asarray(kernel(candidates, Y[first])) @ W


def curves(split: Split, V: Matrix, ranks: Sequence[int], k: int) -> Iterator[NDArray[np.integer]]:
    """The k nearest candidates of each test row, for each rank in ascending order."""
    H, S = split.H @ V, split.S @ V
    costs = np.tile(split.norms, (len(H), 1))
    for begin, stop in pairwise([0, *ranks]):
        costs -= 2 * H[:, begin:stop] @ S[:, begin:stop].T
        best = np.argpartition(costs, k - 1, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(costs, best, axis=1), axis=1, kind="stable")
        yield np.take_along_axis(best, order, axis=1)
