"""Ready to publish: metadata, citation, and what the wheels of both distributions hold and run."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import iokr
import iokr_lab

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")


def test_version_and_license_are_the_same_everywhere():
    assert re.search(r"^version: (.*)$", CITATION, re.MULTILINE)[1] == iokr.__version__
    assert re.search(r"^license: (.*)$", CITATION, re.MULTILINE)[1] == PROJECT["license"]
    assert f"[{iokr.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_citation_has_what_the_format_asks_for():
    for key in ("cff-version", "message", "title", "authors"):
        assert re.search(rf"^{key}:", CITATION, re.MULTILINE), key
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load(CITATION)
    assert read["authors"][0]["name"] == PROJECT["authors"][0]["name"]
    assert all(reference["type"] and reference["title"] and reference["authors"] for reference in read["references"])


def test_classifiers_are_known_and_agree_with_the_rest():
    known = pytest.importorskip("trove_classifiers").classifiers
    assert [name for name in PROJECT["classifiers"] if name not in known] == []


def test_python_versions_agree():
    least = PROJECT["requires-python"].removeprefix(">=")
    listed = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert min(listed, key=lambda v: int(v.partition(".")[2])) == least
    assert not [c for c in PROJECT["classifiers"] if c.startswith("License ::")], "the license expression says it"


def test_contributing_has_a_rule_for_deprecations():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "## Deprecation" in text and "FutureWarning" in text


# ------------------------------------------------------------------------------------------------ the two distributions

LAB = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text("utf-8"))["project"]


def test_both_distributions_have_one_version():
    assert iokr_lab.__version__ == iokr.__version__
    assert LAB["dependencies"] == [f"iokr[report]=={iokr.__version__}"]
    assert (ROOT / "lab" / "LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """The wheels of iokr and of iokr-lab, built from this tree."""
    pytest.importorskip("hatchling")
    built = []
    for project in (ROOT, ROOT / "lab"):
        folder = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
        built += folder.glob("*.whl")
    return built


def names_in(wheel):
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_of_iokr_holds_no_experiment_and_no_baseline_of_them(wheels):
    library, lab = map(names_in, wheels)
    information = f"iokr-{iokr.__version__}.dist-info"
    assert {name.partition("/")[0] for name in library} == {"iokr", information}
    assert {"iokr/py.typed", "iokr/cli/commands.py", f"{information}/licenses/LICENSE"} <= set(library)
    experiments = {name.partition("/")[2] for name in lab if name.startswith("iokr_lab/") and "__init__" not in name}
    assert {"study.py", "baselines/tppk.py", "bench/base.py", "times.tsv", "published/b11_table2.tsv"} <= experiments
    assert not experiments & {name.removeprefix("iokr/") for name in library}


def distributions(*requirements):
    """The installed distributions that requirements need, directly or not."""
    found, todo = {}, [Requirement(text) for text in requirements]
    while todo:
        requirement = todo.pop()
        key = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if key in found:
            continue
        found[key] = metadata.distribution(requirement.name)
        for needed in map(Requirement, found[key].requires or []):
            extras = ["", *requirement.extras]
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                todo.append(needed)
    return {name: distribution for (name, _), distribution in found.items()}


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory):
    """A folder with what `iokr[report]` declares, and nothing else, as in an empty environment."""
    pytest.importorskip("matplotlib"), pytest.importorskip("jinja2")
    folder = tmp_path_factory.mktemp("dependencies")
    declared = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["report"]]
    for distribution in distributions(*declared).values():
        for top in {path.parts[0] for path in distribution.files} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(distribution.locate_file(top))
    return folder


def run_installed(tmp_path, wheels, dependencies, *arguments):
    """`iokr` with these arguments, from unpacked wheels and declared dependencies alone: -S hides this environment."""
    site = tmp_path / "site"
    for wheel in wheels:
        zipfile.ZipFile(wheel).extractall(site)
    environment = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{dependencies}", "MPLBACKEND": "Agg"}
    command = [sys.executable, "-S", "-m", "iokr", *arguments]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_the_wheel_of_iokr_runs_the_demo_with_its_declared_dependencies(tmp_path, wheels, dependencies):
    result = run_installed(tmp_path, wheels[:1], dependencies, "demo", "-q")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "iokr-demo" / "report.html").is_file()


@pytest.mark.parametrize("command", ["reproduce", "bench"])
def test_without_iokr_lab_its_commands_say_in_one_line_what_to_install(command, tmp_path, wheels, dependencies):
    result = run_installed(tmp_path, wheels[:1], dependencies, command)
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.count("\n") == 1 and "pip install iokr-lab" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [(["reproduce"], "synthetic-networks"), (["reproduce", "digits", "--short", "-q"], "IOKR"), (["bench"], "ridge")],
)
def test_with_iokr_lab_its_commands_run(arguments, shown, tmp_path, wheels, dependencies):
    result = run_installed(tmp_path, wheels, dependencies, *arguments)
    assert result.returncode == 0, result.stderr
    assert shown in result.stdout
