"""Peak memory of one contender, measured in a process of its own.

`Footprint.measure` starts `python -m iokr_lab.bench.memory`, which builds the question, notes what the
process holds, lets the contender run, and prints by how much the process grew at its peak. Data,
libraries and the buffers of the BLAS are there before, so what is counted is what the contender itself
allocates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["Footprint"]


@dataclass(frozen=True)
class Footprint:
    """Whose memory is measured, doing what."""

    what: str  # for the table
    module: str
    question: str  # the function of the module that builds the `Question`
    contender: str  # in that question
    full: Mapping[str, Any]  # arguments of the question as it is measured
    small: Mapping[str, Any]  # for a first run that loads libraries
    n: int | None = None  # size of the Gram matrix, to state the memory in n² doubles

    def measure(self, n_threads: int) -> int:
        """Bytes by which a fresh process grows while the contender runs."""
        # Arrays of a megabyte or more are mapped one by one, so that what is freed is given back at once.
        child = subprocess.run(
            [sys.executable, "-m", "iokr_lab.bench.memory"],
            input=json.dumps({"footprint": asdict(self), "n_threads": n_threads}),
            env={**os.environ, "MALLOC_MMAP_THRESHOLD_": str(1 << 20)},
            capture_output=True,
            text=True,
            check=False,
        )
        if child.returncode:
            raise RuntimeError(f"the memory of {self.contender} could not be measured:\n{child.stderr}")
        return int(child.stdout.split()[-1])

    def row(self, size: int) -> dict[str, Any]:
        """A row of the table of memory."""
        doubles = None if self.n is None else size / (8 * self.n**2)
        return {"what": self.what, "contender": self.contender, "MB": size / 1e6, "n² doubles": doubles}


def _growth(footprint: Footprint, n_threads: int) -> int:
    """What `Footprint.measure` asks for, in this process."""
    from threadpoolctl import threadpool_limits

    build = getattr(import_module(footprint.module), footprint.question)
    with threadpool_limits(limits=n_threads):
        build(**footprint.small).find(footprint.contender).run()
        _fill_blas_buffers()
        run = build(**footprint.full).find(footprint.contender).run
        _forget_peak()
        before = _held("VmRSS")
        answer = run()
        peak = _held("VmHWM")
    del answer
    return max(peak - before, 0)


def _fill_blas_buffers() -> None:
    """Products large enough that both BLAS, NumPy's and SciPy's, have their working space."""
    import numpy as np
    from scipy.linalg.blas import dgemm

    A = np.ones((600, 600))
    np.matmul(A, A)
    dgemm(1.0, A, A)


def _forget_peak() -> None:
    """Let the peak that the system remembers be the present size, where it can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _held(field: str) -> int:
    """Bytes held now (VmRSS) or at most (VmHWM); where there is no /proc, at most in either case."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    task = json.load(sys.stdin)
    print(_growth(Footprint(**task["footprint"]), task["n_threads"]))
