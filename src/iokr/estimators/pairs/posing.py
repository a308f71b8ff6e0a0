"""Labelled pairs as a problem: what a strategy makes of them, the Gram of its examples, the objective."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr.estimators.pairs.data import Examples, PairData
from iokr.gram.pairs.gram import PairGram
from iokr.losses.base import Loss
from iokr.problem import Problem

if TYPE_CHECKING:
    from iokr.estimators.pairs.strategies import Strategy

__all__ = ["PosedPairs", "pose"]


@dataclass(frozen=True, eq=False)
class PosedPairs:
    """min_f Σ_p ℓ(f(p), y_p) + (α/2)‖f‖² on the examples of a strategy."""

    strategy: Strategy
    data: PairData
    examples: Examples
    gram: PairGram
    problem: Problem

    @property
    def y(self) -> np.ndarray:
        """The targets of the examples."""
        return np.asarray(to_numpy(self.problem.Psi)[:, 0])

    @property
    def shift(self) -> np.ndarray:
        """α/w of the examples."""
        return np.asarray(self.problem.alpha / self.problem.row_weight)

    def at(self, alpha: float) -> PosedPairs:
        """The same for another alpha."""
        return replace(self, problem=replace(self.problem, alpha=alpha))


def pose(strategy: Strategy, data: PairData, K: Array, loss: Loss) -> PosedPairs:
    """The pairs of `data` between nodes with the Gram matrix K, at α = 1."""
    examples = strategy.examples(data)
    gram = strategy.gram(K, examples.points)
    Psi = asarray_like(examples.target[:, None], K)
    return PosedPairs(strategy, data, examples, gram, Problem(gram, Psi, loss, 1.0, weight=examples.weight))
