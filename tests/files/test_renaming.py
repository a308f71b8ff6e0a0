"""Files of both formats load when private classes and attributes have other names: files name none of them."""

import os
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

import iokr
import iokr_lab
from iokr import extend
from iokr._state import stored_names
from iokr.files.kinds import KINDS, PACKAGES

HERE = Path(__file__).parent
PUBLIC = {name for package in PACKAGES.values() for name in package.__all__}
FOREIGN = {"Graph"}  # NetworkX has such a class, too
CLASSES = {cls.__name__ for cls in KINDS.values()} - PUBLIC - FOREIGN - set(extend.__all__)
FIELDS = {
    *("_single_precision", "_at", "_scores", "_columns", "_known", "_stages", "_nu", "_weightless", "_at_weightless"),
    *("_sketches", "_Y", "_Q", "_map", "_width", "_home", "_oblique", "_border", "_pairwise", "_middle", "_starts"),
    *("streamed", "swapped", "leaf_weights", "anchors"),
}
PROGRAM = """
import sys, warnings
import iokr
import test_golden
from iokr.estimators.regression import posing
assert not hasattr(posing, "FittedInputs") and hasattr(posing, "FittedInputsRenamed")
warnings.simplefilter("ignore")
for path in test_golden.FILES:
    if sys.argv[1] in path.stem:
        test_golden.test_arrays_bit_for_bit_and_answers_to_rounding(path)
print("all answered")
"""


def renamed(path, target):
    """A copy of a module with other names; strings are left alone."""
    with path.open("rb") as file:
        tokens = [
            (token.type, f"{token.string}Renamed" if token.string in CLASSES | FIELDS else token.string)
            if token.type == tokenize.NAME
            else token[:2]
            for token in tokenize.tokenize(file.readline)
        ]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(tokenize.untokenize(tokens))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("renamed")
    for package in (iokr, iokr_lab):
        root = Path(package.__file__).parents[1]
        for path in Path(package.__file__).parent.rglob("*"):
            target = folder / path.relative_to(root)
            if path.suffix == ".py":
                renamed(path, target)
            elif path.is_file() and path.suffix != ".pyc":
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    return folder


def answers(folder, part=""):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, HERE, HERE.parent)))}
    command = [sys.executable, "-c", PROGRAM, part]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_every_private_attribute_that_is_renamed_is_in_files():
    stored = set().union(*(stored_names(cls).values() for cls in KINDS.values()))
    private = {name for name in FIELDS if not name.startswith("_")}
    assert private <= stored


def test_files_load_with_other_names_of_classes_and_attributes(copy):
    run = answers(copy)
    assert run.returncode == 0, run.stderr
    assert "all answered" in run.stdout


def test_another_name_in_files_is_noticed(copy):
    """The test above can fail: names in files are strings, and none of them may change."""
    path = copy / "iokr" / "estimators" / "regression" / "posing.py"
    text = path.read_text()
    changed = text.replace('"points"', '"spots"')
    assert changed != text
    path.write_text(changed)
    run = answers(copy, "IOKR_vectors")
    path.write_text(text)
    assert run.returncode != 0 and "FittedInputsRenamed has no 'points'" in run.stderr
