"""Regressions of the UCI repository that are used in papers on uncertainty."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iokr_lab.data.archives import check_rows, find_set, read_arrays

__all__ = ["UCI_SETS", "UCISet", "load_uci"]

UCI_SETS = ("bostonHousing", "concrete", "energy", "kin8nm", "yacht")


@dataclass(frozen=True)
class UCISet:
    """Inputs and response as in the file, not standardised."""

    X: NDArray[np.float64]  # (n, p)
    y: NDArray[np.float64]  # (n,)


def load_uci(name: str) -> UCISet:
    """The regression of `data_home()`/uci_20splits/`name`.npz, with arrays ``X`` and ``y``.

    Parameters
    ----------
    name : str
        One of `UCI_SETS`.
    """
    path = find_set("uci_20splits", name, ".npz")
    X, y = read_arrays(path, "a UCI regression", ("X", "y")).values()
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(f"{path}: `X` must be a matrix and `y` a vector, got shapes {X.shape} and {y.shape}.")
    check_rows(path, len(X), {"y": y})
    return UCISet(X.astype(np.float64), y.astype(np.float64))
