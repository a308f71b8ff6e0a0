"""The nearest of finitely many outputs; see also tests/estimators/test_ranking.py for whole rankings.

Tests of `iokr.data.candidates`.
"""

import numpy as np
import pytest
from scipy import sparse

import reference
from iokr import IOKR, CandidateSets, SharedCandidates
from iokr.decoders import Candidates
from iokr.decoders.candidates import rank_sets, rank_shared
from iokr.embeddings import Identity
from iokr.kernels import RBF, Linear
from reference import assert_close
from samples import vectors


def embedded(Y: np.ndarray) -> Identity:
    embedding = Identity()
    embedding.fit_transform(Y)
    return embedding


@pytest.mark.parametrize("k", [None, 1, 3, 40])
@pytest.mark.parametrize("by", ["distance", "score"])
def test_ranking_is_sorting(by, k):
    H, Y = vectors(7, 3, seed=1), vectors(40, 3, seed=2)
    indices, values = rank_shared(H, embedded(Y), Y, k, by=by)
    costs = reference.distances(H, Y) if by == "distance" else -reference.scores(H, Y)
    order = reference.ranking(costs, k)
    np.testing.assert_array_equal(indices, order)
    sign = 1.0 if by == "distance" else -1.0
    assert_close(values, sign * np.take_along_axis(costs, order, axis=1), 1e-12)


@pytest.mark.parametrize("k", [1, 2, 5, 100, 5000])
def test_blocks_of_candidates_with_many_ties(k):
    """Integer outputs: thousands of candidates, a handful of distances, ties across the borders of blocks."""
    rng = np.random.default_rng(3)
    Y = rng.integers(0, 3, size=(5000, 7)).astype(float)  # 2187 different ones, more than a block holds
    H = rng.integers(0, 3, size=(3, 7)).astype(float)
    indices, values = rank_shared(H, embedded(Y), Y, k, by="distance")
    distances = np.sum((H[:, None] - Y[None]) ** 2, axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(distances, order, axis=1))


@pytest.mark.parametrize("k", [None, 1, 4])
def test_sets_with_copies_and_ties(k):
    rng = np.random.default_rng(4)
    H = rng.integers(0, 2, size=(5, 4)).astype(float)
    sets = [rng.integers(0, 2, size=(size, 4)).astype(float) for size in (6, 1, 30, 3, 12)]
    indices, values = rank_sets(H, embedded(H), CandidateSets(sets), k, by="distance")
    for i, own in enumerate(sets):
        distances = np.sum((H[i] - own) ** 2, axis=1)
        order = np.argsort(distances, kind="stable")[:k]
        np.testing.assert_array_equal(indices[i], order)
        np.testing.assert_array_equal(values[i], distances[order])


def test_many_sets_of_many_candidates():
    """More distinct candidates than a block holds, in sets of random size."""
    rng = np.random.default_rng(5)
    pool = rng.normal(size=(3000, 2))
    H = rng.normal(size=(40, 2))
    choose = [rng.integers(0, 3000, size=int(size)) for size in rng.integers(1, 200, size=40)]
    indices, values = rank_sets(H, embedded(pool), CandidateSets([pool[rows] for rows in choose]), 3, by="distance")
    for i, rows in enumerate(choose):
        distances = np.sum((H[i] - pool[rows]) ** 2, axis=1)
        order = np.argsort(distances, kind="stable")[:3]
        assert_close(values[i], distances[order], 1e-9, atol=1e-12)
        assert_close(distances[indices[i]], distances[order], 1e-9, atol=1e-12)


def test_without_candidates_the_training_outputs_are_searched():
    X, Y = vectors(6, seed=6), vectors(6, 3, seed=7)
    model = IOKR(RBF(1.0), alpha=1e-6, decoder=Candidates()).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)


def test_default_order_is_by_distance_for_a_calibrated_loss():
    X, Y = vectors(6, seed=8), 5 * vectors(6, 3, seed=9)
    candidates = np.vstack([Y, 100 * Y])
    plain = IOKR(RBF(1.0), output_kernel=Linear(), alpha=0.1).fit(X, Y)
    by_distance = IOKR(RBF(1.0), output_kernel=Linear(), alpha=0.1, decoder=Candidates(by="distance")).fit(X, Y)
    by_score = IOKR(RBF(1.0), output_kernel=Linear(), alpha=0.1, decoder=Candidates(by="score")).fit(X, Y)
    np.testing.assert_array_equal(plain.rank(X, candidates)[0], by_distance.rank(X, candidates)[0])
    assert (by_score.rank(X, candidates)[0][:, 0] >= 6).all()
    assert (by_distance.rank(X, candidates)[0][:, 0] < 6).all()


@pytest.mark.parametrize("by", ["nearest", 3])
def test_bad_order(by):
    with pytest.raises(ValueError, match="by"):
        IOKR(RBF(1.0), output_kernel=Linear(), decoder=Candidates(by=by)).fit(vectors(4), vectors(4))


@pytest.mark.parametrize(
    ("candidates", "error"),
    [
        ([], ValueError),
        (np.empty((0, 3)), ValueError),
        (sparse.csr_matrix((0, 3)), ValueError),
        (SharedCandidates([]), ValueError),
        ("abc", TypeError),
        (5, TypeError),
        ({1, 2}, TypeError),
        (CandidateSets([[], [[1.0, 2, 3]], [[1.0, 2, 3]], [[1.0, 2, 3]]]), ValueError),
    ],
    ids=["list", "array", "sparse", "shared", "string", "number", "set", "one empty set"],
)
@pytest.mark.parametrize("method", ["predict", "rank", "scores", "distances"])
def test_no_candidates_or_none_at_all(method, candidates, error):
    model = IOKR(RBF(1.0), output_kernel=Linear()).fit(vectors(4), vectors(4, 3))
    with pytest.raises(error, match=r"[Cc]andidate"):
        getattr(model, method)(vectors(4), candidates)
