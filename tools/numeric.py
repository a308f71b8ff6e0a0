"""The numeric suites on other machines than this one: run as `make numeric`, or `python tools/numeric.py`.

Once under every kernel of OpenBLAS that the processor can run, then without Numba, with two threads, and on other
versions of Python: one change at a time, so that a failure names its cause. `--cores Haswell,Nehalem` runs these core
types only, `--cores second` the best one that OpenBLAS would not take by itself.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = ("kernels", "gram", "solvers", "estimators", "operator_kernels", "contracts")
SUITES = (*(f"tests/{name}" for name in LIBRARY), "lab/tests/baselines")
NEEDS = {  # what the kernels of a core type ask of the processor, in the words of /proc/cpuinfo
    "Prescott": {"pni"},
    "Nehalem": {"sse4_2"},
    "Sandybridge": {"avx"},
    "Haswell": {"avx2", "fma"},
    "Zen": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
}
ALIKE = {"Zen": {"Zen", "Haswell"}, "Haswell": {"Zen", "Haswell"}}  # the same kernels in other sizes of blocks
PYTHONS = ("3.12", "3.13")
MARKS = "not slow and not gpu and not optional"


@dataclass(frozen=True)
class Run:
    """One change: of the environment, of the options of pytest, or of the interpreter."""

    title: str
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    python: str = sys.executable


def flags(cpuinfo: str) -> set[str]:
    """What the processor can do; nothing where there is no /proc/cpuinfo."""
    return next((set(line.split()) for line in cpuinfo.splitlines() if line.startswith("flags")), set())


def allowed_cores(able: set[str]) -> list[str]:
    """The core types that the processor can run."""
    return [core for core, needs in NEEDS.items() if needs <= able]


def second_core(allowed: Iterable[str], native: str) -> str | None:
    """The best core type with other kernels than the one that OpenBLAS takes by itself."""
    others = [core for core in allowed if core not in ALIKE.get(native, {native}) and core != "Zen"]
    return others[-1] if others else None


def core_in_use(core: str | None = None) -> str | None:
    """The core type that OpenBLAS reports, where `core` is requested; None where NumPy has another BLAS."""
    program = "import numpy, threadpoolctl as t; print(*(i.get('architecture') for i in t.threadpool_info()))"
    environment = os.environ | ({} if core is None else {"OPENBLAS_CORETYPE": core})
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return next(iter(run.stdout.split()), None)


def core_runs(asked: str | None) -> Iterator[Run]:
    """A run per core type; all that the processor allows, the second one, or those that are named."""
    try:
        allowed = allowed_cores(flags(Path("/proc/cpuinfo").read_text()))
    except OSError:
        allowed = []
    if asked == "second":
        second = second_core(allowed, core_in_use() or "")
        asked = second if second is not None else ""
    for core in allowed if asked is None else [core for core in asked.split(",") if core]:
        if core not in allowed:
            print(f"{core}: skipped, the processor cannot run it")
        elif core_in_use(core) != core:
            print(f"{core}: skipped, this build of OpenBLAS does not have it")
        else:
            yield Run(core, {"OPENBLAS_CORETYPE": core})


def python_runs() -> Iterator[Run]:
    """A run per other version of Python that is installed, in an environment .venv-3.x that is made on demand."""
    for version in PYTHONS:
        python = _find(version)
        if python is None:
            print(f"Python {version}: skipped, not installed")
        else:
            yield Run(f"Python {version}", python=str(_environment(python, ROOT / f".venv-{version}")))


def _find(version: str) -> str | None:
    """An interpreter that starts: on the path, or of pyenv."""
    shelf = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for python in filter(None, [shutil.which(f"python{version}"), *map(str, shelf)]):
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    return None


def _environment(python: str, folder: Path) -> Path:
    """The interpreter of a virtual environment with this package and what its tests need.

    Without torch, whose builds for other versions may bring gigabytes along; tests of arrays skip what is not there.
    """
    inside, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(inside), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([*install, "-e", f"{ROOT}[report,test]"], check=True)
        ready.touch()
    return inside


def all_runs() -> Iterator[Run]:
    """Every change that is made when nothing is named."""
    yield from core_runs(None)
    yield Run("without Numba", {"PYTHONPATH": _path_with_tools()}, ("-p", "without_numba"))
    yield Run("two threads", {name: "2" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})
    yield from python_runs()


def _path_with_tools() -> str:
    return os.pathsep.join([str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])])


def perform(run: Run, jobs: int, suites: Iterable[str] = SUITES) -> int:
    """The suites under one change; the exit code of pytest."""
    one = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    environment = os.environ | one | {"MPLBACKEND": "Agg"} | dict(run.environment)
    side_by_side = ["-n", str(jobs)] if jobs > 1 else []
    command = [run.python, "-m", "pytest", "-q", "-m", MARKS, *side_by_side, *run.options, *suites]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Make the requested runs; one line each at the end, and 1 when a suite failed."""
    parser = argparse.ArgumentParser(description="The numeric suites under other processors, threads and Pythons.")
    parser.add_argument("--cores", help="core types of OpenBLAS, separated by commas, or `second`; nothing else is run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("suites", nargs="*", default=SUITES, help="folders of tests")
    options = parser.parse_args()
    lines, failed = [], False
    for run in core_runs(options.cores) if options.cores else all_runs():
        print(f"\n== {run.title}", flush=True)
        start = time.monotonic()
        code = perform(run, options.jobs, options.suites)
        failed |= code != 0
        lines.append(f"{run.title:14} {'passed' if code == 0 else 'FAILED'} in {time.monotonic() - start:.0f} s")
    print("", *lines, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
