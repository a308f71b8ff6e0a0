"""Multi-label data: each row has a set of labels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr_lab.data.archives import find_set, read_arrays, reading, sparse_rows

__all__ = ["MultiLabel", "load_multilabel"]


@dataclass(frozen=True)
class MultiLabel:
    """Rows of features, and the labels of every row as zeros and ones."""

    X: Any  # (n, p), sparse if stored so
    Y: NDArray[np.float64]  # (n, d), 1 if the row has the label
    n_train: int  # number of rows of the official training part, the first rows
    label_names: tuple[str, ...]
    order_libsvm: NDArray[np.int64] | None = None  # yeast: X[order_libsvm] is another distribution of the same data


def load_multilabel(name: str) -> MultiLabel:
    """The multi-label set of `data_home()`/multilabel/`name`.npz.

    The file has ``shape`` (rows, features, labels), ``n_train``, ``label_names``, the labels as ``Y_indptr`` and
    ``Y_indices``, and the features as ``X``, or as ``X_indptr`` and ``X_indices`` if they are binary.

    Parameters
    ----------
    name : str
        ``"yeast"``, ``"bibtex"``, ...
    """
    path = find_set("multilabel", name, ".npz")
    arrays = read_arrays(path, "a multi-label")
    with reading(path, "a multi-label"):
        return _assemble(path, arrays)


def _assemble(path: Path, arrays: dict[str, NDArray[Any]]) -> MultiLabel:
    """The arrays of a file, checked against its `shape`."""

    def ones(name: str, shape: tuple[int, int]) -> Any:
        return sparse_rows(path, arrays[f"{name}_indptr"], arrays[f"{name}_indices"], None, shape)

    n, p, d = map(int, arrays["shape"])
    X: Any = arrays["X"].astype(np.float64) if "X" in arrays else ones("X", (n, p))
    Y = ones("Y", (n, d)).toarray()
    names = tuple(arrays["label_names"].tolist())
    n_train = int(arrays["n_train"])
    order = arrays["order_libsvm"].astype(np.int64) if "order_libsvm" in arrays else None
    if X.shape != (n, p):
        raise ValueError(f"X must be {(n, p)}, got {X.shape}.")
    if len(names) != d:
        raise ValueError(f"there must be {d} label names, got {len(names)}.")
    if not 0 <= n_train <= n:
        raise ValueError(f"n_train must be between 0 and {n}, got {n_train}.")
    if order is not None and not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order_libsvm must have each of the {n} rows once.")
    return MultiLabel(X, Y, n_train, names, order)
