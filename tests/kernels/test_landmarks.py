"""Sketches on inputs, outputs and both: projections, whitened; with all objects exact; leave-one-out as refits.

Tests of `iokr.kernels.landmarks`.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR, IOKRCV
from iokr import embeddings as em
from iokr.kernels import RBF, Linear, Nystroem, Sketch
from iokr.kernels.landmarks import Landmarks
from iokr.operator_kernels import Covariance
from iokr.solvers import LowRank

rng = np.random.default_rng(0)
n = 40
X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
X_new, Y_new = rng.normal(size=(6, 3)), rng.normal(size=(7, 2))
K, K_Y = RBF(0.5), RBF(0.6)
ALPHA = 0.1

SKETCHES = {
    "random": (Nystroem, em.Nystroem, {}),
    "greedy": (Nystroem, em.Nystroem, {"pivots": "greedy"}),
    "uniform": (Nystroem, em.Nystroem, {"pivots": "uniform"}),
    "p-SR": (Sketch, em.Sketch, {"density": 0.4}),
    "p-SG": (Sketch, em.Sketch, {"density": 0.4, "entries": "normal"}),
    "Gaussian": (Sketch, em.Sketch, {"density": 1.0, "entries": "normal"}),
}


@pytest.fixture(params=SKETCHES)
def sketch(request):
    """(kernel of a rank, embedding of a rank)."""
    kernel, embedding, options = SKETCHES[request.param]
    return (lambda m: kernel(K, m, **options)), (lambda m: embedding(m, **options))


def test_all_objects_are_the_exact_model(sketch):
    kernel, embedding = sketch
    exact = IOKR(K, output_kernel=K_Y, alpha=ALPHA).fit(X, Y).scores(X_new, Y)
    for k, e in ((kernel(n), None), (K, embedding(n)), (kernel(n), embedding(n))):
        model = IOKR(k, output_kernel=K_Y, embedding=e, alpha=ALPHA).fit(X, Y)
        assert_allclose(model.scores(X_new, Y), exact, atol=1e-9)


def test_is_the_projection_on_its_span(sketch):
    kernel, _ = sketch
    fitted = kernel(12).fit(X)
    P, T = X[fitted.pivots_], fitted._map.weights(np.eye(len(fitted.features(X).T))).T
    # K̂ = K_XP T (Tᵀ K_PP T)⁺ Tᵀ K_PX with the pseudo-inverse, which whitening avoids
    left = K(X, P) @ T
    expected = left @ np.linalg.pinv(T.T @ K(P) @ T) @ left.T
    assert_allclose(fitted(X), expected, atol=1e-12)
    rest = K(X) - fitted(X)
    assert np.linalg.eigvalsh(rest)[0] > -1e-12
    assert fitted.error_ == pytest.approx(np.trace(rest) / n, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_is_a_refit_with_the_features_held_fixed(sketch, intercept):
    kernel, embedding = sketch
    parts = {"alpha": ALPHA, "intercept": intercept}
    model = IOKR(kernel(12), output_kernel=K_Y, embedding=embedding(10), solver=LowRank(), **parts).fit(X, Y)
    Phi, Z = model.kernel_.features(X), model.embedding_.transform(Y)
    left_out = model.loo_decision_function()
    for i in (0, 7, 39):
        rest = np.delete(np.arange(n), i)
        refit = IOKR(Linear(), **parts).fit(Phi[rest], Z[rest])
        assert_allclose(left_out[i], refit.predict(Phi[[i]])[0], atol=1e-10)


def test_errors_are_those_in_the_feature_space_of_the_outputs(sketch):
    """Σ‖ψ(y_i) − h₋ᵢ(x_i)‖² with weights on the outputs and the whole K_Y."""
    kernel, embedding = sketch
    model = IOKRCV(kernel(12), output_kernel=K_Y, embedding=embedding(10), alphas=(ALPHA,)).fit(X, Y)
    weights = model.embedding_.weights(model.loo_decision_function())
    apart = np.eye(n) - weights
    assert float(model.loo_errors_) == pytest.approx(np.trace(apart @ K_Y(Y) @ apart.T) / n, rel=1e-9)


def test_covariance_operators(sketch):
    """D = Q[QᵀBV/(λ + ωγᵀ)]Vᵀ against the dense Kronecker system."""
    kernel, embedding = sketch
    model = IOKR(Covariance(kernel(12)), output_kernel=K_Y, embedding=embedding(5), alpha=ALPHA, solver=LowRank())
    model.fit(X, Y)
    Phi, Z = model.kernel_.kernel_.features(X), model.embedding_.transform(Y)
    A, gram = Z.T @ Z / n, Phi @ Phi.T
    C = np.linalg.solve(np.kron(gram, A) + ALPHA * np.eye(gram.shape[0] * A.shape[0]), Z.ravel()).reshape(Z.shape)
    expected = model.kernel_.kernel_.features(X_new) @ Phi.T @ C @ A
    assert_allclose(model.decision_function(X_new), expected, atol=1e-10)


def test_a_smaller_rank_takes_the_first_of_the_same_objects():
    large, small = (Nystroem(K, m).fit(X) for m in (30, 9))
    assert small.pivots_.tolist() == large.pivots_[:9].tolist()
    assert_allclose(small.features(X), large.features(X)[:, :9], atol=1e-10)
    assert Nystroem(K, 9, random_state=1).fit(X).pivots_.tolist() != small.pivots_.tolist()


@pytest.mark.parametrize("pivots", ["random", "greedy", "uniform"])
def test_tol_takes_the_least_rank_that_reaches_it(pivots):
    fitted = Nystroem(K, n, tol=0.05, pivots=pivots).fit(X)
    r = len(fitted.pivots_)
    P, fewer = X[fitted.pivots_], X[fitted.pivots_[:-1]]
    assert fitted.error_ <= 0.05
    assert 1 - np.trace(K(X, P) @ np.linalg.solve(K(P), K(P, X))) / n <= 0.05 + 1e-12
    assert 1 - np.trace(K(X, fewer) @ np.linalg.solve(K(fewer), K(fewer, X))) / n > 0.05
    assert r < n and fitted.features(X).shape == (n, r)


def test_random_pivots_are_drawn_in_proportion_to_the_residual():
    """Of two clusters, one of copies of a single point: after the first pivot there, no other is taken there."""
    points = np.concatenate([np.zeros((30, 1)), np.linspace(5, 9, 10)[:, None]])
    for seed in range(10):
        pivots = Nystroem(RBF(2.0), 8, random_state=seed).fit(points).pivots_
        assert np.sum(pivots < 30) <= 1
        assert len(set(pivots.tolist())) == len(pivots)


def test_numerically_dependent_objects_are_dropped_not_jittered():
    smooth, points = RBF(0.01), rng.normal(size=(300, 2))
    for kernel in (Nystroem(smooth, 200), Nystroem(smooth, 200, pivots="uniform"), Sketch(smooth, 200)):
        fitted = kernel.fit(points)
        Phi = fitted.features(points)
        assert Phi.shape[1] < 100
        assert_allclose(Phi @ Phi.T, smooth(points), atol=1e-9)


def test_features_at_fit_are_not_computed_twice_nor_taken_for_others(monkeypatch):
    points = X.copy()
    fitted = Nystroem(K, 9).fit(points)
    points += 1.0  # the same array with other numbers
    assert_allclose(fitted(points, X_new), fitted(points.copy(), X_new), atol=1e-14)
    calls = []
    monkeypatch.setattr(Landmarks, "features", lambda self, R: calls.append(R))
    IOKR(Nystroem(K, 9), alpha=ALPHA).fit(X, Y)
    assert calls == []


def test_pickles_do_not_hold_the_features():
    points = rng.normal(size=(2000, 3))
    fitted = Nystroem(K, 9).fit(points)
    assert len(pickle.dumps(fitted)) < 8 * 2000
    again = pickle.loads(pickle.dumps(fitted))
    assert_allclose(again(X, X_new), fitted(X, X_new), atol=0)


@pytest.mark.parametrize("name", ["torch", "array_api_strict"])
def test_on_the_arrays_own_device(sketch, name):
    xp = pytest.importorskip(name)
    kernel, _ = sketch
    ours, theirs = kernel(9).fit(X), kernel(9).fit(xp.asarray(X))
    assert ours.pivots_.tolist() == theirs.pivots_.tolist()
    found = theirs.features(xp.asarray(X_new))
    assert type(found) is type(xp.asarray(X))
    assert_allclose(np.asarray(found), ours.features(X_new), atol=1e-11)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Nystroem(K, pivots="best"), "`pivots` must be one of"),
        (Nystroem(K, tol=-1.0), "`tol`"),
        (Sketch(K, density=0.0), "`density`"),
        (Sketch(K, density=5e-324), "`density`"),
        (Sketch(K, density=1.5), "`density` must be a number from 1e-09 to 1"),
        (Sketch(K, entries="ones"), "`entries` must be one of"),
        (Sketch(K, n_components=0), "`n_components`"),
    ],
)
def test_refusals(kernel, words):
    with pytest.raises(ValueError, match=words):
        kernel.fit(X)
