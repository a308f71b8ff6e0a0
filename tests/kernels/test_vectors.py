"""Kernels on vectors against double loops and scikit-learn's functions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise as sklearn_pairwise

import reference
from iokr import IOKR
from iokr.kernels import RBF, Cosine, Laplacian, Linear, Nystroem, Polynomial
from reference import assert_close
from samples import vectors


def test_entries_of_sparse_rows_stored_in_parts_are_their_sums():
    A = sparse.csr_matrix(np.abs(vectors(12, 4)) * (vectors(12, 4) > 0))
    halves = sparse.csr_matrix((np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr), shape=A.shape)
    before = halves.data.copy()
    for kernel in (RBF(0.3), Laplacian(0.3), Linear(), Cosine(), Polynomial(2)):
        assert_close(clone(kernel).fit(halves)(halves), clone(kernel).fit(A)(A), 1e-12)
    np.testing.assert_array_equal(halves.data, before)


def test_a_polynomial_of_no_columns_is_its_constant():
    kernel, none = Polynomial(2, 1.0, 3.0), np.ones((9, 0))
    assert_close(kernel.fit(none).gram(kernel.represent(none)).dense(), np.full((9, 9), 9.0), 1e-12)


KERNELS = {
    "linear": (Linear(), reference.linear, lambda X, Z: sklearn_pairwise.linear_kernel(X, Z)),
    "polynomial": (
        Polynomial(3, 0.5, 1.5),
        reference.polynomial(3, 0.5, 1.5),
        lambda X, Z: sklearn_pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.5, coef0=1.5),
    ),
    "homogeneous polynomial": (
        Polynomial(degree=2, gamma=1.0, coef0=0.0),
        reference.polynomial(2, 1.0, 0.0),
        lambda X, Z: sklearn_pairwise.polynomial_kernel(X, Z, degree=2, gamma=1.0, coef0=0.0),
    ),
    "rbf": (RBF(0.7), reference.rbf(0.7), lambda X, Z: sklearn_pairwise.rbf_kernel(X, Z, gamma=0.7)),
    "laplacian": (
        Laplacian(0.7),
        reference.laplacian(0.7),
        lambda X, Z: sklearn_pairwise.laplacian_kernel(X, Z, gamma=0.7),
    ),
    "cosine": (Cosine(), reference.cosine, lambda X, Z: sklearn_pairwise.cosine_similarity(X, Z)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_loops_and_scikit_learn_agree(name):
    kernel, loop, theirs = KERNELS[name]
    X, Z = vectors(9, 4, seed=1), vectors(6, 4, seed=2)
    X[2] = 0.0  # the cosine of nothing is 0
    fitted = kernel.fit(X)
    assert_close(fitted(X, Z), reference.gram(loop, X, Z), 1e-12)
    assert_close(fitted(X, Z), theirs(X, Z), 1e-12)
    assert_close(fitted(X), reference.gram(loop, X), 1e-12)
    assert_close(fitted.diag(fitted.represent(X)), np.diag(reference.gram(loop, X)), 1e-12)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_rows_give_the_same_numbers(name, layout):
    kernel, _, theirs = KERNELS[name]
    rng = np.random.default_rng(3)
    X, Z = (rng.normal(size=(n, 12)) * (rng.uniform(size=(n, 12)) < 0.3) for n in (8, 5))
    try:
        fitted = kernel.fit(layout(X))
        K = fitted(layout(X), layout(Z))
    except (TypeError, ValueError) as error:  # where the formula does not allow it, the refusal says so
        assert "sparse" in str(error)
        assert name == "laplacian"
    else:
        assert isinstance(K, np.ndarray)
        assert_close(K, theirs(X, Z), 1e-12)
        assert_close(fitted.diag(fitted.represent(layout(X))), np.diag(theirs(X, X)), 1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_sparse_and_dense_inputs_fit_the_same_model(name):
    kernel, _, _ = KERNELS[name]
    rng = np.random.default_rng(4)
    X, Z = (rng.normal(size=(n, 12)) * (rng.uniform(size=(n, 12)) < 0.4) for n in (10, 4))
    Y = rng.normal(size=(10, 2))
    dense = IOKR(kernel, alpha=0.1).fit(X, Y).decision_function(Z)
    try:
        thin = IOKR(kernel, alpha=0.1).fit(sparse.csr_matrix(X), Y).decision_function(sparse.csr_matrix(Z))
    except (TypeError, ValueError) as error:
        assert "sparse" in str(error)
        assert name == "laplacian"
    else:
        assert_close(thin, dense, 1e-11)


def test_polynomial_defaults_are_those_of_scikit_learn():
    X, Z = vectors(7, 5, seed=5), vectors(4, 5, seed=6)
    assert_close(Polynomial().fit(X)(X, Z), sklearn_pairwise.polynomial_kernel(X, Z), 1e-12)
    assert_close(Polynomial(2).fit(X)(X, Z), sklearn_pairwise.polynomial_kernel(X, Z, degree=2), 1e-12)


@pytest.mark.parametrize("kernel", [RBF(2.0), Laplacian(2.0)], ids=str)
def test_no_cancellation_between_close_points_far_from_the_origin(kernel):
    """‖x‖² + ‖z‖² − 2 x·z would keep few digits here; k never exceeds 1."""
    X = 1e4 + 1e-3 * vectors(6, 3, seed=7)
    K = kernel.fit(X)(X)
    assert_close(np.diag(K), np.ones(6), 1e-12)
    assert K.max() <= 1.0
    exact = reference.gram(reference.rbf(2.0) if isinstance(kernel, RBF) else reference.laplacian(2.0), X)
    assert_close(K, exact, 8 * 3 * np.finfo(float).eps)
    assert np.linalg.eigvalsh((K + K.T) / 2).min() > -1e-13


def test_gram_matrix_is_symmetric_to_the_last_bit_or_nearly():
    X = vectors(50, 3, seed=8)
    for kernel, _, _ in KERNELS.values():
        K = kernel.fit(X)(X)
        assert_close(K, K.T, 1e-15)


class TestMedianBandwidth:
    """RBF(gamma=None): γ = 1 / median ‖x_i − x_j‖² over pairs of distinct rows of positive weight."""

    def test_is_the_rule(self):
        for seed in range(5):
            X = vectors(20 + seed, 3, seed=seed)
            assert_close(RBF().fit(X).gamma_, reference.median_bandwidth(X), 1e-12)

    def test_even_number_of_pairs_takes_the_mean_of_the_middle_two(self):
        X = np.array([[0.0], [1.0], [3.0], [7.0]])  # squares 1, 4, 9, 16, 36, 49
        assert_close(RBF().fit(X).gamma_, 1 / 12.5, 1e-14)

    def test_does_not_change_under_permutation(self):
        X = vectors(30, 2, seed=9)
        order = np.random.default_rng(0).permutation(30)
        assert RBF().fit(X).gamma_ == RBF().fit(X[order]).gamma_

    def test_does_not_change_under_duplication(self):
        X = vectors(30, 2, seed=10)
        assert RBF().fit(X).gamma_ == RBF().fit(np.vstack([X, X[:11], X[3:5]])).gamma_

    @pytest.mark.parametrize("X", [np.zeros((1, 2)), np.ones((6, 3))], ids=["one row", "equal rows"])
    def test_is_one_with_fewer_than_two_rows(self, X):
        assert RBF().fit(X).gamma_ == 1.0

    def test_takes_a_thousand_rows_evenly_from_the_sorted_ones(self):
        X = vectors(2500, 2, seed=11)
        expected = reference.median_bandwidth(X)
        assert_close(RBF().fit(X).gamma_, expected, 1e-12)
        everybody = np.sort(np.concatenate([np.sum((X[i] - X[i + 1 :]) ** 2, axis=1) for i in range(2499)]))
        assert abs(expected * everybody[len(everybody) // 2] - 1) > 1e-6  # the rule is not the median of all
        order = np.random.default_rng(1).permutation(2500)
        assert RBF().fit(X[order]).gamma_ == RBF().fit(X).gamma_

    def test_exactly_a_thousand_and_one_more(self):
        X = vectors(1001, 1, seed=12)
        assert_close(RBF().fit(X[:1000]).gamma_, reference.median_bandwidth(X[:1000]), 1e-12)
        assert_close(RBF().fit(X).gamma_, reference.median_bandwidth(X), 1e-12)

    def test_of_sparse_rows_is_that_of_dense_rows(self):
        rng = np.random.default_rng(13)
        X = rng.normal(size=(20, 8)) * (rng.uniform(size=(20, 8)) < 0.4)
        assert_close(RBF().fit(sparse.csr_matrix(X)).gamma_, reference.median_bandwidth(X), 1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_in_a_model_ignores_unlabelled_points_and_rows_without_weight(self, weighted):
        from iokr.manifolds import Laplacian as GraphLaplacian

        rng = np.random.default_rng(14)
        X, U, Y, new = (
            rng.normal(size=(9, 2)),
            5 * rng.normal(size=(7, 2)),
            rng.normal(size=(9, 1)),
            rng.normal(size=(3, 2)),
        )
        w = np.array([1.0, 0, 2, 3, 0, 1, 1, 5, 1]) if weighted else None
        gamma = reference.median_bandwidth(X, w)
        ours = IOKR(RBF(), manifold=GraphLaplacian(0.1)).fit(X, Y, sample_weight=w, X_unlabeled=U)
        given = IOKR(RBF(gamma), manifold=GraphLaplacian(0.1)).fit(X, Y, sample_weight=w, X_unlabeled=U)
        assert_close(ours.decision_function(new), given.decision_function(new), 1e-11)
        if weighted:
            assert abs(gamma / reference.median_bandwidth(X) - 1) > 1e-3
            rescaled = IOKR(RBF(), alpha=10.0).fit(X, Y, sample_weight=10 * w)
            assert_close(rescaled.predict(new), IOKR(RBF(gamma)).fit(X, Y, sample_weight=w).predict(new), 1e-11)

    def test_is_the_default_kernel(self):
        rng = np.random.default_rng(15)
        X, Y = rng.normal(size=(9, 2)), rng.normal(size=(9, 1))
        default = IOKR(alpha=0.1).fit(X, Y).decision_function(X[:3] + 0.1)
        given = IOKR(RBF(reference.median_bandwidth(X)), alpha=0.1).fit(X, Y).decision_function(X[:3] + 0.1)
        assert_close(default, given, 1e-11)

    def test_given_gamma_is_kept(self):
        X = vectors(5)
        assert RBF(0.25).fit(X).gamma_ == 0.25


@pytest.mark.parametrize("gamma", [-1.0, 0.0, np.nan, "wide"])
@pytest.mark.parametrize("cls", [RBF, Laplacian])
def test_bad_gamma(cls, gamma):
    with pytest.raises((ValueError, TypeError), match="gamma"):
        cls(gamma).fit(vectors(4))(vectors(4))


def test_bad_inputs_name_the_argument():
    with pytest.raises(ValueError, match=r"NaN|inf|finite"):
        RBF(1.0).fit([[np.nan], [1.0]])(np.array([[np.nan], [1.0]]))
    with pytest.raises(ValueError, match=r"feature|column|shape|dimension"):
        fitted = RBF(1.0).fit(vectors(4, 3))
        fitted(vectors(4, 3), vectors(4, 2))


def test_laplacian_default_is_that_of_scikit_learn():
    X, Z = vectors(7, 5, seed=16), vectors(4, 5, seed=17)
    assert_close(Laplacian().fit(X)(X, Z), sklearn_pairwise.laplacian_kernel(X, Z), 1e-12)


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear(), Laplacian(0.5), RBF(0.5) + Linear(), Nystroem(RBF(0.5), 3)])
def test_libraries_are_not_mixed(kernel):
    torch = pytest.importorskip("torch", reason="needs the extra torch")
    X = vectors(6, seed=0)
    for A, B in ((X, torch.tensor(X)), (torch.tensor(X), X), (X.tolist(), torch.tensor(X))):
        with pytest.raises(TypeError, match="in different libraries"):
            clone(kernel)(A, B)
    with pytest.raises(TypeError, match="in different libraries"):
        Nystroem(RBF(0.5), 3).fit(X)(torch.tensor(X))


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5), Linear(), Cosine()])
def test_wide_indices_of_sparse_rows(kernel):
    X = sparse.csr_array(vectors(6, seed=0))
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert_close(clone(kernel)(wide, X), clone(kernel)(X, X))
    assert wide.indices.dtype == np.int64
