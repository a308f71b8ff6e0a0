"""Multi-label data: each row carries a set of labels."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import DataNotFound, data_files, find_data

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["MultiLabel", "load_multilabel"]

FOLDER = "multilabel"


@dataclass(frozen=True)
class MultiLabel:
    """Rows of features, and the labels of every row as zeros and ones.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n, p)
        Sparse where the file is.
    Y : ndarray of shape (n, d)
        1 where the row has the label.
    n_train : int
        The first rows are the official training set.
    label_names : tuple of str
    order_libsvm : ndarray of shape (n,), optional
        The rows in the order of another distribution of the same data: ``X[order_libsvm]``. Only yeast has it.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.data import MultiLabel
    >>> data = MultiLabel(np.zeros((3, 5)), np.eye(3, 2), n_train=2, label_names=("red", "round"))
    >>> data.Y[:data.n_train].sum(axis=0)
    array([1., 1.])
    """

    X: Any
    Y: NDArray[np.float64]
    n_train: int
    label_names: tuple[str, ...]
    order_libsvm: NDArray[np.int64] | None = None


def load_multilabel(name: str) -> MultiLabel:
    """The multi-label set of `data_home()`/multilabel/`name`.npz.

    The file holds ``shape`` (rows, features, labels), ``n_train``, ``label_names``, the labels as ``Y_indptr`` and
    ``Y_indices``, and the features as ``X``, or as ``X_indptr`` and ``X_indices`` when they are zeros and ones.

    Parameters
    ----------
    name : str
        ``"yeast"``, ``"bibtex"``, ...

    Returns
    -------
    MultiLabel

    Raises
    ------
    DataNotFound
        When there is no such file; the message names those there are.
    ValueError
        When it is not a multi-label file.

    Examples
    --------
    >>> from iokr.datasets import DataNotFound
    >>> from iokr_lab.data import load_multilabel
    >>> try:
    ...     print(load_multilabel("yeast").Y.shape[1], "labels")
    ... except DataNotFound:
    ...     print("14 labels, once IOKR_DATA is set")
    14 labels...
    """
    path = _find(name)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        return _assemble(arrays)
    except (KeyError, IndexError, TypeError, ValueError, OSError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} is not a multi-label file: {error}") from error


def _find(name: str) -> Path:
    """The file of a set; when it is the only thing missing, say which sets there are."""
    folder = find_data(FOLDER)
    path = folder / f"{name}.npz"
    if path.is_file() and path.parent == folder:
        return path
    there = ", ".join(file.stem for file in data_files(FOLDER) if file.suffix == ".npz") or "none"
    raise DataNotFound(f"{FOLDER}/{name}.npz is not in {folder.parent}; the sets there are: {there}.")


def _assemble(arrays: dict[str, NDArray[Any]]) -> MultiLabel:
    """The arrays of a file, checked against its `shape`."""
    n, p, d = (int(size) for size in arrays["shape"])
    X: Any = arrays["X"].astype(np.float64) if "X" in arrays else _ones(arrays, "X", (n, p))
    Y = _ones(arrays, "Y", (n, d)).toarray()
    names, n_train = tuple(arrays["label_names"].tolist()), int(arrays["n_train"])
    order = arrays["order_libsvm"].astype(np.int64) if "order_libsvm" in arrays else None
    if X.shape != (n, p):
        raise ValueError(f"X must be {(n, p)}, got {X.shape}.")
    if len(names) != d:
        raise ValueError(f"there must be {d} label names, got {len(names)}.")
    if not 0 <= n_train <= n:
        raise ValueError(f"n_train must be between 0 and {n}, got {n_train}.")
    if order is not None and not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"order_libsvm must hold each of the {n} rows once.")
    return MultiLabel(X, Y, n_train, names, order)


def _ones(arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, int]) -> "csr_array":
    """The matrix of zeros and ones whose ones are listed row by row."""
    from scipy.sparse import csr_array

    indptr, indices = arrays[f"{name}_indptr"], arrays[f"{name}_indices"]
    matrix = csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix
