"""Ready to publish: what the wheel says of itself, and how to cite it."""

import re
import tomllib
from pathlib import Path

import pytest

import iokr

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
