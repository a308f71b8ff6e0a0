"""Kernels on structured objects: the Gram matrix of n objects, from the objects themselves.

Each is compared with the loop over pairs that one would write from its definition in plain Python, which is timed on a
few objects and multiplied by the number of pairs, and with GraKeL and tslearn where they have the kernel and are
installed. Baselines begin with objects in their own format. Kernels with compiled loops are timed without Numba, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util

from iokr_lab.bench.base import Benchmark, Question
from iokr_lab.bench.kernels.graphs import shortest_path, weisfeiler_lehman
from iokr_lab.bench.kernels.rankings import kendall, mallows, spearman
from iokr_lab.bench.kernels.series import global_alignment
from iokr_lab.bench.kernels.sets import hamming, jaccard
from iokr_lab.bench.kernels.strings import long_subsequence, mismatch, positional, spectrum, subsequence

__all__ = ["BENCHMARK", "QUESTIONS"]

QUESTIONS: dict[Callable[..., Question], bool] = {  # and whether loops are compiled
    spectrum: True,
    mismatch: True,
    subsequence: True,
    positional: True,
    kendall: False,
    spearman: False,
    mallows: False,
    jaccard: True,
    weisfeiler_lehman: True,
    shortest_path: True,
    global_alignment: True,
    long_subsequence: True,
    hamming: False,
}


def _questions(seed: int, quick: bool) -> list[Callable[[], Question]]:
    routes = [True, False] if util.find_spec("numba") else [False]
    return [
        partial(make, seed=seed, n=60 if quick else 1000, compiled=compiled)
        for make, has_loops in QUESTIONS.items()
        for compiled in (routes if has_loops else routes[:1])
    ]


BENCHMARK = Benchmark("Gram matrices of structured objects", _questions, n_threads=1)
