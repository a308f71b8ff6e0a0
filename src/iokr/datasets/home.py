"""The folder of data files, and errors for missing ones."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["DataNotFound", "data_files", "data_home", "find_data", "missing_data"]


class DataNotFound(FileNotFoundError):
    """A data file is missing; the message names it and the folder, and says what to do.

    Examples
    --------
    >>> from iokr.datasets import DataNotFound
    >>> issubclass(DataNotFound, FileNotFoundError)
    True
    """


def data_home() -> Path:
    """The folder of data sets: the environment variable IOKR_DATA, else `iokr` in the user's cache folder.

    Returns
    -------
    Path
        An absolute path, which may not exist.

    Examples
    --------
    >>> from iokr.datasets import data_home
    >>> data_home().is_absolute()
    True
    """
    given = os.environ.get("IOKR_DATA")
    return Path(given).expanduser().absolute() if given else _user_cache() / "iokr"


def find_data(path: str) -> Path:
    """The file or folder `path` under `data_home()`.

    Parameters
    ----------
    path : str
        Relative, with forward slashes: ``"usps/usps.npz"``, or the folder ``"usps"``.

    Raises
    ------
    DataNotFound
        When it does not exist.

    Examples
    --------
    >>> from iokr.datasets import DataNotFound, find_data
    >>> try:
    ...     find_data("no/such.npz")
    ... except DataNotFound as error:
    ...     print(str(error).split(" in ")[0])
    no/such.npz is not
    """
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(path):
        raise TypeError(f"`path` must be the name of a file or folder, got {path!r:.60}.")
    home = data_home()
    if (home / path).exists():
        return home / path
    raise DataNotFound(_missing([str(path)]))


def _missing(names: Sequence[str]) -> str:
    """Names of missing files, where they were expected, and what to do."""
    origin = "IOKR_DATA" if os.environ.get("IOKR_DATA") else "the default data folder"
    several = len(names) > 1
    return (
        f"{', '.join(names)} {'are' if several else 'is'} not in {data_home()} ({origin}); set IOKR_DATA to the "
        f"folder that holds {'them' if several else names[0]}, as in `IOKR_DATA=/path/to/data`."
    )


def missing_data(names: Iterable[str]) -> str | None:
    """A sentence that names the missing data sets; None if all exist.

    Examples
    --------
    >>> from iokr.datasets.home import missing_data
    >>> missing_data(["no-such-set", "nor-this"]).split(" in ")[0]
    'no-such-set, nor-this are not'
    """
    absent = [name for name in dict.fromkeys(names) if not (data_home() / name).exists()]
    return _missing(absent) if absent else None


def data_files(name: str) -> list[Path]:
    """All files of the data set `name`, sorted.

    Examples
    --------
    >>> from iokr.datasets import DataNotFound, data_files
    >>> try:
    ...     data_files("no-such-set")
    ... except DataNotFound:
    ...     print("missing")
    missing
    """
    return sorted(path for path in find_data(name).rglob("*") if path.is_file())


def _user_cache() -> Path:
    """The folder for caches of this user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local").absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute()
