"""`Sketch` takes about four objects a row, or what `density` says."""

import numpy as np
import pytest

from iokr.kernels import RBF, Precomputed, Sketch

X = np.random.default_rng(0).normal(size=(2000, 3))


def test_about_four_objects_a_row_are_evaluated():
    fitted = Sketch(RBF(0.5), n_components=25).fit(X)
    assert 70 <= len(fitted.pivots_) <= 130
    assert fitted.features(X).shape == (2000, 25)


def test_density_says_how_many():
    few, many = (len(Sketch(RBF(0.5), 25, density=d).fit(X).pivots_) for d in (1e-3, 1e-2))
    assert few < 80 < many < 600
    assert len(Sketch(RBF(0.5), 25, density=1.0).fit(X[:100]).pivots_) == 100


def test_refuses_a_gram_matrix_in_place_of_objects():
    with pytest.raises(ValueError, match="`Sketch` needs a kernel on objects"):
        Sketch(Precomputed()).fit(np.eye(3))
