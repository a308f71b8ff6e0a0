"""The problem on its labelled points: 𝒦, its resolvent, and the lift back to all points."""

from dataclasses import replace

import numpy as np
import pytest

from iokr.gram import SumGram
from iokr.losses import Huber
from iokr.solvers.iterative.reduced import DenseKernel, SpectralKernel, labeled_problem
from reference import assert_close
from samples import problem

A = np.random.default_rng(0).normal(size=(8, 3))


def reduced(kind="identity", **case):
    posed = replace(problem(kind, **case)[0], loss=Huber())
    return posed, labeled_problem(posed)


@pytest.mark.parametrize("kind", ["identity", "scaled", "full", "rank one"])
@pytest.mark.parametrize("semi", [False, True])
def test_products_and_resolvents(kind, semi):
    posed, labeled = reduced(kind, semi=semi)
    kernel = labeled.kernel(spectral=True)
    assert isinstance(kernel, SpectralKernel)
    S, KS = kernel.resolve(A, 0.4)
    assert_close(KS + 0.4 * S, A, 1e-12)
    assert_close(kernel.product(S), KS, 1e-11)
    # h = 𝒦a on the labelled points, whatever the unlabelled ones
    assert_close((posed.gram @ labeled.lift(A))[:8], kernel.product(A), 1e-8)
    if labeled.operator.scale is not None:
        dense = DenseKernel(labeled)
        assert_close(dense.product(A), kernel.product(A), 1e-11)
        for c in (0.4, 2.0, 0.4):
            assert_close(dense.resolve(A, c)[0], kernel.resolve(A, c)[0], 1e-10)


@pytest.mark.parametrize("semi", [False, True])
def test_kernels_that_do_not_separate(semi):
    posed, labeled = reduced(semi=semi)
    stacked = labeled_problem(replace(posed, gram=SumGram([posed.gram], 3)))
    assert_close(stacked.kernel(spectral=False).product(A), labeled.kernel(spectral=False).product(A), 1e-10)
    assert_close(posed.gram @ stacked.lift(A), posed.gram @ labeled.lift(A), 1e-8)


def test_rows_of_weight_zero_are_left_out():
    posed, labeled = reduced(weighted="zeros")
    assert labeled.Psi.shape == (6, 3)
    assert_close(labeled.lift(A[:6])[posed.weight == 0], np.zeros((2, 3)), 0)


def test_missing_entries_cost_nothing():
    posed, labeled = reduced(holes="entries")
    H = A.copy()
    before = labeled.objective(H, 0.0)
    H[~posed.mask] += 7.0
    assert_close(labeled.objective(H, 0.0), before, 1e-12)
