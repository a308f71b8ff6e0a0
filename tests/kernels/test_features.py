"""k(x, z) = ⟨φ(x), φ(z)⟩ for any scikit-learn transformer φ."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

import reference
from iokr import IOKR
from iokr.kernels import RBF, Columns, Features, Linear, Spectrum
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
    model = IOKR(Features(PolynomialFeatures(2)), alpha=0.1, intercept=False).fit(X, Y)
    assert_close(model.decision_function(Z), expected, 1e-9)


def test_sparse_features_of_text():
    texts = ["a kernel is a kernel", "a ridge", "kernel ridge regression", "is it"]
    transformer = CountVectorizer(token_pattern=r"\w+").fit(texts)
    F = transformer.transform(texts).toarray()
    assert sparse.issparse(transformer.transform(texts))
    fitted = Features(CountVectorizer(token_pattern=r"\w+")).fit(texts)
    assert_close(fitted(texts), F @ F.T, 1e-14)
    for intercept in (False, True):
        model = IOKR(Features(CountVectorizer(token_pattern=r"\w+")), alpha=0.5, intercept=intercept)
        ridge = reference.Ridge(F @ F.T, np.eye(4), 0.5, intercept=intercept)
        assert_close(model.fit(texts, np.eye(4)).decision_function(texts), ridge.values(F @ F.T), 1e-11)


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


@pytest.mark.parametrize("columns", [[0, 2], [2, 0, 1], [-1], slice(1, 3)], ids=str)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_columns(columns, layout):
    X, Z = vectors(6, 4, seed=18), vectors(3, 4, seed=19)
    kernel = Columns(RBF(0.5), columns).fit(layout(X))
    picked = reference.gram(reference.rbf(0.5), X[:, columns], Z[:, columns])
    assert_close(kernel(layout(X), layout(Z)), picked, 1e-12)


def test_columns_by_name_and_bandwidth_of_the_columns_alone():
    pandas = pytest.importorskip("pandas")
    X = vectors(9, 3, seed=20) * [1.0, 100.0, 1.0]
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    fitted = Columns(RBF(), ["a", "c"]).fit(frame)
    expected = reference.gram(reference.rbf(reference.median_bandwidth(X[:, [0, 2]])), X[:, [0, 2]])
    assert_close(fitted(frame), expected, 1e-12)
    with pytest.raises(ValueError, match="columns"):
        Columns(RBF(), ["a", "z"]).fit(frame)
    with pytest.raises(ValueError, match="columns"):
        Columns(RBF(), [7]).fit(X)


def test_columns_of_mixed_tables(table):
    words, mass, charge = ["abab", "abba", "bbb", "ba"], [1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1]
    frame = table({"word": words, "mass": mass, "charge": charge})
    numbers = np.column_stack([mass, charge])
    expected = Spectrum(2)(words) * RBF(0.5)(numbers)
    for word, others in [("word", ["mass", "charge"]), (["word"], [1, 2]), (0, [-2, -1])]:
        assert_close((Columns(Spectrum(2), word) * Columns(RBF(0.5), others))(frame), expected, 1e-12)
    rows = np.array(list(zip(words, mass, charge, strict=True)), dtype=object)
    assert_close((Columns(Spectrum(2), 0) * Columns(RBF(0.5), slice(1, 3)))(rows), expected, 1e-12)


def test_a_vectoriser_reads_the_texts_of_a_table(table):
    texts = ["a kernel is a kernel", "a ridge", "is it"]
    fitted = Features(CountVectorizer(token_pattern=r"\w+")).fit(texts)
    assert_close(fitted(table({"text": texts})), fitted(texts), 1e-14)


@pytest.mark.parametrize("columns", [None, 0.5, [], [True], [None], {"a"}, [[0]], "a"], ids=repr)
def test_columns_that_name_none_are_refused(columns):
    with pytest.raises((TypeError, ValueError), match="`columns`"):
        Columns(RBF(0.5), columns)(vectors(3, 2))


def test_a_function_is_a_transformer():
    def lengths(words):
        return np.array([[len(word), word.count("a")] for word in words], dtype=float)

    words = ["abba", "", "cab"]
    np.testing.assert_array_equal(Features(lengths)(words), lengths(words) @ lengths(words).T)
    with pytest.raises(TypeError, match="function"):
        Features(3).fit(words)
    with pytest.raises(TypeError, match="int"):
        Features(lengths).fit([1, 2])([1, 2])
