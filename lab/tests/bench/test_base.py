"""Contenders take turns, must agree, and are compared by their medians."""

from dataclasses import replace

import numpy as np
import pytest

from iokr_lab.bench import base
from iokr_lab.bench.base import (
    Benchmark,
    Contender,
    Disagreement,
    Question,
    Target,
    Verdict,
    ask,
    check_agreement,
    growth,
    sized,
    survey,
)


def contender(name, role="baseline", value=1.0, called=None, needs=None):
    def run():
        if called is not None:
            called.append(name)
        return value

    return Contender(name, run, lambda answer: {"value": answer}, role, needs)


def question(**changes):
    three = (contender("ours", "ours"), contender("baseline"), contender("floor", "floor"))
    return replace(Question("a question", three), **changes)


@pytest.fixture
def clock(monkeypatch):
    """Durations that the contenders will be said to have taken, instead of a clock."""
    durations = {}

    def seconds(run):
        run()
        return durations[run].pop(0)

    monkeypatch.setattr(base, "_seconds", seconds)
    return durations


def test_the_figures_are_medians_and_ratios_of_medians(clock):
    asked = question(targets=(Target("floor", at_most=1.5), Target("baseline", at_least=2.0)))
    ours, baseline, floor = (c.run for c in asked.contenders)
    clock.update({ours: [3.0, 2.0, 90.0], baseline: [5.0, 7.0, 6.0], floor: [1.0, 9.0, 1.5]})
    table, verdicts = ask(asked, 3, lambda what: None)
    first, second, third = table.rows
    assert (first["seconds"], first["fastest"], first["slowest"]) == (3.0, 2.0, 90.0)
    assert (first["× floor"], second["× floor"], third["× ours"]) == (2.0, 4.0, 0.5)
    assert [(v.measured, v.met) for v in verdicts] == [(2.0, False), (2.0, True)]


def test_where_a_part_is_timed_the_figures_are_those_of_the_whole(clock):
    part = replace(contender("baseline"), whole=lambda: (40.0, " (400 steps)"))
    asked = question(contenders=(contender("ours", "ours"), part), targets=(Target("baseline", at_least=50.0),))
    ours, baseline = (c.run for c in asked.contenders)
    clock.update({ours: [1.0], baseline: [2.0]})
    table, (verdict,) = ask(asked, 1, lambda what: None)
    assert (verdict.measured, verdict.met) == (80.0, True)
    assert table.rows[1] == {
        "contender": "baseline (400 steps)", "seconds": 80.0, "fastest": 80.0, "slowest": 80.0, "× ours": 80.0,
    }  # fmt: skip


def test_questions_come_at_their_own_sizes_or_at_small_ones():
    asked = []

    def make(*, seed, n=1000):
        asked.append((seed, n))

    for quick in (False, True):
        (build,) = sized({"make": {"n": 3}}, make)(7, quick)
        build()
    assert asked == [(7, 1000), (7, 3)]


def test_growth_is_evaluated_between_a_size_and_its_double(clock):
    asked = growth("Q", lambda n: lambda: n, 10, 4.0, "")
    clock.update({contender.run: [seconds] for contender, seconds in zip(asked.contenders, (10.0, 2.0), strict=True)})
    table, (verdict,) = ask(asked, 1, lambda what: None)
    assert [row["contender"] for row in table.rows] == ["n = 20", "n = 10"]
    assert (verdict.measured, verdict.met) == (5.0, False)


def test_contenders_take_turns_and_everybody_begins_once():
    called = []
    roles = {"a": "ours", "b": "baseline", "c": "floor"}
    three = tuple(contender(name, role, called=called) for name, role in roles.items())
    steps = []
    ask(question(contenders=three), 3, steps.append)
    assert "".join(called) == "abc" + "abc" + "bca" + "cab"  # the first round only compares the answers
    assert steps == ["a question"] * 12


@pytest.mark.parametrize(("repeat", "rounds"), [(1, 1), (5, 2)])
def test_a_long_question_takes_fewer_rounds(repeat, rounds):
    called, steps = [], []
    long = question(contenders=(contender("a", "ours", called=called), contender("b", called=called)), rounds=2)
    benchmark = Benchmark("A survey", lambda seed, quick: [lambda: long], n_threads=1)
    survey(benchmark, repeat=repeat, seed=0, progress=lambda *step: steps.append(step), quick=False)
    assert len(called) == 2 * (1 + rounds)
    assert {total for _, total, _ in steps} == {2 * (1 + rounds)}


def test_a_contender_that_is_not_installed_is_named_as_skipped():
    absent = contender("guest", needs="no_such_package_anywhere")
    asked = question(contenders=(contender("ours", "ours"), absent), targets=(Target("guest", at_least=2.0),))
    table, verdicts = ask(asked, 1, lambda what: None)
    assert table.rows[1] == {"contender": "guest (skipped: no_such_package_anywhere is not installed)"}
    assert verdicts == []


def test_contenders_that_disagree_stop_the_benchmark():
    asked = question(contenders=(contender("ours", "ours", 1.0), contender("baseline", value=1.0 + 1e-6)))
    with pytest.raises(Disagreement, match="value: ours and baseline differ by 1e-06"):
        ask(asked, 1, lambda what: None)
    ask(replace(asked, rtol=1e-5), 1, lambda what: None)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 2.0], [1.0, np.nan], "differ by nan"),
        ([np.nan], [np.nan], "differ by nan"),
        ([1.0, 2.0], [1.0], "gives shape"),
        ([0.0], [1e-12], "differ"),
    ],
)
def test_answers_must_agree_entry_by_entry(a, b, message):
    with pytest.raises(Disagreement, match=message):
        check_agreement({"one": {"value": a}, "other": {"value": b}}, 1e-8)


def test_only_answers_of_the_same_name_are_compared():
    check_agreement({"one": {"errors": [1.0]}, "other": {"folds": [2.0]}, "third": {"errors": [1.0]}}, 1e-8)
    with pytest.raises(Disagreement, match="one and third"):
        check_agreement({"one": {"errors": [1.0]}, "other": {"folds": [2.0]}, "third": {"errors": [3.0]}}, 1e-8)


@pytest.mark.parametrize(
    ("verdict", "met", "target"),
    [
        (Verdict("x", 1.2, at_most=1.15), False, "≤ 1.15"),
        (Verdict("x", 1.1, at_most=1.15), True, "≤ 1.15"),
        (Verdict("x", 7.9, at_least=8.0), False, "≥ 8"),
        (Verdict("x", 8.0, at_least=8.0), True, "≥ 8"),
    ],
)
def test_a_verdict_says_whether_the_target_is_met(verdict, met, target):
    assert verdict.row() == {"what": "x", "target": target, "measured": verdict.measured, "met": met}


class FakeFootprint:
    """Memory that needs no process of its own."""

    what = "holding"

    def measure(self, n_threads):
        return 1000 * n_threads

    def row(self, size):
        return {"what": self.what, "MB": size / 1e6}


@pytest.mark.parametrize(("load", "warned"), [(0.1, False), (1.7, True)])
def test_a_busy_machine_is_told(load, warned, monkeypatch):
    monkeypatch.setattr(base, "_load", lambda: load)
    benchmark = Benchmark("A survey", lambda seed, quick: [question], n_threads=1)
    report = survey(benchmark, repeat=1, seed=0, progress=lambda *step: None, quick=False)
    assert any("1.7 cores busy" in note for note in report.notes) == warned


@pytest.mark.parametrize("evaluated", [True, False])
def test_a_survey_reports_tables_targets_notes_and_machine(evaluated):
    steps = []
    asked = question(
        contenders=(*question().contenders, contender("guest", needs="no_such_package_anywhere")),
        targets=(Target("floor", at_most=1e9),),
    )
    benchmark = Benchmark(
        "A survey",
        lambda seed, quick: [lambda: asked],
        lambda seed, quick: [FakeFootprint()],
        lambda sizes: [Verdict("bytes", sizes[0], at_most=1999)],
        notes=("Said by hand.",),
    )
    report = survey(benchmark, repeat=2, seed=7, progress=lambda *step: steps.append(step), quick=not evaluated)
    assert [table.title for table in report.tables] == ["a question", "Peak memory"] + ["Targets"] * evaluated
    if evaluated:
        assert [row["met"] for row in report.tables[-1].rows] == [True, False]
    assert report.tables[1].rows == [{"what": "holding", "MB": 0.002}]
    assert any("guest" in note for note in report.notes)
    assert report.notes[-1] == "Said by hand."
    assert (report.info["seed"], report.info["threads"]) == (7, 2)
    assert report.info["BLAS"]
    assert [done for done, _, _ in steps] == list(range(3 * 3 + 1 + 1))
    assert {total for _, total, _ in steps} == {10}


def test_time_is_taken_of_the_run_alone(monkeypatch):
    now = iter([10.0, 12.5])
    slept = []
    monkeypatch.setattr(base, "perf_counter", lambda: next(now))
    monkeypatch.setattr(base, "sleep", slept.append)
    assert base._seconds(lambda: None) == 2.5
    assert slept == [base._PAUSE]
