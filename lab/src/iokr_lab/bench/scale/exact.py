"""Exact fits under NumPy: one triangle of the Gram matrix compared with the full one, and growth with n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpftrf, dpftrs
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_limits

from iokr import IOKR
from iokr.apps.report import Figure, Table
from iokr.kernels.vectors import RBF
from iokr_lab.bench.base import Contender, Question, Run, Section, Target, Verdict
from iokr_lab.bench.grams import Matrix, rbf_factors, smooth_vectors
from iokr_lab.bench.memory import Footprint
from iokr_lab.bench.ridge import fit_floor
from iokr_lab.bench.scale.growth import growth_items

__all__ = ["SECTIONS", "one_fit", "packed_floor"]

_SMALL = {"n": 301, "p": 5, "q": 4}
_PANEL = 64  # rows of the storage that are made at a time, so that they stay in the cache


def one_fit(*, seed: int = 0, n: int = 8000, p: int = 50, q: int = 64, threads: int = 2) -> Question:
    """C = (K + αI)⁻¹ Y for one α."""
    X, Y = smooth_vectors(np.random.default_rng(seed), n, p, q)
    gamma = 1.0 / p
    alpha = 0.5
    ours = IOKR(RBF(gamma), alpha=alpha, intercept=False)
    baseline = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma)

    def limited(work: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            with threadpool_limits(limits=threads):
                return work()

        return run

    return Question(
        f"exact fit, n = {n}, q = {q}, {threads} thread{'s' if threads > 1 else ''}",
        (
            Contender("IOKR", limited(lambda: ours.fit(X, Y)), lambda model: {"C": model.solution_.C}, "ours"),
            Contender("dpotrf of the full matrix", limited(partial(fit_floor, X, Y, gamma, alpha)), lambda C: {"C": C}),
            Contender("KernelRidge", limited(lambda: baseline.fit(X, Y)), lambda model: {"C": model.dual_coef_}),
            Contender("floor", limited(partial(packed_floor, X, Y, gamma, alpha)), lambda C: {"C": C}, "floor"),
        ),
        (Target("dpotrf of the full matrix", at_most=1.15),),
        note="Floor: one triangle in LAPACK's packed format, dpftrf and dpftrs, written by hand.",
        rounds=3,
    )


def packed_floor(X: Matrix, Y: Matrix, gamma: float, alpha: float) -> Matrix:
    """(K + αI)⁻¹ Y from n(n + 1)/2 numbers; n even or odd as LAPACK has it, see `iokr._array.packed`."""
    left, right = rbf_factors(X, X, gamma)
    n = len(X)
    m = (n + 1) // 2
    even = 1 - n % 2
    T = np.empty((m, n + even))
    lower = np.tri(_PANEL, dtype=bool)
    for r in range(0, m, _PANEL):
        s = min(r + _PANEL, m)
        np.exp(dgemm(1.0, right[:, r:], left[:, r:s], trans_a=1).T, out=T[r:s, r + even :])
        first = max(r - 1 + even, 0)
        last = s - 1 + even
        if last > first:
            below = np.exp(dgemm(1.0, right[:, m : m + last], left[:, m + first : m + last], trans_a=1).T)
            T[first + 1 - even : s, :first] = below[:, :first]
            corner = T[first + 1 - even : s, first:last]
            np.copyto(corner, below[:, first:], where=lower[: len(corner), : len(corner)])
    flat = T.reshape(-1)
    flat[even :: n + even + 1][:m] += alpha
    flat[(1 - even) * (n + even) :: n + even + 1][: n - m] += alpha
    factor, _ = dpftrf(n, flat, transr="N", uplo="L", overwrite_a=1)
    C: Matrix = dpftrs(n, factor, Y, transr="N", uplo="L")[0]
    return C


def _fits(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Time with one thread and with two, and peak memory."""
    sizes = _SMALL if run.quick else {}
    asked = [run.ask(one_fit(seed=run.seed, threads=threads, **sizes)) for threads in (1, 2)]
    n = _SMALL["n"] if run.quick else 8000
    full = {"seed": run.seed, **sizes}
    small = {"seed": run.seed, **_SMALL}
    rows = []
    held = {}
    for who in ("IOKR", "dpotrf of the full matrix", "floor"):
        run.step(f"memory of {who}")
        footprint = Footprint(f"exact fit, n = {n}", __name__, "one_fit", who, full, small, n)
        held[who] = footprint.measure(2)
        rows.append(footprint.row(held[who]))
    memory = Table("Peak memory of an exact fit", rows, "Growth of a fresh process over its data and libraries.")
    verdict = Verdict("exact fit on the CPU, n² doubles at the peak", held["IOKR"] / (8 * n * n), at_most=0.6)
    return [*(table for table, _ in asked), memory], [*(v for _, verdicts in asked for v in verdicts), verdict]


def _seconds(X: Matrix, Y: Matrix) -> float:
    start = perf_counter()
    IOKR(RBF(0.02), alpha=0.5, intercept=False).fit(X, Y)
    return perf_counter() - start


def _growth(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Seconds and bytes of one fit, n doubled each time."""
    sizes = (100, 200) if run.quick else (1000, 2000, 4000, 8000)
    small = {"seed": run.seed, **_SMALL, "n": 100}
    rows = []
    for n in sizes:
        run.step(f"growth, n = {n}")
        X, Y = smooth_vectors(np.random.default_rng(run.seed), n, 50, 64)
        seconds = min(_seconds(X, Y) for _ in range(3))
        full = {"seed": run.seed, "n": n, "p": 50, "q": 64}
        held = Footprint("", __name__, "one_fit", "IOKR", full, small, n).measure(2)
        rows.append({"n": n, "seconds": seconds, "bytes": held})
    return growth_items("exact fits under NumPy, two threads", rows), []


SECTIONS = (
    Section("exact fits on the CPU", _fits),
    Section("growth with n on the CPU", _growth),
)
