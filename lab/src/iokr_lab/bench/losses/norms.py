"""(a) Huber, (b) ε-ridge and (c) ε-SVR and gradient methods on the dual, with the ridge fit as the unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber
from iokr.solvers import Auto
from iokr_lab.bench.base import Contender, Question, Target
from iokr_lab.bench.grams import gram
from iokr_lab.bench.losses import gradient
from iokr_lab.bench.losses.data import NOISE, RATIO, TOL, check_gap, largest_eigenvalue, with_outliers
from iokr_lab.bench.losses.gradient import DualGradient, Found, NormDual

if TYPE_CHECKING:
    from iokr.losses.base import Loss

__all__ = ["PLAIN", "epsilon_insensitive", "epsilon_square", "huber"]

_RIDGE = "ridge fit"
PLAIN = "projected gradient"
_FAST = "accelerated gradient with restart"
_TIMED = 100  # steps of projected gradient that are timed; it needs thousands of equal cost


def huber(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50) -> Question:
    """The Huber loss, κ the length of the noise."""
    kappa = NOISE * float(np.sqrt(q))
    dual = NormDual(radius=kappa)
    return _norm_question("(a) Huber", Huber(kappa), dual, seed, n, p, q, Target(_RIDGE, at_most=6.0))


def epsilon_square(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50) -> Question:
    """ε-ridge, ε the length of the noise."""
    epsilon = NOISE * float(np.sqrt(q))
    return _norm_question("(b) ε-ridge", EpsilonSquare(epsilon), NormDual(epsilon), seed, n, p, q)


def epsilon_insensitive(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50) -> Question:
    """ε-SVR, ε the length of the noise."""
    epsilon = NOISE * float(np.sqrt(q))
    dual = NormDual(epsilon, radius=1.0, quadratic=0.0)
    return _norm_question("(c) ε-SVR", EpsilonInsensitive(epsilon), dual, seed, n, p, q, Target(_RIDGE, at_most=10.0))


def _norm_question(
    name: str, loss: Loss, dual: NormDual, seed: int, n: int, p: int, q: int, *targets: Target
) -> Question:
    """Ours, the gradient methods, and one ridge fit."""
    X, Y = with_outliers(np.random.default_rng(seed), n, p, q)
    gamma = 1.0 / p
    K = gram(X, X, gamma)
    lam = largest_eigenvalue(K) / RATIO
    P0 = dual.loss(Y)
    ours = IOKR(RBF(gamma), alpha=lam, loss=loss, solver=Auto(tol=TOL), intercept=False)
    unit = IOKR(RBF(gamma), alpha=lam, intercept=False)
    plain = DualGradient(X, Y, gamma, lam, dual, timed=_TIMED)
    fast = DualGradient(X, Y, gamma, lam, dual, accelerated=True)

    def answers(model: Any) -> dict[str, Any]:
        check_gap(f"{name}, ours", model.solution_.gap)
        C = model.solution_.C
        H = K @ C
        return {"objective": (dual.loss(Y - H) + lam / 2 * np.sum(C * H)) / P0}

    def objective(found: Found) -> dict[str, Any]:
        if found.steps >= gradient.COUNTED and found.gap > TOL:
            return {}
        check_gap(f"{name}, a gradient method", found.gap)
        return {"objective": found.primal / P0}

    return Question(
        f"{name}, n = {n}, q = {q}",
        (
            Contender("IOKR", lambda: ours.fit(X, Y), answers, "ours"),
            Contender(PLAIN, plain.run, objective, whole=plain.whole),
            Contender(_FAST, fast.run, objective),
            Contender(_RIDGE, lambda: unit.fit(X, Y)),
        ),
        (Target(PLAIN, at_least=50.0), Target(_FAST, at_least=4.0), *targets),
        rtol=10 * TOL,  # both are within 1e-6 · primal(0) of the minimum
        note="Gradient methods on the dual, step 1/λ_max(K̂). Projected gradient ran once to count its steps, "
        f"{gradient.COUNTED} at most, of equal cost; {_TIMED} were timed, without the Gram matrix, and multiplied.",
    )
