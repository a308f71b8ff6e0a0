"""Strings near h(x) under a spectrum kernel."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from iokr._array import Array
from iokr._component import Limits, component
from iokr._validation.arguments import COUNT, either
from iokr.data.objects import as_objects
from iokr.decoders._search.linear import count_bound, output_kernel, output_weights
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.kernels._data.counts import Counts, sq_norms
from iokr.kernels.structured.strings import Spectrum

__all__ = ["NGramPath"]

_ROUNDING = 1e-12  # relative difference of costs that may be rounding


class _Path(NamedTuple):
    """A string, the counts of its n-grams, ⟨h, φ⟩ and ‖φ‖²."""

    text: str
    used: dict[int, int]
    score: float
    square: int


@component
class NGramPath(Decoder):
    """ŷ ≈ argmin_y ‖φ(y)‖² − 2⟨h(x), φ(y)⟩ over strings of training n-grams, for `Spectrum(n)` outputs.

    Such a string is a path: each n-gram begins with the last n − 1 letters of the one before. The c-th use of an n-gram
    costs 2c − 1 − 2h_u, so that a beam search extends the cheapest paths by a letter at a time with exact costs. The
    prediction is the cheapest path of the search, or the best training output if that is cheaper: never worse than
    `Candidates()`, but not always the optimum. `solve` returns a bound, the optimum over all counts of n-grams,
    Σ_u min_c (c² − 2c h_u). With `Normalized(Spectrum(n))` the search is for the largest ⟨h(x), φ(y)⟩/‖φ(y)‖, and the
    bound is the norm of the positive part of h.

    Parameters
    ----------
    width : int, default=30
        The number of paths in the beam. Larger is slower and nearer to the optimum.
    max_length : int, default=None
        The largest number of letters of a prediction; None is that of the training outputs.

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

    limits: ClassVar[Limits] = {"width": COUNT, "max_length": either(None, COUNT)}

    def _stored(self) -> dict[str, Any]:
        return {"training_outputs": self._Y, "longest": self._longest}

    def fit(self, Y: Any, embedding: Embedding) -> NGramPath:
        """Keep the training outputs; raise unless the output kernel is `Spectrum`."""
        self.check_parameters()
        kernel, _ = output_kernel(embedding)
        if not isinstance(kernel, Spectrum):
            raise ValueError(
                f"`NGramPath()` needs the output kernel `Spectrum(n)`, got {kernel!r}; use `Candidates()`."
            )
        self._Y = as_objects(Y)
        self._longest = self.max_length or max(map(len, self._Y))
        return self

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """A string for each row of H."""
        return self.solve(H, embedding)[0]

    def solve(self, H: Array, embedding: Embedding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(strings, costs, bounds): ‖φ(y)‖² − 2⟨h, φ(y)⟩, or −2⟨h, φ(y)⟩/‖φ(y)‖ if normalised, and lower bounds.

        A string whose cost equals the bound, up to rounding, is the best one.
        """
        _, unit = output_kernel(embedding)
        weights, S = output_weights(H, embedding)
        grams = list(S.vocabulary.columns)
        follow: dict[str, list[int]] = {}
        for u, gram in enumerate(grams):
            follow.setdefault(gram[:-1], []).append(u)
        found: list[tuple[str, float, float]] = []
        for row in weights:
            h = np.asarray(row @ S.matrix)
            string, cost = self._nearest_output(h, S, unit)
            if grams:
                path = self._beam(h.tolist(), grams, follow, unit)
                if _cost(path, unit) < cost - _ROUNDING * max(abs(cost), 1.0):
                    string = path.text
                    cost = _cost(path, unit)
            found.append((string, cost, min(_bound(h, unit), cost)))
        costs = np.array([cost for _, cost, _ in found])
        return as_objects([string for string, _, _ in found]), costs, np.array([bound for _, _, bound in found])

    def _nearest_output(self, h: np.ndarray, S: Counts, unit: bool) -> tuple[str, float]:
        """The best training output and its cost."""
        score = S.matrix @ h
        square = sq_norms(S)
        costs = square - 2 * score
        if unit:  # ‖ψ(y)‖² is 1, which is left out, but 0 for strings of fewer than n letters: −1 for these
            costs = np.where(square > 0, -2 * score / np.sqrt(np.maximum(square, 1.0)), -1.0)
        best = int(np.argmin(costs))
        return str(self._Y[best]), float(costs[best])

    def _beam(self, h: list[float], grams: list[str], follow: dict[str, list[int]], unit: bool) -> _Path:
        """The cheapest path of the search."""
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
    """A lower bound of the cost of all strings, by the best count of every n-gram."""
    if unit:
        return -2 * float(np.linalg.norm(np.maximum(h, 0.0)))
    return count_bound(h)
