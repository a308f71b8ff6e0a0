"""Spectra in the forms that users bring, one by one and as a block."""

from types import SimpleNamespace

import numpy as np
import pytest

from iokr.chem.spectra import MassSpectra, MassSpectrum, read_spectra
from iokr.data.objects import concat, keys, take
from iokr.datasets import sample


def matchms(spectrum):
    """A stand-in with the attributes that matchms' objects have."""
    peaks = SimpleNamespace(mz=spectrum.mz, intensities=spectrum.intensity)
    return SimpleNamespace(peaks=peaks, metadata={"precursor_mz": spectrum.precursor_mz, **spectrum.metadata})


FORMS = {
    "spectrum": lambda s: s,
    "matchms": matchms,
    "triple": lambda s: (s.mz, s.intensity, s.precursor_mz),
    "lists": lambda s: [s.mz.tolist(), s.intensity.tolist(), s.precursor_mz],
    "dict": lambda s: {"mz": s.mz, "intensity": s.intensity, "precursor_mz": s.precursor_mz, **s.metadata},
    "nested": lambda s: {"mz": s.mz, "intensity": s.intensity, "precursor": s.precursor_mz, "metadata": s.metadata},
    "permuted": lambda s: (s.mz[::-1], s.intensity[::-1], s.precursor_mz),
    "with zeros": lambda s: (np.append(s.mz, 55.5), np.append(s.intensity, 0.0), s.precursor_mz),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_block(form):
    spectra = sample("spectra", 6)
    block = read_spectra([FORMS[form](s) for s in spectra])
    expected = read_spectra(spectra)
    np.testing.assert_array_equal(block.mz, expected.mz)
    np.testing.assert_array_equal(block.intensity, expected.intensity)
    np.testing.assert_array_equal(block.indptr, expected.indptr)
    np.testing.assert_array_equal(block.precursor_mz, expected.precursor_mz)
    if form in ("matchms", "dict", "nested"):
        assert block.values("formula") == expected.values("formula")


def test_a_pair_has_no_precursor():
    block = read_spectra([([77.0], [1.0]), np.array([[50.0, 60.0], [1.0, 2.0]])])
    assert np.isnan(block.precursor_mz).all() and block.values("precursor_mz") == [None, None]
    assert block.lengths.tolist() == [1, 2]


def test_rows_of_a_block():
    spectra = sample("spectra", 7)
    block = read_spectra(spectra)
    assert list(block) == list(spectra) and block[-1] == spectra[6]
    for rows in (slice(2, 5), [4, 0, 4], np.array([True, False] * 3 + [True])):
        assert list(block[rows]) == list(np.asarray(spectra)[rows])
    assert list(concat(block[:2], block[2:])) == list(spectra)
    assert list(take(block, [1, 3])) == [spectra[1], spectra[3]]
    assert read_spectra(block) is block
    with pytest.raises(IndexError, match="7 spectra"):
        block[7]


def test_equal_spectra_are_one_object_for_the_estimators():
    first, second = sample("spectra", 2)
    copy = MassSpectrum(first.mz, first.intensity, first.precursor_mz, first.metadata)
    assert copy == first and hash(copy) == hash(first) and first != second and first != "spectrum"
    assert len(set(keys([first, copy, second]))) == 2


def test_an_empty_spectrum_is_allowed():
    assert len(MassSpectrum([], [])) == 0
    assert read_spectra([([], []), ([1.0], [1.0])]).lengths.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (([1.0, 2.0], [1.0]), "equal length"),
        (([1.0], [-1.0]), "positive finite"),
        (([np.nan], [1.0]), "positive finite"),
        (([0.0], [1.0]), "positive finite"),
        (([[1.0]], [[1.0]]), "a spectrum must be"),
        (([1.0], [1.0], -3.0), "precursor_mz"),
        (([1.0], [1.0], "x"), "precursor_mz"),
        ("peaks", "a spectrum must be"),
        ({"mz": [1.0]}, "must have `mz` and `intensity`"),
        (3, "a spectrum must be"),
        ((["a"], [1.0]), "`mz` must be numbers, got 'a'"),
    ],
)
def test_the_first_object_that_is_not_a_spectrum_is_named(bad, words):
    with pytest.raises((ValueError, TypeError), match=f"Spectrum 1.*{words}"):
        read_spectra([([1.0], [1.0]), bad])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0, 2.0], [1.0], [0, 2]), "equal length"),
        (([1.0, 2.0], [1.0, 1.0], [0, 1]), "indptr"),
        (([2.0, 1.0], [1.0, 1.0], [0, 2]), "Spectrum 0 has descending m/z"),
        (([1.0, 2.0], [1.0, 0.0], [0, 2]), "positive finite"),
        (([1.0, 2.0], [1.0, 1.0], [0, 1, 2], [1.0]), "precursor_mz"),
        (([1.0, 2.0], [1.0, 1.0], [0, 1, 2], [1.0, -1.0]), "precursor_mz"),
        (([1.0, 2.0], [1.0, 1.0], [0, 1, 2], None, [{}]), "metadata"),
    ],
)
def test_bad_blocks(arguments, words):
    with pytest.raises(ValueError, match=words):
        MassSpectra(*arguments)


def test_metadata_must_be_a_dictionary():
    with pytest.raises(TypeError, match="metadata"):
        MassSpectrum([1.0], [1.0], None, ["id"])
