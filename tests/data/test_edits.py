"""Edits between sequences: compiled, in NumPy, and by the definition."""

import numpy as np

from iokr._system.compile import compiling
from iokr.data.edits import coded, edit_matrix


def test_edits_compiled_and_not():
    rng = np.random.default_rng(0)
    a, b = ([list(rng.integers(0, 3, size=size)) for size in rng.integers(0, 6, size=8)] for _ in range(2))
    codes: dict = {}
    A, B = coded(a, codes), coded(b, codes)
    with compiling(False):
        plain = edit_matrix(A, B)
    np.testing.assert_array_equal(edit_matrix(A, B), plain)

    def slow(y, z):
        if not y or not z:
            return len(y) + len(z)
        return min(slow(y[1:], z) + 1, slow(y, z[1:]) + 1, slow(y[1:], z[1:]) + (y[0] != z[0]))

    np.testing.assert_array_equal(plain, [[slow(y, z) for z in b] for y in a])
