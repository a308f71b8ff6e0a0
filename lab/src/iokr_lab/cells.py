"""Finished parts of a long run, stored in a file at once, so that an interrupted run can be resumed."""

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

__all__ = ["Cells", "memoized"]


class Cells:
    """name → metrics; with a path, each finished cell is appended to that file at once.

    Values are as JSON returns them (tuples become lists, NumPy numbers plain ones), whether they are read from the file
    or computed now.

    Parameters
    ----------
    path : Path, optional
        Read if it exists; None stores cells in memory only.
    run : mapping
        What must be equal for a stored cell to be used: seed, plan, data; the version of the library must be equal,
        too.
    before : Path, optional
        Cells of a finished run; this file is only read.

    Attributes
    ----------
    values : dict
    earlier : frozenset of str
        Cells found in the files.

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
        self.path = path
        self.run = json.loads(_text({"iokr": __version__, **run}))
        self.values: dict[str, dict[str, Any]] = {}
        self._lock = Lock()
        self._lines = list[str]()
        if path is not None:
            refuse_link(path)
            for file in (before, path):
                if file is not None and file.is_file():
                    self._read(file)
        self.earlier = frozenset(self.values)

    def _read(self, file: Path) -> None:
        """Take the records of a file; damaged lines, as after a kill during a write, are moved to another file."""
        assert self.path is not None
        found = read_lines(file, _record, self.path)
        for _, record in found:
            if record["run"] == self.run:
                self.values[record["cell"]] = record["metrics"]
        self._lines = list(dict.fromkeys([*self._lines, *(line for line, _ in found)]))

    @property
    def _aside(self) -> Path:
        if self.path is None:
            raise ValueError("cells in memory have no file.")
        return aside(self.path)

    def files(self) -> dict[str, str]:
        """The text of the files on disk by name, for the folder of the finished run."""
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
        """Store the metrics of a cell; safe in any thread."""
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
        remote: Callable[[list[Case]], Iterable[tuple[Case, Mapping[str, Any]]]] | None = None,
    ) -> int:
        """Compute every case without a cell, `str(case)`, in parallel threads; `step` is called for each.

        Each thread stores its cells itself, so an interruption loses only unfinished ones. With `remote`, which yields
        (case, metrics) of the missing cases in any order, nothing is computed here. Returns the number of cells found.
        """
        from joblib import Parallel, delayed

        every = list(cases)
        missing = [case for case in every if str(case) not in self]
        found = len(every) - len(missing)
        if remote is not None:
            for case, metrics in remote(missing):
                self.add(str(case), metrics)
                step(str(case))
            return found

        def compute(case: Case) -> Case:
            self.add(str(case), work(case))
            return case

        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
        for case in parallel(delayed(compute)(case) for case in missing):
            step(str(case))
        return found


def _record(line: bytes) -> dict[str, Any] | None:
    """A line of the file as {"run": ..., "cell": ..., "metrics": ...}, or None."""
    return sound_record(line, run=dict, cell=str, metrics=dict)


def _text(value: Any) -> str:
    """JSON on one line; NumPy arrays and numbers as lists and numbers."""
    return json.dumps(value, default=lambda item: item.tolist())


def memoized(size: int | None = None) -> Callable[[Callable[P, Value]], Callable[P, Value]]:
    """A function whose last `size` values are stored; threads that need the same one wait for it.

    What several cases share (a kernel matrix, a network) is computed once, by the first of them. Arguments must be
    hashable; with `size` None all values are stored.

    Examples
    --------
    >>> from iokr_lab.cells import memoized
    >>> @memoized(2)
    ... def square(x):
    ...     print("computed")
    ...     return x * x
    >>> square(3), square(3)
    computed
    (9, 9)
    """

    def decorate(function: Callable[P, Value]) -> Callable[P, Value]:
        lock = Lock()
        locks = dict[Hashable, Lock]()
        values = dict[Hashable, Value]()

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Value:
            key = args, tuple(sorted(kwargs.items()))
            with lock:
                own = locks.setdefault(key, Lock())
            with own:
                with lock:
                    if key in values:
                        values[key] = values.pop(key)  # the most recently used value is last
                        return values[key]
                value = function(*args, **kwargs)
                with lock:
                    values[key] = value
                    while size is not None and len(values) > size:
                        values.pop(next(iter(values)))
                return value

        return call

    return decorate
