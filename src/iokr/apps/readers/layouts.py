"""The layout of a user's file: which columns to read, which of them are categories, and how numbers are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

__all__ = ["Layout", "find_column"]

_LISTED = 8  # names of columns in a message


@dataclass(frozen=True)
class Layout:
    """The layout of a table.

    Attributes
    ----------
    id : tuple of str
        The columns of ids, by name or by number from 1; by default the first ones.
    columns : tuple of str or None
        The columns of numbers, with * and ? as wildcards; by default all others.
    one_hot : tuple of str
        Categorical columns, encoded as zeros and ones; ("*",) selects every column of text.
    transpose : bool
        Rows are features, columns are nodes.
    decimal : {"auto", "point", "comma"}
    header : bool
        Whether the first row is known to be a header.
    min_columns : int
        Separators of text files that give fewer columns are not considered.

    Examples
    --------
    >>> from iokr.apps.readers.layouts import Layout
    >>> Layout(columns=("u*",)).order(["id", "u1", "u2", "v"], 1, "nodes.tsv")
    [0, 1, 2]
    """

    id: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    one_hot: tuple[str, ...] = ()
    transpose: bool = False
    decimal: str = "auto"
    min_columns: int = 1
    header: bool = False

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Layout:
        """From the fields in a file, which earlier files call `text`, `values` and `least`."""
        names = {"text": "id", "values": "columns", "least": "min_columns"}
        fields: dict[str, Any] = {
            names.get(name, name): tuple(v) if isinstance(v, list) else v for name, v in state.items()
        }
        return cls(**fields)

    def order(self, names: Sequence[str], n_text: int, where: str) -> list[int]:
        """Positions of the columns to read, ids first."""
        ids = [find_column(name, names, where) for name in self.id] or list(range(n_text))
        if len(set(ids)) < len(ids):
            raise ValueError(f"{where}: the column {names[ids[0]]!r} cannot be both ends of a link.")
        if self.columns is None:
            return [*ids, *(j for j in range(len(names)) if j not in ids)]
        order = list(ids)
        for name in (*self.columns, *(one for one in self.one_hot if one != "*")):
            is_pattern = "*" in name or "?" in name
            matches = [j for j, other in enumerate(names) if is_pattern and fnmatchcase(other, name)]
            found = matches or [find_column(name, names, where)]
            order += [j for j in found if j not in order]
        return order


def find_column(name: str, names: Sequence[str], where: str) -> int:
    """The position of a column, by its name, its name in another case, or its number from 1."""
    if name in names:
        return list(names).index(name)
    folded = [known.casefold() for known in names]
    if folded.count(name.casefold()) == 1:
        return folded.index(name.casefold())
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return int(name) - 1
    listed = [repr(known) for known in names if known][:_LISTED]
    known = ", ".join(listed) or "no named columns"
    more = " …" if len(names) > _LISTED else ""
    raise ValueError(f"{where} has no column {name!r}; it has {known}{more}.")
