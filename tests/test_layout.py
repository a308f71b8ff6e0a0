"""Tests are found from the file that they test.

src/iokr/a/b.py is tested by tests/a/test_b.py, or by a file of tests/a, of a folder above it or of one that cuts
across, whose first docstring names the module in backticks. Tests of the laboratory are in tests/lab.
"""

import ast
import re
from pathlib import Path

import pytest

import iokr

TESTS = Path(__file__).parent
SOURCES = Path(iokr.__file__).parents[1]
ROOTS = {"iokr": TESTS, "iokr_lab": TESTS / "lab"}
ACROSS = [TESTS / name for name in ("array_api", "bad_input", "contracts", "ecosystem")]
FILES = sorted(path for package in ROOTS for path in (SOURCES / package).rglob("*.py") if path.name[:2] != "__")


def module_of(path):
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts)


def folders_of(path):
    """Where the tests of a source file may be: first the folder that mirrors its own."""
    package, *inside = path.relative_to(SOURCES).parent.parts
    own = [ROOTS[package].joinpath(*inside[:k]) for k in range(len(inside), -1, -1)]
    return [*own, *ACROSS]


def named_in(test):
    """The modules that the first docstring of a test file names in backticks."""
    return set(re.findall(r"`(iokr(?:_lab)?\.[\w.]+)`", ast.get_docstring(ast.parse(test.read_text("utf-8"))) or ""))


NAMES = {test: named_in(test) for test in sorted(TESTS.rglob("test_*.py"))}


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_every_module_has_a_test_that_is_found_from_it(path):
    folders, module = folders_of(path), module_of(path)
    mirrored = folders[0] / f"test_{path.stem.lstrip('_')}.py"
    naming = [test for test, names in NAMES.items() if test.parent in folders and module in names]
    assert mirrored.exists() or naming, f"no {mirrored.relative_to(TESTS)}, and no docstring names `{module}`"


@pytest.mark.parametrize("test", [test for test in NAMES if NAMES[test]], ids=lambda test: str(test.relative_to(TESTS)))
def test_modules_that_tests_name_exist(test):
    known = {module_of(path) for path in FILES}
    known |= {module.rpartition(".")[0] for module in known}
    assert NAMES[test] <= known
