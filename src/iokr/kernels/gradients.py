"""⟨M, ∂K/∂log θ⟩ for the positive parameters θ of a kernel: n²p flops for p widths together."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymm

from iokr._array import to_numpy
from iokr.kernels.ard import ARD
from iokr.kernels.base import BinaryKernel, Kernel, Product, Scaled, Sum
from iokr.kernels.vectors import RBF

__all__ = ["log_gradients"]


@singledispatch
def log_gradients(kernel: Kernel, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """⟨M, ∂K/∂log θ⟩ by the name of θ as `get_params` has it, for a fitted kernel with the Gram matrix K on R.

    M is symmetric and given by its entries on and below the diagonal, in Fortran order; nothing above is read. Kernels
    without parameters that can be learned have none. Others are registered by class.
    """
    return {}


def _scatter(X: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """½ Σ_ij Q_ij (x_il − x_jl)² = Σ_i (Q1)_i x_il² − x_lᵀ Q x_l for every column l; Q by its lower triangle."""
    both = np.asfortranarray(np.concatenate([X, np.ones((len(X), 1))], axis=1))
    products = dsymm(1.0, Q, both, lower=1)
    return np.asarray(products[:, -1] @ X**2 - np.sum(X * products[:, :-1], axis=0))


def _inner(M: np.ndarray, K: np.ndarray) -> float:
    """⟨M, K⟩ from the lower triangle of M."""
    lower = np.tril(M * K)
    return float(2 * lower.sum() - np.trace(lower))


def _vectors(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else to_numpy(X), dtype=float)


@log_gradients.register
def _(kernel: ARD, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """−2 [Σ_i (Q1)_i x̃_il² − x̃_lᵀ Q x̃_l] with Q = M ∘ K and x̃_l = √γ_l x_l."""
    return {"gammas": -2 * _scatter(_vectors(R.parts[0]), M * K)}


@log_gradients.register
def _(kernel: RBF, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """The sum of those of equal widths."""
    X = _vectors(R.parts[0])
    return {"gamma": np.atleast_1d(-2 * kernel.gamma_ * _scatter(X - X.mean(axis=0), M * K).sum())}


@log_gradients.register
def _(kernel: Scaled, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """⟨M, K⟩, and those of the base."""
    base = _named("base", kernel.base_, R, _gram(kernel.base_, R), kernel.factor * M)
    return {"factor": np.atleast_1d(_inner(M, K)), **base}


@log_gradients.register(Sum)
@log_gradients.register(Product)
def _(kernel: BinaryKernel, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """M reaches both terms of a sum; the other factor of a product multiplies it."""
    grams = [_gram(part, r) for part, r in zip((kernel.left_, kernel.right_), R, strict=True)]
    reach = [M * grams[1], M * grams[0]] if isinstance(kernel, Product) else [M, M]
    left = _named("left", kernel.left_, R.parts[0], grams[0], reach[0])
    return left | _named("right", kernel.right_, R.parts[1], grams[1], reach[1])


def _named(name: str, kernel: Kernel, R: Any, K: np.ndarray, M: np.ndarray) -> dict[str, np.ndarray]:
    """Those of a part, by their names in the whole."""
    return {f"{name}__{key}": value for key, value in log_gradients(kernel, R, K, M).items()}


def _gram(kernel: Kernel, R: Any) -> np.ndarray:
    """In Fortran order, as M is."""
    return np.asarray(to_numpy(kernel.gram(R).detach()), dtype=float).T
