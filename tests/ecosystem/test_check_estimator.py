"""scikit-learn's own checks, on vector outputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from iokr import IOKR, IOKRCV, Conformal, Functional, FunctionalCV, MultiTask, MultiTaskCV, QuantileCurves
from iokr.kernels import RBF, Linear
from iokr.solvers import Eigen

WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
SPARSE_CHECKS = "check_estimator_sparse_array", "check_estimator_sparse_matrix"
QUANTILES = "a column for each level, and two fits agree to 1e-5 in the objective"
REASON = "to leave out one of two equal rows is not to leave out a row of weight two"


@parametrize_with_checks(
    [
        IOKR(),
        IOKR(Linear(), solver=Eigen()),
        IOKR(intercept=True),
        IOKRCV(),
        IOKRCV(alphas=(0.1,)),  # nothing to select: no exception
        IOKRCV(alphas=(0.1, 1.0), cv=2),
        MultiTask(),
        MultiTask(coupling="output"),
        MultiTask(learn_tasks=True, tol=1e-10),
        MultiTaskCV(task_weights=(0.0, 0.5)),
        Conformal(IOKR(RBF(1.0))),
        Conformal(IOKR(), method="split", random_state=0),
        Functional(),
        FunctionalCV(alphas=(0.1, 1.0)),
        QuantileCurves(levels=(0.3, 0.5, 0.7)),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    if getattr(estimator, "alphas", (1.0,))[1:] and check.func.__name__ in WEIGHT_CHECKS:
        pytest.skip(REASON)
    if isinstance(estimator, QuantileCurves) and check.func.__name__ in (*WEIGHT_CHECKS, *SPARSE_CHECKS):
        pytest.skip(QUANTILES)
    check(estimator)


def test_weight_two_is_the_row_twice_for_the_fit_but_not_for_leave_one_out():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    weight = rng.integers(1, 4, size=12).astype(float)
    rows = np.repeat(np.arange(12), weight.astype(int))

    weighted = IOKRCV(RBF(), alphas=(0.1,)).fit(X, Y, sample_weight=weight)
    repeated = IOKRCV(RBF(), alphas=(0.1,)).fit(X[rows], Y[rows])

    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-9, atol=1e-12)
    # The reason named above: a twin of the removed row stays, so the repeated data look easier.
    assert np.min(repeated.loo_errors_) < 0.9 * np.min(weighted.loo_errors_)


@pytest.mark.parametrize("model", [IOKR(), IOKRCV()])
def test_tags(model):
    tags = get_tags(model)
    assert tags.estimator_type is None  # neither regressor nor classifier: no stratified splits
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
    assert not tags.input_tags.pairwise
