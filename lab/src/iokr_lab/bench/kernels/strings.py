"""Strings: letters side by side, with gaps, position by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np

from iokr.kernels import Delta, Mismatch, Positional, Spectrum, Subsequence
from iokr_lab.bench.base import Question
from iokr_lab.bench.kernels.question import ask

__all__ = ["long_subsequence", "mismatch", "positional", "spectrum", "subsequence"]

_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def spectrum(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Three letters side by side, in strings of up to 100 letters out of 20."""
    X = random_words(np.random.default_rng(seed), n, 100, _ACIDS)
    return ask(
        f"(a) Spectrum(3), {n} strings of 50 to 100 letters out of 20",
        Spectrum(3),
        X,
        spectrum_pair,
        30,
        compiled=compiled,
    )


def spectrum_pair(x: str, z: str) -> float:
    """Σ_u c_u(x) c_u(z)."""
    a = Counter(x[i : i + 3] for i in range(len(x) - 2))
    b = Counter(z[i : i + 3] for i in range(len(z) - 2))
    return float(sum(count * b[u] for u, count in a.items()))


def mismatch(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Four letters side by side but for one, in strings of up to 100 letters out of 4."""
    X = random_words(np.random.default_rng(seed), n, 100, "ACGT")
    kernel = Mismatch(4, 1, "ACGT")
    return ask(
        f"(b) Mismatch(4, 1), {n} strings of 50 to 100 letters out of 4", kernel, X, mismatch_pair, 4, compiled=compiled
    )


def mismatch_pair(x: str, z: str) -> float:
    """Σ_u c_u(x) c_u(z), u one of the words at most one letter away from each 4-gram."""
    a = Counter(u for i in range(len(x) - 3) for u in _near(x[i : i + 4]))
    b = Counter(u for i in range(len(z) - 3) for u in _near(z[i : i + 4]))
    return float(sum(count * b[u] for u, count in a.items()))


def _near(word: str) -> Iterator[str]:
    yield word
    for i, letter in product(range(len(word)), "ACGT"):
        if letter != word[i]:
            yield word[:i] + letter + word[i + 1 :]


def subsequence(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Three letters with gaps; words have up to 16 letters."""
    X = random_words(np.random.default_rng(seed), n, 16, "abcdefghijklmnopqrstuvwxyz")
    title = f"(c) Subsequence(3, 0.5), {n} words of 8 to 16 letters"
    return ask(title, Subsequence(3, 0.5), X, subsequence_pair, 12, compiled=compiled)


def long_subsequence(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """The same in strings of up to 100 letters out of 20, too long to list the places of words."""
    X = random_words(np.random.default_rng(seed), n, 100, _ACIDS)
    title = f"(l) Subsequence(3, 0.5), {n} strings of 50 to 100 letters out of 20"
    return ask(title, Subsequence(3, 0.5), X, subsequence_pair, 4, compiled=compiled)


def subsequence_pair(x: str, z: str, n: int = 3, decay: float = 0.5) -> float:
    """The recursion of Lodhi et al.: K′_i and K″_i over prefixes of x and z."""
    kept = [[1.0] * (len(z) + 1) for _ in range(len(x) + 1)]
    for i in range(1, n):
        new = [[0.0] * (len(z) + 1) for _ in range(len(x) + 1)]
        for p in range(i, len(x) + 1):
            along = 0.0
            for q in range(i, len(z) + 1):
                along *= decay
                if x[p - 1] == z[q - 1]:
                    along += decay * decay * kept[p - 1][q - 1]
                new[p][q] = decay * new[p - 1][q] + along
        kept = new
    total = 0.0
    for p in range(n, len(x) + 1):
        for q in range(n, len(z) + 1):
            if x[p - 1] == z[q - 1]:
                total += decay * decay * kept[p - 1][q - 1]
    return total


def positional(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Letters that agree, position by position."""
    X = random_words(np.random.default_rng(seed), n, 14, "abcdefghijklmnopqrstuvwxyz")
    title = f"(d) Positional(Delta()), {n} words of 7 to 14 letters"
    return ask(title, Positional(Delta()), X, positional_pair, 60, compiled=compiled)


def positional_pair(x: str, z: str) -> float:
    """Σ_t 1{x_t = z_t}."""
    return float(sum(a == b for a, b in zip(x, z, strict=False)))


def random_words(rng: np.random.Generator, n: int, longest: int, letters: str) -> list[str]:
    """Random letters, half as many to as many as the longest."""
    sizes = rng.integers(longest // 2, longest + 1, size=n)
    return ["".join(rng.choice(list(letters), size=size)) for size in sizes]
