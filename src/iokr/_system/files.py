"""Atomic writes, and a lock between processes.

    with write_atomically("model.iokr") as file:
        file.write(data)

The content goes to a file next to the target, is flushed to the disk, and replaces the target by a rename. Until then
the target is unchanged, whatever happens: an error, a full disk, a signal, a power cut. `iokr._system.folders` does the
same for a folder.

Locks are `flock`, or `msvcrt.locking` on Windows, on the very file that is renamed. The package filelock recognises a
lock file that was removed, but not one that was renamed, and leaves lock files behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

__all__ = [
    "abandon",
    "exchange",
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

_POSIX = os.name == "posix"
_OPEN_FLAGS = os.O_RDWR | os.O_CREAT
for _flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)
_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{i}" for port in ("COM", "LPT") for i in range(1, 10))}
_LOCKED = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}
_AT_FDCWD = -100  # Linux: relative to the working folder
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS

_unfinished: dict[int, Callable[[], None]] = {}
_holds: dict[tuple[Path, int, int], int] = {}  # of locks, by path, process and thread


@contextlib.contextmanager
def write_atomically(path: Path | str) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which replaces `path` when the block ends without an error.

    The mode of the replaced file is kept. It is an error if `path` is a symbolic link or a file without write
    permission, or if another process is writing to it.

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
    with on_abandon(lambda: _discard(new)), naming(path):  # before the file exists: a signal may come at any moment
        descriptor = _open_locked(new, f"{path} is being written by another process; wait for it.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.ftruncate(descriptor, 0)
                if path.exists() and hasattr(os, "fchmod"):
                    os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
                yield file
                file.flush()
                sync_file(descriptor)
                if _POSIX:  # while the lock is held
                    os.replace(new, path)
            if not _POSIX:  # Windows does not rename open files
                os.replace(new, path)
            sync_folder(path.parent)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


def remove_unfinished(path: Path) -> None:
    """Remove what a killed process left of `path`, unless another process is writing it."""
    new = _new_file(path)
    if not new.is_file() or new.is_symlink():
        return
    with contextlib.suppress(BlockingIOError), naming(path):
        descriptor = _open_locked(new, "")
        new.unlink(missing_ok=True)
        os.close(descriptor)


def _new_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.iokr-new")


def _discard(new: Path) -> None:
    """Remove a file that this process has open or that nobody has locked, and no other."""
    if not new.is_file() or new.is_symlink():
        return
    try:
        is_own = not _POSIX or any(_is_open_as(int(number), new) for number in os.listdir("/dev/fd"))
    except OSError:
        is_own = False
    descriptor = None if is_own else _open_locked(new, "")
    new.unlink(missing_ok=True)
    if descriptor is not None:
        os.close(descriptor)


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
    if not _POSIX:
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
    arguments: tuple[Any, ...]
    if sys.platform == "linux":
        name = "renameat2"
        arguments = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE)
    elif sys.platform == "darwin":
        name = "renamex_np"
        arguments = (os.fsencode(one), os.fsencode(other), _EXCHANGE)
    else:
        return False
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

    `aux.tsv` is a device there, whatever its suffix; dots and spaces at the end are dropped.
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
    again.
    """
    key = path.absolute(), os.getpid(), threading.get_ident()
    if key in _holds:
        _holds[key] += 1
        try:
            yield
        finally:
            _holds[key] -= 1
        return
    with on_abandon(lambda: _discard(path)):
        with naming(path):
            descriptor = _open_locked(path, busy)
        _holds[key] = 1
        try:
            yield
        finally:
            del _holds[key]
            with contextlib.suppress(OSError):  # before the lock ends: others then see that the file is gone
                path.unlink()
            os.close(descriptor)
            if not _POSIX:  # Windows does not remove open files
                with contextlib.suppress(OSError):
                    path.unlink()


def _open_locked(path: Path, busy: str) -> int:
    """A descriptor of the file `path`, which is created if need be, with a lock on it."""
    while True:
        descriptor = os.open(path, _OPEN_FLAGS, 0o666)
        try:
            _lock(descriptor)
            if not _POSIX or _is_open_as(descriptor, path):  # else its owner has just removed or renamed it
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise BlockingIOError(busy) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_open_as(descriptor: int, path: Path) -> bool:
    """Whether a descriptor is that of the file at `path`."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:  # one of them is gone
        return False


def _lock(descriptor: int) -> None:
    """Lock a file; BlockingIOError when it is locked; nothing on file systems without locks."""
    try:
        if _POSIX:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in _LOCKED:
            raise BlockingIOError(*error.args) from None
        if error.errno not in _UNSUPPORTED:
            raise


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
