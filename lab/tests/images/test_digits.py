"""`digits`, on fewer of them: its errors are what they say they are."""

import numpy as np
import pytest

from iokr.apps.report import Figure, Pictures
from iokr_lab import find
from iokr_lab.images.halves import halves, upper_only, whole


@pytest.fixture(scope="module")
def report():
    return find("digits").run(plan="short", seed=0)


def test_errors_are_below_both_baselines(report):
    errors = {row["method"]: row["error"] for row in report.tables[0].rows}
    assert errors["IOKR"] < errors["IOKR, output kernel"] < errors["mean image"]
    assert errors["IOKR"] < errors["nearest neighbour"]
    assert report.tables[0].rows[-1]["relative to mean image"] == "100%"


def test_path_shows_the_choice_and_its_held_out_error(report):
    path = report.tables[1].rows
    [chosen] = [row for row in path if row["chosen"]]
    assert chosen["leave-one-out error"] == min(row["leave-one-out error"] for row in path)
    assert chosen["held-out error"] == pytest.approx(report.tables[0].rows[0]["error"], rel=1e-6)


def test_page_has_pictures_of_ten_digits_and_the_curve(report):
    [pictures] = [item for item in report.items if isinstance(item, Pictures)]
    assert list(pictures.rows)[:2] == ["input", "true"]
    assert all(len(row) == 10 for row in pictures.rows.values())
    assert sum(isinstance(item, Figure) for item in report.items) == 1
    assert report.html().count("<img") == 10 * len(pictures.rows)


def test_nothing_is_repeated():
    with pytest.raises(ValueError, match="`repeat` must be 1"):
        find("digits").run(repeat=2)


def test_halves_make_a_whole():
    images = np.arange(2 * 16.0).reshape(2, 16)
    upper, lower = halves(images)
    assert np.array_equal(np.array(whole(upper, lower)).reshape(2, 16), images)
    assert np.array_equal(np.array(whole(upper, lower))[:, :2].reshape(2, 8), upper)
    given = np.array(upper_only(upper))
    assert np.isnan(given[:, 2:]).all() and np.array_equal(given[:, :2].reshape(2, 8), upper)
