"""Output-kernel trees on nodes: known answers at both ends, and what they split on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from iokr import OutputKernelForest
from iokr.kernels import RBF, Diffusion, FromFunction, Normalized, Precomputed
from iokr_lab.baselines import OK3

N, LABELED = 14, np.array([3, 0, 7, 9, 1, 12, 5, 4])
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
W = np.triu(rng.random((N, N)) < 0.35, 1).astype(float)
W = W + W.T
K_Y = Normalized(Diffusion(1.0, W[np.ix_(LABELED, LABELED)]))(np.arange(len(LABELED)))


def test_a_single_leaf_scores_every_pair_by_the_mean_of_the_output_kernel():
    model = OK3(min_samples_leaf=N, n_estimators=3).fit(X, W, LABELED)
    assert_allclose(model.decision_function(), np.full((N, N), K_Y.mean()), rtol=1e-12)


def test_pure_leaves_give_the_output_kernel_back_between_labelled_nodes():
    scores = OK3(n_estimators=1, max_features=None, random_state=0).fit(X, W, LABELED).decision_function()
    assert_allclose(scores[np.ix_(LABELED, LABELED)], K_Y, atol=1e-12)


def test_scores_are_means_over_pairs_of_leaves():
    model = OK3(n_estimators=4, min_samples_leaf=2, random_state=1).fit(X, W, LABELED)
    forest = OutputKernelForest(
        Precomputed(K_Y), n_estimators=4, min_samples_leaf=2, max_features="sqrt", random_state=1
    ).fit(X[LABELED], np.arange(len(LABELED)))
    new = rng.normal(size=(5, 3))
    beta, known = forest.weights(new), forest.weights(X)
    assert_allclose(model.decision_function(new), beta @ K_Y @ known.T, atol=1e-12)
    assert_allclose(model.decision_function(new, new[:2]), beta @ K_Y @ beta[:2].T, atol=1e-12)


def test_a_matrix_of_inputs_comes_with_features_or_with_those_of_its_own():
    options = {"n_estimators": 5, "random_state": 0}
    expected = OK3(**options).fit(X, W, LABELED).decision_function()
    given = OK3(Precomputed(X @ X.T), features=X, **options).fit(np.arange(N), W, LABELED)
    assert_allclose(given.decision_function(), expected, atol=1e-12)
    assert_allclose(given.decision_function(np.arange(4), np.arange(2)), expected[:4, :2], atol=1e-12)
    sparse = OK3(Precomputed(X @ X.T), features=csr_array(X), **options).fit(np.arange(N), W, LABELED)
    assert_allclose(sparse.decision_function(), expected, atol=1e-12)
    own = OK3(Precomputed(X @ X.T), **options).fit(np.arange(N), W, LABELED)
    assert own.forest_.n_features_in_ == 3  # K = X Xᵀ has rank 3: an orthonormal turn of the inputs
    words = OK3(FromFunction(lambda a, b: float(len(set(a) & set(b)))), **options)
    assert words.fit(["ab", "bc", "cd", "ae"], W[:4, :4] + 1 - np.eye(4)).decision_function(["ad"]).shape == (1, 4)
    curved = OK3(RBF(0.3), **options).fit(X, W, LABELED)
    assert curved.forest_.n_features_in_ == len(LABELED)
    assert curved.decision_function().shape == (N, N)


def test_finds_groups():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, size=60)
    features = rng.normal(size=(60, 4)) + 2 * np.eye(3, 4)[group]
    links = (group[:, None] == group) & ~np.eye(60, dtype=bool)
    scores = OK3(random_state=0).fit(features, links.astype(float), np.arange(40)).decision_function()
    assert roc_auc_score(links[40:, :40].ravel(), scores[40:, :40].ravel()) > 0.85


def test_refuses():
    with pytest.raises(ValueError, match="`kernel` must be a kernel on indices of nodes"):
        OK3(RBF(), features=X).fit(X, W, LABELED)
    with pytest.raises(ValueError, match="must have a row for every node, got 5 rows and node 12"):
        OK3(Precomputed(X @ X.T), features=X[:5]).fit(np.arange(N), W, LABELED)
    with pytest.raises(ValueError, match="`n_estimators`"):
        OK3(n_estimators=0).fit(X, W, LABELED)
