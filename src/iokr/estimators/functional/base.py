"""What `Functional` and `FunctionalCV` share: reading curves, and predicting them at any points."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, eye_like, matmul, take_rows, to_numpy, unwarned
from iokr._validation.arguments import check_choice, check_groups, check_integer, check_same_length, check_weight
from iokr.data.curves import check_points, quadrature_weights, read_curves
from iokr.data.frames import as_frame, check_aligned, frame_of
from iokr.decoders.base import Identity
from iokr.embeddings.basis import Basis
from iokr.embeddings.curves import Curves
from iokr.estimators.functional.operator import CurveOperator
from iokr.estimators.inputs import InputAdapter, fresh_solver
from iokr.estimators.outputs import encode, r2, require_y, single_precision
from iokr.estimators.regression.base import KernelRegression, fitted_problem, left_out_values
from iokr.estimators.regression.posing import Data, Fit, TrainingSet, check_data
from iokr.kernels.base import Kernel

__all__ = ["FunctionalRegression"]


class FunctionalRegression(KernelRegression):
    """h(x)(θ) = Σ_t (k_xᵀC)_t √w_t L(θ_t, θ): regression of curves with an operator-valued kernel k·T_L."""

    output_kernel = None
    embedding = None
    decoder = None
    curve_kernel: Any
    basis: Basis | None
    grid: Any
    quadrature: Any
    curve_weight: str

    def _read(self, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any, kernel: Kernel) -> tuple[TrainingSet, Curves]:
        """The arguments of `fit`, checked, with the curves on one set of nodes, and an embedding of these."""
        require_y(y)
        check_choice(self.curve_weight, "curve_weight", ("equal", "points"))
        table = read_curves(y, self.grid)
        if table.names is None:  # a long table has several rows for each curve
            check_aligned(X, y)
        given = check_data(self, X, table.values, sample_weight, X_unlabeled, kernel)
        weight = given.weight
        observed = (~np.isnan(to_numpy(table.values))).sum(axis=1)
        if self.curve_weight == "equal" and np.any(observed < len(table.points)):
            weight = len(table.points) / observed * (1.0 if weight is None else weight)
        frame = frame_of(y) if table.names is None else None  # a long table has no column for each point
        quadrature = quadrature_weights(self.quadrature, table.points)
        self.curve_names_ = table.names
        given_intercept = check_choice(self.intercept, "intercept", (None, True, False))
        embedding = Curves(table.points, self.basis, quadrature, self.curve_weight, given_intercept is not False)
        return replace(given, weight=weight, single=single_precision(X, y), frame=frame), embedding

    def _encode(self, given: TrainingSet, embedding: Curves) -> Data:
        outputs, targets = encode(
            given.y, given.weight, loss=self.loss, embedding=embedding, decoder=Identity(), frame=given.frame
        )
        has_intercept = self._has_intercept(outputs)
        shapes = None
        if has_intercept and targets.mask is not None:
            shapes = outputs.embedding.mean_shapes(targets.mask, targets.weight)
        return Data(given, outputs, targets, has_intercept, shapes)

    def _keep_curves(self, data: Data, fit: Fit, operator: CurveOperator) -> None:
        """Keep what predictions anywhere need."""
        self._set_fit(data, fit)
        self.curves_ = data.rows.y
        self.operator_ = operator
        self.curve_kernel_ = operator.kernel
        self.points_ = self.embedding_.points_
        self.quadrature_ = self.embedding_.quadrature_

    def decision_function(self, X: Any) -> Array:
        """h(x) on the nodes `points_`, (m, T), as `predict` gives it."""
        return self._curves(X)

    def predict(self, X: Any, at: Any = None, derivative: int = 0) -> Any:
        """Curves.

        Parameters
        ----------
        X : array or sequence of m objects
        at : array of points, default=None
            Where to evaluate; None is the nodes `points_`. Beyond their range curves are extrapolated, with a warning.
        derivative : int, default=0
            Order of the derivative: 1 and 2 for `RBF` and `Periodic` curve kernels and for bases, except those of
            given functions.

        Returns
        -------
        y : array of shape (m, T), or (m, number of points)
            On the nodes, a frame with the index of X if y was a frame with a column for each of them.
        """
        curves = self._curves(X, at, derivative)
        return as_frame(curves, self.outputs_.frame, X) if at is None and derivative == 0 else curves

    def _curves(self, X: Any, at: Any = None, derivative: int = 0) -> Array:
        """h(x)(θ), or a derivative, at points θ: the nodes, or any others."""
        check_is_fitted(self)
        check_integer(derivative, "derivative", minimum=0)
        if at is None and derivative == 0:
            return self._cast(self.embedding_.vectors(self._values(X)))
        theta = self.points_ if at is None else check_points(np.atleast_1d(np.asarray(at)), "at")
        if theta.min() < self.points_[0] or theta.max() > self.points_[-1]:
            warnings.warn(
                f"`at` leaves the range of the curves, {self.points_[0]:g} to {self.points_[-1]:g}: this extrapolates.",
                UserWarning,
                stacklevel=3,
            )
        atoms = self.operator_.atoms(theta, derivative)
        if atoms is None:
            return self._cast(self.embedding_.at(self._values(X), theta, derivative))
        R = InputAdapter(self.kernel_, self.solution_.C).read(self, X)
        Z = self.inputs_.products(R, self.solution_)  # k_xᵀC
        constant = self.embedding_.mean_at(theta, derivative)
        if self.solution_.intercept is not None:
            b = self.solution_.intercept[None, :]
            constant = constant + to_numpy(self.embedding_.at(b, theta, derivative, mean=False))[0]
        return self._cast(matmul(Z, asarray_like(atoms, Z)) + asarray_like(constant, Z)[None, :])

    def loo_decision_function(self, groups: Any = None) -> Array:
        """The curve of each training row predicted without it, on the nodes, (n, T); closed form for the square loss.

        Other losses are fitted again without each row, n times. What is learned from all curves (bandwidths, principal
        components) is held fixed. With `groups`, a name per row, curves of one group are left out together.
        """
        check_is_fitted(self)
        H = left_out_values(self, groups) if self.loss_.quadratic else self._refitted(groups)
        curves = self.embedding_.vectors(H)
        if self.solution_.intercept is not None:
            together = None if groups is None else check_groups(groups, int(H.shape[0]))
            moved = self.embedding_.left_out_mean(self.curves_, self.targets_.weight, together)
            curves = curves + asarray_like(moved, curves)
        return self._cast(curves)

    def _refitted(self, groups: Any) -> Array:
        """h₋ᵢ(x_i) in coordinates, by fits in which the rows left out have weight zero."""
        problem = fitted_problem(self)
        n = problem.n_labeled
        solver = fresh_solver(self.solver)
        together = np.arange(n) if groups is None else check_groups(groups, n)
        weight = np.ones(n) if problem.weight is None else np.asarray(problem.weight)
        H = np.zeros((n, problem.Psi.shape[1]))
        for group in np.unique(together):
            own = np.flatnonzero(together == group)
            others = np.where(together == group, 0.0, weight)
            solution = solver.solve(replace(problem, weight=others), None)
            H[own] = to_numpy(take_rows(problem.gram @ solution.C, own))
            if solution.intercept is not None:
                H[own] += to_numpy(solution.intercept)
        return asarray_like(H, problem.Psi)

    def variance(self, X: Any, full: bool = False) -> Array:
        """The variance of h(x) at the nodes `points_`, (m, T), given the training inputs, in units of the prior.

        h as a Gaussian process with covariance k(x, z) L(θ, θ') and noise of variance α/w_t at node t. It depends on
        the training inputs and on the observed points, but not on the values of the curves.

        Parameters
        ----------
        X : array or sequence of m objects
        full : bool, default=False
            Return the covariances between the nodes, (m, T, T).
        """
        check_is_fitted(self)
        mixed = self.embedding_.V_ is not None  # coordinates are coefficients of a basis
        S = super().variance(X, full=True) if mixed else super().variance(X, full=full)
        xp = array_namespace(S)
        S = xp.astype(S, xp.float64)
        if not mixed:
            w = asarray_like(self.quadrature_, S)
            return self._cast(S / (xp.sqrt(w[:, None] * w[None, :]) if full else w))
        B = self.embedding_.expand(eye_like(int(S.shape[1]), S))  # a row per coordinate: its curve
        covariances = matmul(matmul(B.T, S), B)
        return self._cast(covariances if full else xp.clip(xp.linalg.diagonal(covariances), min=0.0))

    def score(self, X: Any, y: Any, sample_weight: Any = None, candidates: Any = None) -> float:
        """1 − Σ∫(y − ŷ)² / Σ∫(y − mean)², over the observed points.

        Parameters
        ----------
        X : array or sequence of m objects
        y : m curves, in any form that `fit` takes
        sample_weight : array of shape (m,), default=None
        candidates : None
            Must be None: curves are not chosen among candidates.
        """
        check_is_fitted(self)
        if candidates is not None:
            raise ValueError("`candidates` must be None: the score of curves is an integrated R².")
        table = read_curves(y, self.points_)
        if table.names is None:
            check_aligned(X, y)
        Y = to_numpy(table.values)
        n = check_same_length(X, Y)
        checked = check_weight(sample_weight, n, X)
        w = np.ones(n) if checked is None else checked
        weight = np.where(np.isnan(Y), 0.0, w[:, None] * self.quadrature_)
        Y = np.nan_to_num(Y)
        predicted = to_numpy(self._curves(X))
        with unwarned():
            total = weight.sum(axis=0)
            mean = (weight * Y).sum(axis=0) / np.where(total > 0, total, 1.0)
            residual = float((weight * (Y - predicted) ** 2).sum())
            spread = float((weight * (Y - mean) ** 2).sum())
        return r2(residual, spread, n)

    def table(self, X: Any, at: Any = None, names: Any = None) -> dict[str, np.ndarray]:
        """Predictions as the columns of a long table, id, t and value: `pandas.DataFrame(model.table(X))`."""
        Y = to_numpy(self._curves(X, at))
        theta = self.points_ if at is None else np.atleast_1d(np.asarray(at, dtype=float))
        if names is not None:
            check_same_length(Y, names, "X", "names")
        rows = np.arange(len(Y)) if names is None else np.asarray(names)
        return {"id": np.repeat(rows, Y.shape[1]), "t": np.tile(theta, len(Y)), "value": Y.ravel()}

    def plot(self, X: Any, y: Any = None, *, rows: Any = None, ax: Any = None) -> Any:
        """Draw predicted curves, observed points, and bands of ± 2 sd of the leave-one-out residuals at each node.

        Bands are drawn for the square loss, for which leave-one-out has a closed form. Needs matplotlib.
        """
        from iokr.estimators.functional.plot import draw_curves

        return draw_curves(self, X, y, rows, ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False  # a curve has a column for each point
        return tags

    def loo_spread(self) -> np.ndarray:
        """The standard deviation of the leave-one-out residuals at each node, (T,)."""
        check_is_fitted(self)
        residuals = to_numpy(self.curves_) - to_numpy(self.loo_decision_function())
        counts = np.maximum((~np.isnan(residuals)).sum(axis=0), 1)
        return np.asarray(np.sqrt((np.nan_to_num(residuals) ** 2).sum(axis=0) / counts))
