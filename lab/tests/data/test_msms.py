"""The loader of spectra, on a small file of the same form and on the real one where it is."""

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import load_msms_fp490


def write(folder, **changes):
    rng = np.random.default_rng(0)
    B = rng.normal(size=(5, 5))
    arrays = {"K": (B @ B.T).astype(np.float32), "Y": rng.integers(0, 2, size=(5, 7)).astype(np.uint8)} | changes
    (folder / "msms_fp490").mkdir()
    np.savez(folder / "msms_fp490" / "msms_fp490.npz", **arrays)
    return arrays


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def test_kernel_and_fingerprints(home):
    arrays = write(home)
    spectra = load_msms_fp490()
    np.testing.assert_array_equal(spectra.K, spectra.K.T)
    np.testing.assert_allclose(spectra.K, arrays["K"], rtol=1e-6)
    np.testing.assert_array_equal(spectra.fingerprints, arrays["Y"])


@pytest.mark.parametrize("bad", [{"K": np.zeros((5, 4))}, {"Y": np.zeros((4, 7))}, {"Y": np.full((5, 7), 2)}])
def test_other_files_are_refused(home, bad):
    write(home, **bad)
    with pytest.raises(ValueError, match="must have"):
        load_msms_fp490()


def test_not_there(home):
    with pytest.raises(DataNotFound, match="msms_fp490"):
        load_msms_fp490()


def test_the_real_file():
    try:
        spectra = load_msms_fp490()
    except DataNotFound:
        pytest.skip("no data")
    assert spectra.K.shape == (490, 490) and spectra.fingerprints.shape == (490, 286)
    np.testing.assert_allclose(np.diagonal(spectra.K), 1.0, atol=1e-5)
