"""`SetModel`, and what labels of sets may be: tests of `iokr.estimators.sets` and of `iokr.estimators.outputs`."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from iokr import IOKR, SetModel
from iokr.kernels import RBF, Linear, Precomputed, SetKernel, Spectrum
from iokr.losses import Huber, MaxMargin, Square
from iokr.operator_kernels import Decomposable

K = RBF(0.7)


def sample(n=25, seed=0, p=2):
    """Sets of one to five points; the label is the side on which their centre lies."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=n)
    return [rng.normal(size=(rng.integers(1, 6), p)) + 0.7 * label for label in y], y


def dense(sets, y, weight=None):
    """Members one after the other, their labels, weights w_p/|p|, sizes."""
    sizes = np.array([len(p) for p in sets])
    w = np.ones(len(sets)) if weight is None else weight
    return np.concatenate(sets), np.repeat(y, sizes), np.repeat(w / sizes, sizes), sizes


def within(gap, total, alpha):
    """‖g − g*‖ ≤ √(2 gap J(0)/α), since J is α-strongly convex; it bounds g(x) where k(x, x) = 1, and means of it."""
    return np.sqrt(2 * gap * total / alpha)


def test_ridge_is_a_system_on_members_with_the_sizes_on_its_diagonal():
    sets, y = sample()
    y = y + np.linspace(0, 1, len(y))  # numbers, not labels
    X, target, _, sizes = dense(sets, y)
    c = np.linalg.solve(K(X) + 0.3 * np.diag(np.repeat(sizes, sizes)), target)
    model = SetModel(K, alpha=0.3).fit(sets, y)
    new, _ = sample(6, seed=1)
    expected = [np.mean(K(p, X) @ c) for p in new]
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-10)
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-10)
    np.testing.assert_allclose([np.mean(g) for g in model.member_values(new)], expected, rtol=1e-10)


def test_leaving_a_set_out_is_a_fit_without_it():
    sets, y = sample(12)
    left_out = SetModel(K, alpha=0.3).fit(sets, y).loo_decision_function()
    for i in range(12):
        rest = [j for j in range(12) if j != i]
        model = SetModel(K, alpha=0.3).fit([sets[j] for j in rest], y[rest])
        np.testing.assert_allclose(left_out[i], model.decision_function([sets[i]])[0], rtol=1e-8, atol=1e-12)


def test_a_set_of_weight_zero_keeps_its_place_when_sets_are_left_out():
    sets, y = sample(12)
    weight = np.where(np.arange(12) % 5 == 1, 0.0, np.linspace(0.5, 2.0, 12))
    model = SetModel(K, alpha=0.3).fit(sets, y, sample_weight=weight)
    left_out = model.loo_decision_function()
    for i in range(12):
        rest = [j for j in range(12) if j != i]
        other = SetModel(K, alpha=0.3).fit([sets[j] for j in rest], y[rest], sample_weight=weight[rest])
        np.testing.assert_allclose(left_out[i], other.decision_function([sets[i]])[0], rtol=1e-8, atol=1e-12)


def test_the_hinge_is_a_support_vector_machine_with_weights():
    sets, y = sample(30)
    X, target, weight, _ = dense(sets, y)
    theirs = SVC(C=1 / 0.2, kernel="precomputed", tol=1e-10)
    model = SetModel(K, loss=MaxMargin(), alpha=0.2).fit(sets, y)
    theirs.fit(K(X), target, sample_weight=weight)
    # scikit-learn's machine has a bias, ours has none: compare objectives of the problem without it
    g = K(X) @ model.solution_.C[:, 0]
    ours = weight @ np.maximum(0, 1 - target * g) + 0.1 * model.solution_.C[:, 0] @ g
    v = cp.Variable(len(X))
    s, U = np.linalg.eigh(K(X))
    root = U * np.sqrt(np.clip(s, 0, None))
    program = cp.Problem(cp.Minimize(weight @ cp.pos(1 - cp.multiply(target, root @ v)) + 0.1 * cp.sum_squares(v)))
    program.solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(ours, program.value, rtol=1e-5)
    assert np.mean(model.predict(sets) == y) >= np.mean(np.sign(theirs.decision_function(K(X))) == target) - 0.1


@pytest.mark.parametrize("alpha", [1.0, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_maximum_loss_is_that_of_the_conic_solver(alpha, weighted):
    """The primal as it stands: one slack a set, as large as the hinge of every member."""
    sets, y = sample(18, seed=2)
    w = np.random.default_rng(3).uniform(0.5, 2.0, size=18) if weighted else np.ones(18)
    X, target, _, sizes = dense(sets, y)
    s, U = np.linalg.eigh(K(X))
    root = U * np.sqrt(np.clip(s, 0, None))
    v, slack = cp.Variable(len(X)), cp.Variable(18, nonneg=True)
    of = np.repeat(np.arange(18), sizes)
    rows = [slack[of[i]] >= 1 - target[i] * (root[i] @ v) for i in range(len(X))]
    program = cp.Problem(cp.Minimize(w @ slack + alpha / 2 * cp.sum_squares(v)), rows)
    program.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_feas=1e-10)
    model = SetModel(K, alpha=alpha, worst=True).fit(sets, y, sample_weight=w if weighted else None)
    c = model.solution_.C[:, 0]
    g = K(X) @ c
    hinge = np.maximum(0, 1 - target * g)
    ours = w @ np.array([hinge[of == p].max() for p in range(18)]) + alpha / 2 * c @ g
    assert program.value - 1e-7 * w.sum() <= ours <= program.value + model.solution_.gap * w.sum() + 1e-7
    np.testing.assert_allclose(g, root @ v.value, atol=2 * within(1e-6, w.sum(), alpha))
    assert model.solution_.gap <= 1e-6
    assert model.solution_.converged


def test_sets_of_one_member_are_plain_examples():
    """Then strategy 2, the maximum loss and the set kernel are one model; of a set there is no intercept."""
    X, y = np.random.default_rng(1).normal(size=(20, 3)), np.repeat([0.0, 1.0], 10)
    sets, new = [x[None] for x in X], np.random.default_rng(2).normal(size=(5, 3))
    plain = IOKR(K, loss=MaxMargin(), alpha=0.5).fit(X, 2 * y - 1).predict(new)
    for worst in (False, True):
        model = SetModel(K, loss=MaxMargin(), alpha=0.5, worst=worst).fit(sets, y)
        f = model.decision_function([x[None] for x in new])
        np.testing.assert_allclose(f, plain, atol=2 * within(1e-6, 20, 0.5))
    ridge = IOKR(SetKernel(K), alpha=0.5, intercept=False).fit(sets, 2 * y - 1).predict(sets)
    np.testing.assert_allclose(SetModel(K, alpha=0.5).fit(sets, y).decision_function(sets), ridge, rtol=1e-9)


def test_a_linear_kernel_depends_on_more_than_the_means():
    """The set kernel sees means alone; strategy 2 sees members (HV10, Theorem 1: another loss)."""
    sets, y = sample()
    ours = SetModel(Linear(), alpha=0.3).fit(sets, y).decision_function(sets)
    of_means = IOKR(SetKernel(Linear()), alpha=0.3, intercept=False).fit(sets, y).predict(sets)
    assert np.abs(ours - of_means).max() > 1e-3


@pytest.mark.parametrize("worst", [False, True])
def test_weights_orders_and_labels(worst):
    sets, y = sample(14)
    model = SetModel(K, alpha=0.2, worst=worst).fit(sets, y)
    f, tolerance = model.decision_function(sets), 2 * within(1e-6, 15, 0.2) if worst else 1e-9
    twice = SetModel(K, alpha=0.2, worst=worst).fit([*sets, sets[3]], [*y, y[3]])
    weighted = SetModel(K, alpha=0.2, worst=worst).fit(sets, y, sample_weight=1.0 + (np.arange(14) == 3))
    np.testing.assert_allclose(weighted.decision_function(sets), twice.decision_function(sets), atol=tolerance)
    back = [p[::-1] for p in sets[::-1]]
    np.testing.assert_allclose(
        SetModel(K, alpha=0.2, worst=worst).fit(back, y[::-1]).decision_function(sets), f, atol=tolerance
    )
    without = SetModel(K, alpha=0.2, worst=worst).fit(sets, y, sample_weight=(np.arange(14) != 3).astype(float))
    rest = [i for i in range(14) if i != 3]
    np.testing.assert_allclose(
        without.decision_function(sets),
        SetModel(K, alpha=0.2, worst=worst).fit([sets[i] for i in rest], y[rest]).decision_function(sets),
        atol=tolerance,
    )
    words = np.where(y > 0, "yes", "no")
    named = SetModel(K, alpha=0.2, worst=worst).fit(sets, words)
    np.testing.assert_array_equal(named.predict(sets), np.where(f > 0, "yes", "no"))
    assert named.score(sets, words) == np.mean((f > 0) == (y > 0))


def test_members_of_any_kind():
    bags = [["ab", "abc"], ["abab"], ["xy", "xyx", "yx"], ["xyz"]]
    model = SetModel(Spectrum(1), alpha=0.1).fit(bags, [1, 1, 0, 0])
    np.testing.assert_array_equal(model.predict([["ba"], ["y", "x"]]), [1, 0])
    matrix = np.eye(6) + 0.5
    by_number = SetModel(Precomputed(matrix), alpha=0.1).fit([[0, 1], [2], [3, 4]], [1.0, 2.0, 0.5])
    assert by_number.decision_function([[5], [0, 2]]).shape == (2,)
    cube = np.random.default_rng(0).normal(size=(6, 3, 2))
    f = SetModel(K).fit(cube, np.arange(6.0)).decision_function(cube)
    np.testing.assert_allclose(f, SetModel(K).fit(list(cube), np.arange(6.0)).decision_function(list(cube)))


def test_other_losses_and_scores():
    sets, y = sample()
    y = y + 0.1 * np.arange(len(y))
    assert SetModel(K, loss=Huber(0.3), alpha=0.1).fit(sets, y).score(sets, y) > 0.5
    model = SetModel(K, alpha=0.1).fit(sets, y)
    assert model.score(sets, y, sample_weight=np.ones(len(y))) == model.score(sets, y.astype(object)) > 0.5


def test_labels_of_any_type_are_counted():
    sets, y = sample()
    names = np.where(y > 0, "yes", "no")
    model, weight = SetModel(K, alpha=0.1).fit(sets, names), np.arange(len(y)) + 1.0
    right = np.asarray(model.predict(sets)) == names
    for truth in (names, names.astype(object), names.tolist()):
        assert model.score(sets, truth) == right.mean()
        assert model.score(sets, truth, sample_weight=weight) == pytest.approx(np.average(right, weights=weight))


def test_bad_input_is_named():
    sets, y = sample(5)
    with pytest.raises(ValueError, match=r"`sets`: Set 2 is empty"):
        SetModel(K).fit([*sets[:2], np.empty((0, 2)), *sets[3:]], y)
    model = SetModel(K).fit(sets, y)
    with pytest.raises(ValueError, match=r"`sets`: Set 1 is empty"):
        model.predict([sets[0], []])
    with pytest.raises(ValueError, match="`sets` is empty"):
        model.predict([])
    with pytest.raises(ValueError, match="needs `loss=MaxMargin"):
        SetModel(K, loss=Square(), worst=True).fit(sets, y)
    with pytest.raises(ValueError, match="two different labels"):
        SetModel(K, worst=True).fit(sets, np.arange(5.0))
    with pytest.raises(ValueError, match="two different labels, got 1"):
        SetModel(K, worst=True).fit(sets, np.ones(5))
    with pytest.raises(ValueError, match="quadratic losses only"):
        SetModel(K, worst=True).fit(sets, y).loo_decision_function()
    with pytest.raises(TypeError, match="scalar kernel"):
        SetModel(Decomposable(K, np.eye(1))).fit(sets, y)
    with pytest.raises(ValueError, match="`worst` must be"):
        SetModel(K, worst="yes").fit(sets, y)
    with pytest.raises(ValueError, match="labels of `fit`"):
        model.score(sets, np.arange(5.0))
    with pytest.raises(ValueError, match="contains NaN"):
        SetModel(K).fit([sets[0], np.full((2, 2), np.nan)], y[:2])
    with pytest.raises(ValueError, match="alpha"):
        SetModel(K, alpha=0).fit(sets, y)


def test_no_warning_and_a_warning_where_the_gap_is_not_met(monkeypatch):
    sets, y = sample(10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SetModel(K, worst=True).fit(sets, y)
    monkeypatch.setattr("iokr.estimators.sets._STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        assert not SetModel(K, worst=True).fit(sets, y).solution_.converged
