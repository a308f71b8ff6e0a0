"""The runner on a small study: order and number of threads change nothing, finished cells are found again.

Tests of `iokr_lab.experiment`.
"""

import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from iokr._system.folders import ResultFolder
from iokr.apps.report import Report, Table, write_run
from iokr.datasets import DataNotFound
from iokr_lab import EXPERIMENTS, Experiment, find
from iokr_lab import study as study_module
from iokr_lab.study import Case, Plan, Results, Study, run


@dataclass(frozen=True)
class SmallPlan(Plan):
    grid: tuple[float, ...] = (0.5, 1.0)


@dataclass(frozen=True)
class Draw(Case):
    method: str
    draw: int


@dataclass(frozen=True)
class Extra(Case):
    level: float


def make(work=None, **more):
    """Two methods on every draw, and one case of another kind."""

    def cases(plan, data):
        return [*(Draw(name, i) for i in range(plan.repeat) for name in ("a", "b")), Extra(0.25)]

    def measure(case, plan, data):
        rng = np.random.default_rng([plan.seed, len(str(case))])
        return {"error": data * rng.random(), "areas": {"roc": 1.0}, "curve": np.arange(2), "best": plan.grid[-1]}

    def page(results, plan, data):
        return Report("t", "s", (Table("rows", results.frame(Draw).to_dict("records")),))

    plans = {"short": SmallPlan(grid=(0.5,)), "default": SmallPlan(repeat=3)}
    return Study(plans=plans, load=lambda plan: 2.0, cases=cases, work=work or measure, page=page, **more)


def test_every_case_has_a_cell_and_the_page_gets_all():
    study = make()
    report = run(study, study.plan(seed=4))
    rows = report.tables[0].rows
    assert [(row["method"], row["draw"]) for row in rows] == [(m, i) for i in range(3) for m in "ab"]
    assert rows[0]["curve"] == [0, 1] and rows[0]["areas.roc"] == 1.0
    assert report.info["seed"] == 4 and report.info["seconds"] >= 0 and report.info["cells"] == 7
    assert report.info["plan"] == {"seed": 4, "repeat": 3, "grid": (0.5, 1.0)}


def test_results_do_not_depend_on_threads_or_on_resuming(tmp_path):
    study = make()
    plan = study.plan(seed=1)
    alone, beside = (run(study, plan, n_jobs=n).metrics() for n in (1, 4))
    run(study, study.plan(seed=1, repeat=1), folder=tmp_path)
    resumed = run(study, plan, folder=tmp_path)
    assert alone == beside and resumed.metrics()["tables"] == alone["tables"]
    assert resumed.notes == ("3 of 7 cells were found from an earlier run.",)


@pytest.mark.parametrize("other", [{"seed": 2}, {"name": "short"}])
def test_another_seed_or_plan_finds_nothing(other, tmp_path):
    study = make()
    run(study, study.plan(), folder=tmp_path)
    assert run(study, study.plan(**other), folder=tmp_path).notes == ()


def test_other_data_finds_nothing(tmp_path):
    study, file = make(), tmp_path / "data.txt"
    file.write_text("one")
    run(study, study.plan(), folder=tmp_path, files=[file])
    assert run(study, study.plan(), folder=tmp_path, files=[file]).notes
    file.write_text("two")
    assert not run(study, study.plan(), folder=tmp_path, files=[file]).notes


def test_progress_counts_the_cases():
    study, steps = make(), []
    run(study, study.plan(repeat=2), progress=lambda *step: steps.append(step), n_jobs=1)
    assert steps[:2] == [(0, 1, "reading the data"), (0, 5, "5 to run")] and steps[-1] == (5, 5, "drawing the page")
    assert steps[2:-1] == [
        *((2 * i + j + 1, 5, f"{name}, draw {i}") for i in range(2) for j, name in enumerate("ab")),
        (5, 5, "level 0.25"),
    ]


def test_what_was_found_takes_no_time(tmp_path):
    """It is told at once, so that the time that is left is counted from what is run."""
    study, steps = make(), []
    run(study, study.plan(repeat=1), folder=tmp_path)
    run(study, study.plan(repeat=2), folder=tmp_path, progress=lambda *step: steps.append(step), n_jobs=1)
    assert steps[1] == (3, 5, "3 found from an earlier run, 2 to run")
    assert [done for done, *_ in steps[2:]] == [4, 5, 5]


def test_side_by_side_with_one_blas_thread_each():
    both = threading.Barrier(2, timeout=20)
    seen = []

    def work(case, plan, data):
        both.wait()
        seen.append({pool["num_threads"] for pool in threadpool_info()})
        return {}

    study = Study(
        plans={"default": Plan(repeat=2)},
        load=lambda plan: None,
        cases=lambda plan, data: [Draw("a", i) for i in range(plan.repeat)],
        work=work,
        page=lambda results, plan, data: Report("t", "s"),
    )
    run(study, study.plan(), n_jobs=2)
    assert seen == [{1}, {1}]


def _numbered(plan):
    return [Draw("a", i) for i in range(plan.repeat)]


def _process(case, plan, data):
    warnings.warn("This is known, and more.", UserWarning, stacklevel=1)
    threads = {pool["num_threads"] for pool in threadpool_info()}
    return {"process": os.getpid(), "threads": max(threads, default=1), "value": data + case.draw}


def test_processes_compute_the_same_with_one_thread_each_and_resume(tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle")  # a part of joblib before 1.6
    cloudpickle.register_pickle_by_value(
        sys.modules[__name__]
    )  # which other processes cannot import by this name everywhere
    study = Study(
        plans={"default": Plan(repeat=4)},
        load=lambda plan: 2.0,
        cases=lambda plan, data: _numbered(plan),
        work=_process,
        page=lambda results, plan, data: Report("t", "s", (Table("rows", results.frame(Draw).to_dict("records")),)),
        ignored=("This is known",),
        processes=True,
    )
    run(study, study.plan(repeat=1), folder=tmp_path, n_jobs=2)
    report = run(study, study.plan(), folder=tmp_path, n_jobs=2)
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    rows = report.tables[0].rows
    assert [row["value"] for row in rows] == [2.0, 3.0, 4.0, 5.0]
    assert all(row["process"] != os.getpid() and row["threads"] == 1 for row in rows)
    assert report.notes == ("1 of 4 cells were found from an earlier run.",)


def test_cases_with_one_name_are_refused():
    study = make()
    same = Study(**{**vars(study), "cases": lambda plan, data: [Draw("a", 0), Draw("a", 0)]})
    with pytest.raises(ValueError, match="have the same name, 'a, draw 0'"):
        run(same, same.plan())


def test_warnings_that_the_page_answers_are_silent():
    def work(case, plan, data):
        warnings.warn("This is known, and more.", UserWarning, stacklevel=1)
        return {"error": 0.0}

    study = make(work, ignored=("This is known",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(study, study.plan(), n_jobs=2)


def test_plans():
    study = make()
    assert study.plan("short", seed=3) == SmallPlan(3, 1, (0.5,))
    assert study.plan(repeat=7).repeat == 7
    with pytest.raises(ValueError, match="must be a plan of this experiment, short, default"):
        study.plan("full")
    once = Study(**{**vars(study), "plans": {"default": SmallPlan(repeat=0)}})
    assert once.plan(repeat=1).repeat == 1
    with pytest.raises(ValueError, match="`repeat` must be 1"):
        once.plan(repeat=2)


def test_results_by_case():
    results = Results({Draw("a", 0): {"x": {"y": 1}}, Draw("b", 0): {"x": {"y": 2}}, Extra(0.5): {"x": 3}})
    assert results[Draw("b", 0)] == {"x": {"y": 2}} and len(results) == 3
    assert list(results.of(Draw, method="b")) == [Draw("b", 0)]
    assert results.numbers(Draw, "x.y") == [1, 2] and results.numbers(Extra, "x", level=0.5) == [3]
    assert results.frame(Draw, draw=0)["x.y"].tolist() == [1, 2]


# ------------------------------------------------------------------------------------------------------- the registry


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_experiment_has_its_study(experiment):
    study = import_module(f"iokr_lab.{experiment.module}").STUDY
    assert {"short", "default"} <= set(study.plans) <= {"short", "default", "full"}
    assert experiment.title


def test_names_are_unique_and_papers_named():
    assert len({e.name for e in EXPERIMENTS}) == len(EXPERIMENTS)
    assert all(e.paper for e in EXPERIMENTS)


def test_the_list_imports_no_experiment():
    code = (
        "import sys, iokr_lab\nheavy = ('sklearn', 'pandas', 'scipy', 'iokr.est', 'iokr_lab.images')\nprint([name for "
        "name in sys.modules if name.startswith(heavy)])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_find():
    assert find("usps") is EXPERIMENTS[0]
    with pytest.raises(ValueError, match="no experiment 'nonsense'; there is usps"):
        find("nonsense")


def test_missing_data_is_said_before_running(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    experiment = Experiment("absent", "t", "p", "images.usps", data=("one", "two"))
    said = experiment.missing()
    assert said.startswith(f"one, two are not in {tmp_path} (IOKR_DATA)") and "folder that holds them" in said
    (tmp_path / "two").mkdir()
    assert experiment.missing().startswith("one is not in")
    with pytest.raises(DataNotFound, match="one is not in"):
        experiment.run()


def test_an_experiment_runs_its_study(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "x.npz").write_bytes(b"abc")
    monkeypatch.setattr(study_module, "STUDY", make(), raising=False)
    experiment = Experiment("small", "t", "p", "study", data=("one",))
    report = experiment.run(plan="short", seed=5, repeat=2, folder=tmp_path / "run")
    assert report.info["plan"] == {"seed": 5, "repeat": 2, "grid": (0.5,)}
    assert report.info["data"]["one/x.npz"].startswith("ba7816bf")
    assert (tmp_path / "run.partial" / "cells.jsonl").read_text("utf-8") == report.files["cells.jsonl"]
    write_run(report, tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "run"]
    again = experiment.run(plan="short", seed=5, repeat=3, folder=tmp_path / "run")
    assert again.files["cells.jsonl"].startswith(report.files["cells.jsonl"]), "what was finished is used again"
    assert "5 of 7 cells were found" in again.notes[-1]


def test_two_runs_of_a_study_into_one_folder_are_told_apart(tmp_path):
    with ResultFolder(tmp_path / "run").reserved():
        waiting = ThreadPoolExecutor(1).submit(run, make(), make().plan(), folder=tmp_path / "run")
        with pytest.raises(BlockingIOError, match="another run is writing"):
            waiting.result()
