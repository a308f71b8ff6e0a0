"""Sums, products, scalings, normalisation and centring of kernels."""

import numpy as np
import pytest
from scipy import sparse

import reference
from iokr import IOKR
from iokr.kernels import RBF, Centered, FromFunction, Linear, Mean, Normalized, Polynomial, Product, Scaled, Sum
from reference import assert_close
from samples import vectors

K1, K2 = Polynomial(2, 0.5, 1.0), RBF(0.3)
LOOP1, LOOP2 = reference.polynomial(2, 0.5, 1.0), reference.rbf(0.3)

ALGEBRA = {
    "sum": (K1 + K2, lambda x, z: LOOP1(x, z) + LOOP2(x, z)),
    "product": (K1 * K2, lambda x, z: LOOP1(x, z) * LOOP2(x, z)),
    "scaled": (2.5 * K1, lambda x, z: 2.5 * LOOP1(x, z)),
    "scaled on the right": (K1 * 2.5, lambda x, z: 2.5 * LOOP1(x, z)),
    "normalised": (Normalized(K1), lambda x, z: LOOP1(x, z) / np.sqrt(LOOP1(x, x) * LOOP1(z, z))),
    "nested": (
        Normalized(2.0 * K1 + K1 * K2),
        lambda x, z: _normal(lambda a, b: 2 * LOOP1(a, b) + LOOP1(a, b) * LOOP2(a, b), x, z),
    ),
}


def _normal(k, x, z):
    return k(x, z) / np.sqrt(k(x, x) * k(z, z))


@pytest.mark.parametrize("name", ALGEBRA)
def test_equals_the_loop(name):
    kernel, loop = ALGEBRA[name]
    X, Z = vectors(8, 3, seed=1), vectors(5, 3, seed=2)
    fitted = kernel.fit(X)
    assert_close(fitted(X, Z), reference.gram(loop, X, Z), 1e-12)
    assert_close(fitted(X), reference.gram(loop, X), 1e-12)
    assert_close(fitted.diag(fitted.represent(Z)), np.diag(reference.gram(loop, Z)), 1e-12)


@pytest.mark.parametrize("name", ALGEBRA)
@pytest.mark.parametrize("intercept", [False, True])
def test_in_a_model(name, intercept):
    kernel, loop = ALGEBRA[name]
    X, Z, Y = vectors(8, 3, seed=1), vectors(5, 3, seed=2), vectors(8, 2, seed=3)
    H = IOKR(kernel, alpha=0.1, intercept=intercept).fit(X, Y).decision_function(Z)
    K, K_new = reference.gram(loop, X), reference.gram(loop, Z, X)
    assert_close(H, reference.Ridge(K, Y, 0.1, intercept=intercept).values(K_new), 1e-10)


def test_operators_build_the_named_components():
    assert isinstance(K1 + K2, Sum)
    assert (K1 + K2).left is K1
    assert (K1 + K2).right is K2
    assert isinstance(K1 * K2, Product)
    assert isinstance(2 * K1, Scaled)
    assert (2 * K1).base is K1
    assert (2 * K1).factor == 2


def test_fitting_an_expression_leaves_its_parts_alone():
    left, right = RBF(), Linear()
    before = dict(left.__dict__)
    X = vectors(6)
    IOKR(left + right).fit(X, X)
    assert left.__dict__ == before


def test_each_part_of_a_sum_estimates_its_own_bandwidth():
    X = vectors(9, 2, seed=4)
    gamma = reference.median_bandwidth(X)
    fitted = (RBF() + 0.5 * RBF(2.0)).fit(X)
    expected = reference.gram(lambda x, z: reference.rbf(gamma)(x, z) + 0.5 * reference.rbf(2.0)(x, z), X)
    assert_close(fitted(X), expected, 1e-12)


def test_normalised_kernel_of_a_zero_object():
    """0/0: the feature vector is zero, whatever one calls its direction the Gram matrix stays finite."""
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    K = Normalized(Linear()).fit(X)(X)
    assert np.isfinite(K).all()
    assert_close(K[1, 1], 1.0, 1e-15)
    assert K[0, 1] == K[1, 0] == 0.0


@pytest.mark.parametrize("base", [Linear(), Polynomial(2, 0.5, 1.0), RBF(0.3)], ids=str)
def test_centred_kernel_subtracts_the_mean_feature_of_the_fitted_objects(base):
    X, Z = vectors(8, 3, seed=5) + 2.0, vectors(5, 3, seed=6)
    loops = {
        "Linear": reference.linear,
        "Polynomial": reference.polynomial(2, 0.5, 1.0),
        "RBF": reference.rbf(0.3),
    }
    loop = reference.centred(loops[type(base).__name__], X)
    fitted = Centered(base).fit(X)
    assert_close(fitted(X), reference.gram(loop, X), 1e-11)
    assert_close(fitted(X, Z), reference.gram(loop, X, Z), 1e-11)
    assert_close(fitted(Z), reference.gram(loop, Z), 1e-11)
    assert_close(fitted.diag(fitted.represent(Z)), np.diag(reference.gram(loop, Z)), 1e-11)
    assert np.abs(fitted(X).sum(axis=0)).max() < 1e-11 * np.abs(fitted(X)).max() * 8


def test_centred_linear_kernel_is_the_linear_kernel_of_centred_rows():
    X, Z = vectors(8, 3, seed=7) + 5.0, vectors(4, 3, seed=8)
    K = Centered(Linear()).fit(X)(Z, X)
    assert_close(K, (Z - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, 1e-11)


@pytest.mark.parametrize("intercept", [False, True])
def test_centred_kernel_in_a_model_is_centred_on_the_labelled_points(intercept):
    X, Z, Y = vectors(8, 3, seed=9), vectors(5, 3, seed=10), vectors(8, 2, seed=11)
    loop = reference.centred(reference.rbf(0.3), X)
    H = IOKR(Centered(RBF(0.3)), alpha=0.1, intercept=intercept).fit(X, Y).decision_function(Z)
    ridge = reference.Ridge(reference.gram(loop, X), Y, 0.1, intercept=intercept)
    assert_close(H, ridge.values(reference.gram(loop, Z, X)), 1e-9)


def test_algebra_of_kernels_on_objects():
    words = np.array(["abc", "bcd", "aaa", "d"], dtype=object)
    shared = FromFunction(lambda x, z: float(len(set(x) & set(z))))
    product = FromFunction(lambda x, z: float(len(x) * len(z)))
    K = (shared + 2 * product).fit(words)(words)
    expected = [[len(set(x) & set(z)) + 2 * len(x) * len(z) for z in words] for x in words]
    assert_close(K, expected, 1e-14)


@pytest.mark.parametrize("name", ["sum", "product", "scaled", "normalised"])
def test_sparse_rows(name):
    kernel, loop = ALGEBRA[name]
    X = vectors(7, 4, seed=12) * (vectors(7, 4, seed=13) > 0)
    fitted = kernel.fit(sparse.csr_matrix(X))
    assert_close(fitted(sparse.csr_matrix(X)), reference.gram(loop, X), 1e-12)


@pytest.mark.parametrize("factor", [-1.0, np.nan])
def test_factors_must_not_be_negative(factor):
    with pytest.raises(ValueError, match="factor"):
        Scaled(RBF(1.0), factor).fit(vectors(3))(vectors(3))


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError):
        RBF(1.0) + "kernel"


def test_mean_of_kernels():
    X, Z = vectors(6, 3, seed=14), vectors(4, 3, seed=15)
    kernel = Mean([K1, K2, Linear()]).fit(X)
    expected = reference.gram(lambda x, z: (LOOP1(x, z) + LOOP2(x, z) + reference.linear(x, z)) / 3, X, Z)
    assert_close(kernel(X, Z), expected, 1e-12)
    with pytest.raises(ValueError, match="kernels"):
        Mean([]).fit(X)
