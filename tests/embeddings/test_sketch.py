"""`Sketch` of outputs: weights on the outputs that it takes, every decoder takes it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR
from iokr.embeddings import Nystroem, Sketch
from iokr.kernels import RBF, Linear

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
X_new, Y_new = rng.normal(size=(5, 3)), rng.normal(size=(6, 2))


def test_weights_give_the_scores_back():
    for embedding in (Sketch(6), Nystroem(6)):
        model = IOKR(RBF(0.5), output_kernel=RBF(0.4), embedding=embedding, alpha=0.1).fit(X, Y)
        weights = model.embedding_.weights(model.decision_function(X_new))
        assert_allclose(weights @ RBF(0.4)(Y, Y_new), model.scores(X_new, Y_new), atol=1e-12)
        used = np.flatnonzero(np.any(weights != 0, axis=0))
        assert set(used) <= set(model.embedding_.pivots_)


@pytest.mark.parametrize("intercept", [False, True])
def test_vectors_come_back_under_a_linear_kernel(intercept):
    parts = {"alpha": 0.1, "intercept": intercept}
    model = IOKR(RBF(0.5), output_kernel=Linear(), embedding=Sketch(2), **parts).fit(X, Y)
    direct = IOKR(RBF(0.5), **parts).fit(X, Y)
    assert_allclose(model.embedding_.vectors(model.decision_function(X_new)), direct.predict(X_new), atol=1e-10)
