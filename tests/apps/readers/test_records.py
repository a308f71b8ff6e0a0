"""Lines and named tables; `iokr.apps.readers.records`."""

import gzip

import pytest

from iokr.apps.readers.formats import format_of
from iokr.apps.readers.records import TextFile, named_rows


def test_lines_have_numbers_and_encodings(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufefffirst \n\n  é\n".encode())
    text = TextFile(path)
    assert list(text) == [(1, "first"), (2, ""), (3, "é")] and not text.notes()
    path.write_bytes("é".encode("latin-1"))
    text = TextFile(path)
    assert list(text) == [(1, "é")] and text.notes()[0].action == "read as Latin-1"
    assert list(TextFile(path, strip=False)) == [(1, "é")]


def test_gzip_by_suffix(tmp_path):
    path = tmp_path / "a.mgf.gz"
    path.write_bytes(gzip.compress(b"x\ny\n"))
    assert format_of(path) == ".mgf" and [line for _, line in TextFile(path)] == ["x", "y"]
    path.write_bytes(b"not packed")
    with pytest.raises(ValueError, match="gzip"):
        list(TextFile(path))
    path.write_bytes(gzip.compress(bytes(100_000_000)))
    with pytest.raises(ValueError, match=r"expands|NUL"):
        list(TextFile(path))


def test_files_that_are_not_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab\0c\n")
    with pytest.raises(ValueError, match="NUL"):
        list(TextFile(path))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        list(TextFile(tmp_path / "b.txt"))
    with pytest.raises(FileNotFoundError, match="a folder"):
        list(TextFile(tmp_path))


@pytest.mark.parametrize("name", ["t.tsv", "t.csv", "t.tsv.gz"])
def test_named_rows(tmp_path, name):
    path = tmp_path / name
    content = "ID\tSmiles\n1\tCC\n\n2\t\n".replace("\t", "," if "csv" in name else "\t").encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert list(named_rows(path)) == [(2, {"id": "1", "smiles": "CC"}), (4, {"id": "2"})]


def test_parquet_rows(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    path = tmp_path / "t.parquet"
    pd.DataFrame({"Id": ["a", "b"], "mzs": [[1.0, 2.0], None]}).to_parquet(path)
    assert list(named_rows(path)) == [(1, {"id": "a", "mzs": [1.0, 2.0]}), (2, {"id": "b"})]
    path.write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="Parquet"):
        list(named_rows(path))


@pytest.mark.parametrize(("content", "words"), [("", "empty"), ("a\tb\n1\t2\t3\n", "line 2: 3 cells")])
def test_invalid_tables(tmp_path, content, words):
    path = tmp_path / "t.tsv"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        list(named_rows(path))
    with pytest.raises(ValueError, match="unknown format"):
        list(named_rows(tmp_path / "t.xlsx"))
