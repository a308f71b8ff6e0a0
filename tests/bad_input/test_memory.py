"""A fit that cannot fit into memory is refused before it is begun.

Tests of `iokr._memory`.
"""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array

import iokr._memory
from iokr import IOKR, IOKRCV, LinkPredictor, OutputKernelTree
from iokr.embeddings import Eigen
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr.rivals import PKMR

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


def ring(n):
    """Every node linked to the next."""
    return csr_array(diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]))


FITS = {
    "IOKR": lambda X, Y: IOKR(RBF(0.5)).fit(X, Y),
    "output kernel": lambda X, Y: IOKR(RBF(0.5), output_kernel=RBF(0.5)).fit(X, Y),
    "eigenbasis": lambda X, Y: IOKR(RBF(0.5), output_kernel=RBF(0.5), embedding=Eigen()).fit(X, Y),
    "conditional covariance": lambda X, Y: IOKR(ConditionalCovariance(RBF(0.5)), alpha=0.1).fit(X, Y),
    "trees": lambda X, Y: OutputKernelTree(RBF(0.5)).fit(X, Y),
    "links": lambda X, Y: LinkPredictor(RBF(0.5)).fit(X, ring(len(X))),
    "rival": lambda X, Y: PKMR(RBF(0.5)).fit(X, ring(len(X))),
}


@pytest.mark.parametrize("name", FITS)
def test_nothing_large_is_allocated_before_the_refusal(monkeypatch, name):
    import tracemalloc

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(10 * N, 3)), rng.normal(size=(10 * N, 2))
    FITS[name](X[:5], Y[:5])  # imports
    monkeypatch.setattr(iokr._memory, "available_memory", lambda like=None: 100_000)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"needs about .* are available"):
            FITS[name](X, Y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * (10 * N) ** 2 / 20


def test_enough_memory_is_no_obstacle(monkeypatch, large):
    monkeypatch.setattr(iokr._memory, "available_memory", lambda like=None: 8 * N * N * 20)
    IOKR().fit(*large)
    IOKRCV().fit(*large)
    IOKR(Covariance(RBF(0.5)), output_kernel=RBF(0.5)).fit(*large)


def test_the_estimate_is_real():
    assert 10_000_000 < iokr._memory.available_memory() < 10**16
