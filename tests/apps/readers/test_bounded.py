"""Compressed files are bounded by their own size and by the memory, before and during reading."""

import gzip
import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from iokr.apps.readers import bounded
from iokr.apps.readers.tables import read_table

BIG = 60_000_000


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("iokr._system.memory.available_memory", lambda like=None: 1_000_000)


def test_a_gzip_file_that_expands_too_far_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "n.tsv.gz"
    path.write_bytes(gzip.compress(b"a\t0\n" * (BIG // 4)))
    with pytest.raises(ValueError, match=r"n\.tsv\.gz expands from .* to 60 MB or more; .* at most 200 times.*gzip -d"):
        read_table(path)


def test_a_gzip_file_that_lies_about_its_size_is_stopped_while_it_is_read(tmp_path):
    path = tmp_path / "n.tsv.gz"
    path.write_bytes(gzip.compress(b"0" * BIG) + gzip.compress(b"\n"))  # two members: the trailer is of the last
    with pytest.raises(ValueError, match=r"expands from .* to 3\d\.?\d* MB or more"):
        read_table(path)


def test_what_people_pack_is_read(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 5))
    lines = [f"n{i}\t" + "\t".join(map(repr, row)) for i, row in enumerate(X.tolist())]
    (tmp_path / "n.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    np.savez_compressed(tmp_path / "n.npz", X=X, ids=[f"n{i}" for i in range(300)])
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((1000, 1000)))  # packed a thousand times, and small
    np.testing.assert_array_equal(read_table(tmp_path / "n.tsv.gz").values, X)
    table = read_table(tmp_path / "n.npz")
    np.testing.assert_array_equal(table.values, X)
    assert table.text[7, 0] == "n7" and not table.numbered
    assert not read_table(tmp_path / "zeros.npz").values.any()


def test_an_npz_file_that_expands_too_far_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "n.npz", X=np.zeros((BIG // 8, 1)), small=np.eye(2))
    with pytest.raises(ValueError, match=r"n\.npz expands from .*numpy\.savez"):
        read_table(f"{tmp_path / 'n.npz'}:X")
    assert read_table(f"{tmp_path / 'n.npz'}:small").values.shape == (2, 2), "the other is not unpacked"


def header(shape, descr="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize("shape", [(10**12, 2), (10**30, 2), (5, 3)])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path, shape, suffix):
    path, content = tmp_path / f"n.{suffix}", header(shape) + b"\0" * 64
    if suffix == "npy":
        path.write_bytes(content)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("X.npy", content)
    with pytest.raises(ValueError, match=r"n\.(npy|npz) is not a valid array file"):
        read_table(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff{", b"x" * 100])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_damaged_files_are_named(tmp_path, content, suffix):
    path = tmp_path / f"n.{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"n\.{suffix} is not a valid array file"):
        read_table(path)


@pytest.mark.parametrize("name", ["n.npy", "n.npz", "n.parquet"])
def test_the_memory_there_is_bounds_what_is_read(tmp_path, name, little_memory):
    path, X = tmp_path / name, np.random.default_rng(0).normal(size=(1000, 100))
    if name.endswith("npy"):
        np.save(path, X)
    elif name.endswith("npz"):
        np.savez(path, X=X)
    else:
        pytest.importorskip("pyarrow")
        import pandas as pd

        pd.DataFrame(X, columns=[f"x{j}" for j in range(100)]).to_parquet(path)
    with pytest.raises(MemoryError, match=rf"Reading .*{name}.* needs about .* are available"):
        read_table(path)


def test_text_is_bounded_by_the_memory_while_it_is_read(tmp_path, little_memory, monkeypatch):
    monkeypatch.setattr(bounded, "_CHECK_EVERY", 1_000_000)
    path = tmp_path / "n.tsv.gz"
    rng = np.random.default_rng(0)
    path.write_bytes(gzip.compress("\n".join(f"n{i}\t{x}" for i, x in enumerate(rng.normal(size=100_000))).encode()))
    with pytest.raises(MemoryError, match=r"n\.tsv\.gz, after the first .* needs about"):
        read_table(path)


def test_one_long_id_does_not_make_all_of_them_long(tmp_path, little_memory):
    """Arrays of text have one width."""
    (tmp_path / "n.tsv").write_text("x" * 100_000 + "\t1\n" + "a\t1\n" * 10)
    with pytest.raises(MemoryError, match="ids of up to 100000 characters"):
        read_table(tmp_path / "n.tsv")


def test_a_parquet_file_of_constants_is_bounded(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    n = BIG // 8
    pd.DataFrame({"id": np.zeros(n, dtype=np.int8), "x": np.zeros(n)}).to_parquet(tmp_path / "n.parquet")
    with pytest.raises(ValueError, match=r"n\.parquet expands from .* If this is intended, save it as"):
        read_table(tmp_path / "n.parquet")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_bomb_is_refused_in_little_memory(tmp_path):
    """A megabyte that holds a gigabyte, in a process that must not have so much."""
    with gzip.open(tmp_path / "n.tsv.gz", "wb") as file:
        for _ in range(100):
            file.write(b"0\t" * 5_000_000)
    code = f"""
from iokr.apps.readers.tables import read_table
try:
    read_table({str(tmp_path / "n.tsv.gz")!r})
except ValueError as error:
    print(error)
with open("/proc/self/status") as file:  # the `ru_maxrss` of a child counts the process that started it, too
    print(next(line.split()[1] for line in file if line.startswith("VmHWM")))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    message, peak = run.stdout.splitlines()
    assert "expands from" in message and int(peak) < 400_000
