"""The README: its example runs, and what it names is there."""

import re
from importlib import import_module
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_example_runs_in_ten_lines(capsys):
    [example] = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    variables: dict = {}
    exec(compile(example, str(README), "exec"), variables)
    assert variables["model"].score(variables["upper"][900:], variables["lower"][900:]) > 0.4
    assert (variables["reader"].predict(variables["upper"][900:]) == variables["words"][900:]).mean() > 0.7
    assert "RBF(gamma=" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(iokr(?:\.\w+)?)`", TEXT))))
def test_modules_it_names_exist(name):
    import_module(name)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`iokr (\w+)`", TEXT))))
def test_commands_it_names_exist(command):
    from iokr.cli import app

    assert command in {registered.callback.__name__ for registered in app.registered_commands}


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make (\w+)`?", TEXT))))
def test_make_targets_it_names_exist(target):
    assert re.search(rf"^{target}:", (README.parent / "Makefile").read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!http)([^)]+)\)", TEXT))))
def test_files_it_links_to_exist(link):
    assert (README.parent / link).exists()
