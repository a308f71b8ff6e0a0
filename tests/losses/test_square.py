"""ℓ(h, ψ) = ½‖h − ψ‖²."""

import numpy as np

from iokr.losses import Square
from reference import assert_close
from samples import vectors


def test_value_is_half_the_squared_distance():
    H, Psi = vectors(6, 3, seed=1), vectors(6, 3, seed=2)
    assert_close(Square().value(H, Psi), [0.5 * sum((h - p) ** 2) for h, p in zip(H, Psi, strict=True)], 1e-14)
    assert_close(Square().gradient(H, Psi), H - Psi, 1e-15)


def test_what_it_says_of_itself():
    assert Square.quadratic
    assert Square.smooth
    assert Square.calibrated
    assert not Square().has_prox
    assert not Square.radial


def test_zero_at_the_target():
    H = vectors(4, 2)
    np.testing.assert_array_equal(Square().value(H, H), np.zeros(4))
