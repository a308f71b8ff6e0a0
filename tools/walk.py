"""How many named functions one `IOKR.fit` with an output kernel passes through, and in how many files.

Run as `python tools/walk.py`. Functions of modules whose name begins with an underscore (arrays, checks, progress) are
not counted, nor are lambdas and comprehensions. `--list` prints them in the order of their first call; above the
limits the exit code is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import iokr

ROOT = Path(iokr.__file__).parent
FUNCTIONS, FILES = 55, 18  # the most that a reader has to walk through


def walk(call: Callable[[], Any], *, private: bool = False) -> list[tuple[str, str]]:
    """(file, function) of every named function of the library that `call` enters, in the order of first entry."""
    seen: dict[tuple[str, str], None] = {}

    def enter(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        file, name = frame.f_code.co_filename, frame.f_code.co_qualname
        if not file.startswith(str(ROOT)) or frame.f_code.co_name.startswith("<"):
            return
        path = str(Path(file).relative_to(ROOT))
        if private or not any(part.startswith("_") for part in Path(path).parts):
            seen[path, name] = None

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen)


def fit_with_an_output_kernel(**options: bool) -> list[tuple[str, str]]:
    """The walk of `IOKR(RBF(), output_kernel=RBF()).fit(X, Y)`, after a first fit that imports what is needed."""
    import numpy as np

    from iokr import IOKR
    from iokr.kernels import RBF

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    IOKR(RBF(), output_kernel=RBF()).fit(X, Y)
    model = IOKR(RBF(), output_kernel=RBF())
    return walk(lambda: model.fit(X, Y), **options)


if __name__ == "__main__":
    found = fit_with_an_output_kernel(private="--private" in sys.argv)
    if "--list" in sys.argv:
        print("\n".join(f"{file:40} {name}" for file, name in found))
    files = len({file for file, _ in found})
    print(f"IOKR.fit with an output kernel: {len(found)} functions in {files} files (limits {FUNCTIONS}, {FILES})")
    sys.exit(1 if len(found) > FUNCTIONS or files > FILES else 0)
