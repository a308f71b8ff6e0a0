"""Features of outputs as coordinates: equal to the kernel trick where A = aI, and to plain vectors under any A."""

import numpy as np
import pytest
from sklearn.base import clone

from iokr import IOKR, IOKRCV
from iokr.decoders import Identity
from iokr.embeddings import Eigen, Explicit, Implicit
from iokr.kernels import RBF, Features, Linear, Spectrum
from iokr.losses import Huber, Pinball
from iokr.operator_kernels import Covariance, Decomposable, Transformable
from reference import assert_close

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(14, 3)), rng.normal(size=(5, 3))
WORDS = np.array(["".join(rng.choice(list("abc"), size=rng.integers(2, 7))) for _ in range(14)], dtype=object)
A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 1.5]])


def counts(words):
    return np.array([[word.count(letter) for letter in "abc"] for word in words], dtype=float)


@pytest.mark.parametrize("embedding", [Implicit(), Eigen()])
def test_without_an_operator_it_is_the_kernel_trick(embedding):
    ours = IOKR(RBF(0.3), output_kernel=Features(counts), embedding=Explicit(), alpha=0.1).fit(X, WORDS)
    other = IOKR(RBF(0.3), output_kernel=Features(counts), embedding=embedding, alpha=0.1).fit(X, WORDS)
    assert_close(ours.distances(NEW, WORDS), other.distances(NEW, WORDS), 1e-9)
    np.testing.assert_array_equal(ours.predict(NEW), other.predict(NEW))
    assert_close(ours.score(X, WORDS), other.score(X, WORDS), 1e-9)
    assert_close(ours.weights(NEW), other.weights(NEW), 1e-9)


@pytest.mark.parametrize(
    "kernel", [Decomposable(RBF(0.3), A), Covariance(RBF(0.3)), Transformable(RBF(0.3), [abs] * 3)]
)
@pytest.mark.parametrize("loss", [None, Huber(0.5), Pinball(0.3)])
@pytest.mark.parametrize("intercept", [False, True])
def test_an_operator_acts_on_the_features(kernel, loss, intercept):
    if loss is not None and isinstance(kernel, Transformable):
        pytest.skip("blocks are solved for the square loss")
    parts = {"loss": loss, "alpha": 0.1, "intercept": intercept}
    ours = IOKR(kernel, output_kernel=Features(counts), embedding=Explicit(), **parts).fit(X, WORDS)
    plain = IOKR(kernel, **parts).fit(X, counts(WORDS))
    assert_close(ours.decision_function(NEW), plain.decision_function(NEW), 1e-9)
    H, pool = ours.decision_function(NEW), counts(["abc", "cc", "b"])
    nearest = np.argmin(((H[:, None] - pool[None]) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(ours.predict(NEW, ["abc", "cc", "b"]), np.array(["abc", "cc", "b"])[nearest])


@pytest.mark.parametrize("intercept", [False, True])
def test_alpha_is_chosen_and_new_outputs_are_represented(intercept):
    plain = IOKRCV(Decomposable(RBF(0.3), A), intercept=intercept)
    model = clone(plain).set_params(output_kernel=Features(counts), embedding=Explicit()).fit(X, WORDS)
    plain.fit(X, counts(WORDS))
    assert model.alpha_ == plain.alpha_
    np.testing.assert_allclose(model.loo_errors_, plain.loo_errors_, rtol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_vectors_come_back_where_the_features_are_the_outputs(intercept):
    Y = rng.normal(size=(14, 2))
    parts = {"output_kernel": Linear(), "embedding": Explicit(), "decoder": Identity()}
    model = IOKR(RBF(), intercept=intercept, **parts).fit(X, Y)
    assert_close(model.predict(NEW), IOKR(RBF(), intercept=intercept).fit(X, Y).predict(NEW), 1e-10)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"set `output_kernel=Features"):
        IOKR(embedding=Explicit()).fit(X, WORDS)
    with pytest.raises(ValueError, match="made of features"):
        IOKR(output_kernel=RBF(), embedding=Explicit()).fit(X, X)
    with pytest.raises(ValueError, match="made of features"):
        IOKR(output_kernel=Spectrum(2), embedding=Explicit()).fit(X, WORDS)
    model = IOKR(output_kernel=Features(counts), embedding=Explicit(), decoder=Identity()).fit(X, WORDS)
    with pytest.raises(ValueError, match="cannot turn features into outputs"):
        model.predict(NEW)
    with pytest.raises(ValueError, match="3 features at fit but 2"):
        growing = [3]

        def odd(words):
            return np.ones((len(words), growing[0]))

        fitted = IOKR(output_kernel=Features(odd), embedding=Explicit()).fit(X, WORDS)
        growing[0] = 2
        fitted.distances(NEW, WORDS)
