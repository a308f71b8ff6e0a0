"""Every kernel is symmetric, positive semi-definite, and agrees with its diagonal and its blocks.

Tests of `iokr.kernels.base`.
"""

import pickle

import numpy as np
import pytest
from numpy.linalg import eigvalsh
from sklearn.base import BaseEstimator, clone

from iokr import IOKR
from iokr.data.objects import take
from iokr.kernels import Kernel, Normalized
from members import KERNELS, objects
from reference import assert_close

INSTANCES = [
    pytest.param(kernel, domain, id=f"{name}-{i}")
    for name, rows in KERNELS.items()
    for i, (kernel, domain) in enumerate(rows)
]


@pytest.mark.parametrize(("kernel", "domain"), INSTANCES)
class TestKernel:
    def test_is_a_kernel_with_a_domain(self, kernel, domain):
        assert isinstance(kernel, Kernel)
        assert isinstance(kernel.domain, str)

    def test_symmetric_and_positive_semidefinite(self, kernel, domain):
        X = objects(domain, 20)
        K = clone(kernel).fit(X)(X)
        assert K.shape == (20, 20)
        assert K.dtype == np.float64
        assert_close(K, K.T, 1e-12)
        assert eigvalsh((K + K.T) / 2).min() >= -1e-10 * K.trace()
        assert np.abs(K).max() > 0

    def test_agrees_with_its_diagonal(self, kernel, domain):
        X = objects(domain, 9)
        fitted = clone(kernel).fit(X)
        diag = fitted.diag(fitted.represent(X))
        assert diag.shape == (9,)
        assert_close(diag, np.diag(fitted(X, X)), 1e-12)

    def test_gram_with_itself_is_the_block_with_a_copy(self, kernel, domain):
        X = objects(domain, 9)
        fitted = clone(kernel).fit(X)
        assert_close(fitted(X), fitted(X, X), 1e-12)

    def test_blocks_transpose(self, kernel, domain):
        X, Z = objects(domain, 9), objects(domain, 5, seed=1)
        fitted = clone(kernel).fit(X)
        assert fitted(X, Z).shape == (9, 5)
        assert_close(fitted(X, Z), fitted(Z, X).T, 1e-12)

    def test_each_pair_on_its_own(self, kernel, domain):
        X, Z = objects(domain, 4), objects(domain, 3, seed=1)
        fitted = clone(kernel).fit(X)
        single = [[fitted(take(X, [i]), take(Z, [j]))[0, 0] for j in range(3)] for i in range(4)]
        assert_close(fitted(X, Z), single, 1e-12)

    def test_representations_can_be_sliced(self, kernel, domain):
        X = objects(domain, 8)
        fitted = clone(kernel).fit(X)
        R = fitted.represent(X)
        K = fitted(X, X)
        assert R.shape[0] == 8
        assert_close(fitted.block(R[2:5], R[1:]), K[2:5, 1:], 1e-12)
        assert_close(fitted.diag(R[3:]), np.diag(K)[3:], 1e-12)

    def test_fit_returns_self_and_survives_pickling(self, kernel, domain):
        X = objects(domain, 7)
        fitted = clone(kernel)
        assert fitted.fit(X) is fitted
        restored = pickle.loads(pickle.dumps(fitted))
        assert_close(restored(X), fitted(X), 1e-15)

    def test_fit_leaves_the_parts_alone(self, kernel, domain):
        fitted = clone(kernel).fit(objects(domain, 7))
        for name, part in fitted.get_params(deep=True).items():
            assert not is_fitted(part), f"{name} was fitted itself, not a clone of it"

    def test_cauchy_schwarz(self, kernel, domain):
        X = objects(domain, 12)
        K = Normalized(clone(kernel)).fit(X)(X)
        assert np.abs(K).max() <= 1 + 1e-12

    def test_as_input_and_as_output_kernel(self, kernel, domain):
        """The same objects on both sides: weights, scores and distances from K alone."""
        X = objects(domain, 6)
        K = clone(kernel).fit(X)(X)
        model = IOKR(kernel, output_kernel=kernel, alpha=0.1).fit(X, X)
        H = np.linalg.solve(K + 0.1 * np.eye(6), K)
        assert_close(model.weights(X), H, 1e-9)
        assert_close(model.scores(X, X), H @ K, 1e-9)
        d = np.diag(H @ K @ H.T)[:, None] - 2 * H @ K + np.diag(K)[None]
        assert_close(model.distances(X, X), d, 1e-9, atol=1e-12)


def is_fitted(part) -> bool:
    parts = part if isinstance(part, list) else [part]
    return any(name.endswith("_") for p in parts if isinstance(p, BaseEstimator) for name in vars(p))


STRICT = [param for param in INSTANCES if param.values[1] in ("vectors", "fingerprints")]


@pytest.mark.parametrize(("kernel", "domain"), STRICT)
def test_array_api_strict_gives_the_same_numbers(kernel, domain):
    xp = pytest.importorskip("array_api_strict")
    if "Features" in repr(kernel) or "FromFunction" in repr(kernel):
        pytest.skip("the function is the user's, it decides which arrays it takes")
    X, Z = objects(domain, 7), objects(domain, 4, seed=1)
    fitted = clone(kernel).fit(X)
    strict = clone(kernel).fit(xp.asarray(X))
    K = strict(xp.asarray(X), xp.asarray(Z))
    assert K.__array_namespace__().__name__ == "array_api_strict"
    assert_close(np.asarray(K), fitted(X, Z), 1e-13)
    assert_close(np.asarray(strict(xp.asarray(X))), fitted(X), 1e-13)
