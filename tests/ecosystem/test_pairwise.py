"""Gram matrices given by the user: the `pairwise` tag, and both axes cut by the folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Linear, Precomputed
from iokr.operator_kernels import Decomposable

N = 21


def problem():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)), rng.normal(size=(N, 2))
    return X, Y, RBF(0.3)(X)


@pytest.mark.parametrize("estimator", [IOKR, IOKRCV])
@pytest.mark.parametrize(
    ("kernel", "pairwise"),
    [
        (None, False),
        (RBF(), False),
        (Precomputed(np.eye(3)), False),
        (Precomputed(), True),
        (2.0 * Precomputed(), True),
        (Decomposable(Precomputed(), np.eye(2)), True),
        (Decomposable(Precomputed(np.eye(3)), np.eye(2)), False),
        (Decomposable(RBF(), np.eye(2)), False),
    ],
    ids=str,
)
def test_pairwise_tag_is_set_exactly_for_a_gram_matrix_as_input(estimator, kernel, pairwise):
    assert get_tags(estimator(kernel)).input_tags.pairwise is pairwise


def test_pairwise_tag_of_the_output_side_is_not_read():
    assert not get_tags(IOKR(RBF(), output_kernel=Precomputed(np.eye(3)))).input_tags.pairwise


@pytest.mark.parametrize("make", [IOKR, IOKRCV])
def test_folds_split_both_axes_of_a_gram_matrix(make):
    X, Y, K = problem()
    cv = KFold(3, shuffle=True, random_state=0)
    expected = cross_val_score(make(RBF(0.3)), X, Y, cv=cv, error_score="raise")
    by_gram = cross_val_score(make(Precomputed()), K, Y, cv=cv, error_score="raise")
    by_index = cross_val_score(make(Precomputed(K)), np.arange(N), Y, cv=cv, error_score="raise")
    assert_allclose(by_gram, expected, rtol=1e-9)
    assert_allclose(by_index, expected, rtol=1e-9)


def test_cross_val_predict_and_search_with_a_gram_matrix():
    X, Y, K = problem()
    expected = cross_val_predict(IOKR(RBF(0.3)), X, Y, cv=3)
    assert_allclose(cross_val_predict(IOKR(Precomputed()), K, Y, cv=3), expected, rtol=1e-9, atol=1e-12)
    operator = Decomposable(Precomputed(), np.eye(2))
    assert_allclose(cross_val_predict(IOKR(operator), K, Y, cv=3), expected, rtol=1e-9, atol=1e-12)
    grid = {"alpha": [0.1, 1.0]}
    by_gram = GridSearchCV(IOKR(Precomputed()), grid, cv=3).fit(K, Y).cv_results_["mean_test_score"]
    by_kernel = GridSearchCV(IOKR(RBF(0.3)), grid, cv=3).fit(X, Y).cv_results_["mean_test_score"]
    assert_allclose(by_gram, by_kernel, rtol=1e-9)


def test_pipeline_that_makes_the_gram_matrix_itself():
    # A pipeline reads the tag of its first step, which here takes vectors.
    X, Y, _ = problem()
    pipeline = make_pipeline(FunctionTransformer(lambda Z: Z * 1.0), IOKR(RBF(0.3)))
    assert not get_tags(pipeline).input_tags.pairwise
    assert get_tags(make_pipeline(IOKR(Precomputed()))).input_tags.pairwise
    assert_allclose(cross_val_predict(pipeline, X, Y, cv=3), cross_val_predict(IOKR(RBF(0.3)), X, Y, cv=3))


def test_gram_matrix_over_all_objects_serves_inputs_outputs_unlabelled_and_candidates():
    from iokr.manifolds import Laplacian

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N + 9, 3)), rng.normal(size=(N + 4, 2))
    K, K_Y = RBF(0.3)(X), Linear()(Y)
    labeled, unlabeled = np.arange(N), np.arange(N, N + 9)

    index = IOKR(Precomputed(K), output_kernel=Precomputed(K_Y), manifold=Laplacian(0.2), alpha=0.1)
    index.fit(labeled, np.arange(N), X_unlabeled=unlabeled)
    vectors = IOKR(RBF(0.3), output_kernel=Linear(), manifold=Laplacian(0.2), alpha=0.1)
    vectors.fit(X[labeled], Y[:N], X_unlabeled=X[unlabeled])

    candidates = np.arange(N - 2, N + 4)
    assert_allclose(
        index.scores(unlabeled, candidates),
        vectors.scores(X[unlabeled], Y[candidates]),
        rtol=1e-8,
        atol=1e-10,
    )
    found = index.predict(unlabeled, candidates)
    assert found.shape == (9,)
    assert_allclose(Y[found.astype(int)], vectors.predict(X[unlabeled], Y[candidates]))
