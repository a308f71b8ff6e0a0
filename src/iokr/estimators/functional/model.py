"""Curves from any inputs."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from iokr._component import component
from iokr._validation.arguments import check_number
from iokr.embeddings.basis import Basis
from iokr.estimators.functional.base import FunctionalRegression
from iokr.estimators.functional.operator import curve_operator
from iokr.estimators.inputs import check_scalar
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.estimators.regression.posing import solve
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.decomposable import Decomposable
from iokr.solvers.base import Solver

__all__ = ["Functional"]


@component
class Functional(FunctionalRegression):
    """min_h Σ_i ℓ(h(x_i), y_i) + (α/2)‖h‖² over functions h(x) on an interval, 𝒦(x, z) = k(x, z) T_L.

    (T_L f)(θ) = ∫ L(θ, θ') f(θ') dμ(θ'), so h(x)(θ) = Σ_t (k_xᵀC)_t √w_t L(θ_t, θ) at any θ. Norms in the loss are L²
    norms, for every loss. With a `basis` h(x) = Σ_j Φ_j c_j(x): projection learning, for functions that need not be
    orthogonal. Curves may be observed on one grid or each on its own, with gaps, or at a few noisy points.

    Parameters
    ----------
    kernel : Kernel, default=None
        k, on the inputs; None is `RBF()`. For inputs that are curves use `L2`, `Pointwise` or `Warped`.
    curve_kernel : Kernel or array, default=None
        L, on points θ: a wider one gives smoother curves. With a basis, it may also be weights (d,) or (d, d) on the
        coefficients. None is a Gaussian whose width is a tenth of the range, or with a basis the identity.
    basis : Basis, default=None
        `Basis.fourier(d)`, `Basis.bsplines(d)`, `Basis.principal(r)`, or a matrix.
    grid : array of shape (T,), default=None
        Points of the columns of y; None is T points on [0, 1], or the union of the points of the curves.
    quadrature : {"trapezoid", "uniform"} or array, default="trapezoid"
        w; "uniform" for periodic curves.
    curve_weight : {"equal", "points"}, default="equal"
        The weight of a curve that was observed at T_i of T nodes: T/T_i, or one.
    loss, alpha, manifold, solver :
        As in `IOKR`.
    intercept : bool, default=None
        Whether h has a curve b that does not depend on x and is not penalised; None is True.

    Attributes
    ----------
    points_, quadrature_ : array of shape (T,)
        Nodes and their weights.
    curve_kernel_, kernel_, embedding_, solution_, solver_ :
        Fitted components and coefficients.

    Notes
    -----
    About 9n³ + 9T³ flops and n² + T² numbers. With gaps, conjugate gradients over the observed points, preconditioned
    by the complete problem.

    References
    ----------
    Kadri et al., JMLR 2016; Bouche et al., AISTATS 2021; Laforgue et al., ICML 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import Functional
    >>> x, theta = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 30)
    >>> model = Functional(alpha=1e-3, grid=theta).fit(x, np.sin(4 * theta + x))
    >>> model.predict([[0.5]], at=[0.25]).round(2)
    array([[1.]])
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    curve_kernel: Any = None
    basis: Basis | None = None
    grid: Any = None
    quadrature: Any = "trapezoid"
    curve_weight: str = "equal"
    loss: Loss | None = None
    alpha: float = 1.0
    manifold: Manifold | None = None
    solver: Solver | None = None
    intercept: bool | None = None

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> Functional:
        """Learn h.

        Parameters
        ----------
        X : array or sequence of n objects that the kernel takes
        y : array, sequence of n pairs, table or `FDataGrid`
            (n, T), NaN where a curve was not observed; pairs (points, values); a table with columns id, t and value,
            ids in the order of X; or the functional data object of scikit-fda.
        sample_weight : array of shape (n,), default=None
        X_unlabeled : as X, default=None
            For the manifold.
        """
        progress = begin(self, 0, X=X, y=y)
        self._check_components()
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        kernel = check_scalar(self.kernel)
        data = self._encode(*self._read(X, y, sample_weight, X_unlabeled, kernel))
        operator = curve_operator(self.curve_kernel, data.outputs.embedding)
        fit = solve(data, Decomposable(kernel, operator.A), alpha, manifold=self.manifold, solver=self.solver)
        self._keep_curves(data, fit, operator)
        end(progress, self, X=X, y=y)
        return self
