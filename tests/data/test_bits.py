"""Packed rows of zeros and ones."""

import pickle

import numpy as np
import pytest

from iokr.data.bits import Bits
from iokr.data.objects import concat, keys, take

MATRIX = (np.random.default_rng(0).uniform(size=(7, 70)) < 0.3).astype(np.uint8)


def test_there_and_back():
    bits = Bits.of(MATRIX)
    assert bits.shape == (7, 70) and bits.packed.shape == (7, 9)
    np.testing.assert_array_equal(np.asarray(bits), MATRIX)
    np.testing.assert_array_equal(np.asarray(bits, dtype=float), MATRIX)
    np.testing.assert_array_equal(bits.counts, MATRIX.sum(axis=1))
    np.testing.assert_array_equal(np.unpackbits(bits.words().view(np.uint8), axis=1)[:, :70], MATRIX)
    np.testing.assert_array_equal(list(bits), MATRIX)


def test_rows():
    bits = Bits.of(MATRIX)
    for rows in (slice(1, 4), [5, 0, 5], np.array([True] * 3 + [False] * 4)):
        np.testing.assert_array_equal(np.asarray(bits[rows]), MATRIX[rows])
    np.testing.assert_array_equal(bits[2], MATRIX[2])
    assert isinstance(take(bits, [1, 2]), Bits)
    np.testing.assert_array_equal(np.asarray(concat(bits[:2], bits[2:])), MATRIX)
    np.testing.assert_array_equal(np.asarray(bits.concat(MATRIX[:1])), MATRIX[[*range(7), 0]])
    assert keys(bits) == keys(MATRIX)
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(bits))), MATRIX)
    assert repr(bits) == "Bits(7 rows of 70)"


def test_what_is_none_is_refused():
    with pytest.raises(TypeError, match="uint8"):
        Bits([[1, 0]])
    with pytest.raises(ValueError, match="bytes a row"):
        Bits(np.zeros((2, 3), dtype=np.uint8), 30)
    with pytest.raises(ValueError, match="beyond the 5"):
        Bits(np.full((1, 1), 255, dtype=np.uint8), 5)
    with pytest.raises(ValueError, match="zeros and ones"):
        Bits.of([[1, 2]])
    with pytest.raises(ValueError, match="rows of 70"):
        Bits.of(MATRIX).concat(np.ones((1, 8)))
