"""The README: every command and every line of it runs, and what it names is there."""

import re
import shlex
import subprocess
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")
COMMANDS = [" ".join(line.split()) for line in re.findall(r"^    (iokr .*)$", TEXT, flags=re.MULTILINE)]
FIRST_SCREEN = TEXT.split("\n## ")[0]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the files that the commands read: a small network here, spectra of the demo."""
    folder = tmp_path_factory.mktemp("readme")
    rng = np.random.default_rng(0)
    places = np.sort(rng.uniform(0, 6, size=50))
    features = np.column_stack([np.sin(places), np.cos(places), places]) + 0.1 * rng.normal(size=(50, 3))
    names = np.array([f"n{i}" for i in range(50)])
    pd.DataFrame(features, names).to_csv(folder / "nodes.tsv", sep="\t", index_label="id")
    pairs = np.argwhere(np.triu(abs(places[:, None] - places) < 0.5, k=1))
    pd.DataFrame(names[pairs], columns=["source", "target"]).to_csv(folder / "edges.tsv", sep="\t", index=False)
    if any("msms" in command for command in COMMANDS):
        pytest.importorskip("rdkit")
        from iokr.apps.msms.demo import write_demo

        write_demo(folder, n=40, unknowns=3)
    return folder


def test_every_command_runs_in_its_order(files):
    pytest.importorskip("matplotlib")
    assert len(COMMANDS) >= 6
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)], cwd=files, capture_output=True, text=True, encoding="utf-8"
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    for name in ("iokr-links/edges.tsv", "iokr-links/report.html", "iokr-links-cv/report.html"):
        assert (files / name).stat().st_size > 0
    ranked = pd.read_table(files / "results" / "candidates.tsv")
    assert ranked.spectrum_id.nunique() == 3
    assert (files / "evaluated" / "report.html").exists()
    for name in re.findall(r"`(\w+\.(?:tsv|json|graphml|cyjs|html))`", TEXT):
        assert (files / "iokr-links" / name).exists(), name


def test_the_example_runs(capsys):
    [example] = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip() and "import" not in line]) <= 5
    variables: dict = {}
    exec(compile(example, str(README), "exec"), variables)
    X, tags, sure = variables["X"], variables["tags"], variables["sure"]
    assert 0.8 < sure.contains(X[400:], tags[400:], coverage=0.9).mean() <= 1
    assert (variables["model"].predict(X[400:]) == tags[400:]).mean() > 0.8
    assert "[[" in capsys.readouterr().out


def test_the_functions_run_on_the_same_files(files, monkeypatch):
    pytest.importorskip("rdkit")
    [block] = re.findall(r"^From Python:\n\n((?:    .*\n|\n)+)", TEXT, flags=re.MULTILINE)
    variables: dict = {}
    monkeypatch.chdir(files)
    exec(compile(textwrap.dedent(block), str(README), "exec"), variables)
    assert len(variables["result"].table) > 10
    assert variables["identified"].table["spectrum_id"].nunique() == 3


def test_the_first_screen_speaks_to_four_users_with_one_picture():
    """About a screen: 45 lines. Each user has code right after the sentence."""
    assert len(FIRST_SCREEN.splitlines()) <= 45
    for user in ("A biologist", "A chemist", "A data scientist", "A researcher"):
        assert re.search(rf"^\*\*{user}\*\* [^\n]*\n\n(?:    iokr |```python\n)", FIRST_SCREEN, flags=re.MULTILINE), (
            user
        )
    [picture] = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert picture in "".join(re.findall(r"!\[[^\]]+\]\([^)]+\)", FIRST_SCREEN))
    assert 0 < (README.parent / picture).stat().st_size < 150_000


def test_the_picture_is_the_one_that_its_script_writes():
    text = (README.parent / "tools" / "picture.py").read_text(encoding="utf-8")
    assert '"docs" / "_static" / "network.png"' in text and "links predict" in text


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(iokr(?:\.\w+)?)`", TEXT))))
def test_modules_it_names_exist(name):
    import_module(name)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`iokr (\w+)(?: \w+)*`", TEXT))))
def test_commands_it_names_exist(command):
    from iokr.cli import app

    commands = typer.main.get_command(app)
    assert command in commands.list_commands(typer.Context(commands))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make (\w+)`?", TEXT))))
def test_make_targets_it_names_exist(target):
    assert re.search(rf"^{target}:", (README.parent / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!http)([^)]+)\)", TEXT))))
def test_files_it_links_to_exist(link):
    assert (README.parent / link).exists()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([A-Z]\w+)`", TEXT.split("## Contents")[1])) - {"IOKR_DATA"}))
def test_estimators_it_names_exist(name):
    assert hasattr(import_module("iokr"), name)
