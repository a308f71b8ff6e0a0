"""h(x) as the prediction."""

from __future__ import annotations

from typing import Any

from iokr._array import Array
from iokr._component import component
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding

__all__ = ["Identity"]


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
