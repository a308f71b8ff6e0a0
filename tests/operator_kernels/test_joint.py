"""Joint kernels by name, against the joint kernel itself."""

import pickle

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF, Linear
from iokr.operator_kernels import Decomposable, diagonal_regularization, tensor_product
from reference import assert_close

D = 3


def test_joint_kernels_by_name():
    rng = np.random.default_rng(0)
    X, X_new, Y = (rng.normal(size=size) for size in ((8, D), (4, D), (8, D)))
    mix = 0.3
    operator = diagonal_regularization(mix).fit(X)
    blocks = operator.gram(operator.represent(X), operator.represent(X_new)).flat.dense().reshape(8, D, 4, D)
    for i, x in enumerate(X):
        for j, z in enumerate(X_new):
            y, v = rng.normal(size=D), rng.normal(size=D)
            joint = (1 - mix) * (x @ z) * (y @ v) + mix * np.sum(x * z * y * v)
            assert_close(y @ blocks[i, :, j] @ v, joint, 1e-12)
    plain = IOKR(Linear(), alpha=0.1).fit(X, Y).predict(X_new)
    assert_close(IOKR(diagonal_regularization(0.0), alpha=0.1).fit(X, Y).predict(X_new), plain, 1e-10)
    own = IOKR(diagonal_regularization(1.0), alpha=0.1).fit(X, Y).predict(X_new)
    alone = [IOKR(Linear(), alpha=0.1).fit(X[:, [j]], Y[:, j]).predict(X_new[:, [j]]) for j in range(D)]
    assert_close(own, np.column_stack(alone), 1e-10)
    A = np.diag([1.0, 2.0, 0.0])
    assert isinstance(tensor_product(RBF(0.4), A), Decomposable)
    assert_close(
        IOKR(tensor_product(RBF(0.4)), alpha=0.1).fit(X, Y).predict(X_new),
        IOKR(tensor_product(RBF(0.4), np.eye(D)), alpha=0.1).fit(X, Y).predict(X_new),
        1e-12,
    )
    with pytest.raises(ValueError, match="between 0 and 1"):
        diagonal_regularization(1.5)
    model = IOKR(diagonal_regularization(0.5)).fit(X, Y)
    assert_close(pickle.loads(pickle.dumps(model)).predict(X_new), model.predict(X_new), 1e-12)
