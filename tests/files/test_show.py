"""A file in words, without the parts that it asks for."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import iokr
import reference
from fitted_models import CASES, fitted
from iokr.files import BadFile, describe, load_beside
from iokr.kernels import Features, FromFunction

FILES = sorted((Path(__file__).parent / "golden").rglob("*.safetensors"))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_every_model_has_words(name, tmp_path):
    model = fitted(name).model
    iokr.save(model, tmp_path / "m")
    sections = describe(tmp_path / "m")
    assert sections["File"]["model"].endswith(f"{type(model).__name__}, fitted")
    assert set(sections["Parameters"]) == set(model.get_params(deep=False))
    assert all(len(words) <= 100 for rows in sections.values() for words in rows.values())


def test_parts_and_provenance_are_told(tmp_path):
    with pytest.warns(UserWarning, match="right__f"), pytest.warns(UserWarning, match="left__transformer"):
        iokr.save(Features(StandardScaler()) + FromFunction(reference.linear), tmp_path / "m", provenance={"who": "me"})
    sections = describe(tmp_path / "m")
    assert sections["File"]["model"] == "kernels.Sum, not fitted"
    assert sections["To be given to load"]["right__f"] == "function reference.linear"
    assert sections["Parameters"]["left"] == "Features(transformer=StandardScaler)"
    assert sections["Provenance"] == {"who": "me"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_of_both_formats_show_the_present_parameters(path):
    name = next(name for name in CASES if name.replace(" ", "_") == path.stem)
    model = fitted(name).model
    sections = describe(path)
    assert sections["File"]["format"].startswith(path.parent.name.removeprefix("format"))
    shown, parameters = set(sections["Parameters"]), set(model.get_params(deep=False))
    added = {"intercept", "manifold", "standardize", "widths"}  # since the files were written
    assert shown <= parameters and parameters - shown <= added


def test_values_are_written_as_python_does(tmp_path):
    iokr.save(iokr.IOKR(iokr.kernels.RBF(0.5) + iokr.kernels.Precomputed(np.eye(3))), tmp_path / "m")
    words = describe(tmp_path / "m")["Parameters"]["kernel"]
    assert words == "Sum(left=RBF(gamma=0.5), right=Precomputed(matrix=array F64 of shape (3, 3)))"


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "m").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(BadFile, match="iokr has not written it"):
        describe(tmp_path / "m")


def test_many_names_beside_a_model_are_listed(tmp_path):
    beside = {f"name{i}": float(i) for i in range(40)}
    iokr.save(iokr.kernels.RBF(), tmp_path / "k", beside=beside)
    assert load_beside(tmp_path / "k") == beside
    assert describe(tmp_path / "k")["Next to the model"]["'name39'"] == "39.0"
