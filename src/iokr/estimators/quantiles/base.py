"""What `QuantileCurves` and `QuantileCurvesCV` share: h(x)(θ) at any level, crossings, calibrated intervals."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, matmul, to_numpy
from iokr._validation.arguments import check_choice, check_number, check_numbers, check_same_length, check_weight
from iokr.data.objects import n_objects, take
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import Border, check_inputs, check_kernel
from iokr.estimators.outputs import require_y, single_precision
from iokr.estimators.progress import CallbackSupportMixin
from iokr.estimators.quantiles.levels import Levels
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram
from iokr.kernels.base import Kernel
from iokr.losses.pinball import check_levels
from iokr.metrics.intervals import pinball
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver
from iokr.solvers.iterative.admm import ADMM

__all__ = ["LEVELS", "Points", "QuantileRegression", "Rows", "solve_levels"]

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_TOL = 1e-5
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class Rows:
    """What `fit` was given, checked."""

    X: Any
    y: np.ndarray  # (n,)
    weight: np.ndarray | None
    single: bool = False

    def take(self, rows: np.ndarray) -> Rows:
        """Some of them."""
        return replace(
            self, X=take(self.X, rows), y=self.y[rows], weight=None if self.weight is None else self.weight[rows]
        )

    @property
    def total(self) -> float:
        """The sum of their weights."""
        return float(len(self.y) if self.weight is None else self.weight.sum())

    def counted(self) -> Rows:
        """Those of positive weight: the others have no say in bandwidths and calibration either."""
        if self.weight is None or np.all(self.weight > 0):
            return self
        return self.take(np.flatnonzero(self.weight > 0))


@dataclass(frozen=True, eq=False)
class Points:
    """Inputs as the kernel holds them, and K, plus the intercept's constant, factored once."""

    kernel: Kernel
    R: Any
    gram: ScalarGram
    constant: float

    @classmethod
    def of(cls, kernel: Kernel, X: Any, constant: float) -> Points:
        """A clone of the kernel, fitted."""
        fitted = clone(kernel).fit(X)
        R = fitted.represent(X)
        gram = ScalarGram(lambda A, B: fitted.block(A, B) + constant, R, diag=lambda A: fitted.diag(A) + constant)
        return cls(fitted, R, gram, constant)


@dataclass(frozen=True, eq=False)
class Part:
    """h learned from some of the rows."""

    points: Points
    levels: Levels
    C: Array
    center: float

    def quantiles(self, X: Any, levels: np.ndarray) -> np.ndarray:
        """h(x)(θ), (m, L), as it comes."""
        return self.at(self.points.kernel.represent(X), levels)

    def at(self, R: Any, levels: np.ndarray) -> np.ndarray:
        """The same at represented inputs."""
        K = self.points.kernel.gram(R, self.points.R).dense() + self.points.constant
        return np.asarray(to_numpy(matmul(K, self.C)) @ self.levels.atoms(levels) + self.center)


def solve_levels(
    points: Points,
    rows: Rows,
    levels: Levels,
    alpha: float,
    center: float,
    solver: Solver,
    start: Solution | None = None,
) -> Solution:
    """C of min (1/m) Σ_ij ρ_θj(y_i − h(x_i)(θ_j)) + ν Σ_ib max(0, −∂_θh(x_i)(θ̃_b)) + (α/2)‖h‖²."""
    like = points.gram.diagonal()
    gram = SeparableGram(points.gram, levels.operator())
    Psi = asarray_like(levels.targets(rows.y - center), like)
    return solver.solve(Problem(gram, Psi, levels.loss(), alpha, weight=rows.weight), start)


def _one_number_each(y: Any) -> np.ndarray:
    """y as (n,) finite numbers."""
    values = check_numbers(y, "y")
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1:
        raise ValueError(f"`y` must be a number per row, got shape {values.shape}; fit a model for each column.")
    if not np.all(np.isfinite(values)):
        raise ValueError("`y` contains NaN or infinity; remove these rows.")
    return values


class QuantileRegression(CallbackSupportMixin, KernelModel):  # type: ignore[misc]
    """h(x)(θ) = k_xᵀC [k_Θ(θ_j, θ) ; ∂₁k_Θ(θ̃_b, θ)]/r + median(y)."""

    levels: Any
    intercept: bool
    solver: Solver | None

    def _rows(self, X: Any, y: Any, sample_weight: Any, kernel: Any) -> Rows:
        self._check_components()
        require_y(y)
        check_choice(self.intercept, "intercept", (True, False))
        kernel = check_kernel(kernel)
        if not isinstance(kernel, Kernel) or kernel.pairwise:
            raise TypeError(f"`kernel` must be a scalar kernel on objects, got {kernel!r:.60}.")
        single = single_precision(X, y)
        X = check_inputs(self, X, kernel, reset=True)
        values = _one_number_each(y)
        weight = check_weight(sample_weight, check_same_length(X, values), X)
        theta = check_levels(self.levels)
        rarest = float(np.minimum(theta, 1 - theta).min())
        if len(values) < 1 / rarest:
            warnings.warn(
                f"{len(values)} rows say little about a level {rarest:g} from an end: it needs "
                f"{int(np.ceil(1 / rarest))}.",
                UserWarning,
                stacklevel=4,
            )
        return Rows(X, values, weight, single)

    def _center(self, rows: Rows) -> float:
        """The weighted median of y with an intercept, else 0."""
        if not self.intercept:
            return 0.0
        order = np.argsort(rows.y)
        if not len(order):
            raise ValueError("`sample_weight` is zero for every row of a training part; fewer folds, or other weights.")
        w = np.ones(len(order)) if rows.weight is None else rows.weight[order]
        cumulated = np.cumsum(w)
        half = cumulated[-1] / 2
        low, high = (
            rows.y[order][np.searchsorted(cumulated, half)],
            rows.y[order][np.searchsorted(cumulated, half, "right")],
        )
        return float((low + high) / 2)

    def _iterative(self) -> Solver:
        return ADMM(_TOL) if self.solver is None else clone(self.solver)

    def _keep(
        self, rows: Rows, points: Points, levels: Levels, alpha: float, solver: Solver, solution: Solution
    ) -> None:
        self.kernel_, self.points_, self.levels_ = points.kernel, points, levels
        self.solution_, self.solver_, self.alpha_ = replace(solution, state=None), solver, alpha
        self.center_, self.rows_, self._single_precision = self._center(rows), rows, rows.single
        self._folds: dict[str, Any] = {}
        self.crossing_rate_ = self.crossing_rate(rows.X)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "points_" in state:  # the Gram is a recipe over the points, and folds are fitted again when they are needed
            state = {**state, "points_": replace(state["points_"], gram=None), "_folds": {}}
        return state

    def _quantiles(self, X: Any, levels: np.ndarray) -> np.ndarray:
        check_is_fitted(self)
        border = Border(self.kernel_, self.solution_.C)
        R = border.represent(border.check(self, X))
        return Part(self.points_, self.levels_, self.solution_.C, self.center_).at(R, levels)

    def predict(self, X: Any, levels: Any = None, sort: bool = True) -> Any:
        """Quantiles.

        Parameters
        ----------
        X : array or sequence of m objects
        levels : sequence of float, default=None
            In (0, 1), trained or not; None is those of `fit`.
        sort : bool, default=True
            Put the values of each row in the order of the levels: none cross then, and the pinball loss averaged over
            the levels does not grow.

        Returns
        -------
        y : array of shape (m, number of levels)
        """
        check_is_fitted(self)
        theta = check_levels(self.levels if levels is None else levels)
        Q = self._quantiles(X, theta)
        if check_choice(sort, "sort", (True, False)):
            ordered = np.empty_like(Q)
            ordered[:, np.argsort(theta)] = np.sort(Q, axis=1)
            Q = ordered
        return self._cast(asarray_like(Q, self.solution_.C))

    def crossing_rate(self, X: Any, levels: Any = None) -> float:
        """The fraction of adjacent levels whose quantiles are in the wrong order before sorting."""
        theta = np.sort(check_levels(self.levels if levels is None else levels))
        return float(np.mean(np.diff(self._quantiles(X, theta), axis=1) < 0)) if len(theta) > 1 else 0.0

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the pinball loss, averaged over rows and levels."""
        values = _one_number_each(y)
        check_same_length(X, values)
        return -pinball(values, to_numpy(self.predict(X)), self.levels, sample_weight)

    def table(self, X: Any, levels: Any = None) -> dict[str, np.ndarray]:
        """Predictions as the columns of a long table: row, level, value."""
        theta = check_levels(self.levels if levels is None else levels)
        Q = to_numpy(self.predict(X, levels))
        return {"row": np.repeat(np.arange(len(Q)), len(theta)), "level": np.tile(theta, len(Q)), "value": Q.ravel()}

    def _refit(self, rows: Rows) -> Part:
        """h with the parameters that it has now, learned from some rows."""
        points = Points.of(self.kernel_, rows.X, self.points_.constant)
        center = self._center(rows)
        solution = solve_levels(points, rows, self.levels_, self.alpha_, center, self._iterative())
        return Part(points, self.levels_, solution.C, center)

    def interval(self, X: Any, coverage: float = 0.8, calibration: str = "cv+") -> Array:
        """Intervals for y, calibrated: quantiles alone cover too little, most of all on few rows.

        Scores E_i = max(q_lo(x_i) − y_i, y_i − q_hi(x_i)) of rows that a fit has not seen widen or narrow the
        interval between the quantiles at (1 ∓ coverage)/2. `guarantee_` says in words what holds.

        Parameters
        ----------
        X : array or sequence of m objects
        coverage : float, default=0.8
        calibration : {"cv+", "split"}, default="cv+"
            Five folds, all rows used; or a fit on one half, scores on the other.

        Returns
        -------
        interval : array of shape (m, 2)
            Infinite, with a warning, where there are too few rows for the coverage.
        """
        check_is_fitted(self)
        check_choice(calibration, "calibration", ("cv+", "split"))
        coverage = check_number(coverage, "coverage", minimum=0.0, strict=True)
        if coverage >= 1:
            raise ValueError(f"`coverage` must be below 1, got {coverage:g}.")
        X = Border(self.kernel_, self.solution_.C).check(self, X)
        ends = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
        n, rows = len(self.rows_.y), self.rows_
        parts = self._parts(calibration)
        scored = [(np.sort(part.quantiles(take(rows.X, out), ends), axis=1), out) for part, out in parts]
        E = [np.maximum(Q[:, 0] - rows.y[out], rows.y[out] - Q[:, 1]) for Q, out in scored]
        size = sum(len(e) for e in E)
        rank = max(1, int(np.ceil(coverage * (size + 1) - 1e-9)))
        self.guarantee_ = _GUARANTEES[calibration].format(coverage=coverage, least=max(2 * coverage - 1, 0.0), n=size)
        if hasattr(self, "best_index_"):
            self.guarantee_ += " The parameters were selected on the same rows, which this does not count."
        new = [np.sort(part.quantiles(X, ends), axis=1) for part, _ in parts]
        if rank > size:
            warnings.warn(
                f"{size} scores are too few for a coverage of {coverage:g}: the interval is everything.",
                UserWarning,
                stacklevel=2,
            )
            return self._cast(asarray_like(np.tile([-np.inf, np.inf], (n_objects(X), 1)), self.solution_.C))
        lower = np.hstack([Q[:, :1] - e[None, :] for Q, e in zip(new, E, strict=True)])
        upper = np.hstack([Q[:, 1:] + e[None, :] for Q, e in zip(new, E, strict=True)])
        assert n >= size
        low = np.sort(lower, axis=1)[:, size - rank]
        high = np.sort(upper, axis=1)[:, rank - 1]
        middle = (low + high) / 2
        found = np.column_stack([np.where(low > high, middle, low), np.where(low > high, middle, high)])
        return self._cast(asarray_like(found, self.solution_.C))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _parts(self, calibration: str) -> list[tuple[Part, np.ndarray]]:
        """Models learned without some rows, and these rows; kept for the next call."""
        if calibration not in self._folds:
            order = np.random.default_rng(0).permutation(len(self.rows_.y))
            held = [np.sort(order[len(order) // 2 :])] if calibration == "split" else []
            held = held or [np.sort(order[k::_FOLDS]) for k in range(min(_FOLDS, len(order)))]
            everyone = np.arange(len(order))
            self._folds[calibration] = [
                (self._refit(self.rows_.take(np.setdiff1d(everyone, out))), out) for out in held
            ]
        return list(self._folds[calibration])


_GUARANTEES = {
    "split": "Exchangeable rows: y lies inside with probability at least {coverage:g}, and at most {coverage:g} + "
    "1/({n} + 1) without ties (split conformal, {n} calibration rows).",
    "cv+": "Exchangeable rows: y lies inside with probability at least about {least:g} (CV+), in practice close to "
    "{coverage:g}; `calibration='split'` has the theorem at {coverage:g}.",
}
