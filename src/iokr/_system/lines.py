"""Files of records, a line of JSON each, that grow with a run: none is half written, damaged ones are set aside."""

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
    """A line to the end of a file and to the disk; when that fails the file is what it was."""
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
    """Where damaged lines of a file go."""
    return path.with_suffix(".damaged")


def sound_record(line: bytes, **kinds: type | tuple[type, ...]) -> dict[str, Any] | None:
    """A line as a record with entries of these kinds; None where it is none."""
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
    """The sound lines of `file` and their records; others, as of a killed process, are set aside with a warning.

    `own` is the file that a run appends to: it is put right where it is `file` itself, and damaged lines go beside it.
    """
    content = file.read_bytes()
    good, damaged = [], []
    for number, line in enumerate([line for line in content.split(b"\n") if line.strip()], start=1):
        found = record(line)
        if found is None:
            damaged.append((number, line))
        else:
            good.append((line.decode(), found))
    if damaged:
        _set_aside(file, aside(own), damaged)
    if file == own and content != (whole := b"".join(f"{line}\n".encode() for line, _ in good)):
        with write_atomically(file) as new:
            new.write(whole)
    return good


def _set_aside(file: Path, there: Path, damaged: list[tuple[int, bytes]]) -> None:
    there.parent.mkdir(parents=True, exist_ok=True)
    refuse_link(there)
    before = there.read_bytes() if there.exists() else b""
    fresh = b"".join(line + b"\n" for _, line in damaged if line + b"\n" not in before)
    if fresh:
        with write_atomically(there) as new:
            new.write(before + fresh)
    which = f"line {damaged[0][0]} is" if len(damaged) == 1 else f"{len(damaged)} lines are"
    warnings.warn(
        f"{file}: {which} damaged and set aside in {there}; what is lost with that is run again.", stacklevel=5
    )
