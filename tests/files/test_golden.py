"""Files of every format so far are read: their arrays bit for bit, their answers to rounding."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone

import iokr
from fitted_models import CASES, fitted, flat, vectors, with_a_file
from iokr.files import verify
from iokr.files.container import open_container
from iokr.files.model import read_structure
from tolerance import rounding

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.rglob("*.safetensors"))
N, CONDITION = 14, 1e6  # objects in each file; of no system that they solve is the condition larger


def words(answer):
    return str(sorted(answer)) if isinstance(answer, frozenset) else str(answer)


def name_of(path):
    return next(name for name in CASES if name.replace(" ", "_") == path.stem)


def test_an_estimator_each_has_a_small_file():
    found = {name_of(path).split()[0] for path in FILES}
    assert with_a_file() - found == set(), "run `python tests/files/make_golden.py`, and keep what it writes"
    assert max(path.stat().st_size for path in FILES) < 60_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_arrays_bit_for_bit_and_answers_to_rounding(path):
    verify(path)
    stored = np.load(path.with_suffix(".npz"))
    with open_container(path) as file:
        arrays = file.read(read_structure(file)["sha256"])
    assert {f"array:{name}" for name in arrays} == {key for key in stored if key.startswith("array:")}
    for name, array in arrays.items():
        expected = stored[f"array:{name}"]
        assert array.dtype == expected.dtype and array.shape == expected.shape
        assert array.tobytes() == expected.tobytes()
    model = iokr.load(path, parts=fitted(name_of(path)).parts)
    assert isinstance(model, BaseEstimator)
    answers = flat(fitted(name_of(path)).answer(model))
    assert len(answers) == sum(key.startswith("answer:") for key in stored)
    for i, answer in enumerate(answers):
        expected = stored[f"answer:{i}"]
        if isinstance(answer, np.ndarray):
            size = float(np.nanmax(np.abs(expected), initial=1.0))  # NaN: local models know nothing of two new nodes
            assert_allclose(answer, expected, rtol=0, atol=rounding(N, CONDITION, 10) * size)
        else:
            assert words(answer) == str(expected)


def test_texts_are_what_they_were():
    model = iokr.load(GOLDEN / "format1" / "IOKR_strings.safetensors")
    assert_array_equal(model.decoder_.Y_fit_, fitted("IOKR strings").model.decoder_.Y_fit_)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("Conformal jackknife+", lambda model: model.band(model.model_.inputs_.points.parts[0][:3], 0.5)),
        ("SetModel", lambda model: model.loo_decision_function()),
    ],
)
def test_files_of_before_something_was_kept_answer_without_it(name, answer):
    loaded = iokr.load(GOLDEN / "format1" / f"{name.replace(' ', '_')}.safetensors")
    now = fitted(name).model
    if isinstance(now, iokr.Conformal):  # models of format 1 have no intercept
        now = clone(now).set_params(model__intercept=False).fit(vectors(), vectors(seed=3, p=2))
    assert_allclose(answer(loaded), answer(now), rtol=1e-9, atol=1e-12)


WITHOUT_LAB = """
import sys
sys.modules["iokr_lab"] = None  # as if iokr-lab were not installed
import iokr
for path in sys.argv[1:]:
    try:
        print(type(iokr.load(path)).__module__)
    except ImportError as error:
        print(error)
"""


def test_baselines_of_the_experiments_need_iokr_lab():
    """Two baselines of format 1 are in the library; the others name the distribution to install."""
    here, elsewhere = (GOLDEN / "format1" / f"rivals.{name}.safetensors" for name in ("Naive", "KernelCCA"))
    command = [sys.executable, "-c", WITHOUT_LAB, here, elsewhere]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == "iokr.apps.links.baselines"
    assert lines[1].startswith(str(elsewhere)) and "KernelCCA" in lines[1] and "pip install iokr-lab" in lines[1]
    assert len(lines) == 2


def test_a_file_with_a_baseline_is_described_without_iokr_lab():
    code = WITHOUT_LAB.replace("type(iokr.load(path)).__module__", "*iokr.files.describe(path)")
    command = [sys.executable, "-c", f"import iokr.files{code}", GOLDEN / "format1" / "rivals.KernelCCA.safetensors"]
    assert "Largest arrays" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
