"""`lip`: the published cells, where the data are.

Tests of `iokr_lab.curves.lip`.
"""

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab import find


def test_cells_are_those_of_the_authors():
    try:
        report = find("lip").run(plan="short")
    except DataNotFound:
        pytest.skip("the data are not there")
    every = report.tables[1].rows
    assert len(every) == 2
    np.testing.assert_allclose([row["ours"] for row in every], [row["published"] for row in every], atol=1e-4)
    assert all(row["clean curves"] < row["ours"] for row in report.tables[0].rows)
