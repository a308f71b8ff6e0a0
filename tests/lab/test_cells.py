"""Finished cells survive whatever ends a run: an interruption, a kill, a line cut in the middle."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from iokr_lab import EXPERIMENTS
from iokr_lab.cells import Cells

RUN = {"seed": 0}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_cells_are_found_again_for_the_same_run_only(tmp_path):
    path = tmp_path / "new folder" / "cells.jsonl"
    Cells(path, RUN).add("a", {"roc": 0.5})
    again = Cells(path, RUN)
    assert again["a"] == {"roc": 0.5} and again.earlier == {"a"}
    assert "a" not in Cells(path, {"seed": 1})
    again.add("b", {"roc": 0.6})
    assert again.earlier == {"a"} and set(Cells(path, RUN).values) == {"a", "b"}


def test_cells_of_another_version_are_not_used(tmp_path, monkeypatch):
    path = tmp_path / "cells.jsonl"
    Cells(path, RUN).add("a", {})
    monkeypatch.setattr("iokr_lab.cells.__version__", "another")
    assert "a" not in Cells(path, RUN)


def test_a_line_that_was_cut_off_spoils_nothing(tmp_path):
    path = tmp_path / "cells.jsonl"
    Cells(path, RUN).add("a", {"roc": 0.5})
    with path.open("a", encoding="utf-8") as file:
        file.write('{"run": {"seed": 0}, "ce')
    second = Cells(path, RUN)
    second.add("b", {"roc": 0.6})  # not glued to what was cut off
    second.add("c", {"roc": 0.7})
    assert set(Cells(path, RUN).values) == {"a", "b", "c"}


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_fill_runs_what_is_missing_and_tells_of_everything(n_jobs, tmp_path):
    cells = Cells(tmp_path / "cells.jsonl", RUN)
    cells.add("2", {"square": 4})
    worked, told = [], []

    def work(case):
        worked.append(case)
        return {"square": case**2}

    assert cells.fill(range(5), work, told.append, n_jobs) == 1
    assert sorted(worked) == [0, 1, 3, 4]
    assert sorted(told) == ["0", "1", "2 (found)", "3", "4"]
    assert {name: cell["square"] for name, cell in cells.values.items()} == {str(i): i * i for i in range(5)}
    assert sorted(record["cell"] for record in lines(tmp_path / "cells.jsonl")) == list("01234")


def test_a_cell_is_kept_by_the_thread_that_finished_it(tmp_path):
    """Also when nobody collects it: here `step` dies at the first one, while others are under way."""
    cells = Cells(tmp_path / "cells.jsonl", RUN)
    all_at_work = threading.Barrier(3, timeout=20)

    def work(case):
        all_at_work.wait()
        return {}

    def step(what):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cells.fill(range(3), work, step, 3)
    deadline = time.monotonic() + 20
    while len(cells.values) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(lines(tmp_path / "cells.jsonl")) == 3


def test_an_error_in_a_cell_is_raised_and_the_others_are_kept(tmp_path):
    cells = Cells(tmp_path / "cells.jsonl", RUN)

    def work(case):
        return {"inverse": 1 / case}

    with pytest.raises(ZeroDivisionError):
        cells.fill([2, 1, 0, 4], work, print)
    assert {"2", "1"} <= set(Cells(tmp_path / "cells.jsonl", RUN).values)


# ------------------------------------------------------------------------------------- the command, from the outside

SCRIPT = """
import sys, time
import iokr_lab.study as base
from iokr_lab.pairs import pairs
from iokr_lab.pairs import protocol as pairs_protocol

def cell(case, protocol, seed):
    time.sleep({pause})
    return {{"roc": 0.5 + 0.01 * case.fold, "C": 1.0, "gap": 1e-4, "seconds": 0.1}}

base.data_files = lambda name: []
pairs.run_case = cell
pairs.usable_cores = lambda: 2
sys.argv = ["iokr", "reproduce", "pairs", "-o", {folder!r}, "-q"]
from iokr.cli import main
main()
"""
TOTAL = 175  # of the short protocol


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_run_that_is_ended_from_outside_goes_on_where_it_stopped(how, tmp_path):
    folder = tmp_path / "run"
    cells = folder / "cells.jsonl"

    def start(pause):
        code = SCRIPT.format(pause=pause, folder=str(folder))
        return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    first = start(0.05)
    deadline = time.monotonic() + 60
    while not (cells.exists() and cells.read_text().count("\n") >= 5) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(how)
    _, said = first.communicate(timeout=60)
    kept = lines(cells)
    assert 5 <= len(kept) < TOTAL and not (folder / "report.html").exists()
    if how == signal.SIGINT:
        assert first.returncode == 130
        assert "the same command goes on from there" in said and "Traceback" not in said
    second = start(0.0)
    _, said = second.communicate(timeout=120)
    assert second.returncode == 0, said
    assert lines(cells)[: len(kept)] == kept and len(lines(cells)) == TOTAL
    assert f"{len(kept)} of them found from an earlier run" in (folder / "report.html").read_text(encoding="utf-8")


# --------------------------------------------------------------------------------------- wired through the experiments


def test_full_and_the_folder_reach_every_resumable_experiment(monkeypatch, tmp_path):
    import importlib

    from iokr.report import Report
    from iokr_lab import study as base

    monkeypatch.setattr(base, "data_files", lambda name: [])
    resumable = [experiment for experiment in EXPERIMENTS if experiment.resumable]
    assert {"pairs", "label-ranking", "ocr-full"} <= {experiment.name for experiment in resumable}
    for experiment in resumable:
        given = {}

        def run(given=given, **options):
            given.update(options)
            return Report("", "", ())

        monkeypatch.setattr(importlib.import_module(experiment.module), "run", run)
        experiment.run(seed=3, complete=True, folder=tmp_path)
        assert (given["seed"], given["complete"], given["folder"]) == (3, True, tmp_path)
