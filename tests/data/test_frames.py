"""One door for tables of every kind, and for arrays that hide entries."""

import datetime

import numpy as np
import pytest

from iokr._validation.errors import BadObject
from iokr.data.frames import check_aligned, column_names, exact_stack, is_table, read, select_columns, take_table

BIG = 2**60
COLUMNS = {"s": ["ab", "cd", "ef"], "a": [1, 2, 3], "b": [0.5, 1.5, 2.5]}


def test_columns_of_a_frame(table):
    frame = table(COLUMNS)
    assert is_table(frame)
    assert column_names(frame) == ["s", "a", "b"]
    for chosen in (["s"], [0], [-3]):
        words = read(select_columns(frame, chosen))
        assert words.dtype == object
        assert words.tolist() == COLUMNS["s"]
    assert read(select_columns(frame, ["a"])).shape == (3,)
    assert read(select_columns(frame, ["a"]), matrix=True).shape == (3, 1)
    np.testing.assert_array_equal(
        read(select_columns(frame, ["a", "b"])), np.column_stack([[1, 2, 3], [0.5, 1.5, 2.5]])
    )
    assert read(select_columns(take_table(frame, np.array([2, 0])), ["s"])).tolist() == ["ef", "ab"]
    with pytest.raises(BadObject, match="Column 's' of 3 holds no numbers"):
        read(frame)
    assert read(frame, rows=True).shape == (3, 3)


def test_ids_beside_fractions_are_exact(table):
    values = read(table({"id": [BIG, BIG + 1], "x": [0.5, 1.5]}))
    assert values.tolist() == [[BIG, 0.5], [BIG + 1, 1.5]]
    assert read(table({"id": [1, 2], "x": [0.5, 1.5]})).dtype == np.float64


def columns_with_nulls(items):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    return [
        pd.Series(items, dtype="Int64"),
        pd.array(items, dtype="Int64"),
        pl.Series(items),
        pa.array(items),
        pa.chunked_array([items[:1], items[1:]]),
    ]


def test_nulls_among_whole_numbers():
    for column in columns_with_nulls([BIG + 1, None]):
        assert read(column).tolist() == [BIG + 1, None]
    for column in columns_with_nulls([1, None]):
        np.testing.assert_array_equal(read(column), [1.0, np.nan])


def test_words_and_dates_of_columns():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    words = ["a", "b"]
    for column in (
        pd.Series(words),
        pd.Index(words),
        pd.Series(words, dtype="category"),
        pl.Series(words),
        pl.Series(words, dtype=pl.Categorical),
        pa.array(words),
        pa.array(words).dictionary_encode(),
    ):
        assert read(column).dtype == object
        assert read(column).tolist() == words
    day = datetime.datetime(2020, 1, 1)
    for column in (pd.Series([day]), pl.Series([day]), pa.array([day])):
        assert read(column).dtype.kind == "M"


def test_frames_that_speak_a_protocol():
    pa = pytest.importorskip("pyarrow")

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)

    assert column_names(Stream()) == ["s", "a", "b"]
    assert read(select_columns(Stream(), ["s"])).tolist() == COLUMNS["s"]


def test_a_polars_frame_that_waits():
    pl = pytest.importorskip("polars")
    assert read(pl.DataFrame({"a": [1, 2]}).lazy()).tolist() == [1, 2]


def test_what_is_no_table_stays():
    for X in ([1, 2], np.arange(3), "abc", None, {"a": 1}):
        assert not is_table(X)
        assert read(X) is X


def test_hidden_entries():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [0, 1]])
    with pytest.raises(BadObject, match=r"Entry \(1, 1\) of a masked array is hidden"):
        read(X)
    np.testing.assert_array_equal(read(X, missing=True), [[1.0, 2.0], [3.0, np.nan]])
    assert not isinstance(read(np.ma.array([1, 2])), np.ma.MaskedArray)
    with pytest.raises(BadObject, match="no NaN"):
        read(np.ma.array([BIG + 1, BIG], mask=[0, 1]), missing=True)


def test_exact_stack():
    whole, fractions = np.array([BIG, BIG + 1]), np.array([0.5, 1.5])
    assert exact_stack([whole, fractions]).dtype == object
    assert exact_stack([whole, whole]).dtype == np.int64
    assert exact_stack([whole, whole.astype(np.uint64)], axis=0).tolist() == [BIG, BIG + 1] * 2
    assert exact_stack([np.array([1, 2]), fractions]).dtype == np.float64


def test_rows_are_aligned():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["u", "v", "w"])
    for same in (frame, frame["a"], frame.to_numpy(), None, frame[:2][::-1], frame.set_axis(["w", "v", "x"])):
        check_aligned(frame, same)
        check_aligned(same, frame)
    with pytest.raises(
        ValueError, match=r"X and y have the same rows in another order: row 0 is 'u' in X, but 'w' in y"
    ):
        check_aligned(frame, frame[::-1])
    numbered = frame.set_axis([0, 1, 2])
    with pytest.raises(ValueError, match=r"row 0 is 0 in X, but 2 in y"):
        check_aligned(numbered, numbered[::-1])
    with pytest.raises(ValueError, match=r"`groups = groups.loc\[X.index\]`.*`groups.to_numpy\(\)`"):
        check_aligned(frame, frame["a"][["u", "w", "v"]], "X", "groups")


@pytest.mark.parametrize("names", [range(3), [2.5, 1.5, 0.5], [0, 0, 1], [("a", 1), ("a", 2), ("b", 1)]], ids=str)
def test_rows_with_any_names_are_aligned(names):
    pd = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else pd.Index(names)
    column = pd.Series([1.0, 2.0, 3.0], index=index)
    check_aligned(column, column.copy())
    with pytest.raises(ValueError, match="another order"):
        check_aligned(column, column[::-1])
