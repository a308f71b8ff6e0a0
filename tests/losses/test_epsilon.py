"""ε-ridge ½ max(r − ε, 0)² and ε-SVR max(r − ε, 0), r = ‖h − ψ‖."""

import numpy as np
import pytest

from convex import EpsilonInsensitiveLoss, EpsilonSquareLoss
from iokr import IOKR
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, Insensitive, Square
from reference import assert_close
from samples import vectors

BOTH = [(EpsilonSquare, EpsilonSquareLoss), (EpsilonInsensitive, EpsilonInsensitiveLoss)]


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.5, 100.0])
@pytest.mark.parametrize(("loss", "slow"), BOTH)
def test_value(loss, slow, epsilon):
    H, Psi = vectors(30, 3, seed=1), vectors(30, 3, seed=2)
    expected = [slow(epsilon).value(h, y) for h, y in zip(H, Psi, strict=True)]
    assert_close(loss(epsilon).value(H, Psi), expected, 1e-13)


def test_by_hand():
    H, zero = np.array([[0.5, 0.0], [3.0, 4.0], [0.0, 1.0]]), np.zeros((3, 2))
    assert_close(EpsilonSquare(1.0).value(H, zero), [0.0, 8.0, 0.0], 1e-15)
    assert_close(EpsilonInsensitive(1.0).value(H, zero), [0.0, 4.0, 0.0], 1e-15)
    assert_close(EpsilonSquare(1.0).gradient(H, zero), [[0, 0], [2.4, 3.2], [0, 0]], 1e-15)
    assert_close(EpsilonInsensitive(1.0).gradient(H, zero), [[0, 0], [0.6, 0.8], [0, 0]], 1e-15)


def test_without_a_tube():
    H, Psi = vectors(10, 3, seed=3), vectors(10, 3, seed=4)
    assert_close(EpsilonSquare(0.0).value(H, Psi), Square().value(H, Psi), 1e-14)
    assert_close(EpsilonSquare(0.0).gradient(H, Psi), H - Psi, 1e-14)
    assert_close(EpsilonInsensitive(0.0).value(H, Psi), np.linalg.norm(H - Psi, axis=1), 1e-14)


@pytest.mark.parametrize("loss", [EpsilonSquare(0.0), EpsilonSquare(0.5), EpsilonInsensitive(0.0)], ids=repr)
def test_no_division_by_zero_at_the_target(loss):
    H = vectors(4, 3)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(loss.value(H, H), np.zeros(4))
        np.testing.assert_array_equal(loss.gradient(H, H), np.zeros((4, 3)))
        np.testing.assert_array_equal(loss.prox(H, H, np.ones(4)), H)


def test_what_they_say_of_themselves():
    assert not EpsilonSquare.quadratic
    assert EpsilonSquare.smooth
    assert not EpsilonInsensitive.quadratic
    assert not EpsilonInsensitive.smooth
    assert EpsilonSquare.calibrated
    assert EpsilonInsensitive.calibrated
    assert EpsilonSquare.radial
    assert not EpsilonSquare.reweighted
    assert not EpsilonInsensitive.box_dual


@pytest.mark.parametrize("base", [1e-300, None, "huber", Huber])
def test_a_base_that_is_no_radial_loss_is_refused_by_name(base):
    X = np.linspace(0, 1, 8)[:, None]
    with pytest.raises(TypeError, match="`base`"):
        IOKR(loss=Insensitive(base)).fit(X, X)
