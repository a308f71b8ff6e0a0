"""The duality gap bounds the distance to the minimum."""

from dataclasses import replace

import numpy as np
import pytest

from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, Insensitive, Pinball
from iokr.solvers import ADMM, IRLS, LBFGS
from iokr.solvers.iterative.certificate import certify, gap_bound, sharpened
from iokr.solvers.iterative.reduced import labeled_problem
from samples import problem


@pytest.mark.parametrize("loss", [Huber(0.3), EpsilonSquare(0.1)], ids=repr)
@pytest.mark.parametrize("semi", [False, True])
def test_the_gap_is_true(loss, semi):
    posed = replace(problem("full", "any", semi=semi)[0], loss=loss)
    labeled = labeled_problem(posed)
    kernel, P0 = labeled.kernel(spectral=True), float(labeled.at_zero().sum())
    least = posed.objective(ADMM(tol=1e-12).solve(posed).C)
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        a, W = (size * rng.normal(size=(8, 3)) for _ in range(2))
        point = a, kernel.product(a)
        found = certify(labeled, kernel, W, point, P0, 1e-6)
        away = (posed.objective(labeled.lift(found.a)) - least) / P0
        assert -1e-9 <= away <= found.gap + 1e-9
        assert found.dual <= least + 1e-9 * P0
        # Without ⟨D, 𝒦D⟩/2λ ≥ 0 in the dual, the bound is at most the gap of the plain point.
        plain = (labeled.objective(point[1], float(np.sum(a * point[1]))) - found.dual) / P0
        assert gap_bound(labeled, W, point, P0) <= plain + 1e-9


ROBUST = [
    (Huber(0.5), IRLS()),
    (Huber(0.5), ADMM()),
    (Huber(0.5), LBFGS()),
    (EpsilonInsensitive(0.1), ADMM()),
    (Insensitive(Huber(0.5), 0.1), ADMM()),
    (Pinball(0.4), ADMM()),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # close enough all the same
@pytest.mark.parametrize(("loss", "solver"), ROBUST, ids=repr)
def test_how_far_away_an_outlier_is_changes_nothing(loss, solver):
    """Beyond κ a row pulls with a force that does not grow: ‖h − h′‖ ≤ 2√(2 tol P/α), P without the outlier."""
    ours = replace(problem(alpha=1.0)[0], loss=loss)
    values = []
    for size in (1e2, 1e4, 1e6):
        Psi = ours.Psi.copy()
        Psi[3] = size
        values.append(ours.gram @ solver.solve(replace(ours, Psi=Psi)).C)
    rest = ours.losses(0.0 * ours.Psi)
    bound = 2 * np.sqrt(2 * 1e-6 * (np.median(rest) * len(rest)))
    turn = 2 * np.abs(ours.Psi).max() / 1e2  # a larger outlier has a slightly other direction from h
    for found in values[1:]:
        assert np.sqrt(np.sum((found - values[0]) ** 2, axis=1)).max() <= bound + turn
    assert np.abs(values[2] - values[1]).max() <= bound + turn / 100


def test_a_tolerance_is_sharpened_where_few_rows_make_up_nearly_all():
    usual = np.full(100, 2.0)
    assert sharpened(1e-6, usual) == 1e-6
    one = np.r_[usual, 2e6]
    assert sharpened(1e-6, one) == pytest.approx(1e-6 * 101 * 2 / (200 + 2e6))
    assert sharpened(1e-6, np.zeros(4)) == 1e-6
    assert sharpened(1e-6, np.r_[np.zeros(50), np.ones(3)]) == 1e-6  # rows that cost nothing at 0 are no measure
    with pytest.warns(RuntimeWarning, match=r"A row of `y` has a loss 1e\+12 times the median, .*: rounding hides"):
        assert sharpened(1e-6, np.r_[usual, 2e12]) == 1e-15
