"""Losses and their solvers: bad parameters, outputs that a loss cannot take, combinations without a method."""

import warnings

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.embeddings import Implicit
from iokr.kernels import RBF, Linear, Precomputed
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, IRLS, Auto, Cholesky, CoordinateDescent, Eigen, ManifoldEigen

LOSSES = [MaxMargin(), Huber(0.5), EpsilonSquare(0.1), EpsilonInsensitive(0.1)]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


@pytest.fixture
def models():
    """Every way to fit: one alpha, a path, unlabelled points."""

    def fit_all(X, Y, loss, **parameters):
        yield lambda: IOKR(loss=loss, **parameters).fit(X, Y)
        yield lambda: IOKRCV(loss=loss, alphas=(0.1, 1.0), cv=3, **parameters).fit(X, Y)
        yield lambda: IOKR(loss=loss, manifold=Laplacian(0.1), **parameters).fit(X, Y, X_unlabeled=X[:4] + 0.1)

    return fit_all


@pytest.mark.parametrize("kappa", [0, 0.0, -1.0, np.nan, -np.inf])
def test_kappa_must_be_positive(data, refuses, models, kappa):
    for fit in models(*data, Huber(kappa)):
        with refuses(ValueError, "`kappa`", "positive", str(kappa)):
            fit()


@pytest.mark.parametrize("kappa", ["1.0", None, [1.0], 1j, np.array([1.0, 2.0])], ids=repr)
def test_kappa_must_be_a_number(data, refuses, models, kappa):
    for fit in models(*data, Huber(kappa)):
        with refuses((TypeError, ValueError), "`kappa`"):
            fit()


@pytest.mark.parametrize("loss", [EpsilonSquare, EpsilonInsensitive])
@pytest.mark.parametrize("epsilon", [-0.1, -1, np.nan, -np.inf])
def test_epsilon_must_not_be_negative(data, refuses, models, loss, epsilon):
    for fit in models(*data, loss(epsilon)):
        with refuses(ValueError, "`epsilon`", str(epsilon)):
            fit()


@pytest.mark.parametrize("loss", [EpsilonSquare, EpsilonInsensitive])
@pytest.mark.parametrize("epsilon", ["0.1", None, [0.1], 1j], ids=repr)
def test_epsilon_must_be_a_number(data, refuses, models, loss, epsilon):
    for fit in models(*data, loss(epsilon)):
        with refuses((TypeError, ValueError), "`epsilon`"):
            fit()


@pytest.mark.parametrize("value", [1, np.float32(0.5), np.int64(2)], ids=repr)
def test_parameters_may_be_any_number(data, value):
    X, Y = data
    for loss in (Huber, EpsilonSquare, EpsilonInsensitive):
        expected = IOKR(loss=loss(float(value))).fit(X, Y).predict(X)
        np.testing.assert_allclose(IOKR(loss=loss(value)).fit(X, Y).predict(X), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", [Huber(np.inf), EpsilonSquare(np.inf), EpsilonInsensitive(np.inf)], ids=repr)
def test_infinite_parameters_are_refused_or_are_the_limit(data, loss):
    X, Y = data
    try:
        model = IOKR(loss=loss).fit(X, Y)
    except ValueError as error:
        assert "`kappa`" in str(error) or "`epsilon`" in str(error)
    else:
        limit = IOKR().fit(X, Y).predict(X) if isinstance(loss, Huber) else np.zeros_like(Y)
        np.testing.assert_allclose(model.predict(X), limit, atol=1e-6)


# -------------------------------------------------------------------------------------- the margin


def test_outputs_of_length_zero(data, refuses, models):
    X, Y = data
    Y = Y.copy()
    Y[7] = 0.0
    for fit in models(X, Y, MaxMargin()):
        with refuses(ValueError, "MaxMargin", "zero", "row"):
            fit()
    for solver in (CoordinateDescent(), ADMM(), Auto()):
        with refuses(ValueError, "MaxMargin", "zero", "row 7"):
            IOKR(loss=MaxMargin(), solver=solver).fit(X, Y)


def test_output_kernels_that_are_zero_for_an_output(data, refuses):
    X, _ = data
    y = np.arange(12.0)[:, None]  # k(0, 0) = 0
    with refuses(ValueError, "MaxMargin", "zero", "row 0"):
        IOKR(output_kernel=Linear(), loss=MaxMargin()).fit(X, y)


def test_missing_targets_of_the_margin(data, refuses, models):
    X, Y = data
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    Y[3, 1] = np.nan
    for fit in models(X, Y, MaxMargin()):
        with refuses(ValueError, "MaxMargin", "missing"):
            fit()
    for solver in (CoordinateDescent(), ADMM(), Auto()):
        with refuses(ValueError, "MaxMargin", "missing"):
            IOKR(loss=MaxMargin(), solver=solver).fit(X, Y)


def test_outputs_of_different_lengths_are_warned_of_once(data):
    X, Y = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        IOKR(loss=MaxMargin()).fit(X, Y)
    assert len([w for w in caught if "ormalise" in str(w.message)]) == 1
    assert caught[0].category is UserWarning


def test_a_diagonal_entry_of_zero(data):
    """k(x, x) = 0 for one input: its multiplier goes to its bound, and the answer has a stated gap."""
    X, Y = data
    X, Y = X.copy(), Y / np.linalg.norm(Y, axis=1, keepdims=True)
    X[5] = 0.0
    for loss in LOSSES:
        model = IOKR(Linear(), loss=loss, alpha=0.1).fit(X, Y)
        assert model.solution_.gap <= 1e-6
        assert np.isfinite(model.decision_function(X)).all()
        b = 0.0 if model.solution_.intercept is None else model.solution_.intercept
        assert np.all(model.decision_function(X[5:6]) == b)


# --------------------------------------------------------------------- combinations without a method


@pytest.mark.parametrize("solver", [Eigen(), Cholesky()], ids=repr)
@each_loss
def test_closed_forms_refuse(data, refuses, loss, solver):
    with refuses(ValueError, "cannot solve this problem", "quadratic", type(loss).__name__):
        IOKR(loss=loss, solver=solver).fit(*data)


@each_loss
def test_the_closed_form_of_manifolds_refuses(data, refuses, loss):
    X, Y = data
    with refuses(ValueError, "cannot solve this problem", "quadratic"):
        IOKR(loss=loss, manifold=Laplacian(0.1), solver=ManifoldEigen()).fit(X, Y, X_unlabeled=X[:3] + 0.1)


@pytest.mark.parametrize("loss", [MaxMargin(), EpsilonSquare(0.1), EpsilonInsensitive(0.1)], ids=repr)
def test_reweighting_is_for_huber(data, refuses, loss):
    with refuses(ValueError, "IRLS", "cannot solve this problem", "Huber", "ADMM"):
        IOKR(loss=loss, solver=IRLS()).fit(*data)


def test_reweighting_takes_no_operator(data, refuses):
    with refuses(ValueError, "IRLS", "`A`", "ADMM"):
        IOKR(Decomposable(RBF(0.5), np.diag([1.0, 2.0])), loss=Huber(0.5), solver=IRLS()).fit(*data)


@pytest.mark.parametrize("loss", [Huber(0.5), EpsilonSquare(0.1), EpsilonInsensitive(0.1), None], ids=repr)
def test_coordinate_descent_is_for_the_margin(data, refuses, loss):
    with refuses(ValueError, "CoordinateDescent", "cannot solve this problem", "MaxMargin"):
        IOKR(loss=loss, solver=CoordinateDescent()).fit(*data)


@each_loss
def test_leave_one_out_is_for_quadratic_losses(data, refuses, loss):
    X, Y = data
    with refuses(ValueError, "quadratic", type(loss).__name__, "cv=5"):
        IOKRCV(loss=loss).fit(X, Y)
    model = IOKR(loss=loss).fit(X, Y / np.linalg.norm(Y, axis=1, keepdims=True))
    with refuses(ValueError, "Leave-one-out", "quadratic", type(loss).__name__):
        model.loo_decision_function()


@each_loss
def test_implicit_outputs_are_for_quadratic_losses(data, refuses, loss):
    """Weights on the training outputs are no Euclidean coordinates: norms in them mean nothing."""
    X, Y = data
    with refuses(ValueError, "Implicit", "Eigen"):
        IOKR(output_kernel=RBF(0.5), embedding=Implicit(), loss=loss).fit(X, Y)


@each_loss
def test_operators_with_an_output_kernel(data, refuses, loss):
    X, Y = data
    with refuses(ValueError, "A"):
        IOKR(Decomposable(RBF(0.5), np.diag([1.0, 2.0])), output_kernel=RBF(0.5), loss=loss).fit(X, Y)


@each_loss
def test_rows_without_any_target(data, refuses, loss):
    X, Y = data
    Y = Y.copy()
    Y[4] = np.nan
    with refuses(ValueError, "row 4", "X_unlabeled"):
        IOKR(loss=loss).fit(X, Y)


@each_loss
def test_missing_targets_with_an_output_kernel(data, refuses, loss):
    X, Y = data
    Y = Y.copy()
    Y[4, 0] = np.nan
    with refuses(ValueError, "NaN"):
        IOKR(output_kernel=RBF(0.5), loss=loss).fit(X, Y)


@each_loss
def test_infinite_targets(data, refuses, loss):
    X, Y = data
    Y = Y.copy()
    Y[4, 0] = np.inf
    with refuses(ValueError, "y", "infinity"):
        IOKR(loss=loss).fit(X, Y)


@each_loss
def test_indefinite_kernels(data, refuses, loss):
    X, Y = data
    squares = np.sum((X[:, None] - X) ** 2, axis=2)
    with refuses(ValueError, "positive semi-definite"):
        IOKR(Precomputed(squares), loss=loss, alpha=1e-3).fit(np.arange(12), Y)


# ----------------------------------------------------------------------------- parameters of solvers


@pytest.mark.parametrize("tol", [0.0, -1e-6, np.nan, np.inf, "1e-6", None], ids=repr)
@pytest.mark.parametrize("solver", [ADMM, IRLS, Auto])
def test_tolerances(data, refuses, solver, tol):
    with refuses((TypeError, ValueError), "`tol`"):
        IOKR(loss=Huber(0.5), solver=solver(tol=tol)).fit(*data)


@pytest.mark.parametrize("max_iter", [0, -3, 2.5, "many"], ids=repr)
@pytest.mark.parametrize("solver", [ADMM, IRLS, Auto])
def test_iteration_limits(data, refuses, solver, max_iter):
    with refuses((TypeError, ValueError), "`max_iter`"):
        IOKR(loss=Huber(0.5), solver=solver(max_iter=max_iter)).fit(*data)


@pytest.mark.parametrize(("name", "value"), [("tol", 0.0), ("tol", "x"), ("max_iter", 0), ("max_iter", 1.5)])
def test_parameters_of_coordinate_descent(data, refuses, name, value):
    X, Y = data
    with refuses((TypeError, ValueError), f"`{name}`"):
        IOKR(loss=MaxMargin(), solver=CoordinateDescent(**{name: value})).fit(X, Y)


@each_loss
def test_all_weights_zero(data, refuses, loss):
    with refuses(ValueError, "sample_weight"):
        IOKR(loss=loss).fit(*data, sample_weight=np.zeros(12))


def test_zero_outputs_of_weight_zero_do_not_count_or_are_refused(data):
    """Their loss is not there; whoever refuses says which row."""
    X, Y = data
    Y, w = Y / np.linalg.norm(Y, axis=1, keepdims=True), np.ones(12)
    Y[2], w[2] = 0.0, 0.0
    try:
        model = IOKR(loss=MaxMargin(), solver=Auto(tol=1e-10)).fit(X, Y, sample_weight=w)
    except ValueError as error:
        assert "row 2" in str(error)
    else:
        kept = np.arange(12) != 2
        expected = IOKR(loss=MaxMargin(), solver=Auto(tol=1e-10)).fit(X[kept], Y[kept])
        np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-4)


@each_loss
def test_a_hopelessly_small_alpha_warns(data, loss):
    """Below 1e-12 of the largest eigenvalue no digits are left (rule 4)."""
    X, Y = data
    Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    with pytest.warns(RuntimeWarning, match="alpha"):
        IOKR(RBF(0.5), loss=loss, alpha=1e-14).fit(X, Y)
