"""Every operator-valued kernel has a Gram map that is symmetric, positive semi-definite, and linear.

Tests of `iokr.operator_kernels.base`.
"""

import numpy as np
import pytest
from sklearn.base import clone

from iokr.gram import ScalarGram
from members import OPERATOR_KERNELS
from reference import assert_close
from samples import regression

INSTANCES = [kernel for rows in OPERATOR_KERNELS.values() for kernel in rows]


@pytest.mark.parametrize("kernel", INSTANCES, ids=lambda k: " ".join(repr(k).split())[:40])
def test_block_gram_is_symmetric_and_positive_semidefinite(kernel):
    s = regression(1, n=6, d=3)
    fitted = clone(kernel).fit(s.X, s.Y)
    R, S = fitted.represent(s.X), fitted.represent(s.X_new)
    if fitted.gram(R).operator is not None:
        fitted.adapt(fitted.gram(R).K, s.Y, None, None)
    unit = np.eye(18).reshape(18, 6, 3)
    G = np.array([np.ravel(fitted.gram(R) @ C) for C in unit]).T
    assert_close(G, G.T, 1e-13)
    assert np.linalg.eigvalsh(G).min() >= -1e-12 * np.trace(G)
    # 𝒦(x, z) = 𝒦(z, x)ᵀ between different sets of points
    new = np.array([np.ravel(fitted.gram(S, R) @ C) for C in unit]).T
    back = np.array([np.ravel(fitted.gram(R, S) @ C) for C in np.eye(15).reshape(15, 5, 3)]).T
    assert_close(new, back.T, 1e-13)


@pytest.mark.parametrize("kernel", INSTANCES, ids=lambda k: " ".join(repr(k).split())[:40])
def test_the_parts_of_a_gram_are_those_of_the_map(kernel):
    s = regression(1, n=6, d=3)
    fitted = clone(kernel).fit(s.X, s.Y)
    R = fitted.represent(s.X)
    if fitted.gram(R).operator is not None:
        fitted.adapt(fitted.gram(R).K, s.Y, None, None)
    gram = fitted.gram(R)
    G = np.array([np.ravel(gram @ C) for C in np.eye(18).reshape(18, 6, 3)]).T
    if gram.operator is not None:
        assert isinstance(gram.K, ScalarGram)
        assert gram.size == 6
    else:
        assert gram.dim == 3
        assert gram.size == 18
        assert_close(gram.flat.dense(), G, 1e-13)
        assert_close(gram.diagonal(), np.diag(G), 1e-13)
        some = [0, 2, 5]
        at = np.ravel(np.array(some)[:, None] * 3 + np.arange(3))
        assert_close(gram.restrict(some).flat.dense(), G[np.ix_(at, at)], 1e-13)
        with pytest.raises(ValueError, match="scalar Gram"):
            _ = gram.K
