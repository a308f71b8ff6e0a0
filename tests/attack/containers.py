"""The same objects in other containers, layouts and types: the answer must be the same, or a refusal in words."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["Variant", "repacked", "repacked_labels", "repacked_matrix", "repacked_objects", "repacked_vector"]


@dataclass(frozen=True)
class Variant:
    """Another value of an argument, made from the valid one.

    `expect` is "same" (the answer of `reference(valid)`, by default that of the valid value), "refuse" or "any".
    """

    name: str
    make: Callable[[Any], Any]
    expect: str = "same"
    reference: Callable[[Any], Any] | None = None


def strided(X: Any) -> np.ndarray:
    """Every second entry of a larger array along every axis."""
    large = np.full([2 * k for k in X.shape], 7.25).astype(X.dtype)
    view = large[tuple(slice(None, None, 2) for _ in X.shape)]
    view[...] = X
    return view


def backwards(X: Any) -> np.ndarray:
    """Negative strides."""
    flip = tuple(slice(None, None, -1) for _ in X.shape)
    return np.ascontiguousarray(X[flip])[flip]


def read_only(X: Any) -> np.ndarray:
    """A copy that may not be written."""
    X = np.array(X)
    X.flags.writeable = False
    return X


def memory_map(X: Any) -> np.ndarray:
    """On disk."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, X)
        return np.load(file.name, mmap_mode="r")


def unaligned(X: Any) -> np.ndarray:
    """One byte off a word."""
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:]
    view = raw.view(X.dtype).reshape(X.shape)
    view[...] = X
    return view


def pandas_frame(X: Any, index: Any = None, columns: Any = None) -> Any:
    import pandas as pd

    return pd.DataFrame(np.asarray(X), index=index, columns=columns)


def polars_frame(X: Any) -> Any:
    import polars as pl

    return pl.DataFrame({f"c{j}": list(column) for j, column in enumerate(np.asarray(X).T)})


def arrow_table(X: Any) -> Any:
    import pyarrow as pa

    return pa.table({f"c{j}": list(column) for j, column in enumerate(np.asarray(X).T)})


def torch_tensor(X: Any) -> Any:
    import torch

    return torch.tensor(np.array(X))


def strict(X: Any) -> Any:
    import array_api_strict as xp

    return xp.asarray(np.array(X))


def _odd_index(X: Any) -> Any:
    n = len(X)
    return pandas_frame(X, index=[f"r{i}" for i in range(n)][::-1], columns=[f"v{j}" for j in range(X.shape[1])])


LAYOUTS = [
    Variant("fortran", np.asfortranarray),
    Variant("strided", strided),
    Variant("backwards", backwards),
    Variant("read-only", read_only),
    Variant("byte-swapped", lambda X: X.astype(X.dtype.newbyteorder())),
    Variant("memory map", memory_map),
    Variant("unaligned", unaligned),
    Variant("list", lambda X: X.tolist()),
    Variant("list of arrays", list),
    Variant("object array", lambda X: X.astype(object)),
    Variant("torch", torch_tensor),
    Variant("strict", strict),
    Variant("masked, nothing hidden", lambda X: np.ma.array(X)),
    Variant("negative zeros", lambda X: np.where(X == 0, -0.0, X) if X.dtype.kind == "f" else X),
]
DTYPES = [
    Variant("float32", lambda X: X.astype(np.float32)),
    Variant("int64", lambda X: np.round(8 * X).astype(np.int64), reference=lambda X: np.round(8 * X)),
    Variant("int8", lambda X: np.round(8 * X).astype(np.int8), reference=lambda X: np.round(8 * X)),
    Variant("uint8", lambda X: np.abs(np.round(8 * X)).astype(np.uint8), reference=lambda X: np.abs(np.round(8 * X))),
    Variant("bool", lambda X: X > 0, reference=lambda X: (X > 0) + 0.0),
    Variant("int list", lambda X: np.round(8 * X).astype(int).tolist(), reference=lambda X: np.round(8 * X)),
]
TABLES = [
    Variant("pandas", pandas_frame),
    Variant("pandas, odd index", _odd_index),
    Variant("pandas, nullable", lambda X: pandas_frame(X).convert_dtypes()),
    Variant("polars", polars_frame),
    Variant("arrow", arrow_table),
    Variant("pandas of Arrow", lambda X: pandas_frame(X).convert_dtypes(dtype_backend="pyarrow")),
]


def _whole(X: Any) -> Any:
    return np.round(8 * X)


def _format(name: str) -> Variant:
    return Variant(name, lambda X: getattr(sparse, name)(X))


SPARSE = [_format(name) for name in ("csr_matrix", "csr_array", "csc_array", "coo_array")]


def _duplicates(X: Any) -> Any:
    """COO with every entry in two halves."""
    A = sparse.coo_matrix(X)
    two = (np.concatenate([A.data / 2] * 2), (np.concatenate([A.row] * 2), np.concatenate([A.col] * 2)))
    return sparse.coo_matrix(two, shape=A.shape)


def _stored_zeros(X: Any) -> Any:
    n, p = X.shape
    return sparse.csr_matrix((X.ravel().copy(), np.tile(np.arange(p), n), np.arange(0, n * p + 1, p)), shape=(n, p))


SPARSE += [
    Variant("sparse with duplicates", _duplicates),
    Variant("sparse with stored zeros", _stored_zeros),
    Variant("sparse, unsorted", lambda X: _unsorted(sparse.csr_matrix(X))),
    Variant("sparse of int8", lambda X: sparse.csr_array(np.round(8 * X).astype(np.int8)), reference=_whole),
    Variant("sparse of bool", lambda X: sparse.csr_array(X > 0), reference=lambda X: (X > 0) + 0.0),
]


def _unsorted(A: Any) -> Any:
    """Every row backwards."""
    for i in range(A.shape[0]):
        row = slice(A.indptr[i], A.indptr[i + 1])
        A.indices[row], A.data[row] = A.indices[row][::-1].copy(), A.data[row][::-1].copy()
    A.has_sorted_indices = False
    return A


def repacked_matrix() -> list[Variant]:
    """For rows of numbers."""
    return [*LAYOUTS, *DTYPES, *TABLES, *SPARSE]


def repacked_vector() -> list[Variant]:
    """For one number per object: y of one column, weights."""
    import pandas as pd

    def polars_series(x: Any) -> Any:
        import polars as pl

        return pl.Series("s", x.tolist())

    def arrow_array(x: Any) -> Any:
        import pyarrow as pa

        return pa.array(x.tolist())

    return [
        *LAYOUTS,
        *DTYPES,
        Variant("pandas series", pd.Series),
        Variant("pandas series, odd index", lambda x: pd.Series(x, index=range(len(x), 0, -1))),
        Variant("polars series", polars_series),
        Variant("arrow array", arrow_array),
    ]


def repacked_objects() -> list[Variant]:
    """For objects of any kind in a 1-D object array."""
    import pandas as pd

    return [
        Variant("list", list),
        Variant("tuple", tuple),
        Variant("read-only", read_only),
        Variant("strided", lambda x: np.repeat(x, 2)[::2]),
        Variant("backwards", lambda x: x[::-1].copy()[::-1]),
        Variant("pandas series", lambda x: pd.Series(list(x))),
        Variant("pandas series, odd index", lambda x: pd.Series(list(x), index=range(len(x), 0, -1))),
    ]


def repacked_labels() -> list[Variant]:
    """For strings."""
    import pandas as pd

    def polars_series(x: Any) -> Any:
        import polars as pl

        return pl.Series("s", list(x))

    def arrow_array(x: Any) -> Any:
        import pyarrow as pa

        return pa.array(list(x))

    return [
        *repacked_objects(),
        Variant("array of strings", lambda x: np.array(list(x), dtype=str)),
        Variant("pandas strings", lambda x: pd.Series(list(x), dtype="string")),
        Variant("pandas categories", lambda x: pd.Series(list(x), dtype="category")),
        Variant("polars series", polars_series),
        Variant("arrow array", arrow_array),
    ]


def repacked(value: Any) -> list[Variant]:
    """The containers that fit a valid value."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.isnan(value).any():
        return [v for v in (repacked_matrix() if value.ndim == 2 else repacked_vector()) if v.reference is None]
    if sparse.issparse(value):
        return [
            Variant(
                v.name,
                lambda X, v=v: v.make(X.toarray()),
                v.expect,
                None if v.reference is None else lambda X, v=v: sparse.csr_matrix(v.reference(X.toarray())),
            )
            for v in SPARSE
        ]
    if isinstance(value, np.ndarray) and value.dtype.kind in "buif":
        return repacked_matrix() if value.ndim == 2 else repacked_vector()
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return repacked_labels() if all(isinstance(x, str) for x in value) else repacked_objects()
    return []
