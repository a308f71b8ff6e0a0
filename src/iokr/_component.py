"""What the seven nouns share: scikit-learn's parameters, and `__init__` from annotated fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

from iokr._state import Stateful

__all__ = ["Check", "Component", "Limits", "component", "short_repr"]

T = TypeVar("T", bound=type)
Check = Callable[[Any, str], Any]
"""(value, name) ↦ value; raises where it is not valid."""
Limits = Mapping[str, Check]
"""The check of each parameter."""

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


class Component(Stateful, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A part of a model: stores its parameters, clones, pickles and prints; `fit` fills `name_` attributes."""

    refusal: str = ""  # why it cannot be used where a kernel is needed, for what only looks like one

    limits: ClassVar[Limits] = {}  # what its parameters must be, by their names

    __repr__ = short_repr

    def check_parameters(self) -> None:
        """Raise unless every parameter is within its limits."""
        for name, check in self.limits.items():
            check(getattr(self, name), name)


@dataclass_transform()
def component(cls: T) -> T:
    """Turn the annotated fields of a `Component` into the arguments of its `__init__`, in their order."""
    return cast(T, dataclass(eq=False, repr=False)(cls))
