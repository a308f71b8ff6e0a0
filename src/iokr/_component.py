"""What the seven nouns share: scikit-learn's parameters, and `__init__` from annotated fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast, dataclass_transform

from sklearn.base import BaseEstimator

__all__ = ["Component", "component"]

T = TypeVar("T", bound=type)


class Component(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """A part of a model: stores its parameters, clones, pickles and prints; `fit` fills `name_` attributes."""


@dataclass_transform()
def component(cls: T) -> T:
    """Turn the annotated fields of a `Component` into the arguments of its `__init__`, in their order."""
    return cast(T, dataclass(eq=False, repr=False)(cls))
