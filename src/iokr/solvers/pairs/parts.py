"""What the solvers of problems on pairs read from them."""

from __future__ import annotations

from typing import cast

import numpy as np

from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem

__all__ = ["pair_gram", "pair_weight"]


def pair_gram(problem: Problem) -> PairGram:
    """The Gram of a problem that a solver for pairs does not refuse."""
    return cast("PairGram", problem.gram)


def pair_weight(problem: Problem) -> np.ndarray:
    """The weights of the pairs, ones unless they are given."""
    return np.ones(problem.n_labeled) if problem.weight is None else np.asarray(problem.weight, dtype=float)
