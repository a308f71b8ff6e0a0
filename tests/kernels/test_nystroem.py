"""`Nystroem` is k(x, P) k(P, P)⁻¹ k(P, z), and says what it leaves out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR
from iokr.gram import FeatureGram
from iokr.kernels import RBF, Delta, Linear, Nystroem, Precomputed

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(40, 3)), rng.normal(size=(7, 3))
K = RBF(0.3)


def greedy(gram, rank):
    """Pivots by the Schur complement, formed anew at every step."""
    chosen = []
    for _ in range(rank):
        left = gram.copy()
        if chosen:
            left -= gram[:, chosen] @ np.linalg.solve(gram[np.ix_(chosen, chosen)], gram[chosen])
        chosen.append(int(np.argmax(np.diag(left))))
    return chosen


def test_is_the_formula_with_the_greedy_pivots():
    kernel = Nystroem(K, n_components=6, pivots="greedy").fit(X)
    P = X[kernel.pivots_]
    assert kernel.pivots_.tolist() == greedy(K(X), 6)
    assert_allclose(kernel(X, Z), K(X, P) @ np.linalg.solve(K(P), K(P, Z)), atol=1e-12)


def test_states_the_trace_it_leaves_out():
    kernel = Nystroem(K, n_components=6).fit(X)
    rest = K(X) - kernel(X)
    assert kernel.error_ == pytest.approx(np.trace(rest) / np.trace(K(X)), rel=1e-10)
    assert np.linalg.eigvalsh(rest)[0] > -1e-12
    assert np.linalg.eigvalsh(rest)[-1] <= np.trace(rest)


def test_all_objects_give_the_kernel_back():
    kernel = Nystroem(K, n_components=100).fit(X)
    assert len(kernel.pivots_) <= 40
    assert_allclose(kernel(X), K(X), atol=1e-12)
    assert_allclose(kernel(X, Z), K(X, Z), atol=1e-6)


def test_stops_when_nothing_is_left():
    assert len(Nystroem(Linear(), n_components=10).fit(X).pivots_) == 3
    labels = np.array(["a", "b", "a", "c"] * 5, dtype=object)
    assert Nystroem(Delta(), n_components=10).fit(labels).error_ == 0
    assert len(Nystroem(Delta(), n_components=10).fit(labels).pivots_) == 3


def test_a_matrix_is_not_formed():
    kernel = Nystroem(K, n_components=5).fit(X)
    gram = kernel.gram(kernel.represent(X))
    assert isinstance(gram, FeatureGram) and gram.factor.shape == (40, 5)
    C = rng.normal(size=(40, 2))
    assert_allclose(gram @ C, kernel(X) @ C, atol=1e-12)
    assert gram._kept is None
    assert_allclose(gram.restrict([1, 4]).dense(), kernel(X)[np.ix_([1, 4], [1, 4])], atol=1e-12)
    assert kernel.gram(kernel.represent(Z), kernel.represent(X)).factor is None


def test_exact_solvers_take_it_as_any_kernel():
    model = IOKR(Nystroem(K, n_components=8), alpha=0.1, intercept=False).fit(X, X)
    gram = Nystroem(K, n_components=8).fit(X)
    expected = gram(Z, X) @ np.linalg.solve(gram(X) + 0.1 * np.eye(40), X)
    assert_allclose(model.predict(Z), expected, atol=1e-10)


@pytest.mark.parametrize("rank", [0, -1, 1.5, True])
def test_refuses_a_rank_that_is_none(rank):
    with pytest.raises((TypeError, ValueError), match="`n_components`"):
        Nystroem(K, n_components=rank).fit(X)


def test_refuses_a_gram_matrix_in_place_of_objects():
    with pytest.raises(ValueError, match="`Nystroem` needs a kernel on objects"):
        Nystroem(Precomputed()).fit(K(X))
    with pytest.raises(TypeError, match="`base`"):
        Nystroem("rbf").fit(X)
