"""The nearest label set."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, is_sparse, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_integer
from iokr.data.objects import as_array, as_objects, is_numeric
from iokr.decoders._search.linear import output_kernel, output_weights
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding, KernelEmbedding
from iokr.kernels.structured.sets import Hamming
from iokr.kernels.vectors import Linear

__all__ = ["Threshold"]


@component
class Threshold(Decoder):
    """ŷ_j = 1 if h_j(x) > ½: the nearest 0/1 vector to h(x), exactly, under a linear output kernel.

    ‖h(x) − y‖² = ‖h(x)‖² + Σ_j y_j (1 − 2h_j(x)): the best set of a given size has the labels with the largest h_j, so
    that limits on the size are exact, too. With the output kernel `Hamming()`, label j is predicted if the weight
    Σ_i β_i(x) of the training sets with it is larger than that of the others; outputs may then be Python sets. Ties go
    to the first labels.

    Parameters
    ----------
    min_size : int, default=0
        The smallest number of labels of a prediction.
    max_size : int, default=None
        The largest number; None is all labels.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.decoders import Threshold
    >>> labels = np.array([[1, 0], [0, 1]])
    >>> IOKR(alpha=1e-3, decoder=Threshold()).fit([[0.0], [1.0]], labels).predict([[0.1]])
    array([[1., 0.]])
    """

    min_size: int = 0
    max_size: int | None = None

    def _stored(self) -> dict[str, Any]:
        return {"labels": self._labels, "output_type": self._kind}

    def fit(self, Y: Any, embedding: Embedding) -> Threshold:
        """Raise unless outputs are 0/1 vectors with a linear kernel, or the kernel is `Hamming()`."""
        kernel, _ = output_kernel(embedding)
        self._labels: list[Any] | None = None
        self._kind: type | None = None
        if isinstance(kernel, Hamming):
            self._labels = kernel.labels_
            if not is_numeric(Y) and all(isinstance(y, (set, frozenset)) for y in Y):
                self._kind = type(next(iter(Y)))
            self._check_sizes(len(self._labels))
            return self
        if isinstance(embedding, KernelEmbedding) and not isinstance(embedding.kernel_, Linear):
            raise ValueError(
                f"`Threshold()` is exact for a linear output kernel or `Hamming()` only, got {embedding.kernel_!r}; "
                "use `Candidates()`, or no `output_kernel`."
            )
        values = Y.data if is_sparse(Y) else as_array(Y)
        if not np.all((values == 0) | (values == 1) | (values != values)):  # NaN is missing
            raise ValueError(
                "`Threshold()` decodes 0/1 vectors, but `y` has other values; use `Identity()` or `Candidates()`."
            )
        shape = np.shape(Y)
        self._check_sizes(shape[1] if len(shape) > 1 else 1)
        return self

    def _check_sizes(self, n_labels: int) -> None:
        low = check_integer(self.min_size, "min_size", minimum=0)
        high = n_labels if self.max_size is None else check_integer(self.max_size, "max_size", minimum=0)
        if low > min(high, n_labels):
            raise ValueError(
                f"`min_size` must be at most `max_size` and the number of labels, got {low}, {high} and {n_labels}."
            )

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """1{h_j > ½}, with at least `min_size` and at most `max_size` of the largest h_j."""
        if self._labels is None:
            V = embedding.vectors(H)
        else:
            weights, S = output_weights(H, embedding)
            V = asarray_like(0.5 + weights @ to_numpy(S)[:, :-1], H)
        xp = array_namespace(V)
        chosen = V > 0.5
        if self.min_size or self.max_size is not None:
            place = xp.argsort(xp.argsort(-V, axis=1, stable=True), axis=1, stable=True)
            if self.max_size is not None:
                chosen = chosen & (place < self.max_size)
            chosen = chosen | (place < self.min_size)
        if self._kind is None or self._labels is None:
            return xp.astype(chosen, V.dtype)
        return as_objects(self._kind(self._labels[j] for j in np.flatnonzero(row)) for row in to_numpy(chosen))
