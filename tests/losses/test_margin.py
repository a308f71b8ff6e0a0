"""ℓ(h, ψ) = max(0, 1 − ⟨h, ψ⟩)."""

import warnings

import numpy as np
import pytest

from convex import Margin
from iokr.losses import MaxMargin
from reference import assert_close
from samples import vectors


def test_value_is_the_hinge():
    H, Psi = vectors(30, 3, seed=1), vectors(30, 3, seed=2)
    slow = [Margin().value(h, y) for h, y in zip(H, Psi, strict=True)]
    assert_close(MaxMargin().value(H, Psi), slow, 1e-14)
    assert min(slow) == 0.0


def test_gradient_is_minus_the_output_inside_the_margin():
    Psi = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    H = np.array([[0.4, 5.0], [0.6, 5.0], [3.0, -1.0]])
    np.testing.assert_array_equal(MaxMargin().gradient(H, Psi), [[-2.0, 0.0], [0.0, 0.0], [0.0, -1.0]])


def test_what_it_says_of_itself():
    assert not MaxMargin.quadratic
    assert not MaxMargin.smooth
    assert MaxMargin.box_dual
    assert not MaxMargin.radial
    assert MaxMargin().has_prox
    assert not MaxMargin.calibrated  # outputs are ranked by score, not by distance


def test_no_bias_and_no_parameters():
    assert MaxMargin().get_params() == {}
    np.testing.assert_array_equal(MaxMargin().value(np.zeros((4, 2)), vectors(4, 2)), np.ones(4))


def test_outputs_of_length_zero_are_refused():
    Psi = vectors(4, 2)
    Psi[2] = 0.0
    with pytest.raises(ValueError, match=r"row 2"):
        MaxMargin().check(Psi)


def test_different_lengths_are_warned_of():
    Psi = vectors(5, 2)
    Psi /= np.linalg.norm(Psi, axis=1, keepdims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MaxMargin().check(Psi)
        MaxMargin().check(7.0 * Psi)
        nearly = Psi.copy()
        nearly[0] *= 1 + 1e-8
        MaxMargin().check(nearly)
    Psi[0] *= 1 + 1e-5  # ‖ψ‖² spreads over 2e-5 of the mean
    with pytest.warns(UserWarning, match="[Nn]ormalise"):
        MaxMargin().check(Psi)
