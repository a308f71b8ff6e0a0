"""One question: a kernel beside the loop over pairs of objects, and beside rivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._compile import compiling
from iokr.kernels.base import Kernel
from iokr.report import Table
from iokr_lab.bench.base import Contender, Question, Target, Verdict

__all__ = ["LOOP", "Matrix", "Pair", "WholeLoop", "ask", "pair_loop", "whole_loops"]

LOOP = "loop over pairs"
_PLAIN = 20.0  # times faster than the loop over pairs, in NumPy alone
_FAST = 100.0  # with compiled loops

Matrix = NDArray[np.float64]
Pair = Callable[[Any, Any], float]


def ask(
    title: str,
    kernel: Kernel,
    X: Any,
    pair: Pair,
    few: int,
    *,
    compiled: bool | None = None,
    rivals: Sequence[Contender] = (),
) -> Question:
    """The Gram matrix of X by the kernel, by the loop on a few objects, and by rivals.

    `compiled` is None for kernels that have no compiled loops.
    """
    some = list(X[:few])
    n, few = len(X), len(some)
    if compiled is not None:
        title = f"{title}, {'compiled' if compiled else 'NumPy alone'}"
    whole = n * (n + 1) / (few * (few + 1))

    def ours() -> Matrix:
        with compiling(compiled is not False):
            K: Matrix = kernel(X)
        return K

    contenders = (
        Contender(type(kernel).__name__, ours, lambda K: {"K": K, "corner": K[:few, :few]}, "ours"),
        Contender(LOOP, partial(pair_loop, some, pair), lambda K: {"corner": K}),
        *rivals,
    )
    targets = (
        WholeLoop(LOOP, at_least=_PLAIN if compiled is False else _FAST, pairs=whole),
        *(Target(rival.name, at_most=1.0) for rival in rivals),
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


@dataclass(frozen=True)
class WholeLoop(Target):
    """A target against a loop of which only a few pairs are timed."""

    pairs: float = 1.0  # of the whole Gram matrix, for each pair that is timed

    def judge(self, question: Question, seconds: Mapping[str, float]) -> Verdict:
        """The ratio with the time of all pairs."""
        return super().judge(question, {**seconds, self.other: self.pairs * seconds[self.other]})


def whole_loops(item: Any, asked: Sequence[Question]) -> Any:
    """A table in which the time of a few pairs has become that of all."""
    question = next((q for q in asked if isinstance(item, Table) and q.title == item.title), None)
    if question is None:
        return item
    factor = {target.other: target.pairs for target in question.targets if isinstance(target, WholeLoop)}
    rows = [
        {key: value if key == "contender" else factor.get(row["contender"], 1.0) * value for key, value in row.items()}
        for row in item.rows
    ]
    return replace(item, rows=rows)
