"""What does not fit is refused at once with routes that do; what is asked for in bulk is answered in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from iokr import IOKR
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.vectors import RBF
from iokr.report import Figure, Table
from iokr_lab.bench.base import Contender, Question, Run, Section, Verdict
from iokr_lab.bench.grams import smooth_vectors
from iokr_lab.bench.memory import Footprint

__all__ = ["SECTIONS", "predictions", "refused"]

_GAMMA, _PANEL = 0.1, 8 * (1 << 24)  # bytes of a panel of K in a product


def refused(n: int, p: int, q: int, seed: int) -> tuple[str, float]:
    """The words of the refusal of an exact fit, and the seconds that it took."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, p, q)
    model = IOKR(RBF(_GAMMA))
    model.fit(X[:50], Y[:50])
    start = perf_counter()
    try:
        model.fit(X, Y)
    except MemoryError as error:
        return str(error), perf_counter() - start
    raise AssertionError(f"a fit of {n} points was not refused")


def _refusal(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    n, p, q = 400_000, 10, 8
    run.step(f"refusal, n = {n}")
    words, seconds = refused(n, p, q, run.seed)
    rows = [{"what": f"an exact fit of {n} points is refused", "seconds": seconds}]
    verdicts = [Verdict(f"refusal, n = {n}: seconds", seconds, at_most=1.0)]
    found = re.search(r"Nystroem\(RBF\(gamma=[\d.]+\), rank=(\d+)\)", words)
    if found and not run.quick:
        rank = int(found[1])
        run.step(f"the route of rank {rank}")
        X, Y = smooth_vectors(np.random.default_rng(run.seed), n, p, q)
        start = perf_counter()
        IOKR(Nystroem(RBF(_GAMMA), rank=rank), alpha=0.5).fit(X, Y)
        rows.append(
            {"what": f"the approximate route that it names, rank {rank}, runs", "seconds": perf_counter() - start}
        )
    verdicts.append(Verdict("refusal: routes named", float(words.count("rank=")), at_least=1.0))
    return [Table("A fit that does not fit", rows, f"It said: {words}")], verdicts


def predictions(*, seed: int = 0, n: int = 2000, rows: int = 1_000_000) -> Question:
    """h(x) at many new inputs."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, 10, 5)
    model = IOKR(RBF(_GAMMA), alpha=0.5).fit(X, Y)
    new = np.random.default_rng(seed + 1).standard_normal((rows, 10))
    return Question(f"{rows} predictions", (Contender("IOKR", lambda: model.predict(new), role="ours"),))


def _predictions(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    counts = (2000, 20_000) if run.quick else (100_000, 1_000_000)
    small, rows, held = {"seed": run.seed, "n": 100, "rows": 1000}, [], 0
    for count in counts:
        run.step(f"memory of {count} predictions")
        full = {"seed": run.seed, "n": 200 if run.quick else 2000, "rows": count}
        held = Footprint(f"{count} predictions", __name__, "predictions", "IOKR", full, small).measure(2)
        rows.append({"rows": count, "MB at the peak": held / 1e6, "MB of the answer": 8 * 5 * count / 1e6})
    above = (held - 3 * 8 * 5 * counts[-1]) / (2 * _PANEL)
    note = "K is evaluated in panels of 128 MB, whatever the number of rows."
    return [Table("Predictions in bulk", rows, note)], [
        Verdict(f"{counts[-1]} predictions: memory above three times the answer, two panels", above, at_most=1.0)
    ]


SECTIONS = (
    Section("a fit that does not fit", _refusal),
    Section("predictions in bulk", _predictions),
)
