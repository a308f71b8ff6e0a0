"""Files of records, a line of JSON each, to which a run appends; damaged lines are moved to another file."""

from __future__ import annotations

import errno
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from iokr._system.files import naming, refuse_link, write_atomically

__all__ = ["append_line", "aside", "read_lines", "sound_record"]


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file and flush it to the disk; an error leaves the file unchanged."""
    refuse_link(path)
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise


def aside(path: Path) -> Path:
    """The file for the damaged lines of a file."""
    return path.with_suffix(".damaged")


def sound_record(line: bytes, **kinds: type | tuple[type, ...]) -> dict[str, Any] | None:
    """A line as a record with entries of these types; None if it is not one."""
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    return record if all(isinstance(record.get(name), kind) for name, kind in kinds.items()) else None


def read_lines(
    file: Path, record: Callable[[bytes], dict[str, Any] | None], own: Path
) -> list[tuple[str, dict[str, Any]]]:
    """The valid lines of `file` and their records; damaged ones, as a killed process leaves, are moved with a warning.

    `own` is the file that a run appends to: damaged lines are moved next to it and, if it is `file`, removed from it.
    """
    content = file.read_bytes()
    valid: list[tuple[str, dict[str, Any]]] = []
    damaged: list[tuple[int, bytes]] = []
    for number, line in enumerate([line for line in content.split(b"\n") if line.strip()], start=1):
        found = record(line)
        if found is None:
            damaged.append((number, line))
        else:
            valid.append((line.decode(), found))
    if damaged:
        _set_aside(file, aside(own), damaged)
    repaired = b"".join(f"{line}\n".encode() for line, _ in valid)
    if file == own and content != repaired:
        with write_atomically(file) as new:
            new.write(repaired)
    return valid


def _set_aside(file: Path, target: Path, damaged: list[tuple[int, bytes]]) -> None:
    """Append damaged lines to `target`, unless they are there, and warn."""
    target.parent.mkdir(parents=True, exist_ok=True)
    refuse_link(target)
    before = target.read_bytes() if target.exists() else b""
    fresh = b"".join(line + b"\n" for _, line in damaged if line + b"\n" not in before)
    if fresh:
        with write_atomically(target) as new:
            new.write(before + fresh)
    which = f"line {damaged[0][0]} is" if len(damaged) == 1 else f"{len(damaged)} lines are"
    warnings.warn(f"{file}: {which} damaged and moved to {target}; the lost results are computed again.", stacklevel=5)
