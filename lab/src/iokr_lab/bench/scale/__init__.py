"""From thousands of points to millions; each route is compared with the arithmetic that nobody can avoid.

Exact: one triangle of the Gram matrix compared with the full one, a fit that exceeds memory, growth with n and its law;
on a GPU one fit, leave-one-out and mixed precision. Low rank: landmarks, fits, every alpha, rows in chunks, Dask. A
section that needs a GPU or Dask is listed as skipped without it.
A file of this folder lists its sections in `SECTIONS`.
"""

from __future__ import annotations

from iokr_lab.bench.base import Benchmark
from iokr_lab.bench.scale import device, device_low_rank, exact, limits, low_rank, streams

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark(
    "Scale",
    lambda seed, quick: (),
    sections=(
        *exact.SECTIONS,
        *limits.SECTIONS,
        *low_rank.SECTIONS,
        *streams.SECTIONS,
        *device.SECTIONS,
        *device_low_rank.SECTIONS,
    ),
)
