"""Losses without closed form under scikit-learn's own checks, and outputs of every kind."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from iokr import IOKR, IOKRCV, Unlabeled
from iokr.kernels import RBF, FromFunction, Linear, Normalized, Tanimoto
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin
from iokr.manifolds import Laplacian
from iokr.solvers import Auto
from loss_samples import PAIRS, case, each_loss, each_norm
from reference import assert_close
from samples import GAMMA

RESAMPLES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


@parametrize_with_checks(
    [
        IOKR(loss=Huber(1.0), solver=Auto(tol=1e-14)),
        IOKR(loss=EpsilonSquare(0.1), solver=Auto(tol=1e-14)),
        IOKR(loss=EpsilonInsensitive(0.1)),
        IOKRCV(alphas=(0.1, 1.0), cv=2, loss=Huber(1.0)),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    if check.func.__name__ in RESAMPLES and not isinstance(getattr(estimator, "solver", None), Auto):
        pytest.skip("to a tolerance of 1e-6 in the objective, two fits agree to 1e-3 in h; folds cut repeated rows")
    check(estimator)


@each_norm
def test_sparse_outputs(name):
    """Sparse rows of outputs are vectors like others."""
    s = case(name)
    Y = np.where(np.abs(s.Y) > 0.5, s.Y, 0.0)
    dense = s.model(Auto(tol=1e-12)).fit(s.X, Y)
    thin = s.model(Auto(tol=1e-12)).fit(s.X, sparse.csr_matrix(Y))
    assert_close(thin.predict(s.X_new), dense.predict(s.X_new), 1e-9)


@each_loss
def test_sparse_inputs(name):
    s = case(name, kernel="linear")
    dense = s.model(Auto(tol=1e-12)).fit(s.X, s.Y)
    thin = s.model(Auto(tol=1e-12)).fit(sparse.csr_matrix(s.X), s.Y)
    assert_close(thin.predict(sparse.csr_matrix(s.X_new)), dense.predict(s.X_new), 1e-9)


@each_loss
def test_words_and_fingerprints(name):
    """Structured outputs through kernels of their own domain."""
    rng = np.random.default_rng(1)
    X, X_new = rng.normal(size=(16, 2)), rng.normal(size=(4, 2))
    common = FromFunction(lambda a, b: len(set(a) & set(b)))
    words = np.array(["sun", "sea", "ice", "sand"] * 4, dtype=object)
    model = IOKR(RBF(GAMMA), output_kernel=Normalized(common), loss=PAIRS[name][0], alpha=0.5).fit(X, words)
    assert set(model.predict(X_new)) <= set(words)
    assert model.weights(X_new).shape == (4, 16)
    bits = (rng.uniform(size=(16, 20)) < 0.4).astype(float)
    model = IOKR(RBF(GAMMA), output_kernel=Tanimoto(), loss=PAIRS[name][0], alpha=0.5).fit(X, bits)
    index, values = model.rank(X_new, bits[:7])
    assert index.shape == values.shape == (4, 7)
    beta = model.weights(X_new)
    assert_close(model.scores(X_new, bits[:7]), beta @ Tanimoto()(bits, bits[:7]), 1e-9)


@each_loss
def test_wrapped_unlabelled_points(name):
    s = case(name, u=6)
    model = s.model(Auto(tol=1e-10), manifold=Laplacian(0.5))
    plain = model.fit(s.X, s.Y, X_unlabeled=s.U).decision_function(s.X_new)
    wrapped = model.fit(s.X, s.Y, X_unlabeled=Unlabeled(s.U)).decision_function(s.X_new)
    assert_close(wrapped, plain, 1e-12)


def test_binary_labels_as_plus_and_minus_one():
    """With one output of ±1 the margin is a support vector machine, and its sign the class."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=40) > 0, 1.0, -1.0)
    model = IOKR(RBF(GAMMA), loss=MaxMargin(), alpha=0.1).fit(X, y)
    assert np.mean(np.sign(model.predict(X)) == y) > 0.95
    assert -0.5 < model.score(X, y) <= 0.0


def test_intercepts_of_outputs_that_are_far_from_zero():
    rng = np.random.default_rng(3)

    X = rng.normal(size=(20, 2))
    Y = 1e3 + X @ rng.normal(size=(2, 2))
    model = IOKR(Linear(), intercept=True, loss=Huber(1.0), alpha=1e-3).fit(X, Y)
    assert np.abs(model.predict(X) - Y).max() < 0.5


@pytest.mark.parametrize("n", [1, 2, 3])
@each_loss
def test_very_few_points(name, n):
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    model = IOKR(loss=PAIRS[name][0]).fit(X, Y)
    assert model.predict(X).shape == (n, 2)
    assert model.solution_.gap <= 1e-6
