"""The cosine of binned spectra."""

import numpy as np
import pytest

from iokr.datasets import sample
from iokr.kernels import CosineBinned
from reference import assert_close


def dense(spectra, width, power):
    rows = np.zeros((len(spectra), 40_000))
    for row, s in zip(rows, spectra, strict=True):
        np.add.at(row, np.floor(s.mz / width).astype(int), s.intensity**power)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize(("width", "power"), [(0.01, 0.5), (1.0, 1.0), (50.0, 0.0)])
def test_equals_the_dense_cosine(width, power):
    X, Z = sample("spectra", 9), sample("spectra", 5, seed=1)
    expected = dense(X, width, power) @ dense(Z, width, power).T
    assert_close(CosineBinned(width, power)(X, Z), expected, 1e-12)


def test_units_have_no_effect_and_empty_spectra_are_zero():
    x = ([77.0, 91.0], [1.0, 0.5])
    K = CosineBinned(0.1)([x, (x[0], [200.0, 100.0]), ([], [])])
    assert_close(K, [[1, 1, 0], [1, 1, 0], [0, 0, 0]], 1e-12)


@pytest.mark.parametrize("bad", [{"bin": 0.0}, {"power": -1.0}, {"bin": "small"}])
def test_bad_parameters(bad):
    with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
        CosineBinned(**bad)(sample("spectra", 2))
