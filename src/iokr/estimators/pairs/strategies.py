"""How labelled pairs {a, b} become examples in order, and values at (a, b), (b, a) become f({a, b}).

Pairs are given once each, with two labels coded −1 and 1, or numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, asarray_like, cholesky, to_numpy
from iokr._validation.arguments import check_same_length, check_stops, check_weight
from iokr.data.frames import check_aligned
from iokr.estimators.outputs import code_labels, require_y
from iokr.estimators.pairs.leave_out import leave_node_out, leave_pair_out, leave_pair_out_path, refit_scores
from iokr.gram.pairs.gram import PairGram
from iokr.kernels.pairs import check_pairs
from iokr.losses.base import Loss
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.iterative.box_qp import minimize_box
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr.solvers.pairs.spectrum import CompletePairs

__all__ = [
    "BothOrders",
    "Examples",
    "OnePerNode",
    "OnePerPair",
    "PairData",
    "PairProblem",
    "Strategy",
    "check_pair_data",
    "local_grams",
]


@dataclass(frozen=True, eq=False)
class PairData:
    """Distinct pairs, smaller number first, with targets and weights.

    `inverse` says which of them each given pair is, `swapped` whether it was given the other way round.
    """

    pairs: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray | None
    inverse: np.ndarray
    swapped: np.ndarray

    def _stored(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "target": self.target,
            "weight": self.weight,
            "classes": self.classes,
            "inverse": self.inverse,
            "swapped": self.swapped,
        }


@dataclass(frozen=True, eq=False)
class Examples:
    """Points (a, b) to learn from, the pairs first; `second` is the row of (b, a) for each pair, −1: there is none."""

    points: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    second: np.ndarray

    def _stored(self) -> dict[str, Any]:
        return {"points": self.points, "target": self.target, "weight": self.weight, "second": self.second}


def check_pair_data(pairs: Any, y: Any, sample_weight: Any, size: int, *, binary: bool) -> PairData:
    """Pairs of row numbers below `size` with one label each; those given twice once, with the sum of their weights."""
    check_aligned(pairs, y, "pairs")
    check_aligned(pairs, sample_weight, "pairs", "sample_weight")
    given = check_pairs(pairs, size, where="rows of X")
    require_y(y)
    n = check_same_length(given, y, "pairs")
    target, classes, names = code_labels(y, "pair", binary=binary)
    low, high = given.min(axis=1), given.max(axis=1)
    keys, first, inverse = np.unique(low * size + high, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    clash = np.flatnonzero(names != names[first][inverse])
    if len(clash):
        a, b = low[clash[0]], high[clash[0]]
        raise ValueError(f"The pair {{{a}, {b}}} has two different labels in `y`; give each pair one, or their mean.")
    total = np.bincount(inverse, weights=check_weight(sample_weight, n, given), minlength=len(keys)).astype(float)
    if np.any(total == 0):
        raise ValueError("Some pairs have weight zero; leave them out.")
    distinct = np.stack([keys // size, keys % size], axis=1)
    weight = None if np.all(total == 1) else total
    return PairData(distinct, target[first], weight, classes, inverse, given[:, 0] > given[:, 1])


@dataclass(frozen=True)
class Strategy(ABC):
    """From pairs to examples and back; 2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d) between points, δ = `mix`."""

    mix: float
    ordered: ClassVar[bool] = False  # whether examples are points (a, b) rather than pairs {a, b}

    def _stored(self) -> dict[str, Any]:
        return {"mix": self.mix}

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


@dataclass(frozen=True)
class OnePerNode(BothOrders):
    """One local model per node on its partners, f({a, b}) the mean of g_a(b) and g_b(a), or the one that there is."""

    def score(self, K: Array, pairs: np.ndarray, points: np.ndarray, C: Array, same: np.ndarray) -> Array:
        """The mean of the local models that exist; one that does not contributes 0 to the sum."""
        sums = self.sums(K, pairs, points, C, same)
        count = self._has_model(pairs, points, same).sum(axis=1)
        return sums / asarray_like(np.where(count > 0, count, np.nan), sums)

    def silent(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """Pairs of two nodes without a local model."""
        return np.asarray(~self._has_model(pairs, points, same).any(axis=1))

    def solve(self, gram: PairGram, problem: Problem, solver: Solver, start: Solution | None = None) -> Solution:
        """(2K + λ/w)⁻¹ y on the partners of each node, or the margin there."""
        fits = (Auto, Cholesky) if problem.loss.quadratic else (Auto, CoordinateDescent)
        if not isinstance(solver, fits):
            names = " or ".join(f"`{cls.__name__}()`" for cls in fits)
            raise ValueError(f'With `strategy="local"` and {problem.loss!r} `solver` must be {names}, got {solver!r}.')
        y, w = to_numpy(problem.Psi)[:, 0], problem.row_weight
        if problem.loss.quadratic:
            return Solution(asarray_like(_ridges(gram, y, problem.alpha / w)[:, None], problem.Psi))
        tol, limit = check_stops(solver.tol, solver.max_iter, 10_000)
        C, steps, gap = np.empty(len(y)), 1, 0.0
        for own, K in local_grams(gram):
            Q = K * np.multiply.outer(y[own] / problem.alpha, y[own])
            alpha, done, apart = minimize_box(Q, w[own], tol, limit)
            C[own] = y[own] * alpha / problem.alpha
            steps, gap = max(steps, done), gap + apart * float(w[own].sum())
        gap /= float(w.sum())
        return Solution(asarray_like(C[:, None], problem.Psi), steps, gap, gap <= tol)

    def leave_pair_out(self, posed: PairProblem) -> np.ndarray:
        """The mean of the local models that exist without the pair; NaN where none does."""
        second, y, shift = posed.examples.second, posed.examples.target, posed.shift
        g = np.full(len(y), np.nan)
        for own, K in local_grams(posed.gram):
            if len(own) > 1:
                inverse = np.linalg.inv(K + np.diag(shift[own]))
                g[own] = y[own] - (inverse @ y[own]) / np.diagonal(inverse)
        both = np.stack([g[: len(second)], np.where(second >= 0, g[second], np.nan)], axis=1)
        count = np.count_nonzero(~np.isnan(both), axis=1)
        return np.asarray(np.nansum(both, axis=1) / np.where(count > 0, count, np.nan))

    def leave_pair_out_path(self, posed: PairProblem, alphas: Sequence[float]) -> Iterator[np.ndarray]:
        """A small system per node and alpha."""
        return (self.leave_pair_out(posed.at(alpha)) for alpha in alphas)

    def leave_node_out(self, posed: PairProblem) -> np.ndarray:
        """What is left is the local model of the other node."""
        return refit_scores(posed, Auto())

    def _has_model(self, pairs: np.ndarray, points: np.ndarray, same: np.ndarray) -> np.ndarray:
        """(k, 2): whether each node of each pair has a local model."""
        return np.asarray(np.isin(same, points[:, 0])[pairs])  # −1, a new node, is among none


def local_grams(gram: PairGram) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each node with training pairs: which points are its own, and 2k between its partners."""
    node, partner = gram.left.T
    K = to_numpy(gram.nodes)
    order = np.argsort(node, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        yield own, 2 * K[np.ix_(partner[own], partner[own])]


def _ridges(gram: PairGram, y: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """(2K + diag(shift))⁻¹ y on the partners of every node; all at once where all pairs are there."""
    complete = CompletePairs(gram, shift)
    if complete.exact:
        return complete.solve(y)
    C = np.empty(len(y))
    for own, K in local_grams(gram):
        K.flat[:: len(K) + 1] += shift[own]
        C[own] = cholesky(K).solve(y[own][:, None])[:, 0]
    return C
