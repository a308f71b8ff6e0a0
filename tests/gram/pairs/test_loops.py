"""Loops over pairs beside products of matrices."""

import numpy as np
from scipy.sparse import random_array

from iokr.gram.pairs import loops
from reference import assert_close

rng = np.random.default_rng(0)


def test_loops_over_more_rows_and_columns_than_one_panel(route):
    for size, density in ((700, 0.02), (520, 0.5)):
        A, S = rng.normal(size=(size, size)), random_array((size, size), density=density, rng=0, format="csr")
        assert_close(loops.scatter_rows(S, A), S.toarray() @ A, 1e-12)
        a, b = np.sort(rng.integers(size, size=9000)), rng.integers(size, size=9000)
        assert_close(loops.row_dots(A, A[::-1].copy(), a, b), (A @ A[::-1].T)[a, b], 1e-12)
