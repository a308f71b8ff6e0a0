"""FᵀKF, which overwrites K."""

import numpy as np
import pytest

from iokr.kernels import RBF
from iokr.losses import Square
from iokr.problem import Problem
from iokr.solvers.closed_form import symmetric_system
from reference import assert_close


def problem(rng, n, N, weight=None):
    X = rng.normal(size=(N, 3))
    B = rng.normal(size=(N, N))
    return Problem(
        RBF(0.3).fit(X).gram(RBF(0.3).fit(X).represent(X)),
        rng.normal(size=(n, 2)),
        Square(),
        0.1,
        weight=weight,
        penalty=B @ B.T / N,
        manifold_weight=0.7,
    )


@pytest.mark.parametrize("panel", [1, 3, 4, 100])
@pytest.mark.parametrize(("n", "weighted"), [(5, False), (11, False), (12, False), (6, True), (1, False)])
def test_system_by_panels_is_the_congruence(panel, n, weighted, monkeypatch):
    monkeypatch.setattr(symmetric_system, "_PANEL", panel)
    rng = np.random.default_rng(n)
    weight = rng.uniform(0.5, 2.0, size=n) * (np.arange(n) != 2) if weighted else None
    posed = problem(rng, n, 12, weight)
    points = symmetric_system.ManifoldGeometry(posed)
    S = points.system()
    F = points.to_points(np.eye(len(S)))
    assert_close(S, F.T @ posed.gram.dense() @ F, 1e-12)
    M = 0.7 * posed.penalty
    M[:n, :n] += np.diag(np.ones(n) if weight is None else weight)
    assert_close(F @ F.T, M, 1e-12)
    assert_close(S, S.T, 0.0)
