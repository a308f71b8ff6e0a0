"""Errors that name an object and its argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["BadObject", "BadObjectType", "error_context"]


class BadObject(ValueError):
    """An object that cannot be read: `argument`, if known, `kind` and `index` of the object, then `text`.

    The index is that in the sequence, or a text such as "3 of candidate set 2".

    Examples
    --------
    >>> from iokr._validation.errors import BadObject, error_context
    >>> try:
    ...     with error_context("y", lambda i: i + 10):
    ...         raise BadObject("String", 3, " is empty.")
    ... except BadObject as error:
    ...     print(error)
    `y`: String 13 is empty.
    """

    def __init__(self, kind: str, index: int | str, text: str, argument: str | None = None) -> None:
        super().__init__(kind, index, text, argument)  # all of them, so that errors pickle
        self.kind = kind
        self.index = index
        self.text = text
        self.argument = argument

    def __str__(self) -> str:
        where = "" if self.argument is None else f"`{self.argument}`: "
        return f"{where}{self.kind} {self.index}{self.text}"


class BadObjectType(BadObject, TypeError):
    """An object that cannot be read because of its type."""


@contextmanager
def error_context(name: str, number: Callable[[int], int | str] | None = None) -> Iterator[None]:
    """Add the argument to a `BadObject`, and give its index i as `number(i)` where only some objects were taken."""
    try:
        yield
    except BadObject as error:
        index = error.index
        if number is not None and not isinstance(index, str):
            index = number(index)
        raise type(error)(error.kind, index, error.text, error.argument or name) from None
