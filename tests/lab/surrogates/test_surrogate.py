"""`surrogate`: the same coordinates for all three, and a page that says which is best."""

import numpy as np
import pytest

from iokr.kernels import RBF, Tanimoto
from iokr_lab.study import Results
from iokr_lab.surrogates.surrogate import BIBTEX, METHODS, STUDY, USPS, Fit, Task

pytest.importorskip("torch")

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 5))
LOWER = np.tanh(X @ rng.normal(size=(5, 4)))
LABELS = (X @ rng.normal(size=(5, 6)) > 0.3).astype(float)
DATA = {
    USPS: Task(X[:100], LOWER[:100], X[100:], LOWER[100:], RBF(0.1), (RBF(0.1), RBF(0.3))),
    BIBTEX: Task(X[:100], LABELS[:100], X[100:], LABELS[100:], Tanimoto(), (RBF(0.1),)),
}


def test_every_case_and_the_page():
    pytest.importorskip("matplotlib")
    plan = STUDY.plan("short")
    every = STUDY.cases(plan, DATA)
    assert {case.rows for case in every} == {100}  # no more than there are
    assert len(every) == 2 * len(METHODS)
    cells = {case: STUDY.work(case, plan, DATA) for case in every}
    for name in DATA:
        floors = {round(cells[Fit(name, 100, method, 0)]["floor"], 12) for method in METHODS}
        assert len(floors) == 1, "one sketch for all"
        for method in METHODS:
            cell = cells[Fit(name, 100, method, 0)]
            assert cell["floor"] <= cell["feature error"] <= 1.5
            assert 0 <= cell["error"] <= 1
    closed = cells[Fit(USPS, 100, METHODS[0], 0)]
    assert closed["error"] < 0.1, "tanh of few directions is learned"
    page = STUDY.page(Results(cells), plan, DATA).html()
    assert "the best is the" in page
    assert all(method in page for method in METHODS)
