"""The margin loss on pairs of nodes: sweeps over its dual by the pairs of a node, with few kernel columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

import numpy as np

from iokr._array import asarray_like, to_numpy
from iokr._component import component
from iokr._system.compile import compiled
from iokr._validation.arguments import check_stops
from iokr.gram.pairs.gram import PairGram
from iokr.gram.pairs.loops import scatter_rows
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver
from iokr.solvers.iterative.box_qp import box_step, minimize_box, newton_directions
from iokr.solvers.iterative.krylov import restarted
from iokr.solvers.pairs.spectrum import low_rank_preconditioner

__all__ = ["PairMargin", "PairQuadratic"]

_PASSES = 3  # passes over all pairs before the gradient is recomputed
_CORNER = 1000  # largest number of free pairs whose matrix is factored for a Newton step
_DAMPING, _ACCURACY, _STEPS = 1e-8, 1e-2, 60  # of the conjugate gradients of a Newton step


@component
class PairMargin(Solver):
    """min ½αᵀQα − 1ᵀα over 0 ≤ α ≤ w, Q = yyᵀ ∘ G / λ on pairs of nodes: the dual of the margin loss, without G.

    Coordinate descent by the pairs of a node, about 3nm multiplications per pass for n pairs of m nodes, and Newton
    steps on the free pairs. `Auto` and `CoordinateDescent` use it for many pairs.

    Parameters
    ----------
    tol, max_iter : as in `CoordinateDescent`

    Examples
    --------
    >>> from iokr import PairModel
    >>> from iokr.losses import MaxMargin
    >>> from iokr.solvers.pairs import PairMargin
    >>> model = PairModel(loss=MaxMargin(), solver=PairMargin()).fit([[0.0], [1.0], [3.0]], [[0, 1], [0, 2]], [1, -1])
    >>> model.predict([[1, 0], [2, 0]])
    array([ 1, -1])
    """

    tol: float = 1e-6
    max_iter: int | None = None

    def refuses(self, problem: Problem) -> str | None:
        """The margin loss and one label for each pair are required."""
        if not problem.loss.box_dual:
            return f"its dual is a box for `MaxMargin()` only, got {problem.loss!r}; use `PairRidge()`."
        if not isinstance(problem.gram, PairGram):
            return f"the kernel must be between pairs of nodes, got {problem.gram!r}; use `CoordinateDescent()`."
        if problem.penalised or problem.mask is not None or problem.Psi.shape[1] != 1:
            return "unlabelled pairs and several outputs need `CoordinateDescent()`; drop pairs with missing entries."
        return None

    def memory(self, problem: Problem) -> float:
        """Four arrays of the size of K, sixteen numbers a pair."""
        return 8.0 * float(4 * cast("PairGram", problem.gram).nodes.shape[0] ** 2 + 16 * problem.n_labeled)

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        tol, limit = check_stops(self.tol, self.max_iter, 10_000)
        y, weight = to_numpy(problem.targets)[:, 0], problem.row_weight
        first = start.state if start is not None and np.shape(start.state) == weight.shape else None
        Q = PairQuadratic(cast("PairGram", problem.gram), y, problem.alpha)
        alpha, n_iter, gap = minimize_box(Q, weight, tol, limit, start=first)
        C = asarray_like((y * alpha / problem.alpha)[:, None], problem.like)
        return Solution(C, n_iter, gap, gap <= tol, alpha)


class PairQuadratic:
    """½αᵀQα − 1ᵀα with Q_pq = y_p k_P(p, q) y_q / λ, without a matrix of pairs: a `Quadratic`.

    T = S K, S the matrix of coefficients, is updated with every entry. One column of T has all values f(p) for the
    pairs of a node; within this block the few columns of Q are computed; then rows of T are updated. A pass costs about
    3nm multiplications for n pairs of m nodes.
    """

    def __init__(self, gram: PairGram, y: np.ndarray, lam: float) -> None:
        self.gram, self.y, self.lam = gram, y, lam
        self.K = np.ascontiguousarray(to_numpy(gram.nodes))
        self._T: np.ndarray | None = None  # reused memory
        self.schedule, self.patience = (5, 2, 64, 2), 0.0
        owner = gram.left[:, 1]  # in T = S K, the column that values f(a, owner) are read from
        self.order = np.argsort(owner, kind="stable")
        self.starts = np.concatenate([[0], np.flatnonzero(np.diff(owner[self.order])) + 1, [len(owner)]])
        self.diagonal = to_numpy(gram.diagonal()) / lam

    def product(self, alpha: np.ndarray) -> np.ndarray:
        """Q α."""
        return np.asarray(self.y * to_numpy(self.gram.product(self.y * alpha)) / self.lam)

    def corner(self, free: np.ndarray) -> np.ndarray:
        """Q between some of the pairs."""
        entries = to_numpy(self.gram.restrict(free).dense())
        return np.asarray(entries * np.multiply.outer(self.y[free] / self.lam, self.y[free]))

    def directions(self, free: np.ndarray, slope: np.ndarray) -> Iterator[np.ndarray]:
        """−(Q_FF + τI)⁻¹ g_F: by Cholesky for few entries, else by some steps of conjugate gradients."""
        if len(free) <= _CORNER:
            yield from newton_directions(self.corner(free), slope)
            return
        part, y = self.gram.restrict(free), self.y[free]  # Q_FF d = −g is G_FF u = −λ y g with u = y d
        shift = np.full(len(free), _DAMPING * self.lam * float(self.diagonal.max()))
        precondition = low_rank_preconditioner(part, shift)
        u, _, _ = restarted(
            lambda P: part.product(P[:, 0])[:, None] + shift[:, None] * P,
            -self.lam * (y * slope)[:, None],
            lambda R: precondition(R[:, 0])[:, None],
            _ACCURACY,
            _STEPS,
        )
        yield y * u[:, 0]

    def sweep(self, upper: np.ndarray, alpha: np.ndarray, gradient: np.ndarray) -> None:
        """A few passes of α_p ← clip(α_p − g_p/Q_pp, 0, w_p), then g = Qα − 1."""
        T = self._T = scatter_rows(self.gram.scatter(self.y * alpha / self.lam), self.K, self._T)
        loop = compiled(_pass, reorder=True)
        for _ in range(_PASSES):
            if loop is None:
                self._plain_pass(T, upper, alpha)
            else:
                gram, blocks, box = self.gram, (self.order, self.starts), (self.diagonal, upper)
                loop(self.K, T, blocks, gram.left, self.y, box, alpha, gram.mix, gram.ordered, self.lam)
        gradient[:] = self.product(alpha) - 1.0

    def _plain_pass(self, T: np.ndarray, upper: np.ndarray, alpha: np.ndarray) -> None:
        """One pass in NumPy, a node at a time."""
        K, mix, ordered, y, lam = self.K, self.gram.mix, self.gram.ordered, self.y, self.lam
        for start, stop in pairwise(self.starts.tolist()):
            block = self.order[start:stop]
            o, partners = int(self.gram.left[block[0], 1]), self.gram.left[block, 0]
            t = T[:, o].copy()
            f = 2 * (1 - mix) * (K[partners] @ t) + mix * (t[partners] + (t[partners] if ordered else T[o, partners]))
            g = y[block] * f - 1.0
            Q = self.corner(block)
            old, w = alpha[block], upper[block]
            new = old.copy()
            for i, d in enumerate(self.diagonal[block].tolist()):
                x = box_step(new[i], g[i], d, w[i])
                if x != new[i]:
                    g += (x - new[i]) * Q[i]
                    new[i] = x
            moved = np.flatnonzero(new != old)
            if not len(moved):
                continue
            alpha[block] = new
            change, partners = (y[block] * (new - old) / lam)[moved], partners[moved]
            if ordered:
                T[partners] += change[:, None] * K[o]
            else:
                half = np.where(partners == o, change, change / 2)
                T[partners] += half[:, None] * K[o]
                two = partners != o
                T[o] += half[two] @ K[partners[two]]


def _pass(
    K: Any, T: Any, blocks: Any, pairs: Any, y: Any, box: Any, alpha: Any, mix: float, ordered: bool, lam: float
) -> None:
    """One compiled pass: T = S K is updated with every entry; kernel columns within the pairs of a node."""
    (order, starts), (diagonal, upper), a, b = blocks, box, pairs[:, 0], pairs[:, 1]
    m = K.shape[0]
    t, g, old = np.empty(m), np.empty(len(y)), np.empty(len(y))
    for s in range(len(starts) - 1):
        start, stop = starts[s], starts[s + 1]
        o = b[order[start]]
        for c in range(m):
            t[c] = T[c, o]
        for i in range(start, stop):
            p = order[i]
            x = a[p]
            f = 0.0
            if mix < 1.0:
                for c in range(m):
                    f += K[x, c] * t[c]
                f *= 2.0 * (1.0 - mix)
            f += mix * (t[x] + (t[x] if ordered else T[o, x]))
            g[i] = y[p] * f - 1.0
            old[i] = alpha[p]
        for i in range(start, stop):
            p = order[i]
            x = a[p]
            new = box_step(alpha[p], g[i], diagonal[p], upper[p])
            if new == alpha[p]:
                continue
            change = y[p] * (new - alpha[p]) / lam
            alpha[p] = new
            for j in range(start, stop):
                q = order[j]
                z = a[q]
                same = mix if x == z else 0.0
                g_xz = same + (1.0 - mix) * K[x, z]
                if ordered:
                    k = 2.0 * g_xz * K[o, o]
                else:
                    g_oo = mix + (1.0 - mix) * K[o, o]
                    g_xo = (mix if x == o else 0.0) + (1.0 - mix) * K[x, o]
                    g_zo = (mix if z == o else 0.0) + (1.0 - mix) * K[z, o]
                    k = 0.5 * (g_xz * K[o, o] + g_oo * K[x, z] + g_xo * K[z, o] + g_zo * K[x, o])
                g[j] += y[q] * change * k
        for i in range(start, stop):
            p = order[i]
            if alpha[p] == old[i]:
                continue
            change = y[p] * (alpha[p] - old[i]) / lam
            x = a[p]
            if not ordered and x != o:
                change *= 0.5
                for c in range(m):
                    T[o, c] += change * K[x, c]
            for c in range(m):
                T[x, c] += change * K[o, c]
