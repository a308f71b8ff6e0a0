"""Values that nobody should pass and somebody will: by the role of the argument that they are passed for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attack.containers import Variant, pandas_frame
from attack.strangers import STRANGERS

__all__ = [
    "ANYTHING",
    "SCALARS",
    "spoiled_indices",
    "spoiled_labels",
    "spoiled_matrix",
    "spoiled_objects",
    "spoiled_vector",
    "spoiled_weight",
]


def _constant(name: str, value: Any, expect: str = "any") -> Variant:
    return Variant(name, lambda _: value, expect)


# What is no data at all, whatever the argument.
ANYTHING = [
    _constant("a number", 5),
    _constant("a string", "abc"),
    _constant("an empty list", []),
    _constant("a dict", {"a": 1.0, "b": 2.0}),
    _constant("NaN", float("nan")),
    _constant("a zero-dimensional array", np.array(1.5)),
    _constant("an array without rows", np.zeros((0, 4))),
    _constant("an empty vector", np.zeros(0)),
    _constant("a list of None", [None] * 12),
]

SCALARS = [
    *(_constant(f"{v!r}", v) for v in (-1, 0, 1, 2, 3, 10**6, 2**63, 1.5, -0.5, 0.0, 1e308, 1e-308, 5e-324, -0.0)),
    *(_constant(f"{v!r}", v) for v in (float("nan"), float("inf"), float("-inf"), True, False, None, 1 + 2j)),
    *(_constant(f"{v!r}", v) for v in ("", "auto", "1", "abc", (), [], [1.0, 2.0], (0, 1), {"a": 1})),
    *(_constant(f"NumPy {v!r}", v) for v in (np.float32(0.5), np.int8(2), np.bool_(True), np.array(0.5))),
    _constant("an array", np.arange(4.0)),
    _constant("a matrix", np.eye(3)),
]


def _entry(value: Any, dtype: Any = None) -> Callable[[Any], Any]:
    """One entry replaced."""

    def make(X: Any) -> Any:
        kind = float if isinstance(value, float) and np.asarray(X).dtype == bool else dtype
        X = np.array(X, dtype=kind)
        X[(len(X) // 2, *[-1] * (X.ndim - 1))] = value  # above the diagonal, where matrices of pairs are read
        return X

    return make


def _hidden(X: Any) -> Any:
    mask = np.zeros(np.shape(X), dtype=bool)
    mask.reshape(-1)[min(3, mask.size - 1)] = True
    return np.ma.array(X, mask=mask)


def _ragged(X: Any) -> Any:
    rows = [list(np.atleast_1d(row)) for row in X]
    rows[-1] = [*rows[-1], 0.5]
    return rows


def _huge(X: Any) -> Any:
    """A million rows at no cost: what is announced must not be taken."""
    X = np.asarray(X)
    return np.broadcast_to(X[:1], (1_000_000, *X.shape[1:]))


def spoiled_matrix(name: str = "X") -> list[Variant]:
    """For rows of numbers; where y, NaN entries are missing values."""
    missing = "any" if name in ("y", "Y", "y_true") else "refuse"
    return [
        Variant("a NaN", _entry(np.nan), missing),
        Variant("an infinity", _entry(np.inf), "refuse"),
        Variant("a row of NaN", _row_of(np.nan), "refuse"),
        Variant("all NaN", lambda X: np.full(np.shape(X), np.nan), "refuse"),
        Variant("complex", lambda X: X + 1j, "refuse"),
        Variant("strings", lambda X: np.array([[f"s{v}" for v in row] for row in X]), "refuse"),
        Variant("numbers as strings", lambda X: X.astype(str), "any"),
        Variant("dates", lambda X: (8 * X).astype(np.int64).astype("datetime64[D]"), "any"),
        Variant("a hidden entry", _hidden, missing),
        Variant("ragged rows", _ragged, "refuse"),
        Variant("a None entry", lambda X: _entry(None, object)(X), "any"),
        Variant("an entry of 2**60", lambda X: _entry(2**60, object)(X), reference=_entry(2.0**60)),
        Variant("a string entry", lambda X: _entry("a", object)(X), "refuse"),
        Variant("three axes", lambda X: X[:, :, None], "refuse"),
        Variant("no columns", lambda X: X[:, :0], "refuse"),
        Variant("one row", lambda X: X[:1], "any"),
        Variant("one row fewer", lambda X: X[:-1], "any"),
        Variant("one column fewer", lambda X: X[:, :-1], "any"),
        Variant("one column more", lambda X: np.c_[X, X[:, 0]], "any"),
        Variant("one column", lambda X: X[:, :1], "any"),
        Variant("one axis", lambda X: X[:, 0], "any"),
        Variant("transposed", lambda X: X.T, "any"),
        Variant("constant", np.zeros_like, "any"),
        Variant("equal rows", lambda X: np.repeat(X[:1], len(X), axis=0), "any"),
        *(Variant(f"times {s:g}", lambda X, s=s: X * s, "any") for s in (1e-300, 1e-160, 1e-30, 1e30, 1e154, 1e300)),
        Variant("one entry of 1e200", _entry(1e200), "any"),
        Variant(
            "times 2**62 in int64", lambda X: (X > 0).astype(np.int64) * 2**62, reference=lambda X: (X > 0) * 2.0**62
        ),
        Variant("pandas with a word", lambda X: pandas_frame(X).assign(word="a"), "refuse"),
        Variant("pandas with NA", lambda X: pandas_frame(_entry(np.nan)(X)).convert_dtypes(), missing),
        Variant("pandas with dates", lambda X: pandas_frame(X).assign(day=np.datetime64("2026-01-01")), "any"),
        Variant("a million rows", _huge, "any"),
        *ANYTHING,
    ]


def _row_of(value: Any) -> Callable[[Any], Any]:
    def make(X: Any) -> Any:
        X = np.array(X)
        X[2] = value
        return X

    return make


def spoiled_vector(name: str = "y") -> list[Variant]:
    """For one number per object."""
    missing = "any" if name in ("y", "Y") else "refuse"
    return [
        Variant("a NaN", _entry(np.nan), "any"),
        Variant("an infinity", _entry(np.inf), "any" if name == "ranks" else "refuse"),
        Variant("all NaN", lambda x: np.full(np.shape(x), np.nan), "refuse"),
        Variant("complex", lambda x: x + 1j, "refuse"),
        Variant("strings", lambda x: np.array([f"s{v}" for v in x]), "any"),
        Variant("dates", lambda x: (8 * x).astype(np.int64).astype("datetime64[D]"), "any"),
        Variant("a hidden entry", _hidden, "refuse" if missing == "refuse" else "any"),
        Variant("a None entry", lambda x: _entry(None, object)(x), "any"),
        Variant("one fewer", lambda x: x[:-1], "any"),
        Variant("a column", lambda x: x[:, None], "any"),
        Variant("two columns", lambda x: np.c_[x, x], "any"),
        Variant("constant", np.zeros_like, "any"),
        *(Variant(f"times {s:g}", lambda x, s=s: x * s, "any") for s in (1e-300, 1e-160, 1e30, 1e154, 1e300)),
        Variant("negative", lambda x: -np.abs(x) - 1, "any"),
        *ANYTHING,
    ]


def spoiled_weight() -> list[Variant]:
    """For weights of rows."""
    return [
        Variant("a negative weight", _entry(-1.0), "refuse"),
        Variant("a NaN", _entry(np.nan), "refuse"),
        Variant("an infinity", _entry(np.inf), "refuse"),
        Variant("all zero", np.zeros_like, "refuse"),
        Variant("a zero", _entry(0.0), "any"),
        Variant("one row alone", lambda w: np.eye(len(w))[0], "any"),
        Variant("complex", lambda w: w + 1j, "refuse"),
        Variant("strings", lambda w: w.astype(str), "any"),
        Variant("words", lambda w: np.array(["a"] * len(w)), "refuse"),
        Variant("one fewer", lambda w: w[:-1], "refuse"),
        Variant("two columns", lambda w: np.c_[w, w], "refuse"),
        Variant("a column", lambda w: w[:, None], "any"),
        Variant("dates", lambda w: w.astype(np.int64).astype("datetime64[D]"), "refuse"),
        Variant("a hidden entry", _hidden, "refuse"),
        Variant("a None entry", lambda w: _entry(None, object)(w), "refuse"),
        *(Variant(f"times {s:g}", lambda w, s=s: w * s, "any") for s in (5e-324, 1e-300, 1e-30, 1e30, 1e154, 1e300)),
        *ANYTHING,
    ]


def spoiled_indices() -> list[Variant]:
    """For integers that count something: indices, pairs, masks."""
    return [
        Variant("beyond the end", _entry(10**6), "refuse"),
        Variant("2**62", _entry(2**62), "refuse"),
        Variant("negative", _entry(-1), "refuse"),
        Variant("as floats", lambda i: i.astype(float), "any"),
        Variant("halves", lambda i: i + 0.5, "refuse"),
        Variant("a NaN", lambda i: _entry(np.nan)(i.astype(float)), "refuse"),
        Variant("complex", lambda i: i + 1j, "refuse"),
        Variant("strings", lambda i: i.astype(str), "refuse"),
        Variant("objects", lambda i: i.astype(object), "any"),
        Variant("booleans", lambda i: i > 1, "any"),
        Variant("uint64", lambda i: i.astype(np.uint64)),
        Variant("int8", lambda i: i.astype(np.int8)),
        Variant("a hidden entry", _hidden, "any"),
        Variant("three axes", lambda i: i[..., None, None], "refuse"),
        Variant("dates", lambda i: i.astype("datetime64[D]"), "refuse"),
        *ANYTHING,
    ]


def spoiled_labels() -> list[Variant]:
    """For labels of any kind, equal or not."""
    names = sorted
    return [
        Variant("2-D objects", lambda y: np.array([[x, x] for x in y], dtype=object), "any"),
        Variant("dates", lambda y: _coded(y, names).astype("datetime64[D]"), "any"),
        Variant("complex", lambda y: _coded(y, names) + 1j, "any"),
        Variant("None among them", lambda y: [*list(y)[:-1], None], "any"),
        Variant("NaN among them", lambda y: [*list(y)[:-1], float("nan")], "any"),
        Variant("mixed types", lambda y: [*list(y)[:-2], 1, (2, 3)], "any"),
        Variant("unhashable", lambda y: [[x] for x in y], "any"),
        Variant("one fewer", lambda y: y[:-1], "any"),
        Variant("very long", lambda y: [str(x) * 5000 for x in y], "any"),
        *ANYTHING,
    ]


def _coded(y: Any, names: Callable[[Any], Any]) -> np.ndarray:
    order = {v: i for i, v in enumerate(names(set(y)))}
    return np.array([order[v] for v in y])


def _first(value: Any) -> Callable[[Any], Any]:
    def make(Y: Any) -> Any:
        Y = list(Y)
        Y[1] = value
        return Y

    return make


def spoiled_objects() -> list[Variant]:
    """For objects of a structured domain."""
    return [
        *(Variant(f"{name} among them", _first(value), "any") for name, value in STRANGERS.items()),
        Variant("all equal", lambda Y: [Y[0]] * len(Y), "any"),
        Variant("one object", lambda Y: Y[:1], "any"),
        Variant("one fewer", lambda Y: Y[:-1], "any"),
        Variant("2-D", lambda Y: np.array([[1.0, 2.0]] * len(Y)), "any"),
        Variant("2-D objects", lambda Y: np.array([["a", 1]] * len(Y), dtype=object), "any"),
        *ANYTHING,
    ]
