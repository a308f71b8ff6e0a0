"""Every loss is convex, its gradient matches finite differences, and its minimum is where it says.

Tests of `iokr.losses.base`.
"""

import numpy as np
import pytest

from members import LOSSES
from reference import assert_close

INSTANCES = [loss for rows in LOSSES.values() for loss in rows]


@pytest.mark.parametrize("loss", INSTANCES, ids=str)
class TestLoss:
    def test_gradient_matches_finite_differences(self, loss):
        rng = np.random.default_rng(0)
        H, Psi = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
        step, G = 1e-6, loss.gradient(H, Psi)
        assert G.shape == (6, 3)
        for j in range(3):
            e = step * np.eye(3)[j]
            slope = (loss.value(H + e, Psi) - loss.value(H - e, Psi)) / (2 * step)
            assert_close(G[:, j], slope, 1e-7)

    def test_convex_and_never_negative(self, loss):
        rng = np.random.default_rng(1)
        H0, H1, Psi = (rng.normal(size=(50, 3)) for _ in range(3))
        for t in (0.2, 0.5, 0.9):
            mixed = loss.value((1 - t) * H0 + t * H1, Psi)
            assert np.all(mixed <= (1 - t) * loss.value(H0, Psi) + t * loss.value(H1, Psi) + 1e-12)
        assert np.all(loss.value(H0, Psi) >= 0)

    def test_one_value_per_row(self, loss):
        rng = np.random.default_rng(2)
        H, Psi = rng.normal(size=(7, 3)), rng.normal(size=(7, 3))
        values = loss.value(H, Psi)
        assert values.shape == (7,)
        single = [loss.value(H[i : i + 1], Psi[i : i + 1])[0] for i in range(7)]
        assert_close(values, single, 1e-14)
