"""Files that are whole or not there, and a lock between processes.

    with write_atomically("model.iokr") as file:
        file.write(data)

What is written goes to a file beside the one that is meant, to the disk, and in place by a rename. Whatever happens
before that (an error, a full disk, a signal, a power cut) the file is what it was. Errors of the system name the file.
`iokr._system.folders` does the same for a folder.
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

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{i}" for port in ("COM", "LPT") for i in range(1, 10))}
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}

_unfinished: dict[int, Callable[[], None]] = {}
_held: dict[tuple[Path, int, int], int] = {}  # by path, process and thread


@contextlib.contextmanager
def write_atomically(path: Path | str) -> Iterator[IO[bytes]]:
    """A file to write bytes to, that replaces `path` when the block ends without an error.

    A symbolic link is refused, since what it points to would stay as it was; so is a file without permission to write.
    The mode of a file that is replaced is kept. Of two processes that write to one path at the same time the second is
    refused.

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
        raise IsADirectoryError(f"{path} is a folder; a file is to be written there.")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    new = path.with_name(f".{path.name}.iokr-new")
    with on_abandon(lambda: _discard(new)):  # before there is anything to discard: a signal may come at any moment
        with naming(path):
            descriptor = _take(new, f"{path} is being written by another process; wait for it.")
        try:
            with naming(path):
                with os.fdopen(descriptor, "wb") as file:
                    os.ftruncate(descriptor, 0)
                    if path.exists() and hasattr(os, "fchmod"):
                        os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
                    yield file
                    file.flush()
                    sync_file(descriptor)
                    if os.name == "posix":  # as long as the lock is held
                        os.replace(new, path)
                if os.name != "posix":
                    os.replace(new, path)
                sync_folder(path.parent)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


def remove_unfinished(path: Path) -> None:
    """What a process that was killed left of `path`; nothing where another one is writing it."""
    new = path.with_name(f".{path.name}.iokr-new")
    if not new.is_file() or new.is_symlink():
        return
    with contextlib.suppress(BlockingIOError), naming(path):
        descriptor = _take(new, "")
        new.unlink(missing_ok=True)
        os.close(descriptor)


def _discard(new: Path) -> None:
    """Remove a file that this process has open, or nobody has a lock on: what another one is writing stays."""
    if not new.is_file() or new.is_symlink():
        return
    try:
        mine = os.name != "posix" or any(_is(int(number), new) for number in os.listdir("/dev/fd"))
    except OSError:
        mine = False
    descriptor = None if mine else _take(new, "")
    new.unlink(missing_ok=True)
    if descriptor is not None:
        os.close(descriptor)


def sync_file(descriptor: int) -> None:
    """What was written, to the disk: on macOS `fsync` stops at the cache of the drive, and this asks for more."""
    if sys.platform == "darwin":
        import fcntl

        with contextlib.suppress(OSError):  # not every file system has it
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def refuse_name(path: Path, *, windows: bool = os.name == "nt") -> None:
    """ValueError for a name that Windows gives to a device, changes, or does not have, where we are on Windows.

    `aux.tsv` is a device there, whatever its suffix; a dot or a space at the end is dropped without a word.
    """
    name = path.name
    if not windows or not name:
        return
    stem = name.partition(".")[0].rstrip(" ").upper()
    if stem in _DEVICES or name[-1] in ". " or any(letter in '<>:"|?*' or ord(letter) < 32 for letter in name):
        raise ValueError(f"{name!r} is no name of a file or folder on Windows; give another.")


def refuse_link(path: Path) -> None:
    """FileExistsError for a symbolic link, whether it leads anywhere or not."""
    if path.is_symlink():
        raise FileExistsError(
            f"{path} is a symbolic link to {os.readlink(path)}, which is not written through; remove it, or name the "
            "file itself."
        )


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors of the system that name no file, as that of a full disk, or one of ours, name this one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and (error.filename is None or ".iokr-" in str(error.filename)):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def sync_folder(folder: Path) -> None:
    """The names in a folder, to the disk, where the system can."""
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
    """Two names for each other in one step, so that neither is ever missing; False where the system cannot."""
    if sys.platform == "linux":
        name, arguments = "renameat2", (-100, os.fsencode(one), -100, os.fsencode(other), 2)
    elif sys.platform == "darwin":
        name, arguments = "renamex_np", (os.fsencode(one), os.fsencode(other), 2)
    else:
        return False
    call: Any = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED or code == errno.EXDEV:  # as some layered file systems answer
        return False
    raise OSError(code, os.strerror(code), str(other))


# --------------------------------------------------------------------------------------------------------------- locks


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock file; BlockingIOError with the words `busy` when another process, or another thread, holds it.

    The lock ends with the process, however that ends, so a file that was left behind blocks nobody. A thread that holds
    it may take it again.
    """
    key = path.absolute(), os.getpid(), threading.get_ident()
    if key in _held:
        _held[key] += 1
        try:
            yield
        finally:
            _held[key] -= 1
        return
    with on_abandon(lambda: _discard(path)):
        with naming(path):
            descriptor = _take(path, busy)
        _held[key] = 1
        try:
            yield
        finally:
            del _held[key]
            with contextlib.suppress(OSError):  # before the lock ends: a file with a lock is never removed by others
                path.unlink()
            os.close(descriptor)
            if os.name != "posix":
                with contextlib.suppress(OSError):
                    path.unlink()


def _take(path: Path, busy: str) -> int:
    """A descriptor of the file `path`, made if need be, with a lock on it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o666)
        try:
            _lock(descriptor)
            if os.name != "posix" or _is(descriptor, path):  # else its owner has removed or renamed it meanwhile
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            raise BlockingIOError(busy) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:  # it is gone, or the descriptor is
        return False


def _lock(descriptor: int) -> None:
    """BlockingIOError when it is taken; nothing happens on file systems without locks."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise BlockingIOError(*error.args) from None
        if error.errno not in _UNSUPPORTED:
            raise


# ------------------------------------------------------------------------------------------- a process that is to stop


@contextlib.contextmanager
def on_abandon(tidy: Callable[[], None]) -> Iterator[None]:
    """`tidy` is called when `abandon` is, inside this block."""
    key = id(tidy)
    _unfinished[key] = tidy
    try:
        yield
    finally:
        _unfinished.pop(key, None)


def abandon() -> None:
    """Tidy up after all writes that are under way, the last one first; for a process that ends without unwinding."""
    for tidy in reversed(list(_unfinished.values())):
        with contextlib.suppress(OSError):
            tidy()
