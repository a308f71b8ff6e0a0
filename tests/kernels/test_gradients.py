"""⟨M, ∂K/∂log θ⟩ against central differences, for every kernel that has parameters to learn."""

import numpy as np
import pytest
from sklearn.base import clone

from iokr.kernels import ARD, RBF, Linear
from iokr.kernels.gradients import log_gradients

rng = np.random.default_rng(0)
X = rng.normal(size=(15, 3))
KERNELS = [
    ARD([0.3, 1.0, 0.05]),
    RBF(0.4),
    2.0 * RBF(0.4),
    0.5 * ARD([0.3, 1.0, 0.05]) + 2.0 * Linear(),
    (0.5 * ARD([0.3, 1.0, 0.05])) * (RBF(0.2) + 0.7 * Linear()),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_equal_central_differences(kernel):
    M = rng.normal(size=(15, 15))
    M = M + M.T

    def value(**changed):
        return np.sum(M * clone(kernel).set_params(**changed).fit(X)(X))

    fitted = clone(kernel).fit(X)
    R, garbage = fitted.represent(X), np.asfortranarray(np.tril(M) + np.triu(np.full((15, 15), 7.0), 1))
    found = log_gradients(fitted, R, np.asfortranarray(fitted(X)), garbage)
    wanted = [name for name in kernel.get_params() if name.rpartition("__")[2] in ("gamma", "gammas", "factor")]
    assert sorted(found) == sorted(wanted)
    for name in wanted:
        given = np.atleast_1d(kernel.get_params()[name]).astype(float)
        for i, slope in enumerate(found[name]):
            steps = []
            for sign in (1, -1):
                moved = given * np.exp(sign * 1e-5 * (np.arange(len(given)) == i))
                steps.append(value(**{name: moved if name.endswith("gammas") else float(moved[0])}))
            assert slope == pytest.approx((steps[0] - steps[1]) / 2e-5, rel=1e-6, abs=1e-6)


def test_others_have_none():
    kernel = Linear().fit(X)
    assert log_gradients(kernel, kernel.represent(X), kernel(X), np.eye(15)) == {}
