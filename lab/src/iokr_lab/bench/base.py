"""What every benchmark shares: contenders take turns, must agree, and are compared by their medians.

A `Question` holds contenders that compute the same thing: ours, baselines, and the floor: the least
that the arithmetic costs, written out in plain NumPy and SciPy. `ask` lets them take turns;
`survey` asks every question of a `Benchmark`, measures memory, and writes the report.
"""

from __future__ import annotations

import gc
import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata, util
from itertools import combinations
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from iokr.apps.report import Figure, Progress, Report, Table, run_info
from iokr_lab.bench.memory import Footprint

_PAUSE = 0.12  # seconds between runs: idle threads of a BLAS spin for about 0.1 s and would slow the next one

_FAIR = (
    "The contenders take turns; before they were timed, their answers were compared with each other. The floor is the "
    "arithmetic alone, written by hand in the order and layout that suit the machine."
)


class Disagreement(ArithmeticError):
    """Contenders answered the same question differently, so their times cannot be compared."""


@dataclass(frozen=True)
class Contender:
    """A program that answers the question; only `run` is timed.

    From its result, `answers` makes named arrays; contenders with an answer of the same name must agree on it.
    Where only a part is timed, `whole` gives the ratio of the time of the whole, with a remark for the table.
    """

    name: str
    run: Callable[[], Any]
    answers: Callable[[Any], Mapping[str, Any]] = lambda found: {}
    role: Literal["ours", "baseline", "floor"] = "baseline"
    needs: str | None = None  # the package without which it is skipped
    whole: Callable[[], tuple[float, str]] = lambda: (1.0, "")

    @property
    def installed(self) -> bool:
        """Whether the package it needs is there."""
        return self.needs is None or util.find_spec(self.needs) is not None


@dataclass(frozen=True)
class Target:
    """t(ours) ≤ `at_most` · t(other), or t(other) ≥ `at_least` · t(ours), in medians."""

    other: str  # the contender to be compared with
    at_most: float | None = None  # exactly one of the two
    at_least: float | None = None

    def evaluate(self, question: Question, seconds: Mapping[str, float]) -> Verdict:
        """The ratio of the two medians, with this target."""
        ours = seconds[question.ours.name]
        other = seconds[self.other]
        if self.at_most is not None:
            return Verdict(f"{question.title}: time / {self.other}", ours / other, at_most=self.at_most)
        return Verdict(f"{question.title}: {self.other} / time", other / ours, at_least=self.at_least)


@dataclass(frozen=True)
class Deadline(Target):
    """t(other) ≤ `at_most` seconds."""

    def evaluate(self, question: Question, seconds: Mapping[str, float]) -> Verdict:
        """The median, with this target."""
        return Verdict(f"{question.title}: seconds of {self.other}", seconds[self.other], at_most=self.at_most)


@dataclass(frozen=True)
class Verdict:
    """A measured figure and its target."""

    what: str
    measured: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of its target."""
        low_enough = self.at_most is None or self.measured <= self.at_most
        return low_enough and (self.at_least is None or self.measured >= self.at_least)

    def row(self) -> dict[str, Any]:
        """A row of the table of targets."""
        target = f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}"
        return {"what": self.what, "target": target, "measured": self.measured, "met": self.met}


@dataclass(frozen=True)
class Question:
    """One thing to compute, the contenders that compute it, and the targets."""

    title: str
    contenders: tuple[Contender, ...]  # exactly one of role "ours"
    targets: tuple[Target, ...] = ()
    rtol: float = 1e-8  # answers a, b of the same name agree when max|a − b| ≤ rtol · max|a|
    note: str = ""  # below the table
    rounds: int | None = None  # at most that many are timed, where a run takes long

    @property
    def ours(self) -> Contender:
        """The contender of this library."""
        (ours,) = (c for c in self.contenders if c.role == "ours")
        return ours

    @property
    def present(self) -> list[Contender]:
        """The contenders that are installed."""
        return [c for c in self.contenders if c.installed]

    def timed(self, repeat: int) -> int:
        """How many of `repeat` rounds are timed."""
        return repeat if self.rounds is None else min(repeat, self.rounds)

    def find(self, name: str) -> Contender:
        """The contender called `name`."""
        return next(c for c in self.contenders if c.name == name)


def ask(question: Question, repeat: int, step: Callable[[str], None]) -> tuple[Table, list[Verdict]]:
    """Let the contenders take turns and compare them by median.

    A first round is not timed: it loads what is loaded lazily and compares the answers. In the `repeat` rounds that
    follow every contender runs once, each time beginning with another one; `step` is called before every run. The table
    has a row per contender: median, fastest and slowest time, and the ratios of medians; targets are evaluated where
    their contender is installed.
    """
    present = question.present
    given: dict[str, Mapping[str, Any]] = {}
    for contender in present:
        step(question.title)
        given[contender.name] = contender.answers(contender.run())
    check_agreement(given, question.rtol)
    del given
    times: dict[str, list[float]] = {contender.name: [] for contender in present}
    for turn in range(question.timed(repeat)):
        first = turn % len(present)
        for contender in present[first:] + present[:first]:
            step(question.title)
            times[contender.name].append(contender.whole()[0] * _seconds(contender.run))
    seconds = {name: statistics.median(values) for name, values in times.items()}
    rows = [_row(c, question, times.get(c.name), seconds) for c in question.contenders]
    verdicts = [target.evaluate(question, seconds) for target in question.targets if target.other in seconds]
    return Table(question.title, rows, question.note), verdicts


def check_agreement(given: Mapping[str, Mapping[str, Any]], rtol: float) -> None:
    """Raise `Disagreement` unless answers of the same name agree: max|a − b| ≤ rtol · max|a|."""
    for (one, first), (other, second) in combinations(given.items(), 2):
        for what in first.keys() & second.keys():
            a = np.asarray(first[what], dtype=float)
            b = np.asarray(second[what], dtype=float)
            if a.shape != b.shape:
                raise Disagreement(f"{what}: {one} gives shape {a.shape}, {other} {b.shape}.")
            apart = float(np.max(np.abs(a - b), initial=0.0))
            scale = float(np.max(np.abs(a), initial=0.0))
            if not apart <= rtol * scale:  # also when something is NaN
                raise Disagreement(
                    f"{what}: {one} and {other} differ by {apart:.3g}, where {rtol * scale:.3g} is allowed."
                )


def growth(title: str, prepare: Callable[[int], Callable[[], Any]], n: int, at_most: float, note: str) -> Question:
    """t(2n) ≤ `at_most` · t(n); `prepare` makes the data of a size, and returns what is timed."""
    small = f"n = {n}"
    large = f"n = {2 * n}"
    contenders = Contender(large, prepare(2 * n), role="ours"), Contender(small, prepare(n))
    return Question(title, contenders, (Target(small, at_most=at_most),), note=note)


Builders = Sequence[Callable[[], Question]]


@dataclass(frozen=True)
class Run:
    """How a section is to run: `step` is called with a description before each piece of its work."""

    seed: int
    quick: bool
    repeat: int
    step: Callable[[str], None]

    def ask(self, question: Question) -> tuple[Table, list[Verdict]]:
        """`ask` with the rounds and the progress of this run."""
        return ask(question, self.repeat, self.step)


@dataclass(frozen=True)
class Section:
    """A part of a benchmark that does not need to be made of questions, or cannot run everywhere.

    `work` gives tables and figures, and verdicts; its data live no longer than it runs. `missing` says why it cannot
    run here, and then it is named as skipped.
    """

    title: str
    work: Callable[[Run], tuple[Sequence[Table | Figure], Sequence[Verdict]]]
    missing: Callable[[], str | None] = lambda: None


@dataclass(frozen=True)
class Benchmark:
    """Questions that belong together, and whose memory is measured.

    From the seed, and whether sizes are small, `questions` gives functions that each make a question with its data,
    `footprints` those whose memory is measured; from their bytes, in the same order, `memory_verdicts` gives verdicts.
    """

    title: str
    questions: Callable[[int, bool], Builders]
    footprints: Callable[[int, bool], Sequence[Footprint]] = lambda seed, quick: ()
    memory_verdicts: Callable[[Sequence[int]], list[Verdict]] = lambda sizes: []
    notes: tuple[str, ...] = ()
    n_threads: int = 2  # of every BLAS
    sections: tuple[Section, ...] = ()


def sized(small: Mapping[str, Mapping[str, Any]], *asked: Callable[..., Question]) -> Callable[[int, bool], Builders]:
    """These questions at their own sizes, or at the small ones under their names."""
    return lambda seed, quick: [partial(make, seed=seed, **(small[make.__name__] if quick else {})) for make in asked]


def only(benchmark: Benchmark, titles: Sequence[str]) -> Benchmark:
    """The sections of these titles, or of titles that hold these words, and nothing else."""
    chosen = []
    for title in titles:
        found = [section for section in benchmark.sections if title.casefold() in section.title.casefold()]
        exact = [section for section in found if section.title.casefold() == title.casefold()]
        if not found:
            known = ", ".join(repr(section.title) for section in benchmark.sections)
            raise ValueError(f"`sections`: {title!r} is not among those of this benchmark: {known or 'it has none'}.")
        chosen += exact or found
    kept = tuple(section for section in benchmark.sections if section in chosen)
    return Benchmark(benchmark.title, lambda seed, quick: (), notes=benchmark.notes, sections=kept)


def survey(benchmark: Benchmark, *, repeat: int, seed: int, progress: Progress, quick: bool) -> Report:
    """Ask every question, measure memory, and write the report; parameters as in `iokr_lab.bench.run`."""
    start = perf_counter()
    load = _load()
    done = 0
    total = 0
    n_threads = benchmark.n_threads
    footprints = benchmark.footprints(seed, quick)

    def step(what: str) -> None:
        nonlocal done
        progress(done, total, what)
        done += 1

    with threadpool_limits(limits=n_threads):
        questions = [make() for make in benchmark.questions(seed, quick)]
        total = sum((question.timed(repeat) + 1) * len(question.present) for question in questions) + len(footprints)
        why_not = [section.missing() for section in benchmark.sections]
        sections = [section for section, why in zip(benchmark.sections, why_not, strict=True) if why is None]
        total += len(sections)
        answers = [ask(question, repeat, step) for question in questions]
        sizes = [_footprint(footprint, n_threads, step) for footprint in footprints]
        results = []
        spent = []
        for section in sections:
            step(section.title)
            quietly = Run(seed, quick, repeat, lambda what: progress(done, total, what))
            began = perf_counter()
            results.append(section.work(quietly))
            spent.append({"section": section.title, "seconds": perf_counter() - began})
        contenders = [contender for question in questions for contender in question.contenders]
        info = _machine(n_threads) | run_info(seed=seed, seconds=perf_counter() - start)
    info["versions"] |= {c.needs: metadata.version(c.needs) for c in contenders if c.needs and c.installed}
    progress(total, total, "done")

    tables: list[Table | Figure] = [table for table, _ in answers]
    if footprints:
        rows = [footprint.row(size) for footprint, size in zip(footprints, sizes, strict=True)]
        note = "Growth of a fresh process over its data, libraries and BLAS buffers."
        tables.append(Table("Peak memory", rows, note))
    tables += [item for items, _ in results for item in items]
    if spent:
        tables.append(Table("Time of the sections", spent))
    if not quick:
        verdicts = [verdict for _, found in answers for verdict in found] + benchmark.memory_verdicts(sizes)
        verdicts += [verdict for _, found in results for verdict in found]
        tables.append(Table("Targets", [verdict.row() for verdict in verdicts], ours=("measured",)))
    skipped = [f"Skipped: {s.title}: {why}." for s, why in zip(benchmark.sections, why_not, strict=True) if why]
    summary = "Compared with baselines and the arithmetic lower bound, in one run."
    notes = [
        f"Medians of {repeat} rounds, {n_threads} threads, float64. {_FAIR}",
        *skipped,
        *_caveats(contenders, load, quick),
    ]
    return Report(benchmark.title, summary, tuple(tables), (*notes, *benchmark.notes), info)


def _caveats(contenders: Sequence[Contender], load: float, quick: bool) -> list[str]:
    """Caveats of the figures."""
    caveats = [f"Skipped: {c.name}, because {c.needs} is not installed." for c in contenders if not c.installed]
    if load > 0.5:
        caveats.append(f"Other work kept {load:.1f} cores busy when the run began; run it again on a quiet machine.")
    if quick:
        caveats.append("Sizes are small, to see that everything runs and agrees; targets are not evaluated.")
    return caveats


def _footprint(footprint: Footprint, n_threads: int, step: Callable[[str], None]) -> int:
    """Bytes, after a call of `step`."""
    step(f"memory: {footprint.what}")
    return footprint.measure(n_threads)


def _seconds(run: Callable[[], Any]) -> float:
    """Time of one run, begun when the machine is quiet."""
    gc.collect()
    sleep(_PAUSE)
    start = perf_counter()
    answer = run()
    elapsed = perf_counter() - start
    del answer  # giving memory back is not part of the question
    return elapsed


def _row(
    contender: Contender, question: Question, times: Sequence[float] | None, seconds: Mapping[str, float]
) -> dict[str, Any]:
    """A contender's row; ratios are of medians."""
    if times is None:
        return {"contender": f"{contender.name} (skipped: {contender.needs} is not installed)"}
    median = seconds[contender.name]
    floors = [seconds[c.name] for c in question.contenders if c.role == "floor"]
    return {
        "contender": contender.name + contender.whole()[1],
        "seconds": median,
        "fastest": min(times),
        "slowest": max(times),
        **({"× floor": median / min(floors)} if floors else {}),
        "× ours": median / seconds[question.ours.name],
    }


def _machine(n_threads: int) -> dict[str, Any]:
    """Processor, BLAS and threads."""
    blas = {_blas(library) for library in threadpool_info() if library["user_api"] == "blas"}
    return {"processor": _processor(), "BLAS": "; ".join(sorted(blas)), "threads": n_threads}


def _load() -> float:
    """Cores that were busy during the last minute; 0 where the system does not report them."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _blas(library: Mapping[str, Any]) -> str:
    """Name and version of a BLAS, and the package that brings it: NumPy and SciPy each have their own."""
    owner = Path(library["filepath"]).parent.name.removesuffix(".libs")
    words = (library["internal_api"], library["version"], library.get("architecture"), f"({owner})")
    return " ".join(str(word) for word in words if word)


def _processor() -> str:
    """The processor's name and the number of cores."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass  # not Linux
    return f"{name}, {os.cpu_count()} cores"
