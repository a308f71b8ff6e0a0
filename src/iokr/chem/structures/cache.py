"""A file of values that were computed for molecules, which later runs read."""

from __future__ import annotations

import os
import sqlite3
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from iokr._system.text import printable

__all__ = ["Cache"]

_TOGETHER = 500  # texts of one query: SQLite limits its parameters
_TIMEOUT = 60.0  # seconds, while another process writes


class Cache:
    """A table of an SQLite file: values by text and version.

    A file that cannot be read or written gives a warning, and values are computed each time.

    Parameters
    ----------
    path : path or None
        None stores nothing.
    table : str
    columns : sequence of str
        Names of the values of a row.
    """

    def __init__(self, path: Any, table: str, columns: Sequence[str]) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"`cache` must be a path or None, got {path!r:.60}.")
        self.path = Path(path) if path else None
        self.table = table
        self.columns = tuple(columns)

    def read(self, texts: Sequence[str], version: str) -> dict[str, tuple[Any, ...]]:
        """The rows of those texts that have one."""
        found: dict[str, tuple[Any, ...]] = {}
        if self.path is None:
            return found
        with self._tolerated(self.path):
            if not self.path.exists():
                return found
            with self._connected(self.path) as store:
                for start in range(0, len(texts), _TOGETHER):
                    some = texts[start : start + _TOGETHER]
                    marks = ",".join("?" * len(some))
                    rows = store.execute(
                        f"SELECT text, {', '.join(self.columns)} FROM {self.table}"
                        f" WHERE version = ? AND text IN ({marks})",
                        [version, *some],
                    )
                    found.update({text: values for text, *values in rows})
        return found

    def write(self, rows: Mapping[str, Sequence[Any]], version: str) -> None:
        """Add rows by text, or replace them."""
        if self.path is None or not rows:
            return
        marks = ",".join("?" * (2 + len(self.columns)))
        with self._tolerated(self.path), self._connected(self.path) as store, store:
            store.executemany(
                f"INSERT OR REPLACE INTO {self.table} VALUES ({marks})",
                [(text, version, *values) for text, values in rows.items()],
            )

    @contextmanager
    def _tolerated(self, path: Path) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            warnings.warn(
                f"`cache` {printable(str(path))} cannot be used ({error}), so values are computed each time. Delete it "
                "if it is damaged.",
                stacklevel=5,
            )

    def _connected(self, path: Path) -> closing[sqlite3.Connection]:
        path.parent.mkdir(parents=True, exist_ok=True)
        store = sqlite3.connect(path, timeout=_TIMEOUT)
        try:
            store.execute(
                f"CREATE TABLE IF NOT EXISTS {self.table}"
                f" (text TEXT, version TEXT, {', '.join(self.columns)}, PRIMARY KEY (text, version))"
            )
        except sqlite3.Error:
            store.close()
            raise
        return closing(store)
