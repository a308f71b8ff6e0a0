"""What a product with the Gram of pairs costs in each of its forms, about: from this the form is chosen."""

from __future__ import annotations

from typing import NamedTuple

from iokr.gram.pairs.loops import has_compiler

__all__ = ["ProductCosts", "matrix_cost", "product_costs"]

# Nanoseconds of one multiplication and addition: in a product of matrices; along rows and in inner products, compiled,
# then without a compiler, while K fits the cache and beyond.
_GEMM, _ENTRY = 0.04, 8.0
_AXPY, _DOT = (0.12, 0.16), (0.13, 0.22)
_AXPY_PLAIN, _DOT_PLAIN, _CALL = (0.25, 0.7), (0.9, 1.0), 1000.0  # and what a call costs
_CACHE = 1 << 20  # numbers


class ProductCosts(NamedTuple):
    """Nanoseconds of the scatter as a sparse and as a dense product, and of the gather entry by entry and as one."""

    sparse: float
    dense: float
    dots: float
    gemm: float


def product_costs(shape: tuple[int, int], n_left: int, n_points: int) -> ProductCosts:
    """For K of this shape, `n_left` pairs of the rows and `n_points` ordered pairs of the columns."""
    rows, columns = shape
    fast, beyond = has_compiler(), int(rows * columns > _CACHE)
    axpy, dot = (_AXPY[beyond], _DOT[beyond]) if fast else (_AXPY_PLAIN[beyond], _DOT_PLAIN[beyond])
    return ProductCosts(
        sparse=n_points * rows * axpy,
        dense=columns * columns * rows * _GEMM,
        dots=n_left * columns * dot + (0.0 if fast else _CALL * rows),
        gemm=rows * rows * columns * _GEMM,
    )


def matrix_cost(shape: tuple[int, int], q: int, *, mixed: bool) -> float:
    """Nanoseconds of a product of the matrix of pairs, evaluated on the way, with q columns."""
    return shape[0] * shape[1] * (_ENTRY * (2 if mixed else 1) + q * _GEMM)
