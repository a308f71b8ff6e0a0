"""Rows in chunks, and chunks on two Dask workers: rows a second, memory, equal bits, ten million candidates."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module, util
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from iokr import IOKR, IOKRCV, Stream
from iokr.apps.report import Figure, Table
from iokr.embeddings.nystroem import Nystroem as FewOutputs
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.vectors import RBF
from iokr_lab.bench.base import Run, Section, Verdict
from iokr_lab.bench.grams import smooth_vectors
from iokr_lab.bench.scale.growth import growth_items

__all__ = ["SECTIONS", "dask_missing", "made"]

P = 50
Q = 16
ALPHA = 0.5
_DIMENSIONS = 4  # of the outputs that are ranked

Value = TypeVar("Value")


def made(seed: int, number: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """(X, Y) of a chunk, by its number alone."""
    B = np.random.default_rng(seed).normal(size=(P, Q))
    rng = np.random.default_rng([seed, number])
    X = rng.normal(size=(rows, P))
    return X, np.sin(X @ B / P**0.5) + 0.3 * rng.normal(size=(rows, Q))


def _chunks(seed: int, n: int, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """n rows made a chunk at a time."""
    for number, start in enumerate(range(0, n, rows)):
        yield made(seed, number, min(rows, n - start))


def _streams(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Rows a second, growth of the peak with n, `partial_fit` compared with `fit`."""
    m, rows = (20, 100) if run.quick else (2000, 8192)
    sizes = (500, 1000, 5000) if run.quick else (100_000, 300_000, 1_000_000)
    kernel = Nystroem(RBF(1.0 / P), m)
    model = IOKR(kernel, alpha=ALPHA, intercept=False)
    grown = []
    for n in sizes:
        run.step(f"stream of {n} rows")
        source = Stream(partial(_chunks, run.seed, n, rows))
        tracemalloc.start()
        _, seconds = _timed(partial(clone(model).fit, source))
        grown.append({"n": n, "seconds": seconds, "bytes": tracemalloc.get_traced_memory()[1]})
        tracemalloc.stop()
    n = sizes[0]
    run.step(f"partial_fit of {n} rows")
    source = Stream(partial(_chunks, run.seed, n, rows))
    whole = clone(model).fit(source)
    parts = clone(model)
    for X, Y in _chunks(run.seed, n, rows):
        parts.partial_fit(X, Y)
    new = np.random.default_rng(1).normal(size=(100, P))
    h = whole.predict(new)
    difference = float(np.abs(parts.predict(new) - h).max() / np.abs(h).max())
    folds, folds_seconds = _timed(partial(IOKRCV(kernel, cv=3, intercept=False).fit, source))
    bound = 8.0 * (4 * m * m + 3 * rows * (P + Q + 2 * m))
    largest = grown[-1]["bytes"]
    verdicts = [
        Verdict("stream: peak / 8(4r² + 3·chunk·(p + q + 2r))", largest / bound, at_most=1.0),
        Verdict("stream: growth of the peak, ten times the rows", largest / grown[0]["bytes"], at_most=1.05),
        Verdict("partial_fit and fit, relative difference", difference, at_most=1e-10),
    ]
    table = [
        {
            "n": row["n"],
            "m": m,
            "seconds": row["seconds"],
            "rows a second": row["n"] / row["seconds"],
            "peak MB": row["bytes"] / 1e6,
        }
        for row in grown
    ]
    note = (
        f"Chunks of {rows} rows, made when they are needed; 3-fold cross-validation of {len(folds.alphas)} alphas on "
        f"{n} rows took {folds_seconds:.3g} s."
    )
    growth = growth_items(f"streams, m = {m}", grown, time_power=1.0, memory="constant")
    return [Table("Rows in chunks", table, note), *growth], verdicts


def _timed(work: Callable[[], Value]) -> tuple[Value, float]:
    """The value, and seconds of the clock."""
    start = perf_counter()
    value = work()
    return value, perf_counter() - start


def dask_missing() -> str | None:
    """Why nothing can be run on Dask workers, or None."""
    return None if util.find_spec("distributed") and util.find_spec("dask") else "dask is not installed"


def _lazy_rows(seed: int, n: int, rows: int) -> tuple[Any, Any]:
    """n rows as Dask arrays whose chunks are made by the workers."""
    dask = import_module("dask")
    parts = [dask.delayed(made, pure=True, nout=2)(seed, number, rows) for number in range(n // rows)]
    return _lazy_array([X for X, _ in parts], rows, P), _lazy_array([Y for _, Y in parts], rows, Q)


def _lazy_array(chunks: Sequence[Any], rows: int, width: int) -> Any:
    """Delayed chunks of (rows, width) numbers, one after the other."""
    da = import_module("dask.array")
    return da.concatenate([da.from_delayed(chunk, (rows, width), dtype=np.float64) for chunk in chunks])


def _outputs(seed: int, number: int, rows: int) -> np.ndarray:
    """A shard of candidates, by its number alone."""
    return np.random.default_rng([seed, number, 1]).normal(size=(rows, _DIMENSIONS))


def _lazy_candidates(seed: int, n: int, rows: int) -> Any:
    """n candidates as a Dask array whose shards are made by the workers."""
    dask = import_module("dask")
    shards = [dask.delayed(_outputs, pure=True)(seed, number, rows) for number in range(n // rows)]
    return _lazy_array(shards, rows, _DIMENSIONS)


def _dask(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Two workers with one thread each and one process with one thread: a fit, and the best of many candidates."""
    dask = import_module("dask")
    distributed = import_module("distributed")
    n, m, rows = (1000, 20, 100) if run.quick else (400_000, 1000, 20_000)
    count, shard = (2000, 250) if run.quick else (10_000_000, 250_000)
    model = IOKR(Nystroem(RBF(1.0 / P), m), alpha=ALPHA, intercept=False)
    new = np.random.default_rng(1).normal(size=(100, P))
    X, Y = smooth_vectors(np.random.default_rng(run.seed), 400 if run.quick else 2000, P, _DIMENSIONS)
    ranked = IOKR(RBF(1.0 / P), output_kernel=RBF(0.5), embedding=FewOutputs(20 if run.quick else 50), alpha=0.1)
    ranked.fit(X, Y)

    def fit() -> Any:
        return model.fit(*_lazy_rows(run.seed, n, rows)).predict(new)

    def rank() -> Any:
        return ranked.rank(X[:20], _lazy_candidates(run.seed, count, shard), k=20)

    with threadpool_limits(1), dask.config.set(scheduler="synchronous"):
        run.step(f"Dask, one process, n = {n}")
        h, fit_alone = _timed(fit)
        run.step(f"Dask, one process, {count} candidates")
        (index, values), rank_alone = _timed(rank)
    with (
        threadpool_limits(1),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        model.fit(*_lazy_rows(run.seed + 1, 2 * rows, rows))  # imports on the workers
        run.step(f"Dask, two workers, n = {n}")
        h_there, fit_there = _timed(fit)
        run.step(f"Dask, two workers, {count} candidates")
        (index_there, values_there), rank_there = _timed(rank)
    table: list[dict[str, Any]] = [
        {"what": f"a fit, n = {n}, m = {m}", "one process": fit_alone, "two workers": fit_there},
        {"what": f"the best 20 of {count}, 20 queries", "one process": rank_alone, "two workers": rank_there},
    ]
    for row in table:
        row["× half"] = row["two workers"] / (row["one process"] / 2)
    difference = float(np.abs(h - h_there).max())
    n_different = float(np.sum(index != index_there) + np.sum(values != values_there))
    verdicts = [
        Verdict("Dask: time / (single process / 2); ≤ 1.3 needs four cores", table[0]["× half"], at_most=1.6),
        Verdict("Dask: difference to one process", difference, at_most=0.0),
        Verdict(f"Dask: ranks and values of {count} candidates that differ", n_different, at_most=0.0),
    ]
    note = (
        "Seconds; one BLAS thread each. Rows and candidates are made by the workers, from the numbers of their chunks."
    )
    return [Table("Dask", table, note)], verdicts


SECTIONS = (
    Section("rows in chunks", _streams),
    Section("Dask", _dask, dask_missing),
)
