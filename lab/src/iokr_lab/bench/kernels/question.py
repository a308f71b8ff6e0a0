"""One question: a kernel, the loop over pairs of objects, and baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from iokr._system.compile import compiling
from iokr.kernels.base import Kernel
from iokr_lab.bench.base import Contender, Question, Target
from iokr_lab.bench.grams import Matrix

__all__ = ["LOOP", "Matrix", "Pair", "ask", "pair_loop"]

LOOP = "loop over pairs"
_PLAIN = 20.0  # times faster than the loop over pairs, in NumPy alone
_FAST = 100.0  # with compiled loops

Pair = Callable[[Any, Any], float]


def ask(
    title: str,
    kernel: Kernel,
    X: Any,
    pair: Pair,
    few: int,
    *,
    compiled: bool | None = None,
    baselines: Sequence[Contender] = (),
) -> Question:
    """The Gram matrix of X by the kernel, by the loop on a few objects, and by baselines.

    Kernels without compiled loops leave `compiled` out.
    """
    some = list(X[:few])
    n = len(X)
    few = len(some)
    if compiled is not None:
        title = f"{title}, {'compiled' if compiled else 'NumPy alone'}"
    whole = n * (n + 1) / (few * (few + 1))

    def ours() -> Matrix:
        with compiling(compiled is not False):
            K: Matrix = kernel(X)
        return K

    contenders = (
        Contender(type(kernel).__name__, ours, lambda K: {"K": K, "corner": K[:few, :few]}, "ours"),
        Contender(LOOP, partial(pair_loop, some, pair), lambda K: {"corner": K}, whole=lambda: (whole, "")),
        *baselines,
    )
    targets = (
        Target(LOOP, at_least=_PLAIN if compiled is False else _FAST),
        *(Target(baseline.name, at_most=1.0) for baseline in baselines),
    )
    note = f"The loop is timed on {few} objects; its time is that of all {n * (n + 1) // 2} pairs at the same pace."
    return Question(title, contenders, targets, note=note)


def pair_loop(X: Sequence[Any], pair: Pair) -> Matrix:
    """k(x, z) of each pair, one after the other."""
    K = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        for j in range(i + 1):
            K[i, j] = K[j, i] = pair(x, X[j])
    return K
