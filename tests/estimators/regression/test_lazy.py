"""Dask arrays as inputs and as candidates, of a model that was fitted in memory."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

da = pytest.importorskip("dask.array")

from iokr import IOKR  # noqa: E402
from iokr.kernels import RBF  # noqa: E402

rng = np.random.default_rng(0)
X, Y, NEW = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), rng.normal(size=(9, 3))


def test_answers_are_lazy_and_the_same():
    model = IOKR(RBF(0.3), output_kernel=RBF(0.5), alpha=0.1).fit(X, Y)
    rows = da.from_array(NEW, chunks=(4, 3))
    assert_allclose(model.decision_function(rows).compute(), model.decision_function(NEW), atol=1e-12)
    assert_array_equal(model.predict(rows).compute(), model.predict(NEW))
    index, _ = model.rank(NEW, da.from_array(Y, chunks=(7, 2)), k=5)
    assert_array_equal(index, model.rank(NEW, Y, k=5)[0])


def test_chunks_of_columns_are_refused():
    model = IOKR(RBF(0.3), alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="rechunk"):
        model.predict(da.from_array(NEW, chunks=(4, 1)))
    with pytest.raises(ValueError, match="rechunk"):
        model.rank(NEW, da.from_array(Y, chunks=(7, 1)))
