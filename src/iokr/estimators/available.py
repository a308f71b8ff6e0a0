"""Methods that some models have: the error of the others says why."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

__all__ = ["available_unless"]


def available_unless(reason: Callable[[Any], str | None]) -> Callable[[Any], Any]:
    """Decorate a method that a model has if `reason(model)` is None, as scikit-learn's `available_if`.

    Otherwise `hasattr` is False, and the `AttributeError` says why.

    Parameters
    ----------
    reason : callable
        Why a model lacks the method, and what to do, or None.
    """

    def decorate(method: Any) -> Any:
        return _Available(method, reason)

    return decorate


class _Available:
    """The method, looked up on a model."""

    def __init__(self, method: Any, reason: Callable[[Any], str | None]) -> None:
        self.method = method
        self.reason = reason
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        why = self.reason(model)
        if why is not None:
            raise AttributeError(f"This {type(model).__name__} has no `{self.method.__name__}`: {why}")
        return MethodType(self.method, model)
