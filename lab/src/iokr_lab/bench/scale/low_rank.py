"""Low rank: landmarks, one fit, every alpha with leave-one-out. Under NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.blas import dsyrk
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.linear_model import Ridge

from iokr import IOKR, IOKRCV
from iokr.apps.report import Figure, Table
from iokr.estimators.regression.base import fitted_problem
from iokr.kernels.landmarks import Landmarks
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.vectors import RBF
from iokr.solvers.closed_form.lowrank import MomentsPath, ThinPath
from iokr_lab.bench.base import Contender, Question, Run, Section, Target, Verdict
from iokr_lab.bench.grams import Matrix, rbf_factors, smooth_vectors

__all__ = ["SECTIONS", "falkon", "low_rank_floor", "one_fit"]

P = 50
Q = 16
ALPHA = 0.5
_CHUNK = 4096
_TINY = float(np.finfo(float).tiny)  # columns of zeros stay zero
ALPHAS = tuple(np.logspace(-6, 3, 25))


def low_rank_floor(X: Matrix, Y: Matrix, points: Matrix, gamma: float, alpha: float) -> Matrix:
    """(ΦᵀΦ + αI)⁻¹ΦᵀY for given landmarks: features, whitening, one triangle of the product, factor; by hand."""
    m = len(points)
    left, right = rbf_factors(points, points, gamma)
    L = np.linalg.cholesky(np.exp(left.T @ right))
    G = np.zeros((m, m), order="F")
    B = np.zeros((m, Y.shape[1]))
    for start in range(0, len(X), _CHUNK):
        rows = slice(start, start + _CHUNK)
        left, right = rbf_factors(points, X[rows], gamma)
        Phi = solve_triangular(L, np.exp(left.T @ right), lower=True, check_finite=False)  # (m, rows)
        G = dsyrk(1.0, Phi, 1.0, G, lower=1, overwrite_c=1)
        B += Phi @ Y[rows]
    G[np.diag_indices(m)] += alpha
    return np.asarray(cho_solve(cho_factor(G, lower=True, overwrite_a=True, check_finite=False), B))


def falkon(X: Matrix, Y: Matrix, points: Matrix, gamma: float, alpha: float, steps: int = 20) -> Matrix:
    """Weights on the landmarks: conjugate gradients with Falkon's preconditioner, K_XP evaluated anew in each step."""
    n = len(X)
    m = len(points)
    left, right = rbf_factors(points, points, gamma)
    K = np.exp(left.T @ right)
    T = np.linalg.cholesky(K + 1e-10 * m * np.eye(m)).T
    A = np.linalg.cholesky(T @ T.T / m + alpha / n * np.eye(m)).T

    def back(V: Matrix) -> Matrix:
        return np.asarray(solve_triangular(T, solve_triangular(A, V)))

    def product(V: Matrix | None) -> Matrix:
        """K_PX (K_XP V), or K_PX Y."""
        total = np.zeros((m, Y.shape[1]))
        for start in range(0, n, _CHUNK):
            rows = slice(start, start + _CHUNK)
            a, b = rbf_factors(points, X[rows], gamma)
            block = np.exp(a.T @ b)
            total += block @ (Y[rows] if V is None else block.T @ V)
        return total

    def forward(W: Matrix) -> Matrix:
        return np.asarray(solve_triangular(A, solve_triangular(T, W, trans=1), trans=1))

    def system(V: Matrix) -> Matrix:
        U = back(V)
        return forward(product(U) / n + alpha / n * (K @ U))

    R = forward(product(None) / n)
    X_ = np.zeros_like(R)
    D = R
    rho = np.sum(R * R, axis=0)
    for _ in range(steps):
        S = system(D)
        t = rho / np.maximum(np.sum(D * S, axis=0), _TINY)
        X_ = X_ + t * D
        R = R - t * S
        new = np.sum(R * R, axis=0)
        D = R + new / np.maximum(rho, _TINY) * D
        rho = new
    return back(X_)


def one_fit(*, seed: int = 0, n: int = 100_000, m: int = 1000) -> Question:
    """One alpha, landmarks drawn uniformly, which everybody is given."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, P, Q)
    gamma = 1.0 / P
    kernel = Nystroem(RBF(gamma), m, pivots="uniform", random_state=seed)
    points = X[kernel.fit(X).pivots_]
    model = IOKR(kernel, alpha=ALPHA, intercept=False)
    new = X[:100]

    def by_features(D: Matrix) -> dict[str, Matrix]:
        left, right = rbf_factors(points, points, gamma)
        L = np.linalg.cholesky(np.exp(left.T @ right))
        left, right = rbf_factors(points, new, gamma)
        return {"h": solve_triangular(L, np.exp(left.T @ right), lower=True).T @ D}

    baseline = SklearnNystroem(gamma=gamma, n_components=m, random_state=seed), Ridge(alpha=ALPHA, fit_intercept=False)
    return Question(
        f"low rank, n = {n}, m = {m}",
        (
            Contender("IOKR", lambda: model.fit(X, Y), lambda found: {"h": found.predict(new)}, "ours"),
            Contender("floor", partial(low_rank_floor, X, Y, points, gamma, ALPHA), by_features, role="floor"),
            Contender(
                "Falkon, 20 steps",
                partial(falkon, X, Y, points, gamma, ALPHA, steps=5),
                whole=lambda: (4.0, " (four times the time of 5)"),
            ),
            Contender("scikit-learn Nystroem + Ridge", lambda: baseline[1].fit(baseline[0].fit_transform(X), Y)),
        ),
        (Target("floor", at_most=1.3),),
        note="Everybody has the same number of landmarks; scikit-learn draws its own, Falkon stops after 20 steps.",
        rounds=3,
    )


def _fits(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    table, verdicts = run.ask(one_fit(seed=run.seed, **({"n": 600, "m": 40} if run.quick else {})))
    return [table], verdicts


def _landmarks(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Random pivots in blocks, compared with greedy ones column by column."""
    n, m = (600, 40) if run.quick else (20_000, 1000)
    X, _ = smooth_vectors(np.random.default_rng(run.seed), n, P, Q)
    kernel = RBF(1.0 / P).fit(X)
    R = kernel.represent(X)
    question = Question(
        f"landmarks, n = {n}, m = {m}",
        (
            Contender("random pivots", lambda: Landmarks(kernel, R, m), role="ours"),
            Contender("greedy pivots", lambda: Landmarks(kernel, R, m, pivots="greedy")),
            Contender("uniform", lambda: Landmarks(kernel, R, m, pivots="uniform")),
        ),
        (Target("greedy pivots", at_most=0.25),),
        rounds=1,
    )
    table, verdicts = run.ask(question)
    return [table], verdicts


def _path(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """25 alphas and leave-one-out, from moments and from singular vectors."""
    n, m = (600, 40) if run.quick else (20_000, 1000)
    X, Y = smooth_vectors(np.random.default_rng(run.seed), n, P, Q)
    problem = fitted_problem(IOKR(Nystroem(RBF(1.0 / P), m), alpha=ALPHA, intercept=False).fit(X, Y))
    question = Question(
        f"25 alphas and leave-one-out, n = {n}, m = {m}",
        (
            Contender(
                "moments", lambda: MomentsPath(problem).loo_errors(problem.Psi, ALPHAS), lambda e: {"errors": e}, "ours"
            ),
            Contender(
                "singular vectors", lambda: ThinPath(problem).loo_errors(problem.Psi, ALPHAS), lambda e: {"errors": e}
            ),
        ),
        (Target("singular vectors", at_most=0.5),),
        rtol=1e-6,
        rounds=3,
    )
    table, verdicts = run.ask(question)
    return [table], verdicts


def letters_missing() -> str | None:
    """Why there are no letters to read, or None."""
    from iokr.datasets.home import DataNotFound, data_files

    try:
        data_files("ocr_letters")
    except DataNotFound as error:
        return str(error)
    return None


def _letters(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Test error of handwritten letters, one against all, for every way to choose landmarks."""
    from iokr_lab.data.ocr import load_ocr_letters

    data = load_ocr_letters()
    n, m, draws = (500, 40, 1) if run.quick else (8000, 500, 3)
    order = np.random.default_rng(run.seed).permutation(len(data.labels))[: 2 * n]
    X = data.pixels[order]
    Y = np.eye(26)[data.labels[order]]
    rows = []
    errors = {}
    for pivots in ("random", "uniform", "greedy"):
        run.step(f"letters, {pivots} landmarks")
        found = []
        for draw in range(1 if pivots == "greedy" else draws):
            kernel = Nystroem(RBF(0.02), m, pivots=pivots, random_state=run.seed + draw)
            H = IOKRCV(kernel, intercept=False).fit(X[:n], Y[:n]).decision_function(X[n:])
            found.append(100 * float(np.mean(np.argmax(H, axis=1) != np.argmax(Y[n:], axis=1))))
        errors[pivots] = float(np.mean(found))
        rows.append({"landmarks": pivots, "test error (%)": errors[pivots], "draws": len(found)})
    note = f"{n} letters to learn from, as many to test, γ = 0.02, m = {m}, alpha by leave-one-out."
    verdict = Verdict("letters: random pivots − uniform, points", errors["random"] - errors["uniform"], at_most=0.5)
    return [Table("Letters by their landmarks", rows, note)], [verdict]


SECTIONS = (
    Section("low rank on the CPU", _fits),
    Section("landmarks", _landmarks),
    Section("every alpha and leave-one-out", _path),
    Section("letters", _letters, letters_missing),
)
