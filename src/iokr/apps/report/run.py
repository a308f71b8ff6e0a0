"""The folder of a run: tables, the numbers as data, information about the run, and the page."""

import json
import os
import platform
from collections.abc import Sequence
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

CELLS = "cells.jsonl"  # finished results of a study, to which a resumed run appends
_RUN = "run.json"
_PACKAGES = ("iokr", "numpy", "scipy", "scikit-learn", "pandas", "array-api-compat", "matplotlib", "torch")


def run_info(*, seed: int | None = None, seconds: float | None = None, files: Sequence[Path] = ()) -> dict[str, Any]:
    """What is needed to repeat a run: time, versions, machine, seed, and the SHA-256 of every data file.

    Examples
    --------
    >>> from iokr.apps.report import run_info
    >>> run_info(seed=0)["seed"]
    0
    """
    names = ["/".join(path.parts[-2:]) if len(path.parts) > 2 else str(path) for path in files]  # folder and name
    if len(set(names)) < len(names):
        names = [str(path) for path in files]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "seconds": None if seconds is None else round(seconds, 2),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {usable_cores()} cores",
        "data": {name: _sha256(path) for name, path in zip(names, files, strict=True)},
    }


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that the numbers depend on.

    Examples
    --------
    >>> from iokr.apps.report import versions
    >>> "numpy" in versions()
    True
    """
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def usable_cores() -> int:
    """The number of cores that this process may use.

    Examples
    --------
    >>> from iokr.apps.report import usable_cores
    >>> usable_cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# -------------------------------------------------------------------------------------------------------------- checks


def check_folder(folder: Path, *, force: bool = False, format: str = "tsv", more: Sequence[str] = ()) -> None:
    """Raise unless a run can be written to a folder.

    A folder with the files of a run, or one of the files `more`, is overwritten only with `force`; files that no run
    has written, as run.json lists them, never are. A symbolic link to a folder is followed; a file in the folder that
    is a symbolic link out of it is an error.

    Examples
    --------
    >>> from pathlib import Path
    >>> from iokr.apps.report import check_folder
    >>> check_folder(Path("a-folder-that-does-not-exist"))
    """
    if folder.is_symlink() and not folder.exists():
        raise FileExistsError(f"{folder} is a symbolic link to {os.readlink(folder)}, which does not exist.")
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; choose a folder.")
    names = tuple(dict.fromkeys((*_run_files(format), *more)))
    for name in names:
        _check_target(folder, name)
    _check_contents(folder, names, force)
    _check_writable(folder)


def _check_target(folder: Path, name: str) -> None:
    """Raise where a file of the run would replace a folder, or a link out of the folder."""
    path = folder / name
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise FileExistsError(
            f"{path} is a symbolic link out of the folder, to {os.readlink(path)}; remove it, or choose another folder."
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but a file is to be written there; choose another folder.")


def _check_contents(folder: Path, names: Sequence[str], force: bool) -> None:
    """Raise where the run would replace files that no run has written or, without `force`, files of another run."""
    existing = [name for name in names if name != CELLS and os.path.lexists(folder / name)]
    written = _written_files(folder)
    others = [name for name in existing if written is not None and name not in written and name != _RUN]
    if others:
        raise FileExistsError(
            f"{folder} already contains {others[0]}, which was not written by a run; move it, or choose another folder."
        )
    if existing and not force:
        raise FileExistsError(
            f"{folder} already contains {existing[0]}; overwrite it with `force`, or choose another folder."
        )


def _check_writable(folder: Path) -> None:
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"{folder} cannot be created, as {existing} is a file; choose another folder.")
    try:
        TemporaryDirectory(prefix=".iokr-", dir=existing).cleanup()
    except OSError as error:
        raise PermissionError(f"{folder} cannot be written to: {error.strerror}; choose another folder.") from error


# ------------------------------------------------------------------------------------------------------------- writing


def write_run(
    report: Report, folder: Path, *, force: bool = False, format: str = "tsv", spreadsheet_safe: bool = False
) -> list[Path]:
    """Write a file for each table, metrics.json, run.json, the report's own files and report.html; return their paths.

    The write is atomic: a complete new folder replaces the old one (`iokr._system.folders`). run.json lists the files
    with their SHA-256. With `force`, files of an earlier run that this one does not write are removed unless they have
    changed; all other files in the folder are kept.

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
        files: dict[str, str | bytes] = {
            **tables,
            metrics: _json(report.metrics()),
            run: "",  # keeps its place in the order
            **report.files,
            page: report.html(),
        }
        contents: dict[str, bytes] = {}
        for name, text in files.items():
            try:
                contents[name] = text if isinstance(text, bytes) else text.encode()
            except UnicodeEncodeError as error:
                near = str(text)[max(error.start - 20, 0) : error.end + 20]
                raise ValueError(f"`{name}` cannot be encoded as UTF-8: remove the surrogate in {near!a}.") from None
        digests = {name: sha256(content).hexdigest() for name, content in contents.items() if name != run}
        contents[run] = _json({**report.info, "files": digests}).encode()
        earlier = {  # files of the earlier run that have not changed since
            name
            for name, digest in (_written_files(folder) or {}).items()
            if Path(name).name == name and (folder / name).is_file() and _sha256(folder / name) == digest
        }
        result.write(contents, dropped=earlier - set(contents))
        with suppress(OSError):  # what an unfinished run had saved, now that it is in the folder
            for name in contents:
                (result.partial / name).unlink(missing_ok=True)
            result.partial.rmdir()
    return [folder / name for name in contents]


def _run_files(format: str) -> tuple[str, ...]:
    return (f"table.{format}", "metrics.json", _RUN, "report.html")


def _written_files(folder: Path) -> dict[str, str] | None:
    """The files of the run in a folder with their SHA-256; None if its run.json does not list them."""
    try:
        files = json.loads((folder / _RUN).read_bytes())["files"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return files if isinstance(files, dict) else None


def _json(value: Any) -> str:
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
