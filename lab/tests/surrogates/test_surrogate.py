"""`surrogate`: the same coordinates for all three methods, and the page.

Tests of `iokr_lab.surrogates.threads`.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from time import process_time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from iokr.kernels import RBF, Tanimoto
from iokr_lab.study import Results
from iokr_lab.surrogates import surrogate
from iokr_lab.surrogates.surrogate import BIBTEX, METHODS, STUDY, USPS, Fit, Task
from iokr_lab.surrogates.threads import one_thread

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


@pytest.mark.parametrize("method", METHODS)
def test_seconds_are_all_that_the_processor_did(method, monkeypatch):
    """Alone in the process, a method takes in its thread what the process takes: nothing is done by other threads.

    The clocks are read one after the other, and the process has a few threads of its own: a tenth.
    """
    task = _larger()
    plan = replace(STUDY.plan("short"), epochs=8)
    real, whole = surrogate._fitted, []

    def timed(*arguments):
        start = process_time()
        found = real(*arguments)
        whole.append(process_time() - start)
        return found

    monkeypatch.setattr(surrogate, "_fitted", timed)
    with threadpool_limits(1, user_api="blas"):  # a study sets it before torch is there, whose threads it then misses
        surrogate.work(Fit(USPS, 1500, method, 0), plan, {USPS: task})  # loads what is loaded lazily
        cell = surrogate.work(Fit(USPS, 1500, method, 0), plan, {USPS: task})
    assert whole[1] > 0.05, "enough to be measured"
    assert cell["fit"] == pytest.approx(whole[1], rel=0.1, abs=0.01)


def _larger():
    wide = rng.normal(size=(1600, 40))
    outputs = np.tanh(wide @ rng.normal(size=(40, 30)))
    return Task(wide[:1500], outputs[:1500], wide[1500:], outputs[1500:], RBF(0.1), (RBF(0.01),))


def test_what_torch_was_set_to_comes_back():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        inside = []
        both = Barrier(2)

        def one():
            with one_thread():
                both.wait()
                inside.append(torch.get_num_threads())
                both.wait()

        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(one) for _ in range(2)]:
                future.result()
        assert inside == [1, 1]
        assert torch.get_num_threads() == 3
        with pytest.raises(ValueError, match="inside"), one_thread():
            raise ValueError("inside")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_torch_is_there_before_the_threads(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ImportError, match="needs torch: pip install"):
        STUDY.load(STUDY.plan("short"))
