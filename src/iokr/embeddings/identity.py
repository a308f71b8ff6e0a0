"""Vector outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from iokr._array import Array, array_namespace, asarray_like, is_array, is_numpy, row_sq_norms
from iokr._component import component
from iokr._state import made_from
from iokr._validation.arguments import check_computed, check_numbers, check_vectors
from iokr.data.objects import error_context
from iokr.embeddings.base import EuclideanEmbedding
from iokr.kernels.base import Kernel

__all__ = ["Identity"]


@component
class Identity(EuclideanEmbedding):
    """ψ(y) = y, for vector outputs.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.embeddings import Identity
    >>> model = IOKR(embedding=Identity(), alpha=1e6).fit([[0.0], [1.0]], [1.0, 3.0])
    >>> model.predict([[0.5]]).round(3)
    array([2.])
    """

    mean_: ClassVar[Any] = None  # of models of format 1 that were fitted to centred outputs

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Identity:
        """The embedding that has this state; files of format 1 have `centered`, of which `mean_` has the effect."""
        made: Identity = made_from(cls, {name: part for name, part in state.items() if name != "centered"})
        return made

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Ψ (n, q); a NaN entry is missing."""
        if kernel is not None:
            raise ValueError(
                "`Identity()` is for vector outputs; with an `output_kernel` use `Implicit()` or `Eigen()`."
            )
        Y = _as_matrix(Y, "y", missing=True)
        self.n_outputs_ = int(Y.shape[1])
        if self.n_outputs_ == 0:
            raise ValueError(f"`y` has shape {tuple(Y.shape)}; at least one coordinate is needed.")
        self.__dict__.pop("mean_", None)
        return Y

    def represent(self, Y: Any, name: str = "y") -> Array:
        """The vectors."""
        Y = _as_matrix(Y, name, missing=name == "y")
        if Y.shape[1] != self.n_outputs_:
            raise ValueError(f"Outputs had {self.n_outputs_} coordinates at fit but `{name}` has {Y.shape[1]}.")
        return Y if self.mean_ is None else Y - asarray_like(self.mean_, Y)[None, :]

    def vectors(self, H: Array) -> Array:
        """h(x)."""
        return H if self.mean_ is None else H + asarray_like(self.mean_, H)[None, :]


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
