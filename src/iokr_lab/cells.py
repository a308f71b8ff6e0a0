"""Finished parts of a long run, kept in a file as they come, so that it can be interrupted and taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from iokr import __version__

Case = TypeVar("Case")

__all__ = ["Cells"]


class Cells:
    """name → figures; with a path, each finished cell is a line of that file at once.

    Parameters
    ----------
    path : Path, optional
        Read when it exists; None keeps cells in memory only.
    run : mapping
        What must be the same for a cell to be used again: seed, protocol. The version of the library must be, too.

    Attributes
    ----------
    values : dict
    earlier : frozenset of str
        The cells that were in the file.

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

    def __init__(self, path: Path | None, run: Mapping[str, Any]) -> None:
        self.path, self.run = path, {"iokr": __version__, **run}
        self.values: dict[str, dict[str, Any]] = {}
        self._lock, self._torn = Lock(), False
        if path is not None and path.exists():
            text = path.read_text(encoding="utf-8")
            self._torn = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:  # cut off when the run was
                    continue
                if record.get("run") == self.run:
                    self.values[record["cell"]] = record["figures"]
        self.earlier = frozenset(self.values)

    def __contains__(self, cell: str) -> bool:
        return cell in self.values

    def __getitem__(self, cell: str) -> dict[str, Any]:
        return self.values[cell]

    def add(self, cell: str, figures: Mapping[str, Any]) -> None:
        """Keep the figures of a cell; any thread may."""
        line = json.dumps({"run": self.run, "cell": cell, "figures": dict(figures)}) + "\n"
        with self._lock:
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    file.write("\n" + line if self._torn else line)
                self._torn = False
            self.values[cell] = dict(figures)

    def fill(
        self,
        cases: Iterable[Case],
        work: Callable[[Case], Mapping[str, Any]],
        step: Callable[[str], None],
        n_jobs: int = 1,
    ) -> int:
        """Run every case whose cell, `str(case)`, is not there yet, side by side in threads; `step` is told of each.

        A cell is kept by the thread that finished it, so an interruption loses only those that are being worked on.
        Returns how many were there.
        """
        from joblib import Parallel, delayed

        every = list(cases)
        missing = [case for case in every if str(case) not in self]
        for case in every:
            if str(case) in self:
                step(f"{case} (found)")

        def one(case: Case) -> Case:
            self.add(str(case), work(case))
            return case

        side_by_side = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
        for case in side_by_side(delayed(one)(case) for case in missing):
            step(str(case))
        return len(every) - len(missing)
