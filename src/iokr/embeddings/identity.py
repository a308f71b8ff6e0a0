"""Vector outputs."""

from __future__ import annotations

from typing import Any, ClassVar

from iokr._array import Array, array_namespace, asarray_like, is_array, is_numpy, row_sq_norms
from iokr._component import Limits, component
from iokr._validation.arguments import FLAG, check_computed, check_numbers, check_vectors
from iokr.data.objects import error_context
from iokr.embeddings.base import EuclideanEmbedding
from iokr.kernels.base import Kernel

__all__ = ["Identity"]


@component
class Identity(EuclideanEmbedding):
    """ψ(y) = y, or y − mean, for vector outputs.

    Parameters
    ----------
    centered : bool, default=False
        Subtract the (weighted) mean of the training outputs, which `predict` adds again: an intercept.

    Attributes
    ----------
    mean_ : array of shape (q,)
        Zero unless centred.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.embeddings import Identity
    >>> model = IOKR(embedding=Identity(centered=True), alpha=1e6).fit([[0.0], [1.0]], [1.0, 3.0])
    >>> model.predict([[0.5]]).round(3)
    array([2.])
    """

    centered: bool = False

    limits: ClassVar[Limits] = {"centered": FLAG}

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Ψ (n, q); a NaN entry is missing."""
        if kernel is not None:
            raise ValueError(
                "`Identity()` is for vector outputs; with an `output_kernel` use `Implicit()` or `Eigen()`."
            )
        self.check_parameters()
        Y = _as_matrix(Y, "y", missing=True)
        self.n_outputs_ = int(Y.shape[1])
        if self.n_outputs_ == 0:
            raise ValueError(f"`y` has shape {tuple(Y.shape)}; at least one coordinate is needed.")
        xp = array_namespace(Y)
        observed = ~xp.isnan(Y)
        if self.centered:
            w = xp.ones_like(Y[:, 0]) if sample_weight is None else asarray_like(sample_weight, Y)
            weights = xp.where(observed, w[:, None], 0.0)
            total = xp.sum(weights, axis=0)
            self.mean_ = xp.sum(weights * xp.where(observed, Y, 0.0), axis=0) / xp.where(total > 0, total, 1.0)
            return Y - self.mean_[None, :]
        self.mean_ = xp.zeros_like(Y[0, :])
        return Y

    def represent(self, Y: Any, name: str = "y") -> Array:
        """The vectors, centred as at fit."""
        Y = _as_matrix(Y, name, missing=name == "y")
        if Y.shape[1] != self.n_outputs_:
            raise ValueError(f"Outputs had {self.n_outputs_} coordinates at fit but `{name}` has {Y.shape[1]}.")
        return Y - asarray_like(self.mean_, Y)[None, :]

    def vectors(self, H: Array) -> Array:
        """h(x) + mean."""
        return H + asarray_like(self.mean_, H)[None, :]


def _as_matrix(Y: Any, name: str, *, missing: bool) -> Array:
    if not is_array(Y) or (is_numpy(Y) and Y.dtype.kind not in "buifc"):
        Y = check_numbers(Y, name)
    if Y.ndim == 1:
        Y = Y[:, None]
    if Y.ndim != 2:
        raise ValueError(f"`{name}` must be a vector or a matrix with a row per object, got shape {tuple(Y.shape)}.")
    Y = check_vectors(Y, name, missing=missing)
    xp = array_namespace(Y)
    with error_context(name):
        check_computed(row_sq_norms(xp.where(xp.isnan(Y), 0.0, Y)), "Row", "Σ‖y‖²", room=float(Y.shape[0]))
    return Y
