"""Products and scaling of operator-valued kernels against dense blocks.

Tests of `iokr.operator_kernels.base`.
"""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF, Linear, Precomputed
from iokr.operator_kernels import (
    BlockKernel,
    Covariance,
    Decomposable,
    OperatorProduct,
    OperatorSum,
    Transformable,
    diagonal_regularization,
)
from reference import assert_close, delayed_blocks
from samples import each_intercept

D = 3
RNG = np.random.default_rng(0)
X, NEW, Y = RNG.normal(size=(7, 2)), RNG.normal(size=(4, 2)), RNG.normal(size=(7, D))
A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]])
MIXED = Transformable(RBF(0.4), [np.eye(2), np.diag([1.0, -1.0]), np.ones((2, 2))])


def blocks(kernel, Z, W):
    """(n, m, d, d), block by block, from the definition of each part."""
    if isinstance(kernel, float):
        return np.full((len(Z), len(W), 1, 1), kernel)
    if isinstance(kernel, (RBF, Linear)):
        return kernel(Z, W)[:, :, None, None]
    if isinstance(kernel, Decomposable):
        return kernel.kernel(Z, W)[:, :, None, None] * np.asarray(kernel.A)
    if isinstance(kernel, BlockKernel):
        return delayed_blocks(Z, W)
    if isinstance(kernel, Transformable):
        sides = (
            [np.stack([M @ z for M in map(np.asarray, kernel.transforms)]) for z in Z],
            [np.stack([M @ w for M in map(np.asarray, kernel.transforms)]) for w in W],
        )
        return np.array([[kernel.kernel(a, b) for b in sides[1]] for a in sides[0]])
    parts = [blocks(part, Z, W) for part in (kernel.left, kernel.right)]
    if isinstance(kernel, OperatorSum):
        return sum(p * np.eye(D) if p.shape[-1] == 1 else p for p in parts)
    return parts[0] * parts[1]


CASES = {
    "a scalar kernel": RBF(0.2) * MIXED,
    "from the right": MIXED * RBF(0.2),
    "a number": 2.5 * MIXED,
    "blocks": BlockKernel(delayed_blocks) * MIXED,
    "separable and blocks": Decomposable(RBF(0.4), A) * BlockKernel(delayed_blocks),
    "a sum": (Decomposable(RBF(0.4), A) + Linear()) * MIXED,
    "three": 2.0 * (MIXED * Decomposable(Linear(), A)) * RBF(0.1),
}


def values(matrix, across, alpha, intercept):
    """h at new points from the bordered system in all coefficients."""
    E, E_new = np.tile(np.eye(D), (7, 1)), np.tile(np.eye(D), (4, 1))
    if not intercept:
        return (across @ np.linalg.solve(matrix + alpha * np.eye(7 * D), Y.ravel())).reshape(4, D)
    system = np.block([[matrix + alpha * np.eye(7 * D), E], [E.T, np.zeros((D, D))]])
    found = np.linalg.solve(system, np.concatenate([Y.ravel(), np.zeros(D)]))
    return (across @ found[:-D] + E_new @ found[-D:]).reshape(4, D)


@each_intercept
@pytest.mark.parametrize("name", CASES)
def test_products_are_entry_by_entry(name, intercept):
    kernel = CASES[name]
    assert isinstance(kernel, OperatorProduct)
    matrix = blocks(kernel, X, X).transpose(0, 2, 1, 3).reshape(7 * D, 7 * D)
    across = blocks(kernel, NEW, X).transpose(0, 2, 1, 3).reshape(4 * D, 7 * D)
    model = IOKR(kernel, alpha=0.3, intercept=intercept).fit(X, Y)
    assert_close(model.predict(NEW), values(matrix, across, 0.3, intercept), 1e-9)
    assert np.linalg.eigvalsh(matrix).min() > -1e-10


def test_separable_ones_stay_separable():
    product = Decomposable(RBF(0.4), A) * Decomposable(Linear(), A)
    assert isinstance(product, Decomposable)
    np.testing.assert_array_equal(product.A, A * A)
    expected = IOKR(Decomposable(RBF(0.4) * Linear(), A * A), alpha=0.3).fit(X, Y).predict(NEW)
    assert_close(IOKR(product, alpha=0.3).fit(X, Y).predict(NEW), expected, 1e-12)
    for scaled in (2.0 * Decomposable(RBF(0.4), A), Decomposable(RBF(0.4), A) * 2.0, 2.0 * Covariance(RBF(0.4))):
        assert type(scaled) in (Decomposable, Covariance)
    assert_close(
        IOKR(2.0 * Decomposable(RBF(0.4), A), alpha=0.6).fit(X, Y).predict(NEW),
        IOKR(Decomposable(RBF(0.4), A), alpha=0.3).fit(X, Y).predict(NEW),
        1e-10,
    )


@each_intercept
def test_diagonal_regularization_with_any_kernel(intercept):
    Z, W = RNG.normal(size=(7, D)), RNG.normal(size=(4, D))
    for mix in (0.3, 1.0):
        kernel = diagonal_regularization(mix, RBF(0.2))

        def full(a, b, mix=mix):
            shared = (1 - mix) * RBF(0.2)(a, b)[:, :, None, None] * np.eye(D)
            return shared + mix * (a[:, None, :] * b[None, :, :])[:, :, :, None] * np.eye(D)

        matrix = full(Z, Z).transpose(0, 2, 1, 3).reshape(7 * D, 7 * D)
        across = full(W, Z).transpose(0, 2, 1, 3).reshape(4 * D, 7 * D)
        model = IOKR(kernel, alpha=0.3, intercept=intercept).fit(Z, Y)
        assert_close(model.predict(W), values(matrix, across, 0.3, intercept), 1e-9)
    same = diagonal_regularization(0.3, Linear()), diagonal_regularization(0.3)
    assert_close(*(IOKR(kernel, alpha=0.3).fit(Z, Y).predict(W) for kernel in same), 1e-9)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (OperatorProduct(RBF(1.0), Linear()), "must be an operator kernel"),
        (OperatorProduct(-1.0, MIXED), "left"),
        (OperatorProduct(MIXED, "x"), "right"),
        (OperatorProduct(Precomputed(), MIXED), "left"),
        (OperatorProduct(Covariance(RBF(1.0)), MIXED), "left"),
    ],
)
def test_what_cannot_be_multiplied(kernel, message):
    with pytest.raises((TypeError, ValueError), match=message):
        IOKR(kernel).fit(X, Y)
    with pytest.raises(TypeError):
        MIXED * "x"
    with pytest.raises(ValueError, match="no product"):
        Decomposable(RBF(1.0), A) * Decomposable(RBF(1.0), np.eye(2))
    with pytest.raises(TypeError, match="kernel"):
        diagonal_regularization(0.5, 3)
