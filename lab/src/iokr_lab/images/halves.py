"""Square images cut into an upper half, which is given, and a lower half, which is to be predicted."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ImageSplit", "Matrix", "halves", "hidden", "whole"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ImageSplit:
    """Upper halves X and lower halves Y of the training part and of the test part."""

    X: Matrix
    Y: Matrix
    X_test: Matrix
    Y_test: Matrix


def halves(images: NDArray[Any]) -> tuple[Matrix, Matrix]:
    """(upper, lower): the first and the second half of every row of pixels."""
    cut = images.shape[1] // 2
    return np.asarray(images[:, :cut], dtype=float), np.asarray(images[:, cut:], dtype=float)


def whole(upper: Matrix, lower: Matrix) -> list[Matrix]:
    """Square images, their halves joined."""
    side = int(np.sqrt(upper.shape[1] + lower.shape[1]))
    return list(np.hstack([upper, lower]).reshape(-1, side, side))


def hidden(upper: Matrix) -> list[Matrix]:
    """Square images whose lower half is left out."""
    return whole(upper, np.full_like(upper, np.nan))
