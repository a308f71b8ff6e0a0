"""What the seven nouns share: scikit-learn's parameters, and `__init__` from annotated fields."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator

from iokr._state import Stateful, arguments

__all__ = ["Check", "Component", "Limits", "check_nested", "component", "short_repr"]

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

    def set_params(self, **params: Any) -> Any:
        """Set parameters, those of a part by its name, `base__gamma`."""
        check_nested(self, params)
        return super().set_params(**params)

    def check_parameters(self) -> None:
        """Raise unless every parameter is within its limits."""
        for name, check in self.limits.items():
            check(getattr(self, name), name)


@dataclass_transform()
def component(cls: T) -> T:
    """Turn the annotated fields of a `Component` into the arguments of its `__init__`, in their order."""
    made: Any = dataclass(eq=False, repr=False)(cls)
    plain = made.__init__

    @wraps(plain)
    def __init__(self: Any, *args: Any, **params: Any) -> None:
        unknown = next((name for name in params if name not in arguments(made)), None)
        if unknown is not None:
            raise TypeError(_unknown_parameter(made, unknown, params[unknown]))
        plain(self, *args, **params)

    made.__init__ = __init__
    return cast(T, made)


def _unknown_parameter(cls: Any, name: str, value: Any) -> str:
    """What to write in place of a parameter that a class does not have."""
    own = list(arguments(cls))
    wrong = f"{cls.__name__} has no parameter `{name}`"
    owner = _class_with(cls, name)
    if name == "alpha" and "alphas" in own:
        other = "" if owner is None else f", or use `{owner}`"
        return f"{wrong}: it searches `alphas`; write `alphas=[{value!r:.40}]`{other}."
    if name == "alphas" and "alpha" in own:
        other = "" if owner is None else f"; `{owner}` searches `alphas`"
        return f"{wrong}: it has one `alpha`{other}."
    if owner is not None:
        return f"{wrong}; `{owner}` has it."
    if name == "gamma" and "kernel" in own:
        return f"{wrong}: it is one of the kernel; write `kernel=RBF(gamma={value!r:.40})`."
    close = difflib.get_close_matches(name, own, n=1)
    if close:
        return f"{wrong}; do you mean `{close[0]}`?"
    return f"{wrong}; it has {', '.join(f'`{known}`' for known in own) or 'none'}."


def _class_with(cls: Any, name: str) -> str | None:
    """The estimator that has this parameter: with the search for another, or the other way round, or `IOKR`."""
    package = importlib.import_module("iokr")
    if cls.__name__ not in package.__all__:
        return None
    own = cls.__name__
    related = [f"{own}CV", own.removesuffix("CV"), "IOKR", "IOKRCV"]
    candidates = [other for other in related if other in package.__all__ and other != own]
    return next((other for other in candidates if name in arguments(getattr(package, other))), None)


def check_nested(owner: Any, params: Mapping[str, Any]) -> None:
    """ValueError for a parameter such as `kernel__gamma` of a part that is None, and so has no parameters."""
    cls: Any = type(owner)
    for key in params:
        name, _, part = key.partition("__")
        if part and name not in params and name in arguments(cls) and getattr(owner, name) is None:
            example = f"; for example write `{cls.__name__}(RBF())`" if name == "kernel" else ""
            raise ValueError(
                f"`{key}` cannot be set: `{name}` is None, the default, which has no parameters. Give `{name}` "
                f"itself{example}."
            )
