"""How labelled pairs {a, b} become examples in order, and values at (a, b), (b, a) become f({a, b}): chosen once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, asarray_like
from iokr.estimators.pairs.data import Examples, PairData
from iokr.estimators.pairs.leave_out import leave_node_out, leave_pair_out, leave_pair_out_path
from iokr.gram.pairs.gram import PairGram
from iokr.losses.base import Loss
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver

__all__ = ["BothOrders", "OnePerPair", "PairProblem", "Strategy"]


@dataclass(frozen=True)
class Strategy(ABC):
    """From pairs to examples and back; 2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d) between points, δ = `mix`."""

    mix: float
    ordered: ClassVar[bool] = False  # whether examples are points (a, b) rather than pairs {a, b}

    def gram(self, K: Array, left: np.ndarray, right: np.ndarray | None = None, same: Any = None) -> PairGram:
        """The Gram between examples; K, `left`, `right` and `same` as in `PairGram`."""
        return PairGram(K, left, right, mix=self.mix, ordered=self.ordered, same=same)

    @abstractmethod
    def examples(self, data: PairData) -> Examples:
        """What is learned from."""

    def pose(self, data: PairData, K: Array, loss: Loss) -> PairProblem:
        """The problem on the pairs of `data` between nodes with the Gram matrix K, at α = 1."""
        examples = self.examples(data)
        gram = self.gram(K, examples.points)
        Psi = asarray_like(examples.target[:, None], K)
        return PairProblem(self, data, examples, gram, Problem(gram, Psi, loss, 1.0, weight=examples.weight))

    @abstractmethod
    def score(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """f of `pairs`, from the coefficients C of the examples `points`; NaN where nothing is known of f."""

    def silent(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Which of `pairs` have no score. May be overridden."""
        return np.zeros(len(pairs), dtype=bool)

    def solve(self, gram: PairGram, problem: Problem, solver: Solver, start: Solution | None = None) -> Solution:
        """The coefficients of the examples. May be overridden."""
        return solver.solve(problem, start)

    def leave_pair_out(self, posed: PairProblem) -> np.ndarray:
        """(n,): f of each pair without its label, for a quadratic loss. May be overridden."""
        return leave_pair_out(posed)

    def leave_pair_out_path(self, posed: PairProblem, alphas: Sequence[float]) -> Iterator[np.ndarray]:
        """`leave_pair_out` for every alpha, from factors that are computed once. May be overridden."""
        return leave_pair_out_path(posed, alphas)

    def leave_node_out(self, posed: PairProblem) -> np.ndarray:
        """(n, 2): f of each pair without the pairs of its first, of its second node. May be overridden."""
        return leave_node_out(posed)


@dataclass(frozen=True, eq=False)
class PairProblem:
    """min_f Σ_p ℓ(f(p), y_p) + (α/2)‖f‖² on the examples of a strategy."""

    strategy: Strategy
    data: PairData
    examples: Examples
    gram: PairGram
    problem: Problem

    @property
    def shift(self) -> np.ndarray:
        """α/w of the examples."""
        return np.asarray(self.problem.alpha / self.problem.row_weight)

    def at(self, alpha: float) -> PairProblem:
        """The same for another alpha."""
        return replace(self, problem=replace(self.problem, alpha=alpha))


@dataclass(frozen=True)
class OnePerPair(Strategy):
    """One example per pair, the kernel averaged over the orders of both pairs."""

    def examples(self, data: PairData) -> Examples:
        """The pairs."""
        return Examples(data.pairs, data.target, data.weight, np.full(len(data.pairs), -1))

    def score(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """f({a, b})."""
        return (self.gram(K, pairs, points, same) @ C)[:, 0]


@dataclass(frozen=True)
class BothOrders(Strategy):
    """Both orders as examples of weight ½, f({a, b}) the mean of g(a, b) and g(b, a)."""

    ordered: ClassVar[bool] = True

    def examples(self, data: PairData) -> Examples:
        """Points (a, b), then (b, a) for pairs of two nodes, which share the weight of the pair."""
        n, two = len(data.pairs), np.flatnonzero(data.pairs[:, 0] != data.pairs[:, 1])
        weight = np.ones(n) if data.weight is None else data.weight.copy()
        weight[two] /= 2
        source, second = np.concatenate([np.arange(n), two]), np.full(n, -1)
        second[two] = n + np.arange(len(two))
        points = np.concatenate([data.pairs, data.pairs[two, ::-1]])
        return Examples(points, data.target[source], weight[source], second)

    def score(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """(g(a, b) + g(b, a))/2."""
        return self.sums(K, pairs, points, C, same) / 2

    def sums(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """g(a, b) + g(b, a)."""
        g = (self.gram(K, np.concatenate([pairs, pairs[:, ::-1]]), points, same) @ C)[:, 0]
        return g[: len(pairs)] + g[len(pairs) :]
