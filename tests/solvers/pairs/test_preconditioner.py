"""Preconditioners for ridge on pairs: exact at low rank, symmetric, positive, and worth it."""

import numpy as np
import pytest

from iokr.gram.pairs.gram import PairGram
from iokr.solvers.iterative.krylov import restarted
from iokr.solvers.pairs.spectrum import low_rank_preconditioner, pair_preconditioner
from pair_problems import FORMS, gram, network
from reference import assert_close


@pytest.mark.parametrize("ordered", [False, True])
def test_the_low_rank_preconditioner_is_the_inverse_when_the_rank_is_low(ordered, route):
    """K of rank 3 has 6 (9) products of eigenvectors, all of which are taken."""
    rng = np.random.default_rng(0)
    _, pairs, _, _ = network(2, m=20, n=120)
    V = rng.normal(size=(20, 3))
    pair_gram, shift = PairGram(V @ V.T, pairs, ordered=ordered), rng.uniform(0.5, 2, size=120)
    r = rng.normal(size=120)
    exact = np.linalg.solve(pair_gram.dense() + np.diag(shift), r)
    assert_close(low_rank_preconditioner(pair_gram, shift)(r), exact, 1e-8)


@pytest.mark.parametrize(("mix", "ordered"), FORMS)
@pytest.mark.parametrize("part", ["some", "nearly all"])
def test_preconditioners_are_symmetric_positive_and_save_steps(mix, ordered, part):
    X = np.random.default_rng(3).normal(size=(30, 3))
    pairs = np.array([(i, j) for i in range(30) for j in range(30) if i < j or (ordered and i != j)])
    if part == "some":
        pairs = pairs[np.random.default_rng(0).permutation(len(pairs))[: len(pairs) // 2]]
    pair_gram, shift = PairGram(gram(X), pairs, mix=mix, ordered=ordered), np.full(len(pairs), 0.01)
    M = pair_preconditioner(pair_gram, shift)
    inverse = np.stack([M(e) for e in np.eye(len(pairs))])
    assert_close(inverse, inverse.T, 1e-9)
    assert np.linalg.eigvalsh(inverse)[0] > 0
    y = np.random.default_rng(1).normal(size=(len(pairs), 1))

    def steps(precondition):
        G = pair_gram.dense()
        return restarted(lambda P: G @ P + shift[:, None] * P, y, precondition, 1e-8, 5000)[2]

    if mix < 1 or part == "nearly all":
        assert steps(lambda R: M(R[:, 0])[:, None]) < 0.6 * steps(lambda R: R)
