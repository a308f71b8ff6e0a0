"""𝒦(x, z) = k(x, z) A: the block Gram is kron(K, A), and what is not an operator is refused."""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF
from iokr.operator_kernels import Decomposable
from reference import assert_close
from samples import GAMMA, OPERATORS, operator, regression


@pytest.mark.parametrize("kind", [kind for kind in OPERATORS if kind != "identity"])
def test_gram_is_the_kronecker_product(kind):
    s = regression(1, n=6)
    A = operator(kind, 3)
    kernel = Decomposable(RBF(GAMMA), A).fit(s.X)
    C = s.rng.normal(size=(6, 3))
    R, S = kernel.represent(s.X), kernel.represent(s.X_new)
    assert_close(np.ravel(kernel.gram(R) @ C), np.kron(s.K, A) @ C.ravel(), 1e-13)
    assert_close(np.ravel(kernel.gram(S, R) @ C), np.kron(s.K_new, A) @ C.ravel(), 1e-13)


def test_the_kernel_given_is_not_changed():
    kernel = RBF()
    IOKR(Decomposable(kernel, np.eye(3))).fit(*_data())
    Decomposable(kernel, np.eye(3)).fit(_data()[0])
    assert not hasattr(kernel, "gamma_")


def _data():
    s = regression(2, n=6)
    return s.X, s.Y


@pytest.mark.parametrize(
    ("A", "words"),
    [
        (np.eye(2), r"A.*(2, 2).*3|3.*A"),
        (np.ones((3, 2)), "square"),
        (np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"),
        (np.diag([1.0, 1.0, -0.5]), r"positive|semi-definite"),
        (np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]]), r"positive|semi-definite"),
        (np.diag([1.0, 1.0, np.nan]), r"NaN|finite"),
    ],
    ids=["wrong size", "not square", "not symmetric", "negative diagonal", "indefinite", "not finite"],
)
def test_bad_operators_are_refused(A, words):
    with pytest.raises(ValueError, match=words) as error:
        IOKR(Decomposable(RBF(GAMMA), A)).fit(*_data())
    assert "`A`" in str(error.value)


def test_lists_of_numbers_will_do():
    X, Y = _data()
    A = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]
    ours = IOKR(Decomposable(RBF(GAMMA), A)).fit(X, Y).predict(X)
    assert_close(ours, IOKR(Decomposable(RBF(GAMMA), np.array(A))).fit(X, Y).predict(X), 1e-15)


def test_an_operator_kernel_of_an_operator_kernel_is_refused():
    with pytest.raises(TypeError, match="kernel"):
        IOKR(Decomposable(Decomposable(RBF(GAMMA), np.eye(3)), np.eye(3))).fit(*_data())
