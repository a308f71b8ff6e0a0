"""The state of an object: parameters and fitted values, under names that stay when the code is renamed.

Model files hold these states. A class lists in `_stored` the attributes that are neither arguments of its `__init__`
nor fitted values (`name_`), each under its name in files; names of a base class are inherited.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, is_dataclass
from functools import cache, cached_property
from typing import Any, Self

from sklearn.base import BaseEstimator

__all__ = ["Stateful", "arguments", "made_from", "state_of", "stored_names"]

_NOT_OURS = ("_skl_", "_sklearn")  # what scikit-learn keeps on an estimator


class Stateful:
    """What all public classes share that files can hold."""

    def state(self) -> dict[str, Any]:
        """Parameters and fitted values, by their names in model files. May be overridden, with `from_state`."""
        return state_of(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The object that has this state. May be overridden."""
        made: Self = made_from(cls, state)
        return made


def state_of(value: Any) -> dict[str, Any]:
    """The attributes of an object under their names in files; caches are left out.

    >>> from iokr.kernels import RBF
    >>> state_of(RBF(0.5).fit([[0.0], [1.0]]))["gamma"]
    0.5
    """
    cls: Any = type(value)
    names = {attribute: name for name, attribute in stored_names(cls).items()}
    state = {}
    for attribute, part in _attributes(value).items():
        if attribute in names:
            state[names[attribute]] = part
        elif _is_public(cls, attribute):
            state[attribute] = part
        elif not isinstance(getattr(cls, attribute, None), cached_property):
            raise TypeError(
                f"`{attribute}` of {cls.__module__}.{cls.__qualname__} has no name in files: it is not a parameter and "
                "not a fitted value (`name_`); add it to `_stored`."
            )
    return state


def made_from(cls: Any, state: Mapping[str, Any]) -> Any:
    """The object of a class with that state; arguments that are missing have their defaults.

    >>> from iokr.kernels import RBF
    >>> made_from(RBF, {"gamma": 0.5})
    RBF(gamma=0.5)
    """
    names = stored_names(cls)
    attributes = {}
    for name, part in state.items():
        if name not in names and not _is_public(cls, name):
            raise ValueError(f"{cls.__qualname__} has no {name!r:.60}")
        attributes[names.get(name, name)] = part
    if issubclass(cls, tuple):
        return cls(**attributes)
    if issubclass(cls, BaseEstimator) or is_dataclass(cls):
        for name in arguments(cls):
            if name not in attributes:
                attributes[name] = _default(cls, name)
    made = cls.__new__(cls)
    vars(made).update(attributes)
    return made


@cache
def stored_names(cls: Any) -> dict[str, str]:
    """Name in files → attribute, for what a class and its bases list in `_stored`."""
    names: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        listed = vars(base).get("_stored")
        if listed is not None:
            names |= listed(_Names())
    return names


class _Names:
    """A placeholder of an object: every attribute is its own name."""

    def __getattr__(self, name: str) -> str:
        return name


@cache
def arguments(cls: Any) -> Mapping[str, inspect.Parameter]:
    """The arguments of a class."""
    parameters = dict(inspect.signature(cls.__init__).parameters)
    del parameters["self"]
    return parameters


def _default(cls: Any, argument: str) -> Any:
    """What an argument is when it is not given."""
    field = getattr(cls, "__dataclass_fields__", {}).get(argument)
    if field is not None and field.default_factory is not MISSING:
        return field.default_factory()
    default = arguments(cls)[argument].default
    if default is inspect.Parameter.empty:
        raise ValueError(f"{cls.__qualname__} needs {argument!r}")
    return default


def _is_public(cls: Any, name: str) -> bool:
    """Whether a name is that of a parameter or of a fitted value, which files have too."""
    if not issubclass(cls, Stateful):
        return False
    return name in arguments(cls) or (name.isidentifier() and name.endswith("_") and not name.startswith("_"))


def _attributes(value: Any) -> dict[str, Any]:
    """What an object holds, without caches and what belongs to scikit-learn."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined, no-any-return]
    held = value.__getstate__() or {}
    return {name: part for name, part in held.items() if not name.startswith(_NOT_OURS)}
