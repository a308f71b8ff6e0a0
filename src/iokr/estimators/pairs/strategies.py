"""How labelled pairs {a, b} become examples in order, and values at (a, b), (b, a) become f({a, b}): chosen once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr._validation import check_choice
from iokr.estimators.pairs.data import Examples, PairData
from iokr.estimators.pairs.leave_out import leave_node_out, leave_pair_out, one_by_one, refit_scores
from iokr.estimators.pairs.local import local_loo, solve_local
from iokr.gram.pairs.gram import PairGram
from iokr.kernels.pairs import check_mix
from iokr.losses.base import Loss
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver

__all__ = ["BothOrders", "OnePerNode", "OnePerPair", "PosedPairs", "Strategy", "choose_strategy"]


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

    def pose(self, data: PairData, K: Array, loss: Loss) -> PosedPairs:
        """The problem on the pairs of `data` between nodes with the Gram matrix K, at α = 1."""
        examples = self.examples(data)
        gram = self.gram(K, examples.points)
        Psi = asarray_like(examples.target[:, None], K)
        return PosedPairs(self, data, examples, gram, Problem(gram, Psi, loss, 1.0, weight=examples.weight))

    @abstractmethod
    def score(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """f of `pairs`, from the coefficients C of the examples `points`; NaN where nothing is known of f."""

    def silent(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Which of `pairs` have no score. May be overridden."""
        return np.zeros(len(pairs), dtype=bool)

    def solve(self, gram: PairGram, problem: Problem, solver: Solver, start: Solution | None = None) -> Solution:
        """The coefficients of the examples. May be overridden."""
        return solver.solve(problem, start)

    def leave_pair_out(self, posed: PosedPairs) -> np.ndarray:
        """(n,): f of each pair without its label, for a quadratic loss. May be overridden."""
        return leave_pair_out(posed)

    def leave_node_out(self, posed: PosedPairs) -> np.ndarray:
        """(n, 2): f of each pair without the pairs of its first, of its second node. May be overridden."""
        return leave_node_out(posed)


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


@dataclass(frozen=True)
class OnePerNode(BothOrders):
    """One local model per node on its partners, f({a, b}) the mean of g_a(b) and g_b(a), or the one that there is."""

    def score(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """The mean of the local models that exist; one that does not contributes 0 to the sum."""
        sums = self.sums(K, pairs, points, C, same)
        return sums / asarray_like(_or_nan(self._has_model(pairs, points, same).sum(axis=1)), sums)

    def silent(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Pairs of two nodes without a local model."""
        return np.asarray(~self._has_model(pairs, points, same).any(axis=1))

    def solve(self, gram: PairGram, problem: Problem, solver: Solver, start: Solution | None = None) -> Solution:
        """One small problem per node."""
        return solve_local(gram, problem, solver)

    def leave_pair_out(self, posed: PosedPairs) -> np.ndarray:
        """The mean of the local models that exist without the pair; NaN where none does."""
        g, others = local_loo(posed.gram, posed.problem)
        first, second = np.arange(len(posed.data.pairs)), posed.examples.second
        total, count = np.where(others[first], g[first], 0.0), others[first].astype(float)
        two = second >= 0
        total[two] += np.where(others[second[two]], g[second[two]], 0.0)
        count[two] += others[second[two]]
        return np.asarray(total / _or_nan(count))

    def leave_node_out(self, posed: PosedPairs) -> np.ndarray:
        """What is left is the local model of the other node."""
        return refit_scores(posed, one_by_one(posed), Auto())

    def _has_model(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """(k, 2): whether each node of each pair has a local model."""
        return np.asarray(np.isin(same, points[:, 0])[pairs])  # −1, a new node, is among none


def _or_nan(count: np.ndarray) -> np.ndarray:
    """`count`, NaN in place of 0."""
    return np.where(count > 0, count, np.nan)


def choose_strategy(name: str, mix: Any) -> Strategy:
    """The strategy that users call `name`, at this `mix`."""
    check_choice(name, "strategy", ("kernel", "duplicate", "local"))
    delta = check_mix(mix)
    if name == "local":
        if delta not in (0.0, 1.0):
            raise ValueError(f'`mix` has no effect with `strategy="local"`; leave it at 0, got {delta!r}.')
        return OnePerNode(1.0)
    # At δ = 0 swapping both pairs changes nothing, so one example per pair is the same model as both orders.
    return BothOrders(delta) if name == "duplicate" and delta > 0 else OnePerPair(delta)
