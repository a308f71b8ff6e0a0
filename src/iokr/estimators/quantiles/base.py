"""What `QuantileCurves` and `QuantileCurvesCV` share: h(x)(θ) at any level, crossings, calibrated intervals."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, matmul, to_numpy
from iokr._validation.arguments import check_choice, check_same_length, check_weight
from iokr.data.frames import check_aligned
from iokr.data.objects import n_objects, take
from iokr.estimators.base import KernelModel
from iokr.estimators.conformal.scores import check_coverage, kth, rank_of
from iokr.estimators.inputs import InputAdapter, adapt
from iokr.estimators.outputs import require_y, single_precision
from iokr.estimators.progress import CallbackSupportMixin
from iokr.estimators.quantiles.levels import Levels
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram
from iokr.kernels.base import Kernel
from iokr.losses.pinball import check_levels
from iokr.metrics.intervals import number_per_row, pinball
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver
from iokr.solvers.iterative.admm import ADMM

__all__ = ["LEVELS", "Points", "QuantileFit", "QuantileRegression", "Rows", "solve_levels", "spread"]

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_TOL = 1e-5
_FOLDS = 5  # of CV+
_GUARANTEES = {
    "split": "Exchangeable rows: y lies inside with probability at least {coverage:g}, and at most {coverage:g} + "
    "1/({n} + 1) without ties (split conformal, {n} calibration rows).",
    "cv+": "Exchangeable rows: y lies inside with probability at least about {least:g} (CV+), in practice close to "
    "{coverage:g}; `calibration='split'` guarantees {coverage:g}.",
}
_SELECTED = " The parameters were selected on the same rows, which the guarantee does not account for."


@dataclass(frozen=True, eq=False)
class Rows:
    """The arguments of `fit`, checked."""

    X: Any
    y: np.ndarray  # (n,)
    weight: np.ndarray | None
    single: bool = False

    def _stored(self) -> dict[str, Any]:
        return {"X": self.X, "y": self.y, "weight": self.weight, "single": self.single}

    def take(self, rows: np.ndarray) -> Rows:
        """Some of them."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=take(self.X, rows), y=self.y[rows], weight=weight)

    @property
    def total(self) -> float:
        """The sum of their weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    def weighted(self) -> Rows:
        """Those of positive weight: the others enter neither bandwidths nor calibration."""
        if self.weight is None or np.all(self.weight > 0):
            return self
        return self.take(np.flatnonzero(self.weight > 0))


@dataclass(frozen=True, eq=False)
class Points:
    """Training inputs as the fitted kernel represents them; in files of format 1 the kernel is k plus a constant."""

    kernel: Kernel
    R: Any
    constant: float = 0.0

    def _stored(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "R": self.R, "constant": self.constant}

    @classmethod
    def of(cls, kernel: Kernel, X: Any) -> Points:
        """With a clone of the kernel, fitted to X."""
        fitted = clone(kernel).fit(X)
        return cls(fitted, fitted.represent(X))

    def training_gram(self) -> ScalarGram:
        """K plus the constant; it keeps its factors, so that one of them serves many levels and alphas."""
        return ScalarGram(
            lambda A, B: self.kernel.block(A, B) + self.constant,
            self.R,
            diag=lambda A: self.kernel.diag(A) + self.constant,
        )

    def cross(self, R: Any) -> Array:
        """k_x plus the constant, a row for each represented input."""
        return self.kernel.gram(R, self.R).dense() + self.constant


@dataclass(frozen=True, eq=False)
class QuantileFit:
    """h, learned from some of the rows."""

    points: Points
    levels: Levels
    solution: Solution
    center: float = 0.0  # of files of format 1

    def evaluate(self, K: Array, theta: np.ndarray) -> np.ndarray:
        """h(x)(θ) = k_xᵀC atoms(θ) + b(θ), (m, L), from rows k_x."""
        H = to_numpy(matmul(K, self.solution.C)) @ self.levels.atoms(theta) + self.center
        if self.solution.intercept is not None:
            H = H + self.levels.constants(to_numpy(self.solution.intercept), theta)
        return np.asarray(H)

    def quantiles(self, X: Any, theta: np.ndarray) -> np.ndarray:
        """The same at inputs that were checked."""
        return self.evaluate(self.points.cross(self.points.kernel.represent(X)), theta)


def solve_levels(
    gram: ScalarGram,
    rows: Rows,
    levels: Levels,
    alpha: float,
    solver: Solver,
    start: Solution | None = None,
    *,
    intercept: bool,
) -> Solution:
    """C, b of min (1/m) Σ_ij ρ_θj(y_i − h(x_i)(θ_j)) + ν Σ_ib max(0, −∂_θh(x_i)(θ̃_b)) + (α/2)‖h‖², b not penalised.

    Solved for y/s and sα, with s the size of y, which is the same problem: the answer does not depend on units.
    """
    s = _size(rows, intercept)
    Psi = asarray_like(levels.targets(rows.y / s), gram.diagonal())
    joint = SeparableGram(gram, levels.operator(Psi))
    problem = Problem(joint, Psi, levels.loss(), s * alpha, weight=rows.weight)
    if intercept:
        problem = replace(problem, constants=np.ones((len(rows.y), 1)), shapes=levels.shapes())
    return _times(solver.solve(problem, None if start is None else _times(start, 1 / s)), s)


def spread(rows: Rows) -> float:
    """The mean distance of y from its median, 1 for a constant: the scale of pinball losses."""
    known = rows.weighted()
    distances = np.abs(known.y - np.median(known.y))
    return float(np.mean(distances)) or 1.0


def _size(rows: Rows, intercept: bool) -> float:
    """Two thirds of the largest |y|, about the median with an intercept: solvers see numbers near one."""
    known = rows.weighted().y
    origin = np.median(known) if intercept else 0.0
    return float(np.max(np.abs(known - origin))) / 1.5 or 1.0


def _times(solution: Solution, factor: float) -> Solution:
    intercept = None if solution.intercept is None else factor * solution.intercept
    return replace(solution, C=factor * solution.C, intercept=intercept)


def _single_numbers(y: Any) -> np.ndarray:
    """y as (n,) finite numbers."""
    values = number_per_row(y, "y", "; fit a model for each column")
    if not np.all(np.isfinite(values)):
        raise ValueError("`y` contains NaN or infinity; remove these rows.")
    return values


class QuantileRegression(CallbackSupportMixin, KernelModel):  # type: ignore[misc]
    """h(x)(θ) = k_xᵀC [k_Θ(θ_j, θ) ; ∂₁k_Θ(θ̃_b, θ)]/r + b(θ)."""

    _folds: Mapping[str, list[tuple[QuantileFit, np.ndarray]]] = MappingProxyType({})  # fits, by the calibration
    levels: Any
    intercept: bool
    solver: Solver | None
    center_: float = 0.0  # of files of format 1: the median that was subtracted

    _selects: ClassVar[bool] = False  # whether `fit` chooses parameters on the training rows

    def _read(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel) -> Rows:
        """The arguments of `fit`, checked."""
        self._check_components()
        require_y(y)
        check_choice(self.intercept, "intercept", (True, False))
        check_aligned(X, y)
        check_aligned(X, sample_weight, "X", "sample_weight")
        single = single_precision(X, y)
        X = adapt(self, X, kernel, reset=True).X
        values = _single_numbers(y)
        weight = check_weight(sample_weight, check_same_length(X, values), X)
        theta = check_levels(self.levels)
        rarest = float(np.minimum(theta, 1 - theta).min())
        if len(values) < 1 / rarest:
            warnings.warn(
                f"{len(values)} rows are too few for a level at distance {rarest:g} from 0 or 1: it needs "
                f"{int(np.ceil(1 / rarest))}.",
                UserWarning,
                stacklevel=4,
            )
        return Rows(X, values, weight, single)

    @property
    def _level_constant(self) -> float:
        """What is added to the kernel on levels."""
        return 1.0 if self.intercept else 0.0

    def _iterative(self) -> Solver:
        return ADMM(_TOL) if self.solver is None else clone(self.solver)

    def _learn(self, rows: Rows, kernel: Kernel, levels: Levels, alpha: float) -> None:
        """h from all rows, and what predictions need of it."""
        points = Points.of(kernel, rows.X)
        solver = self._iterative()
        solution = solve_levels(points.training_gram(), rows, levels, alpha, solver, intercept=self.intercept)
        self.kernel_ = points.kernel
        self.points_ = points
        self.levels_ = levels
        self.alpha_ = alpha
        self.__dict__.pop("center_", None)
        self.solver_ = solver
        self.solution_ = replace(solution, state=None)
        self.rows_ = rows
        self._single_precision = rows.single
        self._folds = MappingProxyType({})
        self.crossing_rate_ = self.crossing_rate(rows.X)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_folds"}  # they are fitted when needed

    def _quantiles(self, X: Any, theta: np.ndarray) -> np.ndarray:
        """h(x)(θ) as it comes, (m, L)."""
        check_is_fitted(self)
        K = self.points_.cross(InputAdapter(self.kernel_, self.solution_.C).read(self, X))
        return QuantileFit(self.points_, self.levels_, self.solution_, self.center_).evaluate(K, theta)

    def predict(self, X: Any, levels: Any = None, sort: bool = True) -> Any:
        """Quantiles.

        Parameters
        ----------
        X : array or sequence of m objects
        levels : sequence of float, default=None
            In (0, 1), trained or not; None is those of `fit`.
        sort : bool, default=True
            Sort the values of each row by level, so that quantiles do not cross; the pinball loss averaged over the
            levels does not increase.

        Returns
        -------
        y : array of shape (m, number of levels)
        """
        check_is_fitted(self)
        theta = check_levels(self.levels if levels is None else levels)
        Q = self._quantiles(X, theta)
        if check_choice(sort, "sort", (True, False)):
            Q[:, np.argsort(theta)] = np.sort(Q, axis=1)
        return self._cast(asarray_like(Q, self.solution_.C))

    def crossing_rate(self, X: Any, levels: Any = None) -> float:
        """The fraction of adjacent levels whose quantiles are in the wrong order before sorting."""
        theta = np.sort(check_levels(self.levels if levels is None else levels))
        return float(np.mean(np.diff(self._quantiles(X, theta), axis=1) < 0)) if len(theta) > 1 else 0.0

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the pinball loss, averaged over rows and levels."""
        check_aligned(X, y)
        check_aligned(X, sample_weight, "X", "sample_weight")
        values = _single_numbers(y)
        check_same_length(X, values)
        return -pinball(values, to_numpy(self.predict(X)), self.levels, sample_weight)

    def table(self, X: Any, levels: Any = None) -> dict[str, np.ndarray]:
        """Predictions as the columns of a long table: row, level, value."""
        theta = check_levels(self.levels if levels is None else levels)
        Q = to_numpy(self.predict(X, levels))
        return {"row": np.repeat(np.arange(len(Q)), len(theta)), "level": np.tile(theta, len(Q)), "value": Q.ravel()}

    def interval(self, X: Any, coverage: float = 0.8, calibration: str = "cv+") -> Array:
        """Calibrated intervals for y; those between quantiles cover too little, above all with few rows.

        Scores E_i = max(q_lo(x_i) − y_i, y_i − q_hi(x_i)) of held-out rows widen or narrow the interval between the
        quantiles at (1 ∓ coverage)/2. `guarantee_` states what is proved.

        Parameters
        ----------
        X : array or sequence of m objects
        coverage : float, default=0.8
        calibration : {"cv+", "split"}, default="cv+"
            Five folds, with scores of all rows; or a fit on one half of the rows and scores of the other.

        Returns
        -------
        interval : array of shape (m, 2)
            Infinite, with a warning, where there are too few rows for the coverage.
        """
        check_is_fitted(self)
        check_choice(calibration, "calibration", ("cv+", "split"))
        coverage = check_coverage(coverage)
        X = InputAdapter(self.kernel_, self.solution_.C).check(self, X)
        ends = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
        lower = []
        upper = []
        for fit, held_out in self._fits(calibration):
            rows = self.rows_.take(held_out)
            low, high = np.sort(fit.quantiles(rows.X, ends), axis=1).T
            E = np.maximum(low - rows.y, rows.y - high)
            low, high = np.sort(fit.quantiles(X, ends), axis=1).T
            lower.append(low[:, None] - E[None, :])
            upper.append(high[:, None] + E[None, :])
        below = np.hstack(lower)
        above = np.hstack(upper)
        n = below.shape[1]
        k = rank_of(coverage, n)
        self.guarantee_ = _GUARANTEES[calibration].format(coverage=coverage, least=max(2 * coverage - 1, 0.0), n=n)
        if self._selects:
            self.guarantee_ += _SELECTED
        if k > n:
            warnings.warn(
                f"{n} scores are too few for a coverage of {coverage:g}: the interval is infinite.",
                UserWarning,
                stacklevel=2,
            )
            return self._cast(asarray_like(np.tile([-np.inf, np.inf], (n_objects(X), 1)), self.solution_.C))
        low = -kth(-below, k)
        high = kth(above, k)
        middle = (low + high) / 2
        crossed = low > high
        intervals = np.column_stack([np.where(crossed, middle, low), np.where(crossed, middle, high)])
        return self._cast(asarray_like(intervals, self.solution_.C))

    def _fits(self, calibration: str) -> list[tuple[QuantileFit, np.ndarray]]:
        """Fits without some rows, and these rows; kept for the next call."""
        if calibration not in self._folds:
            order = np.random.default_rng(0).permutation(len(self.rows_.y))
            if calibration == "split":
                folds = [np.sort(order[len(order) // 2 :])]
            else:
                folds = [np.sort(order[k::_FOLDS]) for k in range(min(_FOLDS, len(order)))]
            everyone = np.arange(len(order))
            fits = [self._refit(self.rows_.take(np.setdiff1d(everyone, fold))) for fold in folds]
            self._folds = {**self._folds, calibration: list(zip(fits, folds, strict=True))}
        return self._folds[calibration]

    def _refit(self, rows: Rows) -> QuantileFit:
        """h with the same parameters, learned from some rows."""
        if not len(rows.y):
            raise ValueError("`sample_weight` is zero for every row of a training part; fewer folds, or other weights.")
        points = replace(Points.of(self.kernel_, rows.X), constant=self.points_.constant)
        levels, center = self.levels_, 0.0
        if self.center_:  # a file of format 1
            center = float(np.median(rows.y))
            rows = replace(rows, y=rows.y - center)
        has_intercept = self.solution_.intercept is not None
        gram = points.training_gram()
        solution = solve_levels(gram, rows, levels, self.alpha_, self._iterative(), intercept=has_intercept)
        return QuantileFit(points, levels, solution, center)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags
