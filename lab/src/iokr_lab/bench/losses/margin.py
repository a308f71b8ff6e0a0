"""(d) The margin and general solvers of quadratic programs, with its Gram matrix as the unit; (e) how it grows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module, util
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm

from iokr import IOKR
from iokr._system.compile import compiling
from iokr.kernels.vectors import RBF
from iokr.losses import MaxMargin
from iokr.problem import Problem, Solution
from iokr.solvers import Auto
from iokr.solvers.iterative.box_qp import DenseQuadratic
from iokr.solvers.iterative.coordinate_descent import margin_matrix
from iokr.solvers.iterative.reduced import LabeledProblem
from iokr_lab.bench.base import Contender, Question, Target, growth
from iokr_lab.bench.grams import PANEL, Matrix, gram, rbf_factors
from iokr_lab.bench.losses.data import RATIO, TOL, check_gap, largest_eigenvalue, lengths, with_outliers

__all__ = ["PROGRAMS", "box_objective", "margin", "margin_gram", "quadratic_program", "sweeps"]

_GRAM = "Gram alone"
PROGRAMS: dict[str, dict[str, float]] = {
    "Clarabel": {"tol_gap_abs": TOL, "tol_gap_rel": TOL, "tol_feas": TOL},
    "OSQP": {"eps_abs": TOL, "eps_rel": TOL},
}


def margin(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50, compiled: bool = True) -> Question:
    """The margin's dual: compiled and compared with general solvers, or in NumPy and compared with its Gram matrix."""
    X, Y = with_outliers(np.random.default_rng(seed), n, p, q)
    Y /= lengths(Y)[:, None]
    gamma = 1.0 / p
    lam = largest_eigenvalue(gram(X, X, gamma)) / RATIO
    Q = margin_gram(X, Y, gamma, lam)
    model = IOKR(RBF(gamma), alpha=lam, loss=MaxMargin(), solver=Auto(tol=TOL))

    def solve() -> Solution:
        with compiling(compiled):
            return Auto(tol=TOL).solve(margin_problem(X, Y, gamma, lam))

    def fit() -> Solution:
        with compiling(compiled):
            model.fit(X, Y)
        found: Solution = model.solution_
        return found

    def answers(solution: Solution) -> dict[str, Any]:
        check_gap("margin, ours", solution.gap)
        return {"objective": box_objective(Q, lam * np.sum(solution.C * Y, axis=1)) / n}

    baselines = [
        Contender(
            f"{solver} through cvxpy",
            partial(quadratic_program, X, Y, gamma, lam, solver.upper(), **options),
            lambda alpha: {"objective": box_objective(Q, alpha) / n},
            needs=solver.lower() if util.find_spec("cvxpy") else "cvxpy",
        )
        for solver, options in PROGRAMS.items()
    ]
    return Question(
        f"(d) margin, {'compiled' if compiled else 'NumPy alone'}, n = {n}, q = {q}",
        (
            Contender("Gram + solve", solve, answers, "ours"),
            Contender("IOKR.fit", fit, answers),
            *(baselines if compiled or not util.find_spec("numba") else []),
            Contender(_GRAM, lambda: library_gram(X, Y, gamma, lam), lambda found: {"Q": found}),
            Contender("Gram by hand", lambda: margin_gram(X, Y, gamma, lam), lambda found: {"Q": found}, "floor"),
        ),
        (
            Target(_GRAM, at_most=1.5 if compiled else 3.0),
            *(Target(baseline.name, at_least=15.0) for baseline in baselines if compiled),
        ),
        rtol=10 * TOL,
        note="Gram alone: Q = ΨΨᵀ ∘ K/λ as this library makes it, from X; Gram + solve: the same with its solver; "
        "IOKR.fit: with the checks of an estimator too. Floor: Q by hand, from X and nothing else."
        + (" Clarabel and OSQP are given the Gram by hand, and tolerances of 1e-6." if compiled else ""),
    )


def library_gram(X: Matrix, Psi: Matrix, gamma: float, lam: float) -> Matrix:
    """Q as `CoordinateDescent` makes it."""
    return margin_matrix(LabeledProblem(margin_problem(X, Psi, gamma, lam)))


def margin_problem(X: Matrix, Psi: Matrix, gamma: float, lam: float) -> Problem:
    """The problem as `IOKR` poses it."""
    kernel = RBF(gamma).fit(X)
    return Problem(kernel.gram(kernel.represent(X)), Psi, MaxMargin(), lam)


def margin_gram(X: Matrix, Psi: Matrix, gamma: float, lam: float) -> Matrix:
    """Q = ΨΨᵀ ∘ K/λ, by panels of the lower triangle that stay in the cache."""
    n = len(X)
    left, right = rbf_factors(X, X, gamma)
    outputs = Psi.T
    scaled = (Psi / lam).T
    Q = np.empty((n, n), order="F")
    for start in range(0, n, PANEL):
        here = slice(start, start + PANEL)
        panel = np.exp(dgemm(1.0, left[:, start:], right[:, here], trans_a=1))
        panel *= dgemm(1.0, outputs[:, start:], scaled[:, here], trans_a=1)
        Q[start:, here] = panel
        Q[here, start:] = panel.T
    return Q


def quadratic_program(X: Matrix, Psi: Matrix, gamma: float, lam: float, solver: str, **options: float) -> Matrix:
    """argmin ½αᵀQα − 1ᵀα over 0 ≤ α ≤ 1, by a general solver."""
    cp: Any = import_module("cvxpy")
    alpha = cp.Variable(len(X))
    energy = cp.quad_form(alpha, cp.psd_wrap(margin_gram(X, Psi, gamma, lam)))
    cp.Problem(cp.Minimize(energy / 2 - cp.sum(alpha)), [alpha >= 0, alpha <= 1]).solve(solver=solver, **options)
    found: Matrix = np.clip(alpha.value, 0.0, 1.0)
    return found


def box_objective(Q: Matrix, alpha: Matrix) -> float:
    """½αᵀQα − 1ᵀα."""
    return float(alpha @ (Q @ alpha) / 2 - alpha.sum())


def sweeps(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50, times: int = 10) -> Question:
    """Sweeps of coordinate descent over 2n entries, and the same number over n."""

    def prepare(size: int) -> Callable[[], None]:
        X, Y = with_outliers(np.random.default_rng(seed), size, p, q)
        Y /= lengths(Y)[:, None]
        lam = largest_eigenvalue(gram(X, X, 1.0 / p)) / RATIO
        quadratic = DenseQuadratic(np.ascontiguousarray(margin_gram(X, Y, 1.0 / p, lam)))

        def sweep() -> None:
            alpha = np.zeros(size)
            gradient = np.full(size, -1.0)
            upper = np.ones(size)
            for _ in range(times):
                quadratic.sweep(upper, alpha, gradient)

        return sweep

    note = "A sweep costs n² at most: twice as many points, four times the time."
    return growth(f"(e) {times} sweeps of the margin", prepare, n, 4.0, note)
