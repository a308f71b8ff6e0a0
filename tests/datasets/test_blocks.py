"""Graphs of blocks: what was asked for is there."""

import numpy as np
import pytest

from iokr.datasets import make_blocks


def test_blocks_divide_as_x_grows():
    X, y = make_blocks(x=[0.7, 1.0, 2.0, 5.5], seed=3)
    assert X.shape == (4, 1)
    assert [set(labels) for _, labels in y[:3]] == [{0.0}, {0.0}, {0.0, 1.0}]
    assert len(set(y[3][1])) == 6
    for A, labels in y:
        np.testing.assert_array_equal(A, A.T)
        assert A.shape == (40, 40) and labels.dtype == float and not A.diagonal().any()
    A, labels = y[2]
    within = labels[:, None] == labels[None, :]
    assert A[within & ~np.eye(40, dtype=bool)].mean() > 0.8 > 0.05 > A[~within].mean()


def test_halfway_the_parts_are_joined_by_about_half_of_the_pairs():
    """At x = 1.5 two parts of a block: 0.9 − 0.89/2 of the pairs between them."""
    shares = []
    for seed in range(20):
        (A, labels) = make_blocks(x=[1.5], seed=seed)[1][0]
        new = labels == 1.0  # half of the new part
        assert 0 < new.sum() < 20
        shares.append(A[np.ix_(new, ~new)].mean())
    assert 0.45 < np.mean(shares) < 0.7


def test_directed_and_seeds():
    _, y = make_blocks(3, directed=True, seed=1)
    assert all((A != A.T).any() for A, _ in y)
    for a, b in zip(y, make_blocks(3, directed=True, seed=1)[1], strict=True):
        np.testing.assert_array_equal(a[0], b[0])
    X, _ = make_blocks(200)
    assert X.min() >= 0.5 and X.max() <= 5.5


def test_refusals():
    with pytest.raises(ValueError, match="`x` must not be negative"):
        make_blocks(x=[-1.0])
    with pytest.raises(ValueError, match="`n_nodes` must exceed the largest `x`"):
        make_blocks(x=[9.0], n_nodes=9)
    with pytest.raises(ValueError, match="`n` must be an integer"):
        make_blocks(0)
