"""Inputs without outputs, for penalties that use them."""

from __future__ import annotations

from typing import Any

from iokr._state import Stateful
from iokr.data.objects import n_objects

__all__ = ["Unlabeled"]


class Unlabeled(Stateful):
    """Unlabelled inputs, which cross-validation passes to every fold as a whole.

    Examples
    --------
    >>> from iokr import Unlabeled
    >>> Unlabeled([[0.0], [1.0]])
    Unlabeled(2 objects)
    """

    def __init__(self, X: Any) -> None:
        self.X = X

    def __repr__(self) -> str:
        return f"Unlabeled({n_objects(self.X)} objects)"
