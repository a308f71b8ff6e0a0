"""A paired test of the best setting; tests of `iokr_lab.pairs.data`, too."""

import pytest

from iokr_lab.pairs.significance import significance_table
from iokr_lab.tables import difference


def test_the_best_against_both():
    best, other, third = [0.9, 0.91, 0.93], [0.8, 0.82, 0.81], [0.9, 0.92, 0.92]
    table = significance_table(
        {
            "interaction, exp": ("duplicate", best, {"TPPK": other, "local models": third}),
            "metabolic, loc": ("both", best, {"TPPK": best, "local models": other}),
        },
        3,
    )
    assert [row["minus"] for row in table.rows] == ["TPPK", "local models", "local models"]
    assert [row["published"] for row in table.rows] == ["p < 1e-3", "p < 1e-3", "–"]
    expected = difference(best, other, ratio=0.5)
    assert table.rows[0]["p"] == f"{expected.p:.1g}" and table.rows[0]["wins"] == "3 of 3"
    assert float(table.rows[0]["p, Holm"]) == pytest.approx(min(1, 3 * expected.p), rel=0.1)
