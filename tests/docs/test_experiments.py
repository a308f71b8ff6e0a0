"""The table of experiments in the docs comes from the registry."""

import importlib.util
from pathlib import Path

import pytest

from iokr_lab import EXPERIMENTS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_has_every_experiment_once():
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("docs_experiments", DOCS / "_ext" / "experiments.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = module.table()
    names = [line.split("``")[1] for line in lines if line.startswith("   * - ``")]
    assert names == [experiment.name for experiment in EXPERIMENTS]
    assert all(sum(f"- {one.title} (" in line for line in lines) == 1 for one in EXPERIMENTS)


def test_the_page_writes_no_table_of_its_own():
    page = (DOCS / "guide" / "reproduction.rst").read_text(encoding="utf-8")
    assert ".. experiments::" in page and all(experiment.title not in page for experiment in EXPERIMENTS)
