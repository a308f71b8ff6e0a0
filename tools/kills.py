"""Kill commands at moments spread over their whole run, and check what is left: `make kills`.

    links predict, links cv    with --force over an old result
    study                      a small study of many cells, taken up again after each kill
    msms train                 with --force over an old model; a killed run goes on from its finished folds

Signals are SIGINT, SIGTERM and SIGKILL in turn. Half of the kills come at a moment drawn over the whole run, half as
soon as the new folder appears, or up to 0.2 s later: the window in which the result is written. After each of them

    - the result is whole, the old one or the new one: run.json lists all files with their SHA-256; a model holds the
      hashes of its arrays, and the command that wrote it;
    - no finished cell of the study and no finished fold of the training is lost;
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
STUDY = """
from iokr.cli.signals import end_at_signals
end_at_signals()  # first, as `iokr` does
import sys, time
from dataclasses import dataclass
import iokr_lab
from iokr.apps.report import Report
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
    """A command that writes the folder, or the model, `output` in its working folder."""

    name: str
    code: str
    arguments: tuple[str, ...]
    output: str = "out"

    @property
    def is_file(self) -> bool:
        """A model, no folder of results."""
        return self.output.endswith(".safetensors")

    def start(self, folder: Path, seed: int) -> subprocess.Popen[str]:
        """The command, begun."""
        options = ["-o", self.output, "--seed", str(seed), "-q", "--force"]
        command = [sys.executable, "-c", self.code, *self.arguments, *options]
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": _heed}
        return subprocess.Popen(command, cwd=folder, env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}, **how)

    def inputs(self, folder: Path) -> None:
        """The files that it reads."""
        if self.is_file:
            from iokr.apps.msms.demo import write_demo

            write_demo(folder, n=45, unknowns=6)
            return
        rows = [f"n{i}\t{i // 6}\t{i % 6}\t{(i * 7) % 5}" for i in range(24)]
        (folder / "nodes.tsv").write_text("\n".join(rows) + "\n")
        links = (f"n{i}\tn{j}\n" for i in range(24) for j in range(i) if i // 6 == j // 6)
        (folder / "edges.tsv").write_text("".join(links))


def _heed() -> None:
    """A shell that starts us in the background has SIGINT ignored, and so would all that we start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


FILES = ("-i", "nodes.tsv", "-e", "edges.tsv")
SPECTRA = ("-i", "library.mgf", "--candidates", "library_candidates.tsv", "--fingerprints", "maccs", "--folds", "4")
SCENARIOS = {
    "predict": Scenario("links predict", MAIN, ("links", "predict", *FILES, "--top", "20")),
    "cv": Scenario("links cv", MAIN, ("links", "cv", *FILES, "--folds", "2")),
    "study": Scenario("study", STUDY, ("reproduce", "small")),
    "msms": Scenario("msms train", MAIN, ("msms", "train", *SPECTRA), "out.safetensors"),
}


def fault_of(out: Path, seeds: tuple[int, ...]) -> str | None:
    """What is wrong with a result; None when it is whole and of one of these seeds."""
    if out.suffix == ".safetensors":
        return _fault_of_model(out, seeds)
    try:
        run = json.loads((out / "run.json").read_text(encoding="utf-8"))
        for name, digest in run["files"].items():
            if hashlib.sha256((out / name).read_bytes()).hexdigest() != digest:
                return f"{name} is not what run.json lists"
    except (OSError, ValueError, LookupError) as error:
        return f"{type(error).__name__}: {error}"
    return None if run["seed"] in seeds else f"seed {run['seed']}"


def _fault_of_model(out: Path, seeds: tuple[int, ...]) -> str | None:
    from iokr.files import verify

    try:
        verify(out)
        content = out.read_bytes()  # with the command that wrote it
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None if any(f"--seed {seed} -q".encode() in content for seed in seeds) else f"another seed than {seeds}"


def cells_of(folder: Path) -> set[str]:
    """The finished cells, of the unfinished and of the finished run, and the finished folds of a training."""
    found = set()
    for path in (folder / "out" / "cells.jsonl", folder / "out.partial" / "cells.jsonl"):
        for record in _records(path):
            found.add(f"{record['run']['plan']['seed']} {record['cell']}")
    for record in _records(folder / "out.safetensors.partial" / "folds.jsonl"):
        found.add(f"{record['key']} {record['name']}")
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def repaired(out: Path) -> None:
    """As the next run does first."""
    from iokr._system.folders import ResultFolder
    from iokr.cli.shared import new_file

    with new_file(out, force=True) if out.suffix else ResultFolder(out).reserved():
        pass


class Trial:
    """A scenario, killed again and again in one folder."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder, self.out = scenario, folder, folder / scenario.output
        scenario.inputs(folder)
        self.own = {path.name for path in folder.iterdir()} | {scenario.output, f"{scenario.output}.partial"}
        self.own |= {"cache", "out.rejected.tsv"}  # of fingerprints and fonts, and what did not fit
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

    def left(self) -> set[str]:
        """What is in the folder and should not be."""
        return {path.name for path in self.folder.iterdir()} - self.own

    def end(self) -> None:
        """A run that ends leaves its result alone."""
        self._finish(self.seed + 1)
        left = self.left() | (
            {f"{self.out.name}.partial"} if (self.folder / f"{self.out.name}.partial").exists() else set()
        )
        if fault := fault_of(self.out, (self.seed + 1,)):
            self.faults.append(f"the run after the last kill: {fault}")
        if left:
            self.faults.append(f"the run after the last kill left {', '.join(sorted(left))}")

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
        fault = fault_of(self.out, seeds)
        if fault:
            self.faults.append(f"{where}: the result is not whole: {fault}")
        left = self.left()
        if how == signal.SIGKILL:
            repaired(self.out)
            left = self.left()
            fault = fault_of(self.out, seeds)
            if fault:
                self.faults.append(f"{where}: after the repair: {fault}")
        if left:
            self.faults.append(f"{where}: left {', '.join(sorted(left))}")
        new = fault_of(self.out, (self.seed + 1,)) is None
        right = {-how} if how == signal.SIGKILL else {128 + how}
        if code not in right and not (code == 0 and new) and not early:
            self.faults.append(f"{where}: exit code {code}: {said.strip()[-300:]}")
        if "Traceback" in said and not early:
            self.faults.append(f"{where}: {said.strip()[-1000:]}")
        if not known <= cells_of(self.folder) and not (new and self.scenario.is_file):  # a whole model needs no folds
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


def writing(new: Path, more: float) -> Callable[[subprocess.Popen[str]], str]:
    """Wait until the new folder, or file, appears, and a little more."""

    def wait(process: subprocess.Popen[str]) -> str:
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
        new = folder / f".{scenario.output}.iokr-new"
        moment = writing(new, rng.choice((0, rng.uniform(0, 0.03), rng.uniform(0, 0.2)))) if window else None
        result.kill(how, moment or after(1.1 * result.seconds * (k + rng.random()) / n))
    result.end()
    return result


def main() -> int:
    """Kill, count, and list what is wrong; 1 when anything is."""
    parser = argparse.ArgumentParser(description="Kill commands at any moment and check what is left.")
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
