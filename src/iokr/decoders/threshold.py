"""Label sets as 0/1 vectors, decoded exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, is_array, is_sparse, to_numpy
from iokr._component import component
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding

__all__ = ["Threshold"]


@component
class Threshold(Decoder):
    """ŷ_j = 1 if h_j(x) > ½: the nearest 0/1 vector to h(x), exactly, under a linear output kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.decoders import Threshold
    >>> labels = np.array([[1, 0], [0, 1]])
    >>> IOKR(alpha=1e-3, decoder=Threshold()).fit([[0.0], [1.0]], labels).predict([[0.1]])
    array([[1., 0.]])
    """

    def fit(self, Y: Any, embedding: Embedding) -> Threshold:
        """Needs 0/1 outputs and a linear ψ."""
        from iokr.embeddings.base import KernelEmbedding
        from iokr.kernels.vectors import Linear

        if isinstance(embedding, KernelEmbedding) and not isinstance(embedding.kernel_, Linear):
            raise ValueError(
                f"`Threshold()` is exact for a linear output kernel only, got {embedding.kernel_!r}; "
                "use `Candidates()`, or leave `output_kernel` out."
            )
        values = Y.data if is_sparse(Y) else to_numpy(Y) if is_array(Y) else np.asarray(Y)
        if not np.all((values == 0) | (values == 1) | ((values != values) if values.dtype.kind == "f" else False)):
            raise ValueError(
                "`Threshold()` decodes 0/1 vectors, but `y` has other values; use `Identity()` or `Candidates()`."
            )
        return self

    def decode(self, H: Array, embedding: Embedding) -> Array:
        """1{h_j > ½}."""
        V = embedding.vectors(H)
        return array_namespace(V).astype(V > 0.5, V.dtype)
