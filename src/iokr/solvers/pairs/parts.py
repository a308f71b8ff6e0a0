"""What the solvers of problems on pairs read from them."""

from __future__ import annotations

from typing import cast

import numpy as np

from iokr.gram.pairs.gram import PairGram
from iokr.problem import Problem

__all__ = ["many_pairs_reason", "pair_gram", "pair_weight"]


def many_pairs_reason(problem: Problem) -> str:
    """Why a solver for pairs is chosen, in words."""
    gram = pair_gram(problem)
    return f"{gram.shape[0]} pairs of {gram.nodes.shape[0]} nodes: products need no matrix of pairs."


def pair_gram(problem: Problem) -> PairGram:
    """The Gram of a problem that a solver for pairs does not refuse."""
    return cast("PairGram", problem.gram)


def pair_weight(problem: Problem) -> np.ndarray:
    """The weights of the pairs, ones unless they are given."""
    return np.ones(problem.n_labeled) if problem.weight is None else np.asarray(problem.weight, dtype=float)
