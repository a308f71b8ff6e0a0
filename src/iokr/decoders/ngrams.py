"""A string near h(x) under a spectrum kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from iokr._array import Array
from iokr._component import component
from iokr._validation.arguments import check_integer
from iokr.data.objects import as_objects
from iokr.decoders._search.linear import count_bound, output_kernel, output_weights
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.kernels._data.counts import Counts, sq_norms
from iokr.kernels.structured.strings import Spectrum

__all__ = ["NGramPath"]


class _Path(NamedTuple):
    """A string, how often it uses which n-gram, ⟨h, φ⟩ and ‖φ‖²."""

    text: str
    used: dict[int, int]
    score: float
    square: int


@component
class NGramPath(Decoder):
    """ŷ ≈ argmin_y ‖φ(y)‖² − 2⟨h(x), φ(y)⟩ over strings of n-grams seen in training, for `Spectrum(n)` outputs.

    Such a string is a path: each n-gram begins with the n − 1 letters with which the last one ends. Using an n-gram for
    the c-th time costs 2c − 1 − 2h_u, so a beam of the cheapest paths, a letter longer at a time, knows the cost of
    each. The answer is the cheapest path met, or the best training output where that is cheaper: never worse than
    `Candidates()`, but not the optimum for sure. `solve` gives a bound, which is the optimum when paths are forgotten:
    Σ_u min_c (c² − 2c h_u). With `Normalized(Spectrum(n))`, ⟨h(x), φ(y)⟩/‖φ(y)‖ is made large, and bounded by the
    length of the positive part of h.

    Parameters
    ----------
    width : int, default=30
        Paths kept. Larger is slower and nearer to the optimum.
    max_length : int, default=None
        Letters of the answer, at most; None: those of the longest training output.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import NGramPath
    >>> from iokr.kernels import RBF, Spectrum
    >>> words = ["walk", "walked", "talk", "sing"]
    >>> X = [[1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]  # walk, talk, sing; past
    >>> model = IOKR(RBF(0.1), output_kernel=Spectrum(2), decoder=NGramPath(), alpha=1e-3).fit(X, words)
    >>> model.predict([[0, 1, 0, 1]])
    array(['talked'], dtype=object)
    """

    width: int = 30
    max_length: int | None = None

    def fit(self, Y: Any, embedding: Embedding) -> NGramPath:
        """The n-grams, and which can follow which."""
        check_integer(self.width, "width", minimum=1)
        kernel, _ = output_kernel(embedding)
        if not isinstance(kernel, Spectrum):
            raise ValueError(
                f"`NGramPath()` needs the output kernel `Spectrum(n)`, got {kernel!r}; use `Candidates()`."
            )
        self._Y = as_objects(Y)
        longest = max(map(len, self._Y))
        self._longest = longest if self.max_length is None else check_integer(self.max_length, "max_length", minimum=1)
        return self

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """A string for each row of H."""
        return self.solve(H, embedding)[0]

    def solve(self, H: Array, embedding: Embedding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(strings, costs, bounds): ‖φ(y)‖² − 2⟨h, φ(y)⟩, or −2⟨h, φ(y)⟩/‖φ(y)‖ when normalised.

        No string costs less than the bound; where cost and bound agree to rounding the string is the best one.
        """
        _, unit = output_kernel(embedding)
        weights, S = output_weights(H, embedding)
        grams = list(S.vocabulary.columns)
        follow: dict[str, list[int]] = {}
        for u, gram in enumerate(grams):
            follow.setdefault(gram[:-1], []).append(u)
        strings, costs, bounds = [], [], []
        for row in weights:
            h = np.asarray(row @ S.matrix)
            string, cost = self._nearest_output(h, S, unit)
            if grams:
                path = self._beam(h.tolist(), grams, follow, unit)
                if _cost(path, unit) < cost - 1e-12 * max(abs(cost), 1.0):
                    string, cost = path.text, _cost(path, unit)
            strings.append(string)
            costs.append(cost)
            bounds.append(min(_bound(h, unit), cost))
        return as_objects(strings), np.array(costs), np.array(bounds)

    def _nearest_output(self, h: np.ndarray, S: Counts, unit: bool) -> tuple[str, float]:
        """The best training output and its cost."""
        score, square = S.matrix @ h, sq_norms(S)
        costs = square - 2 * score
        if unit:  # less 1, the length of ψ(y), which is 0 for strings of fewer than n letters
            costs = np.where(square > 0, -2 * score / np.sqrt(np.maximum(square, 1.0)), -1.0)
        best = int(np.argmin(costs))
        return str(self._Y[best]), float(costs[best])

    def _beam(self, h: list[float], grams: list[str], follow: dict[str, list[int]], unit: bool) -> _Path:
        """The cheapest of the paths met."""
        n = len(grams[0])
        first = sorted((_Path(gram, {u: 1}, h[u], 1) for u, gram in enumerate(grams)), key=lambda p: -p.score)
        beam = first[: self.width]
        best = beam[0]
        for _ in range(self._longest - n):
            longer: dict[tuple[str, frozenset[tuple[int, int]]], _Path] = {}
            for path in beam:
                end = path.text[len(path.text) - n + 1 :]
                for u in follow.get(end, ()):
                    times = path.used.get(u, 0)
                    used = {**path.used, u: times + 1}
                    new = _Path(path.text + grams[u][-1], used, path.score + h[u], path.square + 2 * times + 1)
                    longer.setdefault((new.text[len(new.text) - n + 1 :], frozenset(used.items())), new)
            beam = sorted(longer.values(), key=lambda p: _cost(p, unit))[: self.width]
            if not beam:
                break
            if _cost(beam[0], unit) < _cost(best, unit):
                best = beam[0]
        return best


def _cost(path: _Path, unit: bool) -> float:
    return -2 * path.score / path.square**0.5 if unit else path.square - 2 * path.score


def _bound(h: np.ndarray, unit: bool) -> float:
    """Below the cost of any string: every n-gram as often as suits it best."""
    if unit:
        return -2 * float(np.linalg.norm(np.maximum(h, 0.0)))
    return count_bound(h)
