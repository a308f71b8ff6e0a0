"""USPS: handwritten digits of 16 × 16 pixels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import find_data
from iokr_lab.data.archives import read_arrays

__all__ = ["USPS", "load_usps"]

SIDE = 16


@dataclass(frozen=True)
class USPS:
    """Digits as rows of 256 pixels in [−1, 1], row-major: the upper half of an image is columns 0–127."""

    X_train: NDArray[np.float64]  # (n, 256), in the original order
    y_train: NDArray[np.int64]  # the digits, 0–9
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def load_usps() -> USPS:
    """The USPS digits of `data_home()`/usps/usps.npz.

    The file has ``X_train``, ``y_train``, ``X_test``, ``y_test``; images are rows of 256 integers, 1000
    times the pixel values.
    """
    path = find_data("usps/usps.npz")
    X, y, X_test, y_test = read_arrays(path, "a USPS", ("X_train", "y_train", "X_test", "y_test")).values()
    return USPS(*_images(path, X, y), *_images(path, X_test, y_test))


def _images(path: Any, X: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Pixel values and digits, checked."""
    if X.ndim != 2 or X.shape[1] != SIDE * SIDE or y.shape != X.shape[:1]:
        raise ValueError(f"{path} must have images (n, 256) and digits (n,), got {X.shape} and {y.shape}.")
    return X / 1000.0, y.astype(np.int64)
