"""A fit that cannot fit into memory is refused before it is begun."""

import re

import numpy as np
import pytest

import iokr._memory
from iokr import IOKR, IOKRCV
from iokr.kernels import RBF
from iokr.manifolds import Laplacian

N = 300  # one Gram matrix: 720 kB


@pytest.fixture
def little(monkeypatch):
    """A machine with 100 kB left."""
    monkeypatch.setattr(iokr._memory, "available_memory", lambda like=None: 100_000)


@pytest.fixture
def large():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 2))


@pytest.mark.parametrize(
    "model",
    [IOKR(), IOKRCV(), IOKR(RBF(0.5), output_kernel=RBF(0.5)), IOKRCV(output_kernel=RBF(0.5)), IOKRCV(cv=3)],
    ids=["IOKR", "IOKRCV", "output kernel", "IOKRCV with output kernel", "folds"],
)
def test_a_dense_fit_is_refused_with_figures_and_ways_out(little, large, refuses, model):
    with refuses(MemoryError, "needs", "100 kB", "points") as caught:
        model.fit(*large)
    message = str(caught.value)
    figures = re.findall(r"([\d.]+) ?([kMGT]?)B\b", message)
    units = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    sizes = [float(number) * units[unit] for number, unit in figures]
    assert max(sizes) >= 0.9 * 8 * (N * 2 // 3) ** 2  # at least the Gram matrix (of two folds out of three)
    assert len(message.split()) > 15  # the ways out, not only figures


def test_a_semi_supervised_fit_is_refused(little, large, refuses):
    X, Y = large
    with refuses(MemoryError, "100 kB"):
        IOKR(manifold=Laplacian(0.1)).fit(X[:50], Y[:50], X_unlabeled=X[50:])


def test_nothing_large_is_allocated_before_the_refusal(little, large):
    import tracemalloc

    X, Y = np.repeat(large[0], 10, axis=0), np.repeat(large[1], 10, axis=0)
    IOKR(RBF(0.5)).fit(X[:5], Y[:5])  # imports
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError):
            IOKR(RBF(0.5)).fit(X, Y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * (10 * N) ** 2 / 20


def test_enough_memory_is_no_obstacle(monkeypatch, large):
    monkeypatch.setattr(iokr._memory, "available_memory", lambda like=None: 8 * N * N * 20)
    IOKR().fit(*large)
    IOKRCV().fit(*large)


def test_the_estimate_is_real():
    assert 10_000_000 < iokr._memory.available_memory() < 10**16
