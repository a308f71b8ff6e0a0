"""Kernels on objects of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import Array
from iokr._component import component
from iokr.data.objects import as_objects, keys, n_objects
from iokr.kernels._data.counts import numbered
from iokr.kernels.base import PairwiseKernel, UnitKernel

__all__ = ["Delta", "FromFunction"]


@component
class Delta(UnitKernel):
    """k(x, z) = 1 if x equals z, else 0.

    As an output kernel on labels it makes IOKR least-squares classification. Arrays and lists are compared by their
    entries.

    Examples
    --------
    >>> from iokr.kernels import Delta
    >>> Delta()(["cat", "dog"], ["dog"])
    array([[0.],
           [1.]])
    """

    domain = "labels"

    def represent(self, X: Any) -> np.ndarray:
        """A hashable key for each object."""
        n_objects(X)
        return as_objects(keys(X))

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        return equal_keys(R, S).astype(np.float64)


def equal_keys(R: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Whether the hashable objects x_i and z_j are equal, (n, m)."""
    _, codes = numbered([*R, *S])
    return np.asarray(codes[: len(R), None] == codes[None, len(R) :])


@component
class FromFunction(PairwiseKernel):
    """k(x, z) = f(x, z) for a given function, called once per pair.

    Parameters
    ----------
    f : callable
        f(x, z) → float, symmetric and positive semi-definite. To pickle the model, f must be importable.

    Examples
    --------
    >>> from iokr.kernels import FromFunction
    >>> shared_letters = FromFunction(lambda x, z: len(set(x) & set(z)))
    >>> shared_letters(["net"], ["ten", "to"])
    array([[3., 1.]])
    """

    f: Callable[[Any, Any], float]

    trusted = False

    def fit(self, X: Any) -> FromFunction:
        """Check that f can be called."""
        if not callable(self.f):
            raise TypeError(f"`f` must be a function of two objects, got {self.f!r:.60}.")
        return self

    def represent(self, X: Any) -> np.ndarray:
        """The objects, one by one; rows of a matrix are objects."""
        n_objects(X)
        return as_objects(X)

    def pair(self, x: Any, z: Any) -> float:
        """f(x, z), checked to be finite."""
        number = float(self.f(x, z))
        if not np.isfinite(number):
            raise ValueError(f"`f` returned {number} for the pair ({x!r:.40}, {z!r:.40}); a kernel is finite.")
        return number
