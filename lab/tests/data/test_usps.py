"""The USPS loader, on a small file of the same form and on the real one where it is."""

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import load_usps


def write(folder, **changes):
    rng = np.random.default_rng(0)
    arrays = {
        "X_train": rng.integers(-1000, 1001, size=(6, 256)).astype(np.int16),
        "y_train": rng.integers(0, 10, size=6),
        "X_test": rng.integers(-1000, 1001, size=(2, 256)).astype(np.int16),
        "y_test": rng.integers(0, 10, size=2),
    } | changes
    (folder / "usps").mkdir()
    np.savez(folder / "usps" / "usps.npz", **{name: a for name, a in arrays.items() if a is not None})
    return arrays


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def test_pixels_are_thousandths(home):
    arrays = write(home)
    usps = load_usps()
    np.testing.assert_array_equal(usps.X_train, arrays["X_train"] / 1000)
    np.testing.assert_array_equal(usps.y_test, arrays["y_test"])
    assert usps.X_test.dtype == np.float64 and usps.X_test.shape == (2, 256)


def test_not_there(home):
    with pytest.raises(DataNotFound, match=r"usps/usps\.npz"):
        load_usps()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y_train": None}, "not a USPS file"),
        ({"X_train": np.zeros((6, 255), np.int16)}, r"\(6, 255\)"),
        ({"y_test": np.zeros(3, int)}, r"\(3,\)"),
    ],
)
def test_wrong_contents_are_named(home, changes, words):
    write(home, **changes)
    with pytest.raises(ValueError, match=words):
        load_usps()


@pytest.mark.parametrize("contents", [b"not an archive", b"PK\x03\x04 cut short", b""])
def test_a_file_of_something_else_is_named(home, contents):
    (home / "usps").mkdir()
    (home / "usps" / "usps.npz").write_bytes(contents)
    with pytest.raises(ValueError, match="not a USPS file"):
        load_usps()


def test_the_real_file():
    try:
        usps = load_usps()
    except DataNotFound as error:
        pytest.skip(str(error))
    assert usps.X_train.shape == (7291, 256) and usps.X_test.shape == (2007, 256)
    assert np.bincount(usps.y_train).tolist() == [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    assert usps.X_train.min() == -1 and usps.X_train.max() == 1
