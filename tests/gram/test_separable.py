"""C ↦ K C A is kron(K, A) on the rows of C, one after the other."""

import numpy as np
import pytest

from iokr.gram import SeparableGram
from iokr.gram.operators import as_operator
from iokr.kernels import RBF
from reference import assert_close
from samples import operator, vectors


@pytest.mark.parametrize("kind", ["full", "rank one", "scaled"])
@pytest.mark.parametrize("square", [True, False])
def test_product(kind, square):
    kernel, A = RBF(0.4).fit(vectors(3)), operator(kind, 3)
    R = kernel.represent(vectors(7, seed=1))
    S = None if square else kernel.represent(vectors(5, seed=2))
    gram = SeparableGram(kernel.gram(R, S), as_operator(A))
    K = kernel.gram(R, S).dense()
    C = np.random.default_rng(0).normal(size=(K.shape[1], 3))
    assert_close(np.ravel(gram @ C), np.kron(K, A) @ C.ravel(), 1e-13)
    assert gram.shape == K.shape


def test_restriction():
    kernel, A = RBF(0.4).fit(vectors(3)), operator("full", 3)
    gram = SeparableGram(kernel.gram(kernel.represent(vectors(7, seed=1))), as_operator(A))
    rows = np.array([4, 0, 5])
    K = gram.K.dense()[np.ix_(rows, rows)]
    C = vectors(3, 3, seed=4)
    assert_close(gram.restrict(rows) @ C, K @ C @ A, 1e-13)
