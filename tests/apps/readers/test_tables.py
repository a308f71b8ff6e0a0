"""Tables in files: every format gives the same table, and errors name file and line.

Tests of `iokr.apps.readers.typed_tables` and `iokr.apps.readers.file_table`.
"""

import gzip

import numpy as np
import pandas as pd
import pytest

from iokr.apps.readers.tables import read_table, split_name

TSV = "id\tsize\tmass\na\t1\t2.5\nb\t-3\t4e-1\n"
EXPECTED = np.array([[1.0, 2.5], [-3.0, 0.4]])


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def frame():
    return pd.DataFrame({"id": ["a", "b"], "size": [1, -3], "mass": [2.5, 0.4]})


def files(folder):
    """The same table in every kind of file."""
    pytest.importorskip("pyarrow")
    frame().to_parquet(folder / "t.parquet")
    frame().set_index("id").to_parquet(folder / "i.parquet")
    np.savez(folder / "t.npz", ids=["a", "b"], X=EXPECTED)
    return [
        write(folder, "t.tsv", TSV),
        write(folder, "t.csv", TSV.replace("\t", ",")),
        write(folder, "t.txt", TSV.replace("\t", "  ")),
        write(folder, "bom.csv", b"\xef\xbb\xbf" + TSV.replace("\t", ",").encode()),
        write(folder, "windows.tsv", TSV.replace("\n", "\r\n")),
        write(folder, "quoted.csv", 'id,size,mass\n"a",1,2.5\n"b","-3", 0.4 \n'),
        write(folder, "t.tsv.gz", gzip.compress(TSV.encode())),
        folder / "t.parquet",
        folder / "i.parquet",
        folder / "t.npz",
        f"{folder / 't.npz'}:X",
    ]


def test_every_format_gives_the_same_table(tmp_path):
    for path in files(tmp_path):
        table = read_table(path)
        assert table.text.tolist() == [["a"], ["b"]], path
        np.testing.assert_array_equal(table.values, EXPECTED, err_msg=str(path))
        assert table.columns in ((), ("size", "mass"))


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("a\t1\t2\nb\t3\t4\n", False),
        ("id\t0\t1\na\t1\t2\n", True),
        ("id\t1\t2\na\t1\t2\n", True),
        ("\tu\tv\na\t1\t2\n", True),
        ("a\t\t2\nb\t3\t4\n", False),
        ("a\tNA\t2\nb\t3\t4\n", False),
        ("id\t007\t12\na\t1\t2\n", True),
    ],
)
def test_a_header_is_recognised(tmp_path, content, header):
    table = read_table(write(tmp_path, "t.tsv", content))
    assert bool(table.columns) is header
    assert len(table.text) == 2 - header


def test_missing_cells_are_nan_and_lines_are_those_of_the_file(tmp_path):
    table = read_table(write(tmp_path, "t.tsv", "# a comment\nid\tu\tv\n\na\t\t1\n# more\nb\tNaN\t?\nc\t2\tn/a\n"))
    np.testing.assert_array_equal(table.values, [[np.nan, 1], [np.nan, np.nan], [2, np.nan]])
    assert table.lines.tolist() == [4, 6, 7]
    assert table.comments == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.tsv", "id\tu\na\tx1\n", r"t\.tsv, line 2, column 'u': 'x1' is not a number"),
        ("t.tsv", "a\t1.5\nb\t1,5\n", r"line 2, column 2: '1,5' is ambiguous; `decimal=.comma.`"),
        (
            "t.tsv",
            "a\t1,234\nb\t2,345\n",
            r"line 1, column 2: '1,234' is ambiguous; .*`decimal=.point.` as a separator",
        ),
        ("t.tsv", "id\tu\na\t1_2\n", r"t\.tsv, line 2, column 'u': '1_2' is not a number"),
        ("t.csv", "id,u\na,1\nb,2,3\n", r"t\.csv, line 3: expected 2 columns as in line 1, got 3"),
        ("t.csv", "id,u\na\n", r"t\.csv, line 2: expected 2 columns as in line 1, got 1"),
        ("t.csv", "id,u\na,inf\n", r"t\.csv, line 2, column 'u': the value is infinite"),
        ("t.csv", 'id,u\na,"1\n', r"t\.csv, line 2: unexpected end of data; a quote inside a cell is doubled"),
        ("t.tsv", "", "is empty"),
        ("t.tsv", "# nothing\n\n", "is empty"),
        ("t.tsv", "id\tu\n", "has a header but no rows"),
        ("t.tsv", "id\tu\n#a\t1\n#b\t2\n", "a header but no rows; 2 lines begin with # and are comments"),
        ("t.tsv", "a\t1,5\t1\t2.5\nb\t1\t1\t2\n", r"t\.tsv, line 1, column 2: '1,5' is ambiguous"),
        ("t.tsv", b"id\tu\n\xff\xfe\t1\n", "is not UTF-8 text"),
        ("t.tsv", b"id\tu\na\0\t1\n", r"t\.tsv, line 2: NUL character; this is not a text file"),
        ("t.txt", b"a\0 1\n", r"t\.txt, line 1: NUL character"),
        ("t.tsv", "id\tu\na\x01\t1\n", r"t\.tsv, line 2: 'a\\x01' contains a tab, a line end or a control character"),
        ("t.csv", "id\tu\na\t1\n", r"t\.csv, line 1: .* contains a tab, .*; if tabs separate the columns"),
        ("t.tsv.gz", b"id\tu\n", "is not a gzip file"),
        ("t.tsv.gz", gzip.compress(b"id\tu\na\t1\n" * 99, mtime=0)[:-20], "is not a gzip file, or is damaged"),
        ("t.tsv.gz", gzip.compress(b"", mtime=0)[:10] + b"\xff" * 20, "is not a gzip file, or is damaged"),
        ("t.npy", b"id\tu\n", "is not a valid array file"),
        ("t.npz", b"PK\x03\x04 no zip", "is not a valid array file"),
        ("t.xyz", "x", r"unknown format; the file name must end in one of \.tsv"),
        ("t.xlsx", "x", r"t\.xlsx is not an \.xlsx file"),
        ("t.xls", "x", r"\.xls files are not supported; in Excel, save it as \.xlsx"),
    ],
)
def test_errors_name_file_and_line(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        read_table(write(tmp_path, name, content))


def test_invalid_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_table(write(tmp_path, "t.parquet", "no"))
    pd.DataFrame({"id": ["a", "b"], "u": ["1", "x"]}).to_parquet(tmp_path / "w.parquet")
    with pytest.raises(ValueError, match=r"w\.parquet, row 2, column 'u': 'x' is not a number"):
        read_table(tmp_path / "w.parquet")


def test_dates_are_not_numbers(tmp_path):
    """pandas would turn them into nanoseconds."""
    pytest.importorskip("pyarrow")
    pd.DataFrame({"id": ["a"], "born": [pd.Timestamp("2020-01-01")]}).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(ValueError, match=r"d\.parquet, row 1, column 'born': .*is not a number"):
        read_table(tmp_path / "d.parquet")


def test_names_in_the_index_of_a_frame_are_the_ids(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"u": [1.0, 2.0, 3.0]}, index=["a", "b", "c"])
    for index in (frame.index, frame.index.rename("id")):
        frame.set_index(index).to_parquet(tmp_path / "t.parquet")
        assert read_table(tmp_path / "t.parquet").text[:, 0].tolist() == ["a", "b", "c"]
    frame = pd.DataFrame({"id": ["a", "b", "c"], "u": [1.0, 2.0, 3.0]})
    frame[frame.u > 1].to_parquet(tmp_path / "t.parquet")  # a part of a frame keeps numbers as its index
    assert read_table(tmp_path / "t.parquet").text[:, 0].tolist() == ["b", "c"]


def test_ids_in_bytes_are_text(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(2), ids=np.array([b"a", b"b"]))
    assert read_table(f"{tmp_path}/t.npz:X").text[:, 0].tolist() == ["a", "b"]


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_table(tmp_path / "t.tsv")
    with pytest.raises(FileNotFoundError, match="is a folder"):
        read_table(tmp_path)


def test_arrays_are_chosen_by_name(tmp_path):
    np.savez(tmp_path / "t.npz", A=np.eye(2), B=np.ones((3, 2)), edges=np.array([[0, 1]]))
    assert len(read_table(f"{tmp_path}/t.npz:B").text) == 3
    assert read_table(f"{tmp_path}/t.npz:edges", 2).text.tolist() == [["0", "1"]]
    with pytest.raises(ValueError, match="select one of them"):
        read_table(tmp_path / "t.npz")
    with pytest.raises(ValueError, match="has no array 'C'; it has A, B, edges"):
        read_table(f"{tmp_path}/t.npz:C")
    assert split_name("x.npz:a")[1] == "a" and split_name("c:/x.tsv")[1] is None


def test_arrays_of_the_wrong_shape(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"expected a table of numbers or of text, got float64 of shape \(2, 2, 2\)"):
        read_table(tmp_path / "t.npy")
    for number in (0.5, np.inf, np.nan):
        np.save(tmp_path / "e.npy", np.array([[number, 1.0]]))
        with pytest.raises(ValueError, match="must be whole numbers"):
            read_table(tmp_path / "e.npy", 2)
    np.savez(tmp_path / "i.npz", ids=["a"], X=np.eye(2))
    with pytest.raises(ValueError, match="the array ids"):
        read_table(tmp_path / "i.npz")
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="is not a valid array file"):
        read_table(tmp_path / "o.npy")


def test_spaces_where_tabs_are_expected(tmp_path):
    with pytest.raises(ValueError, match=r"line 1: expected at least 2 columns separated by tabs, got 1: 'a b'"):
        read_table(write(tmp_path, "e.tsv", "a b\nb c\n"), 2)
