"""How much resident memory grows by one fit with an output kernel, once it is over.

Run as `python tools/resident.py [n]`; n is 4000 unless given. Two fits are measured, after one of 50 points that
imports what is needed. The first also pays for the work space of LAPACK, which its library keeps (9 to 12 MB, by the
number of threads); the second is what a model keeps. It fails where either is above 1.1 times the bytes of inputs,
outputs and coefficients.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np

from iokr import IOKR
from iokr.kernels import RBF

LIMIT = 1.1  # times inputs + outputs + C


def resident() -> int:
    """Bytes of this process in physical memory (Linux)."""
    gc.collect()
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def growth(n: int) -> tuple[list[int], int]:
    """Bytes by which each of two fits of n points grows the process, and bytes of inputs, outputs and coefficients."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, 10)), rng.normal(size=(n, 5))
    models = [IOKR(RBF(), output_kernel=RBF()).fit(X[:50], Y[:50])]
    grown = []
    for _ in range(2):
        before = resident()
        models.append(IOKR(RBF(), output_kernel=RBF()).fit(X, Y))
        grown.append(resident() - before)
    return grown, X.nbytes + Y.nbytes + models[-1].solution_.C.nbytes


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    (first, second), needed = growth(n)
    print(
        f"A fit of {n} points with an output kernel: {needed / 1e6:.1f} MB of inputs, outputs and coefficients; "
        f"{first / 1e6:.1f} MB at first ({first / needed:.2f} times), then {second / 1e6:.1f} MB "
        f"({second / needed:.2f} times; limit {LIMIT})"
    )
    sys.exit(max(first, second) > LIMIT * needed)
