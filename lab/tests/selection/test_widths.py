"""Widths by evidence and by leave-one-out: splits, errors, and what the page says of them."""

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
    A, a, B, b = split(X, y, (0, 1))
    assert len(a) == 28 and len(b) == 12
    np.testing.assert_allclose(A.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(A.std(axis=0), [1, 1, 0], atol=1e-12)
    np.testing.assert_allclose([a.mean(), a.std()], [0, 1], atol=1e-12)
    again = split(X, y, (0, 1))
    np.testing.assert_array_equal(B, again[2])
    assert not np.array_equal(b, split(X, y, (0, 2))[3])


def test_what_leave_one_out_says_is_of_the_tuned_model():
    A, a, _, _ = split(*toy(None)["Boston"], (0, 0))
    model, found = widths.tuned(widths.ARD(), "loo", A, a)
    assert found["left out"] == pytest.approx(model.tuning_["path"].min() / len(a), rel=1e-5)


def test_errors_and_refusals(monkeypatch):
    few = {name: METHODS[name] for name in (*list(METHODS)[:4],)}
    monkeypatch.setattr(widths, "METHODS", few)
    report = run(replace(widths.STUDY, load=toy), Plan(repeat=2), n_jobs=1)
    errors = report.tables[0]
    assert [row["set"] for row in errors.rows] == ["Boston", "highway"]
    assert errors.rows[0][ARD_EVIDENCE].mean < errors.rows[0][ONE_EVIDENCE].mean
    assert "as there are more widths than a fifth of the rows: highway." in report.summary
    assert len(report.tables[2].rows) == 2 * 3


def test_rivals_learn():
    cell = {}
    A, a, B, b = split(*toy(None)["Boston"], (0, 0))
    for name in list(METHODS)[4:]:
        model, _ = METHODS[name](A, a)
        cell[name] = np.mean((model.predict(B) - b) ** 2)
    assert max(cell.values()) < 0.6


def test_draws_are_named_apart():
    assert str(Draw("Boston", 3)) == "Boston, draw 3" and len(SETS) == 4
