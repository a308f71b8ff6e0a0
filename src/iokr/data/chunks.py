"""Rows in chunks: from a function, from arrays that are sliced, from a Parquet file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from iokr._array import ahead, blocks, is_array, is_sparse, torch_device
from iokr._validation.arguments import check_choice, check_integer, check_same_length, check_weight
from iokr.data.frames import column_names, is_table
from iokr.data.objects import concat, n_objects, take
from iokr.gram.checkpoint import Checkpoint, fingerprint
from iokr.gram.moments import ROWS

__all__ = ["Chunk", "Stream", "as_source", "is_lazy", "row_blocks"]

_WORK = 1 << 24  # numbers of working memory when rows are evaluated in blocks

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, and the number of their chunk in a pass."""

    number: int
    X: Any
    y: Any
    weight: np.ndarray | None


class Stream:
    """Rows in chunks, for data that do not fit in memory: `IOKR(Nystroem(RBF(), 500)).fit(Stream(open))`, without y.

    Parameters
    ----------
    open : callable, tuple of arrays, or path
        A function without arguments that returns a new iterator of (X, y) or (X, y, weight), called once per pass; or
        (X, y) or (X, y, weight) with `shape` and slices (memory maps, arrays on any device, Zarr, h5py); or a Parquet
        file.
    landmarks : {"first", "reservoir"}, default="first"
        The rows to which kernel, bandwidth and outputs are fitted: the first chunk, which then has to represent the
        data, or a sample of all rows, four for each landmark, which takes one more pass.
    rows : int, default=None
        Number of rows of a chunk of arrays and files; None is 16384.
    y : str or list of str, default=None
        The columns of a Parquet file that are outputs; all others are inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR, Stream
    >>> from iokr.kernels import RBF, Nystroem
    >>> def chunks():
    ...     for seed in range(20):
    ...         X = np.random.default_rng(seed).uniform(0, 6, size=(500, 1))
    ...         yield X, np.sin(X[:, 0])
    >>> model = IOKR(Nystroem(RBF(1.0), n_components=20), alpha=1e-3).fit(Stream(chunks))
    >>> model.predict([[1.5]]).round(2)
    array([1.])
    """

    def __init__(self, open: Any, *, landmarks: str = "first", rows: int | None = None, y: Any = None) -> None:
        self.open = open
        self.landmarks = landmarks
        self.rows = rows
        self.y = y
        self.device: Any = None
        self._last: Any = None  # the iterator of the pass before

    n: int | None = None  # number of rows, which a stream does not know

    def to(self, device: Any) -> Stream:
        """The same rows, copied to a torch device, such as "cuda", a chunk at a time, so that the fit runs there.

        The next chunk is read and copied, through page-locked memory and on its own CUDA stream, while this one is
        processed. `model.predict` then takes tensors of that device.
        """
        moved = copy(self)
        moved.device = torch_device(device)
        return moved

    def __repr__(self) -> str:
        shown = self.open if isinstance(self.open, (str, Path)) else type(self.open).__name__
        return f"Stream({shown}, landmarks={self.landmarks!r})"

    def check(self) -> Callable[[], Iterator[Any]]:
        """The function that makes an iterator; raises if `open` has another type."""
        check_choice(self.landmarks, "landmarks", ("first", "reservoir"))
        rows = ROWS if self.rows is None else check_integer(self.rows, "rows", minimum=1)
        if isinstance(self.open, tuple):
            return lambda: _slices(self.open, rows)
        if isinstance(self.open, (str, os.PathLike)):
            return lambda: _parquet(Path(self.open), self.y, rows)
        if not callable(self.open):
            raise TypeError(
                "`open` must be a function that returns an iterator of (X, y), a tuple (X, y) of arrays, or the path "
                f"of a Parquet file, got {self.open!r:.60}."
            )
        return self.open  # type: ignore[no-any-return]

    def chunks(self) -> Iterator[Chunk]:
        """One pass: every chunk that has rows, checked against the first."""
        made = self.check()()
        first = None
        number = 0
        if not hasattr(made, "__iter__"):
            raise TypeError(f"`open()` must return an iterator of (X, y), got {made!r:.60}.")
        if made is self._last and hasattr(made, "__next__"):
            raise ValueError("`open()` must return a new iterator for each pass, but returned the same one again.")
        self._last = made
        chunks = made if self.device is None else ahead(made, self.device)
        for item in chunks:
            if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
                raise TypeError(
                    f"Chunk {number} of the stream must be (X, y) or (X, y, weight), got {type(item).__name__}."
                )
            X, y, weight = (*item, None)[:3]
            if n_objects(X, f"X of chunk {number}") == 0:
                continue
            n = check_same_length(X, y, f"X of chunk {number}", f"y of chunk {number}")
            form = _form(X), _form(y)
            first = first or form
            for name, this, before in zip(("X", "y"), form, first, strict=True):
                if this != before:
                    raise ValueError(
                        f"All chunks must have the same type and columns, but `{name}` of chunk {number} is {this}, "
                        f"that of the first chunk is {before}."
                    )
            yield Chunk(number, X, y, check_weight(weight, n, X))
            number += 1
        if number == 0:
            raise ValueError("The stream is empty: `open()` must return a new iterator of rows for each pass.")

    def sample(self, size: int) -> tuple[Any, Any, np.ndarray | None]:
        """(X, y, weight) to choose landmarks from: the first chunk, or `size` rows, each with the same probability."""
        chunks = self.chunks()
        kept = next(chunks)
        if self.landmarks == "first":
            return kept.X, kept.y, kept.weight
        keys = _keys(kept)
        order = np.argsort(keys)[:size]
        kept, keys = _rows(kept, np.sort(order)), keys[np.sort(order)]
        for chunk in chunks:
            new = _keys(chunk)
            both = np.concatenate([keys, new])
            best = np.sort(np.argsort(both)[:size])
            old, added = best[best < len(keys)], best[best >= len(keys)] - len(keys)
            if len(added):
                kept = _joined(_rows(kept, old), _rows(chunk, added))
            keys = both[best]
        return kept.X, kept.y, kept.weight

    def reduce(
        self,
        function: Callable[[Any, Any, Any], T],
        folds: int = 1,
        track: Callable[[Any], Any] = iter,
        checkpoint: Any = None,
        width: int = 0,
    ) -> list[T]:
        """Sums of `function(X, y, weight)` over the chunks, one for each number modulo `folds`, in one pass.

        With `checkpoint` the value of each chunk is stored in that folder, and not computed again after a restart.
        """
        sums: list[Any] = [None] * folds
        kept = None if checkpoint is None else Checkpoint(checkpoint, fingerprint(function))
        for chunk in track(self.chunks()):
            part: Any = None if kept is None else kept.load(chunk.number)
            if part is None:
                part = function(chunk.X, chunk.y, chunk.weight)
                if kept is not None:
                    kept.save(chunk.number, part)
            fold = chunk.number % folds
            sums[fold] = part if sums[fold] is None else sums[fold] + part
        missing = [fold for fold, value in enumerate(sums) if value is None]
        if missing:
            raise ValueError(f"cv={folds} needs as many chunks, but the stream has {missing[0]}; make chunks smaller.")
        return sums


def as_source(X: Any, y: Any) -> Any:
    """The source of rows in chunks, if X is a `Stream`, a Dask array or a stored array; None if it is in memory."""
    if isinstance(X, Stream):
        if y is not None:
            raise ValueError("`y` comes with the chunks of a `Stream`; leave it out.")
        return X
    if is_lazy(X):
        from iokr.gram.distributed import DaskSource

        return DaskSource(X, y)
    in_memory = is_array(X) or is_sparse(X) or is_table(X) or isinstance(X, (list, tuple))
    if not in_memory and len(getattr(X, "shape", ())) == 2 and hasattr(X, "dtype") and hasattr(X, "chunks"):
        # Zarr, h5py
        return Stream((X, y), landmarks="reservoir")
    return None


def is_lazy(X: Any) -> bool:
    """Whether X is a Dask collection."""
    return str(type(X).__module__).split(".")[0] == "dask"


def row_blocks(X: Any, width: int) -> list[slice] | None:
    """Blocks in which the rows of a large array, `width` numbers each once represented, are evaluated; None: all."""
    n = int(X.shape[0]) if is_array(X) or is_sparse(X) else 0
    height = max(1024, _WORK // max(width, 1))
    return list(blocks(n, height)) if n > height else None


def _form(X: Any) -> str:
    """Type and columns, which all chunks share."""
    names = column_names(X)
    if names is not None:
        return f"a table with columns {names[:20]}"
    if not hasattr(X, "shape"):
        return type(X).__name__
    return f"{type(X).__name__} with rows of shape {tuple(X.shape)[1:]}"


def _keys(chunk: Chunk) -> np.ndarray:
    """A random number for each row, which depends on the number of the chunk only."""
    return np.random.default_rng([7, chunk.number]).uniform(size=n_objects(chunk.X))


def _rows(chunk: Chunk, rows: np.ndarray) -> Chunk:
    weight = None if chunk.weight is None else chunk.weight[rows]
    return Chunk(chunk.number, take(chunk.X, rows), take(chunk.y, rows), weight)


def _joined(a: Chunk, b: Chunk) -> Chunk:
    weight = None
    if a.weight is not None or b.weight is not None:
        parts = [np.ones(n_objects(c.X)) if c.weight is None else c.weight for c in (a, b)]
        weight = np.concatenate(parts)
    return Chunk(0, _concat(a.X, b.X), _concat(a.y, b.y), weight)


def _concat(a: Any, b: Any) -> Any:
    if is_table(a):
        import pandas as pd

        return pd.concat([a, b]) if isinstance(a, pd.DataFrame) else concat(np.asarray(a), np.asarray(b))
    return concat(a, b)


def _slices(arrays: tuple[Any, ...], rows: int) -> Iterator[tuple[Any, ...]]:
    """The same rows of several arrays, aligned to the chunks of the first as stored."""
    if len(arrays) not in (2, 3) or any(len(getattr(a, "shape", ())) == 0 for a in arrays):
        raise TypeError("A stream of arrays must be (X, y) or (X, y, weight), each with `shape` and slices.")
    n = int(arrays[0].shape[0])
    if any(int(a.shape[0]) != n for a in arrays):
        raise ValueError(
            f"The arrays of a stream must have the same number of rows, got {[int(a.shape[0]) for a in arrays]}."
        )
    stored = getattr(arrays[0], "chunks", None)
    height = int(stored[0]) if stored and not isinstance(stored[0], tuple) else 1
    for part in blocks(n, max(height, rows // height * height)):
        yield tuple(a[part] if is_array(a) or is_sparse(a) else np.asarray(a[part]) for a in arrays)


def _parquet(path: Path, y: Any, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(X, y) from record batches."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError("A stream of a Parquet file needs pyarrow: pip install 'iokr[parquet]'.") from None
    outputs = [y] if isinstance(y, str) else list(y or ())
    if not os.path.isfile(path):
        raise FileNotFoundError(f"`open` must be the path of a Parquet file; {str(path)!a:.80} does not exist.")
    with ParquetFile(path) as file:
        names = file.schema_arrow.names
        missing = [name for name in outputs if name not in names]
        if not outputs or missing:
            raise ValueError(f"`y` must name columns of {path.name}, which has {names[:20]}, got {y!r:.60}.")
        inputs = [name for name in names if name not in outputs]
        for batch in file.iter_batches(batch_size=rows):
            frame = batch.to_pandas()
            yield frame[inputs].to_numpy(), frame[y if isinstance(y, str) else outputs].to_numpy()
