"""(f) The low-rank option, and (g) the same on many points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from scipy.linalg.blas import dgemm

from iokr import IOKR
from iokr_lab.bench.base import Contender, Deadline, Question
from iokr_lab.bench.covariance.data import OPERATORS, Data, incomplete_cholesky, new_features, positive_eigh
from iokr_lab.bench.grams import Matrix

__all__ = ["low_rank", "low_rank_floor", "many_points"]


def low_rank(*, seed: int = 0, n: int = 1000, rank: int = 100) -> Question:
    """Both sides on the span of `rank` objects, compared with the exact fit."""
    data = Data(seed, n)
    models = {operator: data.low_rank(operator, rank) for operator in OPERATORS}
    errors = {}
    for operator, model in models.items():
        truth = data.fit(data.exact(operator)).scores(data.X_new, data.Y)
        errors[operator] = data.error(data.fit(model).scores(data.X_new, data.Y), truth)
    exact = data.exact("Covariance")
    floor = partial(low_rank_floor, *data.problem, rank)

    def scores(model: IOKR) -> dict[str, Matrix]:
        return {"scores": model.scores(data.X_new, data.Y)}

    return Question(
        f"(f) low rank, n = {n}, m = {rank}",
        (
            Contender("LowRank, covariance", lambda: data.fit(models["Covariance"]), scores, "ours"),
            Contender("LowRank, conditional", lambda: data.fit(models["ConditionalCovariance"])),
            Contender("exact, covariance", lambda: data.fit(exact)),
            Contender("floor", floor, lambda factors: {"scores": factors.scores(data)}, "floor"),
        ),
        (Deadline("LowRank, covariance", at_most=0.1), Deadline("LowRank, conditional", at_most=0.1)),
        rtol=1e-6,
        note="‖S − Ŝ‖/‖S‖ against the exact fit, over scores of new inputs: covariance "
        f"{errors['Covariance']}, conditional {errors['ConditionalCovariance']}. Floor: two incomplete Cholesky "
        "factorisations, two eigh of size m and the products.",
    )


def many_points(*, seed: int = 0, n: int = 20_000, rank: int = 100) -> Question:
    """More points than a Gram matrix has room for."""
    data = Data(seed, n)
    models = {operator: data.low_rank(operator, rank) for operator in OPERATORS}
    return Question(
        f"(g) low rank, n = {n}, m = {rank}",
        (
            Contender("LowRank, covariance", lambda: data.fit(models["Covariance"]), role="ours"),
            Contender("LowRank, conditional", lambda: data.fit(models["ConditionalCovariance"])),
            Contender("floor", lambda: low_rank_floor(*data.problem, rank), role="floor"),
        ),
        note=f"K alone would take {8 * n**2 / 1e9:.1f} GB.",
    )


@dataclass(frozen=True)
class Factors:
    """On K ≈ L₁L₁ᵀ with pivots P and K_Y ≈ L₂L₂ᵀ, h(x) has the coordinates φ(x)ᵀB, φ(x) = L₁[P]⁻¹k(P, x)."""

    left: Matrix
    pivots: list[int]
    right: Matrix
    B: Matrix

    def scores(self, data: Data) -> Matrix:
        """⟨h(x), ψ(y_j)⟩ at new inputs."""
        found: Matrix = new_features(data, self.left, self.pivots) @ self.B @ self.right.T
        return found


def low_rank_floor(X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float, rank: int) -> Factors:
    """B = Q[QᵀL₁ᵀL₂E∘γ/(λ + sγᵀ)]Eᵀ with L₁ᵀL₁ = Q diag(s) Qᵀ and L₂ᵀL₂/n = E diag(γ) Eᵀ."""
    left, pivots = incomplete_cholesky(X, gamma, rank)
    right, _ = incomplete_cholesky(Y, gamma_y, rank)
    s, Q = positive_eigh(dgemm(1.0, left, left, trans_a=1))
    g, E = positive_eigh(dgemm(1 / len(X), right, right, trans_a=1))
    T = Q.T @ dgemm(1.0, left, right, trans_a=1) @ E
    return Factors(left, pivots, right, Q @ (T * g / (alpha + s[:, None] * g)) @ E.T)
