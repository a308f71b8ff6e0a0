"""`quantiles`: the metrics, the valid range of coverage, and the page.

Tests of `iokr_lab.quantiles.quantiles`.
"""

import numpy as np
import pytest

from iokr_lab.data.quantile import QuantileSet
from iokr_lab.quantiles import quantiles as experiment
from iokr_lab.quantiles.quantiles import JOINT, LEVELS, METHODS, PLANS, STUDY, TOY, Fit, Toy
from iokr_lab.study import Results

PLAN = PLANS["short"]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)

    def drawn():
        X = rng.normal(size=(40, 2))
        return QuantileSet(X, X[:, 0] + rng.normal(size=40), ("a", "b"))

    return {name: drawn() for name in PLAN.sets}


def test_rows_are_standardised_by_those_for_training(data):
    rows = experiment.rows(data["topo"], (0, 1))
    assert rows.X.shape == (28, 2) and rows.X_test.shape == (12, 2)
    np.testing.assert_allclose(rows.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(rows.Y.std(), 1.0)


def test_crossings_are_counted_before_and_after_sorting():
    raw = np.tile(np.arange(9.0), (5, 1))
    raw[0, [3, 4]] = raw[0, [4, 3]]
    found = experiment.measured(raw, np.full(5, 4.0))
    assert found["crossing"] == 1 / 40 and found["sorted"] == 0.0
    assert found["raw"] == {"rows": 5, "inside": 5, "width": 8.0}
    e = 4.0 - np.arange(9.0)
    np.testing.assert_allclose(found["pinball"], 100 * np.maximum(LEVELS * e, (np.array(LEVELS) - 1) * e).mean())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_beats_a_coin(method, data, monkeypatch):
    monkeypatch.setattr(experiment, "WIDTHS", (1.0,))
    monkeypatch.setattr(experiment, "ALPHAS", (0.1,))
    monkeypatch.setattr(experiment, "LEVEL_WIDTHS", (9.0,))
    monkeypatch.setattr(experiment, "CROSSINGS", (0.05,))
    cell = STUDY.work(Fit("topo", method, 0), PLAN, data)
    assert 0 < cell["pinball"] < 60 and cell["sorted"] == 0.0 and cell["raw"]["rows"] == 12


def test_the_penalty_makes_crossings_fewer_by_three_at_least():
    free, penalised = (experiment.toy(nu, 0) for nu in (0.0, 0.05))
    assert free["crossing"] >= 3 * penalised["crossing"] and free["known"] >= 3 * penalised["known"]


def cells(inside):
    """Cells in which joint quantiles cross least and cover `inside` of ten rows."""
    found = {}
    for name in PLAN.sets:
        for method in METHODS:
            cell = {"pinball": 10.0, "crossing": 0.01 if method == JOINT else 0.1, "sorted": 0.0}
            cell |= {
                kind: {"rows": 10, "inside": inside, "width": 1.0, "scores": 30} for kind in ("raw", "cv+", "split")
            }
            cell["chosen"] = {"kernel": 1.0, "alpha": 0.1, "nu": 0.05, "c": 9.0}
            found[Fit(name, method, 0)] = cell
    line = {"x": [0.0], "y": [0.0], "grid": [0.0, 1.0], "quantiles": [[0.0, 1.0]] * 19}
    for nu in TOY:
        found[Toy(nu)] = line | {"crossing": 0.1, "known": 0.1, "violation": 1e-3, "steps": 10}
    return Results(found)


@pytest.mark.parametrize(("inside", "verdict"), [(8, "within"), (1, "below")])
def test_the_page_judges_crossings_and_coverage(inside, verdict, data):
    pytest.importorskip("matplotlib")
    page = STUDY.page(cells(inside), PLAN, data)
    assert "a third as often as independent ones on 3 of 3 data sets" in page.summary
    assert f"{verdict} the valid range" in page.summary
    assert set(STUDY.cases(PLAN, data)) == set(cells(8))
