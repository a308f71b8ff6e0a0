"""ℓ(h, ψ) = r²/2 if r ≤ κ, else κ(r − κ/2), r = ‖h − ψ‖.

Tests of `iokr.losses.radial`.
"""

import numpy as np
import pytest

from convex import HuberLoss
from iokr.losses import Huber, Square
from reference import assert_close
from samples import vectors


@pytest.mark.parametrize("kappa", [0.1, 1.0, 2.5, 100.0])
def test_value(kappa):
    H, Psi = vectors(30, 3, seed=1), vectors(30, 3, seed=2)
    slow = [HuberLoss(kappa).value(h, y) for h, y in zip(H, Psi, strict=True)]
    assert_close(Huber(kappa).value(H, Psi), slow, 1e-13)


def test_quadratic_up_to_kappa_then_linear():
    r = np.array([[0.0], [0.5], [1.0], [2.0], [3.0]])
    assert_close(Huber(1.0).value(r, np.zeros((5, 1))), [0.0, 0.125, 0.5, 1.5, 2.5], 1e-15)
    assert_close(Huber(1.0).gradient(r, np.zeros((5, 1)))[:, 0], [0.0, 0.5, 1.0, 1.0, 1.0], 1e-15)


def test_it_is_the_norm_of_the_whole_row_that_counts():
    """Not the sum over coordinates: (3, 4) has r = 5."""
    assert_close(Huber(1.0).value(np.array([[3.0, 4.0]]), np.zeros((1, 2))), [4.5], 1e-15)


def test_a_large_threshold_is_the_square():
    H, Psi = vectors(10, 3, seed=3), vectors(10, 3, seed=4)
    assert_close(Huber(1e6).value(H, Psi), Square().value(H, Psi), 1e-14)
    assert_close(Huber(1e6).gradient(H, Psi), Square().gradient(H, Psi), 1e-14)


def test_gradient_never_pulls_harder_than_kappa():
    H, Psi = 100 * vectors(20, 3, seed=5), vectors(20, 3, seed=6)
    assert_close(np.linalg.norm(Huber(0.7).gradient(H, Psi), axis=1), np.full(20, 0.7), 1e-13)
    np.testing.assert_array_equal(Huber(0.7).gradient(Psi, Psi), np.zeros((20, 3)))


def test_what_it_says_of_itself():
    assert not Huber.quadratic
    assert Huber.smooth
    assert Huber.calibrated
    assert Huber.radial
    assert Huber.reweighted
    assert Huber().has_prox
