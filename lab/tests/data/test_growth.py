"""Functional and quantile sets, on the real files where they are.

Tests of `iokr_lab.data.quantile`.
"""

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import QUANTILE_SETS, load_dti, load_gait, load_growth, load_lip, load_quantile, load_weather


def loaded(load, *arguments):
    try:
        return load(*arguments)
    except DataNotFound:
        pytest.skip("the data are not there")


def test_growth_has_93_children_at_31_ages():
    growth = loaded(load_growth)
    assert growth.heights.shape == (93, 31) and growth.age.shape == (31,) and growth.boy.sum() == 39
    assert np.all(np.diff(growth.heights, axis=1) > -1.0)


def test_curves_have_the_published_shapes():
    assert loaded(load_gait).Y.shape == (39, 20)
    assert loaded(load_weather).Y.shape == (35, 365)
    dti = loaded(load_dti)
    assert dti.Y.shape == (141, 55) and int(np.isfinite(dti.Y).sum()) == 7457
    assert loaded(load_lip).emg.shape == (32, 641)


def test_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    for load in (load_growth, load_gait, load_weather, load_dti, load_lip):
        with pytest.raises(DataNotFound):
            load()


def test_a_growth_file_of_another_shape_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    (tmp_path / "functional").mkdir()
    np.savez(
        tmp_path / "functional" / "growth_gait.npz",
        growth_age=np.arange(3.0),
        growth_boys=np.ones((2, 4)),
        growth_girls=np.ones((2, 3)),
    )
    with pytest.raises(ValueError, match="growth_gait"):
        load_growth()


@pytest.mark.parametrize("name", QUANTILE_SETS)
def test_quantile_sets_are_numbers(name):
    data = loaded(load_quantile, name)
    assert data.X.shape == (len(data.y), len(data.columns)) and np.isfinite(data.X).all() and np.isfinite(data.y).all()
