"""Shared tables: the paired test against slow code and SciPy, Holm against its definition, published beside ours."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel

from iokr.apps.report import Spread
from iokr_lab.tables import beside, chosen, difference, frequent, holm, median_range, paired

rng = np.random.default_rng(0)
A, B = rng.normal(1.0, 1.0, 12), rng.normal(0.5, 1.0, 12)


def test_without_a_ratio_it_is_the_paired_t_test():
    found = difference(A, B, ratio=0.0)
    assert found.p == pytest.approx(ttest_rel(A, B).pvalue, rel=1e-12)
    assert found.mean == pytest.approx(np.mean(A - B)) and found.wins == sum(A > B)


@pytest.mark.parametrize("ratio", [1 / 9, 0.25, 1.0])
def test_nadeau_and_bengio_by_hand(ratio):
    d = [a - b for a, b in zip(A, B, strict=True)]
    mean = sum(d) / len(d)
    variance = sum((x - mean) ** 2 for x in d) / (len(d) - 1)
    t = mean / math.sqrt((1 / len(d) + ratio) * variance)
    found = difference(A, B, ratio=ratio)
    assert found.p == pytest.approx(2 * (1 - student.cdf(abs(t), len(d) - 1)), rel=1e-9)
    assert found.error == pytest.approx(mean / t)
    assert found.p > ttest_rel(A, B).pvalue, "splits that share examples are worth less than independent ones"


def test_few_or_equal_values():
    assert math.isnan(difference([1.0], [0.5], ratio=0.1).p)
    assert difference([1.0, 2.0], [1.0, 2.0], ratio=0.1).p == 1.0
    assert difference([1.0, 2.0], [2.0, 3.0], ratio=0.1, larger=False).wins == 2


def test_holm_is_its_definition():
    p = [0.04, 0.01, math.nan, 0.03, 0.5]
    order = sorted(x for x in p if not math.isnan(x))
    expected = {x: max(min(1.0, (4 - i) * order[i]) for i in range(order.index(x) + 1)) for x in order}
    assert holm(p)[2] is p[2]
    assert [v for v in holm(p) if not math.isnan(v)] == [expected[x] for x in p if not math.isnan(x)]


def test_paired_table():
    rows = [({"set": "x"}, difference(A, B, ratio=0.1)), ({"set": "y"}, difference([1.0], [2.0], ratio=0.1))]
    table = paired("title", rows, note="Of us.")
    assert table.columns == ["set", "difference", "wins", "p", "p, Holm"]
    assert table.rows[1]["p"] is None and table.rows[1]["difference"] == "-1.000"
    assert table.rows[0]["p"] == table.rows[0]["p, Holm"]
    assert table.note.startswith("Of us. ± is the standard error of Nadeau")


def test_beside_has_both_or_a_dash():
    published = {"EM": {"ROC": Spread(80.6, 1.1, digits=1)}, "SVM": {"ROC": Spread(83.8, 1.4, digits=1)}}
    table = beside("t", published, {"EM": {"ROC": [80.0, 82.0]}, "own": {"ROC": [90.0]}}, columns=("ROC",))
    assert table.texts() == [["EM", "80.6 ± 1.1", "81.0 ± 1.4"], ["SVM", "83.8 ± 1.4", "–"], ["own", "–", "90.0"]]
    assert table.ours == ("ROC, ours",)


def test_chosen():
    frame = pd.DataFrame(
        {
            "set": ["x"] * 3 + ["y"] * 2,
            "method": ["a", "a", "a", "a", "b"],
            "alpha": [1.0, 0.1, 1.0, 3.0, math.nan],
            "kernel": ["k", "k", "l", "l", None],
        }
    )
    by, what = {"set": "set", "method": "method"}, {"alpha": "λ", "kernel": "kernel"}
    counted = chosen(frame, by=by, what=what)
    assert counted.texts() == [["x", "a", "1 (2 ×); 0.1 (1 ×)", "k (2 ×); l (1 ×)"], ["y", "a", "3 (1 ×)", "l (1 ×)"]]
    assert chosen(frame, by=by, what=what, numbers="range").rows[0]["λ"] == "1 (0.1 to 1)" == median_range([1, 0.1, 1])
    assert frequent("abbccc", most=2) == "c (3 ×); b (2 ×)"
