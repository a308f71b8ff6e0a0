"""A study: cases, the work on one case, and the page made of all of them; one runner for every experiment.

    plan → data → cases → one cell per case → page

A case is a frozen dataclass whose text is the name of its cell. Its work follows from the case, the plan and the data
alone: random numbers come from `plan.seed` and the fields of the case, never from a generator that cases share, so
cases may run in any order, side by side, today and tomorrow. `run` does what is the same for all: it takes up what an
interrupted run has finished, works on all cores, counts, and says what is known about the run.

Every function of a study gets the plan before the data: `cases(plan, data)`, `work(case, plan, data)`,
`page(results, plan, data)`. The work needs the plan for the seed and for grids that a short plan makes smaller.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from iokr._system.folders import ResultFolder
from iokr.apps.report import Progress, Report, run_info, silent, usable_cores
from iokr.apps.report.run import CELLS
from iokr_lab.cells import Cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Case", "Plan", "Results", "Study", "run"]


@dataclass(frozen=True)
class Plan:
    """How much is run; a study that needs more than this has a subclass with its grids.

    Parameters
    ----------
    seed : int
        Every random choice follows from it.
    repeat : int
        How often random choices are made; 0 where there are none, so that asking for several is refused.

    Examples
    --------
    >>> from iokr_lab.study import Plan
    >>> Plan(repeat=10)
    Plan(seed=0, repeat=10)
    """

    seed: int = 0
    repeat: int = 1

    def key(self) -> dict[str, Any]:
        """What a finished cell depends on: all but the number of repeats, so that more of them keep what is there."""
        return {name: value for name, value in asdict(self).items() if name != "repeat"}


@dataclass(frozen=True)
class Case:
    """What one cell is about; subclasses add fields. Its text names the cell and is shown while it runs.

    May be overridden: `__str__`, which must tell the cases of a study apart.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from iokr_lab.study import Case
    >>> @dataclass(frozen=True)
    ... class Fold(Case):
    ...     method: str
    ...     split: int
    >>> str(Fold("ridge", 2))
    'ridge, split 2'
    """

    def __str__(self) -> str:
        parts = [(item.name, getattr(self, item.name)) for item in fields(self)]
        return ", ".join(str(value) if isinstance(value, str) else f"{name} {_short(value)}" for name, value in parts)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


AnyCase = TypeVar("AnyCase", bound=Case)


@dataclass(frozen=True)
class Results(Mapping[Case, Mapping[str, Any]]):
    """The metrics of every case, in the order of the cases.

    Parameters
    ----------
    cells : mapping of Case to mapping
    found : int
        How many of them are from an earlier run.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from iokr_lab.study import Case, Results
    >>> @dataclass(frozen=True)
    ... class Fold(Case):
    ...     split: int
    >>> results = Results({Fold(i): {"error": 0.1 * i, "chosen": {"alpha": 1.0}} for i in range(2)})
    >>> results[Fold(1)]["error"]
    0.1
    >>> results.frame()
       split  error  chosen.alpha
    0      0    0.0           1.0
    1      1    0.1           1.0
    """

    cells: Mapping[Case, Mapping[str, Any]] = field(repr=False)
    found: int = 0

    def __getitem__(self, case: Case) -> Mapping[str, Any]:
        return self.cells[case]

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def of(self, kind: type[AnyCase], **same: Any) -> dict[AnyCase, Mapping[str, Any]]:
        """Cases of a class whose fields have the given values, with their metrics."""
        return {
            case: cell
            for case, cell in self.cells.items()
            if isinstance(case, kind) and all(getattr(case, name) == value for name, value in same.items())
        }

    def numbers(self, kind: type[Case], metric: str, **same: Any) -> list[Any]:
        """One metric of those cases, in order; `"pr.one new"` is the metric "one new" within "pr"."""
        return [_inside(cell, metric) for cell in self.of(kind, **same).values()]

    def frame(self, kind: type[Case] = Case, **same: Any) -> pd.DataFrame:
        """A row per case: its fields, then its metrics, those within others as `outer.inner`."""
        import pandas as pd

        rows = [{**_fields(case), **dict(_flat(cell))} for case, cell in self.of(kind, **same).items()]
        return pd.DataFrame(rows)


def _fields(case: Case) -> dict[str, Any]:
    return {item.name: getattr(case, item.name) for item in fields(case)}


def _inside(cell: Any, metric: str) -> Any:
    for name in metric.split("."):
        cell = cell[name]
    return cell


def _flat(cell: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in cell.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


Data = TypeVar("Data")
ThePlan = TypeVar("ThePlan", bound=Plan)


@dataclass(frozen=True, kw_only=True)
class Study(Generic[ThePlan, Data]):
    """An experiment as plans, data, cases, work and page.

    Parameters
    ----------
    plans : mapping of str to Plan
        "short" (minutes at most), "default", and "full" where the published protocol is longer than the default.
    load : callable
        `load(plan)`: what all cases share, read or computed once.
    cases : callable
        `cases(plan, data)`: every case, in the order of the page.
    work : callable
        `work(case, plan, data)`: what was measured, as a mapping of JSON values; lists and mappings may be among them.
    page : callable
        `page(results, plan, data)`.
    ignored : tuple of str
        Beginnings of warnings that the page answers; they are silenced around all threads.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from iokr.apps.report import Report
    >>> from iokr_lab.study import Case, Plan, Study, run
    >>> @dataclass(frozen=True)
    ... class Draw(Case):
    ...     draw: int
    >>> study = Study(
    ...     plans={"short": Plan(), "default": Plan(repeat=3)},
    ...     load=lambda plan: 10.0,
    ...     cases=lambda plan, data: [Draw(i) for i in range(plan.repeat)],
    ...     work=lambda case, plan, data: {"value": data + case.draw},
    ...     page=lambda results, plan, data: Report("Mean", f"{results.frame()['value'].mean():g}"),
    ... )
    >>> run(study, study.plan()).summary
    '11'
    """

    plans: Mapping[str, ThePlan]
    load: Callable[[ThePlan], Data]
    cases: Callable[[ThePlan, Data], Sequence[Case]]
    work: Callable[[Any, ThePlan, Data], Mapping[str, Any]]
    page: Callable[[Results, ThePlan, Data], Report]
    ignored: tuple[str, ...] = ()

    def plan(self, name: str = "default", *, seed: int = 0, repeat: int | None = None) -> ThePlan:
        """The plan of that name, with this seed, and with as many repeats when they are given."""
        if name not in self.plans:
            raise ValueError(f"there is no plan {name!r} of this experiment; there is {', '.join(self.plans)}.")
        plan = self.plans[name]
        if plan.repeat == 0 and repeat not in (None, 1):
            raise ValueError("nothing is drawn at random more than once, so `--repeat` has no effect; try `--seed`.")
        return replace(plan, seed=seed, repeat=plan.repeat if repeat is None else repeat)


def run(
    study: Study[ThePlan, Any],
    plan: ThePlan,
    *,
    folder: Path | None = None,
    progress: Progress = silent,
    n_jobs: int | None = None,
    files: Sequence[Path] = (),
    elsewhere: Callable[[list[Case], Mapping[str, str]], Iterable[tuple[Case, Mapping[str, Any]]]] | None = None,
) -> Report:
    """Work on every case, several side by side with one BLAS thread each, and make the page.

    Parameters
    ----------
    study : Study
    plan : Plan
    folder : Path, optional
        Of the run. Finished cells are kept beside it, in `FOLDER.partial/cells.jsonl`, until `write_run` moves them
        into it; a run that is taken up again, or run again, begins with those of both. A cell is used again when
        version, seed, plan (repeats apart) and data files are the same.
    progress : callable, optional
        Called with the cases done, the number of cases, and the last one.
    n_jobs : int, optional
        Threads; None is one per usable core.
    files : sequence of Path
        Data files that the study reads, for the information about the run.
    elsewhere : callable, optional
        Given the cases that are not finished yet and the hashes of the data files, the metrics of each in any order,
        computed on other machines (`iokr_lab.scheduler`).

    Returns
    -------
    Report
        With `info` filled in.
    """
    from threadpoolctl import threadpool_limits

    start, info = perf_counter(), run_info(seed=plan.seed, files=files)
    progress(0, 1, "reading the data")
    result = None if folder is None else ResultFolder(folder)
    with result.reserved() if result else nullcontext(), threadpool_limits(1), warnings.catch_warnings():
        for message in study.ignored:
            warnings.filterwarnings("ignore", message=message)
        data = study.load(plan)
        cases = list(study.cases(plan, data))
        _check_apart(cases)
        kept, before = (result.partial / CELLS, result.path / CELLS) if result else (None, None)
        cells = Cells(kept, {"plan": plan.key(), "data": info["data"]}, before)
        done = sum(str(case) in cells for case in cases)
        earlier = f"{done} found from an earlier run, " if done else ""
        progress(done, len(cases), f"{earlier}{len(cases) - done} to run")  # time left is counted from here

        def step(what: str) -> None:
            nonlocal done
            done += 1
            progress(done, len(cases), what)

        def work(case: Any) -> Any:
            with threadpool_limits(1, user_api="openmp"):  # which counts its threads in each thread of ours
                return study.work(case, plan, data)

        far = None if elsewhere is None else lambda missing: elsewhere(missing, info["data"])
        found = cells.fill(cases, work, step, n_jobs or usable_cores(), far)
        progress(len(cases), len(cases), "drawing the page")
        report = study.page(Results({case: cells[str(case)] for case in cases}, found), plan, data)
        report = replace(report, files={**report.files, **cells.files()})
    if found:
        note = f"{found} of {len(cases)} cells were found from an earlier run."
        report = replace(report, notes=(*report.notes, note))
    return report.with_info(
        {**info, "seconds": round(perf_counter() - start, 2), "plan": asdict(plan), "cells": len(cases)}
    )


def _check_apart(cases: Sequence[Case]) -> None:
    names: dict[str, Case] = {}
    for case in cases:
        if (other := names.setdefault(str(case), case)) is not case:
            raise ValueError(f"{case!r} and {other!r} have the same name, {str(case)!r}.")
