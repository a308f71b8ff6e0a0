"""`IOKRCV(cv=k)` with losses that have no closed form: the same errors and the same choice as a loop by hand."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF
from iokr.losses import Huber, MaxMargin
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, IRLS, Auto, CoordinateDescent
from loss_samples import PAIRS, case, each_loss, each_norm, structured
from reference import assert_close
from samples import GAMMA, operator

ALPHAS = (0.01, 0.1, 1.0, 10.0)
TIGHT = Auto(tol=1e-10)


def error(name, H, Y, w):
    """What is summed over the folds: ‖y − h‖², or the hinge of the margin."""
    if name == "margin":
        return float(w @ np.maximum(0, 1 - np.sum(H * Y, axis=1)))
    return float(w @ np.sum((H - Y) ** 2, axis=1))


def by_hand(name, s, kernel, alphas, cv, weight=None, **parameters):
    """Mean error of held-out rows for each alpha, each fit on its own."""
    w = np.ones(len(s.Y)) if weight is None else weight
    errors, total = np.zeros(len(alphas)), 0.0
    for train, test in cv.split(s.X):
        total += w[test].sum()
        for k, alpha in enumerate(alphas):
            model = IOKR(kernel, loss=s.loss, alpha=alpha, solver=TIGHT, **parameters)
            model.fit(s.X[train], s.Y[train], sample_weight=w[train])
            errors[k] += error(name, model.decision_function(s.X[test]), s.Y[test], w[test])
    return errors / total


@pytest.mark.parametrize("kind", ["identity", "full"])
@each_loss
def test_errors_and_choice(name, kind):
    s = case(name, n=24, kind=kind, seed=1)
    kernel = RBF(GAMMA) if s.A is None else Decomposable(RBF(GAMMA), s.A)
    model = IOKRCV(kernel, alphas=ALPHAS, cv=3, loss=s.loss, solver=TIGHT).fit(s.X, s.Y)
    expected = by_hand(name, s, kernel, ALPHAS, KFold(3))
    assert model.cv_errors_.shape == (4,)
    assert_close(model.cv_errors_, expected, 1e-3)
    [best] = model.best_index_
    assert expected[best] <= expected.min() * (1 + 1e-6)  # the margin is the same for all small alphas
    assert model.alpha_ == ALPHAS[best]
    assert not hasattr(model, "loo_errors_")
    refitted = IOKR(kernel, loss=s.loss, alpha=ALPHAS[best], solver=TIGHT).fit(s.X, s.Y)
    assert_close(model.decision_function(s.X_new), refitted.decision_function(s.X_new), 1e-3)
    assert model.solution_.converged
    assert model.solution_.gap <= 1e-10


@each_loss
def test_the_default_tolerance_makes_the_same_choice(name):
    s = case(name, n=24, seed=2)
    model = IOKRCV(RBF(GAMMA), alphas=ALPHAS, cv=3, loss=s.loss).fit(s.X, s.Y)
    expected = by_hand(name, s, RBF(GAMMA), ALPHAS, KFold(3))
    assert_close(model.cv_errors_, expected, 0.02)
    assert expected[ALPHAS.index(model.alpha_)] <= expected.min() * (1 + 1e-4)


@each_loss
def test_the_order_of_the_alphas_does_not_matter(name):
    """Warm starts run along the path, whichever way it goes."""
    s = case(name, n=24, seed=3)
    up = IOKRCV(RBF(GAMMA), alphas=ALPHAS, cv=3, loss=s.loss, solver=TIGHT).fit(s.X, s.Y)
    mixed = (1.0, 0.01, 10.0, 0.1)
    down = IOKRCV(RBF(GAMMA), alphas=mixed, cv=3, loss=s.loss, solver=TIGHT).fit(s.X, s.Y)
    assert_close([down.cv_errors_[mixed.index(a)] for a in ALPHAS], up.cv_errors_, 1e-3)
    assert down.alpha_ == up.alpha_


@each_loss
def test_weights_of_the_rows(name):
    s = case(name, n=24, seed=4)
    w = np.random.default_rng(0).uniform(0.2, 3.0, size=24)
    model = IOKRCV(RBF(GAMMA), alphas=ALPHAS, cv=4, loss=s.loss, solver=TIGHT).fit(s.X, s.Y, sample_weight=w)
    assert_close(model.cv_errors_, by_hand(name, s, RBF(GAMMA), ALPHAS, KFold(4), w), 1e-3)


@each_loss
def test_several_kernels_and_strengths(name):
    s = case(name, n=18, u=6, seed=5)
    kernels, manifold_weights, alphas = [RBF(0.2), RBF(1.5)], (0.0, 2.0), (0.1, 1.0)
    model = IOKRCV(
        kernels,
        alphas=alphas,
        manifold_weights=manifold_weights,
        manifold=Laplacian(1.0),
        cv=3,
        loss=s.loss,
        solver=TIGHT,
    ).fit(s.X, s.Y, X_unlabeled=s.U)
    assert model.cv_errors_.shape == (2, 2, 2)
    expected = np.zeros((2, 2, 2))
    for train, test in KFold(3).split(s.X):
        for i, kernel in enumerate(kernels):
            for j, manifold_weight in enumerate(manifold_weights):
                for k, alpha in enumerate(alphas):
                    one = IOKR(kernel, loss=s.loss, alpha=alpha, manifold=Laplacian(manifold_weight), solver=TIGHT)
                    one.fit(s.X[train], s.Y[train], X_unlabeled=s.U)
                    expected[i, j, k] += error(name, one.decision_function(s.X[test]), s.Y[test], np.ones(6)) / 18
    assert_close(model.cv_errors_, expected, 1e-3)
    i, j, k = np.unravel_index(np.argmin(expected), expected.shape)
    assert model.best_index_ == (i, j, k)
    assert (model.alpha_, model.manifold_weight_) == (alphas[k], manifold_weights[j])
    assert model.kernel_.gamma_ == kernels[i].gamma


@each_loss
def test_output_kernels(name):
    """Held-out errors in the output feature space, for outputs the fold may not have seen; folds are stratified."""
    s = structured(name, "labels", n=18)
    model = IOKRCV(RBF(GAMMA), output_kernel=s.output_kernel, alphas=ALPHAS, cv=3, loss=s.loss, solver=TIGHT)
    model.fit(s.X, s.y)
    expected = np.zeros(4)
    for train, test in StratifiedKFold(3).split(s.X, s.y):
        for k, alpha in enumerate(ALPHAS):
            one = IOKR(RBF(GAMMA), output_kernel=s.output_kernel, loss=s.loss, alpha=alpha, solver=TIGHT)
            one.fit(s.X[train], s.y[train])
            costs = one.scores if name == "margin" else one.distances
            own = costs(s.X[test], s.candidates)[np.arange(6), ["abc".index(c) for c in s.y[test]]]
            expected[k] += np.sum(np.maximum(0, 1 - own) if name == "margin" else own) / 18
    assert_close(model.cv_errors_, expected, 1e-3)  # a gap δ leaves h within √(2δP₀/α), here 5e-4
    assert expected[ALPHAS.index(model.alpha_)] <= expected.min() + 1e-3 * expected.max()  # of those that tie, any
    assert set(model.predict(s.X_new)) <= set("abc")


def test_splitters():
    s = case("huber", n=20, seed=6)
    cv = ShuffleSplit(3, test_size=0.3, random_state=0)
    model = IOKRCV(RBF(GAMMA), alphas=ALPHAS, cv=cv, loss=s.loss, solver=TIGHT).fit(s.X, s.Y)
    assert_close(model.cv_errors_, by_hand("huber", s, RBF(GAMMA), ALPHAS, cv), 1e-3)


@each_norm
def test_holes(name):
    """Errors over the entries that are there: d Σ m r² / Σ m, as in leave-one-out."""
    s = case(name, n=20, holes="entries", seed=7)
    model = IOKRCV(RBF(GAMMA), alphas=ALPHAS, cv=4, loss=s.loss, solver=TIGHT).fit(s.X, s.Y)
    expected = np.zeros(4)
    for train, test in KFold(4).split(s.X):
        for k, alpha in enumerate(ALPHAS):
            one = IOKR(RBF(GAMMA), loss=s.loss, alpha=alpha, solver=TIGHT).fit(s.X[train], s.Y[train])
            expected[k] += np.nansum((one.decision_function(s.X[test]) - s.Y[test]) ** 2)
    assert_close(model.cv_errors_, 3 * expected / np.sum(~np.isnan(s.Y)), 1e-3)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [(Huber(0.4), IRLS(tol=1e-9)), (Huber(0.4), ADMM(tol=1e-9)), (MaxMargin(), CoordinateDescent(tol=1e-9))],
    ids=["IRLS", "ADMM", "CoordinateDescent"],
)
def test_given_solvers(loss, solver):
    name = "margin" if isinstance(loss, MaxMargin) else "huber"
    s = case(name, n=20, seed=8)
    model = IOKRCV(RBF(GAMMA), alphas=ALPHAS, cv=3, loss=loss, solver=solver).fit(s.X, s.Y)
    assert_close(model.cv_errors_, by_hand(name, s, RBF(GAMMA), ALPHAS, KFold(3)), 1e-3)
    assert type(model.solver_) is type(solver)


@each_loss
def test_leave_one_out_has_no_closed_form(name):
    s = case(name)
    with pytest.raises(ValueError, match=r"quadratic.*cv=5"):
        IOKRCV(RBF(GAMMA), loss=s.loss).fit(s.X, s.Y)
    model = s.fit()
    with pytest.raises(ValueError, match="quadratic"):
        model.loo_decision_function()


def test_early_stops_are_reported():
    s = case("epsilon insensitive", n=20, seed=9)
    with pytest.warns(ConvergenceWarning, match="gap"):
        model = IOKRCV(RBF(GAMMA), alphas=(1e-4, 1e-3), cv=3, loss=s.loss, solver=Auto(tol=1e-12, max_iter=1)).fit(
            s.X, s.Y
        )
    assert not model.solution_.converged


@each_loss
def test_no_warnings_by_default(name):
    s = case(name, n=20, seed=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = IOKRCV(RBF(GAMMA), cv=3, loss=PAIRS[name][0]).fit(s.X, s.Y)
    assert model.cv_errors_.shape == (19,)
    assert np.isfinite(model.cv_errors_).all()


def test_rotations_of_the_operator_do_not_change_the_choice():
    s = case("huber", n=20, kind="full", seed=11)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    A = operator("full", 3)
    one = IOKRCV(Decomposable(RBF(GAMMA), A), alphas=ALPHAS, cv=3, loss=s.loss, solver=TIGHT).fit(s.X, s.Y)
    other = IOKRCV(Decomposable(RBF(GAMMA), Q.T @ A @ Q), alphas=ALPHAS, cv=3, loss=s.loss, solver=TIGHT)
    other.fit(s.X, s.Y @ Q)
    assert_close(other.cv_errors_, one.cv_errors_, 1e-3)
