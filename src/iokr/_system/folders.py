"""Result folders, replaced atomically.

A new folder is written next to the old one, flushed to the disk, and exchanged with it. For the folder NAME:

    NAME.lock         during a run: a second run is rejected
    NAME.partial      finished parts of an unfinished run that can be resumed
    .NAME.iokr-new    the new folder until it is complete; after the exchange the old one until it is removed

A killed run leaves at most these; the next one removes them (`ResultFolder.reserved`). Where the folder cannot be
exchanged (it is a mount point or our working folder, the folder above it is not writable, or the system cannot exchange
two names), the new files are gathered in NAME/.iokr-new, which is renamed to NAME/.iokr-ready when it is complete; then
they replace the old files one by one, and the next run completes what a killed run has left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from iokr._system.files import exchange, locked, naming, on_abandon, refuse_name, sync_file, sync_folder

__all__ = ["ResultFolder"]

_NOT_RENAMED = (errno.EXDEV, errno.EBUSY, errno.EPERM, errno.EACCES)  # errors of folders that cannot be renamed


@dataclass(frozen=True)
class ResultFolder:
    """A folder whose files are replaced together.

    Parameters
    ----------
    folder : Path
        As given by the user; a symbolic link to a folder is followed, and kept.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr._system.folders import ResultFolder
    >>> with TemporaryDirectory() as above:
    ...     result = ResultFolder(Path(above, "run"))
    ...     with result.reserved():
    ...         result.write({"table.tsv": "a\\tb\\n"})
    ...     [path.name for path in Path(above).rglob("*")]
    ['run', 'table.tsv']
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The folder itself, with links resolved."""
        path = self.folder.resolve()
        if not path.name:
            raise ValueError(f"{path} is the root of the file system; choose another folder.")
        return path

    @property
    def inside(self) -> bool:
        """Whether nothing can be written next to it."""
        path = self.path
        return os.path.ismount(path) or (path.parent.is_dir() and not os.access(path.parent, os.W_OK | os.X_OK))

    def _sibling(self, name: str, name_inside: str) -> Path:
        return self.path / name_inside if self.inside else self.path.with_name(name)

    @property
    def partial(self) -> Path:
        """The folder of the finished parts of an unfinished run."""
        return self._sibling(f"{self.path.name}.partial", ".iokr-partial")

    @property
    def lock(self) -> Path:
        """The file that is locked during a run."""
        return self._sibling(f"{self.path.name}.lock", ".iokr-lock")

    @property
    def _new(self) -> Path:
        return self.path.with_name(f".{self.path.name}.iokr-new")

    @contextlib.contextmanager
    def reserved(self) -> Iterator[None]:
        """Reserve the folder for this thread, and repair what a killed run left; may be nested."""
        refuse_name(self.path)
        if self.folder.is_symlink() and not self.folder.exists():
            raise FileExistsError(
                f"{self.folder} is a symbolic link to {os.readlink(self.folder)}, which does not exist."
            )
        parent = self.path if self.inside else self.path.parent
        made = [path for path in (parent, *parent.parents) if not path.exists()]  # the innermost first
        parent.mkdir(parents=True, exist_ok=True)
        busy = f"another run is writing to {self.folder}; wait until it is done, or choose another folder."

        def remove_made() -> None:
            """Remove the folders made here that are still empty."""
            for path in made:
                with contextlib.suppress(OSError):
                    path.rmdir()

        with on_abandon(remove_made):
            try:
                with locked(self.lock, busy), on_abandon(self._repair):
                    with naming(self.folder):
                        self._repair()
                    yield
            finally:
                remove_made()

    def write(self, contents: Mapping[str, str | bytes], dropped: Collection[str] = ()) -> None:
        """Write these files and keep all others in the folder except `dropped`; to be called inside `reserved`.

        Other files keep their inode where the file system has hard links. An error leaves the folder unchanged.
        """
        data = {name: text.encode() if isinstance(text, str) else text for name, text in contents.items()}
        for name in data:
            if not name or Path(name).name != name or name.startswith(".iokr-"):
                raise ValueError(f"{name!r} is not the name of a file in a folder.")
        if self._can_be_exchanged():
            try:
                if self._write_beside(data, dropped):
                    return
            except OSError as error:
                if error.errno not in _NOT_RENAMED or not self.path.is_dir():
                    raise
        self._write_inside(data, dropped)

    def _can_be_exchanged(self) -> bool:
        """Whether the folder may be renamed: neither it nor a folder in it is a mount point, nor are we in it."""
        path = self.path
        if self.inside:
            return False
        if not path.is_dir():
            return True
        here = Path(os.path.realpath("."))
        return not here.is_relative_to(path) and not any(
            entry.is_dir() and entry.is_mount() for entry in path.iterdir()
        )

    def _repair(self) -> None:
        """Complete or undo what a killed run has begun."""
        _remove(self._new)
        _remove(self.path / ".iokr-new")
        self._finish_inside()

    # ---------------------------------------------------------------------------------------------------------- next to

    def _write_beside(self, data: Mapping[str, bytes], dropped: Collection[str]) -> bool:
        """Write a new folder and exchange it with the old one; False where names cannot be exchanged."""
        path = self.path
        new = self._new
        replaced = {*data, *dropped}
        try:
            with naming(self.folder):
                new.mkdir()
                if path.exists():
                    shutil.copymode(path, new)
            self._fill(new, data)
            with naming(self.folder):
                if not path.exists():
                    sync_folder(new)
                    new.rename(path)
                    sync_folder(path.parent)
                    return True
                replaced |= _carry(path, new, replaced)
                sync_folder(new)
                if not exchange(new, path):
                    return False
                sync_folder(path.parent)
                _carry_late(new, path, replaced)  # `new` is the old folder now
                return True
        finally:  # the new folder after an error, else the old one; the next run removes what remains
            with contextlib.suppress(OSError):
                _remove(new)

    # ---------------------------------------------------------------------------------------------------------- inside

    def _write_inside(self, data: Mapping[str, bytes], dropped: Collection[str]) -> None:
        """Gather the files in a folder of this one, then replace the old files one by one."""
        path = self.path
        new = path / ".iokr-new"
        try:
            with naming(self.folder):
                path.mkdir(exist_ok=True)
                new.mkdir()
            self._fill(new, data)
            with naming(self.folder):
                sync_folder(new)
                new.rename(path / ".iokr-ready")
                sync_folder(path)
                self._finish_inside()
                for name in set(dropped) - set(data):
                    (path / name).unlink(missing_ok=True)
        finally:
            with contextlib.suppress(OSError):
                _remove(new)

    def _finish_inside(self) -> None:
        """Move complete new files into place."""
        ready = self.path / ".iokr-ready"
        if ready.is_dir() and not ready.is_symlink():
            for file in sorted(ready.iterdir()):
                file.replace(self.path / file.name)
            ready.rmdir()
            sync_folder(self.path)

    def _fill(self, new: Path, data: Mapping[str, bytes]) -> None:
        for name, content in data.items():
            with naming(self.folder / name), (new / name).open("xb") as file:
                file.write(content)
                file.flush()
                sync_file(file.fileno())


def _carry(old: Path, new: Path, written: Collection[str] = ()) -> set[str]:
    """Hard links, or copies, in `new` of everything in `old` except `written`; return the names."""
    kept = [entry for entry in os.scandir(old) if entry.name not in written]
    for entry in kept:
        target = new / entry.name
        if entry.is_dir(follow_symlinks=False):
            target.mkdir()
            _carry(Path(entry.path), target)
            shutil.copystat(entry.path, target)
            sync_folder(target)
        else:
            _link(Path(entry.path), target)
    return {entry.name for entry in kept}


def _link(file: Path, target: Path) -> None:
    if file.is_symlink():
        target.symlink_to(os.readlink(file))
        return
    try:
        os.link(file, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        if not stat.S_ISREG(file.lstat().st_mode):
            raise
        shutil.copy2(file, target)
        with contextlib.suppress(PermissionError), target.open("rb+") as copy:  # Windows flushes writable files only
            sync_file(copy.fileno())


def _carry_late(old: Path, new: Path, known: Collection[str]) -> None:
    """Move entries that were added to the old folder after it was listed."""
    if old.is_dir():
        for entry in os.scandir(old):
            if entry.name not in known and not os.path.lexists(new / entry.name):
                os.rename(entry.path, new / entry.name)


def _remove(folder: Path) -> None:
    """Remove a folder, or a file or link of that name."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.is_dir():
        for above, _, _ in os.walk(folder):  # also folders without write permission
            Path(above).chmod(0o700)
        shutil.rmtree(folder)
