"""Fits that would exceed memory are refused at once with alternatives; many predictions take bounded memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from iokr import IOKR
from iokr.apps.report import Figure, Table
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.vectors import RBF
from iokr_lab.bench.base import Contender, Question, Run, Section, Verdict
from iokr_lab.bench.grams import smooth_vectors
from iokr_lab.bench.memory import Footprint

__all__ = ["SECTIONS", "predictions", "refused", "whole_process"]

_GAMMA = 0.1
_PANEL = 8 * (1 << 24)  # bytes of a panel of K in a product


def refused(n: int, p: int, q: int, seed: int) -> tuple[str, float]:
    """The message of the error of an exact fit, and the seconds until it was raised."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, p, q)
    model = IOKR(RBF(_GAMMA), intercept=False)
    model.fit(X[:50], Y[:50])
    start = perf_counter()
    try:
        model.fit(X, Y)
    except MemoryError as error:
        return str(error), perf_counter() - start
    raise AssertionError(f"a fit of {n} points was not refused")


def _refusal(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    n = 400_000
    p = 10
    q = 8
    run.step(f"refusal, n = {n}")
    message, seconds = refused(n, p, q, run.seed)
    rows = [{"what": f"an exact fit of {n} points is refused", "seconds": seconds}]
    verdicts = [Verdict(f"refusal, n = {n}: seconds", seconds, at_most=1.0)]
    found = re.search(r"Nystroem\(RBF\(gamma=[\d.]+\), n_components=(\d+)\)", message)
    if found and not run.quick:
        rank = int(found[1])
        run.step(f"the route of rank {rank}")
        X, Y = smooth_vectors(np.random.default_rng(run.seed), n, p, q)
        start = perf_counter()
        IOKR(Nystroem(RBF(_GAMMA), n_components=rank), alpha=0.5, intercept=False).fit(X, Y)
        rows.append(
            {"what": f"the approximate route that it names, rank {rank}, runs", "seconds": perf_counter() - start}
        )
    verdicts.append(Verdict("refusal: routes named", float(message.count("n_components=")), at_least=1.0))
    return [Table("A fit that exceeds memory", rows, f"The message: {message}")], verdicts


_WHOLE = """
import json, resource, sys
from time import perf_counter
import numpy as np
from threadpoolctl import threadpool_limits
from iokr import IOKR
from iokr.kernels import RBF
from iokr_lab.bench.grams import smooth_vectors
n, seed = (int(word) for word in sys.argv[1:])
X, Y = smooth_vectors(np.random.default_rng(seed), n, 50, 64)
with threadpool_limits(2):
    start = perf_counter()
    model = IOKR(RBF(0.02), alpha=0.5, intercept=False).fit(X, Y)
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    C = model.solution_.C
    residual = np.linalg.norm(model.kernel_.gram(model.inputs_.points) @ C + 0.5 * C - Y) / np.linalg.norm(Y)
print(json.dumps({"seconds": seconds, "peak": peak, "residual": float(residual)}))
"""


def whole_process(n: int, seed: int) -> dict[str, float]:
    """Seconds of an exact fit, bytes of its whole process at the peak, and ‖Y − (K + αI)C‖/‖Y‖."""
    child = subprocess.run(
        [sys.executable, "-c", _WHOLE, str(n), str(seed)], capture_output=True, text=True, check=False
    )
    if child.returncode:
        raise RuntimeError(f"an exact fit of {n} points failed:\n{child.stderr[-2000:]}")
    found: dict[str, float] = json.loads(child.stdout.splitlines()[-1])
    return found


def _large(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """40 000 points on the host, in a process of their own."""
    n = 500 if run.quick else 40_000
    run.step(f"exact fit, n = {n}")
    found = whole_process(n, run.seed)
    row = {"n": n, "seconds": found["seconds"], "GB of the whole process": found["peak"] / 1e9}
    row |= {"GB of n² doubles": 8e-9 * n * n, "residual": found["residual"]}
    note = "Python, its libraries, X and Y (p = 50, q = 64) are in the memory of the process; two threads."
    return [Table("An exact fit of many points on the host", [row], note)], [
        Verdict(f"exact fit on the CPU, n = {n}: GB of the whole process", found["peak"] / 1e9, at_most=7.5),
        Verdict(f"exact fit on the CPU, n = {n}: residual", found["residual"], at_most=1e-12),
    ]


def predictions(*, seed: int = 0, n: int = 2000, rows: int = 1_000_000) -> Question:
    """h(x) at many new inputs."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, 10, 5)
    model = IOKR(RBF(_GAMMA), alpha=0.5, intercept=False).fit(X, Y)
    new = np.random.default_rng(seed + 1).standard_normal((rows, 10))
    return Question(f"{rows} predictions", (Contender("IOKR", lambda: model.predict(new), role="ours"),))


def _predictions(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    counts = (2000, 20_000) if run.quick else (100_000, 1_000_000)
    small = {"seed": run.seed, "n": 100, "rows": 1000}
    rows = []
    held = 0
    for count in counts:
        run.step(f"memory of {count} predictions")
        full = {"seed": run.seed, "n": 200 if run.quick else 2000, "rows": count}
        held = Footprint(f"{count} predictions", __name__, "predictions", "IOKR", full, small).measure(2)
        rows.append({"rows": count, "MB at the peak": held / 1e6, "MB of the answer": 8 * 5 * count / 1e6})
    above = (held - 3 * 8 * 5 * counts[-1]) / (2 * _PANEL)
    note = "K is evaluated in panels of 128 MB for any number of rows."
    return [Table("Predictions in bulk", rows, note)], [
        Verdict(f"{counts[-1]} predictions: memory above three times the answer, two panels", above, at_most=1.0)
    ]


SECTIONS = (
    Section("40 000 points on the CPU", _large),
    Section("a fit that exceeds memory", _refusal),
    Section("predictions in bulk", _predictions),
)
