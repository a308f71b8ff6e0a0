"""Widths by evidence and by leave-one-out: splits, errors and the page."""

from dataclasses import replace

import numpy as np
import pytest

from iokr_lab.selection import widths
from iokr_lab.selection.widths import ARD_EVIDENCE, METHODS, ONE_EVIDENCE, SETS, Draw, split
from iokr_lab.study import Plan, run


def toy(plan):
    """Two of the sets with data of our own: one feature matters; and more widths than a fifth of the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    return {"Boston": (X, y), "highway": (X[:25], y[:25])}


def test_a_split_is_in_units_of_its_training_rows():
    rng = np.random.default_rng(0)
    X, y = 5 + 3 * rng.normal(size=(40, 3)), 100 * rng.normal(size=40)
    X[:, 2] = 7.0
    part = split(X, y, (0, 1))
    assert len(part.Y) == 28 and len(part.Y_test) == 12
    np.testing.assert_allclose(part.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(part.X.std(axis=0), [1, 1, 0], atol=1e-12)
    np.testing.assert_allclose([part.Y.mean(), part.Y.std()], [0, 1], atol=1e-12)
    np.testing.assert_array_equal(part.X_test, split(X, y, (0, 1)).X_test)
    assert not np.array_equal(part.Y_test, split(X, y, (0, 2)).Y_test)


def test_the_leave_one_out_error_is_that_of_the_tuned_model():
    part = split(*toy(None)["Boston"], (0, 0))
    model, found = widths.tuned(widths.ARD(), "loo", part.X, part.Y)
    assert found["left out"] == pytest.approx(model.tuning_["path"].min() / len(part.Y), rel=1e-5)


def test_errors_and_rejections(monkeypatch):
    few = {name: METHODS[name] for name in (*list(METHODS)[:4],)}
    monkeypatch.setattr(widths, "METHODS", few)
    report = run(replace(widths.STUDY, load=toy), Plan(repeat=2), n_jobs=1)
    errors = report.tables[0]
    assert [row["set"] for row in errors.rows] == ["Boston", "highway"]
    assert errors.rows[0][ARD_EVIDENCE].mean < errors.rows[0][ONE_EVIDENCE].mean
    assert "as there are more widths than a fifth of the rows: highway." in report.summary
    assert len(report.tables[2].rows) == 2 * 3


def test_baselines_learn():
    cell = {}
    part = split(*toy(None)["Boston"], (0, 0))
    for name in list(METHODS)[4:]:
        model, _ = METHODS[name](part.X, part.Y)
        cell[name] = np.mean((model.predict(part.X_test) - part.Y_test) ** 2)
    assert max(cell.values()) < 0.6


def test_draws_are_named_apart():
    assert str(Draw("Boston", 3)) == "Boston, draw 3" and len(SETS) == 4
