"""Cleaning twice is cleaning once, and no unit, order or small peak changes it."""

import numpy as np
import pytest

from iokr.chem import Cleaning, MassSpectrum
from iokr.datasets import sample


def raw(seed, n=400, precursor=250.0):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(50.0, 300.0, size=60)
    mz = rng.choice(centres, size=n) + rng.normal(scale=0.004, size=n)
    return mz, rng.exponential(size=n) ** 3 * 1e4, precursor


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("cleaning", [Cleaning(), Cleaning(0.05, 0.02, 0.0, 10), Cleaning(merge=0.0)])
def test_cleaning_is_idempotent(seed, cleaning):
    mz, intensity, precursor = raw(seed)
    once = cleaning.peaks(mz, intensity, precursor)
    twice = cleaning.peaks(*once, precursor)
    np.testing.assert_array_equal(once, twice)


@pytest.mark.parametrize("seed", range(5))
def test_what_remains(seed):
    mz, intensity, precursor = raw(seed)
    places, heights = Cleaning().peaks(mz, intensity, precursor)
    assert 0 < len(places) <= 100 and heights.max() == 1 and heights.min() >= 0.001
    assert np.diff(places).min() >= 0.005 and places.max() <= precursor + 0.5


def test_order_and_unit_have_no_effect():
    mz, intensity, precursor = raw(0)
    expected = Cleaning().peaks(mz, intensity, precursor)
    order = np.random.default_rng(1).permutation(len(mz))
    np.testing.assert_array_equal(Cleaning().peaks(mz[order], intensity[order], precursor), expected)
    np.testing.assert_allclose(Cleaning().peaks(mz, 7.3 * intensity, precursor), expected, rtol=1e-12)


def test_invalid_peaks_are_removed():
    mz = [100.0, np.nan, 110.0, -5.0, 120.0, np.inf, 130.0]
    places, heights = Cleaning().peaks(mz, [1.0, 1.0, 0.0, 1.0, -2.0, 1.0, np.inf])
    assert places.tolist() == [100.0] and heights.tolist() == [1.0]


def test_merging_keeps_the_centre_of_mass_and_the_sum():
    places, heights = Cleaning(min_intensity=0.0).peaks([100.0, 100.004, 200.0], [1.0, 3.0, 1.0])
    np.testing.assert_allclose(places, [100.003, 200.0], rtol=1e-14)
    np.testing.assert_allclose(heights, [1.0, 0.25], rtol=1e-14)


def test_spectra_and_blocks():
    spectra = sample("spectra", 5)
    block = Cleaning(0.2)(spectra)
    assert list(block) == [Cleaning(0.2)(s) for s in spectra]
    assert block[0].metadata == spectra[0].metadata
    assert Cleaning()(block[:0]).shape == (0,)
    assert not Cleaning().usable(MassSpectrum([1.0, 2.0], [1.0, 1.0]))


@pytest.mark.parametrize(
    "bad", [{"min_intensity": -1}, {"min_intensity": 1.0}, {"merge": -0.1}, {"max_peaks": 0}, {"min_peaks": 1.5}]
)
def test_bad_options(bad):
    with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
        Cleaning(**bad)
