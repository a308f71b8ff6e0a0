"""Finished parts of a run, kept in a file beside its result until that is whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

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
        try:
            lines = path.read_text("utf-8").splitlines()
        except OSError:
            lines = []
        for line in lines:
            try:
                found = json.loads(line)
                if found["key"] == key:
                    self.parts[str(found["name"])] = found["value"]
            except (ValueError, KeyError, TypeError):  # the last line of a run that was killed
                continue

    def put(self, name: str, value: Any) -> None:
        """Keep a part; it is on the disk when this returns."""
        self.parts[name] = value
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": self.key, "name": name, "value": value}, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def forget(self) -> None:
        """Remove the file, and its folder if there is nothing else in it."""
        self.path.unlink(missing_ok=True)
        if self.path.parent.is_dir() and not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()
