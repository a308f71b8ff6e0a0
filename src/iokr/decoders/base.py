"""F → Y: ŷ = argmin_y ‖h(x) − ψ(y)‖², and h(x) itself as the prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

from iokr._array import Array
from iokr._component import Component, component
from iokr.embeddings.base import Embedding
from iokr.kernels.base import Kernel

__all__ = ["Comparison", "Decoder", "Identity"]


class Comparison(Protocol):
    """What ranks candidates: an `Embedding`, or the expected loss of outputs."""

    kernel_: Kernel | None  # the output kernel, whose domain is that of the outputs
    S_fit_: Any  # the represented training outputs, or None

    def represent(self, Y: Any, name: str = "y") -> Any:
        """Candidates as the other methods take them."""

    def inner(self, H: Array, S: Any) -> Array:
        """⟨h_i, ψ(y_j)⟩, (m, c)."""

    def sq_norms(self, S: Any) -> Array:
        """‖ψ(y_j)‖², (c,)."""

    def sq_norms_of(self, H: Array) -> Array:
        """‖h_i‖², (m,)."""


class Decoder(Component, ABC):
    """ŷ = argmin_y k_Y(y, y) − 2⟨h(x), ψ(y)⟩ over the outputs that a decoder searches.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.decoders import Decoder
    >>> class Rounded(Decoder):
    ...     def decode(self, H, embedding):
    ...         return np.round(embedding.vectors(H))
    >>> IOKR(alpha=0.1, decoder=Rounded()).fit([[0.0], [1.0]], [0.0, 2.0]).predict([[1.0]])
    array([2.])
    """

    weighted: bool = False  # whether `decode` takes β(x), the weights of the training outputs, instead of h(x)
    by: str | None = None  # how candidates are ranked: "distance", "score", or None for what suits the loss
    Y_fit_: Any = None  # the candidates that `fit` keeps, if any

    def fit(self, Y: Any, embedding: Embedding) -> Decoder:
        """Check the parameters, learn from the outputs; reject what cannot be decoded. May be overridden."""
        self.check_parameters()
        return self

    def measure(self) -> Comparison:
        """What compares candidates with β(x), where `weighted`. May be overridden."""
        raise TypeError(f"{self!r:.60} compares candidates with h(x), by the embedding.")

    @abstractmethod
    def decode(self, H: Array, embedding: Embedding) -> Any:
        """An output per row of H."""


@component
class Identity(Decoder):
    """ŷ = h(x), for vector outputs.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import Identity
    >>> IOKR(alpha=1e-8, decoder=Identity()).fit([[0.0], [1.0]], [1.0, 2.0]).predict([[1.0]]).round(3)
    array([2.])
    """

    def fit(self, Y: Any, embedding: Embedding) -> Identity:
        """Needs vector outputs."""
        if not embedding.explicit:
            raise ValueError("`Identity()` decodes vector outputs only; with an `output_kernel` use `Candidates()`.")
        return self

    def decode(self, H: Array, embedding: Embedding) -> Array:
        """h(x), plus the mean that a centred embedding subtracts."""
        return embedding.vectors(H)
