"""Finished parts of a run, kept in a file beside its result until that is whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from iokr._system.files import refuse_link
from iokr._system.lines import append_line, aside, read_lines, sound_record

__all__ = ["Kept"]


class Kept:
    """A line of JSON for each finished part; those of another run (another `key`) are forgotten.

    Parameters
    ----------
    path : Path
        The file, in a folder that is made.
    key : str
        What the parts depend on.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key, self.parts = path, key, dict[str, Any]()
        for link in (path.parent, path):
            refuse_link(link)
        if path.is_file():
            for _, found in read_lines(path, _record, path):
                if found["key"] == key:
                    self.parts[found["name"]] = found["value"]

    def put(self, name: str, value: Any) -> None:
        """Keep a part; it is on the disk when this returns."""
        line = json.dumps({"key": self.key, "name": name, "value": value})
        append_line(self.path, f"{line}\n".encode())
        self.parts[name] = value

    def words(self, what: str) -> str:
        """For who interrupts: what is kept; nothing where nothing is."""
        return f"{len(self.parts)} {what} are kept; the same command goes on from there." if self.parts else ""

    def forget(self) -> None:
        """Remove the file, and its folder if there is nothing else in it."""
        for file in (self.path, aside(self.path)):
            file.unlink(missing_ok=True)
        if self.path.parent.is_dir() and not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()


def _record(line: bytes) -> dict[str, Any] | None:
    """A line of the file as {"key": ..., "name": ..., "value": ...}, or None."""
    return sound_record(line, key=str, name=str, value=(dict, list, str, int, float))
