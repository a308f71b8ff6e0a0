"""The benchmark `functional`: its contenders agree.

Tests of `iokr_lab.bench.functional` and `iokr_lab.bench.plain_gradients`.
"""

import numpy as np
import pytest

from iokr_lab.bench.base import check_agreement
from iokr_lab.bench.functional import SMALL, baselines, dense, fit, left_out
from iokr_lab.bench.plain_gradients import dense_masked, plain_gradients


@pytest.mark.parametrize("make", [fit, dense, left_out, baselines])
def test_contenders_agree(make):
    asked = make(**SMALL[make.__name__])
    given = {contender.name: contender.answers(contender.run()) for contender in asked.contenders}
    check_agreement(given, asked.rtol)
    assert len(given) == len(asked.contenders)


def test_plain_gradients_solve_the_equations():
    rng = np.random.default_rng(0)
    F, B = rng.normal(size=(6, 6)), rng.normal(size=(4, 4))
    K, A, mask, Psi = F @ F.T, B @ B.T, rng.random((6, 4)) < 0.7, rng.normal(size=(6, 4))
    for C in (dense_masked(K, A, mask, Psi, 0.3), plain_gradients(K, A, mask, Psi, 0.3, tol=1e-13)[0]):
        np.testing.assert_allclose(mask * (K @ C @ A) + 0.3 * C, mask * Psi, atol=1e-9)
