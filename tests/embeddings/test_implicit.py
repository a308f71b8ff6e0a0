"""The kernel trick: coordinates are weights on the training outputs."""

import numpy as np
import pytest

import reference
from iokr import IOKR
from iokr.embeddings import Implicit
from iokr.kernels import RBF, Linear, Polynomial
from reference import assert_close
from samples import vectors


def test_coordinates_are_the_identity_and_geometry_is_that_of_the_kernel():
    Y, Z, B = vectors(6, 3, seed=1), vectors(4, 3, seed=2), vectors(5, 6, seed=3)
    k = reference.polynomial(2, 0.5, 1.0)
    embedding = Implicit()
    np.testing.assert_array_equal(embedding.fit_transform(Y, Polynomial(2, 0.5, 1.0).fit(Y)), np.eye(6))
    S = embedding.represent(Z)
    assert_close(embedding.inner(B, S), B @ reference.gram(k, Y, Z), 1e-12)
    assert_close(embedding.sq_norms(S), [k(z, z) for z in Z], 1e-13)
    assert_close(embedding.sq_norms_of(B), np.diag(B @ reference.gram(k, Y) @ B.T), 1e-12)


def test_sq_residuals_and_spread():
    Y, Z, B = vectors(6, 3, seed=4), vectors(5, 3, seed=5), vectors(5, 6, seed=6)
    embedding = Implicit()
    embedding.fit_transform(Y, Linear().fit(Y))
    S = embedding.represent(Z)
    H = B @ Y
    assert_close(embedding.sq_residuals(B, S), np.sum((H - Z) ** 2, axis=1), 1e-11)
    w = np.array([1.0, 0.5, 0.0, 2.0, 1.0])
    mean = w @ Z / w.sum()
    assert_close(embedding.spread(S, w), np.sum(w[:, None] * (Z - mean) ** 2), 1e-12)


def test_needs_an_output_kernel():
    with pytest.raises(ValueError, match="output_kernel"):
        IOKR(RBF(1.0), embedding=Implicit()).fit(vectors(4), vectors(4))
