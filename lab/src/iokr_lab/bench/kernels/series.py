"""Time series."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from iokr.kernels import GlobalAlignment
from iokr_lab.bench.base import Contender, Question
from iokr_lab.bench.kernels.question import Matrix, ask

__all__ = ["alignment_pair", "global_alignment"]


def global_alignment(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """All alignments of series of 30 points."""
    X = np.random.default_rng(seed).standard_normal((n, 30, 1)).cumsum(axis=1)

    def baseline() -> Any:
        return import_module("tslearn.metrics").cdist_gak(X, sigma=4.0)

    baselines = [Contender("tslearn", baseline, lambda K: {"K": K}, needs="tslearn")] if compiled else []
    title = f"(k) GlobalAlignment(4), {n} series of 30 points"
    kernel = GlobalAlignment(4.0)
    return ask(title, kernel, X, alignment_pair, 8, compiled=compiled, baselines=baselines)


def alignment_pair(x: Matrix, z: Matrix) -> float:
    """K(x, z) / √(K(x, x) K(z, z))."""
    return float(_alignments(x, z) / np.sqrt(_alignments(x, x) * _alignments(z, z)))


def _alignments(x: Matrix, z: Matrix, sigma: float = 4.0) -> float:
    g = np.exp(-((x - z[:, 0]) ** 2) / (2 * sigma**2))
    kappa = (g / (2 - g)).tolist()
    above = [1.0] + [0.0] * len(z)
    for row in kappa:
        here = [0.0]
        for q, local in enumerate(row):
            here.append(local * (above[q] + above[q + 1] + here[q]))
        above = here
    return above[-1]
