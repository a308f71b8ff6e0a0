"""Widths by evidence and by leave-one-out: splits, errors and the page."""

from dataclasses import replace

import numpy as np
import pytest

from iokr_lab.selection import irrelevant, widths
from iokr_lab.selection.irrelevant import BOOSTING, COUNTS, ONE, ORACLE, TUNED, Irrelevant
from iokr_lab.selection.widths import ARD_EVIDENCE, ARD_PRIOR, METHODS, ONE_EVIDENCE, SETS, STUDY, Draw, Widths, split
from iokr_lab.study import run


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


def test_errors_and_the_sets_with_a_prior(monkeypatch):
    few = {name: METHODS[name] for name in (*list(METHODS)[:5],)}
    monkeypatch.setattr(widths, "METHODS", few)
    report = run(replace(STUDY, load=toy), Widths(repeat=2, counts=(3,)), n_jobs=1)
    errors = report.tables[0]
    assert [row["set"] for row in errors.rows] == ["Boston", "highway"]
    assert errors.rows[0][ARD_EVIDENCE].mean < errors.rows[0][ONE_EVIDENCE].mean
    assert errors.rows[0][ARD_PRIOR].mean < errors.rows[0][ONE_EVIDENCE].mean
    assert "as there are more widths than a fifth of the rows: highway." in report.summary
    assert "On Friedman's function with 3 irrelevant columns ARD with the prior has R² 0.9" in report.summary
    [friedman] = [table for table in report.tables if table.title.startswith("Friedman")]
    [row] = friedman.rows
    assert row["irrelevant columns"] == 3 and row["relevant included"] == "5.0 of 5"
    assert row[TUNED].mean > row[BOOSTING].mean > row[ONE].mean - 0.2
    [paired] = [table for table in report.tables if "minus another choice" in table.title]
    assert len(paired.rows) == 2 * 4


def test_baselines_learn():
    cell = {}
    part = split(*toy(None)["Boston"], (0, 0))
    for name in list(METHODS)[5:]:
        model, _ = METHODS[name](part.X, part.Y)
        cell[name] = np.mean((model.predict(part.X_test) - part.Y_test) ** 2)
    assert max(cell.values()) < 0.6


def test_draws_are_named_apart():
    assert str(Draw("Boston", 3)) == "Boston, draw 3" and len(SETS) == 4
    assert str(Irrelevant(20, 3)) == "columns 20, draw 3"


def test_every_plan_has_all_numbers_of_columns_and_at_most_ten_draws():
    for plan in STUDY.plans.values():
        found = [case for case in STUDY.cases(plan, toy(None)) if isinstance(case, Irrelevant)]
        assert len(found) == len(COUNTS) * min(plan.repeat, 10)
        assert {case.columns for case in found} == {20, 100, 500}


def test_columns_that_play_no_role_do_not_lower_r2():
    found = irrelevant.evaluate(Irrelevant(40, 0), seed=0)
    assert found["relevant"] == 5 and found["irrelevant"] <= 1
    assert found[TUNED]["r2"] > found[ORACLE]["r2"] - 0.01
    assert found[TUNED]["r2"] > max(found[name]["r2"] for name in (BOOSTING, irrelevant.HISTOGRAMS)) + 0.05
