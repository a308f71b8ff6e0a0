"""The nearest sequence, position by position."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, is_array
from iokr._component import component
from iokr._objects import as_objects, key
from iokr.decoders.base import Decoder
from iokr.decoders.linear import output_kernel, output_weights
from iokr.embeddings.base import Embedding
from iokr.kernels.generic import Delta
from iokr.kernels.sequences import Positional, sequences_of

__all__ = ["Positions"]


@component
class Positions(Decoder):
    """ŷ_t = argmax_a Σ_i β_i(x) 1{y_it = a}, for every t up to the length that fits best.

    The nearest of all sequences over the letters of the training outputs, exactly, for the output kernel
    `Positional(Delta())`: with s_t the best score at position t, ‖h(x) − ψ(y)‖² is ‖h(x)‖² + Σ_t (1 − 2 s_t) over the
    positions of y. The kernel may be in `Normalized`, where (Σ_t s_t)/√length is made large. When all training outputs
    are of one length, so are the answers. Ties go to the letter that comes first in the training outputs, and to the
    shorter sequence.

    Attributes
    ----------
    letters_ : list
        The letters of the training outputs, in the order in which they appear.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import Positions
    >>> from iokr.kernels import RBF, Delta, Positional
    >>> words = ["cat", "car", "cot"]
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> model = IOKR(RBF(0.5), output_kernel=Positional(Delta()), decoder=Positions(), alpha=0.01).fit(X, words)
    >>> model.predict([[1.0, 1.0]])  # a word that was not there
    array(['cor'], dtype=object)
    """

    def fit(self, Y: Any, embedding: Embedding) -> Positions:
        """The letters, and which output has which of them where."""
        kernel, _ = output_kernel(embedding)
        if not isinstance(kernel, Positional) or not isinstance(kernel.base, Delta) or kernel.combine != "sum":
            raise ValueError(
                f"`Positions()` needs the output kernel `Positional(Delta())`, got {kernel!r}; use `Candidates()`."
            )
        sequences = sequences_of(Y)
        names: dict[Any, int] = {}
        self.letters_: list[Any] = []
        self.lengths_ = np.array([len(y) for y in sequences])
        self._codes = np.full((len(sequences), int(self.lengths_.max())), -1)
        for i, y in enumerate(sequences):
            for t, letter in enumerate(y):
                name = key(letter)
                if name not in names:
                    names[name] = len(self.letters_)
                    self.letters_.append(letter)
                self._codes[i, t] = names[name]
        self._kind = type(sequences[0]) if len({type(y) for y in sequences}) == 1 else list
        self._matrix = is_array(Y) and Y.ndim == 2
        return self

    def decode(self, H: Array, embedding: Embedding, lengths: Any = None) -> Any:
        """The nearest sequence for each row of H, of the given lengths where they are known."""
        _, unit = output_kernel(embedding)
        weights, _ = output_weights(H, embedding)
        letters, scores = self._best(weights)
        total = np.cumsum(scores, axis=1)
        steps = np.arange(1, total.shape[1] + 1)
        if lengths is not None:
            chosen = np.minimum(np.asarray(lengths, dtype=np.intp), total.shape[1])
        elif self.lengths_.min() == self.lengths_.max():
            chosen = np.full(len(total), total.shape[1])
        else:
            chosen = 1 + np.argmin(-total / np.sqrt(steps) if unit else steps - 2 * total, axis=1)
        rows = [[self.letters_[a] for a in row[:length]] for row, length in zip(letters, chosen, strict=True)]
        if self._matrix:
            return np.array(rows)
        if issubclass(self._kind, str):
            return as_objects("".join(row) for row in rows)
        return as_objects(np.array(row) if issubclass(self._kind, np.ndarray) else self._kind(row) for row in rows)

    def _best(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(letters, scores), (m, T): the letter with the largest score at each position."""
        m, longest = len(weights), self._codes.shape[1]
        letters, scores = np.empty((m, longest), dtype=np.intp), np.empty((m, longest))
        for t in range(longest):
            here = self._codes[:, t]
            onehot = (here[:, None] == np.arange(len(self.letters_))).astype(np.float64)
            table = weights @ onehot
            letters[:, t] = table.argmax(axis=1)
            scores[:, t] = table.max(axis=1)
        return letters, scores
