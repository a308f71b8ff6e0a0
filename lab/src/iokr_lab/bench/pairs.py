"""Models on pairs of nodes without a matrix of pairs: ridge and margin, dense Gram matrices, the vec trick.

(a) Ridge on 5000 pairs of 500 nodes, with compiled loops; (b) the same without; (c) the margin there; (d) ridge on 200
000 pairs of 2000 nodes, ours alone, once, with its memory: the matrix of pairs would take 320 GB. All contenders begin
with the nodes' vectors and end with the scores of a thousand other pairs. The generalised vec trick is written out
below as bare conjugate gradients, without a preconditioner and without an estimator around them, on the same compiled
loops as ours: what is measured is what we add to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import util
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import csr_array
from sklearn.svm import SVC

from iokr import PairModel
from iokr._system.compile import compiling
from iokr.gram.pairs import loops
from iokr.kernels.vectors import RBF
from iokr.losses.margin import MaxMargin
from iokr.solvers.iterative.conjugate_gradient import ConjugateGradient
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr_lab.bench.base import Benchmark, Contender, Question, Target, Verdict
from iokr_lab.bench.grams import Matrix
from iokr_lab.bench.memory import Footprint

__all__ = ["BENCHMARK", "margin", "ridge", "ridge_plain", "vec_trick"]

_TOL = 1e-6
_ALPHA = 1.0
_TRICK = "vec trick, compiled"
_DENSE = "dense pair Gram"

Pairs = NDArray[np.int64]

_SMALL = {"m": 40, "n": 300, "p": 4}


def _questions(seed: int, quick: bool) -> list[Callable[[], Question]]:
    first: dict[str, Any] = {"seed": seed, **(_SMALL if quick else {})}
    makers = (ridge, ridge_plain, margin) if util.find_spec("numba") else (ridge_plain, margin)
    alone = partial(ridge, seed=seed, baselines=False, letter="d", **_large(quick))
    return [*(partial(make, **first) for make in makers), alone]


def _large(quick: bool) -> dict[str, int]:
    return {**_SMALL, "n": 400} if quick else {"m": 2000, "n": 200_000}


def _footprints(seed: int, quick: bool) -> list[Footprint]:
    large = _large(quick)
    what = f"{large['n']} pairs of {large['m']} nodes"
    full = {"seed": seed, "baselines": False, **large}
    small = {"seed": seed, **_SMALL}
    return [Footprint(what, __name__, "ridge", "PairModel", full, small)]


# -------------------------------------------------------------------------------------------------- (a), (b), (d) Ridge


def ridge(
    *, seed: int = 0, m: int = 500, n: int = 5000, p: int = 10, baselines: bool = True, letter: str = "a"
) -> Question:
    """TPPK ridge on n pairs of m nodes."""
    X, pairs, y, test = _network(seed, m, n, p)
    model = PairModel(RBF(1 / p), alpha=_ALPHA, solver=ConjugateGradient(tol=_TOL))
    contenders = [Contender("PairModel", lambda: model.fit(X, pairs, y).decision_function(test), _scores, "ours")]
    if baselines:
        contenders += [
            Contender(_TRICK, lambda: vec_trick(X, pairs, y, test, 1 / p), _scores, needs="numba"),
            Contender(_DENSE, lambda: _dense_ridge(X, pairs, y, test, 1 / p), _scores),
        ]
    return Question(
        f"({letter}) ridge, {n} pairs of {m} nodes",
        tuple(contenders),
        (Target(_TRICK, at_most=1.3),),
        rtol=1e-3,
        note=f"TPPK, λ = {_ALPHA:g}, relative residual {_TOL:g}.{'' if baselines else ' Timed once.'}",
        rounds=None if baselines else 1,
    )


def ridge_plain(*, seed: int = 0, m: int = 500, n: int = 5000, p: int = 10) -> Question:
    """The same, our loops in NumPy and SciPy."""
    X, pairs, y, test = _network(seed, m, n, p)
    model = PairModel(RBF(1 / p), alpha=_ALPHA, solver=ConjugateGradient(tol=_TOL))

    def plain() -> Matrix:
        with compiling(False):
            return np.asarray(model.fit(X, pairs, y).decision_function(test))

    return Question(
        f"(b) the same without a compiler, {n} pairs of {m} nodes",
        (
            Contender("PairModel, NumPy", plain, _scores, "ours"),
            Contender(_TRICK, lambda: vec_trick(X, pairs, y, test, 1 / p), _scores, needs="numba"),
        ),
        (Target(_TRICK, at_most=2.5),),
        rtol=1e-3,
    )


def _dense_ridge(X: Matrix, pairs: Pairs, y: Matrix, test: Pairs, gamma: float) -> Matrix:
    """Gram matrix of pairs, one Cholesky factorisation in place."""
    K = _gram(X, gamma)
    G = np.asfortranarray(_tppk(K, pairs, pairs))
    G.flat[:: len(y) + 1] += _ALPHA
    L, _ = dpotrf(G, lower=1, clean=0, overwrite_a=1)
    return np.asarray(_tppk(K, test, pairs) @ dpotrs(L, y, lower=1)[0])


def vec_trick(X: Matrix, pairs: Pairs, y: Matrix, test: Pairs, gamma: float) -> Matrix:
    """(G + λI)c = y by conjugate gradients; (G c)_ab = 2(K S K)_ab with S sparse, on our own loops."""
    K = _gram(X, gamma)
    by_node = np.lexsort((pairs[:, 1], pairs[:, 0]))
    a = pairs[by_node, 0]
    b = pairs[by_node, 1]
    y = y[by_node]
    rows = np.concatenate([a, b])
    columns = np.concatenate([b, a])
    order = np.lexsort((columns, rows))
    source = np.concatenate([np.arange(len(y)), np.arange(len(y))])[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(K)))])

    def times(c: Matrix, left: Pairs, right: Pairs) -> Matrix:
        S = csr_array((c[source] / 2, columns[order], starts), shape=K.shape)
        T = loops.scatter_rows(S, K)
        return 2 * loops.row_dots(K, np.ascontiguousarray(T.T), left, right)

    x = np.zeros(len(y))
    r = y.copy()
    d = r.copy()
    rr = float(y @ y)
    goal = _TOL**2 * float(y @ y)
    while rr > goal:
        A = times(d, a, b) + _ALPHA * d
        step = rr / float(d @ A)
        x += step * d
        r -= step * A
        before = rr
        rr = float(r @ r)
        d = r + (rr / before) * d
    return times(x, np.ascontiguousarray(test[:, 0]), np.ascontiguousarray(test[:, 1]))


# ----------------------------------------------------------------------------------------------------------- (c) Margin


def margin(*, seed: int = 0, m: int = 500, n: int = 5000, p: int = 10) -> Question:
    """The support vector machine on n pairs of m nodes, C = 1/λ."""
    X, pairs, y, test = _network(seed, m, n, p)
    model = PairModel(RBF(1 / p), loss=MaxMargin(), alpha=_ALPHA, solver=CoordinateDescent(tol=1e-3))

    def svc() -> Matrix:
        K = _gram(X, 1 / p)
        machine = SVC(C=1 / _ALPHA, kernel="precomputed", tol=1e-3, cache_size=1000)
        return np.asarray(machine.fit(_tppk(K, pairs, pairs), y).decision_function(_tppk(K, test, pairs)))

    return Question(
        f"(c) margin, {n} pairs of {m} nodes",
        (
            Contender("PairModel", lambda: model.fit(X, pairs, y).decision_function(test), _scores, "ours"),
            Contender("SVC, precomputed kernel", svc, lambda f: {"scores with a bias": f}),
        ),
        note="To a relative duality gap of 1e-3; SVC has a bias and a tolerance of its own, so its scores differ.",
    )


# ----------------------------------------------------------------------------------------------------------------- Data


def _network(seed: int, m: int, n: int, p: int) -> tuple[Matrix, Pairs, Matrix, Pairs]:
    """Nodes, distinct pairs of two, labels ±1 that follow a distance with noise, and a thousand pairs to score."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, p))
    keys = rng.choice(m * m, size=min(3 * n + 100, m * m), replace=False)
    pairs = np.stack(np.divmod(keys, m), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]][:n]
    distance = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
    y = np.where(distance + 2 * rng.standard_normal(len(pairs)) < np.median(distance), 1.0, -1.0)
    return X, pairs, y, rng.integers(m, size=(1000, 2))


def _gram(X: Matrix, gamma: float) -> Matrix:
    squares = np.einsum("ij,ij->i", X, X)
    K = np.exp(gamma * (2 * dgemm(1.0, X, X, trans_b=1) - squares[:, None] - squares))
    return np.ascontiguousarray((K + K.T) / 2)


def _tppk(K: Matrix, left: Pairs, right: Pairs) -> Matrix:
    a, b = left.T
    c, d = right.T
    G: Matrix = K[a][:, c] * K[b][:, d]
    G += K[a][:, d] * K[b][:, c]
    return G


def _scores(f: Any) -> dict[str, Any]:
    return {"scores": f}


def _memory_verdicts(sizes: Sequence[int]) -> list[Verdict]:
    return [Verdict("memory of 200 000 pairs of 2000 nodes, GB", sizes[0] / 1e9, at_most=1.0)]


BENCHMARK = Benchmark("Pairs", _questions, _footprints, _memory_verdicts)
