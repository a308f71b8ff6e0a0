"""Ridge regression in closed form: time and memory of what every other part of the library builds on.

(a) One fit. (b) A path over alpha with leave-one-out. (c) Ranking shared candidates. (d) A path with unlabelled points.
Then the peak memory of the first three. There is no intercept. The floors are the arithmetic that nobody can avoid, as
one would write it by hand: float64, one triangle of the Gram matrix, made in the cache and factored in place. They call
one BLAS only, SciPy's: after a product in NumPy's, its idle threads spin on for a tenth of a second and take a core
away from the next factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh, lu_factor, lu_solve
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

from iokr import IOKR, IOKRCV
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF
from iokr.manifolds.laplacian import Laplacian
from iokr_lab.bench.base import Benchmark, Contender, Question, Target, Verdict, sized
from iokr_lab.bench.grams import PANEL, Matrix, gram, lower_gram, smooth_vectors
from iokr_lab.bench.memory import Footprint

__all__ = ["BENCHMARK", "one_fit", "path", "ranking", "unlabeled"]

Bits = NDArray[np.uint8]

_SMALL: dict[str, dict[str, int]] = {
    "one_fit": {"n": 200, "p": 5, "q": 7},
    "path": {"n": 150, "p": 5, "q": 4, "n_alphas": 6},
    "ranking": {"n": 150, "m": 20, "p": 20, "bits": 128, "candidates": 300},
    "unlabeled": {"N": 200, "n": 30, "p": 4, "q": 3},
}


# ---------------------------------------------------------------------------------------------------------- (a) One fit


def one_fit(*, seed: int = 0, n: int = 4000, p: int = 50, q: int = 200) -> Question:
    """C = (K + αI)⁻¹ Y for one α."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, p, q)
    gamma = 1.0 / p
    alpha = 0.5
    ours = IOKR(RBF(gamma), alpha=alpha, intercept=False)
    baseline = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma)
    return Question(
        f"(a) one fit, n = {n}, q = {q}",
        (
            Contender("IOKR", lambda: ours.fit(X, Y), lambda model: {"C": model.solution_.C}, "ours"),
            Contender("KernelRidge", lambda: baseline.fit(X, Y), lambda model: {"C": model.dual_coef_}),
            Contender("floor", lambda: fit_floor(X, Y, gamma, alpha), lambda C: {"C": C}, "floor"),
        ),
        (Target("floor", at_most=1.15),),
        note="Floor: Gram + Cholesky + two triangular solves.",
    )


def fit_floor(X: Matrix, Y: Matrix, gamma: float, alpha: float) -> Matrix:
    """(K + αI)⁻¹ Y: Gram, Cholesky, two triangular solves."""
    K = lower_gram(X, gamma)
    K.T.flat[:: len(X) + 1] += alpha
    L, _ = dpotrf(K, lower=1, clean=0, overwrite_a=1)
    C: Matrix = dpotrs(L, Y, lower=1)[0]
    return C


# ---------------------------------------------------------------------------- (b) A path over alpha, with leave-one-out


def path(*, seed: int = 0, n: int = 2000, p: int = 50, q: int = 100, n_alphas: int = 25) -> Question:
    """The best of many α, and its fit."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, p, q)
    gamma = 1.0 / p
    alphas = np.logspace(-4, 3, n_alphas)
    ours = IOKRCV(RBF(gamma), alphas=alphas.tolist(), intercept=False)
    baseline = KernelRidge(kernel="rbf", gamma=gamma)
    search = GridSearchCV(baseline, {"alpha": alphas}, scoring="neg_mean_squared_error", cv=5)
    return Question(
        f"(b) {n_alphas} alphas, n = {n}, q = {q}",
        (
            Contender(
                "IOKRCV",
                lambda: ours.fit(X, Y),
                lambda model: {"leave-one-out errors": model.loo_errors_, "C": model.solution_.C},
                "ours",
            ),
            Contender(
                "GridSearchCV(KernelRidge, cv=5)",
                lambda: search.fit(X, Y),
                lambda model: {"least 5-fold error": -model.best_score_},
            ),
            Contender(
                "himalaya KernelRidgeCV",
                lambda: _himalaya(X, Y, gamma, alphas),
                lambda model: {"least 5-fold error": -np.mean(model.cv_scores_)},
                needs="himalaya",
            ),
            Contender(
                "floor",
                lambda: path_floor(X, Y, gamma, alphas),
                lambda answer: {"leave-one-out errors": answer[0], "C": answer[1]},
                "floor",
            ),
        ),
        (Target("floor", at_most=1.15), Target("GridSearchCV(KernelRidge, cv=5)", at_least=8.0)),
        note="Floor: Gram + one eigh + the products of leave-one-out for every alpha. Grid search and "
        "himalaya choose by 5 folds, IOKRCV and the floor by leave-one-out.",
    )


def _himalaya(X: Matrix, Y: Matrix, gamma: float, alphas: Matrix) -> Any:
    """One alpha for all outputs, as the others choose it."""
    from himalaya.kernel_ridge import KernelRidgeCV

    one_alpha = {"local_alpha": False}
    model = KernelRidgeCV(alphas, kernel="rbf", kernel_params={"gamma": gamma}, solver_params=one_alpha, cv=5)
    return model.fit(X, Y)


def path_floor(X: Matrix, Y: Matrix, gamma: float, alphas: Matrix) -> tuple[Matrix, Matrix]:
    """K = U diag(s) Uᵀ, T = UᵀY, D = α/(α + s): residuals U(D∘T) over 1 − leverages (U∘U)D.

    The products of several α are one; a thousand columns keep it at full speed and the arrays small.
    """
    n, q = Y.shape
    s, U = eigh(lower_gram(X, gamma), driver="evd", overwrite_a=True, check_finite=False)
    s = np.maximum(s, 0.0)
    T = dgemm(1.0, U, Y, trans_a=1)
    D = alphas / (alphas + s[:, None])
    one_minus_leverage = dgemm(1.0, U * U, D)
    errors = np.empty(len(alphas))
    width = max(1, 1000 // q)
    for start in range(0, len(alphas), width):
        chosen = range(start, min(start + width, len(alphas)))
        B = np.empty((n, len(chosen) * q), order="F")
        for k, j in enumerate(chosen):
            np.multiply(T, D[:, j, None], out=B[:, k * q : (k + 1) * q])
        R = dgemm(1.0, U, B)
        for k, j in enumerate(chosen):
            loo = R[:, k * q : (k + 1) * q]
            loo /= one_minus_leverage[:, j, None]
            errors[j] = np.einsum("ij,ij->", loo, loo) / n
    C: Matrix = dgemm(1.0, U, T / (alphas[np.argmin(errors)] + s[:, None]))
    return errors, C


# ------------------------------------------------------------------------- (c) Ranking candidates that all inputs share


def ranking(
    *, seed: int = 0, n: int = 2000, m: int = 500, p: int = 50, bits: int = 512, candidates: int = 5000
) -> Question:
    """The ten candidates with the least ‖h(x) − ψ(y)‖², ψ that of the Tanimoto kernel."""
    rng = np.random.default_rng(seed)
    planes = rng.standard_normal((p, bits))
    X = rng.standard_normal((n, p))
    X_new = rng.standard_normal((m, p))
    Y = _fingerprints(rng, X, planes)
    Z = _fingerprints(rng, rng.standard_normal((candidates, p)), planes)
    gamma = 1.0 / p
    alpha = 0.5
    model = IOKR(RBF(gamma), output_kernel=Tanimoto(), alpha=alpha).fit(X, Y)
    by_hand = partial(rank_floor, X, X_new, Y, Z, gamma, *_inverse_and_gram(X, Y, gamma, alpha))

    def answers(answer: Any) -> dict[str, Any]:
        return {"ten best": answer[0], "their distances": answer[1]}

    return Question(
        f"(c) {candidates} candidates, {m} inputs, n = {n}, {bits} bits",
        (
            Contender("IOKR.rank", lambda: model.rank(X_new, Z, k=10), answers, "ours"),
            Contender("floor", by_hand, answers, "floor"),
        ),
        (Target("floor", at_most=1.3),),
        note="Floor: the products of weights, norms, output kernel and scores, and the ten best of a block.",
    )


def _inverse_and_gram(X: Matrix, Y: Bits, gamma: float, alpha: float) -> tuple[Matrix, Matrix]:
    """(K + αI)⁻¹ and K_Y, which a fitted model has."""
    K = lower_gram(X, gamma)
    K.T.flat[:: len(X) + 1] += alpha
    lower = np.tril(dpotri(dpotrf(K, lower=1, overwrite_a=1)[0], lower=1, overwrite_c=1)[0])
    return np.asfortranarray(lower + np.tril(lower, -1).T), _tanimoto(Y.astype(float), Y.astype(float))


def rank_floor(
    X: Matrix, X_new: Matrix, Y: Bits, Z: Bits, gamma: float, inverse: Matrix, K_Y: Matrix, k: int = 10
) -> tuple[NDArray[np.intp], Matrix]:
    """The k least of 1 − 2 βᵀk_Y(y) + βᵀK_Yβ, β = (K + αI)⁻¹k_x, from blocks of candidates."""
    beta = dgemm(1.0, gram(X_new, X, gamma), inverse)
    sq_norms = np.einsum("ij,ij->i", dgemm(1.0, beta, K_Y), beta)
    labels = Y.astype(float)
    best = np.empty((len(X_new), 0), dtype=np.intp)
    distances = np.empty((len(X_new), 0))
    for start in range(0, len(Z), 512):
        block = dgemm(-2.0, _tanimoto(Z[start : start + 512].astype(float), labels), beta, trans_b=1).T
        block += 1.0 + sq_norms[:, None]
        here = np.argpartition(block, min(k, block.shape[1]) - 1, axis=1)[:, :k]
        best = np.hstack([best, start + here])
        distances = np.hstack([distances, np.take_along_axis(block, here, axis=1)])
    order = np.lexsort((best, distances))[:, :k]
    return np.take_along_axis(best, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _tanimoto(A: Matrix, B: Matrix) -> Matrix:
    """|a ∩ b| / |a ∪ b| for rows of bits, not both empty."""
    both: Matrix = dgemm(1.0, A.T, B.T, trans_a=1)
    either = np.add(A.sum(axis=1)[:, None], B.sum(axis=1), order="F")
    either -= both
    both /= either
    return both


# ------------------------------------------------------------------------------------ (d) A path with unlabelled points


def unlabeled(*, seed: int = 0, N: int = 2000, n: int = 200, p: int = 10, q: int = 20) -> Question:
    """The best of 10 α and 5 manifold_weights μ when n of N points are labelled, on a graph of 10 neighbours."""
    X, Y = smooth_vectors(np.random.default_rng(seed), N, p, q)
    Y = Y[:n]
    gamma = 0.5 / p
    alphas = np.logspace(-2, 2.5, 10)
    manifold_weights = np.logspace(-3, 1, 5)
    grid = {"alphas": alphas.tolist(), "manifold_weights": manifold_weights.tolist()}
    ours = IOKRCV(RBF(gamma), manifold=Laplacian(n_neighbors=10), intercept=False, **grid)
    baseline = partial(direct_path, X, Y, gamma, alphas, manifold_weights)

    def errors(answer: Matrix) -> dict[str, Any]:
        return {"leave-one-out errors": answer}

    return Question(
        f"(d) {n} of {N} labelled, q = {q}, {len(alphas)} alphas × {len(manifold_weights)} manifold_weights",
        (
            Contender(
                "IOKRCV",
                lambda: ours.fit(X[:n], Y, X_unlabeled=X[n:]),
                lambda model: errors(model.loo_errors_),
                "ours",
            ),
            Contender("a system at every point", partial(baseline, once=False), errors),
            Contender("the same, L K formed once", partial(baseline, once=True), errors),
        ),
        (Target("a system at every point", at_least=10.0),),
        note="The baselines factor αI + MK, M = JᵀJ + μL, at every point of the grid, one LU and n solves in "
        "place, and take leave-one-out from its inverse. Everybody begins with X.",
    )


def direct_path(X: Matrix, Y: Matrix, gamma: float, alphas: Matrix, manifold_weights: Matrix, *, once: bool) -> Matrix:
    """(y − Hy)_i / (1 − H_ii) with H = J K (αI + MK)⁻¹ Jᵀ, M = JᵀJ + μL: errors without the label of x_i."""
    N = len(X)
    n = len(Y)
    K = gram(X, X, gamma).T  # in C order, as products with sparse matrices want it
    L = neighbor_laplacian(K, 10)
    J = sp.csr_array((np.ones(n), (np.arange(n), np.arange(n))), shape=(N, N))
    LK = L @ K if once else None
    errors = np.empty((len(manifold_weights), len(alphas)))
    for a, mu in enumerate(manifold_weights):
        for b, alpha in enumerate(alphas):
            if LK is None:
                system = (J + mu * L) @ K
            else:
                system = mu * LK
                system[:n] += K[:n]
            system.flat[:: N + 1] += alpha
            # The transpose αI + KM is in Fortran order: LU in place. And K (αI + MK)⁻¹ = (αI + KM)⁻¹ K.
            factors = lu_factor(system.T, overwrite_a=True, check_finite=False)
            H = lu_solve(factors, np.array(K[:n].T, order="F"), overwrite_b=True, check_finite=False)[:n]
            loo = (Y - dgemm(1.0, H, Y)) / (1.0 - np.diagonal(H))[:, None]
            errors[a, b] = np.einsum("ij,ij->", loo, loo) / n
    return errors


def neighbor_laplacian(K: Matrix, k: int) -> Any:
    """diag(W1) − W, W the k largest off-diagonal entries of each row of K, symmetrised by the mean."""
    N = len(K)
    columns = np.empty((N, k), dtype=np.intp)
    values = np.empty((N, k))
    for start in range(0, N, PANEL):
        block = slice(start, start + PANEL)
        rows = K[block].copy()
        np.fill_diagonal(rows[:, start:], -np.inf)
        columns[block] = np.argpartition(rows, N - k, axis=1)[:, N - k :]
        values[block] = np.take_along_axis(rows, columns[block], axis=1)
    directed = sp.csr_array((values.ravel(), columns.ravel(), np.arange(0, N * k + 1, k)), shape=(N, N))
    W = (directed + directed.T) / 2
    return sp.csr_array(sp.diags_array(W.sum(axis=1)) - W)


# --------------------------------------------------------------------------------------------------------------- Memory


def _footprints(seed: int, quick: bool) -> list[Footprint]:
    """One fit and a path with their floors; ranking few candidates, and ten times as many."""

    def of(question: str, contender: str, what: str, **sizes: int) -> Footprint:
        small = {"seed": seed, **_SMALL[question]}
        full = {**small, **sizes} if quick else {"seed": seed, **sizes}
        return Footprint(what, __name__, question, contender, full, small, sizes.get("n"))

    n, few = (200, 300) if quick else (4000, 5000)
    return [
        *(of("one_fit", who, f"one fit, n = {n}", n=n) for who in ("IOKR", "KernelRidge", "floor")),
        *(of("path", who, f"path, n = {n}", n=n) for who in ("IOKRCV", "floor")),
        *(of("ranking", "IOKR.rank", f"{c} candidates", candidates=c) for c in (few, 10 * few)),
    ]


def _memory_verdicts(sizes: Sequence[int]) -> list[Verdict]:
    """n² doubles of a fit and of a path, and how ranking grows with the candidates."""
    doubles = 8 * 4000**2
    one_fit, _, _, path, _, few, many = sizes
    return [
        Verdict("memory of IOKR, n² doubles", one_fit / doubles, at_most=1.5),
        Verdict("memory of IOKRCV, n² doubles", path / doubles, at_most=5.0),
        Verdict("memory of ranking with 10 × the candidates / memory", many / few, at_most=1.1),
    ]


# ----------------------------------------------------------------------------------------------------------------- Data


def _fingerprints(rng: np.random.Generator, X: Matrix, planes: Matrix) -> Bits:
    """Bits that say on which side of some planes the inputs lie, about one in ten set; the first always is."""
    sides = X @ planes / np.sqrt(len(planes)) + 0.3 * rng.standard_normal((len(X), planes.shape[1]))
    bits: Bits = (sides > 1.3).astype(np.uint8)
    bits[:, 0] = 1
    return bits


BENCHMARK = Benchmark("Ridge", sized(_SMALL, one_fit, path, ranking, unlabeled), _footprints, _memory_verdicts)
