"""Quantiles at 20 levels to a gap of 1e-4: ours compared with generic alternating directions and a quasi-Newton method.

n = 300 rows of a sine whose noise grows, Gaussian kernels (γ = 10 on inputs, c = 9 on levels), λ = 0.01, no intercept:
(a) without the penalty on crossings, (b) with it, ν = 0.05 at 19 anchors between the levels. All contenders solve the
same problem: the generic solver is the one of all other losses, in the same library; L-BFGS-B takes the dual in its
box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from iokr._component import component
from iokr.estimators.quantiles.base import Points, Rows, solve_levels
from iokr.estimators.quantiles.levels import Levels, fit_levels
from iokr.estimators.quantiles.model import QuantileCurves
from iokr.gram.separable import SeparableGram
from iokr.kernels.vectors import RBF
from iokr.losses.pinball import BoxLoss
from iokr.problem import Problem
from iokr.solvers.iterative.admm import ADMM
from iokr_lab.bench.base import Benchmark, Contender, Deadline, Question, Target, sized
from iokr_lab.bench.grams import Matrix

__all__ = ["BENCHMARK", "crossing", "plain"]

_ALPHA = 0.01
_TOL = 1e-4
_NU = 0.05
_OURS = "QuantileCurves"
_GENERIC = "ADMM, as for every loss"
_TINY: dict[str, Any] = {"n": 30, "m": 4}
SMALL = {"plain": _TINY, "crossing": _TINY}


@component
class _AnyLoss(BoxLoss):
    """A box loss that does not declare itself as one, so that the generic solver is used."""

    lo: Any
    hi: Any

    boxes: ClassVar[bool] = False

    def bounds(self, q: int) -> tuple[np.ndarray, np.ndarray]:
        return self.lo, self.hi


@dataclass(frozen=True, eq=False)
class Task:
    """The data and the problem on them."""

    X: Matrix
    y: Matrix
    theta: Matrix
    nu: float

    @classmethod
    def of(cls, n: int, m: int, nu: float, seed: int) -> Task:
        """A sine whose noise grows."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(n, 1))
        y = np.sin(2 * np.pi * X[:, 0]) + (0.1 + 0.5 * X[:, 0]) * rng.normal(size=n)
        return cls(X, y, np.arange(1, m + 1) / (m + 1), nu)

    def model(self) -> QuantileCurves:
        """What users call."""
        options: dict[str, Any] = {"levels": self.theta, "crossing": self.nu, "alpha": _ALPHA, "intercept": False}
        model: QuantileCurves = QuantileCurves(RBF(10.0), solver=ADMM(_TOL), **options).fit(self.X, self.y)
        return model

    def levels(self) -> Levels:
        """Of its problem."""
        return fit_levels(self.theta, None, self.nu, 0.0)

    def problem(self) -> Problem:
        """The same with a loss that the solver has no special code for."""
        levels = self.levels()
        Psi = levels.targets(self.y)
        loss = levels.loss()
        gram = SeparableGram(Points.of(RBF(10.0), self.X).training_gram(), levels.operator(Psi))
        return Problem(gram, Psi, _AnyLoss(loss.lo, loss.hi), _ALPHA)

    def value(self, C: Matrix) -> dict[str, Any]:
        """The objective at C over that at 0, plus one: gaps of 1e-4 are differences of 1e-4."""
        problem = self.problem()
        return {"1 + objective": 1 + float(problem.objective(C)) / float(problem.objective(np.zeros_like(C)))}

    def by_quasi_newton(self) -> Matrix:
        """C = W/λ, W the minimum of ½⟨W, KWG⟩/λ − ⟨W, Ψ⟩ over the box, looked at every 20 steps."""
        from scipy.optimize import minimize

        problem = self.problem()
        levels = self.levels()
        K = np.asarray(RBF(10.0)(self.X))
        G = levels.G / np.outer(levels.r, levels.r)
        Psi = problem.Psi
        lo, hi = problem.loss.bounds(Psi.shape[1])
        start = float(problem.objective(np.zeros_like(Psi)))
        last = np.zeros_like(Psi)

        def minus_dual(w: Matrix) -> tuple[float, Matrix]:
            W = w.reshape(Psi.shape)
            slope = K @ W @ G / _ALPHA - Psi
            return float(np.sum(W * (slope - Psi)) / 2), slope.ravel()

        box = list(zip(np.tile(lo, len(Psi)), np.tile(hi, len(Psi)), strict=True))
        for _ in range(_PATIENCE):
            found = minimize(minus_dual, last.ravel(), jac=True, bounds=box, method="L-BFGS-B", options={"maxiter": 20})
            last = found.x.reshape(Psi.shape)
            if float(problem.objective(last / _ALPHA)) + float(found.fun) <= _TOL * start:
                break
        return np.asarray(last / _ALPHA)


_PATIENCE = 40  # looks at the gap of a baseline that may not converge


def _solved(task: Task) -> Matrix:
    """The solver without what a model checks and keeps."""
    levels = task.levels()
    points = Points.of(RBF(10.0), task.X)
    rows = Rows(task.X, task.y, None)
    return np.asarray(solve_levels(points.training_gram(), rows, levels, _ALPHA, ADMM(_TOL), intercept=False).C)


def _asked(title: str, n: int, m: int, nu: float, seed: int, at_most: float) -> Question:
    task = Task.of(n, m, nu, seed)
    return Question(
        f"{title}, {n} rows, {m} levels, gap {_TOL:g}",
        (
            Contender(_OURS, task.model, lambda model: task.value(np.asarray(model.solution_.C)), "ours"),
            Contender("its solver alone", partial(_solved, task), task.value),
            Contender(_GENERIC, lambda: ADMM(_TOL).solve(task.problem()), lambda found: task.value(found.C)),
            Contender("L-BFGS-B on the dual", task.by_quasi_newton),
        ),
        (Deadline(_OURS, at_most=at_most), Target(_GENERIC, at_least=1.0)),
        rtol=_TOL,
        note=f"L-BFGS-B stops at the same gap or after {20 * _PATIENCE} steps; its answer is not compared.",
        rounds=3,
    )


def plain(*, seed: int = 0, n: int = 300, m: int = 20) -> Question:
    """ν = 0."""
    return _asked("(a) Without a penalty on crossings", n, m, 0.0, seed, 0.3)


def crossing(*, seed: int = 0, n: int = 300, m: int = 20) -> Question:
    """ν = 0.05."""
    return _asked(f"(b) With a penalty of {_NU:g}", n, m, _NU, seed, 0.7)


BENCHMARK = Benchmark("Quantiles", sized(SMALL, plain, crossing), n_threads=1)
