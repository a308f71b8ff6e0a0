"""What the seven nouns share: scikit-learn's parameters, and `__init__` from annotated fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["Component", "ShortArrays", "component"]

T = TypeVar("T", bound=type)


class ShortArrays(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """scikit-learn's `repr`, in which an array of more than a few numbers is told by its shape."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        try:
            shown = np.printoptions(override_repr=_short)
        except TypeError:  # NumPy before 2.1
            shown = np.printoptions(threshold=_FEW, edgeitems=1)
        with shown:
            return str(super().__repr__(N_CHAR_MAX))


_FEW = 12  # numbers that a reader may want to see


def _short(array: np.ndarray) -> str:
    if array.size > _FEW:
        return f"<array of {array.dtype}, shape {array.shape}>"
    values = np.array2string(array, separator=", ", prefix="array(")
    plain = array.dtype in (np.float64, np.int64, np.bool_) and array.size
    return f"array({values})" if plain else f"array({values}, dtype={array.dtype})"


class Component(ShortArrays):
    """A part of a model: stores its parameters, clones, pickles and prints; `fit` fills `name_` attributes."""

    refusal: str = ""  # why it cannot be used where a kernel is needed, for what only looks like one


@dataclass_transform()
def component(cls: T) -> T:
    """Turn the annotated fields of a `Component` into the arguments of its `__init__`, in their order."""
    return cast(T, dataclass(eq=False, repr=False)(cls))
