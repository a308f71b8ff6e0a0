"""Tests are found from the file that they test.

src/iokr/a/b.py is tested by files of tests/a, or by files whose first docstring names the module in backticks. Tests of
iokr-lab are in lab/tests.
"""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SOURCES = {"iokr": ROOT / "src", "iokr_lab": ROOT / "lab" / "src"}
ROOTS = {"iokr": TESTS, "iokr_lab": ROOT / "lab" / "tests"}
FILES = sorted(path for p, src in SOURCES.items() for path in (src / p).rglob("*.py") if path.name[:2] != "__")


def module_of(path):
    return ".".join(inside(path).with_suffix("").parts)


def inside(path):
    """iokr/gram/base.py of src/iokr/gram/base.py."""
    return next(path.relative_to(source) for source in SOURCES.values() if path.is_relative_to(source))


def mirror_of(path):
    """Where the test of a source file is, if it has one of its own."""
    package, *folders = inside(path).parent.parts
    return ROOTS[package].joinpath(*folders, f"test_{path.stem.lstrip('_')}.py")


def named_in(test):
    """The modules that the first docstring of a test file names in backticks."""
    return set(re.findall(r"`(iokr(?:_lab)?\.[\w.]+)`", ast.get_docstring(ast.parse(test.read_text("utf-8"))) or ""))


NAMES = {test: named_in(test) for test in sorted(path for tests in ROOTS.values() for path in tests.rglob("test_*.py"))}


@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES}), ids=lambda folder: str(inside(folder)))
def test_every_folder_has_tests(folder):
    """Those of its mirror, or of a file that names one of its modules."""
    modules = [module_of(path) for path in FILES if path.parent == folder]
    mirrored = any(mirror_of(folder / "x.py").parent.glob("test_*.py"))
    named = any(set(modules) & names for names in NAMES.values())
    assert mirrored or named, f"no tests in {mirror_of(folder / 'x.py').parent.relative_to(ROOT)}"


@pytest.mark.parametrize("test", [test for test in NAMES if NAMES[test]], ids=lambda test: str(test.relative_to(ROOT)))
def test_modules_that_tests_name_exist(test):
    known = {module_of(path) for path in FILES}
    known |= {module.rpartition(".")[0] for module in known}
    assert NAMES[test] <= known
