"""The documentation: its examples print what it says, and it leaves no member out."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import iokr
import iokr.apps

DOCS = Path(__file__).parents[2] / "docs"
MADE = {
    "_build",
    "_templates",
    "generated",
    "auto_examples",
    "auto_tutorials",
    "sg_execution_times.rst",
}  # by the build
PAGES = sorted(page for page in DOCS.rglob("*.rst") if not MADE & set(page.parts))
FOLDERS = ["decoders", "embeddings", "kernels", "losses", "manifolds", "operator_kernels", "solvers"]
SECTIONS = ["The formula", "The members", "An example", "Pitfalls"]


def name(page):
    return str(page.relative_to(DOCS))


EXAMPLES = [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")]
COMPONENTS = DOCS / "guide" / "extending.rst"  # its examples are files, run by test_contributing.py


@pytest.mark.parametrize("page", [page for page in EXAMPLES if page != COMPONENTS], ids=name)
def test_examples_print_what_the_page_says(page):
    if "import torch" in page.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, attempted = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("folder", [*FOLDERS, "estimators"])
def test_a_page_for_each_noun_names_every_member(folder):
    text = (DOCS / "guide" / f"{folder}.rst").read_text(encoding="utf-8")
    members = importlib.import_module("iokr" if folder == "estimators" else f"iokr.{folder}").__all__
    missing = [member for member in members if member != "__version__" and not re.search(rf"\b{member}\b", text)]
    assert not missing
    headings = re.findall(r"^(.+)\n-+$", text, flags=re.MULTILINE)
    assert [heading for heading in headings if heading in SECTIONS] == SECTIONS


def test_every_public_module_is_in_the_api():
    text = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")
    modules = {f"iokr.{module.name}" for module in pkgutil.iter_modules(iokr.__path__) if module.name[0] != "_"}
    for module in pkgutil.iter_modules(iokr.apps.__path__, "iokr.apps."):
        if module.ispkg and hasattr(importlib.import_module(module.name), "__all__"):
            modules.add(module.name)
    elsewhere = {
        "iokr.apps",
        "iokr.cli",
        "iokr.estimators",
    }  # folders of applications, commands, the estimators of `iokr`
    assert set(re.findall(r"^   (iokr\S*)$", text, flags=re.MULTILINE)) == {"iokr", *modules} - elsewhere


def test_every_command_is_in_the_guide():
    from iokr.cli import app

    text = (DOCS / "guide" / "reproduction.rst").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"``iokr {command.callback.__name__}``" in text


def test_every_benchmark_is_in_the_guide():
    """And every experiment, whose table comes from the registry: test_experiments.py."""
    from iokr_lab.bench import available

    text = (DOCS / "guide" / "reproduction.rst").read_text(encoding="utf-8")
    for title, _ in available():
        assert f"``iokr bench {title}``" in text


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_page_is_reached(page):
    toctrees = re.compile(r"^\.\. toctree::.*?(?=^\S|\Z)", flags=re.DOTALL | re.MULTILINE)
    reached = {DOCS / "index.rst"}
    for other in PAGES:
        for tree in toctrees.findall(other.read_text(encoding="utf-8")):
            lines = [line.strip() for line in tree.splitlines()[1:] if line.strip() and ":" not in line]
            entries = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]  # Title <document>, or the document alone
            reached |= {other.parent / f"{entry}.rst" for entry in entries}
    assert page in reached


SEARCHED = {  # what readers ask for, and where the search must lead first
    "pandas": {"faq"},
    "Excel": {"faq"},
    "saving": {"guide/model_files"},
    "uncertainty": {"guide/uncertainty"},
    "bipartite": {"guide/links"},
    "big data": {"guide/scale"},
    "GPU": {"guide/arrays", "guide/scale"},
    "memory": {"guide/scale"},
    "leave-one-out": {"guide/model_selection"},
    "CSV": {"guide/command_line"},
}


@pytest.mark.parametrize("word", SEARCHED)
def test_pages_are_entered_under_what_readers_ask_for(word):
    """A main entry of the index, `.. index:: ! word`, comes first in the search of Sphinx."""
    found = set()
    for page in PAGES:
        for line in re.findall(r"^\.\. index:: (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if f"! {word}" in re.split(r",\s*", line):
                found.add(name(page).removesuffix(".rst"))
    assert found == SEARCHED[word]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The pages as HTML; warnings are errors, one of them a public name without a page."""
    for package in ("sphinx", "numpydoc", "pydata_sphinx_theme", "sphinx_gallery", "matplotlib", "networkx"):
        pytest.importorskip(package)
    folder = tmp_path_factory.mktemp("pages")
    options = ("-W", "-q", "-b", "html", "-d", folder / "cache")
    command = [sys.executable, "-m", "sphinx", *options, DOCS, folder / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.slow
def test_pages_load_nothing_from_the_network(built):
    pages = sorted(built.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        loaded = re.findall(
            r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*", page.read_text()
        )
        assert not loaded, page
    for sheet in built.rglob("*.css"):
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text()), sheet


@pytest.mark.slow
def test_formulas_are_set_by_a_copy_of_mathjax(built):
    """The script and its fonts are files of the pages."""
    folder = built / "_static" / "mathjax"
    assert (folder / "tex-chtml.js").stat().st_size > 500_000
    assert list((folder / "output" / "chtml" / "fonts" / "woff-v2").glob("*.woff"))
    assert "_static/mathjax/tex-chtml.js" in (built / "notation.html").read_text()


@pytest.mark.slow
def test_the_front_page_leads_to_every_user(built):
    front = (built / "index.html").read_text()
    near = set(re.findall(r'href="([^"#]+\.html)', front))
    pages_of_users = [
        f"auto_tutorials/{user}.html" for user in ("biologist", "chemist", "data_scientist", "researcher")
    ]
    assert near >= {*pages_of_users, "auto_examples/index.html", "faq.html", "changelog.html"}


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A browser."""
    from browser import CHROMIUM, MISSING, Browser

    if CHROMIUM is None:
        pytest.skip(MISSING)
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.mark.slow
@pytest.mark.parametrize("word", SEARCHED)
def test_the_search_finds_the_page(built, reader, word):
    reader.open(built / "search.html", query=f"q={word.replace(' ', '+')}")
    links = "[...document.querySelectorAll('#search-results ul.search li > a')].map(a => a.getAttribute('href'))"
    reader.until(links, bool)
    found = [link.split(".html")[0] for link in reader.still(links)]
    first = next(page for page in found if page != "glossary")  # where the word itself is explained
    assert first in SEARCHED[word]


@pytest.mark.slow
def test_every_formula_is_typeset_without_a_network(built, reader):
    """No page has a formula that MathJax rejects, and nothing is requested from another place than the files."""
    pages = [page for page in sorted(built.rglob("*.html")) if 'class="math ' in page.read_text()]
    assert len(pages) > 20
    for page in pages:
        reader.open(page)
        rest = "[...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container')).length"
        assert reader.until(rest, lambda count: count == 0) == 0, page
        wrong = "document.querySelectorAll('mjx-merror, mjx-container [style*=red]')"  # red: an unknown command
        assert reader.read(f"[...{wrong}].map(e => e.textContent)") == [], page
        loaded = reader.read("performance.getEntriesByType('resource').map(entry => entry.name)")
        assert [name for name in loaded if not name.startswith("file:")] == [], page


NARROW = ["index", "start", "faq", "guide/kernels", "guide/losses", "auto_tutorials/biologist", "auto_examples/index"]
CUT = """(() => {
  const width = document.documentElement.clientWidth, cut = [];
  for (const one of document.querySelectorAll("article :is(h1, h2, h3, p, li, dt, dd, td, img)")) {
    let scrolls = false;
    for (let up = one; up && up.tagName !== "ARTICLE"; up = up.parentElement)
      scrolls ||= ["auto", "scroll"].includes(getComputedStyle(up).overflowX);
    const wide = one.getBoundingClientRect().right > width + 1 || one.scrollWidth > one.clientWidth + 1;
    if (!scrolls && one.clientWidth && wide && !one.querySelector(".highlight, table"))
      cut.push(one.textContent.slice(0, 60));
  }
  return cut;
})()"""


@pytest.mark.slow
@pytest.mark.parametrize("page", [*NARROW, "api/generated/iokr.IOKRCV", "api/generated/iokr.decoders.GraphBarycenter"])
def test_nothing_is_cut_on_a_telephone(built, reader, page):
    """At 400 px: what is wider than the page can be scrolled to by itself."""
    reader.open(built / f"{page}.html", width=400)
    assert reader.read("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert reader.read(CUT) == []


def test_the_front_page_names_every_extra_for_users():
    import tomllib

    declared = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = (DOCS / "index.rst").read_text(encoding="utf-8").split(":header: extra | for")[1].split("toctree")[0]
    named = {name for row in table.splitlines() if "|" in row for name in re.findall(r"``(\w+)``", row.split("|")[0])}
    assert named == set(declared["optional-dependencies"]) - {"test", "docs", "dev"}
