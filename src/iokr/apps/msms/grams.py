"""The kernels on spectra that a model may use, their Gram matrices, and the model fitted to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._component import component
from iokr.apps.msms.inputs import Library
from iokr.data.bits import Bits
from iokr.kernels.algebra import Mean, Normalized
from iokr.kernels.alignment import alignment_weights
from iokr.kernels.base import Kernel
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.spectra import ProbabilityProduct
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.subformulas import Subformulas

__all__ = ["Grams", "KnownGram"]

_NO_WEIGHT = 1e-9  # kernels of a smaller weight are left out of the model


def _kernel_parts(kernels: str, combine: str, ppm: float) -> list[Kernel]:
    """Normalised probability products of peaks and of losses, and with "six" the kernels on sub-formulas."""
    peaks: Kernel = Normalized(ProbabilityProduct(ppm=ppm))
    losses: Kernel = Normalized(ProbabilityProduct(ppm=ppm, places="losses"))
    if kernels == "peaks":
        return [peaks]
    if kernels == "losses":
        return [losses]
    if kernels == "peaks,losses":
        return [peaks, losses]
    subformulas = [Subformulas(of, weights) for of in ("fragments", "losses") for weights in (0.0, 0.5)]
    if combine == "mean":
        return [peaks, peaks, losses, *subformulas]  # the peaks have twice the weight of each other kernel
    return [peaks, losses, *subformulas]


@component
class KnownGram(Precomputed):
    """As `Precomputed`, of a matrix that kernels have computed: neither checked nor copied for every fit."""

    def fit(self, X: Any) -> KnownGram:
        """Take the matrix as it is."""
        self.matrix_ = self.matrix
        return self

    def __sklearn_clone__(self) -> KnownGram:
        return KnownGram(self.matrix)


@dataclass(frozen=True, eq=False)
class Grams:
    """Gram matrices of all spectra of a library, those without structures last, and the rule that combines them."""

    parts: list[Kernel]
    matrices: list[NDArray[Any]]
    kernels: str
    combine: str

    @classmethod
    def of(cls, library: Library, *, kernels: str, combine: str, ppm: float) -> Grams:
        """Evaluate each kernel once."""
        spectra = library.files.spectra
        if library.unlabeled is not None:
            spectra = spectra.concat(library.unlabeled.spectra)
        parts = _kernel_parts(kernels, combine, ppm)
        matrices: dict[str, NDArray[Any]] = {}
        for part in parts:
            if repr(part) not in matrices:
                matrices[repr(part)] = np.asarray(part(spectra))
        return cls(parts, [matrices[repr(part)] for part in parts], kernels, combine)

    def weights(self, rows: NDArray[Any], bits: Bits) -> NDArray[Any]:
        """Equal weights, or weights by alignment with the Tanimoto kernel of the molecules of some rows."""
        n = len(self.parts)
        if self.combine == "mean" or n == 1:
            return np.full(n, 1 / n)
        target = np.asarray(Tanimoto()(bits[rows]))
        return alignment_weights([K[np.ix_(rows, rows)] for K in self.matrices], target, self.combine)[0]

    def matrix(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Σ_t ω_t K_t."""
        return np.asarray(sum(w * K for w, K in zip(weights, self.matrices, strict=True)))

    def mean(self) -> NDArray[Any]:
        """Σ_t K_t / T."""
        return self.matrix(np.full(len(self.parts), 1 / len(self.parts)))

    def kernel(self, weights: NDArray[Any]) -> Kernel:
        """Σ_t ω_t k_t."""
        if self.combine == "mean":
            return self.parts[0] if len(self.parts) == 1 else Mean(self.parts)
        terms: list[Any] = [float(w) * part for w, part in zip(weights, self.parts, strict=True) if w > _NO_WEIGHT]
        combined: Kernel = reduce(add, terms)
        return combined
