"""Areas of pairs, their standard errors, and what is chosen by them."""

import numpy as np
import pytest

from iokr.estimators.areas import AreaRule, areas_of, both_areas, freedom, score_of, standard_error
from iokr.metrics import average_precision_pairs, roc_auc_pairs
from reference import assert_close


def test_both_areas_at_the_ends_and_between():
    assert both_areas(1.0, 1.0) == 1.0 and both_areas(0.0, 0.2) == 0.0
    assert both_areas(0.7, 0.7) == pytest.approx(0.7)
    assert both_areas(2 / 3, 1 / 5) == pytest.approx(both_areas(0.5, 1 / 3)), "odds 2 and 1/4, 1 and 1/2"
    assert both_areas(0.9, 0.1) == pytest.approx(0.5)
    assert_close(both_areas([0.9, 0.8], [0.1, 0.3]), [both_areas(0.9, 0.1), both_areas(0.8, 0.3)], 1e-15)


@pytest.mark.parametrize("n_links", [8, 40])
def test_standard_errors_are_those_of_samples(n_links):
    """Exponential scores, for which Hanley and McNeil's formula is exact, drawn many times."""
    rng = np.random.default_rng(0)
    n_others, draws = 60, 3000
    linked = np.arange(n_links + n_others) < n_links
    areas = [areas_of(linked, rng.exponential(np.where(linked, 3.0, 1.0))) for _ in range(draws)]
    spread, mean = np.std(areas, axis=0), np.mean(areas, axis=0)
    assert mean[0] == pytest.approx(0.75, abs=0.01)
    assert standard_error("roc_auc", (0.75, mean[1]), n_links, n_others) == pytest.approx(spread[0], rel=0.05)
    assert standard_error("average_precision", mean, n_links, n_others) == pytest.approx(spread[1], rel=0.4)
    both = np.std([both_areas(*one) for one in areas])
    assert standard_error("both", mean, n_links, n_others) == pytest.approx(both, rel=0.5)


def test_a_perfect_score_has_no_error():
    for scoring in ("roc_auc", "average_precision", "both"):
        assert standard_error(scoring, (1.0, 1.0), 5, 20) == 0.0


def test_between_the_maximum_and_the_mean():
    alphas = [0.01, 0.1, 1.0, 10.0]
    areas = np.array([[0.70, 0.80, 0.79, 0.60], [0.1, 0.2, 0.3, 0.1]])
    maximum = AreaRule("roc_auc", "best", 100, 1000)
    assert maximum.along(areas, alphas) == (0.80, 0.1)
    many, few = (AreaRule("roc_auc", "averaged", n, 10 * n) for n in (10**9, 2))
    assert many.along(areas, alphas) == pytest.approx((0.80, 0.1), rel=1e-6)
    score, alpha = few.along(areas, alphas)
    assert areas[0].mean() < score < 0.80 and 0.1 < alpha < 1.0
    tied = np.array([[1.0, 1.0, 0.9], [1.0, 1.0, 0.9]])
    assert AreaRule("roc_auc", "averaged", 3, 9).along(tied, [0.01, 1.0, 10.0]) == pytest.approx((1.0, 0.1))


def test_freedom_is_lost_within_the_spectrum():
    """Sums to one; by cells it is the fall of Σ s/(s + α); in any order of the alphas."""
    s, alphas = np.array([0.0, 0.3, 1.0, 2.0]), np.logspace(-6, 6, 25)
    m = freedom(s, alphas)
    assert m.sum() == pytest.approx(1.0) and m[:8].sum() < 1e-2 and m[-8:].sum() < 1e-2
    between = np.sqrt(alphas[:-1] * alphas[1:])
    d = (s / (s + between[:, None])).sum(axis=1)
    assert_close(m[1:-1], (d[:-1] - d[1:]) / 3.0, 1e-5)
    order = np.random.default_rng(0).permutation(25)
    assert_close(freedom(s, alphas[order]), m[order], 1e-12)
    assert_close(freedom(np.zeros(3), alphas), np.full(25, 1 / 25), 1e-15)
    assert_close(freedom(s, [1.0]), [1.0], 1e-15)
    assert_close(freedom(s, [1.0, 1.0]), [0.5, 0.5], 1e-15)


def test_a_wider_grid_chooses_the_same_alpha():
    """Flat ends, where another alpha changes nothing, have no say."""
    s = np.geomspace(0.1, 10.0, 30)
    r = lambda alphas: np.stack([0.75 - 0.02 * np.tanh(np.log(alphas)) ** 2] * 2)  # noqa: E731
    narrow, wide = np.logspace(-2, 2, 17), np.logspace(-9, 5, 57)
    rule = AreaRule("roc_auc", "averaged", 5, 50)
    one, other = (rule.along(r(grid), grid, freedom(s, grid))[1] for grid in (narrow, wide))
    assert one == pytest.approx(other, rel=0.05)
    assert rule.along(r(wide), wide)[1] < 0.1 * one  # an even measure follows the middle of the grid


def test_the_first_of_equal_members():
    rng = np.random.default_rng(0)
    areas = rng.uniform(0.5, 0.9, size=(2, 3, 2, 4))
    areas[:, 2, 1] = areas[:, 0, 1] = 0.95
    assert AreaRule("both", "averaged", 5, 50).among(areas, [0.1, 1.0, 2.0, 3.0])[0] == (0, 1)
    member, alpha = AreaRule("both", "best", 5, 50).among(areas, [0.1, 1.0, 2.0, 3.0])
    assert (member, alpha) == ((0, 1), 0.1)


def test_areas_are_those_of_the_metrics():
    rng = np.random.default_rng(1)
    linked, scores = rng.random(40) < 0.3, rng.normal(size=40)
    areas = areas_of(linked, scores)
    assert areas == [roc_auc_pairs(linked, scores), average_precision_pairs(linked, scores)]
    assert score_of("average_precision", areas) == areas[1] and score_of("both", areas) == both_areas(*areas)
