"""The kernels that are searched where none is given."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import is_array, is_sparse
from iokr._validation.arguments import check_choice
from iokr.kernels.base import Kernel, Scaled
from iokr.kernels.standardized import Standardized
from iokr.kernels.vectors import RBF, Laplacian, Linear, median_gamma, median_gamma_l1, typical_rows
from iokr.operator_kernels.base import OperatorKernel

__all__ = ["KERNEL_ROWS", "default_kernel", "is_linear", "kernel_list", "standardizes", "with_standardized"]

KERNEL_ROWS = 1500  # the most rows on which a kernel is chosen
_RBF = tuple(4.0**k for k in range(-3, 4))  # γ in units of 1 / median of the squared distances: widths 8 to 1/8
_LAPLACIAN = tuple(4.0**k for k in range(-3, 2))  # γ in units of 1 / median of the ℓ₁ distances: widths 64 to 1/4


def standardizes(standardize: Any, X: Any) -> bool:
    """Whether columns are standardised where no kernel is given: for dense numbers, unless it is switched off."""
    given = check_choice(standardize, "standardize", ("auto", True, False))
    return is_array(X) and not is_sparse(X) if given == "auto" else bool(given)


def default_kernel(kernel: Any, standardize: Any, X: Any) -> Any:
    """The kernel that was given, or RBF with the median width; on standardised columns where these are wanted."""
    given = check_choice(standardize, "standardize", ("auto", True, False))
    if kernel is not None:
        return with_standardized([kernel])[0] if given is True else kernel
    dense = not is_sparse(X)
    return Standardized(RBF()) if given is True or (given == "auto" and dense) else RBF()


def kernel_list(X: Any, standardize: Any = "auto") -> list[Kernel]:
    """RBF at seven widths about the median distance, Laplacian at five, and the inner product, k(x, x) near one.

    Parameters
    ----------
    X : matrix of numbers, may be sparse
    standardize : {"auto", True, False}, default="auto"
        Whether the kernels act on standardised columns; "auto" is for dense X.
    """
    moved = standardizes(standardize, X)
    Z = Standardized(Linear()).fit(X).standardized(X) if moved else X
    rows = typical_rows(Z)
    gamma, gamma_l1 = median_gamma(rows), median_gamma_l1(rows)
    kernels: list[Kernel] = [RBF(_rounded(gamma * factor)) for factor in _RBF]
    kernels += [Laplacian(_rounded(gamma_l1 * factor)) for factor in _LAPLACIAN]
    size = float(np.mean(np.sum(rows**2, axis=1)))
    kernels.append(Scaled(Linear(), _rounded(1.0 / size)) if size > 0 else Linear())
    return [Standardized(kernel) for kernel in kernels] if moved else kernels


def is_linear(kernel: Any) -> bool:
    """Whether a kernel of the list is the inner product."""
    while isinstance(kernel, (Standardized, Scaled)):
        kernel = kernel.base
    return isinstance(kernel, Linear)


def _rounded(value: float) -> float:
    """Six digits, for people who read the kernel."""
    return float(f"{value:.6g}")


def with_standardized(kernels: list[Any]) -> list[Any]:
    """Kernels that were given, on standardised columns."""
    for kernel in kernels:
        if isinstance(kernel, OperatorKernel):
            raise ValueError(
                "`standardize=True` needs kernels on vectors; inside an operator kernel write `Standardized(kernel)`."
            )
    return [Standardized(kernel) for kernel in kernels]
