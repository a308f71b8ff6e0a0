"""H ↦ H A: the operator on the outputs of a separable kernel 𝒦 = k A, with its spectrum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, eigh, empty_like, eye_like, matmul, to_numpy

__all__ = ["IdentityMatrix", "Multiple", "Oblique", "OutputOperator", "Symmetric", "as_array", "as_operator"]

_EQUAL = 32 * float(np.finfo(float).eps)  # eigenvalues whose difference is below this fraction of the largest are equal


class IdentityMatrix:
    """Ψ = I (n, n), the targets where coordinates are weights on the training outputs.

    Library and device are those of `like`; there is no n × n array until a solver asks for it.
    """

    def __init__(self, n: int, like: Array) -> None:
        self.shape, self.like = (n, n), empty_like((0,), like)


def as_array(Psi: Array | IdentityMatrix) -> Array:
    """Ψ as an array, a new one for the identity."""
    return eye_like(Psi.shape[0], Psi.like) if isinstance(Psi, IdentityMatrix) else Psi


class OutputOperator(ABC):
    """A, symmetric positive semi-definite on the outputs: Ψ E decouples them, γ_j is the eigenvalue of column j.

    A = E diag(γ) L with L = Eᵀ, or A = E L with L E = diag(γ) if A is `oblique`; E and L are None if A = aI. The
    spectrum is computed at its first use.
    """

    scale: float | None = None  # a of A = aI, None for other A
    oblique: ClassVar[bool] = False  # the eigenvectors are not orthogonal, and coefficients contain A
    spectrum: tuple[np.ndarray, Array | None, Array | None]  # γ ascending (one for all where A = aI), E and L

    @property
    def gamma(self) -> np.ndarray:
        """γ."""
        return self.spectrum[0]

    @property
    def E(self) -> Array | None:
        """Eigenvectors, a column each."""
        return self.spectrum[1]

    @property
    def L(self) -> Array | None:
        """Left eigenvectors, a row each."""
        return self.spectrum[2]

    @abstractmethod
    def act(self, H: Array) -> Array:
        """H A."""

    @abstractmethod
    def matrix(self, q: int, like: Array) -> Array:
        """A (q, q), on the device of `like`."""

    def rotate(self, Psi: Array | IdentityMatrix) -> Array:
        """Ψ E."""
        if self.E is None:
            return as_array(Psi)
        return self.E if isinstance(Psi, IdentityMatrix) else matmul(Psi, self.E)

    def unrotate(self, T: Array) -> Array:
        """T L."""
        return T if self.L is None else matmul(T, self.L)

    @property
    def n_distinct(self) -> int:
        """The number of distinct eigenvalues."""
        return len(self.groups(len(self.gamma)))

    def groups(self, q: int) -> list[tuple[float, np.ndarray]]:
        """Distinct eigenvalues, each with its columns of Ψ E, for q outputs. May be overridden."""
        gamma = self.gamma
        tol = _EQUAL * float(gamma.max(initial=0.0))
        order = np.argsort(gamma, kind="stable")
        ends = [0]
        for stop in range(1, len(gamma) + 1):
            if stop == len(gamma) or gamma[order[stop]] - gamma[order[ends[-1]]] > tol:
                ends.append(stop)
        groups = [order[start:stop] for start, stop in pairwise(ends)]
        return [(float(gamma[group].mean()), group) for group in groups]


class Multiple(OutputOperator):
    """A = aI, for any number of outputs."""

    n_distinct = 1

    def __init__(self, a: float) -> None:
        self.scale: float = a
        self.spectrum = np.array([a]), None, None

    def _stored(self) -> dict[str, Any]:
        return {"scale": self.scale, "spectrum": self.spectrum}

    def act(self, H: Array) -> Array:
        """a H."""
        return H if self.scale == 1 else self.scale * H

    def matrix(self, q: int, like: Array) -> Array:
        """aI."""
        return self.scale * eye_like(q, like)

    def groups(self, q: int) -> list[tuple[float, np.ndarray]]:
        """All columns have the eigenvalue a."""
        return [(self.scale, np.arange(q))]


class Symmetric(OutputOperator):
    """A = E diag(γ) Eᵀ (q, q), possibly singular, diagonalised once."""

    def __init__(self, A: Array) -> None:
        self.A = A

    def _stored(self) -> dict[str, Any]:
        return {"A": self.A}

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, Array, Array]:  # type: ignore[override]
        """γ, E and Eᵀ."""
        gamma, E = eigh(self.A)
        return np.clip(to_numpy(gamma), 0.0, None), E, E.T

    def act(self, H: Array) -> Array:
        """H A."""
        return H @ self.A

    def matrix(self, q: int, like: Array) -> Array:
        """A."""
        return asarray_like(self.A, like)


class Oblique(OutputOperator):
    """A = E L, L E = diag(γ), in coordinates that are not orthonormal: weights on implicit outputs.

    On weights β of implicit outputs, h = Σ_i β_i ψ(y_i), an operator on F is not a symmetric matrix, and its right and
    left eigenvectors E (columns) and L (rows) differ; with B = C A instead of C no division by γ is needed: h = K B.
    """

    oblique = True

    def __init__(self, gamma: np.ndarray, E: Array, L: Array, sq_norms: Array) -> None:
        self.spectrum, self.sq_norms = (gamma, E, L), sq_norms

    def _stored(self) -> dict[str, Any]:
        return {"spectrum": self.spectrum, "sq_norms": self.sq_norms}

    def act(self, H: Array) -> Array:
        """H: the coefficients contain A."""
        return H

    def matrix(self, q: int, like: Array) -> Array:
        """E L."""
        return matmul(self.E, self.L)


def as_operator(A: Array) -> Multiple | Symmetric:
    """The operator of a symmetric positive semi-definite matrix; a `Multiple` if A = aI."""
    a = float(A[0, 0])
    isotropic = bool(array_namespace(A).all(a * eye_like(A.shape[0], A) == A))
    return Multiple(a) if isotropic else Symmetric(A)
