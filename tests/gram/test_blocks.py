"""Kernels that do not separate: products, and the flat matrix."""

import numpy as np
import pytest

from iokr.gram import BlockGram, SeparableGram, SumGram
from iokr.gram.operators import as_operator
from iokr.kernels import RBF
from reference import assert_close, delayed_blocks
from samples import operator, vectors

D = 3


def flat(X, Z):
    return delayed_blocks(X, Z).transpose(0, 2, 1, 3).reshape(len(X) * D, len(Z) * D)


def scalar(X, gamma):
    kernel = RBF(gamma).fit(X)
    return kernel.gram(kernel.represent(X))


def grams():
    """A Gram and its matrix."""
    X = vectors(6, 2)
    A = operator("full", D)
    terms = [scalar(X, 0.3), SeparableGram(scalar(X, 0.7), as_operator(A)), BlockGram(delayed_blocks, X, None, D)]
    matrix = np.kron(RBF(0.3)(X), np.eye(D)) + np.kron(RBF(0.7)(X), A) + flat(X, X)
    return [(BlockGram(delayed_blocks, X, None, D), flat(X, X)), (SumGram(terms, D), matrix)]


@pytest.mark.parametrize("which", [0, 1], ids=["blocks", "sum"])
def test_parts_are_those_of_the_matrix(which):
    gram, matrix = grams()[which]
    C = vectors(6, D, seed=3)
    expected = (matrix @ C.ravel()).reshape(6, D)
    assert_close(gram @ C, expected, 1e-13)
    assert_close(gram.flat.dense(), matrix, 1e-13)
    assert_close(gram @ C, expected, 1e-13)  # now that the matrix is kept
    assert_close(gram.diagonal(), np.diag(matrix), 1e-13)
    rows = np.array([4, 1])
    at = np.ravel(rows[:, None] * D + np.arange(D))
    assert_close(gram.restrict(rows).flat.dense(), matrix[np.ix_(at, at)], 1e-13)
    assert gram.size == 6 * D
    assert gram.operator is None


def test_what_there_is_not():
    gram, _ = grams()[0]
    with pytest.raises(ValueError, match="scalar Gram"):
        _ = gram.K
    with pytest.raises(ValueError, match="not a matrix of blocks"):
        _ = scalar(vectors(3, 2), 0.3).flat


def test_a_matrix_that_is_handed_over_is_evaluated_anew():
    gram, matrix = grams()[0]
    gram.flat.detach()[:] = 0.0
    assert_close(gram.flat.dense(), matrix, 1e-13)
