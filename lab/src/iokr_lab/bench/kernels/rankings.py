"""Rankings of 12 items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from iokr.kernels import Kendall, Mallows, Spearman
from iokr_lab.bench.base import Question
from iokr_lab.bench.kernels.question import ask

__all__ = ["kendall", "kendall_pair", "mallows", "mallows_pair", "spearman", "spearman_pair"]


def kendall(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Concordant less discordant pairs of 12 items."""
    return ask(f"(e) Kendall(), {n} rankings of 12 items", Kendall(), _rankings(seed, n), kendall_pair, 30)


def kendall_pair(x: Sequence[float], z: Sequence[float]) -> float:
    """Σ_{a<b} sgn(x_a − x_b) sgn(z_a − z_b) / (d choose 2)."""
    pairs = list(combinations(range(len(x)), 2))
    signs = [(x[a] > x[b]) - (x[a] < x[b]) for a, b in pairs]
    return float(sum(s * ((z[a] > z[b]) - (z[a] < z[b])) for s, (a, b) in zip(signs, pairs, strict=True)) / len(pairs))


def spearman(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Spearman's ρ of 12 items."""
    X = _rankings(seed, n)
    return ask(f"(f) Spearman(), {n} rankings of 12 items", Spearman(), X, spearman_pair, 100)


def spearman_pair(x: Sequence[float], z: Sequence[float]) -> float:
    """1 − 6 Σ_j (x_j − z_j)² / (d³ − d)."""
    d = len(x)
    return 1.0 - 6.0 * float(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) / (d**3 - d)


def mallows(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """exp of minus the discordant pairs of 12 items."""
    return ask(
        f"(g) Mallows(0.1), {n} rankings of 12 items",
        Mallows(0.1),
        _rankings(seed, n),
        mallows_pair,
        30,
        compiled=compiled,
    )


def mallows_pair(x: Sequence[float], z: Sequence[float]) -> float:
    """exp(−0.1 · discordant pairs)."""
    apart = sum((x[a] - x[b]) * (z[a] - z[b]) < 0 for a, b in combinations(range(len(x)), 2))
    return float(np.exp(-0.1 * apart))


def _rankings(seed: int, n: int) -> list[list[int]]:
    """Orders of 12 items."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(12).tolist() for _ in range(n)]
