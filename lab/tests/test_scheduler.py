"""A study on real processes of dask.distributed: the numbers of one process, kept as they come; what is refused.

Tests of `iokr_lab.scheduler`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("distributed")

from iokr.cli import app
from iokr_lab.scheduler import on_workers
from iokr_lab.study import run

STUDY = """
import os
from dataclasses import dataclass
import numpy as np
from iokr import IOKR
from iokr.apps.report import Report, Table
from iokr_lab.study import Case, Plan, Study

@dataclass(frozen=True)
class Draw(Case):
    draw: int

def work(case, plan, data):
    if case.draw < 0:
        raise ValueError("there is no such draw")
    rng = np.random.default_rng([plan.seed, case.draw])
    X = rng.normal(size=(30, 2))
    return {"h": float(IOKR().fit(X, data * X[:, 0]).predict(X[:1])[0]), "process": os.getpid()}

def page(results, plan, data):
    return Report("t", "s", (Table("rows", results.frame().to_dict("records")),))

STUDY = Study(
    plans={"default": Plan(repeat=6)},
    load=lambda plan: 2.0,
    cases=lambda plan, data: [Draw(i) for i in range(plan.repeat)],
    work=work,
    page=page,
)
"""


def started(folder: Path, program: str, *words: str) -> subprocess.Popen:
    paths = [str(folder), *sys.path]
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{program}", "--no-dashboard", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a scheduler with two workers, each a process of its own, and a study that all can import."""
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "small_study.py").write_text(STUDY)
    note = folder / "scheduler.json"
    running = [started(folder, "scheduler", "--port", "0", "--scheduler-file", str(note))]
    own = ("--scheduler-file", str(note), "--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
    sys.path.insert(0, str(folder))
    try:
        running += [started(folder, "worker", *own) for _ in range(2)]
        from distributed import Client

        until = time.monotonic() + 200
        while not note.exists():
            assert time.monotonic() < until, "the scheduler did not start"
            time.sleep(0.1)
        with Client(scheduler_file=str(note), set_as_default=False, timeout="120s") as client:
            client.wait_for_workers(2, timeout=200)
            where = client.scheduler.address
        yield where
    finally:
        sys.path.remove(str(folder))
        for process in running:
            process.kill()
            process.wait()


def by(address, plan):
    return lambda cases, data: on_workers(address, "small_study", plan, cases, (), data)


def test_the_same_numbers_as_in_this_process(cluster, tmp_path):
    study = import_module("small_study").STUDY
    plan = study.plan(seed=3)
    here, there = run(study, plan), run(study, plan, folder=tmp_path / "run", remote=by(cluster, plan))
    mine, theirs = (report.tables[0].rows for report in (here, there))
    assert [row["h"] for row in theirs] == pytest.approx([row["h"] for row in mine], rel=1e-12)
    assert os.getpid() not in {row["process"] for row in theirs} and len({row["process"] for row in theirs}) == 2
    again = run(study, plan, folder=tmp_path / "run", remote=by("nowhere", plan))  # nothing is computed
    assert again.notes == ("6 of 6 cells were found from an earlier run.",)


def test_an_error_on_a_worker_comes_out_and_what_was_finished_is_kept(cluster):
    study = import_module("small_study")
    found = []
    with pytest.raises(ValueError, match="there is no such draw"):
        found.extend(by(cluster, study.STUDY.plan())([study.Draw(-1)], {}))


def test_other_data_on_a_worker_is_refused(cluster):
    study = import_module("small_study")
    with pytest.raises(ValueError, match="made-up/file must be the same file on all workers"):
        list(by(cluster, study.STUDY.plan(seed=9))([study.Draw(0)], {"made-up/file": "0" * 64}))


def test_another_version_is_refused(cluster, monkeypatch):
    study = import_module("small_study")
    monkeypatch.setattr("iokr.__version__", "99")
    with pytest.raises(ValueError, match=r"must have workers with iokr 99"):
        list(by(cluster, study.STUDY.plan())([study.Draw(0)], {}))


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:1", "nonsense://x"])
def test_no_scheduler_is_one_sentence(wrong, monkeypatch, tmp_path):
    monkeypatch.setattr("iokr_lab.scheduler._TIMEOUT", "1s")
    words = ["reproduce", "robust", "--short", "--scheduler", wrong, "-o", str(tmp_path / "out"), "-q"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 1 and "no scheduler answers" in found.output
    assert not (tmp_path / "out").exists()


def test_grids_of_scikit_learn_run_on_the_same_workers(cluster):
    import joblib
    import numpy as np
    from distributed import Client
    from sklearn.model_selection import GridSearchCV

    from iokr import IOKR
    from iokr.kernels import RBF

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    search = partial(GridSearchCV, IOKR(RBF(0.5)), {"alpha": [0.01, 1.0]}, cv=3)
    alone = search().fit(X, X[:, 0])
    with Client(cluster, timeout="60s") as client, joblib.parallel_config("dask", client=client):
        beside = search().fit(X, X[:, 0])
    assert beside.cv_results_["mean_test_score"] == pytest.approx(alone.cv_results_["mean_test_score"], rel=1e-12)
