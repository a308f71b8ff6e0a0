"""Coverage of conformal sets: draws, guarantees and the page."""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import RBF
from iokr_lab.coverage import coverage
from iokr_lab.coverage.coverage import BOOSTING, FULL, LEVELS, METHODS, SCALAR, SPLIT, Draw, Setting, boosted, sample
from iokr_lab.splits import TrainTest
from iokr_lab.study import Plan, Study, run


def small(plan):
    """The scalar set, and one drawn from stored rows; both small."""
    X, y = sample(np.random.default_rng(0), 60)
    Y = np.column_stack([y, y**2])
    return {
        "rows": Setting("rows", IOKR(RBF(1.0), alpha=0.3), 40, 20, X, Y),
        SCALAR: Setting("numbers", IOKR(RBF(1.0), alpha=0.3), 40, 20),
    }


def test_draws_are_disjoint_and_repeat():
    setting = small(None)["rows"]
    part = setting.draw((0, 0, 3))
    assert len(part.X) == 40 and len(part.Y_test) == 20 and not set(part.X[:, 0]) & set(part.X_test[:, 0])
    np.testing.assert_array_equal(part.X, setting.draw((0, 0, 3)).X)
    assert not np.array_equal(part.X, setting.draw((0, 0, 4)).X)
    assert not np.array_equal(small(None)[SCALAR].draw((0, 1, 0)).X, small(None)[SCALAR].draw((0, 1, 1)).X)


@pytest.fixture
def quick(monkeypatch):
    """Without boosting, which is scikit-learn's."""
    monkeypatch.setattr(coverage, "boosted", lambda *data: {"coverage": 0.7, "radius": 0.5})


def test_a_small_study(quick):
    study = Study(
        plans={"short": Plan(repeat=3)}, load=small, cases=coverage.cases, work=coverage.work, page=coverage.page
    )
    report = run(study, study.plan("short"), n_jobs=1)
    assert "have the guaranteed coverage in" in report.summary
    tables = [part for part in report.items if hasattr(part, "rows")]
    assert [table.title.split(":")[0] for table in tables] == ["Rows", "A number"]
    assert [row["method"] for row in tables[1].rows] == [*METHODS, BOOSTING]
    assert [row["guarantee"] is None for row in tables[0].rows] == [method not in (FULL, SPLIT) for method in METHODS]


def test_work_measures_every_method_at_every_level(quick):
    found = coverage.work(Draw(SCALAR, 0), Plan(), small(None))
    for method in (FULL, SPLIT, BOOSTING):
        for level in LEVELS:
            cell = found[method][f"{100 * level:.0f} %"]
            assert 0 <= cell["coverage"] <= 1 and cell["radius"] > 0


def test_a_model_without_a_guarantee_is_an_error():
    data = small(None)
    data["rows"] = Setting("rows", IOKR(alpha=0.3), 40, 20, data["rows"].X, data["rows"].Y)  # a width from the rows
    with pytest.raises(AssertionError, match="gamma_"):
        coverage.work(Draw("rows", 0), Plan(), data)


def test_shortfall():
    assert coverage.shortfall(np.full(10, 0.79), 0.8) == pytest.approx(0.01)
    assert coverage.shortfall(np.array([0.75, 0.83] * 50), 0.8) < 0
    assert coverage.shortfall(np.array([0.5]), 0.8) <= 0  # one draw has no standard error


def test_boosting_gives_intervals():
    X, y = sample(np.random.default_rng(0), 200)
    found = boosted(TrainTest(X[:100], y[:100], X[100:], y[100:]), 0.8)
    assert 0.4 < found["coverage"] <= 1 and found["radius"] > 0.1
