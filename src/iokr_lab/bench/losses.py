"""Losses without a closed form: time to a relative duality gap of 1e-6, from the inputs to the coefficients.

(a) Huber, (b) ε-ridge and (c) ε-SVR beside the gradient methods of the literature on the dual, with the ridge
fit as the unit. (d) The margin beside general solvers of quadratic programs, with its Gram matrix as the unit.
(e) How a sweep of the margin's coordinate descent grows with n. A tenth of the outputs are outliers;
λ is the largest eigenvalue of K over 800, κ and ε are the length of the noise.

The rivals are written out below as one would write them in NumPy and SciPy. All stop at the same gap, from the
same formula; the products that they need for a step give it too, so that looking at it costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module, util
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm
from scipy.sparse.linalg import eigsh

from iokr import IOKR
from iokr._compile import compiling
from iokr.kernels.vectors import RBF
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin
from iokr.problem import Problem, Solution
from iokr.report import Report, Table
from iokr.solvers import Auto
from iokr.solvers.iterative.box_qp import DenseQuadratic
from iokr.solvers.iterative.coordinate_descent import margin_matrix
from iokr.solvers.iterative.reduced import LabeledProblem
from iokr_lab.bench import ridge
from iokr_lab.bench.base import Contender, Disagreement, Question, Target, Verdict, survey

if TYPE_CHECKING:
    from iokr.losses.base import Loss

__all__ = ["DualGradient", "epsilon_insensitive", "epsilon_square", "growth", "huber", "margin", "run"]

_THREADS = 2
_TOL = 1e-6
_RATIO = 800.0  # the largest eigenvalue of K over λ
_NOISE = 0.3  # standard deviation of an output's noise
_LOOK = 10  # steps of a gradient method between two looks at the gap
_TIMED = 100  # steps of projected gradient that are timed; it needs thousands, all alike
_COUNTED = 10_000  # of its steps at most; where they do not suffice, its time is a lower bound

Matrix = NDArray[np.float64]

_SMALL = {"n": 120, "q": 5, "p": 3}


def run(*, repeat: int, seed: int, progress: Callable[[int, int, str], None], quick: bool) -> Report:
    """Ask the questions; see `iokr_lab.bench.run`."""
    sizes: list[dict[str, int]] = [_SMALL] if quick else [{"n": 1000}, {"n": 2000}]
    compiled = [True, False] if util.find_spec("numba") else [False]
    build: list[Callable[[], Question]] = [
        *(partial(ask, seed=seed, **size) for ask in (huber, epsilon_square, epsilon_insensitive) for size in sizes),
        *(partial(margin, seed=seed, compiled=way, **size) for way in compiled for size in sizes),
        partial(growth, seed=seed, **({"n": 100, "p": 3, "q": 5} if quick else {})),
    ]
    asked: list[Question] = []

    def remember(make: Callable[[], Question]) -> Question:
        asked.append(make())
        return asked[-1]

    report = survey(
        "Losses",
        [partial(remember, make) for make in build],
        footprints=[],
        judge_memory=lambda sizes: [],
        repeat=repeat,
        seed=seed,
        progress=progress,
        n_threads=_THREADS,
        judge=not quick,
    )
    notes = (*report.notes, _SETTING)
    if len(compiled) == 1:
        notes = (*notes, "Numba is not installed (extra `fast`): the margin was solved without compiled loops only.")
    return replace(report, items=tuple(_whole_runs(item, asked) for item in report.items), notes=notes)


_SETTING = (
    f"λ = s_max/{_RATIO:g}, s_max the largest eigenvalue of K; κ and ε are the length of the noise, {_NOISE:g}√q; "
    f"a tenth of the outputs are outliers. Everybody begins with X and stops at a relative duality gap of {_TOL:g}."
)


# ---------------------------------------------------------------------------------------------------------
# (a), (b), (c) Losses of a norm


def huber(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50) -> Question:
    """The Huber loss, κ the length of the noise."""
    kappa = _NOISE * float(np.sqrt(q))
    dual = NormDual(radius=kappa)
    return _norm_question("(a) Huber", Huber(kappa), dual, seed, n, p, q, Target(_RIDGE, at_most=6.0))


def epsilon_square(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50) -> Question:
    """ε-ridge, ε the length of the noise."""
    epsilon = _NOISE * float(np.sqrt(q))
    return _norm_question("(b) ε-ridge", EpsilonSquare(epsilon), NormDual(epsilon), seed, n, p, q)


def epsilon_insensitive(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50) -> Question:
    """ε-SVR, ε the length of the noise."""
    epsilon = _NOISE * float(np.sqrt(q))
    dual = NormDual(epsilon, radius=1.0, quadratic=0.0)
    return _norm_question("(c) ε-SVR", EpsilonInsensitive(epsilon), dual, seed, n, p, q, Target(_RIDGE, at_most=10.0))


_RIDGE, _PLAIN, _FAST = "ridge fit", "projected gradient", "accelerated gradient with restart"


def _norm_question(
    name: str, loss: Loss, dual: NormDual, seed: int, n: int, p: int, q: int, *targets: Target
) -> Question:
    """Ours, the gradient methods, and one ridge fit."""
    X, Y = _with_outliers(np.random.default_rng(seed), n, p, q)
    gamma = 1.0 / p
    K = ridge.gram(X, X, gamma)
    lam = _largest(K) / _RATIO
    P0 = dual.loss(Y)
    ours = IOKR(RBF(gamma), alpha=lam, loss=loss, solver=Auto(tol=_TOL))
    unit = IOKR(RBF(gamma), alpha=lam)
    plain = DualGradient(X, Y, gamma, lam, dual, timed=_TIMED)
    fast = DualGradient(X, Y, gamma, lam, dual, accelerated=True)

    def answers(model: Any) -> dict[str, Any]:
        _check_gap(f"{name}, ours", model.solution_.gap)
        C = model.solution_.C
        H = K @ C
        return {"objective": (dual.loss(Y - H) + lam / 2 * np.sum(C * H)) / P0}

    def objective(found: Found) -> dict[str, Any]:
        if found.steps >= _COUNTED and found.gap > _TOL:
            return {}
        _check_gap(f"{name}, a gradient method", found.gap)
        return {"objective": found.primal / P0}

    return Question(
        f"{name}, n = {n}, q = {q}",
        (
            Contender("IOKR", lambda: ours.fit(X, Y), answers, "ours"),
            Contender(_PLAIN, plain.run, objective),
            Contender(_FAST, fast.run, objective),
            Contender(_RIDGE, lambda: unit.fit(X, Y), lambda model: {}),
        ),
        (WholeRun(_PLAIN, at_least=50.0, gradient=plain), Target(_FAST, at_least=4.0), *targets),
        rtol=10 * _TOL,  # both are within 1e-6 · primal(0) of the minimum
        note="Gradient methods on the dual, step 1/λ_max(K̂). Projected gradient ran once to count its steps, "
        f"{_COUNTED} at most, all alike; {_TIMED} of them were timed, without the Gram matrix, and multiplied.",
    )


@dataclass(frozen=True)
class NormDual:
    """min_W ½tr(WᵀK̂W) − tr(WᵀY) + ε Σ‖W_i‖ over ‖W_i‖ ≤ radius, K̂ = K/λ + quadratic · I (math.md 6).

    It is the dual of Σ φ(‖h(x_i) − y_i‖) + (λ/2)‖h‖², φ(r) = e²/2 up to e = radius and linear from there
    (linear at once if `quadratic` is 0), e = max(r − ε, 0).
    """

    epsilon: float = 0.0
    radius: float = np.inf
    quadratic: float = 1.0

    def loss(self, R: Matrix) -> float:
        """Σ φ(‖r_i‖)."""
        e = np.maximum(_lengths(R) - self.epsilon, 0.0)
        near = np.minimum(e, self.radius)
        return float(np.sum(near * (e - near / 2) if self.quadratic else self.radius * e))

    def conjugate(self, W: Matrix) -> float:
        """Σ ½ quadratic ‖W_i‖² + ε‖W_i‖."""
        a = _lengths(W)
        return float(np.sum(self.quadratic * a * a / 2 + self.epsilon * a))

    def prox(self, W: Matrix, step: float) -> Matrix:
        """Rows shortened by step · ε, then cut to the radius, in place."""
        a = _lengths(W)
        length = np.minimum(np.maximum(a - step * self.epsilon, 0.0), self.radius)
        W *= np.divide(length, a, out=np.zeros_like(a), where=a > 0)[:, None]
        return W


@dataclass(frozen=True)
class Found:
    """Where a gradient method stopped."""

    primal: float
    gap: float
    steps: int


class DualGradient:
    """W ← prox(V − η(K̂V − Y)), η = 1/λ_max(K̂), V = W, or V = W + β(W − W_before) with restarts.

    Parameters
    ----------
    X, Y : arrays of shape (n, p) and (n, q)
    gamma, lam : float
        Of the kernel, and λ.
    dual : NormDual
    accelerated : bool
        Nesterov's β, begun again when a step turns against the gradient.
    timed : int, optional
        After a first run to the end, make only this many steps, with the Gram matrix of that run; see `multiple`.
    """

    def __init__(
        self,
        X: Matrix,
        Y: Matrix,
        gamma: float,
        lam: float,
        dual: NormDual,
        *,
        accelerated: bool = False,
        timed: int | None = None,
    ) -> None:
        self.X, self.Y, self.gamma, self.lam, self.dual = X, np.asfortranarray(Y), gamma, lam, dual
        self.accelerated, self.timed = accelerated, timed
        self.steps: int | None = None
        self.reached = False
        self._kept: tuple[Matrix, float] | None = None

    @property
    def multiple(self) -> float:
        """The steps of the whole run over those that are timed."""
        return 1.0 if self.timed is None or self.steps is None else max(self.steps / self.timed, 1.0)

    def run(self) -> Found:
        """Gram matrix, step length, then steps until the gap is reached."""
        if self.steps is not None and self.timed is not None and self._kept is not None:
            return self._descend(*self._kept, min(self.timed, self.steps))
        K = ridge.gram(self.X, self.X, self.gamma)
        step = 1.0 / (_largest(K) / self.lam + self.dual.quadratic)
        found = self._descend(K, step, _COUNTED)
        self.reached = found.gap <= _TOL
        self.steps, self._kept = found.steps, (K, step) if self.timed is not None else None
        return found

    def _descend(self, K: Matrix, step: float, limit: int) -> Found:
        """The steps. K V follows from K W, so a step costs one product."""
        dual, lam, Y = self.dual, self.lam, self.Y
        W, KW = np.zeros_like(Y), np.zeros_like(Y)
        V, KV, momentum = W, KW, 1.0
        P0 = dual.loss(Y)
        found = Found(P0, 1.0, 0)
        for k in range(1, limit + 1):
            W_new = dual.prox(V - step * (KV / lam + dual.quadratic * V - Y), step)
            KW_new = dgemm(1.0, K, W_new)
            if self.accelerated:
                if np.vdot(V - W_new, W_new - W) > 0:
                    momentum = 1.0
                following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
                beta, momentum = (momentum - 1) / following, following
                V, KV = W_new + beta * (W_new - W), KW_new + beta * (KW_new - KW)
            else:
                V, KV = W_new, KW_new
            W, KW = W_new, KW_new
            if k % _LOOK == 0 or k == limit:
                energy = float(np.vdot(W, KW)) / (2 * lam)
                primal = dual.loss(Y - KW / lam) + energy
                gap = (primal - (float(np.vdot(W, Y)) - dual.conjugate(W) - energy)) / P0
                found = Found(primal, gap, k)
                if gap <= _TOL:
                    break
        return found


@dataclass(frozen=True)
class WholeRun(Target):
    """A target against a contender of which only some steps are timed."""

    gradient: DualGradient | None = None

    def judge(self, question: Question, seconds: Mapping[str, float]) -> Verdict:
        """The ratio with the time of the whole run."""
        multiple = 1.0 if self.gradient is None else self.gradient.multiple
        return super().judge(question, {**seconds, self.other: multiple * seconds[self.other]})


def _whole_runs(item: Any, asked: list[Question]) -> Any:
    """A table in which the time of timed steps has become that of the whole run."""
    question = next((question for question in asked if isinstance(item, Table) and question.title == item.title), None)
    if question is None:
        return item
    whole = {t.other: t.gradient for t in question.targets if isinstance(t, WholeRun) and t.gradient is not None}
    rows = []
    for row in item.rows:
        gradient = whole.get(row["contender"])
        if gradient is not None:
            scaled = {key: gradient.multiple * value for key, value in row.items() if key != "contender"}
            count = f"{gradient.steps} steps" if gradient.reached else f"over {gradient.steps} steps, not there yet"
            row = {"contender": f"{row['contender']} ({count})", **scaled}
        rows.append(row)
    return replace(item, rows=rows)


# ---------------------------------------------------------------------------------------------------------
# (d) The margin


def margin(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50, compiled: bool = True) -> Question:
    """The margin's dual with compiled loops beside general solvers, or without beside its Gram matrix."""
    X, Y = _with_outliers(np.random.default_rng(seed), n, p, q)
    Y /= _lengths(Y)[:, None]
    gamma = 1.0 / p
    lam = _largest(ridge.gram(X, X, gamma)) / _RATIO
    Q = margin_gram(X, Y, gamma, lam)
    model = IOKR(RBF(gamma), alpha=lam, loss=MaxMargin(), solver=Auto(tol=_TOL))

    def solve() -> Solution:
        with compiling(compiled):
            return Auto(tol=_TOL).solve(margin_problem(X, Y, gamma, lam))

    def fit() -> Solution:
        with compiling(compiled):
            model.fit(X, Y)
        found: Solution = model.solution_
        return found

    def answers(solution: Solution) -> dict[str, Any]:
        _check_gap("margin, ours", solution.gap)
        return {"objective": box_objective(Q, lam * np.sum(solution.C * Y, axis=1)) / n}

    rivals = [
        Contender(
            f"{solver} through cvxpy",
            partial(quadratic_program, X, Y, gamma, lam, solver.upper(), **options),
            lambda alpha: {"objective": box_objective(Q, alpha) / n},
            needs=solver.lower() if util.find_spec("cvxpy") else "cvxpy",
        )
        for solver, options in _PROGRAMS.items()
    ]
    return Question(
        f"(d) margin, {'compiled' if compiled else 'NumPy alone'}, n = {n}, q = {q}",
        (
            Contender("Gram + solve", solve, answers, "ours"),
            Contender("IOKR.fit", fit, answers),
            *(rivals if compiled or not util.find_spec("numba") else []),
            Contender(_GRAM, lambda: library_gram(X, Y, gamma, lam), lambda found: {"Q": found}),
            Contender("Gram by hand", lambda: margin_gram(X, Y, gamma, lam), lambda found: {"Q": found}, "floor"),
        ),
        (
            Target(_GRAM, at_most=1.5 if compiled else 3.0),
            *(Target(rival.name, at_least=15.0) for rival in rivals if compiled),
        ),
        rtol=10 * _TOL,
        note="Gram alone: Q = ΨΨᵀ ∘ K/λ as this library makes it, from X; Gram + solve: the same with its solver; "
        "IOKR.fit: with the checks of an estimator too. Floor: Q by hand, from X and nothing else."
        + (" Clarabel and OSQP are given the Gram by hand, and tolerances of 1e-6." if compiled else ""),
    )


_GRAM = "Gram alone"
_PROGRAMS: dict[str, dict[str, float]] = {
    "Clarabel": {"tol_gap_abs": _TOL, "tol_gap_rel": _TOL, "tol_feas": _TOL},
    "OSQP": {"eps_abs": _TOL, "eps_rel": _TOL},
}


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
    left, right = ridge._factors(X, X, gamma)
    outputs, scaled = Psi.T, (Psi / lam).T
    Q = np.empty((n, n), order="F")
    for start in range(0, n, ridge._PANEL):
        here = slice(start, start + ridge._PANEL)
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


# ---------------------------------------------------------------------------------------------------------
# (e) Growth


def growth(*, seed: int = 0, n: int = 1000, p: int = 10, q: int = 50, sweeps: int = 10) -> Question:
    """Sweeps of coordinate descent over 2n entries beside as many over n."""

    def prepare(size: int) -> Callable[[], None]:
        X, Y = _with_outliers(np.random.default_rng(seed), size, p, q)
        Y /= _lengths(Y)[:, None]
        lam = _largest(ridge.gram(X, X, 1.0 / p)) / _RATIO
        quadratic = DenseQuadratic(np.ascontiguousarray(margin_gram(X, Y, 1.0 / p, lam)))

        def sweep() -> None:
            alpha, gradient, upper = np.zeros(size), np.full(size, -1.0), np.ones(size)
            for _ in range(sweeps):
                quadratic.sweep(upper, alpha, gradient)

        return sweep

    small, large = f"n = {n}", f"n = {2 * n}"
    return Question(
        f"(e) {sweeps} sweeps of the margin",
        (
            Contender(large, prepare(2 * n), lambda found: {}, "ours"),
            Contender(small, prepare(n), lambda found: {}),
        ),
        (Target(small, at_most=4.0),),
        note="A sweep costs n² at most: twice as many points, four times the time.",
    )


# ---------------------------------------------------------------------------------------------------------
# Data


def _with_outliers(rng: np.random.Generator, n: int, p: int, q: int) -> tuple[Matrix, Matrix]:
    """Inputs and noisy smooth outputs, to a tenth of which five times a normal vector is added."""
    X, Y = ridge._vectors(rng, n, p, q)
    outliers = rng.permutation(n)[: n // 10]
    Y[outliers] += 5.0 * rng.standard_normal((len(outliers), q))
    return X, Y


def _largest(K: Matrix) -> float:
    """The largest eigenvalue of K."""
    return float(eigsh(K, k=1, v0=np.ones(len(K)), return_eigenvectors=False, tol=1e-6)[0])


def _lengths(R: Matrix) -> Matrix:
    """‖r_i‖."""
    lengths: Matrix = np.sqrt(np.einsum("ij,ij->i", R, R))
    return lengths


def _check_gap(who: str, gap: float) -> None:
    """Raise `Disagreement` unless the gap is reached."""
    if not gap <= _TOL:
        raise Disagreement(f"{who}: stopped at a relative gap of {gap:.1e}, where {_TOL:g} is asked for.")
