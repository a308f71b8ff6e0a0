"""The closed forms of `iokr.estimators.conformal.left_out` and `iokr.estimators.conformal.closed` against refits.

Every set is decided the slow way: models fitted without a point, and with one point more.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from iokr import IOKR, CandidateSets, Conformal
from iokr.estimators.conformal.left_out import LeftOut
from iokr.kernels import RBF, Delta, Linear
from iokr.operator_kernels import Decomposable
from tolerance import ridge_condition, rounding

rng = np.random.default_rng(0)
N, M = 14, 5
X, Y, NEW, Y_NEW = (rng.normal(size=s) for s in ((N, 2), (N, 2), (M, 2), (M, 2)))
A = np.array([[2.0, 0.7], [0.7, 1.0]])
ALPHA = 0.3
CLOSE = {"rtol": 0, "atol": 100 * rounding(2 * N, ridge_condition(RBF(0.5)(X), ALPHA, A))}
KERNELS = {"scalar": RBF(0.5), "operator": Decomposable(RBF(0.5), A)}


def model(kernel="scalar", **parts):
    return IOKR(KERNELS[kernel], alpha=ALPHA, **parts)


def refit(kernel, rows, extra=None):
    """h of the given rows, and of (x, y) where it is given."""
    X_, Y_ = X[rows], Y[rows]
    if extra is not None:
        X_, Y_ = np.vstack([X_, extra[0]]), np.vstack([Y_, extra[1]])
    return model(kernel).fit(X_, Y_)


def slow_scores(kernel, method, x, y, scaled=False):
    """(s_i, t_i) by refits."""
    own, other = [], []
    for i in range(N):
        rest = np.arange(N) != i
        extra = (x, y) if method == "full" else None
        without = refit(kernel, rest, extra)
        v = (without.variance(X[i : i + 1])[0] + ALPHA) if scaled else 1.0
        own.append(np.linalg.norm(Y[i] - without.predict(X[i : i + 1])[0]) / np.sqrt(v))
        judge = without if method == "jackknife+" else refit(kernel, np.arange(N))
        v = (judge.variance(x[None])[0] + ALPHA) if scaled else 1.0
        other.append(np.linalg.norm(y - judge.predict(x[None])[0]) / np.sqrt(v))
    return np.array(own), np.array(other)


@pytest.mark.parametrize("kernel", KERNELS)
def test_residuals_of_n_plus_one_points_and_models_without_one(kernel):
    left_out = LeftOut(model(kernel).fit(X, Y))
    new = left_out.at(NEW)
    assert_allclose(left_out.residuals(), Y - model(kernel).fit(X, Y).loo_decision_function(), **CLOSE)
    assert_allclose(new.coordinates(), model(kernel).fit(X, Y).decision_function(NEW), **CLOSE)
    pairs = new.pairs(left_out.split(Y_NEW))
    joined, without = sum(p.sq_joined() for p in pairs), sum(p.sq_without() for p in pairs)
    for j in range(M):
        own, _ = slow_scores(kernel, "full", NEW[j], Y_NEW[j])
        _, other = slow_scores(kernel, "jackknife+", NEW[j], Y_NEW[j])
        assert_allclose(joined[j], own**2, **CLOSE)
        assert_allclose(without[j], other**2, **CLOSE)
        e = Y_NEW[j] - new.coordinates()[j]
        assert_allclose(np.linalg.norm(new.joined(j, e), axis=1), own, **CLOSE)
        assert_allclose(np.linalg.norm(e + new.moves(j), axis=1), other, **CLOSE)


@pytest.mark.parametrize("method", ["full", "jackknife+", "jackknife"])
@pytest.mark.parametrize("conformity", ["distance", "scaled", "callable"])
def test_p_values_are_those_of_refits(method, conformity):
    chosen = (lambda R, X: np.abs(R).sum(axis=1)) if conformity == "callable" else conformity
    sure = Conformal(model(), method=method, conformity=chosen).fit(X, Y)
    if conformity == "callable":
        twice = Conformal(model(), method=method, conformity=lambda R, X: np.linalg.norm(R, axis=1)).fit(X, Y)
        plain = Conformal(model(), method=method).fit(X, Y)
        assert_array_equal(twice.p_values(NEW, Y_NEW), plain.p_values(NEW, Y_NEW))
        assert sure.p_values(NEW, Y_NEW).shape == (M,)
        return
    for j in range(M):
        own, other = slow_scores("scalar", method, NEW[j], Y_NEW[j], scaled=conformity == "scaled")
        expected = (1 + np.sum(own >= other)) / (N + 1)
        assert_allclose(sure.p_values(NEW[j : j + 1], Y_NEW[j : j + 1]), expected)


@pytest.mark.parametrize("method", ["full", "jackknife+", "jackknife"])
@pytest.mark.parametrize("conformity", ["distance", "scaled"])
@pytest.mark.parametrize("intercept", [False, True])
def test_outputs_through_their_kernel_give_the_same(method, conformity, intercept):
    how = {"method": method, "conformity": conformity}
    explicit = Conformal(model(intercept=intercept), **how).fit(X, Y)
    implicit = Conformal(model(output_kernel=Linear(), intercept=intercept), **how).fit(X, Y)
    assert_array_equal(explicit.p_values(NEW, Y_NEW), implicit.p_values(NEW, Y_NEW))
    assert_allclose(explicit.radius(NEW, 0.8), implicit.radius(NEW, 0.8), **CLOSE)
    one, other = explicit.predict_set(NEW, Y_NEW, 0.7), implicit.predict_set(NEW, Y_NEW, 0.7)
    for j in range(M):
        assert_array_equal(one[j], other[j])
        assert (j in one[j]) == explicit.contains(NEW[j : j + 1], Y_NEW[j : j + 1], 0.7)[0]
    sets = explicit.predict_set(NEW, CandidateSets([Y_NEW] * M), 0.7)
    assert all(np.array_equal(a, b) for a, b in zip(sets, one, strict=True))


@pytest.mark.parametrize("method", ["full", "jackknife+", "jackknife"])
@pytest.mark.parametrize("conformity", ["distance", "scaled"])
def test_interval_of_a_number_is_the_set_that_a_scan_finds(method, conformity):
    y = Y[:, 0]
    sure = Conformal(model(), method=method, conformity=conformity).fit(X, y)
    band, radius = sure.band(NEW, 0.8), sure.radius(NEW, 0.8)
    h = sure.model_.predict(NEW)
    for j in range(M):
        grid = np.linspace(-6, 6, 4001)
        inside = grid[sure.contains(np.repeat(NEW[j : j + 1], 4001, axis=0), grid, 0.8)]
        step = grid[1] - grid[0]
        assert inside.min() >= band[j, 0] - step and inside.max() <= band[j, 1] + step
        if method != "jackknife+":  # of which the interval is the hull, or a little more
            assert_allclose(band[j], [inside.min(), inside.max()], atol=1.01 * step)
        assert radius[j] >= np.abs(band[j] - h[j]).max() - 1e-9
    if method == "jackknife":
        assert_allclose(band, np.stack([h - radius, h + radius], axis=1))


@pytest.mark.parametrize("method", ["full", "jackknife+"])
def test_balls_hold_the_sets(method):
    for kernel in KERNELS:
        sure = Conformal(model(kernel), method=method).fit(X, Y)
        cloud = rng.normal(size=(500, 2)) * 3
        [held] = sure.predict_set(NEW[:1], cloud, 0.8)
        distances = np.linalg.norm(cloud[held] - sure.model_.predict(NEW[:1]), axis=1)
        assert len(held) > 20 and distances.max() <= sure.radius(NEW[:1], 0.8)[0]


def test_operators_and_order_of_rows():
    sure = Conformal(model("operator")).fit(X, Y)
    for j in range(M):
        own, other = slow_scores("operator", "full", NEW[j], Y_NEW[j])
        assert_allclose(sure.p_values(NEW[j : j + 1], Y_NEW[j : j + 1]), (1 + np.sum(own >= other)) / (N + 1))
    order = rng.permutation(N)
    again = Conformal(model("operator")).fit(X[order], Y[order])
    assert_array_equal(sure.p_values(NEW, Y_NEW), again.p_values(NEW, Y_NEW))


@pytest.mark.parametrize("method", ["jackknife+", "jackknife", "split"])
def test_the_best_candidate_ties_with_rows_whose_output_was_the_best(method):
    """Relative scores of a good model are mostly 0: the best candidate has 0 as well, not what rounding makes of it."""
    Z, labels = rng.normal(size=(60, 2)), np.array(list("abcd"), dtype=object)
    y = labels[(Z[:, 0] > 0) + 2 * (Z[:, 1] > 0)]
    good = IOKR(RBF(1.0), output_kernel=Delta(), alpha=0.1)
    sure = Conformal(good, method=method, conformity="relative", random_state=0).fit(Z, y)
    new = rng.normal(size=(25, 2))
    sets = sure.predict_set(new, labels, 0.7)
    inside = np.column_stack([sure.contains(new, [label] * 25, 0.7, candidates=labels) for label in labels])
    assert_array_equal(inside, [np.isin(range(4), held) for held in sets])
    first, _ = sure.model_.rank(new, labels, k=1)
    assert inside[np.arange(25), first[:, 0]].all()


@pytest.mark.parametrize("method", ["jackknife+", "jackknife", "split"])
def test_relative_scores_are_those_of_refits(method):
    C = rng.normal(size=(7, 2))
    sure = Conformal(model(), method=method, conformity="relative", random_state=0).fit(X, Y)
    assert sure.p_values(NEW, Y_NEW, candidates=C).shape == (M,)
    for j, held in enumerate(sure.predict_set(NEW, C, 0.8)):
        repeated = np.repeat(NEW[j : j + 1], 7, axis=0)
        assert_array_equal(np.flatnonzero(sure.contains(repeated, C, 0.8, candidates=C)), held)
    if method == "split":
        return
    x, y = NEW[0], Y_NEW[0]
    count, everything = 0, refit("scalar", np.arange(N))

    def worse(h, y):
        cost = np.sum((y - h) ** 2)
        return cost - min(cost, np.sum((C - h) ** 2, axis=1).min())

    for i in range(N):
        without = refit("scalar", np.arange(N) != i)
        judge = without if method == "jackknife+" else everything
        count += worse(without.predict(X[i : i + 1])[0], Y[i]) >= worse(judge.predict(x[None])[0], y)
    assert_allclose(sure.p_values(x[None], y[None], candidates=C), (1 + count) / (N + 1))
