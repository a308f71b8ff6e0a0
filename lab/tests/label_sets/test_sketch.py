"""Every low-rank method approaches the exact fit."""

import numpy as np
import pytest

from iokr_lab.label_sets import sketch
from iokr_lab.label_sets.sketch import EXACT, FALKON, KERNELS, SKLEARN, Fit, Ranks
from iokr_lab.splits import TrainTest

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
X /= np.linalg.norm(X, axis=1, keepdims=True)
Y = (X @ rng.normal(size=(4, 5)) > 0).astype(float)
DATA = {"made": TrainTest(X[:100], Y[:100], X[100:], Y[100:])}
PLAN = Ranks(sets=("made",), ranks=(10, 60))


def test_every_method_comes_near_the_exact_fit():
    exact = sketch._work(Fit("made", EXACT, 0, 0), PLAN, DATA)
    for method in (*KERNELS, SKLEARN, FALKON):
        found = sketch._work(Fit("made", method, 60, 0), PLAN, DATA)
        assert found["error"] == pytest.approx(exact["error"], rel=0.35)


def test_the_page_has_every_case():
    cases = sketch._cases(PLAN, DATA)
    assert len(cases) == 1 + 2 * (len(KERNELS) + 2)
    results = sketch.Results({case: sketch._work(case, PLAN, DATA) for case in cases})
    page = sketch._page(results, PLAN, DATA)
    assert "made: " in page.summary
    (table,) = (table for table in page.tables if "near the exact fit" in table.title)
    near = [row for row in table.rows[1:] if "rank" in row]
    assert near and all(row["rank"] in PLAN.ranks for row in near)


def test_the_exact_fit_is_recommended_if_no_method_comes_near():
    import pandas as pd

    rows = [{"method": EXACT, "rank": 0, "error": 1.0, "seconds": 2.0}]
    for method in (*KERNELS, SKLEARN, FALKON):
        rows.append({"method": method, "rank": 10, "error": 1.2, "seconds": 0.1})
    assert "use the exact fit" in sketch._verdict(pd.DataFrame(rows), "made")
    rows[1] |= {"error": 1.04}
    assert "within 5 % of the exact error at rank 10, in 5 % of its time" in sketch._verdict(pd.DataFrame(rows), "made")
