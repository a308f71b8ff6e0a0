"""A study: cases, the computation for one case, and the page made from all of them. One runner serves every experiment.

    plan → data → cases → one cell per case → page

A case is a frozen dataclass; its text names its cell. Its result depends on the case, the plan and the data only:
random numbers are seeded with `plan.seed` and the fields of the case, never drawn from a generator that cases share, so
cases can run in any order and in parallel. `run` does what all studies have in common: it resumes interrupted runs,
uses all cores, reports progress and records information about the run.

Every function of a study takes the plan before the data: `cases(plan, data)`, `work(case, plan, data)`,
`page(results, plan, data)`. The computation needs the plan for the seed, and for grids that a short plan makes smaller.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from threadpoolctl import threadpool_limits

from iokr._system.folders import ResultFolder
from iokr.apps.report import Progress, Report, run_info, silent, usable_cores
from iokr.apps.report.run import CELLS
from iokr_lab.cells import Cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Case", "Plan", "Results", "Study", "run"]


@dataclass(frozen=True)
class Plan:
    """The size of a run; a study with further settings has a subclass with its grids.

    Parameters
    ----------
    seed : int
        Random seed.
    repeat : int
        Number of repetitions of the random choices; 0 for a study without any, which rejects other values.

    Examples
    --------
    >>> from iokr_lab.study import Plan
    >>> Plan(repeat=10)
    Plan(seed=0, repeat=10)
    """

    seed: int = 0
    repeat: int = 1

    def key(self) -> dict[str, Any]:
        """What a stored cell depends on: everything but the number of repeats. May be overridden."""
        return {name: value for name, value in asdict(self).items() if name != "repeat"}


@dataclass(frozen=True)
class Case:
    """The subject of one cell; subclasses add fields. Its text names the cell and is shown as progress.

    May be overridden: `__str__`, which must be different for every case of a study.

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
        parts = []
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, str):
                parts.append(value)
            elif isinstance(value, float):
                parts.append(f"{item.name} {value:g}")
            else:
                parts.append(f"{item.name} {value}")
        return ", ".join(parts)


AnyCase = TypeVar("AnyCase", bound=Case)


@dataclass(frozen=True)
class Results(Mapping[Case, Mapping[str, Any]]):
    """The metrics of every case, in the order of the cases.

    Parameters
    ----------
    cells : mapping of Case to mapping
    found : int
        Number of cells from an earlier run.

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
        """A row per case: its fields, then its metrics; nested ones are named `outer.inner`."""
        import pandas as pd

        rows = []
        for case, cell in self.of(kind, **same).items():
            names = {item.name: getattr(case, item.name) for item in fields(case)}
            rows.append({**names, **dict(_flat(cell))})
        return pd.DataFrame(rows)


def _inside(cell: Any, metric: str) -> Any:
    """The metric called `outer.inner` of a nested cell."""
    for name in metric.split("."):
        cell = cell[name]
    return cell


def _flat(cell: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """(name, value) of all metrics of a nested cell; `above` is what the names begin with."""
    for name, value in cell.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


Data = TypeVar("Data")
ThePlan = TypeVar("ThePlan", bound=Plan)


@dataclass(frozen=True, kw_only=True)
class Study(Generic[ThePlan, Data]):
    """An experiment as plans, data, cases, computation and page.

    Parameters
    ----------
    plans : mapping of str to Plan
        "short" (minutes at most), "default", and "full" if the published protocol is longer than the default.
    load : callable
        `load(plan)`: what all cases share, read or computed once.
    cases : callable
        `cases(plan, data)`: every case, in the order of the page.
    work : callable
        `work(case, plan, data)`: the metrics of a case, a mapping of JSON values, which may be nested.
    page : callable
        `page(results, plan, data)`.
    ignored : tuple of str
        Regular expressions of warnings that the page explains; they are silenced.
    processes : bool
        Whether cases run in parallel processes and not in threads: for work in many short calls, which would wait for
        the interpreter. `work`, cases, plan and data are pickled.

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
    processes: bool = False

    def plan(self, name: str = "default", *, seed: int = 0, repeat: int | None = None) -> ThePlan:
        """The plan of that name with this seed, and with this number of repeats if it is given."""
        if name not in self.plans:
            raise ValueError(f"`name` must be a plan of this experiment, {', '.join(self.plans)}, got {name!r}.")
        plan = self.plans[name]
        if repeat is None:
            return replace(plan, seed=seed)
        if plan.repeat == 0 and repeat != 1:
            raise ValueError(f"`repeat` must be 1, as this experiment draws nothing twice, got {repeat}; try `seed`.")
        return replace(plan, seed=seed, repeat=repeat)

    @contextmanager
    def silenced(self) -> Iterator[None]:
        """Ignore the warnings that the page explains, in all threads."""
        with _silenced(self.ignored):
            yield


@contextmanager
def _silenced(messages: Iterable[str]) -> Iterator[None]:
    with warnings.catch_warnings():
        for message in messages:
            warnings.filterwarnings("ignore", message=message)
        yield


Elsewhere = Callable[[list[Case]], Iterable[tuple[Case, Mapping[str, Any]]]]
Remote = Callable[[list[Case], Mapping[str, str]], Iterable[tuple[Case, Mapping[str, Any]]]]


def run(
    study: Study[ThePlan, Any],
    plan: ThePlan,
    *,
    folder: Path | None = None,
    progress: Progress = silent,
    n_jobs: int | None = None,
    files: Sequence[Path] = (),
    remote: Remote | None = None,
) -> Report:
    """Compute every case, several in parallel with one BLAS thread each, and make the page.

    Parameters
    ----------
    study : Study
    plan : Plan
    folder : Path, optional
        Folder of the run. Finished cells are stored in `FOLDER.partial/cells.jsonl` until `write_run` moves them into
        the folder; a run that is resumed or repeated starts from the cells of both. A stored cell is used if version,
        seed, plan (except repeats) and data files are the same.
    progress : callable, optional
        Called with the number of finished cases, the number of cases, and the case that was finished last.
    n_jobs : int, optional
        Number of threads or processes; None is one per usable core.
    files : sequence of Path
        Data files that the study reads; the report has their hashes.
    remote : callable, optional
        Computes cases on other machines (`iokr_lab.scheduler`): given the missing cases and the hashes of the data
        files, it yields each case with its metrics, in any order.

    Returns
    -------
    Report
        With `info` filled in.
    """
    start = perf_counter()
    info = run_info(seed=plan.seed, files=files)
    hashes = info["data"]  # of the data files
    progress(0, 1, "reading the data")
    result = None if folder is None else ResultFolder(folder)
    reserved = nullcontext() if result is None else result.reserved()
    with reserved, threadpool_limits(1), study.silenced():
        data = study.load(plan)
        cases = list(study.cases(plan, data))
        _check_names(cases)
        cells = _open_cells(result, {"plan": plan.key(), "data": hashes})

        def work(case: Any) -> Mapping[str, Any]:
            with threadpool_limits(1, user_api="openmp"):  # OpenMP counts its threads per calling thread
                return study.work(case, plan, data)

        n_jobs = n_jobs or usable_cores()
        elsewhere: Elsewhere | None = None if remote is None else lambda missing: remote(missing, hashes)
        if elsewhere is None and study.processes and n_jobs > 1:
            elsewhere = partial(_in_processes, study, plan, data, n_jobs)
        step = _counter(cells, cases, progress)
        found = cells.fill(cases, work, step, n_jobs, elsewhere)
        progress(len(cases), len(cases), "drawing the page")
        results = Results({case: cells[str(case)] for case in cases}, found)
        report = study.page(results, plan, data)
    notes = report.notes
    if found:
        notes = (*notes, f"{found} of {len(cases)} cells were found from an earlier run.")
    report = replace(report, notes=notes, files={**report.files, **cells.files()})
    seconds = round(perf_counter() - start, 2)
    return report.with_info({**info, "seconds": seconds, "plan": asdict(plan), "cells": len(cases)})


def _in_processes(
    study: Study[ThePlan, Any], plan: ThePlan, data: Any, n_jobs: int, missing: list[Case]
) -> Iterable[tuple[Case, Mapping[str, Any]]]:
    """(case, metrics) in the order in which processes finish them."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, prefer="processes", return_as="generator_unordered", batch_size=1)
    tasks = (delayed(_cell)(study.work, study.ignored, case, plan, data) for case in missing)
    found: Iterable[tuple[Case, Mapping[str, Any]]] = parallel(tasks)
    return found


def _cell(work: Callable[..., Mapping[str, Any]], ignored: tuple[str, ...], case: Any, plan: Any, data: Any) -> Any:
    """A case with its metrics, computed with one thread."""
    with threadpool_limits(1), _silenced(ignored):
        return case, work(case, plan, data)


def _open_cells(result: ResultFolder | None, key: Mapping[str, Any]) -> Cells:
    """The cells of an unfinished run and of a finished one; in memory without a folder."""
    if result is None:
        return Cells(None, key)
    return Cells(result.partial / CELLS, key, result.path / CELLS)


def _counter(cells: Cells, cases: Sequence[Case], progress: Progress) -> Callable[[str], None]:
    """A function that reports each finished case; cells found from an earlier run are reported first.

    The remaining time is estimated from that first report on.
    """
    done = sum(str(case) in cells for case in cases)
    earlier = f"{done} found from an earlier run, " if done else ""
    progress(done, len(cases), f"{earlier}{len(cases) - done} to run")

    def step(what: str) -> None:
        nonlocal done
        done += 1
        progress(done, len(cases), what)

    return step


def _check_names(cases: Sequence[Case]) -> None:
    """Raise `ValueError` if two cases have the same cell."""
    names: dict[str, Case] = {}
    for case in cases:
        other = names.setdefault(str(case), case)
        if other is not case:
            raise ValueError(f"{case!r} and {other!r} have the same name, {str(case)!r}.")
