"""Folders of results that are whole: written beside, flushed to the disk, and swapped with the one that is there.

For the folder NAME:

    NAME.lock         while a run is under way: a second run is refused
    NAME.partial      what an unfinished run has finished, for those that can be taken up again
    .NAME.iokr-new    the new folder until it is whole; after the swap the old one until it is removed
    NAME.old          the old folder, between two renames, where the system cannot exchange two names in one step
    .NAME.iokr-swap   says that NAME.old is ours

A run that is killed leaves at most these behind; the next one puts them right (`ResultFolder.reserved`). Where there is
no room beside the folder (it is a mount point, the folder above it must not be written to, or we stand inside it) the
new files are gathered in NAME/.iokr-new, which is renamed to NAME/.iokr-ready when it is whole; from there they are
moved into place one by one, and a run that is killed meanwhile is finished by the next.
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

_STUCK = (errno.EXDEV, errno.EBUSY, errno.EPERM, errno.EACCES)  # of folders that cannot be renamed


@dataclass(frozen=True)
class ResultFolder:
    """A folder whose files are replaced together.

    Parameters
    ----------
    folder : Path
        As the user calls it; a symbolic link to a folder is followed, and stays.

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
        """Where it really is."""
        path = self.folder.resolve()
        if not path.name:
            raise ValueError(f"{path} is the root of the file system, which is no folder for results; give another -o.")
        return path

    @property
    def inside(self) -> bool:
        """Whether there is no room beside it."""
        path = self.path
        return os.path.ismount(path) or (path.parent.is_dir() and not os.access(path.parent, os.W_OK | os.X_OK))

    def _beside(self, name: str, within: str) -> Path:
        path = self.path
        return path / within if self.inside else path.with_name(name)

    @property
    def partial(self) -> Path:
        """The folder of what is finished of an unfinished run."""
        return self._beside(f"{self.path.name}.partial", ".iokr-partial")

    @property
    def lock(self) -> Path:
        """The file that is locked while a run is under way."""
        return self._beside(f"{self.path.name}.lock", ".iokr-lock")

    @property
    def _new(self) -> Path:
        return self.path.with_name(f".{self.path.name}.iokr-new")

    @property
    def _old(self) -> Path:
        return self.path.with_name(f"{self.path.name}.old")

    @property
    def _swap(self) -> Path:
        return self.path.with_name(f".{self.path.name}.iokr-swap")

    @contextlib.contextmanager
    def reserved(self) -> Iterator[None]:
        """Nobody else writes to it meanwhile; what a killed run left is put right first. May be nested in a thread."""
        refuse_name(self.path)
        if self.folder.is_symlink() and not self.folder.exists():
            raise FileExistsError(
                f"{self.folder} is a symbolic link to {os.readlink(self.folder)}, which is not there."
            )
        made = _make(self.path if self.inside else self.path.parent)
        busy = f"another run is writing to {self.folder}; wait until it is done, or give another folder with -o."

        def forget() -> None:  # folders that were made for nothing
            for path in made:
                with contextlib.suppress(OSError):
                    path.rmdir()

        with on_abandon(forget):
            try:
                with locked(self.lock, busy), on_abandon(self._repair):
                    with naming(self.folder):
                        self._repair()
                    yield
            finally:
                forget()

    def write(self, contents: Mapping[str, str | bytes], dropped: Collection[str] = ()) -> None:
        """Replace the folder by these files and what else was in it, `dropped` apart; to be called when `reserved`.

        Files of others keep their inode where the file system has hard links. When an error comes in between, the
        folder is what it was.
        """
        data = {name: text.encode() if isinstance(text, str) else text for name, text in contents.items()}
        odd = [name for name in data if not name or Path(name).name != name or name.startswith(".iokr-")]
        if odd:
            raise ValueError(f"{odd[0]!r} is not the name of a file in a folder.")
        if not self._stands_still():
            try:
                return self._write_beside(data, dropped)
            except OSError as error:
                if error.errno not in _STUCK or not self.path.is_dir():
                    raise
        self._write_inside(data, dropped)

    def _stands_still(self) -> bool:
        """Whether the folder must not be renamed: it or something in it is a mount point, or we are in it."""
        path = self.path
        if self.inside:
            return True
        if not path.is_dir():
            return False
        here = Path(os.path.realpath("."))
        return here.is_relative_to(path) or any(entry.is_dir() and entry.is_mount() for entry in path.iterdir())

    # ---------------------------------------------------------------------------------------------------------- beside

    def _write_beside(self, data: Mapping[str, bytes], dropped: Collection[str]) -> None:
        path, new = self.path, self._new
        try:
            with naming(self.folder):
                new.mkdir()
                if path.exists():
                    shutil.copymode(path, new)
            self._fill(new, data)
            with naming(self.folder):
                kept = _carry(path, new, {*data, *dropped}) if path.exists() else set()
                sync_folder(new)
                self._put(new, path)
                sync_folder(path.parent)
                _save_late(new, path, {*data, *dropped, *kept})
        finally:  # the new one when that failed, else the old one; what cannot be removed now is by the next run
            with contextlib.suppress(OSError):
                _remove(new)

    def _put(self, new: Path, path: Path) -> None:
        """`new` in place of `path`; where names can be exchanged `new` holds the old files afterwards."""
        if not path.exists():
            new.rename(path)
        elif not exchange(new, path):
            old, swap = self._old, self._swap
            if os.path.lexists(old):
                raise FileExistsError(f"{old} is in the way of replacing {self.folder}; move it away.")
            swap.touch()
            sync_folder(path.parent)
            try:
                path.rename(old)
            except OSError:
                swap.unlink()
                raise
            new.rename(path)
            sync_folder(path.parent)
            old.rename(new)
            swap.unlink()

    def _repair(self) -> None:
        """Finish or undo what a killed run has begun."""
        path, new, old, swap = self.path, self._new, self._old, self._swap
        if swap.exists():
            if not path.exists():
                (new if new.exists() else old).rename(path)
            _remove(old)
            swap.unlink()
        _remove(new)
        _remove(path / ".iokr-new")
        self._finish_inside()

    # ---------------------------------------------------------------------------------------------------------- inside

    def _write_inside(self, data: Mapping[str, bytes], dropped: Collection[str]) -> None:
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


def _make(folder: Path) -> list[Path]:
    """Make a folder and those above it; those that were not there, the innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _carry(old: Path, new: Path, written: Collection[str] = ()) -> set[str]:
    """What is in `old` and not in `written`, in `new` too: hard links, or copies where there are none."""
    kept = set()
    for entry in os.scandir(old):
        if entry.name in written:
            continue
        target = new / entry.name
        if entry.is_dir(follow_symlinks=False):
            target.mkdir()
            _carry(Path(entry.path), target)
            shutil.copystat(entry.path, target)
            sync_folder(target)
        else:
            _link(Path(entry.path), target)
        kept.add(entry.name)
    return kept


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
        with contextlib.suppress(PermissionError), target.open("rb+") as copy:  # Windows flushes what may be written
            sync_file(copy.fileno())


def _save_late(old: Path, new: Path, known: Collection[str]) -> None:
    """What somebody has put into the old folder after it was looked at."""
    if old.is_dir():
        for entry in os.scandir(old):
            if entry.name not in known and not os.path.lexists(new / entry.name):
                os.rename(entry.path, new / entry.name)


def _remove(folder: Path) -> None:
    """A folder of ours that is not needed; a link by that name is none."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.is_dir():
        for above, _, _ in os.walk(folder):  # folders that must not be written to are emptied too
            Path(above).chmod(0o700)
        shutil.rmtree(folder)
