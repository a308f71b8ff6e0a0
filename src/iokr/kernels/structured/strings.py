"""Kernels on strings by the words that they have in common."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from iokr._component import Limits, component
from iokr._validation.arguments import COUNT, NATURAL
from iokr.data.objects import BadObject, BadObjectType, as_objects, n_objects
from iokr.data.ragged import Ragged, places_within
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary, name_rows

__all__ = ["Mismatch", "Spectrum", "letters", "name_words"]


def letters(X: Any) -> Ragged:
    """The code points of strings, none empty. Errors give the number of the object."""
    n_objects(X)
    strings = as_objects(X).tolist()
    for i, x in enumerate(strings):
        if not isinstance(x, str):
            raise BadObjectType("Object", i, f" must be a string, got {x!r:.60}.")
        if not x:
            raise BadObject("String", i, " is empty; a string kernel needs at least one letter.")
    codes = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return Ragged.of(codes.astype(np.int64), [len(x) for x in strings])


@component
class Spectrum(CountKernel):
    """k(x, z) = Σ_u c_u(x) c_u(z), c_u(x) the number of occurrences of the n-gram u in x.

    A string of fewer than n letters has ψ(x) = 0. The number of shared n-grams grows with the length: wrap in
    `Normalized` unless all strings have the same length. Parsing is linear in the letters; a block is one product of
    sparse counts.

    Parameters
    ----------
    n : int, default=3
        The length of n-grams. Larger is stricter.

    Examples
    --------
    >>> from iokr.kernels import Spectrum
    >>> Spectrum(2)(["abab", "abba"])
    array([[5., 3.],
           [3., 3.]])

    References
    ----------
    Leslie, Eskin and Noble, "The spectrum kernel", PSB 2002.
    """

    n: int = 3

    domain = "strings"
    limits: ClassVar[Limits] = {"n": COUNT}

    def represent(self, X: Any) -> Counts:
        """The counts of the n-grams of each string."""
        strings = letters(X)
        rows, grams = _windows(strings, self.n)
        names, words = name_words(grams)
        return Counts.of(rows, names, len(strings), Vocabulary.of(words))


@component
class Mismatch(CountKernel):
    """k(x, z) = Σ_u c_u(x) c_u(z), c_u(x) the number of n-grams of x that differ from u in at most m letters.

    u runs over all words of n letters of the alphabet. They are not listed: two n-grams at Hamming distance d share
    I_d such words, which depends on n, m and the size of the alphabet only, and pairs of n-grams are counted by
    distance through the positions at which they agree. The cost is that of Σ_{i ≤ 2m} C(n, i) spectrum kernels, for any
    alphabet.

    Parameters
    ----------
    n : int, default=3
        The length of n-grams.
    m : int, default=1
        The number of mismatches allowed, below n. 0 is `Spectrum(n)`.
    alphabet : str, default=None
        All letters; None takes those of the strings at `fit`. Strings with other letters raise an error.

    Attributes
    ----------
    alphabet_ : str
        The letters, sorted.

    Examples
    --------
    >>> from iokr.kernels import Mismatch
    >>> Mismatch(2, 1, alphabet="ab")(["aa"], ["aa", "ab", "bb"])
    array([[3., 2., 2.]])

    References
    ----------
    Leslie, Eskin, Cohen, Weston and Noble, "Mismatch string kernels", Bioinformatics 2004.
    """

    n: int = 3
    m: int = 1
    alphabet: str | None = None

    domain = "strings"
    limits: ClassVar[Limits] = {"n": COUNT, "m": NATURAL}

    def fit(self, X: Any) -> Mismatch:
        """Check n and m, and fix the letters."""
        self.check_parameters()
        if self.m >= self.n:
            raise ValueError(f"`m` must be below `n`, got m = {self.m} and n = {self.n}; otherwise all words match.")
        if self.alphabet is None:
            self.alphabet_ = "".join(map(chr, np.unique(letters(X).values)))
        elif isinstance(self.alphabet, str) and self.alphabet:
            self.alphabet_ = "".join(sorted(set(self.alphabet)))
        else:
            raise TypeError(f"`alphabet` must be a string of all letters, got {self.alphabet!r:.60}.")
        return self

    def represent(self, X: Any) -> Counts:
        """The counts of the n-grams of each string with some positions left blank."""
        n = self.n
        strings = letters(X)
        self._check_alphabet(strings)
        rows, grams = _windows(strings, n)
        shared = agreement_weights(n, self.m, len(self.alphabet_))
        columns: list[np.ndarray] = []
        vocabulary: dict[Any, int] = {}
        weight: list[np.ndarray] = []
        for size, w in shared.items():
            if w == 0:
                continue
            for places in combinations(range(n), size):
                names, words = name_words(grams[:, places])
                columns.append(names + len(vocabulary))
                weight.append(np.full(len(words), w))
                vocabulary.update({(places, word): len(vocabulary) + i for i, word in enumerate(words)})
        owners = np.tile(rows, len(columns))
        every = np.concatenate(columns)
        return Counts.of(owners, every, len(strings), Vocabulary(vocabulary), np.concatenate(weight))

    def _check_alphabet(self, strings: Ragged) -> None:
        known = np.isin(strings.values, np.array([ord(c) for c in self.alphabet_]))
        if known.all():
            return
        place = int(np.argmin(known))
        i = int(np.searchsorted(strings.starts, place, side="right")) - 1
        letter = chr(strings.values[place])
        raise BadObject(
            "String", i, f" has the letter {letter!r}, which is not in the alphabet; give all letters as `alphabet`."
        )


def agreement_weights(n: int, m: int, size: int) -> dict[int, float]:
    """w_s with I_d = Σ_s w_s C(n − d, s): words near two n-grams at distance d, from the positions that agree.

    There are C(n − d, s) ways to choose s positions at which two n-grams agree, so that Σ_s w_s Σ_{|P| = s} [they agree
    on P] = I_d. I_d = 0 for d > 2m, and the system is triangular.
    """
    weights: dict[int, float] = {}
    for d in range(min(2 * m, n), -1, -1):
        rest = shared_words(n, m, d, size) - sum(w * comb(n - d, s) for s, w in weights.items())
        weights[n - d] = float(rest)
    return weights


def shared_words(n: int, m: int, d: int, size: int) -> int:
    """I_d: words of n letters out of `size` that differ in at most m letters from each of two words at distance d.

    At the d positions where the two differ, such a word agrees with the first at i, with the second at j, and with
    neither at the others; it differs from both at e of the n − d other positions.
    """
    total = 0
    for i in range(d + 1):
        for j in range(d - i + 1):
            neither = d - i - j
            for e in range(n - d + 1):
                if neither + e + max(i, j) <= m:
                    ways = comb(d, i) * comb(d - i, j) * comb(n - d, e)
                    total += ways * max(size - 2, 0) ** neither * max(size - 1, 0) ** e
    return total


def _windows(strings: Ragged, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows, grams): all n-grams, (N, n), and the numbers of their strings."""
    counts = np.maximum(strings.lengths - n + 1, 0)
    rows = np.repeat(np.arange(len(strings)), counts)
    first = strings.starts[rows] + places_within(counts)
    return rows, strings.values[first[:, None] + np.arange(n)]


def name_words(grams: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """(names, words): equal rows have equal names, numbers from 0, and words[a] is the string of name a."""
    n, width = grams.shape
    if n == 0 or width == 0:
        return np.zeros(n, dtype=np.int64), [""] if n else []
    largest = int(grams.max()) + 1
    used = np.zeros(largest, dtype=np.int64)
    used[grams.ravel()] = 1
    codes = (np.cumsum(used) - 1)[grams]
    names, first = name_rows(codes, int(used.sum()))
    text = grams[first].astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    return names, [text[i : i + width] for i in range(0, len(text), width)]
