"""ψ : Y → F, by coordinates in ℝ^q."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    blocks,
    empty_like,
    gemm,
    is_array,
    is_numpy,
    is_sparse,
    matmul,
    row_sq_norms,
    take_rows,
    to_numpy,
)
from iokr._component import Component
from iokr._system.memory import check_memory
from iokr._validation.arguments import check_computed, check_not_tiny, check_vectors
from iokr.data.bits import Bits
from iokr.data.objects import error_context
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel, check_gram
from iokr.kernels.vectors import Linear

__all__ = [
    "TO_REDUCE_MEMORY",
    "CoordinateEmbedding",
    "Embedding",
    "EuclideanEmbedding",
    "KernelEmbedding",
    "as_vectors",
]

TO_REDUCE_MEMORY = "To reduce memory: fewer rows or, where `embedding` is a parameter, `Nystroem(n_components)`."

_CACHES = ("gram", "_along_kept")  # of a fitted embedding: neither pickled nor kept by the next fit
_PANEL = 1 << 22  # entries of the output kernel that are evaluated at a time


class Embedding(Component, ABC):
    """ψ(y) in coordinates: Ψ (n, q) for n outputs, and the inner product of F in these coordinates.

    Outputs are represented once by `represent`, sliceable by rows; the other methods take representations `S`.

    Examples
    --------
    >>> from iokr.embeddings import Embedding, Identity
    >>> isinstance(Identity(), Embedding)
    True
    >>> Identity().fit_transform([[1.0], [3.0]])
    array([[1.],
           [3.]])
    """

    has_vectors: bool = False  # whether ψ(y) is a vector of numbers from which `vectors` gives y back
    functional: bool = False  # outputs are functions, which `represent` reads in any form: `Curves`
    explicit: bool = True  # whether an operator A may act on the coordinates, which have a meaning then
    is_identity: bool = False  # Ψ = I: coordinates are weights on the training outputs
    n_components: int | None = None  # the most coordinates; None where their number follows from the outputs
    has_residual: bool = False  # represented outputs have the norm of what is outside of the coordinates as last column
    kernel_: Kernel | None = None  # the output kernel, fitted; None where outputs are vectors
    S_fit_: Any = None  # the represented training outputs, of embeddings through a kernel

    @abstractmethod
    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Ψ (n, q) of the training outputs; NaN entries are missing."""

    @abstractmethod
    def represent(self, Y: Any, name: str = "y") -> Any:
        """Check and parse outputs, once; `name` is their name in messages."""

    @abstractmethod
    def inner(self, H: Array, S: Any) -> Array:
        """⟨h_i, ψ(y_j)⟩, shape (n, m)."""

    @abstractmethod
    def sq_norms(self, S: Any) -> Array:
        """‖ψ(y_j)‖², shape (m,)."""

    @abstractmethod
    def sq_norms_of(self, H: Array) -> Array:
        """‖h_i‖² for values in these coordinates, shape (n,)."""

    @abstractmethod
    def sq_residuals(self, H: Array, S: Any) -> Array:
        """‖h_i − ψ(y_i)‖², row by row, shape (n,)."""

    @abstractmethod
    def spread(self, S: Any, weight: np.ndarray) -> float:
        """Σ_i w_i ‖ψ(y_i) − mean‖²."""

    def coordinates(self, S: Any, like: Array) -> Array:
        """ψ(y_j) in these coordinates, (m, q), on the device of `like`. May be overridden."""
        raise ValueError(f"{self!r} has no coordinates for new outputs; use `Eigen()`.")

    def euclidean(self, Psi: Array) -> Array:
        """The training outputs in orthonormal coordinates, (n, r). May be overridden."""
        return Psi

    def outside(self) -> Array | None:
        """√(‖ψ(y_i)‖² − ‖z_i‖²) of the training outputs, (n,), right after `fit_transform`; None for none.

        May be overridden.
        """
        return None

    def left_out(self, weight: np.ndarray | None, groups: np.ndarray | None = None) -> float:
        """Σ w_i (‖ψ(y_i)‖² − ‖z_i‖²) / Σ w, what leave-one-out errors have outside of the coordinates.

        May be overridden.
        """
        return 0.0

    def span(self, B: Array) -> Array:
        """Weights on the ψ(y_i) after this embedding's projection. May be overridden."""
        return B

    def along(self, V: Array) -> Embedding | None:
        """The embedding by Vᵀz(y), V (r, p) orthonormal, for h given as Vᵀh, or None. May be overridden."""
        return None

    def vectors(self, H: Array) -> Array:
        """h as vectors in the space of the outputs, for linear ψ. May be overridden."""
        raise ValueError(f"{self!r} cannot return outputs as vectors; use `Candidates()` to decode.")


class EuclideanEmbedding(Embedding):
    """ψ(y) a vector of ℝ^q, returned by `represent`: ⟨·,·⟩ and ‖·‖ are those of ℝ^q, over the entries that are not NaN.

    A subclass writes `fit_transform`, `represent` and `vectors`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.extend import component
    >>> from iokr.embeddings import EuclideanEmbedding
    >>> @component
    ... class Logarithm(EuclideanEmbedding):
    ...     def fit_transform(self, Y, kernel=None, sample_weight=None):
    ...         return self.represent(Y)
    ...     def represent(self, Y, name="y"):
    ...         return np.log(np.asarray(Y, dtype=float))
    ...     def vectors(self, H):
    ...         return np.exp(H)
    >>> Logarithm().sq_norms(Logarithm().represent([[1.0, np.e]]))
    array([1.])
    """

    has_vectors = True

    @abstractmethod
    def vectors(self, H: Array) -> Array:
        """h as vectors in the space of the outputs, from ψ to y."""

    def coordinates(self, S: Array, like: Array) -> Array:
        """ψ(y_j)."""
        return asarray_like(S, like)

    def inner(self, H: Array, S: Array) -> Array:
        """⟨h_i, ψ(y_j)⟩."""
        return gemm(H, asarray_like(S, H))

    def sq_norms(self, S: Array) -> Array:
        """‖ψ(y_j)‖²."""
        return row_sq_norms(S)

    def sq_norms_of(self, H: Array) -> Array:
        """‖h_i‖²."""
        return check_computed(row_sq_norms(H), "Row", "‖h(x)‖²")

    def sq_residuals(self, H: Array, S: Array) -> Array:
        """‖h_i − ψ(y_i)‖² over the observed entries. May be overridden."""
        S = asarray_like(S, H)
        xp = array_namespace(H)
        return row_sq_norms(xp.where(xp.isnan(S), 0.0, H - S))

    def spread(self, S: Array, weight: np.ndarray) -> float:
        """Σ_i w_i ‖ψ(y_i) − mean‖² over the observed entries."""
        Y = to_numpy(S)
        w = np.where(np.isnan(Y), 0.0, weight[:, None])
        Y = np.nan_to_num(Y)
        total = w.sum(axis=0)
        mean = (w * Y).sum(axis=0) / np.where(total > 0, total, 1.0)
        return float((w * (Y - mean) ** 2).sum())


def as_vectors(Y: Any, kernel: Kernel, name: str) -> Any:
    """Outputs of a kernel on vectors as a checked matrix, a column for plain numbers; other outputs unchanged."""
    if not kernel.numeric or (isinstance(Y, Bits) and kernel.domain == "fingerprints"):
        return Y
    if not is_sparse(Y) and not is_array(Y):
        Y = np.asarray(Y)
    if len(Y.shape) == 1 and (not is_numpy(Y) or Y.dtype.kind in "buif"):
        Y = Y[:, None]
    return check_vectors(Y, name)


class KernelEmbedding(Embedding):
    """ψ(y) = k_Y(·, y), known through the output kernel only."""

    explicit = False
    kernel_: Kernel

    def _stored(self) -> dict[str, Any]:
        return {"width": self._width, "home": self._home}

    def _fit_kernel(self, Y: Any, kernel: Kernel | None, squares: float = 0.0, host: float = 0.0) -> Any:
        """Represent the outputs and check their kernel, if there is memory for `squares` arrays of n × n numbers.

        `host` of these are on the host; where the outputs are on a device, they come on top.
        """
        self.check_parameters()
        if kernel is None:
            raise ValueError(f"{self!r} needs an output kernel; set `output_kernel`.")
        self.kernel_ = kernel
        self._width: int | None = None
        for stale in _CACHES:
            self.__dict__.pop(stale, None)
        self._home = empty_like((0,), Y) if is_array(Y) else None  # library and device of the outputs
        self.S_fit_ = self.represent(Y)
        n = int(self.S_fit_.shape[0])
        home = self._home if kernel.numeric and not is_numpy(self._home) else None
        for needed, like in ((squares, home), (host if home is not None else 0.0, None)):
            check_memory(8.0 * needed * n * n, f"{self!r} of an output kernel on {n} points", TO_REDUCE_MEMORY, like)
        if kernel.numeric and not float(np.max(to_numpy(kernel.diag(self.S_fit_)), initial=0.0)) > 0:
            check_not_tiny(as_vectors(Y, kernel, "y"), "y")
        check_gram(self.gram, kernel.trusted, "output_kernel")
        return self.S_fit_

    @cached_property
    def gram(self) -> ScalarGram:
        """K_Y of the training outputs; not pickled."""
        return self.kernel_.gram(self.S_fit_)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in _CACHES}

    def represent(self, Y: Any, name: str = "y") -> Any:
        """The representation of the output kernel; numbers are vectors with one coordinate."""
        Y = as_vectors(Y, self.kernel_, name)
        if self.kernel_.numeric:
            self._width = Y.shape[1] if self._width is None else self._width
            if Y.shape[1] != self._width:
                raise ValueError(f"Outputs had {self._width} coordinates at fit but `{name}` has {Y.shape[1]}.")
        if self._home is not None and is_array(Y):
            Y = asarray_like(Y, self._home)
        with error_context(name):
            S = self.kernel_.represent(Y)
            if self.kernel_.numeric:  # other kernels are checked by `sq_norms`, as k_Y(y, y) may be costly
                check_computed(self.kernel_.diag(S), what="k_Y(y, y)")
            return S

    def vectors(self, H: Array) -> Array:
        """h as a combination of the training outputs, for a linear output kernel."""
        if not isinstance(self.kernel_, Linear):
            return super().vectors(H)
        return self._combined(H, self.S_fit_.toarray() if is_sparse(self.S_fit_) else self.S_fit_)

    @abstractmethod
    def _combined(self, H: Array, Y: Array) -> Array:
        """h from the training outputs Y, which are vectors."""

    def weights(self, H: Array) -> Array:
        """β (m, n) with h_i = Σ_j β_ij ψ(y_j) over the training outputs. May be overridden."""
        raise ValueError(f"{self!r} has no weights on the training outputs; use `Implicit()` or `Eigen()`.")

    def sq_norms(self, S: Any) -> Array:
        """k_Y(y_j, y_j)."""
        return check_computed(self.kernel_.diag(S), "Output", "k_Y(y, y)")

    def spread(self, S: Any, weight: np.ndarray) -> float:
        """Σ w_i k_Y(y_i, y_i) − Σ_ij w_i w_j k_Y(y_i, y_j) / Σ w."""
        total = 0.0
        n = S.shape[0]
        for rows in blocks(n, max(1, _PANEL // max(n, 1))):
            total += float(weight[rows] @ to_numpy(self.kernel_.block(take_rows(S, rows), S)) @ weight)
        return float(weight @ to_numpy(self.kernel_.diag(S))) - total / float(weight.sum())

    def _cross(self, S: Any, like: Array) -> Array:
        """k_Y(y_j, y_i) with the training outputs y_i, on the device of `like`."""
        return asarray_like(self.kernel_.block(S, self.S_fit_), like)

    def sq_residuals(self, H: Array, S: Any) -> Array:
        """‖h_i‖² − 2⟨h_i, ψ(y_i)⟩ + k_Y(y_i, y_i)."""
        parts = []
        for rows in blocks(H.shape[0], max(1, _PANEL // max(self.S_fit_.shape[0], 1))):
            part = H[rows, :]
            some = take_rows(S, rows)
            crossed = self._paired(part, some)
            parts.append(self.sq_norms_of(part) - 2 * crossed + asarray_like(self.sq_norms(some), part))
        xp = array_namespace(H)
        return xp.clip(xp.concat(parts), min=0.0)

    def _paired(self, H: Array, S: Any) -> Array:
        """⟨h_i, ψ(y_i)⟩."""
        return array_namespace(H).linalg.diagonal(self.inner(H, S))


class CoordinateEmbedding(KernelEmbedding):
    """z(y) ∈ ℝ^r, orthonormal coordinates of ψ(y) or of its projection, computed from k_Y by `coordinates`."""

    directions_: Array | None = None

    @abstractmethod
    def coordinates(self, S: Any, like: Array) -> Array:
        """z(y_j), (m, r), on the device of `like`."""

    def along(self, V: Array) -> CoordinateEmbedding:
        """⟨h, ψ(y)⟩ = ⟨Vᵀh, Vᵀz(y)⟩ for h in the span of V (r, p), orthonormal, and given as Vᵀh: p numbers an output.

        ‖ψ(y)‖² is still k_Y(y, y).
        """
        reduced = copy(self)
        reduced.directions_ = V
        return reduced

    def inner(self, H: Array, S: Any) -> Array:
        """⟨h_i, z(y_j)⟩."""
        return gemm(H, self._along(S, H))

    def _along(self, S: Any, like: Array) -> Array:
        """z(y_j), or Vᵀz(y_j) along `directions_`. May be overridden."""
        Z = self.coordinates(S, like)
        return Z if self.directions_ is None else matmul(Z, asarray_like(self.directions_, like))

    def sq_norms_of(self, H: Array) -> Array:
        """‖h_i‖²."""
        return row_sq_norms(H)

    def _paired(self, H: Array, S: Any) -> Array:
        return array_namespace(H).sum(H * self._along(S, H), axis=1)
