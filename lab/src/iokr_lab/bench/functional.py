"""Curves: a fit and leave-one-out with gaps compared with dense systems, and baselines on complete curves.

(a) to (c) nerve tracts at the first visit, 141 curves of 55 points with gaps, γ = 1/median, a Gaussian curve kernel of
width 0.1, no intercept; the baseline is one Cholesky factor of the matrix over all points that were seen. (d) complete
curves of the same set: one fit with an intercept and leave-one-out of every alpha, compared with what one would do by
hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.estimators.functional.cv import FunctionalCV
from iokr.estimators.functional.model import Functional
from iokr.kernels.vectors import RBF
from iokr_lab.bench.base import Benchmark, Contender, Deadline, Question, Target, sized
from iokr_lab.bench.grams import Matrix
from iokr_lab.bench.plain_gradients import dense_masked, plain_gradients
from iokr_lab.data.growth import load_dti

__all__ = ["BENCHMARK", "baselines", "dense", "fit", "left_out"]

_ALPHA = 10**-0.5  # what leave-one-out chooses on these curves
_WIDTH = 0.1
OURS = "Functional"
_DENSE = "Cholesky over the points seen"

_TINY: dict[str, Any] = {"n": 30, "T": 12, "drawn": True}
SMALL = {"fit": _TINY, "dense": _TINY, "left_out": {**_TINY, "refits": 3}, "baselines": _TINY}


Hand = tuple[Matrix, Matrix, NDArray[np.bool_], Matrix]
"""K, A, whether seen, Ψ."""


@dataclass(frozen=True)
class Sample:
    """Curves with gaps."""

    X: Matrix
    Y: Matrix
    points: Matrix

    def model(self, alpha: float = _ALPHA) -> Functional:
        """A model with all its kernels given; every point has the same weight."""
        kernel = RBF(1 / (2 * _WIDTH**2))
        return Functional(curve_kernel=kernel, grid=self.points, curve_weight="points", alpha=alpha, intercept=False)

    def by_hand(self, model: Functional) -> Hand:
        """K, A, whether seen, and Ψ of a fitted model's problem."""
        root = np.sqrt(model.quadrature_)
        K = np.asarray(RBF(RBF().fit(self.X).gamma_)(self.X))
        A = root[:, None] * np.asarray(RBF(1 / (2 * _WIDTH**2))(self.points[:, None])) * root
        seen = ~np.isnan(self.Y)
        return K, A, seen, np.where(seen, self.Y * root, 0.0)


def sample(n: int, T: int, seed: int, drawn: bool) -> Sample:
    """Nerve tracts, or waves with a tenth of their points missing."""
    if not drawn:
        data = load_dti()
        return Sample(data.X[:n], data.Y[:n, :T], data.Y_points[:T])
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    points = np.linspace(0.0, 1.0, T)
    Y = np.sin(6 * points + X[:, :1]) + 0.1 * rng.normal(size=(n, T))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    Y[:, 0] = 0.0
    return Sample(X, Y, points)


def fit(*, seed: int = 0, n: int = 141, T: int = 55, drawn: bool = False) -> Question:
    """One alpha."""
    baseline = "plain conjugate gradients", _by_gradients
    return _fits("(a) One fit", sample(n, T, seed, drawn), baseline, (Deadline(OURS, at_most=0.2),))


def _by_gradients(problem: Hand) -> Matrix:
    return plain_gradients(*problem, _ALPHA)[0]


def _by_cholesky(problem: Hand) -> Matrix:
    return dense_masked(*problem, _ALPHA)


def dense(*, seed: int = 0, n: int = 141, T: int = 55, drawn: bool = False) -> Question:
    """The same, compared with one matrix over all points seen, which takes long: one round."""
    baseline = _DENSE, _by_cholesky
    return _fits("(b) The dense system", sample(n, T, seed, drawn), baseline, (Target(_DENSE, at_least=50.0),), 1)


def _fits(
    title: str,
    curves: Sample,
    baseline: tuple[str, Callable[[Hand], Matrix]],
    targets: tuple[Target, ...],
    rounds: int = 5,
) -> Question:
    hand = curves.by_hand(curves.model().fit(curves.X, curves.Y))
    K, A, seen, _ = hand

    def ours() -> Matrix:
        return np.asarray(curves.model().fit(curves.X, curves.Y).solution_.C)

    def answers(C: Matrix) -> dict[str, Any]:
        return {"h": K @ C @ A}

    n, T = curves.Y.shape
    name, by_hand = baseline
    return Question(
        f"{title}, {n} curves of {T} points, {int(seen.sum())} points seen",
        (Contender(OURS, ours, answers, "ours"), Contender(name, lambda: by_hand(hand), answers)),
        targets,
        rtol=1e-8,
        note="Ours includes reading the curves, both kernels and their eigenvectors; the baseline is given K and A.",
        rounds=rounds,
    )


def left_out(*, seed: int = 0, n: int = 141, T: int = 55, drawn: bool = False, refits: int = 2) -> Question:
    """Each curve without itself."""
    curves = sample(n, T, seed, drawn)
    model = curves.model().fit(curves.X, curves.Y)
    K, A, seen, Psi = curves.by_hand(model)
    root = np.sqrt(model.quadrature_)

    def ours() -> Matrix:
        return np.asarray(curves.model().fit(curves.X, curves.Y).loo_decision_function())

    def by_gradients() -> Matrix:
        """Refits without one curve."""
        found = []
        for i in range(refits):
            keep = seen.copy()
            keep[i] = False
            C, _ = plain_gradients(K, A, keep, Psi, _ALPHA)
            found.append(K[i] @ C @ A / root)
        return np.array(found)

    def whole() -> tuple[float, str]:
        return n / refits, f" ({refits} of {n} timed)"

    return Question(
        f"(c) A fit and every curve left out, {n} curves of {T} points",
        (
            Contender(OURS, ours, lambda H: {"h without its own curve": H[:refits]}, "ours"),
            Contender(
                "plain conjugate gradients, refitted",
                by_gradients,
                lambda H: {"h without its own curve": H},
                whole=whole,
            ),
        ),
        (Deadline(OURS, at_most=10.0),),
        rtol=1e-6,
        rounds=2,
    )


def baselines(*, seed: int = 0, n: int = 141, T: int = 55, drawn: bool = False) -> Question:
    """Complete curves: 19 alphas by leave-one-out, then predictions."""
    curves = sample(n, T, seed, drawn)
    whole = np.flatnonzero(~np.isnan(curves.Y).any(axis=1))
    if drawn:
        curves = Sample(curves.X, np.nan_to_num(curves.Y), curves.points)
        whole = np.arange(n)
    X = curves.X[whole]
    Y = curves.Y[whole]
    points = curves.points
    kernel = RBF(1 / (2 * _WIDTH**2))
    gamma = RBF().fit(X).gamma_
    alphas = np.logspace(-6, 3, 19).tolist()

    def ours() -> Any:
        return FunctionalCV(RBF(gamma), curve_kernel=kernel, grid=points, alphas=alphas).fit(X, Y).predict(X)

    return Question(
        f"(d) {len(X)} complete curves of {T} points, 19 alphas",
        (
            Contender("FunctionalCV, leave-one-out", ours, role="ours"),
            Contender("per point: RidgeCV on kernel components", partial(_pointwise, X, Y, gamma, alphas)),
            Contender("components, then KernelRidge, 5 folds", partial(_components, X, Y, gamma, alphas)),
            Contender("nearest curve", partial(_nearest, X, Y)),
        ),
        (Target("components, then KernelRidge, 5 folds", at_most=1.0),),
        note="Different models, so their answers are not compared here; `iokr reproduce curves` has their errors.",
    )


def _pointwise(X: Matrix, Y: Matrix, gamma: float, alphas: list[float]) -> Matrix:
    from sklearn.linear_model import RidgeCV

    s, U = np.linalg.eigh(np.asarray(RBF(gamma)(X)))
    features = U * np.sqrt(np.clip(s, 0.0, None))
    return np.asarray(RidgeCV(alphas).fit(features, Y).predict(features))


def _components(X: Matrix, Y: Matrix, gamma: float, alphas: list[float]) -> Matrix:
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    pca = PCA(n_components=6).fit(Y)
    model = GridSearchCV(KernelRidge(kernel="rbf", gamma=gamma), {"alpha": alphas}, cv=5)
    return np.asarray(pca.inverse_transform(model.fit(X, pca.transform(Y)).predict(X)))


def _nearest(X: Matrix, Y: Matrix) -> Matrix:
    squares = (X**2).sum(axis=1)[:, None] + (X**2).sum(axis=1) - 2 * X @ X.T
    return np.asarray(Y[squares.argmin(axis=1)])


BENCHMARK = Benchmark("Curves", sized(SMALL, fit, dense, left_out, baselines), n_threads=1)
