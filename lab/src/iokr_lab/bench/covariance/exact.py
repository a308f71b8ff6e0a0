"""(a, b) One fit, (c, d) one more λ, (e) twice the points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dgemm

from iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.losses.square import Square
from iokr.problem import Problem
from iokr.solvers.closed_form.spectral import spectral_path
from iokr.solvers.closed_form.symmetric_system import geometry
from iokr_lab.bench.base import Contender, Question, Target, growth
from iokr_lab.bench.covariance.data import OPERATORS, Data, incomplete_cholesky, positive_eigh
from iokr_lab.bench.grams import Matrix, gram, lower_gram

_EPSILON = 1e-2  # in units of s_max(K)/n, the default of `ConditionalCovariance`


def covariance(*, seed: int = 0, n: int = 1000, rank: int = 50) -> Question:
    """Θ of the covariance operator, and the published route to it."""
    data = Data(seed, n)
    model = data.exact("Covariance")
    published = partial(published_route, *data.problem, rank)
    truth = data.scores(covariance_floor(*data.problem))
    Theta, left, pivots = published()
    literal = data.error(data.scores(Theta, None), truth)
    both = data.error(data.scores(Theta, data.approximate(left, pivots)), truth)
    return Question(
        f"(a) covariance, n = {n}",
        (
            Contender("IOKR(Covariance)", lambda: data.fit(model), _weights_of, "ours"),
            Contender(f"published route, ranks ({rank}, {rank})", published, lambda answer: {"approximate": answer[0]}),
            Contender("floor", lambda: covariance_floor(*data.problem), lambda Theta: {"Θ": Theta}, "floor"),
        ),
        (Target("floor", at_most=1.2),),
        note="Floor: two Gram matrices, two eigh and three products. The published route is wrong by "
        f"{literal} if the inverse alone is approximated, by {both} if k_x goes through the factor of K as well: "
        "‖S − Ŝ‖/‖S‖ over scores of new inputs.",
    )


def conditional(*, seed: int = 0, n: int = 1000) -> Question:
    """Θ of the conditional covariance operator, for which no other route was published."""
    data = Data(seed, n)
    model = data.exact("ConditionalCovariance")
    return Question(
        f"(b) conditional covariance, n = {n}",
        (
            Contender("IOKR(ConditionalCovariance)", lambda: data.fit(model), _weights_of, "ours"),
            Contender("floor", lambda: conditional_floor(*data.problem), lambda Theta: {"Θ": Theta}, "floor"),
        ),
        (Target("floor", at_most=1.2),),
        note="Floor: two Gram matrices, two eigh and six products.",
    )


def _weights_of(model: IOKR) -> dict[str, Any]:
    return {"Θ": model.solution_.C.T}


def covariance_floor(X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float) -> Matrix:
    """Θ = W [t∘WᵀU / (nλ + t sᵀ)] Uᵀ with K = U diag(s) Uᵀ, K_Y = W diag(t) Wᵀ."""
    s, U = positive_eigh(lower_gram(X, gamma))
    t, W = positive_eigh(lower_gram(Y, gamma_y))
    bracket = t[:, None] * dgemm(1.0, W, U, trans_a=1)
    bracket /= len(X) * alpha + t[:, None] * s
    Theta: Matrix = dgemm(1.0, dgemm(1.0, W, bracket), U, trans_b=1)
    return Theta


def conditional_floor(X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float) -> Matrix:
    """Θ = U r W [Wᵀ r M / (nλ + t sᵀ)] Uᵀ with M = UᵀK_YU, r M r = W diag(t) Wᵀ, r² = nε/(s + nε)."""
    s, U = positive_eigh(lower_gram(X, gamma))
    M = dgemm(1.0, U, dgemm(1.0, gram(Y, Y, gamma_y), U), trans_a=1)
    n_epsilon = _EPSILON * s[-1]
    r = np.sqrt(n_epsilon / (s + n_epsilon))
    t, W = positive_eigh(r[:, None] * M * r)
    W *= r[:, None]
    bracket = dgemm(1.0, W, M, trans_a=1)
    bracket /= len(X) * alpha + t[:, None] * s
    Theta: Matrix = dgemm(1.0, U, dgemm(1.0, dgemm(1.0, W, bracket), U, trans_b=1))
    return Theta


def published_route(
    X: Matrix, Y: Matrix, gamma: float, gamma_y: float, alpha: float, rank: int
) -> tuple[Matrix, Matrix, list[int]]:
    """K12, Section 7.3: (K⊗K_Y + nλI)⁻¹vec(I) from K ≈ L₁L₁ᵀ, K_Y ≈ L₂L₂ᵀ and a system of m₁m₂ unknowns.

    Returns Θ, L₁ and its pivots.
    """
    left, pivots = incomplete_cholesky(X, gamma, rank)
    right, _ = incomplete_cholesky(Y, gamma_y, rank)
    shift = len(X) * alpha
    system = np.kron(left.T @ left, right.T @ right)
    system.flat[:: len(system) + 1] += shift
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    unknown = cho_solve(factor, (right.T @ left).T.ravel(), check_finite=False)  # columns stacked
    Z = unknown.reshape(left.shape[1], right.shape[1]).T
    return right @ (right.T - (right.T @ right) @ Z @ left.T) / shift, left, pivots


def one_more(*, seed: int = 0, n: int = 1000, operator: str = "Covariance", letter: str = "c") -> Question:
    """Another λ from existing factors, compared with the first."""
    data = Data(seed, n)
    problem = posed(data, operator)
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
            Contender("the first λ", lambda: data.fit(first).decision_function(data.X_new), lambda H: {"weights": H}),
        ),
        (Target("the first λ", at_most=0.1),),
        note="Weights of h(x) on the training outputs at new inputs, from the factors that a path keeps.",
    )


def posed(data: Data, operator: str) -> Problem:
    """The problem as `IOKR` poses it, outputs implicit."""
    kernel = OPERATORS[operator](RBF(data.gamma)).fit(data.X)
    K = kernel.gram(kernel.represent(data.X)).K
    output_kernel = RBF(data.gamma_y).fit(data.Y)
    kernel.adapt(K, None, output_kernel.gram(output_kernel.represent(data.Y)), None)
    return Problem(kernel.around(K), np.eye(len(data.X)), Square(), data.alpha)


def one_more_conditional(*, seed: int = 0, n: int = 1000) -> Question:
    """The same for the conditional operator."""
    return one_more(seed=seed, n=n, operator="ConditionalCovariance", letter="d")


def twice(*, seed: int = 0, n: int = 1000) -> Question:
    """Both operators on n and on 2n points: n³ is a factor of eight."""

    def both(size: int) -> Callable[[], list[IOKR]]:
        data = Data(seed, size)
        return lambda: [data.fit(data.exact(operator)) for operator in OPERATORS]

    note = "n³ is a factor of 8, n⁴ of 16, the system of the paper, n⁶, of 64."
    return growth(f"(e) both operators, n = {n} and {2 * n}", both, n, 9.0, note)
