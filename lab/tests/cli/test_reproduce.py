"""`iokr reproduce`: plans, and what an interruption says."""

import pytest
from typer.testing import CliRunner

from iokr.apps.report import Report
from iokr.cli import app
from iokr_lab import EXPERIMENTS, Experiment
from iokr_lab.cells import Cells


def invoke(*arguments):
    return CliRunner().invoke(app, ["reproduce", *arguments])


@pytest.mark.parametrize(("option", "plan"), [([], "default"), (["--short"], "short"), (["--full"], "full")])
def test_options_choose_the_plan(option, plan, tmp_path, monkeypatch):
    given = {}

    def run(self, **options):
        given.update(options)
        return Report("Title", "Summary.")

    monkeypatch.setattr(Experiment, "run", run)
    assert invoke("usps", "-o", str(tmp_path), "--seed", "3", "--repeat", "2", *option).exit_code == 0
    assert (given["plan"], given["seed"], given["repeat"], given["folder"]) == (plan, 3, 2, tmp_path)


def test_one_plan_at_a_time(tmp_path):
    result = invoke("usps", "--short", "--full", "-o", str(tmp_path))
    assert result.exit_code == 2 and "one of --short and --full" in result.stderr


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("name", [experiment.name for experiment in EXPERIMENTS])
def test_an_interruption_says_how_to_go_on_if_anything_is_finished(name, finished, tmp_path, monkeypatch):
    def run(self, *, folder, **options):
        if finished:
            Cells(folder.with_name("out.partial") / "cells.jsonl", {}).add("one", {})
        raise KeyboardInterrupt

    monkeypatch.setattr(Experiment, "run", run)
    result = invoke(name, "-o", str(tmp_path / "out"))
    assert result.exit_code == 130
    kept = f" The finished cases are in {tmp_path / 'out.partial'}; the same command resumes from there."
    assert result.stderr == f"iokr: interrupted.{kept if finished else ''}\n"
    assert [path.name for path in tmp_path.iterdir()] == (["out.partial"] if finished else [])


@pytest.mark.parametrize(
    ("command", "begun", "offered"), [("reproduce", "yeast-p", "yeast-ppi"), ("bench", "lin", "links")]
)
def test_the_shell_completes_names(command, begun, offered):
    words = {"_IOKR_COMPLETE": "complete_bash", "COMP_WORDS": f"iokr {command} {begun}", "COMP_CWORD": "2"}
    result = CliRunner().invoke(app, [], prog_name="iokr", env=words)
    assert result.exit_code == 0 and offered in result.stdout.split()
