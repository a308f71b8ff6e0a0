"""The registry of experiments: light, complete, and honest about missing data."""

import subprocess
import sys
from importlib import import_module

import pytest
from threadpoolctl import threadpool_info

from iokr.datasets import DataNotFound
from iokr.report import Report
from iokr_lab import EXPERIMENTS, Experiment, find


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_experiment_has_its_module(experiment):
    assert callable(import_module(f"iokr_lab.{experiment.module}").run)
    assert experiment.title


def test_names_are_unique_and_papers_named():
    assert len({e.name for e in EXPERIMENTS}) == len(EXPERIMENTS)
    assert all(e.paper for e in EXPERIMENTS)


def test_the_list_imports_no_experiment():
    code = (
        "import sys, iokr_lab\n"
        "print([name for name in sys.modules if name.startswith(('sklearn', 'iokr.est', 'iokr_lab.images.usps'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_find():
    assert find("usps") is EXPERIMENTS[0]
    with pytest.raises(ValueError, match="no experiment 'nonsense'; there is usps"):
        find("nonsense")


def test_missing_data_is_said_before_running(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    experiment = Experiment("absent", "t", "p", "images.usps", data=("one", "two"))
    assert [line.split(" is not")[0] for line in experiment.missing()] == ["one", "two"]
    with pytest.raises(DataNotFound, match="one is not in"):
        experiment.run()


def test_run_fills_in_what_is_known(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "x.npz").write_bytes(b"abc")
    given = {}

    def run(**options):
        given.update(options, threads={pool["num_threads"] for pool in threadpool_info()})
        return Report("t", "s")

    monkeypatch.setattr("iokr_lab.images.usps.run", run)
    experiment = Experiment("usps", "t", "p", "images.usps", data=("one",), threads=1)
    report = experiment.run(seed=5, repeat=2)
    assert (given["seed"], given["repeat"], given["threads"]) == (5, 2, {1})
    assert report.info["seed"] == 5 and report.info["seconds"] >= 0
    assert report.info["data"]["one/x.npz"].startswith("ba7816bf")
