import io
import zipfile

import numpy as np
import pytest

from iokr_lab.data.archives import read_arrays


def test_arrays_by_name(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.eye(2), y=np.arange(3))
    assert list(read_arrays(tmp_path / "a.npz", "a sample")) == ["X", "y"]
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz", "a sample", ("y",))["y"], np.arange(3))
    with pytest.raises(ValueError, match=r"a\.npz is not a sample file: .*'z\.npy'"):
        read_arrays(tmp_path / "a.npz", "a sample", ("z",))


def test_an_array_that_announces_more_than_there_is(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 100)})
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w") as file:
        file.writestr("X.npy", header.getvalue() + bytes(80))
    with pytest.raises(ValueError, match=r"bomb\.npz is not a valid array file"):
        read_arrays(tmp_path / "bomb.npz", "a sample")
