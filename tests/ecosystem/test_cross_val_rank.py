"""Out-of-fold ranks, against a loop.

Tests of `iokr.model_selection.ranks`.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold

from iokr import IOKR, IOKRCV, CandidateSets, SharedCandidates
from iokr.kernels import RBF, FromFunction, Precomputed, Tanimoto
from iokr.model_selection import cross_val_rank

N = 24
WORDS = ["axe", "bit", "cog", "dim", "elk", "fun"]


def shared_letters(x, z):
    return float(len(set(x) & set(z)))


def problem(seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, size=N)
    X = rng.normal(size=(N, 6)) + 1.5 * np.eye(6)[kind]
    y = [WORDS[k] for k in kind]
    sets = [list({word, *rng.choice(WORDS, size=3)}) for word in y]
    return X, y, [[str(word) for word in words] for words in sets]


def word_model():
    return IOKR(RBF(0.1), output_kernel=FromFunction(shared_letters), alpha=0.1)


def by_hand(model, X, y, candidates_of, cv):
    """1 + the number of candidates nearer than the true one; no ties in this problem."""
    ranks = np.full(len(y), np.inf)
    for train, test in cv.split(X):
        model.fit(X[train], [y[i] for i in train])
        for i in test:
            candidates = candidates_of(i)
            if y[i] in candidates:
                distances = np.ravel(model.distances(X[[i]], candidates))
                own = distances[candidates.index(y[i])]
                ranks[i] = 1 + np.sum(distances < own - 1e-12)
    return ranks


def test_shared_candidates():
    X, y, _ = problem()
    cv = KFold(4, shuffle=True, random_state=0)
    expected = by_hand(word_model(), X, y, lambda i: WORDS, cv)
    assert_array_equal(cross_val_rank(word_model(), X, y, WORDS, cv=cv), expected)
    assert_array_equal(cross_val_rank(word_model(), X, y, SharedCandidates(WORDS), cv=cv), expected)
    assert len(set(expected)) > 1
    assert np.mean(expected == 1) > 0.3


def test_candidate_sets():
    X, y, sets = problem()
    cv = KFold(4, shuffle=True, random_state=0)
    expected = by_hand(word_model(), X, y, lambda i: sets[i], cv)
    assert_array_equal(cross_val_rank(word_model(), X, y, CandidateSets(sets), cv=cv), expected)
    assert len(set(expected)) > 1


def test_five_folds_by_default():
    X, y, _ = problem()
    expected = by_hand(word_model(), X, y, lambda i: WORDS, KFold(5))
    assert_array_equal(cross_val_rank(word_model(), X, y, WORDS), expected)


def test_a_true_output_that_is_not_a_candidate_has_infinite_rank():
    X, y, _ = problem()
    ranks = cross_val_rank(word_model(), X, y, WORDS[:4], cv=4)
    assert_array_equal(np.isinf(ranks), [word not in WORDS[:4] for word in y])


def test_repeated_candidates():
    X, y, _ = problem()
    cv = KFold(4)
    twice = [*WORDS, *WORDS]
    expected = by_hand(word_model(), X, y, lambda i: twice, cv)
    assert_array_equal(cross_val_rank(word_model(), X, y, twice, cv=cv), expected)


def test_vectors_sparse_matrices_and_lists_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    Y = (rng.uniform(size=(N, 8)) < 0.4).astype(float)
    model = IOKR(RBF(0.1), output_kernel=Tanimoto(), alpha=0.1)
    dense = cross_val_rank(model, X, Y, Y, cv=4)
    assert np.isfinite(dense).all()
    assert dense.max() > 3
    assert_array_equal(cross_val_rank(model, X, sparse.csr_array(Y), sparse.csr_array(Y), cv=4), dense)
    assert_array_equal(cross_val_rank(model, X, Y, sparse.csr_array(Y), cv=4), dense)


def test_gram_matrices_are_split_on_both_axes():
    X, y, _ = problem()
    expected = cross_val_rank(word_model(), X, y, WORDS, cv=4)
    K = RBF(0.1)(X)
    by_gram = word_model().set_params(kernel=Precomputed())
    assert_array_equal(cross_val_rank(by_gram, K, y, WORDS, cv=4), expected)
    by_index = word_model().set_params(kernel=Precomputed(K))
    assert_array_equal(cross_val_rank(by_index, np.arange(N), y, WORDS, cv=4), expected)


def test_the_model_is_not_fitted_by_it():
    X, y, _ = problem()
    model = word_model()
    cross_val_rank(model, X, y, WORDS, cv=3)
    assert not hasattr(model, "solution_")


def test_other_splitters_and_models():
    X, y, _ = problem()
    labels = [word in WORDS[:3] for word in y]
    splits = list(StratifiedKFold(3).split(X, labels))
    ranks = cross_val_rank(word_model(), X, y, WORDS, cv=splits)
    assert np.isfinite(ranks).all()
    path = IOKRCV(RBF(0.1), output_kernel=FromFunction(shared_letters), alphas=(0.1, 1.0))
    assert np.isfinite(cross_val_rank(path, X, y, WORDS, cv=3)).all()


@pytest.mark.parametrize(
    ("candidates", "error", "word"),
    [([], ValueError, "empty"), ("axe", TypeError, "candidates"), (CandidateSets([["axe"]]), ValueError, "24")],
    ids=["empty", "text", "length"],
)
def test_bad_candidates(candidates, error, word):
    X, y, _ = problem()
    with pytest.raises(error, match=word):
        cross_val_rank(word_model(), X, y, candidates)


def test_lengths_that_differ():
    X, y, _ = problem()
    with pytest.raises(ValueError, match="23"):
        cross_val_rank(word_model(), X, y[:-1], WORDS)
