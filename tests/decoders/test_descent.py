"""Vectors near h(x) under a Gaussian kernel: never worse than the best training output, and stationary."""

import numpy as np
import pytest

from iokr import IOKR
from iokr.decoders import Candidates, FixedPoint
from iokr.kernels import RBF, Linear
from samples import vectors


@pytest.fixture
def model():
    X, Y = vectors(25, 2, seed=1), vectors(25, 3, seed=2)
    return IOKR(RBF(0.5), output_kernel=RBF(0.3), alpha=0.1, decoder=FixedPoint(5, 500, 1e-14)).fit(X, Y)


def test_at_least_as_near_as_any_training_output(model):
    new = vectors(12, 2, seed=3)
    found = model.predict(new)
    nearest = model.distances(new, vectors(25, 3, seed=2)).min(axis=1)
    mine = np.diag(model.distances(new, found))
    assert np.all(mine <= nearest + 1e-12)
    assert np.any(mine < nearest - 1e-3)


def test_the_gradient_vanishes(model):
    new = vectors(12, 2, seed=3)
    found, step = model.predict(new), 1e-5
    for j in range(3):
        move = step * np.eye(3)[j]
        up, down = (np.diag(model.scores(new, found + sign * move)) for sign in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * step), 0.0, atol=2e-4)


def test_scores_never_fall_and_weights_may_be_negative(model):
    """Each further step does at least as well."""
    new = vectors(12, 2, seed=3)
    assert (model.weights(new) < 0).any()
    H, scores = model.decision_function(new), []
    for steps in (1, 2, 5, 20):
        decoder = FixedPoint(2, steps, 0.0).fit(vectors(25, 3, seed=2), model.embedding_)
        scores.append(np.diag(model.scores(new, decoder.decode(H, model.embedding_))))
    assert np.all(np.diff(scores, axis=0) >= -1e-12)


def test_one_step_is_at_least_the_best_candidate(model):
    X, Y = vectors(25, 2, seed=1), vectors(25, 3, seed=2)
    new = vectors(12, 2, seed=3)
    moved = IOKR(RBF(0.5), output_kernel=RBF(0.3), alpha=0.1, decoder=FixedPoint(1, 1)).fit(X, Y).predict(new)
    best = IOKR(RBF(0.5), output_kernel=RBF(0.3), alpha=0.1, decoder=Candidates()).fit(X, Y).predict(new)
    assert np.all(np.diag(model.scores(new, moved)) >= np.diag(model.scores(new, best)) - 1e-12)


def test_no_steps_are_refused():
    with pytest.raises(ValueError, match="`max_iter` must be an integer of at least 1, got 0"):
        IOKR(RBF(0.5), output_kernel=RBF(0.3), decoder=FixedPoint(1, 0)).fit(vectors(5, 2), vectors(5, 3))


def test_one_number():
    X = np.linspace(0, 1, 20)[:, None]
    y = np.sin(3 * X[:, 0])
    model = IOKR(RBF(5.0), output_kernel=RBF(0.5), alpha=1e-6, decoder=FixedPoint()).fit(X, y)
    new = np.array([[0.33], [0.71]])
    assert model.predict(new).shape == (2,)
    np.testing.assert_allclose(model.predict(new), np.sin(3 * new[:, 0]), atol=1e-3)


def test_refusals():
    with pytest.raises(ValueError, match=r"needs the output kernel `RBF`, got Linear"):
        IOKR(output_kernel=Linear(), decoder=FixedPoint()).fit(vectors(4), vectors(4))
    with pytest.raises(ValueError, match="`n_starts` must be an integer of at least 1"):
        IOKR(output_kernel=RBF(), decoder=FixedPoint(0)).fit(vectors(4), vectors(4))
