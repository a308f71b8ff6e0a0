"""Quantiles at any level, learned together."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from iokr._component import component
from iokr._validation.arguments import check_number
from iokr.estimators.inputs import check_scalar
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.estimators.quantiles.base import LEVELS, QuantileRegression
from iokr.estimators.quantiles.levels import fit_levels
from iokr.kernels.base import Kernel
from iokr.losses.pinball import check_levels
from iokr.solvers.base import Solver

__all__ = ["QuantileCurves"]


@component
class QuantileCurves(QuantileRegression):
    """min_h (1/m) Σ_ij ρ_θj(y_i − h(x_i)(θ_j)) + ν Σ_ib max(0, −∂_θh(x_i)(θ̃_b)) + (α/2)‖h‖².

    ρ_θ(e) = max(θe, (θ − 1)e). h(x) is a function of θ, in the RKHS of k ⊗ k_Θ, so quantiles are predicted at any
    level, trained or not. The second sum, over anchors between the levels, penalises negative slopes, so that quantiles
    seldom cross; `predict` sorts those that do.

    Parameters
    ----------
    kernel : Kernel, default=None
        k, on the inputs; None is `RBF()`.
    level_kernel : Kernel or array of shape (m, m), default=None
        k_Θ, on levels; None is `RBF(9.0)`. With a matrix only the trained levels can be predicted: `numpy.eye(m)`
        learns them independently, any other is joint quantile regression. Matrices need `crossing=0`.
    levels : sequence of float
        θ in (0, 1); 0.1, 0.2, … 0.9 by default.
    crossing : float, default=0.05
        ν ≥ 0: larger penalises crossings more.
    intercept : bool, default=True
        Whether h(x)(θ) has b(θ), a number for each trained level and interpolated between them, which is not penalised;
        without it extreme levels are shrunk towards 0. With it 1 is added to k_Θ (not to a matrix), so that a shift of
        all levels at x costs as little as that of one.
    alpha : float, default=1.0
        λ > 0: larger shrinks h more.
    solver : Solver, default=None
        None is `ADMM(1e-5)`.

    Attributes
    ----------
    crossing_rate_ : float
        The fraction of adjacent levels in the wrong order at the training inputs, before sorting.
    guarantee_ : str
        The guarantee of the last `interval`.
    kernel_, levels_, solution_, solver_ :
        Fitted components and coefficients.

    Notes
    -----
    With r of n and k of m + m̃ non-negligible eigenvalues of the two kernels, about 9n³ flops once and 4n r (m + m̃) per
    step. Paper: Brault et al., AISTATS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import QuantileCurves
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(0, 1, 80)[:, None]
    >>> model = QuantileCurves(alpha=0.01).fit(x, rng.normal(size=80) * x[:, 0])
    >>> q = model.predict([[0.9]], levels=[0.25, 0.5, 0.75])
    >>> bool((np.diff(q) > 0).all()), model.interval([[0.9]], coverage=0.8).shape
    (True, (1, 2))
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    level_kernel: Any = None
    levels: Any = LEVELS
    crossing: float = 0.05
    intercept: bool = True
    alpha: float = 1.0
    solver: Solver | None = None

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> QuantileCurves:
        """Learn h.

        Parameters
        ----------
        X : array or sequence of n objects that the kernel takes
        y : array of shape (n,)
        sample_weight : array of shape (n,), default=None
        """
        progress = begin(self, 0, X=X, y=y)
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        kernel = check_scalar(self.kernel, objects="X")
        rows = self._read(X, y, sample_weight, kernel).weighted()
        levels = fit_levels(check_levels(self.levels), self.level_kernel, self.crossing, self._level_constant)
        self._learn(rows, kernel, levels, alpha)
        end(progress, self, X=X, y=y)
        return self
