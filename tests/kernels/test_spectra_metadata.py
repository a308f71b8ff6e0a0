"""Kernels on what is known besides the peaks."""

import numpy as np
import pytest

from iokr.chem import MassSpectrum
from iokr.kernels import Categories, CollisionEnergy, Formula, Mass, ProbabilityProduct
from reference import assert_close


def spectrum(ion=None, **metadata):
    return MassSpectrum([77.0], [1.0], ion, metadata)


def test_mass():
    K = Mass(10.0)([spectrum(180.0), spectrum(190.0), spectrum(), spectrum()])
    g = np.exp(-0.5)
    assert_close(K, [[1, g, 0, 0], [g, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], 1e-12)


def test_formula():
    X = [spectrum(formula="C6H12O6"), spectrum(formula="C5H12N1"), spectrum()]
    expected = (5 + 12) / (6 + 12 + 6 + 1)
    assert_close(Formula()(X), [[1, expected, 0], [expected, 1, 0], [0, 0, 1]], 1e-12)


def test_categories():
    X = [spectrum(adduct="[M+H]+"), spectrum(adduct="[M+H]+"), spectrum(adduct="[M+Na]+"), spectrum()]
    expected = np.full((4, 4), 0.3) + 0.7 * np.eye(4)
    expected[0, 1] = expected[1, 0] = 1.0
    assert_close(Categories("adduct", 0.3)(X), expected, 1e-12)


def test_collision_energy():
    X = [spectrum(collision_energy=e) for e in (20, "20 eV", "ramp 10-30 V", "HCD 40%", None, "high", 0, True)]
    K = CollisionEnergy(1.0)(X)
    other = np.exp(-0.5 * np.log(2) ** 2)
    assert_close(K[0], [1, 1, 1, other, 0, 0, 0, 0], 1e-12)
    assert_close(K[4], [0, 0, 0, 0, 1, 1, 1, 1], 1e-12)


def test_as_a_factor():
    X = [spectrum(adduct="[M+H]+"), spectrum(adduct="[M+Na]+")]
    K = (ProbabilityProduct() * Categories("adduct", 0.0))(X)
    assert K[0, 0] > 0 and K[0, 1] == 0


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Mass(0.0), "sigma"),
        (CollisionEnergy("wide"), "sigma"),
        (Categories("a", 1.5), "other"),
        (Categories("a", -1), "other"),
    ],
)
def test_bad_parameters(kernel, name):
    with pytest.raises((ValueError, TypeError), match=name):
        kernel([spectrum()])


def test_a_bad_formula_is_named():
    with pytest.raises(ValueError, match="Spectrum 1: a formula"):
        Formula()([spectrum(formula="CH4"), spectrum(formula="methane?")])
