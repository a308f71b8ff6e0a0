"""Kill commands at moments spread over their whole run, and judge what is left: `make kills`.

    links predict, links cv    with --force over an old result
    study                      a small study of many cells, taken up again after each kill

Signals are SIGINT, SIGTERM and SIGKILL in turn. Half of the kills come at a moment drawn over the whole run, half as
soon as the new folder appears, or up to 0.2 s later: the window in which the result is written. After each of them

    - the result is whole: run.json lists all files, with their SHA-256, and it is the old one or the new one;
    - no finished cell of the study is lost;
    - the exit code is 130, 143 or that of SIGKILL, or 0 where the new result was there already; there is no traceback;
    - nothing but the result (and NAME.partial) is left, after SIGKILL once the next run has put it right.

A signal that comes before Python has started the command is Python's own affair: it is counted apart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
STUDY = """
from iokr.cli.signals import end_at_signals
end_at_signals()  # first, as `iokr` does
import sys, time
from dataclasses import dataclass
import iokr_lab
from iokr.report import Report
from iokr_lab import study

@dataclass(frozen=True)
class Fold(study.Case):
    fold: int

def work(case, plan, data):
    time.sleep(0.01)
    return {"roc": 0.5 + 0.001 * case.fold}

study.STUDY = study.Study(
    plans={"short": study.Plan(), "default": study.Plan(repeat=40)},
    load=lambda plan: None,
    cases=lambda plan, data: [Fold(i) for i in range(plan.repeat)],
    work=work,
    page=lambda results, plan, data: Report("Title", str(results.frame()["roc"].mean())),
)
iokr_lab.EXPERIMENTS = (iokr_lab.Experiment("small", "Title", "paper", "study"),)
sys.argv = ["iokr", *sys.argv[1:]]
from iokr.cli import main
main()
"""
MAIN = "import sys\nsys.argv = ['iokr', *sys.argv[1:]]\nfrom iokr.cli import main\nmain()"


@dataclass(frozen=True)
class Scenario:
    """A command that writes the folder `out` of its working folder."""

    name: str
    code: str
    arguments: tuple[str, ...]

    def start(self, folder: Path, seed: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", self.code, *self.arguments, "-o", "out", "--seed", str(seed), "-q", "--force"]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": _heed}
        return subprocess.Popen(command, cwd=folder, **options)


def _heed() -> None:
    """A shell that starts us in the background has SIGINT ignored, and so would all that we start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


FILES = ("-i", "nodes.tsv", "-e", "edges.tsv")
SCENARIOS = {
    "predict": Scenario("links predict", MAIN, ("links", "predict", *FILES, "--top", "20")),
    "cv": Scenario("links cv", MAIN, ("links", "cv", *FILES, "--folds", "2")),
    "study": Scenario("study", STUDY, ("reproduce", "small")),
}


def inputs(folder: Path) -> None:
    """A small network."""
    rows = [f"n{i}\t{i // 6}\t{i % 6}\t{(i * 7) % 5}" for i in range(24)]
    (folder / "nodes.tsv").write_text("\n".join(rows) + "\n")
    (folder / "edges.tsv").write_text("".join(f"n{i}\tn{j}\n" for i in range(24) for j in range(i) if i // 6 == j // 6))


def fault_of(out: Path, seeds: tuple[int, ...]) -> str | None:
    """What is wrong with a result; None when it is whole."""
    try:
        run = json.loads((out / "run.json").read_text(encoding="utf-8"))
        for name, digest in run["files"].items():
            if hashlib.sha256((out / name).read_bytes()).hexdigest() != digest:
                return f"{name} is not what run.json lists"
    except (OSError, ValueError, LookupError) as error:
        return f"{type(error).__name__}: {error}"
    return None if run["seed"] in seeds else f"seed {run['seed']}"


def cells_of(folder: Path) -> set[str]:
    """The finished cells, of the unfinished and of the finished run."""
    found = set()
    for path in (folder / "out" / "cells.jsonl", folder / "out.partial" / "cells.jsonl"):
        for line in path.read_bytes().split(b"\n") if path.exists() else []:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            found.add(f"{record['run']['plan']['seed']} {record['cell']}")
    return found


def repaired(folder: Path) -> None:
    """As the next run does first."""
    from iokr._folders import ResultFolder

    with ResultFolder(folder / "out").reserved():
        pass


class Trial:
    """A scenario, killed again and again in one folder."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder = scenario, folder
        inputs(folder)
        self.seed = 0
        start = time.perf_counter()
        self._finish(0)
        self.seconds = time.perf_counter() - start
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []

    def _finish(self, seed: int) -> None:
        process = self.scenario.start(self.folder, seed)
        _, said = process.communicate(timeout=300)
        if process.returncode:
            raise RuntimeError(f"{self.scenario.name} fails: {said}")

    def kill(self, how: signal.Signals, wait: Callable[[subprocess.Popen[str]], str]) -> None:
        """One kill, and what is left of it."""
        known, seeds = cells_of(self.folder), (self.seed, self.seed + 1)
        start = time.perf_counter()
        process = self.scenario.start(self.folder, self.seed + 1)
        moment = wait(process)
        if process.poll() is not None:  # too late: the machine was busier when the time was taken
            self.seconds = min(self.seconds, 0.9 * (time.perf_counter() - start))
        process.send_signal(how)
        _, said = process.communicate(timeout=300)
        code, where = process.returncode, f"{self.scenario.name}, {how.name} {moment}"
        early = code == -how and "/iokr/cli/commands.py" not in said and how != signal.SIGKILL
        fault = fault_of(self.folder / "out", seeds)
        if fault:
            self.faults.append(f"{where}: the result is not whole: {fault}")
        left = {path.name for path in self.folder.iterdir()} - {"nodes.tsv", "edges.tsv", "out", "out.partial"}
        if how == signal.SIGKILL:
            repaired(self.folder)
            left = {path.name for path in self.folder.iterdir()} - {"nodes.tsv", "edges.tsv", "out", "out.partial"}
            fault = fault_of(self.folder / "out", seeds)
            if fault:
                self.faults.append(f"{where}: after the repair: {fault}")
        if left:
            self.faults.append(f"{where}: left {', '.join(sorted(left))}")
        new = fault_of(self.folder / "out", (self.seed + 1,)) is None
        right = {-how} if how == signal.SIGKILL else {128 + how}
        if code not in right and not (code == 0 and new) and not early:
            self.faults.append(f"{where}: exit code {code}: {said.strip()[-300:]}")
        if "Traceback" in said and not early:
            self.faults.append(f"{where}: {said.strip()[-1000:]}")
        if not known <= cells_of(self.folder):
            self.faults.append(f"{where}: {len(known - cells_of(self.folder))} finished cells are lost")
        kind = (
            "before the command started"
            if early
            else f"{how.name} → {code if code else 'too late, 0'}, {'new' if new else 'old'} result"
        )
        self.counts[kind] += 1
        if new:
            self.seed += 1


def after(seconds: float) -> Callable[[subprocess.Popen[str]], str]:
    """Wait so long."""

    def wait(process: subprocess.Popen[str]) -> str:
        end = time.perf_counter() + seconds
        while process.poll() is None and time.perf_counter() < end:
            time.sleep(1e-3)
        return f"after {seconds:.2f} s"

    return wait


def writing(folder: Path, more: float) -> Callable[[subprocess.Popen[str]], str]:
    """Wait until the new folder appears, and a little more."""

    def wait(process: subprocess.Popen[str]) -> str:
        new = folder / ".out.iokr-new"
        while process.poll() is None and not os.path.lexists(new):
            time.sleep(1e-4)
        time.sleep(more)
        return f"{1000 * more:.1f} ms into the writing"

    return wait


def trial(scenario: Scenario, n: int, seed: int, folder: Path) -> Trial:
    """n kills of a scenario."""
    rng = random.Random(seed)
    result = Trial(scenario, folder)
    for k in range(n):
        how, window = SIGNALS[k % 3], k % 2
        moment = writing(folder, rng.choice((0, rng.uniform(0, 0.03), rng.uniform(0, 0.2)))) if window else None
        result.kill(how, moment or after(1.1 * result.seconds * (k + rng.random()) / n))
    return result


def main() -> int:
    """Kill, count, and list what is wrong; 1 when anything is."""
    parser = argparse.ArgumentParser(description="Kill commands at any moment and judge what is left.")
    parser.add_argument("scenarios", nargs="*", help=f"{', '.join(SCENARIOS)}; default: all")
    parser.add_argument("--kills", type=int, default=201, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = options.scenarios or list(SCENARIOS)
    faults = 0
    for name in names:
        folder = Path(tempfile.mkdtemp(prefix="iokr-kills-"))
        found = trial(SCENARIOS[name], -(-options.kills // len(names)), options.seed, folder)
        print(f"{found.scenario.name}: {sum(found.counts.values())} kills of runs of {found.seconds:.1f} s", flush=True)
        for kind, count in sorted(found.counts.items()):
            print(f"    {count:4d}  {kind}")
        print(f"    {len(found.faults):4d}  faults", flush=True)
        for fault in found.faults:
            print(f"          {fault}")
        faults += len(found.faults)
        shutil.rmtree(folder)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
