"""From thousands of points to millions, each route beside the arithmetic that nobody can avoid.

Exact: one triangle of the Gram matrix beside the full one, a fit that does not fit, growth with n beside its law; on a
GPU one fit, leave-one-out and mixed precision. Low rank: landmarks, fits, every alpha, rows in chunks, Dask. A section
that needs a GPU or Dask names itself as skipped without it.
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
