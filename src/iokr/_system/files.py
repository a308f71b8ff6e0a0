"""Atomic writes, and a lock between processes.

    with write_atomically("model.iokr") as file:
        file.write(data)

The content goes to a file next to the target, is flushed to the disk, and replaces the target by a rename. Until then
the target is unchanged after any failure: an error, a full disk, a signal, a power cut. `iokr._system.folders` does the
same for a folder.

Locks are those of the package filelock. It leaves its lock files behind; ours are removed while the lock is held, which
another process that waits for the lock recognises.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

__all__ = [
    "abandon",
    "exchange",
    "lock_file",
    "locked",
    "naming",
    "on_abandon",
    "refuse_link",
    "refuse_name",
    "remove_unfinished",
    "sync_file",
    "sync_folder",
    "write_atomically",
]

_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{i}" for port in ("COM", "LPT") for i in range(1, 10))}
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}
_AT_FDCWD = -100  # Linux: relative to the working folder
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS

_unfinished: dict[int, Callable[[], None]] = {}


@contextlib.contextmanager
def write_atomically(path: Path | str) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which replaces `path` when the block ends without an error.

    The mode of the replaced file is kept. It is an error if `path` is a symbolic link or a file without write
    permission, or if another process or thread is writing to it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr._system.files import write_atomically
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with write_atomically(path) as file:
    ...         _ = file.write(b"whole")
    ...     path.read_bytes(), len(list(Path(folder).iterdir()))
    (b'whole', 1)
    """
    path = Path(path)
    refuse_name(path)
    refuse_link(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but a file is to be written there.")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    new = _new_file(path)

    def discard() -> None:
        new.unlink(missing_ok=True)

    busy = f"{path} is being written by another process; wait for it."
    with naming(path), locked(lock_file(path), busy), on_abandon(discard):
        discard()  # what a killed process left
        try:
            with new.open("xb") as file:
                if path.exists():
                    new.chmod(stat.S_IMODE(path.stat().st_mode))
                yield file
                file.flush()
                sync_file(file.fileno())
            os.replace(new, path)
            sync_folder(path.parent)
        except BaseException:
            discard()
            raise


def remove_unfinished(path: Path) -> None:
    """Remove what a killed process left of `path`, unless another process is writing it."""
    with contextlib.suppress(BlockingIOError), locked(lock_file(path), ""):
        _new_file(path).unlink(missing_ok=True)


def lock_file(path: Path) -> Path:
    """The file that is locked while `path` is written."""
    return path.with_name(f".{path.name}.iokr-lock")


def _new_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.iokr-new")


# --------------------------------------------------------------------------------------------------------- the system


def sync_file(descriptor: int) -> None:
    """Flush a file to the disk; on macOS `fsync` alone stops at the cache of the drive."""
    if sys.platform == "darwin":
        import fcntl

        with contextlib.suppress(OSError):  # not supported by every file system
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step, so that neither is ever missing; False where the system cannot."""
    calls: dict[str, tuple[Any, ...]] = {
        "linux": ("renameat2", _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE),
        "darwin": ("renamex_np", os.fsencode(one), os.fsencode(other), _EXCHANGE),
    }
    if sys.platform not in calls:
        return False
    name, *arguments = calls[sys.platform]
    rename: Any = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if rename is None:
        return False
    if rename(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED or code == errno.EXDEV:  # EXDEV: some layered file systems
        return False
    raise OSError(code, os.strerror(code), str(other))


def refuse_name(path: Path, *, windows: bool = os.name == "nt") -> None:
    """ValueError on Windows for names that are invalid, denote devices, or would be changed.

    `aux.tsv` is a device there with any suffix; dots and spaces at the end are dropped.
    """
    name = path.name
    if not windows or not name:
        return
    stem = name.partition(".")[0].rstrip(" ").upper()
    if stem in _DEVICES or name[-1] in ". " or any(letter in '<>:"|?*' or ord(letter) < 32 for letter in name):
        raise ValueError(f"{name!r} is not a valid name of a file or folder on Windows; choose another.")


def refuse_link(path: Path) -> None:
    """FileExistsError for a symbolic link, also for one to nowhere."""
    if path.is_symlink():
        raise FileExistsError(
            f"{path} is a symbolic link to {os.readlink(path)}, and files are not written through links; remove it, or "
            "name the file itself."
        )


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """System errors without a file name, such as a full disk, or with the name of a temporary file, name this path."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and (error.filename is None or ".iokr-" in str(error.filename)):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


# --------------------------------------------------------------------------------------------------------------- locks


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock file; BlockingIOError with the message `busy` when another process or thread holds it.

    The lock ends with the process, so the lock file of a killed process blocks nobody. A thread may take its lock
    again. On file systems without locks nothing is locked.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path.absolute(), blocking=False, is_singleton=True)
    outermost = not lock.is_locked
    try:
        with naming(path):
            lock.acquire()
    except Timeout:
        raise BlockingIOError(busy) from None
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise

    def discard() -> None:
        """Remove the file while the lock is held; Windows does not remove open files, filelock does it there."""
        with contextlib.suppress(OSError):
            path.unlink()

    with on_abandon(discard):
        try:
            yield
        finally:
            if outermost:
                discard()
            lock.release()


# ----------------------------------------------------------------------------------------------- ends without unwinding


@contextlib.contextmanager
def on_abandon(tidy: Callable[[], None]) -> Iterator[None]:
    """Register `tidy` to be called by `abandon` inside this block."""
    key = id(tidy)
    _unfinished[key] = tidy
    try:
        yield
    finally:
        _unfinished.pop(key, None)


def abandon() -> None:
    """Tidy up after all unfinished writes, the last one first; for a process that ends without unwinding the stack."""
    for tidy in reversed(list(_unfinished.values())):
        with contextlib.suppress(OSError):
            tidy()
