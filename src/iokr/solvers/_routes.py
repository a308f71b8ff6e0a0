"""Memory and time of fits, and alternatives for a fit that would exceed memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from iokr._array import Array, flops_per_second, packed_bytes
from iokr._system.memory import human_bytes
from iokr.gram.operators import IdentityMatrix
from iokr.gram.scalar import product_rows
from iokr.problem import Problem

__all__ = ["expected_time", "mixed_bytes", "preconditioned_bytes", "refusal", "slow_search", "ways_out"]

_SHARE = 0.8  # fraction of the free memory to use: the rest is for arrays that are not counted
_SIZES = (8000, 4000, 2000, 1000, 500, 200)  # ranks, and rows of an exact fit
_CHUNK = float(1 << 28)  # bytes of a few chunks of features
_EIGEN = 9.0  # an eigendecomposition takes the time of 9n³ flops of products
_LONG = 60.0  # seconds from which on a search says how long it takes
_QUICK = 4000  # rows below which a search is not timed
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


def slow_search(problem: Problem, factorizations: int) -> str | None:
    """The time of a search and cheaper routes, where it takes more than a minute; None for others."""
    gram = problem.gram
    n = gram.shape[0]
    if n < _QUICK or gram.operator is None or gram.products_only or gram.K.factor is not None:
        return None
    flops = _EIGEN * float(n) ** 3 * factorizations
    if flops < _LONG * flops_per_second(problem.like):
        return None
    fewer = expected_time(_EIGEN * 2000.0**3 * factorizations, problem.like)
    return (
        f"An exact search on {n} rows takes {expected_time(flops, problem.like)} here. Faster: some rows, drawn at "
        f"random, 2000 take {fewer}; or `Nystroem({gram.K.described}, n_components=1000)` as the kernel, approximate."
    )


def refusal(solver: object, problem: Problem) -> tuple[Callable[[], str], Callable[[float], str]]:
    """Functions for the texts of a `MemoryError`: the fit, and alternatives within the free memory."""
    return lambda: f"An exact fit of {problem.gram.shape[0]} points with {solver!r}", partial(ways_out, problem)


def ways_out(problem: Problem, free: float) -> str:
    """Alternatives for the same problem within `free` bytes, in the order in which to try them."""
    gram = problem.gram
    if not problem.loss.quadratic or problem.penalised or gram.operator is None or gram.products_only:
        return f"{_FEWER}, or a solver that needs less: `Cholesky()` needs the least of the exact ones."
    n = problem.n_labeled
    q = int(problem.Psi.shape[1])
    implicit = isinstance(problem.Psi, IdentityMatrix)
    ways = []
    rows = _most_rows(n, q, free)
    if rows is not None:
        ways.append(f"an exact fit of {rows} rows, drawn at random")
    rank = _largest_rank(lambda m: low_rank_bytes(n, m if implicit else q, m), n, free)
    if rank is not None and gram.K.factor is None and problem.mask is None:
        outputs = f" and `embedding=Nystroem(n_components={rank})`" if implicit else ""
        size = human_bytes(low_rank_bytes(n, rank if implicit else q, rank))
        kernel = f"`Nystroem({gram.K.described}, n_components={rank})`"
        ways.append(f"approximate, {kernel} as the kernel{outputs}, {size}, less with rows in chunks, `Stream((X, y))`")
    rank = _largest_rank(lambda m: preconditioned_bytes(n, q, m, problem.like), n, free)
    if rank is not None and not implicit and problem.mask is None:
        ways.append(f"`solver=ConjugateGradient(rank={rank})`, without storing K, slow, exact to 1e-8")
    ways.append("a machine or device with more memory")
    return f"To reduce memory, try in this order: {'; '.join(ways)}."


def _most_rows(n: int, q: int, free: float) -> int | None:
    """The most rows, at most half of n, of which a search has memory for: eigenvectors of K, and a few times Ψ."""
    return next((m for m in _SIZES if 2 * m <= n and 48.0 * m * m + 64.0 * m * min(q, m) <= _SHARE * free), None)


def _largest_rank(bytes_of: Callable[[int], float], n: int, free: float) -> int | None:
    """The largest rank with few columns for n rows that needs less than most of the free memory."""
    return next((m for m in _SIZES if 10 * m <= n and bytes_of(m) <= _SHARE * free), None)


def low_rank_bytes(n: int, q: int, m: int) -> float:
    """Φ and a copy, also of outputs of low rank, moments and eigenvectors, a few times Ψ."""
    return 16.0 * float(n * m) + 8.0 * float(6 * m * m + 5 * n * q) + min(24.0 * n * m, _CHUNK)
