"""What all questions share: outputs, models, factors of Gram matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular

from iokr import IOKR
from iokr.embeddings.nystroem import Nystroem as NystroemEmbedding
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.vectors import RBF
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr.solvers.closed_form.lowrank import LowRank
from iokr_lab.bench.grams import Matrix, gram

__all__ = ["OPERATORS", "Data", "incomplete_cholesky", "new_features", "positive_eigh"]

OPERATORS: dict[str, Any] = {"Covariance": Covariance, "ConditionalCovariance": ConditionalCovariance}


class Data:
    """Smooth functions of three inputs, five outputs with noise; Gaussian kernels on both sides."""

    gamma = 1 / 6
    gamma_y = 0.1
    alpha = 0.01

    def __init__(self, seed: int, n: int) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.standard_normal((n, 3))
        mixing = rng.standard_normal((3, 5))
        self.X_new = rng.standard_normal((100, 3))
        self.Y = np.sin(self.X @ mixing / np.sqrt(3)) + 0.3 * rng.standard_normal((n, 5))
        self.problem = self.X, self.Y, self.gamma, self.gamma_y, self.alpha

    def fit(self, model: IOKR) -> IOKR:
        """The model, fitted to X and Y."""
        fitted: IOKR = model.fit(self.X, self.Y)
        return fitted

    def exact(self, operator: str) -> IOKR:
        """The model whose fit is timed."""
        kernel = OPERATORS[operator](RBF(self.gamma))
        return IOKR(kernel, output_kernel=RBF(self.gamma_y), alpha=self.alpha)

    def low_rank(self, operator: str, rank: int) -> IOKR:
        """The same on `rank` inputs and `rank` outputs."""
        return IOKR(
            OPERATORS[operator](Nystroem(RBF(self.gamma), rank, pivots="greedy")),
            output_kernel=RBF(self.gamma_y),
            embedding=NystroemEmbedding(rank, pivots="greedy"),
            alpha=self.alpha,
            solver=LowRank(),
        )

    def approximate(self, left: Matrix, pivots: list[int]) -> Matrix:
        """k_xᵀ at new inputs as the factor L of K gives it: φ(x)ᵀLᵀ, φ(x) = L[P]⁻¹k(P, x)."""
        return new_features(self, left, pivots) @ left.T

    def scores(self, Theta: Matrix, K_new: Matrix | None = None) -> Matrix:
        """⟨h(x), ψ(y_j)⟩ at new inputs, h(x) = Σ_i (Θk_x)_i ψ(y_i)."""
        weights = (gram(self.X_new, self.X, self.gamma) if K_new is None else K_new) @ Theta.T
        found: Matrix = weights @ gram(self.Y, self.Y, self.gamma_y)
        return found

    def error(self, scores: Matrix, truth: Matrix) -> str:
        """‖S − Ŝ‖ / ‖S‖ in percent, as text."""
        return f"{np.linalg.norm(scores - truth) / np.linalg.norm(truth):.1%}"


def new_features(data: Data, left: Matrix, pivots: list[int]) -> Matrix:
    """φ(x) = L[P]⁻¹ k(P, x) at new inputs."""
    columns = gram(data.X[pivots], data.X_new, data.gamma)
    found: Matrix = solve_triangular(left[pivots], columns, lower=True).T
    return found


def incomplete_cholesky(X: Matrix, gamma: float, rank: int) -> tuple[Matrix, list[int]]:
    """L (n, rank) with L Lᵀ ≈ exp(−γ‖x_i − x_j‖²), and the pivots: the largest diagonal entries that were left."""
    L = np.zeros((len(X), rank), order="F")
    left = np.ones(len(X))
    pivots = []
    for step in range(rank):
        p = int(np.argmax(left))
        column = np.exp(-gamma * np.einsum("ij,ij->i", X - X[p], X - X[p])) - L[:, :step] @ L[p, :step]
        L[:, step] = column / np.sqrt(left[p])
        left = np.maximum(left - L[:, step] ** 2, 0.0)
        left[p] = 0.0
        pivots.append(p)
    return L, pivots


def positive_eigh(K: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues, clipped at 0, and eigenvectors; K is overwritten and only its lower triangle is read."""
    s, U = eigh(np.asfortranarray(K), driver="evd", overwrite_a=True, check_finite=False)
    return np.maximum(s, 0.0), U
