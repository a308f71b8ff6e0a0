"""The folder of a run: the table, the numbers as data, what is known of the run, and the page."""

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import file_digest
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from iokr.report.page import Report
from iokr.report.tables import plain

__all__ = ["check_folder", "run_info", "usable_cores", "versions", "write_run"]


def run_info(*, seed: int | None = None, seconds: float | None = None, files: Sequence[Path] = ()) -> dict[str, Any]:
    """What a reader needs to run it again: time, versions, machine, seed, and the SHA-256 of every data file.

    Examples
    --------
    >>> from iokr.report import run_info
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
    >>> from iokr.report import versions
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
    >>> from iokr.report import usable_cores
    >>> usable_cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_folder(folder: Path, *, force: bool = False, format: str = "tsv", more: Sequence[str] = ()) -> None:
    """Refuse a folder that cannot be written to, and one that holds a run or one of the files `more`, unless `force`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from iokr.report import check_folder
    >>> check_folder(Path("a-folder-that-does-not-exist"))
    """
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; give a folder with -o.")
    there = [name for name in (*_run_files(format), *more) if (folder / name).exists()]
    if there and not force:
        raise FileExistsError(f"{folder} already holds {there[0]}; use --force to write over it, or -o another folder.")
    above = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not above.is_dir():
        raise NotADirectoryError(f"{folder} cannot be made, as {above} is a file; give another folder with -o.")
    try:
        TemporaryDirectory(prefix=".iokr-", dir=above).cleanup()
    except OSError as error:
        raise PermissionError(f"{folder} cannot be written to: {error.strerror}; give another with -o.") from error


def write_run(report: Report, folder: Path, *, force: bool = False, format: str = "tsv") -> list[Path]:
    """Write the table, metrics.json, run.json, the report's own files and report.html; return their paths.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.report import Report, write_run
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_run(Report("Title", "Summary."), Path(folder))]
    ['table.tsv', 'metrics.json', 'run.json', 'report.html']
    """
    check_folder(folder, force=force, format=format, more=tuple(report.files))
    *data, page = _run_files(format)
    texts = (report.table_text(format), _json(report.metrics()), _json(report.info))
    contents = {**dict(zip(data, texts, strict=True)), **report.files, page: report.html()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in contents]


def _run_files(format: str) -> tuple[str, ...]:
    return (f"table.{format}", "metrics.json", "run.json", "report.html")


def _json(value: Any) -> str:
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
