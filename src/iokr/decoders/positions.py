"""The nearest sequence under a positional kernel, by dynamic programming along the sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import Array, blocks, is_array
from iokr._component import component
from iokr.data.objects import as_objects, key
from iokr.decoders._search.linear import output_kernel, output_weights
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.kernels.structured.sequences import counts_positions, sequences_of

__all__ = ["Positions", "best_paths"]


_ENTRIES = 1 << 22  # entries of a table of scores


@component
class Positions(Decoder):
    """ŷ = argmax_y Σ_t s_t(y_t) + Σ_t p_t(y_t, y_t+1), s_t(a) = Σ_i β_i(x) 1{y_it = a}, of the best length.

    The nearest of all sequences over the letters of the training outputs, exactly, for the output kernel
    `Positional(Delta())`: by position, or with transitions τ, p_t(a, b) = τ Σ_i β_i(x) 1{y_it = a, y_it+1 = b}, by
    dynamic programming along the sequence (Viterbi). ‖ψ(y)‖² = T + τ (T − 1) depends on the length T only, which is
    chosen last. With the kernel in `Normalized` the largest ⟨h(x), ψ(y)⟩/‖ψ(y)‖ is found. Predictions have the length
    of the training outputs if these have the same length. Ties go to the letter that appears first in the training
    outputs, and to the shorter sequence. The cost is n for each position, with transitions n and letters².

    Attributes
    ----------
    letters_ : list
        The letters of the training outputs, in order of appearance.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import Positions
    >>> from iokr.kernels import RBF, Delta, Positional
    >>> words = ["cat", "car", "cot"]
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> model = IOKR(RBF(0.5), output_kernel=Positional(Delta()), decoder=Positions(), alpha=0.01).fit(X, words)
    >>> model.predict([[1.0, 1.0]])  # not a training output
    array(['cor'], dtype=object)
    """

    def _stored(self) -> dict[str, Any]:
        return {
            "transitions": self._transitions,
            "codes": self._codes,
            "output_type": self._kind,
            "matrix": self._matrix,
        }

    def fit(self, Y: Any, embedding: Embedding) -> Positions:
        """Learn the letters of each output; raise unless the output kernel counts positions."""
        kernel, _ = output_kernel(embedding)
        counting = counts_positions(kernel)
        if counting is None:
            raise ValueError(
                f"`Positions()` needs the output kernel `Positional(Delta())`, got {kernel!r}; use `Candidates()`."
            )
        self._transitions = float(counting.transitions)
        sequences = sequences_of(Y)
        numbers: dict[Any, int] = {}
        self.letters_: list[Any] = []
        self.lengths_ = np.array([len(y) for y in sequences])
        self._codes = np.full((len(sequences), int(self.lengths_.max())), -1)
        for i, y in enumerate(sequences):
            for t, letter in enumerate(y):
                code = numbers.setdefault(key(letter), len(numbers))
                if code == len(self.letters_):
                    self.letters_.append(letter)
                self._codes[i, t] = code
        self._kind = type(sequences[0]) if len({type(y) for y in sequences}) == 1 else list
        self._matrix = is_array(Y) and Y.ndim == 2
        return self

    def decode(self, H: Array, embedding: Embedding, lengths: Any = None) -> Any:
        """The nearest sequence for each row of H, of the given lengths if there are any."""
        _, unit = output_kernel(embedding)
        weights, _ = output_weights(H, embedding)
        entries = len(self.letters_) ** (2 if self._transitions else 1)  # of the tables of one row
        rows: list[list[Any]] = []
        for some in blocks(len(weights), max(1, _ENTRIES // entries)):
            totals, paths = self._best(weights[some])
            if lengths is None:
                chosen = self._lengths(totals, unit)
            else:
                chosen = np.minimum(np.asarray(lengths, dtype=np.intp)[some], self._codes.shape[1])
            rows.extend([self.letters_[a] for a in path] for path in paths(chosen))
        return np.array(rows) if self._matrix else as_objects(self._written(row) for row in rows)

    def _written(self, row: list[Any]) -> Any:
        """A sequence of the type of the training outputs."""
        if issubclass(self._kind, str):
            return "".join(row)
        return np.array(row) if issubclass(self._kind, np.ndarray) else self._kind(row)

    def _lengths(self, totals: np.ndarray, unit: bool) -> np.ndarray:
        """The best length, from 1 to that of the longest training output."""
        m, longest = totals.shape
        if self.lengths_.min() == self.lengths_.max():
            return np.full(m, longest)
        squares = np.arange(1, longest + 1) + self._transitions * np.arange(longest)  # ‖ψ(y)‖²
        costs = -totals / np.sqrt(squares) if unit else squares - 2 * totals
        return np.asarray(1 + np.argmin(costs, axis=1))

    def _best(self, weights: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], list[list[int]]]]:
        """(totals, paths): the largest ⟨h, ψ(y)⟩ for each length, and a function from lengths to the letters."""
        longest = self._codes.shape[1]
        if self._transitions:
            return best_paths(lambda t: self._scores(weights, t), lambda t: self._steps(weights, t), longest)
        tables = [self._scores(weights, t) for t in range(longest)]
        letters = np.stack([table.argmax(axis=1) for table in tables], axis=1)
        totals = np.cumsum(np.stack([table.max(axis=1) for table in tables], axis=1), axis=1)
        return totals, lambda lengths: [row[:size].tolist() for row, size in zip(letters, lengths, strict=True)]

    def _scores(self, weights: np.ndarray, t: int) -> np.ndarray:
        """Σ_i β_i 1{y_it = a}, (m, letters)."""
        return np.asarray(weights @ (self._codes[:, t, None] == np.arange(len(self.letters_))))

    def _steps(self, weights: np.ndarray, t: int) -> np.ndarray:
        """transitions · Σ_i β_i 1{y_it = a, y_it+1 = b}, (m, letters, letters)."""
        size = len(self.letters_)
        rows = np.flatnonzero(self._codes[:, t + 1] >= 0)
        pairs, place = np.unique(self._codes[rows, t] * size + self._codes[rows, t + 1], return_inverse=True)
        table = np.zeros((len(weights), size * size))
        table[:, pairs] = self._transitions * (weights[:, rows] @ (place[:, None] == np.arange(len(pairs))))
        return table.reshape(-1, size, size)


def best_paths(
    single: Callable[[int], np.ndarray], step: Callable[[int], np.ndarray], length: int
) -> tuple[np.ndarray, Callable[[np.ndarray], list[list[int]]]]:
    """(totals, paths): the best sum for each length, (m, T), and a function from lengths to the letters.

    single(t) is s_t, (m, letters), and step(t) is p_t, (m, letters, letters). The best path to a letter continues the
    best path to some letter before it: letters² steps for each position. Ties go to the first letter.
    """
    best = single(0)
    totals = [best.max(axis=1)]
    ends = [best.argmax(axis=1)]
    came_from: list[np.ndarray] = []
    for t in range(1, length):
        through = best[:, :, None] + step(t - 1)
        before = through.argmax(axis=1)
        came_from.append(before)
        best = np.take_along_axis(through, before[:, None, :], axis=1)[:, 0] + single(t)
        totals.append(best.max(axis=1))
        ends.append(best.argmax(axis=1))

    def paths(lengths: np.ndarray) -> list[list[int]]:
        found = []
        for i, size in enumerate(lengths.tolist()):
            letters = [int(ends[size - 1][i])]
            for t in range(size - 2, -1, -1):
                letters.append(int(came_from[t][i, letters[-1]]))
            found.append(letters[::-1])
        return found

    return np.stack(totals, axis=1), paths
