"""Widths of a kernel by gradients: one evaluation compared with the bare calls of its arithmetic.

One evaluation of the evidence of `ARD` with the gradient of all widths and alpha, on 2000 rows of 13 features. The
floor is the Gram matrix, `potrf`, `potri` and two products with a symmetric matrix, by hand on one triangle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import dpotrf, dpotri

from iokr.kernels.vectors import ARD
from iokr.model_selection.criteria import evidence
from iokr.model_selection.tuning import Search
from iokr_lab.bench.base import Benchmark, Contender, Question, Target
from iokr_lab.bench.grams import lower_gram, smooth_vectors

__all__ = ["BENCHMARK", "evaluation"]

_ALPHA = 0.1
_FLOOR = "bare calls"


def evaluation(*, seed: int = 0, n: int = 2000, p: int = 13) -> Question:
    """f and ∂f/∂(log γ, log α) at one place."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, p, 1)
    Y = np.asfortranarray(Y)
    gammas = np.linspace(0.5, 2.0, p) / p
    names = ["kernel__gammas", "alpha"]
    first = {names[0]: gammas, names[1]: np.array([_ALPHA])}
    search = Search(evidence, ARD(), X, Y, _ALPHA, names, first)
    z = np.log(np.concatenate(list(first.values())))

    def bare() -> float:
        K = lower_gram(X * np.sqrt(gammas), 1.0)
        A = K.copy(order="F")
        A.ravel(order="K")[:: n + 1] += _ALPHA
        L, _ = dpotrf(A, lower=1, overwrite_a=1, clean=0)
        log_det = 2 * np.log(np.diagonal(L)).sum()
        N, _ = dpotri(L, lower=1, overwrite_c=1)
        B = dsymm(1.0, N, Y, lower=1)
        dsymm(1.0, N, np.asfortranarray(X), lower=1)
        return float(n * np.log(np.sum(Y * B) / n) / 2 + log_det / 2)

    contenders = (
        Contender("Search", lambda: search(z), lambda found: {"evidence": found[0]}, "ours"),
        Contender(_FLOOR, bare, lambda found: {"evidence": found}, "floor"),
    )
    title = f"(a) The evidence and its gradient, {n} rows, {p} widths"
    return Question(title, contenders, (Target(_FLOOR, at_most=1.5),))


def _questions(seed: int, quick: bool) -> list[Callable[[], Question]]:
    return [partial(evaluation, seed=seed, **({"n": 150, "p": 4} if quick else {}))]


BENCHMARK = Benchmark("Widths of a kernel by gradients", _questions)
