"""The list of benchmarks, and how one is run.

Tests of `iokr_lab.bench.gpu`.
"""

import subprocess
import sys

import pytest

from iokr.apps.report import Report
from iokr_lab import bench as benchmarks


def test_every_benchmark_has_a_title_and_a_module_with_questions():
    from importlib import import_module

    from iokr_lab.bench.base import Benchmark

    for name, title in benchmarks.available():
        assert title
        assert isinstance(import_module(f"iokr_lab.bench.{name}").BENCHMARK, Benchmark)


def test_the_list_costs_nothing():
    code = "import sys; from iokr_lab.bench import available; available(); print('numpy' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False"]


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"`name` must be one of ridge.*, got 'nothing'"):
        benchmarks.run("nothing")


@pytest.mark.parametrize("repeat", [0, -1, 1.5, True])
def test_repeat_must_be_a_positive_integer(repeat):
    with pytest.raises(ValueError, match="`repeat` must be a positive integer"):
        benchmarks.run("ridge", repeat=repeat)


@pytest.mark.slow
def test_a_quick_run_answers_every_question_and_names_the_machine():
    steps = []
    report = benchmarks.run("ridge", repeat=1, quick=True, progress=lambda *step: steps.append(step))
    assert isinstance(report, Report)
    assert [table.title[:3] for table in report.tables] == ["(a)", "(b)", "(c)", "(d)", "Pea"]
    assert all(row.get("seconds", 1.0) > 0 for table in report.tables[:4] for row in table.rows)
    assert {"processor", "BLAS", "threads", "versions", "seed"} <= report.info.keys()
    done, total, _ = zip(*steps, strict=True)
    assert list(done) == list(range(total[-1] + 1))
