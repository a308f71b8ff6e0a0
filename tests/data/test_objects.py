"""Objects that cannot be read are named by their index, in the argument that holds them; equal ones have equal keys.

Tests of `iokr._validation.errors` and `iokr.data.objects`.
"""

import pickle
from datetime import datetime

import numpy as np
import pytest

from iokr.data.objects import (
    BadObject,
    BadObjectType,
    as_array,
    as_objects,
    distinct,
    equal_entries,
    error_context,
    joined,
    key,
    keys,
    n_objects,
)
from iokr.kernels import Jaccard, Spectrum


def test_says_what_is_known_of_it():
    error = BadObject("String", 3, " is empty.")
    assert (error.kind, error.index, error.text, error.argument) == ("String", 3, " is empty.", None)
    assert str(error) == "String 3 is empty."
    assert str(BadObject("String", "3 of candidate set 2", " is empty.", "candidates")) == (
        "`candidates`: String 3 of candidate set 2 is empty."
    )


@pytest.mark.parametrize("cls", [BadObject, BadObjectType])
def test_pickles(cls):
    again = pickle.loads(pickle.dumps(cls("Set", 1, " is odd.", "y")))
    assert type(again) is cls
    assert str(again) == "`y`: Set 1 is odd."


def test_contexts_add_the_argument_once_and_every_renumbering():
    with (
        pytest.raises(BadObject, match=r"^`y`: String 23 is empty\.$"),
        error_context("X", lambda i: i + 10),
        error_context("y", lambda i: i + 10),
        error_context("y"),
    ):
        raise BadObject("String", 3, " is empty.")


def test_other_errors_pass_unchanged():
    with pytest.raises(ValueError, match=r"^String 3 is what it says\.$"), error_context("y", lambda i: i + 10):
        raise ValueError("String 3 is what it says.")


def test_kernels_raise_it():
    with pytest.raises(BadObject) as caught:
        Spectrum(2)(["ab", ""])
    assert (caught.value.kind, caught.value.index) == ("String", 1)
    with pytest.raises(TypeError) as caught:
        Jaccard()([{1}, 2.0])
    assert isinstance(caught.value, BadObjectType)


BIG = 2**60


@pytest.mark.parametrize(
    "same",
    [
        [BIG + 1, np.int64(BIG + 1), np.uint64(BIG + 1), np.array(BIG + 1)],
        [1, 1.0, True, np.float32(1), np.uint8(1)],
        [BIG, float(BIG)],
        [10**400, 10**400 + 0],
        [(BIG + 1, 0.5), [BIG + 1, 0.5], np.array([BIG + 1, 0.5], dtype=object)],
        [(BIG + 1, 2), np.array([BIG + 1, 2]), np.array([BIG + 1, 2], dtype=np.uint64), [np.int64(BIG + 1), 2.0]],
        [(1, 2), np.array([1, 2], dtype=np.int8), np.array([1.0, 2.0]), [True, 2]],
        [(10**400, 1), [10**400, 1.0]],
        [(0.5, 0.0), np.array([0.5, -0.0])],
        [(0.5, float("nan")), np.array([0.5, -np.nan])],
        [float("nan"), np.float32("nan")],
        [("a", "b"), np.array(["a", "b"]), np.array(["a", "b"], dtype=object)],
        [np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00:00.000000000"), datetime(2020, 1, 1)],
        [np.timedelta64(1, "h"), np.timedelta64(3600, "s")],
        [np.datetime64("NaT"), np.datetime64("NaT", "ns")],
        [(1 + 1j, 2j), np.array([1 + 1j, 2j])],
    ],
    ids=lambda group: f"{group[0]!r:.20}",
)
def test_equal_objects_have_one_key(same):
    assert len({key(item) for item in same}) == 1
    first, _ = distinct(as_objects(same))
    assert len(first) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (BIG, BIG + 1),
        (float(BIG), BIG + 1),
        ((BIG, 1), (BIG + 1, 1)),
        ((BIG, 0.5), (BIG + 1, 0.5)),
        (10**400, 10**400 + 1),
        ((10**400,), (10**400 + 1,)),
        (2**63, 2**63 - 1),
        (np.array([2.0**64]), np.array([2**64 - 1], dtype=np.uint64)),
        (np.array([2.0**63]), np.array([2**63 - 1])),
        (np.datetime64("2020-01-01", "ns"), 1577836800000000000),
        (np.datetime64(1, "ns"), np.timedelta64(1, "ns")),
        ("1", 1),
    ],
    ids=repr,
)
def test_other_objects_have_other_keys(a, b):
    assert key(a) != key(b)


@pytest.mark.parametrize(
    "Y",
    [
        np.array([[BIG, 1], [BIG + 1, 1]]),
        np.array([[BIG, 1], [BIG + 1, 1]], dtype=np.uint64),
        np.array([[BIG, 1], [BIG + 1, 1]], dtype=object),
        np.array([["a", "b"], ["a", "c"]]),
        np.array([["a", 1], [None, 2.0]], dtype=object),
        np.array([[1j, 1], [2j, 1]]),
        np.array([["2020-01-01"], ["2020-01-02"]], dtype="M8[D]"),
        np.arange(8.0).reshape(2, 2, 2),
        np.array([[["a", "b"]], [["a", "c"]]]),
    ],
    ids=lambda Y: f"{Y.dtype} {Y.shape}",
)
def test_rows_of_every_kind(Y):
    assert len(set(keys(Y))) == 2
    assert keys(Y) == keys(list(Y)) == [key(row) for row in Y]
    if Y.ndim == 2:
        assert keys(Y) == keys([tuple(row.tolist()) if Y.dtype.kind != "M" else list(row) for row in Y])


def test_lists_are_not_rounded():
    assert as_array([BIG + 1, 0.5]).tolist() == [BIG + 1, 0.5]
    assert as_array([1, 0.5]).dtype == np.float64
    assert joined([np.array([BIG + 1]), np.array([BIG + 3], dtype=np.uint64)]).tolist() == [BIG + 1, BIG + 3]
    same = equal_entries(np.array([BIG, BIG + 1]), np.array([float(BIG), float(BIG)]))
    assert same.tolist() == [True, False]


@pytest.mark.parametrize("X", [{"a": 1}, {1, 2}, {"a": 1}.values()], ids=lambda X: type(X).__name__)
def test_objects_without_order_are_rejected(X):
    with pytest.raises(TypeError, match="`y` must be a sequence of objects or an array, got a"):
        n_objects(X, "y")


def test_an_object_that_contains_itself_is_rejected_by_its_number():
    itself, deep = [], ()
    itself.append(itself)
    for _ in range(100_000):
        deep = (deep,)
    for item in (itself, deep):
        with pytest.raises(BadObject, match="Object 1 contains itself, or is nested too deep"):
            keys([0, item])
