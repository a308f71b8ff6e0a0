"""ŷ = argmin_y ‖h(x) − ψ(y)‖²: F → Y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from iokr._array import Array
from iokr._component import Component
from iokr.embeddings.base import Embedding

__all__ = ["Decoder"]


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

    @property
    def weighted(self) -> bool:
        """Whether `decode` takes β(x), the weights of the training outputs, in the place of h(x). May be overridden."""
        return False

    def fit(self, Y: Any, embedding: Embedding) -> Decoder:
        """Keep what decoding needs of the training outputs; refuse an embedding it cannot decode. May be overridden."""
        return self

    @abstractmethod
    def decode(self, H: Array, embedding: Embedding) -> Any:
        """An output per row of H."""
