"""`curves`: every method predicts curves, errors are those of refits, and the page has all of them.

Tests of `iokr_lab.curves.curves` and `iokr_lab.curves.methods`.
"""

import numpy as np
import pytest

from iokr_lab.curves import methods
from iokr_lab.curves.curves import GAPS, PLANS, STUDY, Fold, LeaveOneOut, Sparse, Steps, folded
from iokr_lab.curves.methods import LINES, METHODS, Pairs
from iokr_lab.study import Results

PLAN = PLANS["short"]
T = 16


def pairs(n=30, periodic=True):
    rng = np.random.default_rng(0)
    points = (np.arange(T) + 0.5) / T if periodic else np.linspace(0.0, 1.0, T)
    phase = rng.uniform(0, 2, size=(n, 1))
    Y = np.sin(2 * np.pi * points + phase) + 0.05 * rng.normal(size=(n, T))
    return Pairs(np.cos(2 * np.pi * points + phase), Y, points, periodic)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("periodic", [True, False])
def test_every_method_predicts_curves(method, periodic):
    if not methods.installed(method):
        pytest.skip("not installed")
    cell = folded(Fold("gait", method, 0), PLAN, pairs(periodic=periodic))
    better = np.sum(cell["ise"]) < 0.5 * np.sum(cell["total"])
    assert better or method == "mean curve"
    assert len(cell["sup"]) == 3


def test_left_out_errors_are_against_the_mean_of_the_others():
    some = pairs(n=12)
    perfect = methods.against_the_others(some, some.Y)
    assert perfect == 1.0
    others = np.stack([np.delete(some.Y, i, axis=0).mean(axis=0) for i in range(12)])
    np.testing.assert_allclose(methods.against_the_others(some, others), 0.0, atol=1e-12)
    for space in LINES[:5]:
        assert methods.closed_form(some, space)["r2"] > 0.5


def test_sparse_curves_and_steps(monkeypatch):
    cell = methods.sparse(pairs(n=35), 0.5, 0.1, (0, 0))
    assert 0 < cell["masked"] < 0.5 and 0 < cell["interpolated"] < 0.5
    few = methods.steps(0.5, 0, n=10, T=6)
    assert few["preconditioned"] <= few["plain"] and few["apart"] < 1e-8
    assert methods.steps(1.0, 0, n=10, T=6)["preconditioned"] == 1


def test_the_page_has_every_set_and_method():
    pytest.importorskip("matplotlib")
    gaps = pairs()
    gaps.Y[0, 0] = np.nan
    data = {"gait": pairs(), "weather": pairs(), GAPS: gaps}
    cells = {}
    for case in STUDY.cases(PLAN, data):
        if isinstance(case, LeaveOneOut):
            cells[case] = {"r2": 0.5, "alpha": 1.0}
        elif isinstance(case, Fold):
            cells[case] = {"ise": [1.0], "total": [2.0], "sup": [1.0], "slope": [1.0], "seconds": 0.1}
        elif isinstance(case, Sparse):
            lines = {name: [[0.0], [0.0]] for name in ("truth", "curve", "other")}
            cells[case] = {"masked": 0.1, "interpolated": 0.2, "points": [0.0], **lines}
        else:
            assert isinstance(case, Steps)
            cells[case] = {"preconditioned": 1, "plain": 2, "apart": 1e-12}
    page = STUDY.page(Results(cells), PLAN, data)
    titles = [table.title for table in page.tables]
    assert len(titles) == 5 and not any("gaps: ten folds" in title for title in titles)
    assert "gait 0.500" in page.summary
