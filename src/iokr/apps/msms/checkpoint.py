"""Finished parts of a run in a file, from which the same run continues after an interrupt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from iokr._system.files import refuse_link
from iokr._system.lines import append_line, aside, read_lines, sound_record
from iokr.files import fingerprint

__all__ = ["Checkpoint"]


_RECORD = partial(sound_record, key=str, name=str, value=(dict, list, str, int, float))  # None if a line is damaged


class Checkpoint:
    """Parts of a computation that are finished, one line of JSON each.

    `train`, `identify` and `evaluate` write each fold or query when it is finished and skip those that a file already
    has. A part belongs to a run by the hash of its data and options, so a file can be used again after a change. The
    file stays until `remove` is called.

    Parameters
    ----------
    path : path or None
        The file; its folder is made when the first part is written. None keeps the parts in memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.msms import Checkpoint
    >>> with TemporaryDirectory() as folder:
    ...     first = Checkpoint(Path(folder, "folds.jsonl"))
    ...     first.resume({"alpha": 1.0})
    ...     first.put("fold 1", [0.5, 0.25])
    ...     second = Checkpoint(Path(folder, "folds.jsonl"))
    ...     second.resume({"alpha": 1.0})
    >>> second.parts
    {'fold 1': [0.5, 0.25]}
    """

    def __init__(self, path: Any = None) -> None:
        self.path = None if path is None else Path(path)
        self.key = ""
        self.parts: dict[str, Any] = {}

    @classmethod
    def of(cls, given: Any, run: Mapping[str, Any]) -> Checkpoint:
        """A checkpoint, or that of the file at a path, with the parts of a run."""
        found = given if isinstance(given, Checkpoint) else cls(given)
        found.resume(run)
        return found

    def resume(self, run: Mapping[str, Any]) -> None:
        """Read the parts of the run with these data and options."""
        self.key = fingerprint(dict(run))
        self.parts = {}
        if self.path is None:
            return
        refuse_link(self.path.parent)
        refuse_link(self.path)
        if self.path.is_file():
            for _, record in read_lines(self.path, _RECORD, self.path):
                if record["key"] == self.key:
                    self.parts[record["name"]] = record["value"]

    def put(self, name: str, value: Any) -> None:
        """Add a part; it is on the disk when this returns."""
        if self.path is not None:
            line = json.dumps({"key": self.key, "name": name, "value": value})
            append_line(self.path, f"{line}\n".encode())
        self.parts[name] = value

    def remove(self) -> None:
        """Remove the file, and its folder if nothing else is in it."""
        if self.path is None:
            return
        for file in (self.path, aside(self.path)):
            file.unlink(missing_ok=True)
        folder = self.path.parent
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
