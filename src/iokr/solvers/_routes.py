"""Memory and time of fits, and alternatives for a fit that would exceed memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from iokr._array import Array, flops_per_second, is_cuda, packed_bytes
from iokr._system.memory import human_bytes
from iokr.gram.moments import ROWS
from iokr.gram.operators import IdentityMatrix
from iokr.gram.scalar import product_rows
from iokr.problem import Problem

__all__ = ["expected_time", "mixed_bytes", "preconditioned_bytes", "refusal", "ways_out"]

_SHARE = 0.8  # fraction of the free memory to use: the rest is for arrays that are not counted
_RANKS = (8000, 4000, 2000, 1000, 500, 200)
_STEPS = 30  # steps of preconditioned conjugate gradients, about
_PATIENCE = 60.0  # seconds that a proposed approximation may take, unless even the smallest takes longer
_CHUNK = float(1 << 28)  # bytes of a few chunks of features
_FEWER = "To reduce memory: fewer rows, or a machine or device with more memory"


def preconditioned_bytes(n: int, q: int, m: int, like: Array) -> float:
    """Φ, ΦᵀΦ and its factor, eight arrays of the size of C, and a panel of K: 8(nm + 2m² + 8nq + panel)."""
    return 8.0 * float(n * m + 2 * m * m + 8 * n * q + min(n, product_rows(n, like)) * n)


def mixed_bytes(n: int, q: int, like: Array) -> float:
    """A triangle of float32, a panel of K, and eight arrays of the size of C."""
    return packed_bytes(n, like, 2048, single=True) + 8.0 * float(min(n, product_rows(n, like)) * n + 8 * n * q)


def expected_time(flops: float, like: Array) -> str:
    """The time of this number of flops, as text, at the measured speed of products on the device of `like`."""
    seconds = flops / flops_per_second(like)
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"about {seconds / size:.2g} {unit}"
    return "less than a second" if seconds < 1 else f"about {seconds:.2g} s"


def refusal(solver: object, problem: Problem) -> tuple[Callable[[], str], Callable[[float], str]]:
    """Functions for the texts of a `MemoryError`: the fit, and alternatives within the free memory."""
    return lambda: f"An exact fit of {problem.gram.shape[0]} points with {solver!r}", partial(ways_out, problem)


def ways_out(problem: Problem, free: float) -> str:
    """Alternatives for the same problem within `free` bytes, with their memory and expected time."""
    gram, like = problem.gram, problem.like
    if not problem.loss.quadratic or problem.penalised or gram.operator is None or gram.products_only:
        return f"{_FEWER}, or a solver that needs less: `Cholesky()` needs the least of the exact ones."
    routes = [*_exact(problem, free), *_approximate(problem, free, is_cuda(like))]
    return f"{_FEWER}; or {'; '.join(routes)}." if routes else f"{_FEWER}."


def _exact(problem: Problem, free: float) -> Iterator[str]:
    """Exact ones without K in float64, for explicit and complete outputs."""
    n, q, like = problem.n_labeled, int(problem.Psi.shape[1]), problem.like
    if isinstance(problem.Psi, IdentityMatrix) or problem.mask is not None:
        return
    step = 2.0 * n * n * (q + (problem.gram.K.n_columns or 0))
    if is_cuda(like) and n >= 50_000 and mixed_bytes(n, q, like) <= _SHARE * free:
        time = expected_time(n**3 / 12 + 10 * step, like)
        yield f"exact to a stated residual, `solver=MixedPrecision()`, {human_bytes(mixed_bytes(n, q, like))}, {time}"
    ranks = [m for m in _RANKS if 10 * m <= n and preconditioned_bytes(n, q, m, like) <= _SHARE * free]
    if ranks:
        m = ranks[0]
        time = expected_time(_STEPS * step + 3.0 * n * m * m, like)
        size = human_bytes(preconditioned_bytes(n, q, m, like))
        yield f"without storing K, `solver=ConjugateGradient(rank={m})`, {size}, {time}, exact to 1e-8"


def _approximate(problem: Problem, free: float, cuda: bool) -> Iterator[str]:
    """A kernel of low rank, and implicit outputs of low rank; rows in memory or in chunks."""
    n, K, like = problem.n_labeled, problem.gram.K, problem.like
    if K.factor is not None or problem.mask is not None:
        return
    implicit, rate = isinstance(problem.Psi, IdentityMatrix), flops_per_second(like)
    for bytes_of, way in ((_low_rank_bytes, ""), (_chunk_bytes, " in chunks, `fit(Stream((X, y)))`,")):
        ranks = [m for m in _RANKS[1:] if 10 * m <= n and bytes_of(problem, m) <= _SHARE * free]
        if not ranks:
            continue
        flops = {m: 4.0 * n * m * m + 2.0 * n * m * (K.n_columns or 0) for m in ranks}
        m = next((m for m in ranks if flops[m] / rate <= _PATIENCE), ranks[-1])
        size, time = human_bytes(bytes_of(problem, m)), expected_time(flops[m], like)
        outputs = f" and `embedding=Nystroem(n_components={m})`" if implicit else ""
        less = f" ({human_bytes(_chunk_bytes(problem, m))} in chunks, `fit(Stream((X, y)))`)"
        yield (
            f"approximate, `Nystroem({K.described}, n_components={m})` as the kernel{outputs}, {size}{way}"
            f"{less if not way and _chunk_bytes(problem, m) < _low_rank_bytes(problem, m) else ''}"
            f"{'' if way else ','} {time}; leave-one-out (`IOKRCV`) shows its loss of accuracy"
        )
        return


def _low_rank_bytes(problem: Problem, m: int) -> float:
    """Bytes: Φ and a copy, also of outputs of low rank, moments and eigenvectors, a few times Ψ."""
    n, implicit = problem.n_labeled, isinstance(problem.Psi, IdentityMatrix)
    q = m if implicit else int(problem.Psi.shape[1])
    return 16.0 * float(n * m) + 8.0 * float(6 * m * m + 5 * n * q) + min(24.0 * n * m, _CHUNK)


def _chunk_bytes(problem: Problem, m: int) -> float:
    """8(6m² + 2mq + 3·chunk·(p + q + 2m)), for any n: the moments, their factors, and a chunk of rows a few times."""
    implicit = isinstance(problem.Psi, IdentityMatrix)
    q = m if implicit else int(problem.Psi.shape[1])
    rows = min(problem.n_labeled, ROWS)
    return 8.0 * float(6 * m * m + 2 * m * q + 3 * rows * ((problem.gram.K.n_columns or 0) + q + 2 * m))
