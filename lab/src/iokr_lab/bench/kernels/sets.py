"""Sets of elements and of labels."""

from __future__ import annotations

import numpy as np

from iokr.kernels import Hamming, Jaccard
from iokr_lab.bench.base import Question
from iokr_lab.bench.kernels.question import ask

__all__ = ["hamming", "hamming_pair", "jaccard", "jaccard_pair"]


def jaccard(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Sets of about 30 elements out of 500."""
    rng = np.random.default_rng(seed)
    X = [frozenset(rng.permutation(500)[: rng.integers(20, 41)].tolist()) for _ in range(n)]
    title = f"(h) Jaccard(), {n} sets of 20 to 40 elements"
    return ask(title, Jaccard(), X, jaccard_pair, 200, compiled=compiled)


def jaccard_pair(x: frozenset[int], z: frozenset[int]) -> float:
    """|x ∩ z| / |x ∪ z|."""
    return len(x & z) / len(x | z)


def hamming(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Sets of about 30 labels out of 100."""
    rng = np.random.default_rng(seed)
    X = [frozenset(rng.permutation(100)[: rng.integers(20, 41)].tolist()) for _ in range(n)]
    kernel = Hamming(list(range(100)))
    return ask(f"(m) Hamming(), {n} sets of 20 to 40 labels out of 100", kernel, X, hamming_pair, 200)


def hamming_pair(x: frozenset[int], z: frozenset[int]) -> float:
    """1 − |x Δ z| / 100."""
    return 1.0 - len(x ^ z) / 100
