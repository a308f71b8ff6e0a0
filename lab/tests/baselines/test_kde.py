"""Kernel dependency estimation against the formulas written out, and against IOKR on centred features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from iokr import IOKR
from iokr.embeddings import KernelPCA
from iokr.kernels import RBF, Linear
from iokr_lab.baselines import KDE

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(25, 3)), rng.normal(size=(25, 2))
X_new, Y_new = rng.normal(size=(6, 3)), rng.normal(size=(7, 2))
K_Y, ALPHA = RBF(0.7), 0.3


def written_out(rank):
    """rivals.md 8 as it stands: h(x) for X_new, z(y) for Y_new, and Z."""
    n = len(X)
    P = np.eye(n) - 1 / n
    gram = K_Y(Y)
    w, Q = np.linalg.eigh(P @ gram @ P)
    keep = np.flatnonzero(w > n * np.finfo(float).eps * w[-1])[::-1][:rank]
    w, Q = w[keep], Q[:, keep]
    Z = Q * np.sqrt(w)
    H = RBF(0.5)(X_new, X) @ np.linalg.solve(RBF(0.5)(X) + ALPHA * np.eye(n), Z)
    z = (K_Y(Y_new, Y) - gram.mean(axis=0)) @ P @ Q / np.sqrt(w)
    return H, z, Z


@pytest.mark.parametrize("rank", [None, 1, 4, 24])
def test_is_the_formula(rank):
    H, z, Z = written_out(rank)
    model = KDE(RBF(0.5), output_kernel=K_Y, n_components=rank, alpha=ALPHA).fit(X, Y)
    distances = ((H[:, None] - z) ** 2).sum(axis=2)
    assert_allclose(model.scores(X_new, Y_new), H @ z.T, atol=1e-10)
    assert_allclose(model.distances(X_new, Y_new), distances, atol=1e-10)
    assert_allclose(model.predict(X_new), Y[((H[:, None] - Z) ** 2).sum(axis=2).argmin(axis=1)])
    best, values = model.rank(X_new, Y_new, k=2)
    np.testing.assert_array_equal(best, np.argsort(distances, axis=1)[:, :2])
    assert_allclose(values, np.sort(distances, axis=1)[:, :2], atol=1e-10)
    assert_allclose(model.embedding_.transform(Y) @ model.embedding_.transform(Y).T, Z @ Z.T, atol=1e-10)


def test_with_all_components_is_iokr_on_centred_features():
    """PCA of linear outputs that keeps everything is ridge on centred vectors."""
    ours = KDE(RBF(0.5), output_kernel=Linear(), alpha=ALPHA).fit(X, Y)
    mean = Y.mean(axis=0)
    centred = IOKR(RBF(0.5), alpha=ALPHA, intercept=False).fit(X, Y - mean)
    assert_allclose(ours.distances(X_new, Y_new), centred.distances(X_new, Y_new - mean), rtol=1e-9)
    assert_allclose(ours.score(X_new, Y[:6]), centred.score(X_new, Y[:6] - mean), rtol=1e-9)


def test_without_an_output_kernel_is_plain_pca():
    ours = KDE(RBF(0.5), alpha=ALPHA, n_components=1).fit(X, Y)
    centre = Y - Y.mean(axis=0)
    axis = np.linalg.svd(centre)[2][0]
    truth = RBF(0.5)(X_new, X) @ np.linalg.solve(RBF(0.5)(X) + ALPHA * np.eye(25), centre @ axis)
    assert_allclose(np.abs(ours.decision_function(X_new)[:, 0]), np.abs(truth), rtol=1e-9)


def test_one_component_puts_all_predictions_on_a_line():
    H = KDE(RBF(0.5), output_kernel=K_Y, n_components=1, alpha=ALPHA).fit(X, Y).decision_function(X_new)
    assert H.shape == (6, 1)


def test_truncation_projects_the_full_model():
    full = KDE(RBF(0.5), output_kernel=K_Y, alpha=ALPHA).fit(X, Y).decision_function(X_new)
    some = KDE(RBF(0.5), output_kernel=K_Y, alpha=ALPHA, n_components=3).fit(X, Y).decision_function(X_new)
    assert_allclose(np.abs(some), np.abs(full[:, :3]), atol=1e-10)


def test_a_row_of_weight_zero_is_not_there():
    weight = np.ones(25)
    weight[3] = 0.0
    with_zero = KDE(RBF(0.5), output_kernel=K_Y, alpha=ALPHA).fit(X, Y, sample_weight=weight)
    without = KDE(RBF(0.5), output_kernel=K_Y, alpha=ALPHA).fit(np.delete(X, 3, 0), np.delete(Y, 3, 0))
    assert_allclose(with_zero.scores(X_new, Y_new), without.scores(X_new, Y_new), atol=1e-9)


def test_clones_and_refuses_a_rank_of_zero():
    model = clone(KDE(RBF(0.5), output_kernel=K_Y, n_components=2))
    assert model.get_params(deep=False).keys() == {"kernel", "output_kernel", "n_components", "alpha", "decoder"}
    with pytest.raises(ValueError, match="`n_components`"):
        clone(model).set_params(n_components=0).fit(X, Y)


def test_the_embedding_serves_other_estimators():
    ours = IOKR(RBF(0.5), output_kernel=K_Y, embedding=KernelPCA(4), alpha=ALPHA).fit(X, Y)
    kde = KDE(RBF(0.5), output_kernel=K_Y, n_components=4, alpha=ALPHA).fit(X, Y)
    assert_allclose(ours.distances(X_new, Y_new), kde.distances(X_new, Y_new))
