"""⟨M, ∂K/∂log θ⟩ for the positive parameters θ of a kernel: n²p flops for p widths together."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymm

from iokr._array import is_sparse, to_numpy
from iokr.kernels.base import BinaryKernel, Kernel, Product, Scaled, Sum
from iokr.kernels.standardized import Standardized
from iokr.kernels.vectors import ARD, RBF

__all__ = ["log_gradients"]


@singledispatch
def log_gradients(kernel: Kernel, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """⟨M, ∂K/∂log θ⟩ by the name of θ in `get_params`, for a fitted kernel with the Gram matrix K on R.

    M is symmetric, in Fortran order; only its entries on and below the diagonal are read. Kernels with parameters that
    can be learned are registered by class; others have no gradients.
    """
    return {}


def _scatter(X: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """½ Σ_ij Q_ij (x_il − x_jl)² = Σ_i (Q1)_i x_il² − x_lᵀ Q x_l for every column l; Q by its lower triangle."""
    both = np.asfortranarray(np.concatenate([X, np.ones((len(X), 1))], axis=1))
    products = dsymm(1.0, Q, both, lower=1)
    return np.asarray(products[:, -1] @ X**2 - np.sum(X * products[:, :-1], axis=0))


def _vectors(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), dtype=float)


@log_gradients.register
def _(kernel: ARD, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """−2 [Σ_i (Q1)_i x̃_il² − x̃_lᵀ Q x̃_l] with Q = M ∘ K and x̃_l = √γ_l x_l; 0 for γ_l = 0."""
    gradient = np.zeros(len(kernel.gammas_))
    gradient[kernel.active] = -2 * _scatter(_vectors(R.parts[0]), M * K)
    return {"gammas": gradient}


@log_gradients.register
def _(kernel: RBF, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """The sum over features, as for `ARD` with equal widths."""
    X = _vectors(R.parts[0])
    return {"gamma": np.atleast_1d(-2 * kernel.gamma_ * _scatter(X - X.mean(axis=0), M * K).sum())}


@log_gradients.register
def _(kernel: Scaled, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """⟨M, K⟩ for the factor, and the gradients of the base."""
    base = _named("base", kernel.base_, R, _gram(kernel.base_, R), kernel.factor * M)
    lower = np.tril(M * K)  # only this triangle of M is valid
    return {"factor": np.atleast_1d(2 * lower.sum() - np.trace(lower)), **base}


@log_gradients.register
def _(kernel: Standardized, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """Those of the base, whose vectors R are."""
    return _named("base", kernel.base_, R, K, M)


@log_gradients.register(Sum)
@log_gradients.register(Product)
def _(kernel: BinaryKernel, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """⟨M, ∂(K₁ + K₂)⟩ = ⟨M, ∂K₁⟩ + ⟨M, ∂K₂⟩; ⟨M, ∂(K₁ ∘ K₂)⟩ = ⟨M ∘ K₂, ∂K₁⟩ + ⟨M ∘ K₁, ∂K₂⟩."""
    R1, R2 = R
    K1 = _gram(kernel.left_, R1)
    K2 = _gram(kernel.right_, R2)
    product = isinstance(kernel, Product)
    left = _named("left", kernel.left_, R1, K1, M * K2 if product else M)
    right = _named("right", kernel.right_, R2, K2, M * K1 if product else M)
    return left | right


def _named(name: str, kernel: Kernel, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """The gradients of a part, by the names of its parameters in the whole kernel."""
    return {f"{name}__{key}": value for key, value in log_gradients(kernel, R, K, M).items()}


def _gram(kernel: Kernel, R: Any) -> np.ndarray:
    """K in Fortran order, as M is."""
    return np.asarray(to_numpy(kernel.gram(R).detach()), dtype=float).T
