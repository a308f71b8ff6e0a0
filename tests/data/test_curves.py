"""Curves in the forms that users bring; their errors are tested with `Functional`."""

import numpy as np

from iokr.data.curves import read_curves


def test_points_that_are_close_share_a_node():
    table = read_curves([([0.0, 0.5, 1.0], [1.0, 2.0, 3.0]), ([0.0002, 0.7], [4.0, 5.0])])
    np.testing.assert_allclose(table.points, [0.0001, 0.5, 0.7, 1.0])
    np.testing.assert_array_equal(table.values, [[1.0, 2.0, np.nan, 3.0], [4.0, np.nan, 5.0, np.nan]])
