"""Training and test parts of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["TrainTest", "standardised_split"]


@dataclass(frozen=True, eq=False)
class TrainTest:
    """Inputs X and outputs Y of the training part and of the test part."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any

    @classmethod
    def of(cls, X: Any, Y: Any, train: Any, test: Any) -> Self:
        """The parts with these rows."""
        return cls(X[train], Y[train], X[test], Y[test])


def standardised_split(X: NDArray[Any], y: NDArray[Any], seed: Sequence[int], share: float) -> TrainTest:
    """A random split with a share of the rows for training; inputs and response standardised by the training rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    n_train = round(share * len(y))
    train = order[:n_train]
    test = order[n_train:]
    deviation = X[train].std(axis=0)
    Z = (X - X[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    t = (y - y[train].mean()) / y[train].std()
    return TrainTest.of(Z, t, train, test)
