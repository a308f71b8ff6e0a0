"""The prior of `tune` that switches columns off: more columns than rows, units, and one width for all columns."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import comb
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor

from iokr import IOKR
from iokr.kernels import ARD, RBF, Linear, Standardized
from iokr.model_selection import tune
from iokr.model_selection.criteria import evidence
from iokr.model_selection.relevance import cost, unit_widths
from iokr.model_selection.tuning import Search

NAMES = ["kernel__gammas", "alpha"]
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 80))
NEW = rng.normal(size=(300, 80))


def signal(X):
    return np.sin(2 * X[:, 7]) + X[:, 30]


y = signal(X) + 0.1 * rng.normal(size=60)


def test_the_prior_sums_to_one():
    n, p = 1, 6  # of one row the integral over a width takes nothing
    sets = itertools.chain.from_iterable(itertools.combinations(range(p), k) for k in range(p + 1))
    assert sum(np.exp(-cost(len(chosen), p, n)) for chosen in sets) == pytest.approx(1.0)
    assert cost(2, 6, 50) == pytest.approx(np.log(50) + np.log(comb(6, 2)) + np.log(7))


def test_columns_that_matter_are_found_among_more_than_there_are_rows():
    model = tune(IOKR(ARD()), X, y, NAMES)
    assert model.tuning_["prior"] == "sparse" and set(model.tuning_["columns"]["kernel__gammas"]) == {7, 30}
    assert set(np.flatnonzero(model.kernel_.gammas_)) == {7, 30}
    np.testing.assert_array_equal(model.tuning_["off"]["kernel__gammas"], model.kernel_.gammas_ == 0)
    assert np.mean((model.predict(NEW) - signal(NEW)) ** 2) < 0.05 * np.var(signal(NEW))
    path = model.tuning_["path"]  # none, two columns, three that are taken back, one width
    assert len(path) == 7 and path.argmin() == 2


def test_other_units_of_columns_and_outputs_give_the_same_model():
    units = np.geomspace(1e-3, 1e3, 80)
    model = tune(IOKR(ARD()), X, y, NAMES)
    other = tune(IOKR(ARD()), X * units + units, 50 + 10 * y, NAMES)
    assert other.tuning_["columns"] == model.tuning_["columns"]
    np.testing.assert_allclose((other.predict(NEW * units + units) - 50) / 10, model.predict(NEW), atol=1e-4)


def test_standardized_columns_and_sparse_rows_give_the_same_columns():
    expected = tune(IOKR(ARD()), X, y, NAMES).tuning_["columns"]["kernel__gammas"]
    wrapped = tune(IOKR(Standardized(ARD())), 9 * X, y, ["kernel__base__gammas", "alpha"])
    assert wrapped.tuning_["columns"] == {"kernel__base__gammas": expected}
    sparse = tune(IOKR(ARD()), csr_array(X), y, NAMES)
    assert sparse.tuning_["columns"]["kernel__gammas"] == expected


def test_gradients_of_standardized_columns_equal_central_differences():
    few = 3 * X[:, :4] + 5
    fitted = IOKR(Standardized(ARD([0.5, 0.2, 0.1, 0.3])), alpha=0.2).fit(few, y)
    search = Search.of(evidence, fitted, few, ["kernel__base__gammas", "alpha"])
    z = np.log([0.5, 0.2, 0.1, 0.3, 0.2])
    _, gradient = search(z)
    for i, found in enumerate(gradient):
        step = 1e-5 * (np.arange(5) == i)
        slope = (search(z + step)[0] - search(z - step)[0]) / 2e-5
        assert found == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.abs(gradient).max())


def test_noise_has_no_column():
    noise = np.random.default_rng(1).normal(size=60)
    model = tune(IOKR(ARD()), X, noise, NAMES)
    assert np.var(model.predict(NEW)) < 0.1


def test_one_width_is_kept_where_all_columns_matter_alike():
    many = np.random.default_rng(0).normal(size=(60, 20))
    total = many.sum(axis=1) / 20**0.5
    model = tune(IOKR(ARD()), many, total, NAMES)
    assert model.tuning_["prior"] == "sparse" and model.tuning_["columns"]["kernel__gammas"] == list(range(20))
    scaled = model.kernel_.gammas_ * many.var(axis=0)
    np.testing.assert_allclose(scaled, scaled[0])


def test_columns_that_matter_are_found_beside_another_kernel():
    outputs = y + X[:, 50] * 2
    kernel = 1.0 * ARD() + 0.01 * Linear()
    model = tune(IOKR(kernel), X, outputs, ["kernel__left__base__gammas", "kernel__right__factor", "alpha"])
    assert {7, 30, 50} <= set(model.tuning_["columns"]["kernel__left__base__gammas"])


def test_alpha_may_be_given_and_columns_may_be_constant():
    fixed = np.column_stack([X, np.full(60, 0.1)])
    model = tune(IOKR(ARD(), alpha=0.01), fixed, y, ["kernel__gammas"])
    assert model.alpha == 0.01 and set(model.tuning_["columns"]["kernel__gammas"]) == {7, 30}
    assert np.isinf(unit_widths(fixed)[-1]) and np.isfinite(unit_widths(fixed)[:-1]).all()


def test_columns_are_tried_on_a_sample_of_many_rows():
    many = np.random.default_rng(0).normal(size=(600, 20))
    model = tune(IOKR(ARD()), many, np.sin(2 * many[:, 5]), NAMES, prior="sparse")
    assert model.tuning_["columns"]["kernel__gammas"] == [5]


def test_more_columns_with_a_role_than_the_limit_are_not_included():
    model = tune(IOKR(ARD()), X, y, NAMES, limit=1 / 60)
    assert len(model.tuning_["columns"]["kernel__gammas"]) <= 1


def test_friedmans_function_among_irrelevant_columns_is_better_than_boosting():
    inputs, outputs = make_friedman1(500, n_features=45, noise=1.0, random_state=0)
    model = tune(IOKR(ARD()), inputs[:200], outputs[:200], NAMES)
    assert sorted(model.tuning_["columns"]["kernel__gammas"]) == [0, 1, 2, 3, 4]
    boosting = GradientBoostingRegressor(random_state=0).fit(inputs[:200], outputs[:200])
    assert model.score(inputs[200:], outputs[200:]) > boosting.score(inputs[200:], outputs[200:]) + 0.05


def test_a_width_of_zero_is_a_column_that_is_not_there():
    gammas = [0.3, 0.0, 0.7]
    for inputs in (X[:, :3], csr_array(X[:, :3])):
        kernel = ARD(gammas).fit(inputs)
        np.testing.assert_allclose(kernel(inputs), ARD([0.3, 0.7])(inputs[:, [0, 2]]), rtol=1e-12)
        assert kernel.represent(inputs).parts[0].shape == (60, 2)
    assert np.all(ARD([0.0, 0.0])(X[:, :2]) == 1)
    with pytest.raises(ValueError, match="X has 2 features"):
        ARD(gammas).fit(X[:, :3])(X[:, :2])


def test_equal_widths_are_those_of_one_width():
    few = X[:, :3] / X[:, :3].std(axis=0)
    names = ["kernel__gamma", "alpha"]
    one = tune(IOKR(RBF()), few, y, names)
    units = tune(IOKR(ARD()), few, y, NAMES, prior="sparse")
    assert units.tuning_["path"][-1] == pytest.approx(one.tuning_["path"].min() + np.log(60) / 2, abs=1e-3)
