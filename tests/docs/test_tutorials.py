"""The scripts in `tutorials/`: one for each kind of user, from files to a figure; the front page leads to them."""

import importlib.util
import re
import runpy
from collections import deque
from pathlib import Path
from posixpath import normpath

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCRIPTS = sorted((ROOT / "tutorials").glob("*.py"))
USERS = {"biologist", "chemist", "data_scientist", "researcher"}
ANSWERS = {  # what the decision of each is read from
    "biologist": r"expected: [\d.]+ of 10 true",
    "chemist": r"expected correct, by the probabilities: [\d.]+ of 12; correct: \d+",
    "data_scientist": r"automatic +\d+",
    "researcher": r"Holm\n +square",
}


def test_there_is_one_for_each_kind_of_user():
    assert {script.stem for script in SCRIPTS} == USERS == set(ANSWERS)


@pytest.mark.sweep
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_goes_from_files_to_a_decision(script, monkeypatch, tmp_path, capsys):
    """Simulated data, independent of the data on this machine: `IOKR_DATA` points to an empty folder."""
    plt = pytest.importorskip("matplotlib.pyplot")
    if script.stem == "chemist":
        pytest.importorskip("rdkit")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    shown = []
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: shown.extend(plt.get_fignums()))
    try:
        runpy.run_path(str(script), run_name="__main__")
        assert len(shown) == 1 and all(axes.has_data() for axes in plt.figure(shown[0]).axes)
    finally:
        plt.close("all")
    assert re.search(ANSWERS[script.stem], capsys.readouterr().out)
    assert list(tmp_path.iterdir()) == [], "files belong into a temporary folder"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_reads_as_a_page(script):
    text = script.read_text(encoding="utf-8")
    title, rule = text.split("\n")[1:3]
    assert text.startswith('r"""\n') and set(rule) == {"="} and len(rule) == len(title)
    assert title.startswith(f"For a {script.stem.replace('_', ' ')}: ")
    assert ".. math::" in text
    assert len(re.findall(r"^# .+\n# -+$", text, flags=re.MULTILINE)) >= 4
    assert text.count("plt.show()") == 1 and text.endswith("plt.show()\n")


def links_of(page):
    """Documents that a page leads to, by `:doc:` and by its toctrees."""
    source = DOCS / f"{page}.rst"
    if page == "auto_tutorials/index":
        source = ROOT / "tutorials" / "GALLERY_HEADER.rst"
    elif page.startswith("auto_"):
        return set()
    text = source.read_text(encoding="utf-8")
    found = re.findall(r":doc:`(?:[^`<]*<)?([^`>]+)>?`", text)
    for tree in re.findall(r"^\.\. toctree::\n(.*?)(?=^\S|\Z)", text, flags=re.DOTALL | re.MULTILINE):
        entries = [line.strip() for line in tree.splitlines() if line.strip() and not line.strip().startswith(":")]
        found += [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
    folder = Path(page).parent
    return {name[1:] if name.startswith("/") else normpath((folder / name).as_posix()) for name in found}


def clicks(start="index"):
    """The least number of clicks from the front page to every document."""
    far, queue = {start: 0}, deque([start])
    while queue:
        page = queue.popleft()
        for other in links_of(page):
            if other not in far and (other.startswith("auto_") or (DOCS / f"{other}.rst").exists()):
                far[other] = far[page] + 1
                queue.append(other)
    return far


def test_every_tutorial_is_two_clicks_from_the_front_page():
    far = clicks()
    assert {
        user: far.get(f"auto_tutorials/{user}", 99) for user in USERS if far.get(f"auto_tutorials/{user}", 99) > 2
    } == {}


def test_the_top_bar_has_the_gallery_the_tutorials_and_the_questions():
    text = (DOCS / "index.rst").read_text(encoding="utf-8")
    shown = re.findall(r"^   (\w+) <(\S+)>$", text, flags=re.MULTILINE)
    assert (
        dict(shown).items()
        >= {
            "Start": "start",
            "Tutorials": "auto_tutorials/index",
            "Gallery": "auto_examples/index",
            "FAQ": "faq",
        }.items()
    )
    limit = int(re.search(r'"header_links_before_dropdown": (\d+)', (DOCS / "conf.py").read_text())[1])
    assert len(shown) <= limit


@pytest.mark.parametrize("word", ["pandas", "Excel", "save", "uncertainty", "bipartite", "big"])
def test_questions_have_the_words_that_people_search_for(word):
    headings = re.findall(r"^(.+)\n-+$", (DOCS / "faq.rst").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert any(re.search(rf"\b{word}", heading, flags=re.IGNORECASE) for heading in headings)


def test_the_changelog_is_read_as_it_is_written():
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("docs_changelog", DOCS / "_ext" / "changelog.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = "# Changelog\n\nAs [they](https://x.org/a_b) say.\n\n## [1.0] - now\n- `kernel_`s of |x| * 2\n  in X_.\n"
    expected = ["As `they <https://x.org/a_b>`__ say.", "1.0 - now", "- ``kernel_``\\ s of \\|x\\| \\* 2", "  in X\\_."]
    assert [line for line in module.restructured(text) if line.strip("- ")] == expected
    table = module.restructured("| old | new |\n| --- | --- |\n| `a` | **b** |\n")
    assert table[-4:] == ["   - - old", "     - new", "   - - ``a``", "     - **b**"]
