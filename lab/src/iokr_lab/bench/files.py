"""Model files: saving and loading compared with the bytes and their hashes, and with the package safetensors."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from iokr import IOKR
from iokr.files import load, save
from iokr.kernels.vectors import Linear
from iokr_lab.bench.base import Benchmark, Contender, Deadline, Question, Target, sized

__all__ = ["BENCHMARK", "SMALL", "loading", "mapping", "saving"]

N = 400  # X alone has a gigabyte
P = 312_500
SMALL = {name: {"n": 20, "p": 500} for name in ("saving", "loading", "mapping")}
_CHUNK = 1 << 23


def _model(n: int, p: int, seed: int) -> tuple[Any, dict[str, np.ndarray], TemporaryDirectory[str]]:
    """A fitted model that is nearly all one array, the arrays it holds, and a folder for files."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    Y = rng.random((n, 8))
    model = IOKR(Linear(), intercept=False).fit(X, Y)
    return model, {"X": model.inputs_.points, "C": model.solution_.C}, TemporaryDirectory(prefix="iokr-bench-")


def _write(arrays: dict[str, np.ndarray], path: Path) -> int:
    """Write the bytes to the disk, then hash them."""
    with path.open("wb") as file:
        for array in arrays.values():
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            for start in range(0, len(flat), _CHUNK):
                file.write(flat[start : start + _CHUNK])
        file.flush()
        os.fsync(file.fileno())
    for array in arrays.values():
        sha256(np.ascontiguousarray(array).data).digest()
    return path.stat().st_size


def _read(path: Path) -> np.ndarray:
    """Read the bytes into memory, then hash them."""
    found = np.empty(path.stat().st_size // 8)
    with path.open("rb", buffering=0) as file:
        flat = found.view(np.uint8).data
        for start in range(0, len(flat), _CHUNK):
            file.readinto(flat[start : start + _CHUNK])
    sha256(flat).digest()
    return found


def saving(*, n: int = N, p: int = P, seed: int = 0) -> Question:
    """`save`, the bytes alone, the package."""
    model, arrays, folder = _model(n, p, seed)
    ours = Path(folder.name, "ours")
    theirs = Path(folder.name, "theirs")

    def write_floor() -> int:
        return _write(arrays, Path(folder.name, "floor"))  # the folder lives as long as the question

    def package() -> None:
        from safetensors.numpy import save_file

        plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(plain, theirs, metadata={name: sha256(array.data).hexdigest() for name, array in plain.items()})

    return Question(
        f"saving {8 * n * p / 1e9:.2g} GB",
        (
            Contender("save", lambda: save(model, ours), role="ours"),
            Contender("write and hash", write_floor, role="floor"),
            Contender("safetensors, and hash", package, needs="safetensors"),
        ),
        (Target("write and hash", at_most=1.5),),
        note="Floor: all bytes to the disk (fsync), then their SHA-256. The package does not wait for the disk.",
    )


def loading(*, n: int = N, p: int = P, seed: int = 0) -> Question:
    """`load`, the bytes alone, the package."""
    model, arrays, folder = _model(n, p, seed)
    ours = Path(folder.name, "ours")
    floor = Path(folder.name, "floor")
    save(model, ours)
    _write(arrays, floor)
    total = {"sum of X": float(np.sum(arrays["X"]))}
    size = arrays["X"].size

    def package() -> dict[str, np.ndarray]:
        from safetensors.numpy import load_file

        found = load_file(ours)
        for array in found.values():
            sha256(np.ascontiguousarray(array).data).digest()
        return dict(found)

    return Question(
        f"loading {8 * n * p / 1e9:.2g} GB",
        (
            Contender("load", lambda: (load(ours), folder)[0], lambda m: {"sum of X": m.inputs_.points.sum()}, "ours"),
            Contender("read and hash", lambda: _read(floor), lambda X: {"sum of X": X[:size].sum()}, "floor"),
            Contender("safetensors, and hash", package, lambda _: total, needs="safetensors"),
        ),
        (Target("read and hash", at_most=1.5),),
        note="Floor: the bytes into memory, then their SHA-256. Files are in the memory of the system.",
    )


def mapping(*, n: int = N, p: int = P, seed: int = 0) -> Question:
    """`load(mmap=True)`, which leaves the arrays where they are."""
    model, _, folder = _model(n, p, seed)
    path = Path(folder.name, "ours")
    save(model, path)
    return Question(
        f"mapping {8 * n * p / 1e9:.2g} GB",
        (Contender("load(mmap=True)", lambda: (load(path, mmap=True), folder)[0], role="ours"),),
        (Deadline("load(mmap=True)", at_most=0.05),),
    )


BENCHMARK = Benchmark("Models as files", sized(SMALL, saving, loading, mapping))
