"""Scores, distances, rankings and predictions, against explicit features and plain sorting."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import reference
from iokr import IOKR, CandidateSets, SharedCandidates
from iokr.decoders import Candidates, Threshold
from iokr.embeddings import Eigen, Implicit
from iokr.kernels import RBF, Delta, FromFunction, Linear, Polynomial, Precomputed, Tanimoto
from reference import Ridge, assert_close, ranking
from samples import GAMMA, each_intercept, regression

EMBEDDINGS = [None, Implicit(), Eigen()]


def unnormalised(seed: int = 41, c: int = 12, m: int = 6):
    """Outputs in the plane under (y·z + 1)², and candidates of very different sizes."""
    s = regression(seed, n=10, m=m, d=2)
    candidates = s.rng.normal(size=(c, 2)) * np.linspace(0.1, 3, c)[:, None]
    s.candidates = candidates[s.rng.permutation(c)]
    s.psi, s.psi_candidates = features(s.Y), features(s.candidates)
    s.H = Ridge(s.K, s.psi, 0.1).values(s.K_new)
    return s


def features(Y: np.ndarray) -> np.ndarray:
    a, b = np.asarray(Y, dtype=float).T
    r = np.sqrt(2)
    return np.column_stack([np.ones(len(a)), r * a, r * b, a**2, b**2, r * a * b])


def fitted(s, embedding=None, by=None) -> IOKR:
    decoder = None if by is None else Candidates(by=by)
    model = IOKR(RBF(GAMMA), output_kernel=Polynomial(2, 1.0, 1.0), embedding=embedding, alpha=0.1, decoder=decoder)
    return model.fit(s.X, s.Y)


@pytest.mark.parametrize("k", [None, 1, 4, 12, 50])
@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
def test_ranking_by_distance(embedding, k):
    s = unnormalised()
    distances = reference.distances(s.H, s.psi_candidates)
    assert reference.well_separated(distances)
    order = ranking(distances, k)
    indices, values = fitted(s, embedding).rank(s.X_new, s.candidates, k=k)
    assert indices.shape == values.shape == (6, min(k or 12, 12))
    np.testing.assert_array_equal(indices, order)
    assert_close(values, np.take_along_axis(distances, order, axis=1), 1e-9)


@pytest.mark.parametrize("k", [None, 1, 5])
@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
def test_ranking_by_score(embedding, k):
    s = unnormalised()
    scores = reference.scores(s.H, s.psi_candidates)
    order = ranking(-scores, k)
    indices, values = fitted(s, embedding, by="score").rank(s.X_new, s.candidates, k=k)
    np.testing.assert_array_equal(indices, order)
    assert_close(values, np.take_along_axis(scores, order, axis=1), 1e-9)


def test_score_and_distance_rank_differently_when_the_output_kernel_is_not_normalised():
    """So leaving out k_Y(y, y) cannot go unseen."""
    s = unnormalised()
    by_distance = ranking(reference.distances(s.H, s.psi_candidates), 1)
    by_score = ranking(-reference.scores(s.H, s.psi_candidates), 1)
    assert (by_distance != by_score).any()
    np.testing.assert_array_equal(fitted(s, by="distance").rank(s.X_new, s.candidates, k=1)[0], by_distance)
    np.testing.assert_array_equal(fitted(s, by="score").rank(s.X_new, s.candidates, k=1)[0], by_score)


@pytest.mark.parametrize("by", ["distance", "score"])
def test_predict_takes_the_first_of_the_ranking(by):
    s = unnormalised()
    model = fitted(s, by=by)
    indices, _ = model.rank(s.X_new, s.candidates, k=1)
    predicted = model.predict(s.X_new, candidates=s.candidates)
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_array_equal(predicted, s.candidates[indices[:, 0]])
    own, _ = model.rank(s.X_new, s.Y, k=1)
    np.testing.assert_array_equal(model.predict(s.X_new), s.Y[own[:, 0]])


def test_distances_are_never_negative_and_vanish_on_a_perfect_fit():
    s = regression(42, n=6, d=2)
    model = IOKR(RBF(3.0), output_kernel=RBF(0.5), alpha=1e-9).fit(s.X, s.Y)
    distances = model.distances(s.X, s.Y)
    assert distances.min() >= -1e-12
    assert np.diag(distances).max() < 1e-10
    np.testing.assert_array_equal(model.rank(s.X, s.Y, k=1)[0][:, 0], np.arange(6))


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
def test_equal_candidates_keep_their_order(embedding):
    s = unnormalised(43, c=5)
    doubled = np.vstack([s.candidates, s.candidates[::-1], s.candidates[:2]])
    psi = features(doubled)
    distances = reference.distances(s.H, psi)
    model = fitted(s, embedding)
    order = ranking(np.round(distances, 9))
    indices, values = model.rank(s.X_new, doubled)
    np.testing.assert_array_equal(indices, order)
    assert_close(values, np.take_along_axis(distances, order, axis=1), 1e-9)
    for k in (1, 2, 3, 7):
        np.testing.assert_array_equal(model.rank(s.X_new, doubled, k=k)[0], order[:, :k])
    same = model.distances(s.X_new, doubled)
    np.testing.assert_array_equal(same[:, 0], same[:, 9])


def test_ties_between_different_candidates_keep_their_order():
    """Under the delta kernel all outputs that were never seen are equally far."""
    X = np.arange(4.0)[:, None]
    y = np.array(["a", "b", "c", "a"], dtype=object)
    model = IOKR(RBF(1.0), output_kernel=Delta(), alpha=0.1).fit(X, y)
    candidates = np.array(["u", "v", "b", "w", "x"], dtype=object)
    indices, values = model.rank(X[1:2], candidates)
    np.testing.assert_array_equal(indices, [[2, 0, 1, 3, 4]])
    assert len(set(values[0, 1:])) == 1
    for k in (1, 2, 3, 4):
        np.testing.assert_array_equal(model.rank(X[1:2], candidates, k=k)[0], [[2, 0, 1, 3, 4][:k]])


def test_ties_at_the_cut_take_the_earlier_candidate():
    X = np.arange(3.0)[:, None]
    model = IOKR(RBF(1.0), output_kernel=Delta(), alpha=0.1).fit(X, np.array([0, 1, 2]))
    candidates = np.array([9, 8, 7, 6, 5, 4, 3])
    for k in range(1, 8):
        np.testing.assert_array_equal(model.rank(X, candidates, k=k)[0], [list(range(k))] * 3)
    assert model.predict(X, candidates=candidates).tolist() == [9, 9, 9]


def test_equal_candidates_are_evaluated_once():
    calls: Counter = Counter()

    def counting(x: str, z: str) -> float:
        calls[x] += 1
        calls[z] += 1
        return float(len(set(x) & set(z)))

    X = np.arange(3.0)[:, None]
    model = IOKR(RBF(1.0), output_kernel=FromFunction(counting), alpha=0.1)
    model.fit(X, np.array(["ab", "bc", "cd"], dtype=object))
    calls.clear()
    model.rank(X, np.array(["xa", "yb"], dtype=object))
    once = calls["xa"]
    calls.clear()
    model.rank(X, np.array(["xa", "yb", "xa", "xa"], dtype=object))
    assert calls["xa"] == once > 0


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
def test_candidate_sets_are_as_many_separate_rankings(embedding):
    s = unnormalised(44, c=12)
    choose = [s.rng.permutation(12)[:size] for size in (3, 12, 1, 5, 7, 2)]
    sets = CandidateSets([s.candidates[rows] for rows in choose])
    model = fitted(s, embedding)
    all_scores, all_distances = model.scores(s.X_new, sets), model.distances(s.X_new, sets)
    for k in (None, 1, 4):
        indices, values = model.rank(s.X_new, sets, k=k)
        for i, rows in enumerate(choose):
            distances = reference.distances(s.H[i : i + 1], s.psi_candidates[rows])
            order = ranking(distances, k)[0]
            assert len(indices[i]) == min(k or 12, len(rows))
            np.testing.assert_array_equal(indices[i], order)
            assert_close(values[i], distances[0, order], 1e-9)
    for i, rows in enumerate(choose):
        assert_close(all_scores[i], reference.scores(s.H[i : i + 1], s.psi_candidates[rows])[0], 1e-9)
        assert_close(all_distances[i], reference.distances(s.H[i : i + 1], s.psi_candidates[rows])[0], 1e-9)
    assert isinstance(all_scores, list)
    assert isinstance(indices, list)
    predicted = model.predict(s.X_new, candidates=sets)
    best = [
        s.candidates[rows[reference.distances(s.H[i : i + 1], s.psi_candidates[rows])[0].argmin()]]
        for i, rows in enumerate(choose)
    ]
    np.testing.assert_array_equal(predicted, best)


def test_candidate_sets_with_the_same_candidates_in_every_set():
    s = unnormalised(45, c=6)
    model = fitted(s)
    sets = CandidateSets([s.candidates] * 6)
    indices, values = model.rank(s.X_new, sets)
    shared_indices, shared_values = model.rank(s.X_new, s.candidates)
    np.testing.assert_array_equal(np.array(indices), shared_indices)
    assert_close(np.array(values), shared_values, 1e-12)


def test_candidate_sets_of_strings():
    X = np.arange(3.0)[:, None]
    y = np.array(["aab", "bbc", "ccd"], dtype=object)

    def k(x: str, z: str) -> float:
        return float(sum(x.count(a) * z.count(a) for a in "abcd"))

    model = IOKR(RBF(1.0), output_kernel=FromFunction(k), alpha=1e-6).fit(X, y)
    sets = CandidateSets([["aab", "d"], ["aab", "bbc", "ccd"], ["ccd"]])
    predicted = model.predict(X, candidates=sets)
    assert predicted.dtype == object
    assert predicted.tolist() == ["aab", "bbc", "ccd"]
    assert model.score(X, y, candidates=sets) == 1.0


def test_number_of_sets_must_be_the_number_of_rows():
    s = unnormalised(46)
    with pytest.raises(ValueError, match=r"6|candidates"):
        fitted(s).rank(s.X_new, CandidateSets([s.candidates] * 5))


def test_candidate_sets_can_be_indexed_like_rows():
    sets = CandidateSets([["a"], ["b", "c"], ["d", "e", "f"]])
    assert len(sets) == 3
    assert sets.shape[0] == 3
    some = sets[np.array([2, 0])]
    assert isinstance(some, CandidateSets)
    assert len(some) == 2
    assert isinstance(sets[:2], CandidateSets)
    masked = sets[np.array([False, True, True])]
    assert isinstance(masked, CandidateSets)
    assert len(masked) == 2


def test_shared_candidates_are_the_plain_list():
    s = unnormalised(47)
    model = fitted(s)
    shared = SharedCandidates(s.candidates)
    assert not hasattr(shared, "__len__")
    np.testing.assert_array_equal(model.rank(s.X_new, shared)[0], model.rank(s.X_new, s.candidates)[0])
    np.testing.assert_array_equal(
        model.predict(s.X_new, candidates=shared), model.predict(s.X_new, candidates=s.candidates)
    )
    assert_close(model.scores(s.X_new, shared), model.scores(s.X_new, s.candidates), 1e-15)
    assert_close(model.distances(s.X_new, shared), model.distances(s.X_new, s.candidates), 1e-15)


def test_score_with_candidates_is_top_one_accuracy():
    s = unnormalised(48)
    model = fitted(s)
    best = ranking(reference.distances(s.H, s.psi_candidates))
    truth = s.candidates[[best[i, 0] if i % 2 else best[i, 3] for i in range(6)]]
    assert model.score(s.X_new, truth, candidates=s.candidates) == pytest.approx(0.5)
    w = np.array([1.0, 2.0, 1.0, 0.0, 3.0, 1.0])
    assert model.score(s.X_new, truth, sample_weight=w, candidates=s.candidates) == pytest.approx(3 / 8)


def test_one_candidate():
    s = unnormalised(49)
    model = fitted(s)
    for k in (None, 1, 3):
        indices, values = model.rank(s.X_new, s.candidates[:1], k=k)
        np.testing.assert_array_equal(indices, np.zeros((6, 1)))
        assert_close(values, reference.distances(s.H, s.psi_candidates[:1]), 1e-9)
    np.testing.assert_array_equal(
        model.predict(s.X_new, candidates=s.candidates[:1]), np.tile(s.candidates[:1], (6, 1))
    )


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_bad_k(k):
    s = unnormalised(50)
    with pytest.raises((ValueError, TypeError), match="k"):
        fitted(s).rank(s.X_new, s.candidates, k=k)


@each_intercept
def test_explicit_vector_outputs_rank_too(intercept):
    """Without output kernel ψ(y) = y, and candidates are vectors."""
    s = regression(51, d=3)
    candidates = s.rng.normal(size=(8, 3))
    model = IOKR(RBF(GAMMA), alpha=0.1, intercept=intercept).fit(s.X, s.Y)
    H = Ridge(s.K, s.Y, 0.1, intercept=intercept).values(s.K_new)
    assert_close(model.scores(s.X_new, candidates), reference.scores(H, candidates), 1e-10)
    assert_close(model.distances(s.X_new, candidates), reference.distances(H, candidates), 1e-10)
    np.testing.assert_array_equal(model.rank(s.X_new, candidates)[0], ranking(reference.distances(H, candidates)))


def test_many_candidates_in_blocks_agree_with_few():
    """Large candidate sets may be worked off in blocks; the result must not show it."""
    rng = np.random.default_rng(53)
    X = rng.normal(size=(20, 3))
    y = (rng.uniform(size=(20, 64)) < 0.3).astype(float)
    candidates = (rng.uniform(size=(3000, 64)) < 0.3).astype(float)
    model = IOKR(RBF(0.3), output_kernel=Tanimoto(), alpha=0.1).fit(X, y)
    distances = model.distances(X[:4], candidates)
    pieces = np.hstack([model.distances(X[:4], candidates[i : i + 500]) for i in range(0, 3000, 500)])
    assert_close(distances, pieces, 1e-12)
    indices, values = model.rank(X[:4], candidates, k=25)
    expected = np.argsort(np.round(distances, 10), axis=1, kind="stable")[:, :25]
    assert_close(np.take_along_axis(distances, indices, axis=1), values, 1e-12)
    assert_close(values, np.take_along_axis(distances, expected, axis=1), 1e-9)
    assert np.all(np.diff(values, axis=1) >= 0)


def test_sparse_candidates_rank_as_dense_ones():
    rng = np.random.default_rng(54)
    X = rng.normal(size=(9, 2))
    y = (rng.uniform(size=(9, 30)) < 0.3).astype(float)
    candidates = (rng.uniform(size=(15, 30)) < 0.3).astype(float)
    dense = IOKR(RBF(0.3), output_kernel=Tanimoto(), alpha=0.1).fit(X, y)
    thin = IOKR(RBF(0.3), output_kernel=Tanimoto(), alpha=0.1).fit(X, sparse.csr_matrix(y))
    assert_close(thin.distances(X, sparse.csr_matrix(candidates)), dense.distances(X, candidates), 1e-11)
    a, _ = thin.rank(X, sparse.csr_matrix(candidates), k=5)
    b, _ = dense.rank(X, candidates, k=5)
    np.testing.assert_array_equal(a, b)
    predicted = thin.predict(X, candidates=sparse.csr_matrix(candidates))
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_array_equal(predicted, candidates[a[:, 0]])


def test_predictions_have_the_kind_of_the_targets():
    X = np.arange(4.0)[:, None]
    kernel = RBF(1.0)
    one = IOKR(kernel, output_kernel=Delta(), alpha=0.1).fit(X, np.array([3, 1, 2, 3])).predict(X)
    assert one.shape == (4,)
    assert one.tolist() == [3, 1, 2, 3]
    two = IOKR(kernel, output_kernel=Linear(), alpha=0.1).fit(X, np.eye(4)).predict(X)
    assert two.shape == (4, 4)
    words = IOKR(kernel, output_kernel=Delta(), alpha=0.1).fit(X, ["a", "b", "c", "a"]).predict(X)
    assert words.shape == (4,)
    assert words.dtype == object
    assert words.tolist() == ["a", "b", "c", "a"]
    lists = [[1, 2], [3], [], [1, 2]]
    ragged = IOKR(kernel, output_kernel=FromFunction(lambda a, b: float(a == b)), alpha=0.1).fit(X, lists).predict(X)
    assert ragged.shape == (4,)
    assert ragged.dtype == object
    assert ragged.tolist() == lists


def test_precomputed_outputs_rank_objects_that_were_not_trained_on():
    rng = np.random.default_rng(55)
    B = rng.normal(size=(14, 6))
    s = regression(55, n=8)
    model = IOKR(RBF(GAMMA), output_kernel=Precomputed(B @ B.T), alpha=0.1).fit(s.X, np.arange(8))
    H = Ridge(s.K, B[:8], 0.1).values(s.K_new)
    distances = reference.distances(H, B)
    indices, values = model.rank(s.X_new, np.arange(14))
    np.testing.assert_array_equal(indices, ranking(distances))
    assert_close(values, np.sort(distances, axis=1), 1e-9)
    assert model.predict(s.X_new, candidates=np.arange(14)).tolist() == ranking(distances)[:, 0].tolist()


def test_thresholding_is_the_nearest_of_all_binary_vectors():
    """Under a linear output kernel the pre-image over {0, 1}^d is found entry by entry."""
    s = regression(56, d=4)
    Y = (s.Y > 0).astype(float)
    everything = np.array([[float(c) for c in f"{i:04b}"] for i in range(16)])
    model = IOKR(RBF(GAMMA), output_kernel=Linear(), alpha=0.1, decoder=Threshold()).fit(s.X, Y)
    nearest = everything[reference.distances(Ridge(s.K, Y, 0.1).values(s.K_new), everything).argmin(axis=1)]
    np.testing.assert_array_equal(model.predict(s.X_new), nearest)
    plain = IOKR(RBF(GAMMA), alpha=0.1, decoder=Threshold()).fit(s.X, Y)
    np.testing.assert_array_equal(plain.predict(s.X_new), nearest)


@pytest.mark.parametrize("k", [None, 2])
def test_candidate_sets_ranked_by_score(k):
    s = unnormalised(57, c=12)
    choose = [s.rng.permutation(12)[:size] for size in (3, 12, 1, 5, 7, 2)]
    model = fitted(s, by="score")
    indices, values = model.rank(s.X_new, CandidateSets([s.candidates[rows] for rows in choose]), k=k)
    for i, rows in enumerate(choose):
        scores = reference.scores(s.H[i : i + 1], s.psi_candidates[rows])
        order = ranking(-scores, k)[0]
        np.testing.assert_array_equal(indices[i], order)
        assert_close(values[i], scores[0, order], 1e-9)


def test_candidate_sets_of_sparse_rows():
    rng = np.random.default_rng(58)
    X, y = rng.normal(size=(5, 2)), (rng.uniform(size=(5, 30)) < 0.3).astype(float)
    sets = [(rng.uniform(size=(size, 30)) < 0.3).astype(float) for size in (4, 1, 6, 2, 3)]
    model = IOKR(RBF(0.3), output_kernel=Tanimoto(), alpha=0.1).fit(X, y)
    dense = model.rank(X, CandidateSets(sets))
    thin = model.rank(X, CandidateSets([sparse.csr_matrix(own) for own in sets]))
    for i in range(5):
        np.testing.assert_array_equal(thin[0][i], dense[0][i])
        assert_close(thin[1][i], dense[1][i], 1e-12)
