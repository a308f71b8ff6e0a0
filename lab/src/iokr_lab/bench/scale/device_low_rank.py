"""Low rank on a CUDA device through torch: fits and loops by hand, rows from the host; the refusal with CuPy."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module, util
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from iokr import IOKR, IOKRCV, Stream
from iokr.apps.report import Figure, Table
from iokr.kernels.nystroem import Nystroem
from iokr.kernels.vectors import RBF
from iokr_lab.bench.base import Run, Section, Verdict
from iokr_lab.bench.scale.device import ALPHA, GAMMA, P, Q, cuda_missing, measured, vectors

__all__ = ["SECTIONS", "chunk_floor", "pivoted_floor", "uniform_floor"]

CHUNK = 16_384
ALPHAS = tuple(np.logspace(-6, 3, 25))
_FREE = "The tensors of a fit before are free again when the next one begins, as in any program that fits twice."


def _kernel(X: Any, Z: Any) -> Any:
    """exp(−γ‖x − z‖²), in place."""
    K = X @ (2 * GAMMA * Z).T
    K -= (GAMMA * (X * X).sum(1))[:, None]
    K -= (GAMMA * (Z * Z).sum(1))[None, :]
    return K.exp_()


def _factored(G: Any, B: Any) -> Any:
    """(G + αI)⁻¹B."""
    import torch

    G.diagonal().add_(ALPHA)
    return torch.cholesky_solve(B, torch.linalg.cholesky(G))


def chunk_floor(chunks: Any, points: Any, q: int) -> Any:
    """(ΦᵀΦ + αI)⁻¹ΦᵀY from chunks on the device: features, whitening, products, one factor, in torch by hand."""
    import torch

    L = torch.linalg.cholesky(_kernel(points, points))
    m = points.shape[0]
    G = torch.zeros(m, m, dtype=L.dtype, device=L.device)
    B = torch.zeros(m, q, dtype=L.dtype, device=L.device)
    for X, Y in chunks:
        Phi = torch.linalg.solve_triangular(L, _kernel(X, points).T, upper=False)
        G.addmm_(Phi, Phi.T)
        B.addmm_(Phi, Y)
    return _factored(G, B)


def uniform_floor(X: Any, Y: Any, m: int, seed: int) -> Any:
    """`chunk_floor` of rows on the device, with landmarks drawn uniformly."""
    import torch

    chosen = torch.asarray(np.random.default_rng(seed).permutation(X.shape[0])[:m], device=X.device)
    chunks = ((X[i : i + CHUNK], Y[i : i + CHUNK]) for i in range(0, X.shape[0], CHUNK))
    return chunk_floor(chunks, X[chosen], int(Y.shape[1]))


def pivoted_floor(X: Any, Y: Any, m: int, seed: int) -> Any:
    """Randomly pivoted Cholesky in blocks of m/20, whose features are the fit's; in torch by hand."""
    import torch

    generator = torch.Generator(X.device).manual_seed(seed)
    F = X.new_empty(X.shape[0], m)
    left = X.new_ones(X.shape[0])
    found = 0
    while found < m:
        J = torch.multinomial(left.clamp(min=0), min(max(50, m // 20), m - found), generator=generator)
        columns = _kernel(X, X[J])
        columns -= F[:, :found] @ F[J, :found].T
        own = (columns[J] + columns[J].T) / 2
        own.diagonal().add_(1e-10)
        new = torch.linalg.solve_triangular(torch.linalg.cholesky(own), columns.T, upper=False).T
        F[:, found : found + len(J)] = new
        left -= (new * new).sum(1)
        found += len(J)
    return _factored(F.T @ F, F.T @ Y)


def _taking_turns(rounds: int, *works: Callable[[], Any]) -> list[tuple[float, int]]:
    """Median seconds of each, after one run that does not count, and bytes at its peak."""
    import torch

    held = [measured(work)[2] for work in works]
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, own in zip(works, times, strict=True):
            torch.cuda.synchronize()
            start = perf_counter()
            answer = work()
            torch.cuda.synchronize()
            own.append(perf_counter() - start)
            del answer
    return [(median(own), size) for own, size in zip(times, held, strict=True)]


def fits(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """One alpha with landmarks drawn uniformly and by pivots, and 25 alphas with leave-one-out."""
    tables = []
    verdicts = []
    n, ranks = (3000, (60, 100)) if run.quick else (100_000, (1000, 2000))
    X, Y = vectors(n, run.seed)
    for m in ranks:
        run.step(f"low rank on the device, m = {m}")
        uniform = Nystroem(RBF(GAMMA), m, pivots="uniform", random_state=run.seed)
        random = Nystroem(RBF(GAMMA), m, pivots="random", random_state=run.seed)
        names = ("IOKR, uniform", "floor, uniform", "IOKR, random pivots", "floor, random pivots", "25 alphas + LOO")
        found = _taking_turns(
            run.repeat,
            partial(IOKR(uniform, alpha=ALPHA, intercept=False).fit, X, Y),
            partial(uniform_floor, X, Y, m, run.seed),
            partial(IOKR(random, alpha=ALPHA, intercept=False).fit, X, Y),
            partial(pivoted_floor, X, Y, m, run.seed),
            partial(IOKRCV(uniform, alphas=ALPHAS, intercept=False).fit, X, Y),
        )
        floors = (found[1], found[1], found[3], found[3], found[1])
        rows = [
            {"contender": name, "seconds": seconds, "GiB": held / 2**30, "× its floor": seconds / floor}
            for name, (seconds, held), (floor, _) in zip(names, found, floors, strict=True)
        ]
        tables.append(Table(f"low rank on a GPU, n = {n}, m = {m}, q = {Q}", rows, f"{_FREE} {_apart(X, Y, uniform)}"))
        ratio = found[0][0] / found[1][0]
        verdicts.append(Verdict(f"low rank on a GPU, m = {m}: time / floor", ratio, at_most=1.3))
    return tables, verdicts


def _apart(X: Any, Y: Any, kernel: Nystroem) -> str:
    """How far our h is from that of the loops by hand, with our landmarks."""
    model = IOKR(kernel, alpha=ALPHA, intercept=False).fit(X, Y)
    points = X[model.kernel_.pivots_]
    new = X[:1000]
    import torch

    D = chunk_floor([(X, Y)], points, int(Y.shape[1]))
    L = torch.linalg.cholesky(_kernel(points, points))
    H = torch.linalg.solve_triangular(L, _kernel(new, points).T, upper=False).T @ D
    return f"h differs from that by hand by {float((model.predict(new) - H).norm() / H.norm()):.1e}."


def _pinned(X: np.ndarray, Y: np.ndarray) -> Any:
    """Chunks by way of page-locked buffers, the next on a second stream while this one is worked on; by hand."""
    torch: Any = import_module("torch")
    side = torch.cuda.Stream()
    main = torch.cuda.current_stream()
    kept = [[torch.empty(CHUNK, A.shape[1], dtype=torch.float64, pin_memory=True) for A in (X, Y)] for _ in range(2)]

    def begin(i: int, k: int) -> list[Any]:
        moved = []
        for A, buffer in zip((X, Y), kept[k], strict=True):
            part = A[i : i + CHUNK]
            buffer[: len(part)].numpy()[:] = part
            with torch.cuda.stream(side):
                moved.append(buffer[: len(part)].to("cuda", non_blocking=True))
        return moved

    coming = begin(0, 0)
    k = 0
    for i in range(0, len(X), CHUNK):
        main.wait_stream(side)
        now = coming
        for tensor in now:
            tensor.record_stream(main)
        if i + CHUNK < len(X):
            side.synchronize()
            k = 1 - k
            coming = begin(i + CHUNK, k)
        yield now


def _stream_floor(X: np.ndarray, Y: np.ndarray, points: Any) -> Any:
    """`chunk_floor` of rows on the host."""
    return chunk_floor(_pinned(X, Y), points, Q)


def streams(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Rows a second from host memory, memory of the device and its growth with n."""
    import torch

    m, sizes = (100, (30_000, 60_000)) if run.quick else (2000, (100_000, 1_000_000))
    rng = np.random.default_rng(run.seed)
    X = rng.standard_normal((sizes[-1], P))
    Y = np.sin(X @ rng.standard_normal((P, Q)) / P**0.5) + 0.3 * rng.standard_normal((sizes[-1], Q))
    parts: dict[str, Any] = {"alpha": ALPHA, "intercept": False}
    drawn = IOKR(Nystroem(RBF(GAMMA), m, pivots="uniform", random_state=run.seed), **parts)
    pivoted = IOKR(Nystroem(RBF(GAMMA), m, pivots="random", random_state=run.seed), **parts)
    rows = []
    peaks = []
    rate = 0.0
    for n in sizes:
        run.step(f"stream of {n} rows to the device")
        points = torch.asarray(X[rng.permutation(CHUNK)[:m]], device="cuda")
        source = Stream((X[:n], Y[:n]), rows=CHUNK).to("cuda")
        found = _taking_turns(
            run.repeat if n < sizes[-1] else min(run.repeat, 3),
            partial(drawn.fit, source),
            partial(pivoted.fit, source),
            partial(_stream_floor, X[:n], Y[:n], points),
        )
        peaks.append(found[0][1])
        rate = n / found[0][0]
        names = ("IOKR, landmarks drawn uniformly", "IOKR, random pivots", "floor, landmarks given")
        for who, (seconds, size) in zip(names, found, strict=True):
            rows.append({"contender": who, "n": n, "seconds": seconds, "rows a second": n / seconds, "MB": size / 1e6})
    bound = 8.0 * (4 * m * m + 3 * CHUNK * (P + Q + 2 * m))
    note = (
        f"From host memory, chunks of {CHUNK} rows. The bound is 8(4r² + 3·chunk·(p + q + 2r)) = {bound / 1e6:.0f} MB."
    )
    return [Table(f"rows in chunks to a GPU, m = {m}, q = {Q}", rows, note)], [
        Verdict(f"stream to a GPU, {sizes[-1]} rows: million rows a second", rate / 1e6, at_least=1.5),
        Verdict("stream to a GPU: peak / 8(4r² + 3·chunk·(p + q + 2r))", peaks[-1] / bound, at_most=1.0),
        Verdict("stream to a GPU: growth of the peak, ten times the rows", peaks[-1] / peaks[0], at_most=1.05),
    ]


def cupy_missing() -> str | None:
    """Why nothing can be run through CuPy, or None."""
    if util.find_spec("cupy") is None:
        return "CuPy is not installed"
    return cuda_missing()


_REFUSAL = """
from time import perf_counter
import numpy as np, cupy
from iokr import IOKR
from iokr.kernels import RBF
X, Y = cupy.asarray(np.random.default_rng(0).normal(size=(400_000, 10))), cupy.asarray(np.zeros((400_000, 8)))
cupy.cuda.runtime.deviceSynchronize()
for _ in range(2):
    start = perf_counter()
    try:
        IOKR(RBF(0.1), intercept=False).fit(X, Y)
    except MemoryError as error:
        print(perf_counter() - start, str(error).replace(chr(10), " "), sep="\\t")
"""


def refusal(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """The first refusal of a fresh process that never compiled anything, and the second."""
    run.step("refusal through CuPy")
    with TemporaryDirectory() as folder:
        child = subprocess.run(
            [sys.executable, "-c", _REFUSAL],
            env={**os.environ, "CUPY_CACHE_DIR": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [line.split("\t") for line in child.stdout.splitlines()]
    if child.returncode or len(lines) != 2:
        raise RuntimeError(f"the refusal through CuPy could not be timed:\n{child.stderr[-2000:]}")
    first, second = (float(line[0]) for line in lines)
    rows = [{"refusal": "the first", "seconds": first}, {"refusal": "the second", "seconds": second}]
    return [Table("an exact fit of 400 000 points is refused, CuPy", rows, f"The message: {lines[0][1]}")], [
        Verdict("refusal through CuPy, n = 400 000: seconds of the first", first, at_most=1.0)
    ]


SECTIONS = (
    Section("low rank on a GPU", fits, cuda_missing),
    Section("rows in chunks to a GPU", streams, cuda_missing),
    Section("refusal through CuPy", refusal, cupy_missing),
)
