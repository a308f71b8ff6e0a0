"""Finished cells survive whatever ends a run: an interruption, a kill, a line cut in the middle."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from iokr_lab.cells import Cells, memoized

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
    with pytest.warns(UserWarning, match="line 2 is damaged and moved"):
        second = Cells(path, RUN)
    second.add("b", {"roc": 0.6})  # not glued to what was cut off
    second.add("c", {"roc": 0.7})
    assert set(Cells(path, RUN).values) == {"a", "b", "c"}


DAMAGED = {
    "list": b"[]",
    "null": b"null",
    "not UTF-8": b'{"run": {"seed": 0}, "cell": "\xff\xfe", "metrics": {}}',
    "half": b'{"run": {"seed": 0}, "cell": "b", "metr',
    "wrong types": b'{"run": {}, "cell": ["b"], "metrics": 3}',
    "nothing in it": b"{}",
    "too deep": b"[" * 100_000,
    "zeros": b"\0" * 4096,
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("where", ["first", "last", "alone"])
def test_damaged_lines_are_set_aside_with_a_warning(line, where, tmp_path):
    path = tmp_path / "cells.jsonl"
    if where != "alone":
        Cells(path, RUN).add("a", {"roc": 0.5})
    good = path.read_bytes() if where != "alone" else b""
    path.write_bytes(line + b"\n" + good if where == "first" else good + line)
    with pytest.warns(UserWarning, match=r"damaged and moved to .*cells\.damaged"):
        cells = Cells(path, RUN)
    assert set(cells.values) == (set() if where == "alone" else {"a"})
    assert path.read_bytes() == good and (tmp_path / "cells.damaged").read_bytes() == line + b"\n"
    cells.add("b", {"roc": 0.6})
    assert set(Cells(path, RUN).values) == {"b", *cells.earlier}, "and the next run has nothing to warn about"
    assert set(cells.files()) == {"cells.jsonl", "cells.damaged"}


def test_a_full_disk_keeps_what_was_finished_and_names_the_file(tmp_path, monkeypatch):
    cells = Cells(tmp_path / "cells.jsonl", RUN)
    cells.add("a", {"roc": 0.5})
    before = cells.path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left") as caught:
        patched.setattr(os, "fsync", full)
        cells.add("b", {"roc": 0.6})
    assert caught.value.filename == str(cells.path) and cells.path.read_bytes() == before
    cells.add("c", {"roc": 0.7})
    assert set(Cells(cells.path, RUN).values) == {"a", "c"}


def test_a_link_is_not_written_through(tmp_path):
    (tmp_path / "cells.jsonl").symlink_to(tmp_path / "outside")
    with pytest.raises(FileExistsError, match="symbolic link"):
        Cells(tmp_path / "cells.jsonl", RUN)
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_fill_runs_what_is_missing_and_steps_through_it(n_jobs, tmp_path):
    cells = Cells(tmp_path / "cells.jsonl", RUN)
    cells.add("2", {"square": 4})
    worked, steps = [], []

    def work(case):
        worked.append(case)
        return {"square": case**2}

    assert cells.fill(range(5), work, steps.append, n_jobs) == 1
    assert sorted(worked) == [0, 1, 3, 4]
    assert sorted(steps) == ["0", "1", "3", "4"]
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


def test_metrics_are_the_same_now_and_from_the_file(tmp_path):
    cells = Cells(tmp_path / "cells.jsonl", {"grid": (1, 2)})
    cells.add("a", {"roc": np.float64(0.1) + 0.2, "curve": np.array([1.0, 2.0]), "n": np.int64(3), "pair": (1, 2)})
    again = Cells(tmp_path / "cells.jsonl", {"grid": [1, 2]})
    assert cells["a"] == again["a"] == {"roc": 0.1 + 0.2, "curve": [1.0, 2.0], "n": 3, "pair": [1, 2]}


def test_a_kept_value_is_computed_once_though_threads_ask_together():
    computed, start = [], threading.Barrier(4, timeout=20)

    @memoized(2)
    def square(x):
        computed.append(x)
        time.sleep(0.01)
        return x * x

    def ask():
        start.wait()
        assert square(3) == 9

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert computed == [3]
    assert [square(4), square(3), square(5), square(3), square(4)] == [16, 9, 25, 9, 16]
    assert computed == [3, 4, 5, 4], "the one not used for longest is dropped"


# ------------------------------------------------------------------------------------- the command, from the outside

SCRIPT = """
import sys, time
from dataclasses import dataclass
import iokr_lab
from iokr.apps.report import Report
from iokr_lab import study

@dataclass(frozen=True)
class Fold(study.Case):
    fold: int

def work(case, plan, data):
    time.sleep({pause})
    return {{"roc": 0.5 + 0.01 * case.fold}}

study.STUDY = study.Study(
    plans={{"short": study.Plan(), "default": study.Plan(repeat={total})}},
    load=lambda plan: None,
    cases=lambda plan, data: [Fold(i) for i in range(plan.repeat)],
    work=work,
    page=lambda results, plan, data: Report("Title", str(results.frame()["roc"].mean())),
)
study.usable_cores = lambda: 2
iokr_lab.EXPERIMENTS = (iokr_lab.Experiment("small", "Title", "paper", "study"),)
sys.argv = ["iokr", "reproduce", "small", "-o", {folder!r}, "-q"]
from iokr.cli import main
main()
"""
TOTAL = 100


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_run_that_is_ended_from_outside_goes_on_where_it_stopped(how, tmp_path):
    folder = tmp_path / "run"
    cells = tmp_path / "run.partial" / "cells.jsonl"

    def start(pause):
        code = SCRIPT.format(pause=pause, folder=str(folder), total=TOTAL)
        return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    first = start(0.05)
    deadline = time.monotonic() + 60
    while not (cells.exists() and cells.read_text().count("\n") >= 5) and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(how)
    _, said = first.communicate(timeout=60)
    there = lines(cells)
    assert 5 <= len(there) < TOTAL and not (folder / "report.html").exists()
    if how != signal.SIGKILL:
        assert first.returncode == 128 + how
        assert f"The finished cases are in {cells.parent}; the same command resumes" in said and "Traceback" not in said
        assert sorted(path.name for path in tmp_path.iterdir()) == ["run.partial"]
    second = start(0.0)
    _, said = second.communicate(timeout=120)
    assert second.returncode == 0, said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    found = lines(folder / "cells.jsonl")
    assert found[: len(there)] == there and len(found) == TOTAL
    assert f"{len(there)} of {TOTAL} cells were found from an earlier run" in (folder / "report.html").read_text(
        encoding="utf-8"
    )
