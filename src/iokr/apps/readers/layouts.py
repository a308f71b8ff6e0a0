"""How a user's file is laid out: which columns are meant, which of them are categories, and how numbers are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["DECIMALS", "Layout", "find_column"]

DECIMALS = ("auto", "point", "comma")


@dataclass(frozen=True)
class Layout:
    """What the user says about a file, in the words of the command's options.

    Attributes
    ----------
    text : tuple of str
        The columns of ids, by name or number from 1; empty is the first ones.
    values : tuple of str or None
        The columns of numbers, names with * and ? for several; None is all others.
    one_hot : tuple of str
        Columns of categories: each category becomes a column of zeros and ones. ("*",) is every column of text.
    transpose : bool
        Rows are features, columns are nodes.
    decimal : {"auto", "point", "comma"}
    header : bool
        The first row is one, whatever it says.
    least : int
        Columns that a table must have at least: what is one column by one separator may be more by another.

    Examples
    --------
    >>> from iokr.apps.readers.layouts import Layout
    >>> Layout(values=("u*",)).order(["id", "u1", "u2", "v"], 1, "nodes.tsv")
    [0, 1, 2]
    """

    text: tuple[str, ...] = ()
    values: tuple[str, ...] | None = None
    one_hot: tuple[str, ...] = ()
    transpose: bool = False
    decimal: str = "auto"
    least: int = 1
    header: bool = False

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is asked for by a name."""
        return (*self.text, *(self.values or ()), *self.one_hot)

    def order(self, names: Sequence[str], n_text: int, where: str) -> list[int] | None:
        """The columns in their order, ids first; None where nothing was asked for."""
        if not self.text and self.values is None:
            return None
        ids = [find_column(name, names, where) for name in self.text] or list(range(n_text))
        if len(set(ids)) < len(ids):
            raise ValueError(f"{where}: the column {names[ids[0]]!r} cannot be both ends of a link.")
        if self.values is None:
            return [*ids, *(j for j in range(len(names)) if j not in ids)]
        found = list(ids)
        for name in (*self.values, *(one for one in self.one_hot if one != "*")):
            some = [j for j, known in enumerate(names) if fnmatchcase(known, name)] if _wild(name) else []
            found += [j for j in some or [find_column(name, names, where)] if j not in found]
        return found


def _wild(name: str) -> bool:
    return "*" in name or "?" in name


def find_column(name: str, names: Sequence[str], where: str) -> int:
    """The column of a name, or of a number from 1."""
    if name in names:
        return list(names).index(name)
    folded = [known.casefold() for known in names]
    if folded.count(name.casefold()) == 1:
        return folded.index(name.casefold())
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    known = ", ".join(map(repr, [one for one in names if one][:8])) or "no names"
    raise ValueError(f"{where} has no column {name!r}; it has {known}{' …' if len(names) > 8 else ''}.")
