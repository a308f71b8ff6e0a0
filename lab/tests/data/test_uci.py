"""The UCI regressions, on a small file of the same form and on the real ones where they are."""

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import UCI_SETS, load_uci


def write(folder, **arrays):
    (folder / "uci_20splits").mkdir()
    np.savez(folder / "uci_20splits" / "yacht.npz", **arrays)


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def test_numbers_are_as_in_the_file(home):
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    write(home, X=X, y=np.array([1, 2, 3]), n_splits=np.int64(20))
    data = load_uci("yacht")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, [1, 2, 3])
    assert data.X.dtype == data.y.dtype == np.float64


def test_a_missing_set_is_named_with_those_that_are_there(home):
    write(home, X=np.ones((3, 2)), y=np.ones(3))
    with pytest.raises(DataNotFound, match=r"energy\.npz is not in .*available sets: yacht"):
        load_uci("energy")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.ones((3, 2))}, "is not a UCI regression file"),
        ({"X": np.ones((3, 2)), "y": np.ones(4)}, "`y` must have 3 rows"),
        ({"X": np.ones(3), "y": np.ones(3)}, "`X` must be a matrix"),
    ],
)
def test_wrong_contents_are_named(home, arrays, words):
    write(home, **arrays)
    with pytest.raises(ValueError, match=words):
        load_uci("yacht")


def test_the_real_files():
    try:
        shapes = {name: load_uci(name).X.shape for name in UCI_SETS}
    except DataNotFound as error:
        pytest.skip(str(error))
    assert shapes == {
        "bostonHousing": (506, 13),
        "concrete": (1030, 8),
        "energy": (768, 8),
        "kin8nm": (8192, 8),
        "yacht": (308, 6),
    }
