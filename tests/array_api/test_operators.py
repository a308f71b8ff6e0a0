"""Operators and losses with arrays of other libraries: the same numbers, in kind, on the same device."""

import numpy as np
import pytest
from sklearn.base import clone

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin
from iokr.manifolds import Given
from iokr.operator_kernels import (
    ConditionalCovariance,
    Covariance,
    Decomposable,
    Transformable,
    diagonal_regularization,
)
from iokr.solvers import Auto, ConjugateGradient
from libraries import N, U, problem

PENALTY = Given(0.3, np.diag(np.linspace(0.0, 1.0, N + U)))
SUM = Decomposable(RBF(0.5), np.array([[1.0, 0.5], [0.5, 1.0]])) + RBF(2.0)
TRANSFORMED = Transformable(RBF(0.5), [np.eye(3), np.diag([1.0, 0.5, 0.0])])
OPERATORS = {
    "covariance": {"kernel": Covariance(RBF(0.5)), "output_kernel": RBF(0.5)},
    "centred covariance": {"kernel": Covariance(RBF(0.5), centered=True), "output_kernel": RBF(0.5)},
    "conditional": {"kernel": ConditionalCovariance(RBF(0.5)), "output_kernel": RBF(0.5)},
    "centred conditional": {"kernel": ConditionalCovariance(RBF(0.5), 0.1, True), "output_kernel": RBF(0.5)},
    "covariance of vectors": {"kernel": ConditionalCovariance(RBF(0.5))},
    "transformable": {"kernel": TRANSFORMED},
    "sum": {"kernel": SUM},
}
LOSSES = [Huber(0.3), EpsilonSquare(0.1), EpsilonInsensitive(0.1), MaxMargin()]


def compare(library, model, arguments, what=("decision_function",), rtol=1e-9):
    """The same fit on NumPy arrays and on the library's."""
    data = problem()
    moved = data.moved(library)
    ours, theirs = clone(model), clone(model)
    ours.fit(data.X, data.Y, **{name: getattr(data, value) for name, value in arguments.items()})
    theirs.fit(moved.X, moved.Y, **{name: getattr(moved, value) for name, value in arguments.items()})
    inputs = {"decision_function": ("new",), "loo_decision_function": (), "scores": ("new", "candidates")}
    for name in what:
        mine = getattr(ours, name)(*(getattr(data, value) for value in inputs[name]))
        other = getattr(theirs, name)(*(getattr(moved, value) for value in inputs[name]))
        np.testing.assert_allclose(library.numpy(other), mine, rtol=rtol, atol=rtol * np.abs(mine).max())
    return ours, theirs


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("parts", OPERATORS.values(), ids=OPERATORS)
def test_operators(library, parts, semi):
    arguments = {"X_unlabeled": "unlabeled"} if semi else {}
    manifold = PENALTY if semi else None
    both = ("decision_function", "loo_decision_function")
    compare(library, IOKR(**parts, alpha=0.1, manifold=manifold), arguments, both)
    ours, theirs = compare(library, IOKRCV(**parts, alphas=(0.01, 1.0), manifold=manifold), arguments)
    np.testing.assert_allclose(theirs.loo_errors_, ours.loo_errors_, rtol=1e-9)


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("kernel", [RBF(0.5), SUM, TRANSFORMED], ids=["scalar", "sum", "transformable"])
def test_conjugate_gradients(library, kernel, semi):
    arguments = {"X_unlabeled": "unlabeled"} if semi else {}
    model = IOKR(kernel, alpha=0.1, manifold=PENALTY if semi else None, solver=ConjugateGradient(1e-12))
    compare(library, model, arguments, rtol=1e-8)


@pytest.mark.parametrize("parts", [{"kernel": RBF(0.5)}, *OPERATORS.values()], ids=["scalar", *OPERATORS])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.filterwarnings("ignore:The outputs have different lengths")
def test_losses(library, loss, parts):
    ours, theirs = compare(
        library, IOKR(**parts, loss=loss, alpha=0.1, solver=Auto(tol=1e-10)), {}, ("scores",), rtol=1e-4
    )
    assert ours.solution_.converged
    assert theirs.solution_.converged


def test_joint_kernels(library):
    data = problem()
    kernel = diagonal_regularization(0.4)
    ours = IOKR(kernel, alpha=0.1).fit(data.X, data.X[:, ::-1]).predict(data.new)
    reversed_ = library(data.X[:, ::-1].copy())
    theirs = IOKR(kernel, alpha=0.1).fit(library(data.X), reversed_).predict(library(data.new))
    np.testing.assert_allclose(library.numpy(theirs), ours, rtol=1e-9)
