"""The scripts in `examples/`: each runs by itself and shows a figure, and the page of recipes names it."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
TASKS = {
    "multilabel",
    "label_ranking",
    "sequence_labelling",
    "string_to_string",
    "image_completion",
    "graph_prediction",
    "hierarchical_classification",
}


def test_every_task_has_a_script():
    assert {script.stem for script in SCRIPTS} >= TASKS


@pytest.mark.sweep
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_runs_and_shows_a_figure(script, monkeypatch, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    if "import networkx" in script.read_text(encoding="utf-8"):
        pytest.importorskip("networkx")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IOKR_DATA", raising=False)
    shown = []
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: shown.extend(plt.get_fignums()))
    try:
        runpy.run_path(str(script), run_name="__main__")
        assert shown, "no figure is shown"
        for number in shown:
            figure = plt.figure(number)
            assert any(axes.has_data() for axes in figure.axes), "the figure is empty"
            figure.savefig(tmp_path / f"{number}.png")
    finally:
        plt.close("all")
    assert {path.suffix for path in tmp_path.iterdir()} == {".png"}, "a script writes nothing"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_reads_as_a_page(script):
    """A title, a formula, then cells with headings; no data that must be present."""
    text = script.read_text(encoding="utf-8")
    title, rule = text.split("\n")[1:3]
    assert text.startswith('r"""\n') and set(rule) == {"="} and len(rule) == len(title)
    assert ".. math::" in text
    assert len(re.findall(r"^# %%\n# .+\n# -+$", text, flags=re.MULTILINE)) >= 3
    assert text.count("plt.show()") == 1 and text.endswith("plt.show()\n")
    assert not re.search(r"find_data|load_(?!digits)\w+\(|fetch_\w+\(|open\(", text)


def test_the_page_of_recipes_names_every_script():
    page = (ROOT / "docs" / "guide" / "recipes.rst").read_text(encoding="utf-8")
    assert set(re.findall(r"/auto_examples/(\w+)[>`]", page)) - {"index"} == {script.stem for script in SCRIPTS}
