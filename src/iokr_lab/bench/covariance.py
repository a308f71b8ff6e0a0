"""Covariance operators of outputs that are known through their kernel only: exact in O(n³), and low rank.

(a) Covariance and (b) conditional covariance, one fit beside two eigendecompositions and the products that follow them.
(c, d) One more λ. (e) Twice the points. (f) The low-rank option and (g) the same on many points. Then peak memory. The
route that was published with these operators, incomplete Cholesky on both sides and a system of size (m₁m₂)², stands
beside the first; it and the low-rank option are approximate, so their errors are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh, solve_triangular
from scipy.linalg.blas import dgemm

from iokr import IOKR
from iokr.embeddings.nystroem import Nystroem as NystroemEmbedding
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.vectors import RBF
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr.report import Report
from iokr.solvers.closed_form.lowrank import LowRank
from iokr.solvers.closed_form.oblique import spectral_path
from iokr.solvers.closed_form.symmetric_system import geometry
from iokr_lab.bench.base import Contender, Deadline, Question, Target, Verdict, survey
from iokr_lab.bench.memory import Footprint
from iokr_lab.bench.ridge import gram, lower_gram

__all__ = [
    "conditional",
    "covariance",
    "growth",
    "low_rank",
    "many_points",
    "one_more",
    "one_more_conditional",
    "run",
]

Matrix = NDArray[np.float64]

_THREADS = 2
_OPERATORS = {"Covariance": Covariance, "ConditionalCovariance": ConditionalCovariance}
_EPSILON = 1e-2  # in units of s_max(K)/n, the default of `ConditionalCovariance`
_SMALL: dict[str, dict[str, int]] = {
    "covariance": {"n": 80, "rank": 8},
    "conditional": {"n": 80},
    "one_more": {"n": 80},
    "one_more_conditional": {"n": 80},
    "growth": {"n": 60},
    "low_rank": {"n": 120, "rank": 40},
    "many_points": {"n": 400, "rank": 20},
}


def run(*, repeat: int, seed: int, progress: Callable[[int, int, str], None], quick: bool) -> Report:
    """Ask the questions and measure memory; see `iokr_lab.bench.run`."""
    sizes: dict[str, dict[str, int]] = _SMALL if quick else {name: {} for name in _SMALL}
    questions: Sequence[Callable[..., Question]] = (
        *(covariance, conditional, one_more, one_more_conditional),
        *(growth, low_rank, many_points),
    )
    return survey(
        "Covariance operators",
        [partial(build, seed=seed, **sizes[build.__name__]) for build in questions],
        _footprints(seed, quick),
        _judge_memory,
        repeat=repeat,
        seed=seed,
        progress=progress,
        n_threads=_THREADS,
        judge=not quick,
    )


# ---------------------------------------------------------------------------------------------------------
# Data and models


@dataclass(frozen=True)
class _Data:
    """Smooth functions of three inputs, five outputs with noise; Gaussian kernels on both sides."""

    seed: int
    n: int
    gamma: float = 1 / 6
    gamma_y: float = 0.1
    alpha: float = 0.01

    @cached_property
    def _drawn(self) -> tuple[Matrix, Matrix, Matrix]:
        rng = np.random.default_rng(self.seed)
        X, mixing, X_new = rng.standard_normal((self.n, 3)), rng.standard_normal((3, 5)), rng.standard_normal((100, 3))
        return X, np.sin(X @ mixing / np.sqrt(3)) + 0.3 * rng.standard_normal((self.n, 5)), X_new

    @property
    def X(self) -> Matrix:
        return self._drawn[0]

    @property
    def Y(self) -> Matrix:
        return self._drawn[1]

    @property
    def X_new(self) -> Matrix:
        return self._drawn[2]

    def exact(self, operator: str) -> IOKR:
        """The model whose fit is timed."""
        kernel = _OPERATORS[operator](RBF(self.gamma))
        return IOKR(kernel, output_kernel=RBF(self.gamma_y), alpha=self.alpha)

    def low_rank(self, operator: str, rank: int) -> IOKR:
        """The same on `rank` inputs and `rank` outputs."""
        return IOKR(
            _OPERATORS[operator](Nystroem(RBF(self.gamma), rank)),
            output_kernel=RBF(self.gamma_y),
            embedding=NystroemEmbedding(rank),
            alpha=self.alpha,
            solver=LowRank(),
        )

    def approximate(self, left: Matrix, pivots: list[int]) -> Matrix:
        """k_xᵀ at new inputs as the factor L of K gives it: φ(x)ᵀLᵀ, φ(x) = L[P]⁻¹k(P, x)."""
        return _features(self, left, pivots) @ left.T

    def scores(self, Theta: Matrix, K_new: Matrix | None = None) -> Matrix:
        """⟨h(x), ψ(y_j)⟩ at new inputs, h(x) = Σ_i (Θk_x)_i ψ(y_i)."""
        weights = (gram(self.X_new, self.X, self.gamma) if K_new is None else K_new) @ Theta.T
        found: Matrix = weights @ gram(self.Y, self.Y, self.gamma_y)
        return found

    def error(self, scores: Matrix, truth: Matrix) -> str:
        """‖S − Ŝ‖ / ‖S‖ in words."""
        return f"{np.linalg.norm(scores - truth) / np.linalg.norm(truth):.1%}"


# ---------------------------------------------------------------------------------------------------------
# (a) and (b) One fit


def covariance(*, seed: int = 0, n: int = 1000, rank: int = 50) -> Question:
    """Θ of the covariance operator, and the published route to it."""
    data = _Data(seed, n)
    model = data.exact("Covariance")
    published = partial(published_route, data.X, data.Y, data.gamma, data.gamma_y, data.alpha, rank)
    truth = data.scores(covariance_floor(data.X, data.Y, data.gamma, data.gamma_y, data.alpha))
    Theta, left, pivots = published()
    literal, alike = (data.error(data.scores(Theta, k), truth) for k in (None, data.approximate(left, pivots)))
    return Question(
        f"(a) covariance, n = {n}",
        (
            Contender("IOKR(Covariance)", lambda: model.fit(data.X, data.Y), _weights_of, "ours"),
            Contender(f"published route, ranks ({rank}, {rank})", published, lambda answer: {"approximate": answer[0]}),
            Contender(
                "floor",
                lambda: covariance_floor(data.X, data.Y, data.gamma, data.gamma_y, data.alpha),
                lambda Theta: {"Θ": Theta},
                "floor",
            ),
        ),
        (Target("floor", at_most=1.2),),
        note="Floor: two Gram matrices, two eigh and three products. The published route is wrong by "
        f"{literal} if the inverse alone is approximated, by {alike} if k_x goes through the factor of K as well: "
        "‖S − Ŝ‖/‖S‖ over scores of new inputs.",
    )


def conditional(*, seed: int = 0, n: int = 1000) -> Question:
    """Θ of the conditional covariance operator, for which no other route was published."""
    data = _Data(seed, n)
    model = data.exact("ConditionalCovariance")
    return Question(
        f"(b) conditional covariance, n = {n}",
        (
            Contender("IOKR(ConditionalCovariance)", lambda: model.fit(data.X, data.Y), _weights_of, "ours"),
            Contender(
                "floor",
                lambda: conditional_floor(data.X, data.Y, data.gamma, data.gamma_y, data.alpha),
                lambda Theta: {"Θ": Theta},
                "floor",
            ),
        ),
        (Target("floor", at_most=1.2),),
        note="Floor: two Gram matrices, two eigh and six products.",
    )


def _weights_of(model: IOKR) -> dict[str, Any]:
    return {"Θ": model.solution_.C.T}


def covariance_floor(X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float) -> Matrix:
    """Θ = W [t∘WᵀU / (nλ + t sᵀ)] Uᵀ with K = U diag(s) Uᵀ, K_Y = W diag(t) Wᵀ."""
    s, U = _eigh(lower_gram(X, gamma))
    t, W = _eigh(lower_gram(Y, gamma_y))
    bracket = t[:, None] * dgemm(1.0, W, U, trans_a=1)
    bracket /= len(X) * alpha + t[:, None] * s
    Theta: Matrix = dgemm(1.0, dgemm(1.0, W, bracket), U, trans_b=1)
    return Theta


def conditional_floor(X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float) -> Matrix:
    """Θ = U r W [Wᵀ r M / (nλ + t sᵀ)] Uᵀ with M = UᵀK_YU, r M r = W diag(t) Wᵀ, r² = nε/(s + nε)."""
    s, U = _eigh(lower_gram(X, gamma))
    M = dgemm(1.0, U, dgemm(1.0, gram(Y, Y, gamma_y), U), trans_a=1)
    n_epsilon = _EPSILON * s[-1]
    r = np.sqrt(n_epsilon / (s + n_epsilon))
    t, W = _eigh(r[:, None] * M * r)
    W *= r[:, None]
    bracket = dgemm(1.0, W, M, trans_a=1)
    bracket /= len(X) * alpha + t[:, None] * s
    Theta: Matrix = dgemm(1.0, U, dgemm(1.0, dgemm(1.0, W, bracket), U, trans_b=1))
    return Theta


def _eigh(K: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues, clipped at 0, and eigenvectors; K is overwritten and only its lower triangle is read."""
    s, U = eigh(np.asfortranarray(K), driver="evd", overwrite_a=True, check_finite=False)
    return np.maximum(s, 0.0), U


def published_route(
    X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float, rank: int
) -> tuple[Matrix, Matrix, list[int]]:
    """K12, Section 7.3: (K⊗K_Y + nλI)⁻¹vec(I) from K ≈ L₁L₁ᵀ, K_Y ≈ L₂L₂ᵀ and a system of m₁m₂ unknowns.

    Returns Θ, L₁ and its pivots.
    """
    (left, pivots), (right, _) = incomplete_cholesky(X, gamma, rank), incomplete_cholesky(Y, gamma_y, rank)
    shift = len(X) * alpha
    system = np.kron(left.T @ left, right.T @ right)
    system.flat[:: len(system) + 1] += shift
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    unknown = cho_solve(factor, (right.T @ left).T.ravel(), check_finite=False)  # columns stacked
    Z = unknown.reshape(left.shape[1], right.shape[1]).T
    return right @ (right.T - (right.T @ right) @ Z @ left.T) / shift, left, pivots


def incomplete_cholesky(X: Matrix, gamma: float, rank: int) -> tuple[Matrix, list[int]]:
    """L (n, rank) with L Lᵀ ≈ exp(−γ‖x_i − x_j‖²), and the pivots: the largest diagonal entries that were left."""
    L, left = np.zeros((len(X), rank), order="F"), np.ones(len(X))
    pivots = []
    for step in range(rank):
        p = int(np.argmax(left))
        column = np.exp(-gamma * np.einsum("ij,ij->i", X - X[p], X - X[p])) - L[:, :step] @ L[p, :step]
        L[:, step] = column / np.sqrt(left[p])
        left = np.maximum(left - L[:, step] ** 2, 0.0)
        left[p] = 0.0
        pivots.append(p)
    return L, pivots


# ---------------------------------------------------------------------------------------------------------
# (c), (d) One more λ, (e) twice the points


def one_more(*, seed: int = 0, n: int = 1000, operator: str = "Covariance", letter: str = "c") -> Question:
    """Another λ from factors that are there, beside the first."""
    data = _Data(seed, n)
    model = data.exact(operator).fit(data.X, data.Y)
    problem = model._fitted_problem()
    path = spectral_path(problem, geometry(problem))
    path.coefficients(problem.Psi, data.alpha)  # the first λ
    other = 3 * data.alpha
    first = data.exact(operator).set_params(alpha=other)
    K_new = gram(data.X_new, data.X, data.gamma)
    return Question(
        f"({letter}) one more λ, {operator}, n = {n}, {len(K_new)} new inputs",
        (
            Contender("one more λ", lambda: path.values(K_new, problem.Psi, other), lambda H: {"weights": H}, "ours"),
            Contender("all of Θ", lambda: path.coefficients(problem.Psi, other), lambda C: {"weights": K_new @ C}),
            Contender(
                "the first λ",
                lambda: first.fit(data.X, data.Y).decision_function(data.X_new),
                lambda H: {"weights": H},
            ),
        ),
        (Target("the first λ", at_most=0.1),),
        note="Weights of h(x) on the training outputs at new inputs, from the factors that a path keeps.",
    )


def one_more_conditional(*, seed: int = 0, n: int = 1000) -> Question:
    """The same for the conditional operator."""
    return one_more(seed=seed, n=n, operator="ConditionalCovariance", letter="d")


def growth(*, seed: int = 0, n: int = 1000) -> Question:
    """Both operators on n and on 2n points: n³ is a factor of eight."""

    def both(size: int) -> Callable[[], list[IOKR]]:
        data = _Data(seed, size)
        return lambda: [data.exact(operator).fit(data.X, data.Y) for operator in _OPERATORS]

    return Question(
        f"(e) both operators, n = {n} and {2 * n}",
        (
            Contender(f"n = {2 * n}", both(2 * n), lambda models: {}, "ours"),
            Contender(f"n = {n}", both(n), lambda models: {}),
        ),
        (Target(f"n = {n}", at_most=9.0),),
        note="n³ is a factor of 8, n⁴ of 16, the system of the paper, n⁶, of 64.",
    )


# ---------------------------------------------------------------------------------------------------------
# (f) and (g) Low rank


def low_rank(*, seed: int = 0, n: int = 1000, rank: int = 100) -> Question:
    """Both sides on the span of `rank` objects, beside the exact fit."""
    data = _Data(seed, n)
    models = {operator: data.low_rank(operator, rank) for operator in _OPERATORS}
    errors = {}
    for operator, model in models.items():
        truth = data.exact(operator).fit(data.X, data.Y).scores(data.X_new, data.Y)
        errors[operator] = data.error(model.fit(data.X, data.Y).scores(data.X_new, data.Y), truth)
    exact = data.exact("Covariance")
    return Question(
        f"(f) low rank, n = {n}, m = {rank}",
        (
            Contender(
                "LowRank, covariance",
                lambda: models["Covariance"].fit(data.X, data.Y),
                lambda model: {"scores": model.scores(data.X_new, data.Y)},
                "ours",
            ),
            Contender(
                "LowRank, conditional",
                lambda: models["ConditionalCovariance"].fit(data.X, data.Y),
                lambda model: {},
            ),
            Contender("exact, covariance", lambda: exact.fit(data.X, data.Y), lambda model: {}),
            Contender(
                "floor",
                lambda: low_rank_floor(data.X, data.Y, data.gamma, data.gamma_y, data.alpha, rank),
                lambda factors: {"scores": factors.scores(data)},
                "floor",
            ),
        ),
        (Deadline("LowRank, covariance", at_most=0.1), Deadline("LowRank, conditional", at_most=0.1)),
        rtol=1e-6,
        note="‖S − Ŝ‖/‖S‖ against the exact fit, over scores of new inputs: covariance "
        f"{errors['Covariance']}, conditional {errors['ConditionalCovariance']}. Floor: two incomplete Cholesky "
        "factorisations, two eigh of size m and the products.",
    )


def many_points(*, seed: int = 0, n: int = 20_000, rank: int = 100) -> Question:
    """More points than a Gram matrix has room for."""
    data = _Data(seed, n)
    models = {operator: data.low_rank(operator, rank) for operator in _OPERATORS}
    return Question(
        f"(g) low rank, n = {n}, m = {rank}",
        (
            Contender(
                "LowRank, covariance", lambda: models["Covariance"].fit(data.X, data.Y), lambda model: {}, "ours"
            ),
            Contender(
                "LowRank, conditional",
                lambda: models["ConditionalCovariance"].fit(data.X, data.Y),
                lambda model: {},
            ),
            Contender(
                "floor",
                lambda: low_rank_floor(data.X, data.Y, data.gamma, data.gamma_y, data.alpha, rank),
                lambda factors: {},
                "floor",
            ),
        ),
        note=f"K alone would take {8 * n**2 / 1e9:.1f} GB.",
    )


@dataclass(frozen=True)
class _Factors:
    """On K ≈ L₁L₁ᵀ with pivots P and K_Y ≈ L₂L₂ᵀ, h(x) has the coordinates φ(x)ᵀB, φ(x) = L₁[P]⁻¹k(P, x)."""

    left: Matrix
    pivots: list[int]
    right: Matrix
    B: Matrix

    def scores(self, data: _Data) -> Matrix:
        """⟨h(x), ψ(y_j)⟩ at new inputs."""
        found: Matrix = _features(data, self.left, self.pivots) @ self.B @ self.right.T
        return found


def _features(data: _Data, left: Matrix, pivots: list[int]) -> Matrix:
    """φ(x) = L[P]⁻¹ k(P, x) at new inputs."""
    columns = gram(data.X[pivots], data.X_new, data.gamma)
    found: Matrix = solve_triangular(left[pivots], columns, lower=True).T
    return found


def low_rank_floor(X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float, rank: int) -> _Factors:
    """B = Q[QᵀL₁ᵀL₂E∘γ/(λ + sγᵀ)]Eᵀ with L₁ᵀL₁ = Q diag(s) Qᵀ and L₂ᵀL₂/n = E diag(γ) Eᵀ."""
    (left, pivots), (right, _) = incomplete_cholesky(X, gamma, rank), incomplete_cholesky(Y, gamma_y, rank)
    s, Q = _eigh(dgemm(1.0, left, left, trans_a=1))
    g, E = _eigh(dgemm(1 / len(X), right, right, trans_a=1))
    T = Q.T @ dgemm(1.0, left, right, trans_a=1) @ E
    return _Factors(left, pivots, right, Q @ (T * g / (alpha + s[:, None] * g)) @ E.T)


# ---------------------------------------------------------------------------------------------------------
# Memory


def _footprints(seed: int, quick: bool) -> list[Footprint]:
    def of(question: str, contender: str, what: str, n: int, small: int) -> Footprint:
        full = {**_SMALL[question], "seed": seed, "n": small if quick else n}
        if question == "many_points" and not quick:
            full["rank"] = 100
        return Footprint(what, __name__, question, contender, full, {**_SMALL[question], "seed": seed}, full["n"])

    n, many = (200, 400) if quick else (2000, 20_000)
    return [
        of("covariance", "IOKR(Covariance)", f"covariance, n = {n}", n, n),
        of("conditional", "IOKR(ConditionalCovariance)", f"conditional covariance, n = {n}", n, n),
        of("many_points", "LowRank, covariance", f"low rank, n = {many}", many, many),
    ]


def _judge_memory(sizes: Sequence[int]) -> list[Verdict]:
    """n² doubles of the exact fits."""
    doubles = 8 * 2000**2
    exact, conditional_, many = sizes
    return [
        Verdict("memory of Covariance, n² doubles", exact / doubles, at_most=8.0),
        Verdict("memory of ConditionalCovariance, n² doubles", conditional_ / doubles, at_most=8.0),
        Verdict("memory of LowRank at n = 20 000, n² doubles", many / (8 * 20_000**2), at_most=0.1),
    ]
