"""Square images cut into an upper half, the input, and a lower half, the output."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "halves", "upper_only", "whole"]

Matrix = NDArray[np.float64]


def halves(images: NDArray[Any]) -> tuple[Matrix, Matrix]:
    """(upper, lower): the first and the second half of every row of pixels."""
    cut = images.shape[1] // 2
    return np.asarray(images[:, :cut], dtype=float), np.asarray(images[:, cut:], dtype=float)


def whole(upper: Matrix, lower: Matrix) -> list[Matrix]:
    """Square images with joined halves."""
    side = int(np.sqrt(upper.shape[1] + lower.shape[1]))
    return list(np.hstack([upper, lower]).reshape(-1, side, side))


def upper_only(upper: Matrix) -> list[Matrix]:
    """Square images whose lower half is missing."""
    return whole(upper, np.full_like(upper, np.nan))
