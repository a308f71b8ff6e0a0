"""h(x) in the features of the output kernel, for decoders that search all outputs of a kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr.data.objects import as_objects
from iokr.embeddings.base import Embedding, KernelEmbedding
from iokr.kernels._data.counts import CountKernel
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel, Scaled

__all__ = [
    "count_bound",
    "kernel_option",
    "output_bounds",
    "output_costs",
    "output_kernel",
    "output_weights",
    "search_rows",
]


def output_kernel(embedding: Embedding) -> tuple[Kernel | None, bool]:
    """(base, unit): the output kernel inside `Scaled` and `Normalized`, and whether it is normalised."""
    if not isinstance(embedding, KernelEmbedding):
        return None, False
    kernel: Kernel = embedding.kernel_
    unit = False
    while isinstance(kernel, (Normalized, Scaled)):
        unit |= isinstance(kernel, Normalized)
        kernel = kernel.base_
    return kernel, unit


def kernel_option(kernel: Kernel | None, name: str, default: Any) -> Any:
    """The parameter of a kernel, or of the first one inside it that has such a parameter."""
    waiting = [] if kernel is None else [kernel]
    for here in waiting:
        parameters = here.get_params(deep=False)
        if name in parameters:
            return parameters[name]
        waiting.extend(here.members)
    return default


def output_weights(H: Array, embedding: Any) -> tuple[np.ndarray, Any]:
    """(β, S): h ∝ Σ_i β_i φ(y_i), φ the features of the kernel inside, and the y_i as that kernel represents them.

    The factor of `Scaled(base, c)`, which multiplies h and ψ(y) by √c, is left out: it does not change the nearest
    output.
    """
    weights = to_numpy(embedding.weights(H)).astype(np.float64)
    kernel = embedding.kernel_
    S = embedding.S_fit_
    unit = False
    while isinstance(kernel, (Normalized, Scaled)):
        if isinstance(kernel, Normalized):
            S, scale = S
            weights = weights * to_numpy(scale)
            unit = True
        elif unit:
            weights = weights * np.sqrt(kernel.factor)
        kernel = kernel.base_
    return weights, S


def count_bound(h: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Σ_f w_f min_c (c² − 2c h_f) over whole numbers c: a lower bound of ‖φ(y)‖² − 2⟨h, φ(y)⟩ for counts φ(y)."""
    times = np.round(np.maximum(h, 0.0))
    costs = times**2 - 2 * times * h
    return float(costs.sum() if weight is None else weight @ costs)


def output_bounds(H: Array, embedding: Embedding) -> np.ndarray:
    """Lower bounds of k_Y(y, y) − 2⟨h_i, ψ(y)⟩ over all outputs y: −‖h_i‖², or more if ψ counts parts of outputs."""
    bounds: np.ndarray = -to_numpy(embedding.sq_norms_of(H)).astype(np.float64)
    kernel = embedding.kernel_
    factor = 1.0  # of the costs
    while isinstance(kernel, Scaled):
        factor *= float(kernel.factor)
        kernel = kernel.base_
    if isinstance(kernel, CountKernel):
        weights, S = output_weights(H, embedding)
        counted = [factor * count_bound(np.asarray(row @ S.matrix), S.weight) for row in weights]
        bounds = np.maximum(bounds, counted)
    return bounds


def search_rows(
    H: Array, embedding: Embedding, search: Callable[[int, Array], tuple[Any, float]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(outputs, costs, bounds) of the rows of H, from `search(i, h)` for row i, (1, q): an output and its cost."""
    found = [search(i, H[i : i + 1, :]) for i in range(int(H.shape[0]))]
    costs = np.array([cost for _, cost in found])
    return as_objects([output for output, _ in found]), costs, np.minimum(output_bounds(H, embedding), costs)


def output_costs(h: Array, outputs: Any, embedding: Embedding) -> np.ndarray:
    """k_Y(y, y) − 2⟨h, ψ(y)⟩ of outputs, for one row h, (1, q)."""
    S = embedding.represent(as_objects(outputs), "candidates")
    costs: np.ndarray = to_numpy(asarray_like(embedding.sq_norms(S), h) - 2 * embedding.inner(h, S)[0, :])
    return costs.astype(np.float64)
