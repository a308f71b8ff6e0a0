"""k(x, z) = ⟨φ(x), φ(z)⟩ for any scikit-learn transformer φ."""

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

import reference
from iokr import IOKR
from iokr.kernels import RBF, Features, Linear
from reference import assert_close
from samples import vectors


def test_features_are_fitted_and_multiplied():
    X, Z = vectors(7, 3, seed=3) * 5 + 1, vectors(4, 3, seed=4)
    scaler = StandardScaler().fit(X)
    fitted = Features(StandardScaler()).fit(X)
    assert_close(fitted(X, Z), scaler.transform(X) @ scaler.transform(Z).T, 1e-12)
    assert_close(fitted.diag(fitted.represent(Z)), np.sum(scaler.transform(Z) ** 2, axis=1), 1e-12)


def test_features_of_a_transformer_are_a_kernel_in_a_model():
    X, Z, Y = vectors(9, 2, seed=5), vectors(4, 2, seed=6), vectors(9, 2, seed=7)
    phi = PolynomialFeatures(2).fit(X)
    expected = reference.minimiser(reference.Ridge(np.eye(9), Y, 0.1), phi.transform(X), phi.transform(Z))
    model = IOKR(Features(PolynomialFeatures(2)), alpha=0.1).fit(X, Y)
    assert_close(model.decision_function(Z), expected, 1e-9)


def test_sparse_features_of_text():
    texts = ["a kernel is a kernel", "a ridge", "kernel ridge regression", "is it"]
    transformer = CountVectorizer(token_pattern=r"\w+").fit(texts)
    F = transformer.transform(texts).toarray()
    assert sparse.issparse(transformer.transform(texts))
    fitted = Features(CountVectorizer(token_pattern=r"\w+")).fit(texts)
    assert_close(fitted(texts), F @ F.T, 1e-14)
    model = IOKR(Features(CountVectorizer(token_pattern=r"\w+")), alpha=0.5).fit(texts, np.eye(4))
    assert_close(model.decision_function(texts), reference.Ridge(F @ F.T, np.eye(4), 0.5).values(F @ F.T), 1e-11)


def test_nystroem_features_of_full_rank_are_the_kernel_itself():
    X, Z, Y = vectors(9, 2, seed=8), vectors(4, 2, seed=9), vectors(9, 2, seed=10)
    full = Features(Nystroem(kernel="rbf", gamma=0.8, n_components=9, random_state=0))
    assert_close(full.fit(X)(X), RBF(0.8)(X, X), 1e-9)
    features = IOKR(full, alpha=0.1).fit(X, Y).decision_function(Z)
    assert_close(features, IOKR(RBF(0.8), alpha=0.1).fit(X, Y).decision_function(Z), 1e-8)


def test_fitting_features_does_not_touch_the_transformer_given():
    scaler = StandardScaler()
    IOKR(Features(scaler)).fit(vectors(5), vectors(5))
    assert not hasattr(scaler, "mean_")


def test_identity_features_are_the_linear_kernel():
    X, Z = vectors(6, 3, seed=11), vectors(3, 3, seed=12)
    assert_close(Features(FunctionTransformer()).fit(X)(X, Z), Linear()(X, Z), 1e-14)
