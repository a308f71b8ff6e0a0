"""The methods of `curves`: from training pairs of curves to predicted curves at new inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.data.curves import quadrature_weights
from iokr.embeddings.basis import Basis
from iokr.embeddings.curves import Curves
from iokr.estimators.functional.cv import FunctionalCV
from iokr.estimators.regression.cv import IOKRCV
from iokr.gram.operators import as_operator
from iokr.gram.scalar import ScalarGram
from iokr.gram.separable import SeparableGram
from iokr.kernels.curves import Periodic
from iokr.kernels.vectors import RBF, Linear
from iokr.losses.square import Square
from iokr.problem import Problem
from iokr.solvers.closed_form.masked_gradients import MaskedPath
from iokr_lab.bench.plain_gradients import dense_masked, plain_gradients

__all__ = [
    "INTEGRAL",
    "LINES",
    "METHODS",
    "WIDTHS",
    "Pairs",
    "against_the_others",
    "closed_form",
    "installed",
    "predicted",
    "sparse",
    "steps",
]

Matrix = NDArray[np.float64]

INPUT_WIDTHS = (0.1, 0.3, 1.0, 3.0, 10.0)  # γ in units of 1 / median squared distance
WIDTHS = (0.02, 0.1, 0.3)  # widths of the curve kernel, relative to the range
RANKS = (3, 6, 12)
POINTS = "point by point"
INTEGRAL = tuple(f"kernel {width}" for width in WIDTHS)
PRINCIPAL = tuple(f"components {rank}" for rank in RANKS)
LINES = (POINTS, *INTEGRAL, *PRINCIPAL)

FDA = "scikit-fda, linear on components"


@dataclass(frozen=True)
class Pairs:
    """Inputs and output curves, NaN at missing points."""

    X: Matrix  # (n, p)
    Y: Matrix  # (n, T)
    points: Matrix  # (T,)
    periodic: bool

    @property
    def complete(self) -> bool:
        """Whether all points are observed."""
        return not bool(np.isnan(self.Y).any())

    @property
    def quadrature(self) -> str:
        """The quadrature rule on the points."""
        return "uniform" if self.periodic else "trapezoid"

    @property
    def rank(self) -> int:
        """The largest number of components of the outputs."""
        return min(12, len(self.X) - 2, len(self.points))

    def take(self, rows: NDArray[np.integer[Any]]) -> Pairs:
        """The pairs with these indices."""
        return replace(self, X=self.X[rows], Y=self.Y[rows])

    def curve_kernel(self, width: float) -> Periodic | RBF:
        """A Gaussian kernel of this width on the points."""
        gamma = 1 / (2 * width**2)
        return Periodic(gamma) if self.periodic else RBF(gamma)

    def smooth_basis(self, size: int) -> Basis:
        """Fourier functions, or cubic splines, of which there are at least four."""
        return Basis.fourier(size, period=1.0) if self.periodic else Basis.bsplines(max(size, 4))

    def options(self) -> dict[str, Any]:
        """Common arguments of every `FunctionalCV`."""
        return {"grid": self.points, "quadrature": self.quadrature}


def input_kernels(X: Matrix) -> list[RBF]:
    """Gaussian kernels with widths around the median distance."""
    gamma = RBF().fit(X).gamma_
    return [RBF(width * gamma) for width in INPUT_WIDTHS]


# --------------------------------------------------------------------------------------------------------- closed form


def closed_form(pairs: Pairs, space: str) -> dict[str, Any]:
    """Leave-one-curve-out R² relative to the mean of the other curves, width and alpha chosen by the same errors."""
    kernels = input_kernels(pairs.X)
    if space == POINTS:
        model = _point_by_point(pairs, kernels)
        H = model.embedding_.vectors(model.loo_decision_function())
    else:
        options = pairs.options()
        if space in INTEGRAL:
            options["curve_kernel"] = pairs.curve_kernel(WIDTHS[INTEGRAL.index(space)])
        else:
            options["basis"] = Basis.principal(RANKS[PRINCIPAL.index(space)])
        if not pairs.complete:
            kernels = kernels[2:3]  # the median width only
        model = FunctionalCV(kernels, **options).fit(pairs.X, pairs.Y)
        H = model.loo_decision_function()
    return {"r2": against_the_others(pairs, np.asarray(H)), "alpha": float(model.alpha_)}


def _point_by_point(pairs: Pairs, kernels: Any, **options: Any) -> Any:
    """A fitted `IOKRCV` on the values of complete curves at their points."""
    embedding = Curves(pairs.points, quadrature=pairs.quadrature)
    return IOKRCV(kernels, embedding=embedding, **options).fit(pairs.X, pairs.Y)


def against_the_others(pairs: Pairs, H: Matrix) -> float:
    """1 − Σ∫(y − h)² / Σ∫(y − mean of the others)² over observed points."""
    seen = ~np.isnan(pairs.Y)
    Y = np.nan_to_num(pairs.Y)
    w = seen * quadrature_weights(pairs.quadrature, pairs.points)
    counts = seen.sum(axis=0)
    others = ((seen * Y).sum(axis=0) - Y) / np.maximum(counts - seen, 1)
    return float(1 - np.sum(w * (Y - H) ** 2) / np.sum(w * (Y - others) ** 2))


# --------------------------------------------------------------------------------------------------------------- folds


@cache
def installed(method: str) -> bool:
    """Whether the packages of the method can be imported."""
    if method != FDA:
        return True
    try:
        from skfda.preprocessing.dim_reduction import FPCA  # noqa: F401
    except Exception:  # scikit-fda may also fail with recent versions of its dependencies
        return False
    return True


def predicted(method: str, train: Pairs, X: Matrix) -> Matrix:
    """Predicted curves at new inputs, all parameters chosen on the training curves."""
    return _PREDICTED[method](train, X)


def _integral_kernel(train: Pairs, X: Matrix) -> Matrix:
    curve_kernels = [train.curve_kernel(width) for width in WIDTHS]
    model = FunctionalCV(input_kernels(train.X), curve_kernel=curve_kernels, **train.options())
    return np.asarray(model.fit(train.X, train.Y).predict(X))


def _best_principal(train: Pairs, X: Matrix) -> Matrix:
    return _best_basis([Basis.principal(size) for size in RANKS if size <= train.rank], train, X)


def _best_smooth(train: Pairs, X: Matrix) -> Matrix:
    sizes = [2 * size + 1 if train.periodic else size for size in RANKS if size <= train.rank]
    return _best_basis([train.smooth_basis(size) for size in sizes if size <= train.Y.shape[1]], train, X)


def _best_basis(bases: list[Basis], train: Pairs, X: Matrix) -> Matrix:
    """The basis with the smallest error on five folds, which also learn it."""
    order = np.random.default_rng(0).permutation(len(train.X))
    models = [FunctionalCV(input_kernels(train.X), basis=basis, cv=5, **train.options()) for basis in bases]
    errors = [float(model.fit(train.X[order], train.Y[order]).cv_errors_.min()) for model in models]
    best = models[int(np.argmin(errors))]
    return np.asarray(best.fit(train.X, train.Y).predict(X))


def _pointwise(train: Pairs, X: Matrix) -> Matrix:
    model = _point_by_point(train, input_kernels(train.X))
    return np.asarray(model.embedding_.vectors(model.decision_function(X)))


def _nearest(train: Pairs, X: Matrix) -> Matrix:
    squares = ((X[:, None, :] - train.X[None, :, :]) ** 2).sum(axis=2)
    return np.asarray(train.Y[squares.argmin(axis=1)])


def _mean(train: Pairs, X: Matrix) -> Matrix:
    return np.tile(train.Y.mean(axis=0), (len(X), 1))


def _components(train: Pairs, X: Matrix) -> Matrix:
    """Kernel ridge of scikit-learn on principal scores of the outputs, parameters by its grid search."""
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    root = np.sqrt(quadrature_weights(train.quadrature, train.points))
    pca = PCA(n_components=min(6, train.rank)).fit(train.Y * root)
    grid = {
        "gamma": [kernel.gamma for kernel in input_kernels(train.X)],
        "alpha": np.logspace(-4, 2, 13).tolist(),
    }
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5, scoring="neg_mean_squared_error")
    scores = search.fit(train.X, pca.transform(train.Y * root)).predict(X)
    return np.asarray(pca.inverse_transform(scores) / root)


def _linear(train: Pairs, X: Matrix) -> Matrix:
    """Ridge between basis coefficients of inputs and outputs: a linear kernel on smoothed inputs."""
    p = train.X.shape[1]
    T = train.Y.shape[1]
    shift = train.X.mean(axis=0)
    inputs = train.X - shift
    new = X - shift
    if p > 25:  # a curve with many points is smoothed by 15 basis functions
        s = np.linspace(0.0, 1.0, p, endpoint=not train.periodic)
        Phi = train.smooth_basis(15).fitted(s)(s, 0)
        smooth = Phi @ np.linalg.pinv(Phi)
        inputs = inputs @ smooth.T
        new = new @ smooth.T
    scale = float(np.sqrt(np.mean(np.sum(inputs**2, axis=1))))
    basis = train.smooth_basis(min(15, T - 1 if train.periodic else T))
    model = FunctionalCV(Linear(), basis=basis, **train.options()).fit(inputs / scale, train.Y)
    return np.asarray(model.predict(new / scale))


def _scikit_fda(train: Pairs, X: Matrix) -> Matrix:
    """Principal components of inputs and outputs by scikit-fda, ridge between them by scikit-learn."""
    import skfda
    from skfda.preprocessing.dim_reduction import FPCA
    from sklearn.linear_model import RidgeCV

    s = np.linspace(0.0, 1.0, train.X.shape[1])
    inside = FPCA(n_components=min(train.rank, train.X.shape[1]))
    outside = FPCA(n_components=min(6, train.rank))
    scores = inside.fit_transform(skfda.FDataGrid(train.X, s))
    targets = outside.fit_transform(skfda.FDataGrid(train.Y, train.points))
    model = RidgeCV(np.logspace(-6, 6, 25) * float(np.mean(scores**2))).fit(scores, targets)
    curves = outside.inverse_transform(model.predict(inside.transform(skfda.FDataGrid(X, s))))
    return np.asarray(curves.data_matrix[..., 0])


_PREDICTED: dict[str, Callable[[Pairs, Matrix], Matrix]] = {
    "iokr, integral kernel": _integral_kernel,
    "iokr, components": _best_principal,
    "iokr, basis": _best_smooth,
    POINTS: _pointwise,
    "components, then ridge": _components,
    "nearest curve": _nearest,
    "functional linear model": _linear,
    FDA: _scikit_fda,
    "mean curve": _mean,
}
METHODS = tuple(_PREDICTED)


# -------------------------------------------------------------------------------------------------------------- sparse


def sparse(pairs: Pairs, share: float, noise: float, seed: tuple[int, ...]) -> dict[str, Any]:
    """Mean ISE on complete test curves after training on a share of the points of 25 curves with noise."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(pairs.X))
    train = pairs.take(order[:25])
    test = pairs.take(order[25:])
    n, T = train.Y.shape
    Y = train.Y + noise * rng.normal(size=train.Y.shape)
    seen = rng.permuted(np.arange(T) < round(share * T) * np.ones((n, 1)), axis=1)
    masked = np.where(seen, Y, np.nan)
    filled = np.stack([np.interp(pairs.points, pairs.points[seen[i]], Y[i, seen[i]], period=1.0) for i in range(n)])
    kernel = RBF(RBF().fit(train.X).gamma_)
    alphas = np.logspace(-3, 1, 9).tolist()
    ours = FunctionalCV(kernel, curve_kernel=pairs.curve_kernel(0.1), alphas=alphas, **pairs.options())
    curve = np.asarray(ours.fit(train.X, masked).predict(test.X))
    theirs = _point_by_point(replace(train, Y=filled), kernel, alphas=alphas)
    other = np.asarray(theirs.embedding_.vectors(theirs.decision_function(test.X)))

    def mean_ise(values: Matrix) -> float:
        return float(((test.Y - values) ** 2).mean())

    def drawn(values: Matrix) -> Any:
        return np.round(values[..., ::3], 4).tolist()

    return {
        "masked": mean_ise(curve),
        "interpolated": mean_ise(other),
        "points": drawn(pairs.points),
        "truth": drawn(test.Y[:2]),
        "curve": drawn(curve[:2]),
        "other": drawn(other[:2]),
    }


# --------------------------------------------------------------------------------------------------------------- steps


def steps(share: float, seed: int, n: int = 40, T: int = 15) -> dict[str, Any]:
    """Steps of conjugate gradients with and without preconditioner, and the difference of h to a dense solve."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    theta = np.linspace(0.0, 1.0, T)
    Y = np.sin(6 * theta + X[:, :1]) + 0.1 * rng.normal(size=(n, T))
    order = rng.permutation(n * T).reshape(n, T)
    mask = order < max(n, round(share * n * T))
    mask[np.arange(n), rng.integers(T, size=n)] = True  # every curve has an observed point
    kernel = RBF().fit(X)
    A = RBF(1 / (2 * 0.1**2))(theta[:, None]) / T
    alpha = 0.1
    gram = SeparableGram(ScalarGram(kernel.block, kernel.represent(X), diag=kernel.diag), as_operator(A))
    problem = Problem(gram, np.where(mask, Y, 0.0), Square(), alpha, mask=mask)
    path = MaskedPath(problem)
    C = np.asarray(path.coefficients(problem.Psi, alpha))
    K = np.asarray(kernel(X))
    exact = dense_masked(K, A, mask, Y, alpha)
    _, plain = plain_gradients(K, A, mask, Y, alpha)
    H = K @ C @ A
    expected = K @ exact @ A
    return {
        "preconditioned": path.n_steps[0],
        "plain": plain,
        "apart": float(np.abs(H - expected).max() / np.abs(expected).max()),
    }
