"""Tandem mass spectra given by a kernel, and the fingerprints of their molecules."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import find_data
from iokr_lab.data.archives import read_arrays

__all__ = ["Spectra", "load_msms_fp490"]


@dataclass(frozen=True)
class Spectra:
    """A kernel between spectra, and the fingerprints of their molecules."""

    K: NDArray[np.float64]  # (n, n), unit diagonal
    fingerprints: NDArray[np.float64]  # (n, p), zeros and ones


def load_msms_fp490() -> Spectra:
    """The 490 spectra of `data_home()`/msms_fp490/msms_fp490.npz.

    The file has ``K``, a kernel between spectra in single precision, which is symmetrised here, and ``Y``, 0/1
    fingerprints.
    """
    path = find_data("msms_fp490/msms_fp490.npz")
    K, Y = read_arrays(path, "a spectra", ("K", "Y")).values()
    if K.ndim != 2 or K.shape[0] != K.shape[1] or Y.ndim != 2 or len(Y) != len(K):
        raise ValueError(f"{path} must have a kernel (n, n) and fingerprints (n, p), got {K.shape} and {Y.shape}.")
    if not np.isin(Y, (0, 1)).all():
        raise ValueError(f"{path}: `Y` must have zeros and ones only.")
    K = K.astype(np.float64)
    return Spectra((K + K.T) / 2, Y.astype(np.float64))
