"""Gram matrices that the user brings."""

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Precomputed
from iokr.manifolds import Laplacian
from reference import Ridge, assert_close
from samples import GAMMA, regression


def whole(s) -> np.ndarray:
    points = np.vstack([s.X, s.U, s.X_new])
    K = RBF(GAMMA)(points, points)
    return (K + K.T) / 2


def test_a_matrix_over_all_objects_is_indexed():
    s = regression(1, n=8, u=4)
    K = whole(s)
    kernel = Precomputed(K).fit(np.arange(8))
    rows, columns = np.array([3, 0, 16]), np.array([5, 5, 1, 9])
    assert_close(kernel(rows, columns), K[np.ix_(rows, columns)], 1e-15)
    assert_close(kernel.diag(kernel.represent(rows)), np.diag(K)[rows], 1e-15)


def test_inputs_and_unlabelled_points_are_row_numbers():
    s = regression(2, n=8, u=4)
    K = whole(s)
    indexed = IOKR(Precomputed(K), alpha=0.1, manifold=Laplacian(0.5))
    indexed.fit(np.arange(8), s.Y, X_unlabeled=np.arange(8, 12))
    plain = IOKR(RBF(GAMMA), alpha=0.1, manifold=Laplacian(0.5)).fit(s.X, s.Y, X_unlabeled=s.U)
    assert_close(indexed.decision_function(np.arange(12, 17)), plain.decision_function(s.X_new), 1e-11)
    assert_close(indexed.loo_decision_function(), plain.loo_decision_function(), 1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_order_of_the_row_numbers_counts(intercept):
    s = regression(3, n=8)
    K = whole(s)
    order = np.random.default_rng(0).permutation(8)
    model = IOKR(Precomputed(K), alpha=0.1, intercept=intercept).fit(order, s.Y[order])
    ridge = Ridge(s.K, s.Y, 0.1, intercept=intercept)
    assert_close(model.decision_function(np.arange(8, 13)), ridge.values(s.K_new), 1e-11)


@pytest.mark.parametrize("intercept", [False, True])
def test_without_matrix_the_gram_matrix_is_given_at_fit_and_rows_at_predict(intercept):
    s = regression(4, n=8)
    ridge = Ridge(s.K, s.Y, 0.1, intercept=intercept)
    model = IOKR(Precomputed(), alpha=0.1, intercept=intercept).fit(s.K, s.Y)
    assert_close(model.decision_function(s.K_new), ridge.values(s.K_new), 1e-11)
    assert_close(model.loo_decision_function(), ridge.leave_one_out(), 1e-10)
    path = IOKRCV(Precomputed(), alphas=(0.01, 0.1), intercept=intercept).fit(s.K, s.Y)
    assert_close(path.loo_errors_[1], ridge.leave_one_out_error(), 1e-10)


def test_pairwise_tag_is_set_only_without_matrix():
    from sklearn.utils import get_tags

    assert get_tags(IOKR(Precomputed())).input_tags.pairwise
    assert not get_tags(IOKR(Precomputed(np.eye(3)))).input_tags.pairwise
    assert not get_tags(IOKR(RBF())).input_tags.pairwise


def test_rows_of_the_wrong_width_are_refused():
    s = regression(5, n=8)
    model = IOKR(Precomputed(), alpha=0.1).fit(s.K, s.Y)
    with pytest.raises(ValueError, match="8"):
        model.decision_function(s.K_new[:, :5])


@pytest.mark.parametrize("given", ["matrix", "at fit"])
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda K: K[:, :-1], r"square|shape"),
        (lambda K: K + np.triu(np.ones_like(K), 1), "symmetric"),
        (lambda K: K - 2.0 * np.eye(len(K)), r"positive|semi-definite|diagonal|negative"),
        (
            lambda K: 2.0 - 2.0 * K,
            r"positive|semi-definite|distance|diagonal",
        ),  # squared distances, not a kernel
        (lambda K: np.where(np.eye(len(K)) > 0, np.nan, K), r"NaN|finite|inf"),
    ],
    ids=["not square", "not symmetric", "indefinite", "distances", "not finite"],
)
def test_what_is_not_a_gram_matrix_is_refused(spoil, words, given):
    s = regression(6, n=8)
    bad = spoil(s.K)
    with pytest.raises(ValueError, match=words):
        if given == "matrix":
            IOKR(Precomputed(bad)).fit(np.arange(8), s.Y)
        else:
            IOKR(Precomputed()).fit(bad, s.Y)


def test_indefinite_only_beyond_rounding():
    """Eigenvalues of −1e-12 of the largest are rounding, −1e-6 are not."""
    rng = np.random.default_rng(7)
    Q, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    Y = rng.normal(size=(8, 2))
    for smallest, fine in ((-1e-12, True), (0.0, True), (-1e-6, False)):
        K = Q @ np.diag([5.0, 3, 2, 1, 0.5, 0.1, 0.01, 5.0 * smallest]) @ Q.T
        K = (K + K.T) / 2
        if fine:
            IOKR(Precomputed(K), alpha=0.1).fit(np.arange(8), Y)
        else:
            with pytest.raises(ValueError, match=r"positive|semi-definite"):
                IOKR(Precomputed(K), alpha=0.1).fit(np.arange(8), Y)


@pytest.mark.parametrize("rows", [[0, 1, 99], [0, 1, -9], [0.5, 1.0, 2.0]], ids=["too large", "negative", "fractions"])
def test_row_numbers_outside_the_matrix_are_refused(rows):
    with pytest.raises((ValueError, TypeError, IndexError)):
        IOKR(Precomputed(np.eye(4))).fit(np.array(rows), np.zeros((3, 1)))


def test_unlabelled_points_need_the_matrix_over_all_objects():
    s = regression(8, n=8, u=3)
    with pytest.raises(ValueError, match="Precomputed"):
        IOKR(Precomputed(), manifold=Laplacian(0.5)).fit(s.K[:8, :8], s.Y, X_unlabeled=s.K[8:, :8])
