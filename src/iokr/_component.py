"""What the seven nouns share: scikit-learn's parameters, and `__init__` from annotated fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

__all__ = ["Component", "component", "short_repr"]

T = TypeVar("T", bound=type)

_FEW = 12  # larger arrays are shown by their shape


def short_repr(self: BaseEstimator, N_CHAR_MAX: int = 700) -> str:
    """scikit-learn's `repr`, with arrays of more than a few numbers shown by their shape."""
    try:
        shown = np.printoptions(override_repr=_short)
    except TypeError:  # NumPy before 2.1
        shown = np.printoptions(threshold=_FEW, edgeitems=1)
    with shown:
        return str(BaseEstimator.__repr__(self, N_CHAR_MAX))


def _short(array: np.ndarray) -> str:
    if array.size > _FEW:
        return f"<array of {array.dtype}, shape {array.shape}>"
    values = np.array2string(array, separator=", ", prefix="array(")
    plain = array.dtype in (np.float64, np.int64, np.bool_) and array.size
    return f"array({values})" if plain else f"array({values}, dtype={array.dtype})"


class Component(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A part of a model: stores its parameters, clones, pickles and prints; `fit` fills `name_` attributes."""

    refusal: str = ""  # why it cannot be used where a kernel is needed, for what only looks like one

    __repr__ = short_repr


@dataclass_transform()
def component(cls: T) -> T:
    """Turn the annotated fields of a `Component` into the arguments of its `__init__`, in their order."""
    return cast(T, dataclass(eq=False, repr=False)(cls))
