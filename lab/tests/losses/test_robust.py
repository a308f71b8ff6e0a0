"""Outliers among the outputs: samples, choice on the training part, and Huber against ridge.

Tests of `iokr_lab.losses.robust` and `iokr_lab.losses.robust_protocol`.
"""

import numpy as np
import pytest

from iokr.apps.report import Figure
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, Square
from iokr_lab import find
from iokr_lab.losses import robust, robust_protocol
from iokr_lab.losses.robust_protocol import (
    DISTANCE,
    FLOOR,
    FRACTIONS,
    HUBER,
    KINDS,
    METHODS,
    N_TRAIN,
    RIDGE,
    choose,
    draw,
)
from iokr_lab.study import Plan


@pytest.fixture
def quick(monkeypatch):
    """One parameter and three alphas for every method."""
    monkeypatch.setattr(robust_protocol, "ALPHAS", np.array([0.01, 0.1, 1.0]))
    small = [[Square()], [EpsilonSquare(0.1)], [EpsilonInsensitive(0.1)], [Huber(0.3)]]
    for method, losses in zip(METHODS, small, strict=True):
        monkeypatch.setitem(METHODS, method, losses)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_a_fraction_of_the_rows_is_moved_and_nothing_else(kind, fraction):
    clean, sample = draw(kind, 0.0, (3, 1)), draw(kind, fraction, (3, 1))
    assert sample.outlier.sum() == round(fraction * N_TRAIN)
    np.testing.assert_array_equal(sample.X, clean.X)
    np.testing.assert_array_equal(sample.F_test, clean.F_test)
    np.testing.assert_array_equal(sample.Y[~sample.outlier], clean.Y[~sample.outlier])
    moved = (sample.Y - clean.Y)[sample.outlier]
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), DISTANCE)
    if kind == "one-sided":
        np.testing.assert_allclose(moved, np.broadcast_to(moved[:1], moved.shape), atol=1e-12)
    elif fraction:
        assert np.linalg.matrix_rank(moved) > 1


def test_samples_repeat_and_larger_fractions_move_more_rows():
    one, again, other = draw("scattered", 0.1, (0, 0)), draw("scattered", 0.1, (0, 0)), draw("scattered", 0.1, (0, 1))
    np.testing.assert_array_equal(one.Y, again.Y)
    assert not np.array_equal(one.X, other.X)
    assert (draw("scattered", 0.3, (0, 0)).outlier >= one.outlier).all()


def test_outputs_have_unit_variance_about():
    values = np.vstack([draw("scattered", 0.0, (0, i)).F_test for i in range(5)])
    assert 0.8 < values.std() < 1.2 and abs(values.mean()) < 0.2


def test_choice_is_the_best_on_the_last_third(quick):
    sample = draw("one-sided", 0.2, (0, 0))
    cut = N_TRAIN - N_TRAIN // 3
    found = choose(sample.X, sample.Y, METHODS[RIDGE])
    distances = {}
    for alpha in robust_protocol.ALPHAS:
        model = robust_protocol.model_of(Square(), float(alpha)).fit(sample.X[:cut], sample.Y[:cut])
        residuals = model.decision_function(sample.X[cut:]) - sample.Y[cut:]
        distances[alpha] = np.linalg.norm(residuals, axis=1)
    for name, criterion in {"median": np.median, "mean of squares": lambda d: np.mean(d**2)}.items():
        assert found[name].alpha == min(distances, key=lambda alpha: criterion(distances[alpha]))
        refitted = robust_protocol.model_of(Square(), found[name].alpha).fit(sample.X, sample.Y)
        expected = refitted.decision_function(sample.X_test)
        np.testing.assert_allclose(found[name].model.decision_function(sample.X_test), expected)


def test_the_floor_is_fitted_without_outliers(quick):
    sample = draw("scattered", 0.2, (0, 0))
    found = {(method, criterion): choice for method, criterion, choice in robust_protocol.fitted(sample)}
    assert {method for method, _ in found} == {*METHODS, FLOOR}
    clean = choose(sample.X[~sample.outlier], sample.Y[~sample.outlier], METHODS[RIDGE])
    expected = clean["median"].model.decision_function(sample.X_test)
    np.testing.assert_allclose(found[FLOOR, "median"].model.decision_function(sample.X_test), expected)


def test_page_shows_huber_ahead_of_ridge_with_outliers(quick):
    steps = []
    report = find("robust").run(seed=0, repeat=2, progress=lambda done, total, what: steps.append((done, total)))
    scattered, one_sided, paired, criteria, chosen = report.tables
    for table in (scattered, one_sided):
        assert [row["outliers"] for row in table.rows] == ["0%", "5%", "10%", "20%", "30%"]
        row = table.rows[3]
        assert row[FLOOR].mean < row[HUBER].mean < row[RIDGE].mean / 3
        assert row[HUBER].n == 2
    assert scattered.rows[0] == one_sided.rows[0], "without outliers there is only one kind"
    assert scattered.rows[0][RIDGE] == scattered.rows[0][FLOOR]
    for row in paired.rows:
        table = scattered if row["outliers"] == "scattered" else one_sided
        [same] = [other for other in table.rows if other["outliers"] == row["share"]]
        assert row["difference"].startswith(f"{same[RIDGE].mean - same[HUBER].mean:+.3f} ±")
        assert row["share"] != "20%" or row["wins"] == "2 of 2"
    assert len(criteria.rows) == 4 and len(chosen.rows) == 2 * 5 * 4
    assert {row["ε or κ"] for row in chosen.rows} == {None, "0.1 (2 ×)", "0.3 (2 ×)"}
    assert sum(isinstance(item, Figure) for item in report.items) == 4
    assert "20% outliers" in report.html()
    assert steps[-1] == (18, 18), "two samples: no outliers, and two kinds of four fractions"


def test_same_seed_same_errors(quick):
    case = robust.cases(Plan(), None)[3]
    first, again, other = (robust.work(case, Plan(seed=seed), None)["error"] for seed in (0, 0, 1))
    assert first == again and first != other
