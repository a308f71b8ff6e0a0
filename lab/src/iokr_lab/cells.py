"""Finished parts of a long run, kept in a file as they come, so that it can be interrupted and taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from iokr import __version__
from iokr._system.files import refuse_link
from iokr._system.lines import append_line, aside, read_lines, sound_record

Case = TypeVar("Case")
P = ParamSpec("P")
Value = TypeVar("Value")

__all__ = ["Cells", "kept"]


class Cells:
    """name → metrics; with a path, each finished cell is a line of that file at once.

    Values are as JSON returns them (tuples become lists, NumPy numbers plain ones), whether they come from the file or
    were computed now.

    Parameters
    ----------
    path : Path, optional
        Read when it exists; None keeps cells in memory only.
    run : mapping
        What must be the same for a cell to be used again: seed, plan, data. The version of the library must be, too.
    before : Path, optional
        Another file of cells, of a run that was finished; it is only read.

    Attributes
    ----------
    values : dict
    earlier : frozenset of str
        The cells that were in the files.

    Examples
    --------
    >>> from iokr_lab.cells import Cells
    >>> cells = Cells(None, {"seed": 0})
    >>> cells.fill([1, 2], lambda case: {"square": case**2}, print)
    1
    2
    0
    >>> cells["2"]
    {'square': 4}
    """

    def __init__(self, path: Path | None, run: Mapping[str, Any], before: Path | None = None) -> None:
        self.path, self.run = path, json.loads(_text({"iokr": __version__, **run}))
        self.values: dict[str, dict[str, Any]] = {}
        self._lock, self._lines = Lock(), list[str]()
        if path is not None:
            refuse_link(path)
            for file in (before, path):
                if file is not None and file.is_file():
                    self._read(file)
        self.earlier = frozenset(self.values)

    def _read(self, file: Path) -> None:
        """Take the records of a file; lines that are none are set aside, as when the process was killed in a write."""
        assert self.path is not None
        found = read_lines(file, _record, self.path)
        for _, record in found:
            if record["run"] == self.run:
                self.values[record["cell"]] = record["metrics"]
        self._lines = list(dict.fromkeys([*self._lines, *(line for line, _ in found)]))

    @property
    def _aside(self) -> Path:
        if self.path is None:
            raise ValueError("Cells in memory have no file.")
        return aside(self.path)

    def files(self) -> dict[str, str]:
        """What there is on the disk, by name, for the folder of the finished run."""
        if self.path is None:
            return {}
        with self._lock:
            found = {self.path.name: "".join(f"{line}\n" for line in self._lines)}
        if self._aside.is_file():
            found[self._aside.name] = self._aside.read_text(encoding="utf-8", errors="backslashreplace")
        return found

    def __contains__(self, cell: str) -> bool:
        return cell in self.values

    def __getitem__(self, cell: str) -> dict[str, Any]:
        return self.values[cell]

    def add(self, cell: str, metrics: Mapping[str, Any]) -> None:
        """Keep the metrics of a cell; any thread may."""
        line = _text({"run": self.run, "cell": cell, "metrics": dict(metrics)})
        with self._lock:
            if self.path is not None:
                append_line(self.path, f"{line}\n".encode())
                self._lines.append(line)
            self.values[cell] = json.loads(line)["metrics"]

    def fill(
        self,
        cases: Iterable[Case],
        work: Callable[[Case], Mapping[str, Any]],
        step: Callable[[str], None],
        n_jobs: int = 1,
        elsewhere: Callable[[list[Case]], Iterable[tuple[Case, Mapping[str, Any]]]] | None = None,
    ) -> int:
        """Run every case whose cell, `str(case)`, is not there yet, side by side in threads; `step` is told of each.

        A cell is kept by the thread that finished it, so an interruption loses only those that are being worked on.
        With `elsewhere`, which gives (case, metrics) of those that are missing in any order, nothing is run here.
        Returns how many were there.
        """
        from joblib import Parallel, delayed

        every = list(cases)
        missing = [case for case in every if str(case) not in self]
        if elsewhere is not None:
            for case, metrics in elsewhere(missing):
                self.add(str(case), metrics)
                step(str(case))
            return len(every) - len(missing)

        def one(case: Case) -> Case:
            self.add(str(case), work(case))
            return case

        side_by_side = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
        for case in side_by_side(delayed(one)(case) for case in missing):
            step(str(case))
        return len(every) - len(missing)


def _record(line: bytes) -> dict[str, Any] | None:
    """A line of the file as {"run": ..., "cell": ..., "metrics": ...}, or None."""
    return sound_record(line, run=dict, cell=str, metrics=dict)


def _text(value: Any) -> str:
    """JSON on one line; NumPy arrays and numbers as lists and numbers."""
    return json.dumps(value, default=lambda item: item.tolist())


def kept(size: int | None = None) -> Callable[[Callable[P, Value]], Callable[P, Value]]:
    """A function whose last `size` values are kept; threads that ask for the same one wait for it.

    What several cases share (a kernel matrix, a network) is computed once, by the first of them. Arguments must be
    hashable; `size` None keeps all values.

    Examples
    --------
    >>> from iokr_lab.cells import kept
    >>> @kept(2)
    ... def square(x):
    ...     print("computed")
    ...     return x * x
    >>> square(3), square(3)
    computed
    (9, 9)
    """

    def decorate(function: Callable[P, Value]) -> Callable[P, Value]:
        lock, locks, values = Lock(), dict[Hashable, Lock](), dict[Hashable, Value]()

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Value:
            key = args, tuple(sorted(kwargs.items()))
            with lock:
                own = locks.setdefault(key, Lock())
            with own:
                with lock:
                    if key in values:
                        values[key] = values.pop(key)  # the last one used comes last
                        return values[key]
                value = function(*args, **kwargs)
                with lock:
                    values[key] = value
                    while size is not None and len(values) > size:
                        values.pop(next(iter(values)))
                return value

        return call

    return decorate
