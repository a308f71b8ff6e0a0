"""Kernel ridge and IOKR on label sets: one factorisation of the input kernel for every output kernel and alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import to_numpy
from iokr.data.objects import distinct
from iokr.decoders.risk import MinimumRisk
from iokr.embeddings.identity import Identity
from iokr.embeddings.nystroem import Nystroem
from iokr.kernels.base import Kernel
from iokr.losses.square import Square
from iokr.metrics import f1_samples, hamming
from iokr.problem import Problem
from iokr.solvers.closed_form.paths import ClosedForm
from iokr_lab.label_sets.sets import F1Map, Matrix, best_threshold, nearest_sets

__all__ = ["FactoredRidge", "by_f1", "by_hamming", "by_labels", "by_seen_sets", "least_risk"]


class FactoredRidge:
    """h(x) = Σ_i k(x, x_i) c_i, C = (K + αI)⁻¹ Ψ, for any outputs Ψ and any α, with leave-one-out.

    Computes the same as `IOKR` without an intercept, but stores the factorisation, so that many output kernels can be
    tried on one input kernel, which is cloned and fitted.
    """

    def __init__(self, kernel: Kernel, X: Any, solver: ClosedForm) -> None:
        self.kernel = clone(kernel).fit(X)
        self._R = self.kernel.represent(X)
        nothing = np.zeros((X.shape[0], 1))
        self._path = solver.path(Problem(self.kernel.gram(self._R), nothing, Square(), 1.0))

    def left_out(self, Psi: Matrix, alpha: float) -> Matrix:
        """h₋ᵢ(x_i) for each training row."""
        return Psi - np.asarray(self._path.loo_residuals(Psi, alpha), dtype=np.float64)

    def values(self, Psi: Matrix, alpha: float, X: Any) -> Matrix:
        """h(x) for new inputs."""
        G = self.kernel.gram(self.kernel.represent(X), self._R)
        return np.asarray(G @ self._path.coefficients(Psi, alpha), dtype=np.float64)


def by_labels(ridge: FactoredRidge, Y: Matrix, alphas: tuple[float, ...]) -> tuple[float, float, Matrix]:
    """(F1, alpha, scores) by leave-one-out of kernel ridge on the labels with the best threshold and alpha."""
    found = []
    for alpha in alphas:
        scores = ridge.left_out(Y, alpha)
        found.append((f1_samples(Y, scores > best_threshold(Y, scores)), alpha, scores))
    return max(found, key=lambda one: one[0])


def by_seen_sets(
    ridge: FactoredRidge, Y: Matrix, kernels: dict[str, Kernel], alphas: tuple[float, ...], rank: int, X_test: Any
) -> tuple[Matrix, str, float]:
    """(sets for `X_test`, name of the output kernel, alpha): the label set of the training part nearest to h(x).

    Output kernel and alpha have the largest leave-one-out F1.
    """
    largest = -1.0
    best = None
    for name, kernel in kernels.items():
        embedding = Nystroem(n_components=rank)
        Psi = np.asarray(embedding.fit_transform(Y, clone(kernel).fit(Y)))
        for alpha in alphas:
            f1 = f1_samples(Y, nearest_sets(ridge.left_out(Psi, alpha), embedding, Y))
            if f1 > largest:
                largest = f1
                best = (embedding, Psi, name, alpha)
    assert best is not None
    embedding, Psi, name, alpha = best
    candidates = Y[distinct(Y)[0]]
    S = embedding.represent(candidates)
    inner = to_numpy(embedding.inner(ridge.values(Psi, alpha, X_test), S))
    nearest = (to_numpy(embedding.sq_norms(S))[None, :] - 2 * inner).argmin(axis=1)
    return candidates[nearest], name, alpha


def by_f1(ridge: FactoredRidge, Y: Matrix, f1: F1Map, alphas: tuple[float, ...], X_test: Any) -> tuple[Matrix, float]:
    """The set with the largest expected F1 among all sets, and alpha by leave-one-out F1."""
    Psi = f1.transform(Y)
    alpha = max(alphas, key=lambda alpha: f1_samples(Y, f1.best_sets(ridge.left_out(Psi, alpha))))
    return f1.best_sets(ridge.values(Psi, alpha, X_test)), alpha


def by_hamming(ridge: FactoredRidge, Y: Matrix, alphas: tuple[float, ...]) -> float:
    """alpha by the leave-one-out Hamming loss of the minimal-risk sets, Σ_i β_i (2y_ij − 1) > 0."""
    signs = 2.0 * Y - 1.0
    return min(alphas, key=lambda alpha: hamming(Y, (ridge.left_out(signs, alpha) > 0).astype(float)))


def least_risk(ridge: FactoredRidge, Y: Matrix, loss: str, alpha: float, X_test: Any) -> Matrix:
    """argmin over all sets of Σ_i β_i(x) Δ(y_i, y), β(x) = (K + αI)⁻¹ k_x, by `MinimumRisk`."""
    B = ridge.values(np.eye(len(Y)), alpha, X_test)
    embedding = Identity()
    embedding.fit_transform(Y)
    return np.asarray(MinimumRisk(loss).fit(Y, embedding).decode(B, embedding), dtype=np.float64)
