"""Every embedding has coordinates whose geometry is that of the outputs.

Tests of `iokr.embeddings.base`.
"""

import numpy as np
import pytest
from sklearn.base import clone

import reference
from iokr import IOKR
from iokr.embeddings import Curves, Explicit, Identity
from iokr.kernels import RBF, Features, Polynomial
from members import EMBEDDINGS
from reference import assert_close
from samples import GAMMA, regression

INSTANCES = [embedding for rows in EMBEDDINGS.values() for embedding in rows]


@pytest.mark.parametrize("embedding", INSTANCES, ids=repr)
class TestEmbedding:
    def fitted(self, embedding):
        s = regression(1, n=8, d=2)
        output_kernel = None if isinstance(embedding, (Curves, Identity)) else Polynomial(2, 1.0, 1.0)
        output_kernel = Features(_quadratic) if isinstance(embedding, Explicit) else output_kernel
        return s, IOKR(RBF(GAMMA), output_kernel=output_kernel, embedding=embedding, alpha=0.1).fit(s.X, s.Y)

    def test_distances_are_norms_minus_twice_scores(self, embedding):
        s, model = self.fitted(embedding)
        e, candidates = model.embedding_, s.rng.normal(size=(5, 2))
        H, S = model.decision_function(s.X_new), model.embedding_.represent(candidates)
        scores = model.scores(s.X_new, candidates)
        assert_close(e.inner(H, S), scores, 1e-12)
        expected = e.sq_norms_of(H)[:, None] - 2 * scores + e.sq_norms(S)
        assert_close(model.distances(s.X_new, candidates), expected, 1e-11, atol=1e-13)

    def test_h_is_the_weighted_sum_of_the_training_outputs(self, embedding):
        s, model = self.fitted(embedding)
        candidates = s.rng.normal(size=(5, 2))
        own = model.embedding_.represent(s.Y)
        Psi = clone(embedding).fit_transform(s.Y, getattr(model.embedding_, "kernel_", None))
        inner = model.embedding_.inner(Psi, model.embedding_.represent(candidates))
        assert_close(model.weights(s.X_new) @ inner, model.scores(s.X_new, candidates), 1e-10)
        assert own.shape[0] == 8

    def test_score_is_one_minus_residuals_over_spread(self, embedding):
        s, model = self.fitted(embedding)
        truth, w = s.rng.normal(size=(5, 2)), np.array([1.0, 2.0, 0.5, 0.0, 1.0])
        e = model.embedding_
        H, S = model.decision_function(s.X_new), e.represent(truth)
        distances = np.diag(model.distances(s.X_new, truth))
        assert_close(e.sq_residuals(H, S), distances, 1e-10, atol=1e-13)
        expected = 1 - w @ distances / e.spread(S, w)
        assert_close(model.score(s.X_new, truth, sample_weight=w), expected, 1e-10)
        psi = truth if isinstance(embedding, Identity) else _quadratic(truth)
        psi = truth / np.sqrt(2) if isinstance(embedding, Curves) else psi  # two nodes of weight ½
        mean = w @ psi / w.sum()
        assert_close(e.spread(S, w), np.sum(w[:, None] * (psi - mean) ** 2), 1e-10)

    def test_the_given_embedding_is_not_changed(self, embedding):
        before = set(vars(embedding))
        self.fitted(embedding)
        assert set(vars(embedding)) == before


def _quadratic(Y):
    a, b = Y.T
    r = np.sqrt(2)
    return np.column_stack([np.ones(len(Y)), r * a, r * b, a**2, b**2, r * a * b])


def test_quadratic_features_are_those_of_the_kernel():
    Y = np.random.default_rng(0).normal(size=(4, 2))
    assert_close(_quadratic(Y) @ _quadratic(Y).T, reference.gram(reference.polynomial(2, 1.0, 1.0), Y), 1e-13)
