"""Finished parts of a long run, kept in a file as they come, so that it can be interrupted and taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Case = TypeVar("Case")

__all__ = ["Cells"]


class Cells:
    """name → figures; with a path, each finished cell is a line of that file at once.

    Parameters
    ----------
    path : Path, optional
        Read when it exists; None keeps cells in memory only.
    run : mapping
        What must be the same for a cell to be used again: seed, protocol.
    """

    def __init__(self, path: Path | None, run: Mapping[str, Any]) -> None:
        self.path, self.run = path, dict(run)
        self.values: dict[str, dict[str, Any]] = {}
        self.found = 0
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:  # cut off when the run was
                    continue
                if record.get("run") == self.run:
                    self.values[record["cell"]] = record["figures"]
            self.found = len(self.values)

    def __contains__(self, cell: str) -> bool:
        return cell in self.values

    def __getitem__(self, cell: str) -> dict[str, Any]:
        return self.values[cell]

    def add(self, cell: str, figures: Mapping[str, Any]) -> None:
        """Keep the figures of a cell."""
        self.values[cell] = dict(figures)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"run": self.run, "cell": cell, "figures": self.values[cell]}) + "\n")

    def fill(
        self,
        cases: Iterable[Case],
        work: Callable[[Case], Mapping[str, Any]],
        step: Callable[[str], None],
        n_jobs: int = 1,
    ) -> int:
        """Run every case whose cell, `str(case)`, is not there yet, side by side in threads; `step` is told of each.

        Returns how many were there.
        """
        from joblib import Parallel, delayed

        every = list(cases)
        missing = [case for case in every if str(case) not in self]
        for case in every:
            if str(case) in self:
                step(f"{case} (found)")

        def one(case: Case) -> tuple[Case, Mapping[str, Any]]:
            return case, work(case)

        for case, figures in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")(
            delayed(one)(case) for case in missing
        ):
            self.add(str(case), figures)
            step(str(case))
        return len(every) - len(missing)
