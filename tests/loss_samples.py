"""Small problems with the losses that have no closed form, each twice: for the library, and in explicit features."""

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import reference
from convex import Convex, EpsilonInsensitiveLoss, EpsilonSquareLoss, HuberLoss, Margin, factor
from iokr import IOKR
from iokr._component import component
from iokr.kernels import RBF, Delta, Linear, Normalized, Polynomial
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, Loss, MaxMargin
from iokr.manifolds import Given
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import Auto
from samples import GAMMA, missing, operator, weights

PAIRS = {  # the library's loss, and the same written slowly
    "margin": (MaxMargin(), Margin()),
    "huber": (Huber(0.4), HuberLoss(0.4)),
    "epsilon square": (EpsilonSquare(0.3), EpsilonSquareLoss(0.3)),
    "epsilon insensitive": (EpsilonInsensitive(0.3), EpsilonInsensitiveLoss(0.3)),
}
NAMES = list(PAIRS)
NORMS = NAMES[1:]  # losses of ‖h − y‖
ALPHAS = {name: 0.1 for name in NORMS} | {"margin": 2.0}  # of the margin's multipliers some are 0, some free, some 1

SETTINGS: dict[str, dict] = {
    "plain": {},
    "one output": {"d": 1},
    "two outputs, scaled operator": {"d": 2, "kind": "scaled"},
    "operator": {"kind": "full"},
    "operator with two eigenvalues": {"kind": "tasks"},
    "singular operator": {"kind": "singular"},
    "operator of rank one": {"kind": "rank one"},
    "linear": {"kernel": "linear"},
    "linear, singular operator": {"kernel": "linear", "kind": "singular"},
    "equal inputs": {"kernel": "equal inputs"},
    "an input of norm zero": {"kernel": "zero row"},
    "weights": {"weighted": "any"},
    "weights of zero": {"weighted": "zeros"},
    "weights of zero, operator": {"weighted": "zeros", "kind": "full"},
    "semi-supervised": {"u": 6},
    "semi-supervised, operator": {"u": 6, "kind": "full"},
    "semi-supervised, singular operator": {"u": 6, "kind": "singular"},
    "semi-supervised, linear": {"u": 6, "kernel": "linear"},
    "semi-supervised, linear, operator": {"u": 6, "kernel": "linear", "kind": "full"},
    "semi-supervised, graph in two parts": {"u": 8, "graph": "two parts"},
    "semi-supervised, equal inputs, singular operator": {"u": 6, "kernel": "equal inputs", "kind": "singular"},
    "semi-supervised, weights of zero": {"u": 6, "weighted": "zeros"},
    "semi-supervised, weights of zero, operator": {"u": 6, "weighted": "zeros", "kind": "full"},
    "semi-supervised, strong penalty": {"u": 6, "mu": 1e4},
    "intercept": {"intercept": True},
    "intercept, one output": {"intercept": True, "d": 1},
    "intercept, weights": {"intercept": True, "weighted": "any"},
    "intercept, operator": {"intercept": True, "kind": "full"},
    "intercept, singular operator": {"intercept": True, "kind": "singular"},
    "intercept, linear": {"intercept": True, "kernel": "linear"},
    "intercept, weights of zero, operator": {"intercept": True, "weighted": "zeros", "kind": "full"},
    "intercept, semi-supervised": {"intercept": True, "u": 6},
    "intercept, semi-supervised, operator": {"intercept": True, "u": 6, "kind": "full"},
    "intercept, semi-supervised, weights of zero": {"intercept": True, "u": 6, "weighted": "zeros"},
}
HOLES: dict[str, dict] = {
    "holes": {"holes": "entries"},
    "holes in one column": {"holes": "one column"},
    "holes, operator": {"holes": "entries", "kind": "full"},
    "holes, singular operator": {"holes": "entries", "kind": "singular"},
    "holes, weights of zero": {"holes": "entries", "weighted": "zeros"},
    "holes, semi-supervised": {"holes": "entries", "u": 6},
    "holes, semi-supervised, operator": {"holes": "entries", "u": 6, "kind": "full"},
    "holes, semi-supervised, operator, weights": {"holes": "entries", "u": 6, "kind": "full", "weighted": "zeros"},
    "holes, intercept": {"holes": "entries", "intercept": True},
    "holes in one column, intercept": {"holes": "one column", "intercept": True},
    "holes, intercept, operator": {"holes": "entries", "intercept": True, "kind": "full"},
    "holes, intercept, semi-supervised": {"holes": "entries", "intercept": True, "u": 6, "kind": "full"},
}


def _inputs(rng, kernel, total, p=2):
    points = rng.normal(size=(total, p))
    if kernel == "equal inputs":
        points[3:6] = points[:3]  # among the labelled ones, with targets of their own
    if kernel == "zero row":
        points[4] = 0.0
    return points


def _targets(rng, points, name, n, d):
    """Smooth targets with outliers; of unit norm for the margin."""
    Y = np.column_stack([np.sin(points[:n] @ rng.normal(size=points.shape[1]) + j) for j in range(d)])
    Y = Y + 0.2 * rng.normal(size=(n, d))
    if name == "margin":
        return Y / np.linalg.norm(Y, axis=1, keepdims=True)
    Y[::5] *= 3.0
    return Y


def _gram(kernel, points):
    return points @ points.T if kernel in ("linear", "zero row") else reference.gram(reference.rbf(GAMMA), points)


def _graph(points, kind):
    W = reference.gram(reference.rbf(GAMMA), points)
    if kind == "two parts":  # the second part has no labels
        W[:-5, -5:] = W[-5:, :-5] = 0.0
    return reference.graph_laplacian(W)


@cache
def case(
    name: str,
    *,
    n: int = 14,
    u: int = 0,
    m: int = 5,
    d: int = 3,
    alpha: float | None = None,
    mu: float = 0.7,
    kernel: str = "rbf",
    kind: str = "identity",
    weighted: str = "none",
    holes: str = "none",
    graph: str = "whole",
    intercept: bool = False,
    seed: int = 1,
) -> SimpleNamespace:
    """A problem of vector outputs: `fit(solver)` for the library, `convex` and `Phi_new` in explicit features."""
    alpha = ALPHAS[name] if alpha is None else alpha
    rng = np.random.default_rng(seed)
    points = _inputs(rng, kernel, n + u + m)
    Y = missing(holes, _targets(rng, points, name, n, d)) + (5.0 if intercept else 0.0)
    A, w = operator(kind, d), weights(weighted, n)
    Phi = factor(_gram(kernel, points))
    N = n + u
    L = _graph(points[:N], graph) if u else None
    X, U, X_new = points[:n], points[n:N], points[N:]
    ours, slow = PAIRS[name]
    scalar = Linear() if kernel in ("linear", "zero row") else RBF(GAMMA)

    def model(solver=None, loss=ours, **parameters):
        return IOKR(
            scalar if A is None else Decomposable(scalar, A),
            **{
                "alpha": alpha,
                "manifold": Given(mu, L) if u else None,
                "loss": loss,
                "solver": solver,
                "intercept": intercept,
                **parameters,
            },
        )

    def fit(solver=None, **parameters):
        return model(solver, **parameters).fit(X, Y, sample_weight=w, X_unlabeled=U if u else None)

    def posed() -> Problem:
        """The library's `Problem`."""
        lifted = (scalar if A is None else Decomposable(scalar, A)).fit(X) if A is None else None
        if lifted is None:
            lifted = Decomposable(scalar, A).fit(X, np.nan_to_num(Y))
        gram = lifted.gram(lifted.represent(points[:N]))
        return Problem(
            gram,
            np.nan_to_num(Y),
            ours,
            alpha,
            penalty=L,
            manifold_weight=mu if u else 0.0,
            weight=w,
            mask=None if holes == "none" else ~np.isnan(Y),
            constants=np.ones((n, 1)) if intercept else None,
        )

    convex = Convex(Phi[:N], Y, slow, alpha, A, L, mu if u else 0.0, w, intercept)
    return SimpleNamespace(
        name=name, X=X, U=U, X_new=X_new, Y=Y, A=A, L=L, w=w, alpha=alpha, mu=mu, intercept=intercept, loss=ours,
        slow=slow, Phi_new=Phi[N:], convex=convex, model=model, fit=fit, posed=posed, scalar=scalar, points=points,
    )  # fmt: skip


OUTPUTS = ["labels", "polynomial"]


@cache
def structured(
    name: str,
    outputs: str,
    *,
    n: int = 14,
    u: int = 0,
    alpha: float | None = None,
    intercept: bool = False,
    seed: int = 2,
) -> SimpleNamespace:
    """A problem with an output kernel whose K_Y is singular, and explicit features of its outputs."""
    alpha = ALPHAS[name] if alpha is None else alpha
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n + u + 5, 2))
    N = n + u
    if outputs == "labels":
        names = np.array(["a", "b", "c"], dtype=object)
        place = np.argsort(np.argsort(np.sin(2 * points[:n, 0]) + 0.3 * rng.normal(size=n))) * 3 // n
        y, output_kernel, candidates = names[place], Delta(), names
        Psi, Psi_candidates = np.eye(3)[place], np.eye(3)
    else:  # (y z + 1)² = ⟨ψ(y), ψ(z)⟩ with ψ(y) = (1, √2 y, y²), normalised: rank 3, norms 1
        y = np.round(np.sin(2 * points[:n, 0]) + 0.3 * rng.normal(size=n), 1)[:, None]
        output_kernel, candidates = Normalized(Polynomial(2, 1.0, 1.0)), np.linspace(-1.5, 1.5, 7)[:, None]
        Psi, Psi_candidates = _parabola(y), _parabola(candidates)
    Phi = factor(reference.gram(reference.rbf(GAMMA), points))
    L = _graph(points[:N], "whole") if u else None
    ours, slow = PAIRS[name]

    def fit(solver=None, **parameters):
        model = IOKR(
            RBF(GAMMA),
            output_kernel=output_kernel,
            intercept=intercept,
            **{"alpha": alpha, "loss": ours, "manifold": Given(0.7, L) if u else None, "solver": solver, **parameters},
        )
        return model.fit(points[:n], y, X_unlabeled=points[n:N] if u else None)

    convex = Convex(Phi[:N], Psi, slow, alpha, None, L, 0.7 if u else 0.0, intercept=intercept)
    return SimpleNamespace(
        name=name, X=points[:n], X_new=points[N:], y=y, Psi=Psi, candidates=candidates, Psi_candidates=Psi_candidates,
        Phi_new=Phi[N:], convex=convex, fit=fit, output_kernel=output_kernel, loss=ours,
    )  # fmt: skip


def _parabola(y):
    psi = np.hstack([np.ones_like(y), np.sqrt(2) * y, y**2])
    return psi / np.linalg.norm(psi, axis=1, keepdims=True)


def fitted(s, solver=None, **parameters):
    """`s.fit(...)`, where any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return s.fit(Auto(tol=1e-12) if solver is None else solver, **parameters)


each_loss = pytest.mark.parametrize("name", NAMES)
each_norm = pytest.mark.parametrize("name", NORMS)
each_loss_and_intercept = pytest.mark.parametrize(  # the margin has none
    ("name", "intercept"), [(name, False) for name in NAMES] + [(name, True) for name in NORMS]
)


@component
class AbsoluteCoordinates(Loss):
    """ℓ(h, ψ) = Σ_j |h_j − ψ_j|: what a user writes to add a loss."""

    smooth = False

    def value(self, H, Psi):
        return np.sum(np.abs(H - Psi), axis=1)

    def gradient(self, H, Psi):
        return np.sign(H - Psi)

    def prox(self, Z, Psi, t):
        R = Z - Psi
        return Psi + np.sign(R) * np.maximum(np.abs(R) - 1 / t[:, None], 0.0)

    def dual(self, W, Psi, weight):
        return np.sum(W * Psi, axis=1)
