"""The loops by hand that low rank on a GPU is held against solve the same problem; tried on tensors of the host.

Tests of `iokr_lab.bench.scale.device_low_rank`.
"""

from __future__ import annotations

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF, Nystroem
from iokr_lab.bench.scale import device_low_rank as bench

torch = pytest.importorskip("torch")
rng = np.random.default_rng(0)
X, Y = torch.asarray(rng.normal(size=(300, bench.P))), torch.asarray(rng.normal(size=(300, 3)))


def test_chunks_by_hand_give_our_h():
    model = IOKR(Nystroem(RBF(bench.GAMMA), 30), alpha=bench.ALPHA, intercept=False).fit(X, Y)
    points = X[model.kernel_.pivots_]
    D = bench.chunk_floor([(X[:100], Y[:100]), (X[100:], Y[100:])], points, 3)
    kernel = RBF(bench.GAMMA).fit(X)
    L = np.linalg.cholesky(kernel(points.numpy()))
    H = np.linalg.solve(L, kernel(points.numpy(), X[:50].numpy())).T @ D.numpy()
    np.testing.assert_allclose(model.predict(X[:50]).numpy(), H, rtol=0, atol=1e-9)


@pytest.mark.parametrize("floor", [bench.uniform_floor, bench.pivoted_floor])
def test_floors_have_an_answer_for_each_landmark(floor):
    D = floor(X, Y, 60, 0)
    assert D.shape == (60, 3) and bool(torch.isfinite(D).all())


def test_without_a_device_the_sections_say_so():
    if not torch.cuda.is_available():
        assert all(section.missing() for section in bench.SECTIONS)
