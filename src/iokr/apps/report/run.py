"""The folder of a run: the table, the numbers as data, what is known of the run, and the page."""

import json
import os
import platform
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from iokr._system.folders import ResultFolder
from iokr.apps.report.page import Report
from iokr.apps.report.tables import plain

__all__ = ["CELLS", "check_folder", "run_info", "usable_cores", "versions", "write_run"]

CELLS = "cells.jsonl"  # what a study has finished: whoever takes it up again adds to it


def run_info(*, seed: int | None = None, seconds: float | None = None, files: Sequence[Path] = ()) -> dict[str, Any]:
    """What a reader needs to run it again: time, versions, machine, seed, and the SHA-256 of every data file.

    Examples
    --------
    >>> from iokr.apps.report import run_info
    >>> run_info(seed=0)["seed"]
    0
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "seconds": None if seconds is None else round(seconds, 2),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {usable_cores()} cores",
        "data": {name: _sha256(path) for name, path in zip(_short_names(files), files, strict=True)},
    }


def _short_names(files: Sequence[Path]) -> list[str]:
    """Folder and name of each file, or the whole path where that says too little."""
    short = ["/".join(path.parts[-2:]) if len(path.parts) > 2 else str(path) for path in files]
    return short if len(set(short)) == len(short) else [str(path) for path in files]


def versions() -> dict[str, str]:
    """Python, and what the numbers depend on.

    Examples
    --------
    >>> from iokr.apps.report import versions
    >>> "numpy" in versions()
    True
    """
    names = ("iokr", "numpy", "scipy", "scikit-learn", "pandas", "array-api-compat", "matplotlib", "torch")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def usable_cores() -> int:
    """Cores that this process may use.

    Examples
    --------
    >>> from iokr.apps.report import usable_cores
    >>> usable_cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_folder(folder: Path, *, force: bool = False, format: str = "tsv", more: Sequence[str] = ()) -> None:
    """Refuse a folder that cannot be written to, and one that holds a run or one of the files `more`, unless `force`.

    With `force` too a file that no run has written, as run.json lists them, is not written over. A symbolic link to a
    folder is followed. One in the folder that leads out of it, by the name of a file to be
    written, is refused also with `force`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from iokr.apps.report import check_folder
    >>> check_folder(Path("a-folder-that-does-not-exist"))
    """
    if folder.is_symlink() and not folder.exists():
        raise FileExistsError(f"{folder} is a symbolic link to {os.readlink(folder)}, which is not there.")
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; give a folder with -o.")
    names = tuple(dict.fromkeys((*_run_files(format), *more)))
    for name in names:
        path = folder / name
        if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
            raise FileExistsError(
                f"{path} is a symbolic link out of the folder, to {os.readlink(path)}; remove it, or give another "
                "folder with -o."
            )
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder where a file is to be written; give another with -o.")
    there = [name for name in names if os.path.lexists(folder / name) and name != CELLS]
    written = _listed(folder)
    others = [name for name in there if written is not None and name not in written and name != "run.json"]
    if others:
        raise FileExistsError(
            f"{folder} already holds {others[0]}, which no run has written; move it away, or -o another folder."
        )
    if there and not force:
        raise FileExistsError(f"{folder} already holds {there[0]}; use --force to write over it, or -o another folder.")
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise NotADirectoryError(f"{folder} cannot be made, as {above} is a file; give another folder with -o.")
    try:
        TemporaryDirectory(prefix=".iokr-", dir=above).cleanup()
    except OSError as error:
        raise PermissionError(f"{folder} cannot be written to: {error.strerror}; give another with -o.") from error


def write_run(
    report: Report, folder: Path, *, force: bool = False, format: str = "tsv", spreadsheet_safe: bool = False
) -> list[Path]:
    """Write a file a table, metrics.json, run.json, the report's own files and report.html; return their paths.

    All of them or none: a new folder takes the place of the old one when it is whole (`iokr._system.folders`).
    run.json lists
    them with their SHA-256. With `force`, files of an earlier run that this one does not write are removed if nobody
    has changed them since; all other files in the folder stay.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.report import Report, write_run
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_run(Report("Title", "Summary."), Path(folder))]
    ['table.tsv', 'metrics.json', 'run.json', 'report.html']
    """
    result = ResultFolder(folder)
    with result.reserved():
        tables = report.table_files(format, spreadsheet_safe=spreadsheet_safe)
        check_folder(folder, force=force, format=format, more=(*tables, *report.files))
        _, metrics, run, page = _run_files(format)
        texts: dict[str, str | bytes] = {**tables, metrics: _json(report.metrics()), run: "", **report.files}
        texts[page] = report.html()
        contents = {name: text if isinstance(text, bytes) else _utf8(text, name) for name, text in texts.items()}
        sums = {name: sha256(content).hexdigest() for name, content in contents.items() if name != run}
        contents[run] = _json({**report.info, "files": sums}).encode()
        result.write(contents, dropped=_unchanged(folder) - set(contents))
        _forget(result.partial, contents)
    return [folder / name for name in contents]


def _listed(folder: Path) -> dict[str, str] | None:
    """The files of the run in a folder with their SHA-256; None when its run.json does not say."""
    try:
        listed = json.loads((folder / "run.json").read_bytes())["files"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return listed if isinstance(listed, dict) else None


def _unchanged(folder: Path) -> set[str]:
    """The files of the run in a folder that are as that run wrote them."""
    own = {name: digest for name, digest in (_listed(folder) or {}).items() if Path(name).name == name}
    return {name for name, digest in own.items() if (folder / name).is_file() and _sha256(folder / name) == digest}


def _forget(partial: Path, contents: Collection[str]) -> None:
    """What an unfinished run has kept, now that it is in the folder."""
    with suppress(OSError):
        for name in contents:
            (partial / name).unlink(missing_ok=True)
        partial.rmdir()


def _utf8(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        near = text[max(error.start - 20, 0) : error.end + 20]
        raise ValueError(f"`{name}` cannot be written as UTF-8, which has no {near!a}; remove it.") from None


def _run_files(format: str) -> tuple[str, ...]:
    return (f"table.{format}", "metrics.json", "run.json", "report.html")


def _json(value: Any) -> str:
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
