"""`SetModel` answers in the library and on the device of the sets."""

import numpy as np
import pytest

from iokr import SetModel
from iokr.kernels import RBF


@pytest.mark.parametrize("worst", [False, True])
def test_answers_in_kind(library, worst):
    cube, y = np.random.default_rng(0).normal(size=(8, 3, 2)), np.repeat([0, 1], 4)
    expected = SetModel(RBF(0.7), alpha=0.2, worst=worst).fit(cube, y)
    model = SetModel(RBF(0.7), alpha=0.2, worst=worst).fit(library(cube), y)
    f = library.numpy(model.decision_function(library(cube)))
    np.testing.assert_allclose(f, expected.decision_function(cube), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(model.predict(library(cube)), expected.predict(cube))
    sets = [library(p) for p in cube]
    np.testing.assert_allclose(library.numpy(model.decision_function(sets)), f, rtol=1e-9, atol=1e-11)
    if not worst:
        left_out = library.numpy(model.loo_decision_function())
        np.testing.assert_allclose(left_out, expected.loo_decision_function(), rtol=1e-7, atol=1e-9)
