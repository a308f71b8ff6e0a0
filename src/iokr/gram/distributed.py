"""Dask arrays: a task for each chunk, trees of sums, lazy results, sharded candidates. The only module with Dask.

Tasks are pure functions of this package, with their number: when a worker dies its chunk is computed again, to the same
bits on the same kind of processor, and counted once. Nothing is scattered.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np

from iokr._system.memory import human_bytes
from iokr.gram.checkpoint import Checkpoint, fingerprint
from iokr.gram.moments import total

__all__ = ["DaskSource", "lazy_answer", "rank_shards"]

_FAN_IN = 4
_RETRIES = 5
_FAILURES = 50  # workers that may die while a task waits for them
_SAMPLED = 16  # largest number of blocks that landmarks are drawn from


def _import_dask() -> Any:
    try:
        import dask
        import dask.array
    except ImportError:
        raise ImportError("Dask arrays need Dask: pip install 'iokr[dask]'.") from None
    return dask


def _client() -> Any:
    """The active client of `distributed`, or None: then Dask's own scheduler computes."""
    try:
        from distributed import default_client

        return default_client()  # type: ignore[no-untyped-call]
    except (ImportError, ValueError):
        return None


def _compute(*tasks: Any) -> list[Any]:
    client = _client()
    if client is None:
        return list(_import_dask().compute(*tasks))
    with suppress(Exception):  # a scheduler that does not answer keeps its own limit
        client.run_on_scheduler(_be_patient)
    return list(client.gather(client.compute(list(tasks), retries=_RETRIES)))


def _be_patient(dask_scheduler: Any = None) -> None:
    """Allow a task more deaths of workers that it waited for."""
    dask_scheduler.allowed_failures = max(dask_scheduler.allowed_failures, _FAILURES)


def _own_threads() -> Any:
    """Give BLAS as many threads as the worker has."""
    try:
        from distributed import get_worker
        from threadpoolctl import threadpool_limits

        return threadpool_limits(limits=int(get_worker().state.nthreads))
    except (ImportError, ValueError, AttributeError):
        return nullcontext()


def _check_chunks(A: Any, name: str, *, matrix: bool = False) -> None:
    """Rows in chunks of known lengths, all columns in one chunk."""
    if (matrix and A.ndim != 2) or (A.ndim == 2 and A.numblocks[1] != 1):
        raise ValueError(f"`{name}` must be a matrix in one chunk of columns; use `{name}.rechunk({{1: -1}})`.")
    if any(size != size for size in A.chunks[0]):
        raise ValueError(f"The chunks of `{name}` must have known lengths; use `{name}.compute_chunk_sizes()`.")


class DaskSource:
    """X and y as Dask arrays with the same chunks of rows.

    Parameters
    ----------
    X, y : dask.array.Array
        With the same chunks of rows; X in one chunk of columns.
    """

    def __init__(self, X: Any, y: Any) -> None:
        da = _import_dask().array
        if not isinstance(X, da.Array):
            raise TypeError(f"`X` must be a Dask array, got a {type(X).__name__}; use `X.to_dask_array(lengths=True)`.")
        if not isinstance(y, da.Array):
            raise TypeError(
                f"If X is a Dask array, `y` must be one, too, got {type(y).__name__}; use "
                "`dask.array.from_array(y, chunks=X.chunks[0])`."
            )
        _check_chunks(X, "X", matrix=True)
        _check_chunks(y, "y")
        if X.chunks[0] != y.chunks[0]:
            raise ValueError(
                "`X` and `y` must have the same length and the same chunks of rows; use `y.rechunk({0: X.chunks[0]})`."
            )
        self.X, self.y, self.n = X, y, int(X.shape[0])
        self.sizes = [int(size) for size in X.chunks[0]]

    def _blocks(self) -> list[tuple[Any, Any]]:
        X = self.X.to_delayed().ravel()
        return list(zip(X, self.y.to_delayed().ravel(), strict=True))

    def sample(self, size: int) -> tuple[np.ndarray, np.ndarray, None]:
        """(X, y, None): rows drawn from at most 16 evenly spaced chunks, with their numbers as seeds."""
        numbers = np.unique(np.linspace(0, len(self.sizes) - 1, _SAMPLED).astype(int))
        each = -(-size // len(numbers))
        blocks, delayed = self._blocks(), _import_dask().delayed
        drawn = _compute(*(delayed(_drawn, pure=True)(int(i), *blocks[i], each) for i in numbers))
        X, y = (np.concatenate([part[k] for part in drawn]) for k in range(2))
        return X, y, None

    def reduce(
        self,
        function: Callable[[Any, Any, Any], Any],
        folds: int = 1,
        track: Callable[[Any], Any] = iter,
        checkpoint: Any = None,
        width: int = 0,
    ) -> list[Any]:
        """Sums of `function(X, y, None)` over the chunks, one for each number modulo `folds`: a tree of fan-in 4."""
        if len(self.sizes) < folds:
            raise ValueError(f"`X` has {len(self.sizes)} chunks, fewer than cv={folds} folds; use `X.rechunk`.")
        self._check_workers(width)
        delayed = _import_dask().delayed
        manifest = fingerprint(function, self.sizes) if checkpoint is not None else ""
        kept = None if checkpoint is None else Checkpoint(checkpoint, manifest)
        shared = delayed(function, pure=True, traverse=False)  # in the graph, so that the scheduler keeps it
        levels: list[list[Any]] = [[] for _ in range(folds)]
        for number, (X, y) in enumerate(self._blocks()):
            if kept is not None and kept.load(number) is not None:
                task = delayed(_known, pure=True)(str(kept.folder), manifest, number)
            else:
                place = None if kept is None else (str(kept.folder), manifest)
                task = delayed(_chunk, pure=True)(shared, number, X, y, place)
            levels[number % folds].append(task)
        add, sums = delayed(total, pure=True), []
        for tasks in levels:
            while len(tasks) > 1:
                tasks = [add(tasks[i : i + _FAN_IN]) for i in range(0, len(tasks), _FAN_IN)]
            sums.append(tasks[0])
        for _ in track([0]):
            found = _compute(*sums)
        return found

    def _check_workers(self, width: int) -> None:
        """Raise if a chunk needs more than half the memory of the smallest worker."""
        client = _client()
        if client is None:
            return
        limits = [w.get("memory_limit") or 0 for w in client.scheduler_info(n_workers=-1)["workers"].values()]
        smallest = min((limit for limit in limits if limit > 0), default=0)
        q = 1 if self.y.ndim == 1 else int(self.y.shape[1])
        rows, p = max(self.sizes), int(self.X.shape[1])
        needed = 8.0 * (rows * (p + q + 2 * width) + width**2)
        if smallest and needed > smallest / 2:
            fitting = int((smallest / 2 / 8 - width**2) / (p + q + 2 * width))
            advice = "a smaller `n_components`, or workers with more memory"
            if fitting > 0:
                advice = f"`X.rechunk({{0: {fitting}}})`"
            raise MemoryError(
                f"A chunk of {rows} rows needs about {human_bytes(needed)} on a worker, more than half of the "
                f"{human_bytes(smallest)} of the smallest; use {advice}."
            )


def _drawn(number: int, X: Any, y: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of a chunk."""
    rng = np.random.default_rng([7, number])
    rows = np.sort(rng.permutation(X.shape[0])[:count])
    return np.asarray(X)[rows], np.asarray(y)[rows]


def _chunk(function: Any, number: int, X: Any, y: Any, place: tuple[str, str] | None) -> Any:
    """The work on a chunk; its result is written to a place, if given."""
    kept = None if place is None else Checkpoint(*place)
    known = None if kept is None else kept.load(number)
    if known is not None:
        return known
    with _own_threads():
        found = function(X, y, None)
    if kept is not None:
        kept.save(number, found)
    return found


def _known(folder: str, manifest: str, number: int) -> Any:
    """The result of a chunk from its place."""
    return Checkpoint(folder, manifest).load(number)


def lazy_answer(X: Any, function: Callable[[Any], Any]) -> Any:
    """`function` of each chunk of rows, a lazy Dask array; its form is that for one row."""
    _check_chunks(X, "X", matrix=True)
    form = function(np.zeros((1, int(X.shape[1])), dtype=X.dtype))
    chunks = (X.chunks[0], *((int(size),) for size in form.shape[1:]))
    dropped = range(form.ndim, 2)  # the columns of X, where there is a number for each row
    return X.map_blocks(partial(_answer, function), dtype=form.dtype, chunks=chunks, drop_axis=list(dropped))


def _answer(function: Callable[[Any], Any], X: Any) -> Any:
    with _own_threads():
        return function(X)


def rank_shards(
    candidates: Any, rank: Callable[[Any], tuple[Any, Any]], k: int | None, *, ascending: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The best candidates of all shards, chunks of a Dask array: those of each, merged by value, then by number."""
    _check_chunks(candidates, "candidates")
    delayed = _import_dask().delayed
    shared = delayed(rank, pure=True, traverse=False)
    starts = np.concatenate([[0], np.cumsum(candidates.chunks[0])])
    shards = [
        delayed(_shard, pure=True)(shared, shard, int(start))
        for shard, start in zip(candidates.to_delayed().ravel(), starts, strict=False)
    ]
    found = _compute(*shards)
    index, values = (np.concatenate([part[i] for part in found], axis=1) for i in range(2))
    order = np.lexsort((index, values if ascending else -values), axis=1)[:, :k]
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(values, order, axis=1)


def _shard(rank: Any, candidates: Any, start: int) -> tuple[np.ndarray, np.ndarray]:
    """The best of a shard, by their numbers among all candidates."""
    with _own_threads():
        index, values = rank(candidates)
    return np.asarray(index) + start, np.asarray(values)
