"""Covariance operators of outputs that are known through their kernel only: exact in O(n³), and low rank.

(a) Covariance and (b) conditional covariance, one fit and its two eigendecompositions and products.
(c, d) One more λ. (e) Twice the points. (f) The low-rank option and (g) the same on many points. Then peak memory. The
route that was published with these operators, incomplete Cholesky on both sides and a system of size (m₁m₂)², is shown
with the first; it and the low-rank option are approximate, so their errors are printed.
"""

from __future__ import annotations

from collections.abc import Sequence

from iokr_lab.bench.base import Benchmark, Verdict, sized
from iokr_lab.bench.covariance.exact import conditional, covariance, one_more, one_more_conditional, twice
from iokr_lab.bench.covariance.low_rank import low_rank, many_points
from iokr_lab.bench.memory import Footprint

__all__ = ["BENCHMARK", "SMALL", "footprints", "memory_verdicts"]

SMALL: dict[str, dict[str, int]] = {
    "covariance": {"n": 80, "rank": 8},
    "conditional": {"n": 80},
    "one_more": {"n": 80},
    "one_more_conditional": {"n": 80},
    "twice": {"n": 60},
    "low_rank": {"n": 120, "rank": 40},
    "many_points": {"n": 400, "rank": 20},
}


def footprints(seed: int, quick: bool) -> list[Footprint]:
    def of(question: str, contender: str, what: str, n: int, small: int) -> Footprint:
        full = {**SMALL[question], "seed": seed, "n": small if quick else n}
        if question == "many_points" and not quick:
            full["rank"] = 100
        return Footprint(what, __name__, question, contender, full, {**SMALL[question], "seed": seed}, full["n"])

    n, many = (200, 400) if quick else (2000, 20_000)
    return [
        of("covariance", "IOKR(Covariance)", f"covariance, n = {n}", n, n),
        of("conditional", "IOKR(ConditionalCovariance)", f"conditional covariance, n = {n}", n, n),
        of("many_points", "LowRank, covariance", f"low rank, n = {many}", many, many),
    ]


def memory_verdicts(sizes: Sequence[int]) -> list[Verdict]:
    """n² doubles of the exact fits."""
    doubles = 8 * 2000**2
    exact, conditional_, many = sizes
    return [
        Verdict("memory of Covariance, n² doubles", exact / doubles, at_most=8.0),
        Verdict("memory of ConditionalCovariance, n² doubles", conditional_ / doubles, at_most=8.0),
        Verdict("memory of LowRank at n = 20 000, n² doubles", many / (8 * 20_000**2), at_most=0.1),
    ]


_QUESTIONS = covariance, conditional, one_more, one_more_conditional, twice, low_rank, many_points
BENCHMARK = Benchmark("Covariance operators", sized(SMALL, *_QUESTIONS), footprints, memory_verdicts)
