"""Contenders of `kernels` agree on small data, and a loop that is timed on a few pairs counts for all.

Tests of `iokr_lab.bench.kernels.graphs`, `iokr_lab.bench.kernels.question`, `iokr_lab.bench.kernels.rankings`,
`iokr_lab.bench.kernels.series`, `iokr_lab.bench.kernels.sets` and `iokr_lab.bench.kernels.strings`.
"""

import numpy as np
import pytest

from iokr.kernels import Spearman
from iokr_lab import bench as benchmarks
from iokr_lab.bench import base, kernels
from iokr_lab.bench.kernels.question import LOOP, ask, pair_loop
from iokr_lab.bench.kernels.rankings import spearman_pair


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("make", kernels.QUESTIONS, ids=lambda make: make.__name__)
def test_all_contenders_agree(make, compiled):
    if not compiled and not kernels.QUESTIONS[make]:
        pytest.skip("has no compiled loops")
    question = make(seed=1, n=15, compiled=compiled)
    table, verdicts = base.ask(question, 1, lambda what: None)
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == sum(target.other in {c.name for c in question.present} for target in question.targets)


def test_the_time_of_the_loop_is_that_of_all_pairs(monkeypatch):
    X = [[1, 2], [2, 1], [1, 2], [2, 1]]
    question = ask("Q", Spearman(), X, spearman_pair, 2)  # 3 pairs are timed out of 10
    seconds = {question.ours.run: 1.0, question.find(LOOP).run: 60.0}
    monkeypatch.setattr(base, "_seconds", lambda run: seconds[run])
    table, (verdict,) = base.ask(question, 1, lambda what: None)
    assert (verdict.measured, verdict.met) == (pytest.approx(200.0), True)
    assert [row["seconds"] for row in table.rows] == [1.0, pytest.approx(200.0)]


def test_the_loop_visits_every_pair():
    X = np.arange(4.0)
    np.testing.assert_array_equal(
        pair_loop(X, lambda x, z: 10 * min(x, z) + max(x, z)),
        [[10 * min(x, z) + max(x, z) for z in X] for x in X],
    )


@pytest.mark.slow
def test_a_quick_run_answers_every_question():
    report = benchmarks.run("kernels", repeat=1, quick=True)
    assert {table.title[:3] for table in report.tables} == {f"({letter})" for letter in "abcdefghijklm"}
    assert all(row.get("seconds", 1.0) > 0 for table in report.tables for row in table.rows)
