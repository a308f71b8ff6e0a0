"""Invariant 8: everything computed from K_Y alone equals the same model on explicit output features."""

from types import SimpleNamespace

import numpy as np
import pytest

import reference
from iokr import IOKR, IOKRCV
from iokr.embeddings import Eigen, Identity, Implicit
from iokr.kernels import RBF, FromFunction, Linear, Normalized, Polynomial, Precomputed, Tanimoto
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from reference import Ridge, assert_close
from samples import GAMMA, regression, weights

EMBEDDINGS = [None, Implicit(), Eigen()]


def quadratic_features(Y: np.ndarray) -> np.ndarray:
    """φ with φ(y)·φ(z) = (y·z + 1)² for y in the plane."""
    a, b = Y[:, 0], Y[:, 1]
    r = np.sqrt(2)
    return np.column_stack([np.ones(len(Y)), r * a, r * b, a**2, b**2, r * a * b])


def outputs(name: str) -> SimpleNamespace:
    """Training outputs `y`, candidates, an output kernel, and explicit features of both."""
    s = regression(31, n=10, u=4, d=2)
    if name == "quadratic":
        y, candidates, kernel = s.Y, s.rng.normal(size=(6, 2)), Polynomial(2, 1.0, 1.0)
        psi, psi_candidates = quadratic_features(y), quadratic_features(candidates)
    elif name == "linear":  # K_Y of rank 2
        y, candidates, kernel = s.Y, s.rng.normal(size=(6, 2)), Linear()
        psi, psi_candidates = y, candidates
    else:
        if name == "rbf":
            y, candidates, kernel, k = s.Y, s.rng.normal(size=(6, 2)), RBF(0.7), reference.rbf(0.7)
            everything = np.vstack([y, candidates])
        elif name == "fingerprints":
            everything = (s.rng.uniform(size=(16, 12)) < 0.4).astype(float)
            y, candidates, kernel, k = everything[:10], everything[10:], Tanimoto(), reference.tanimoto
        elif name == "strings":
            everything = np.array(["".join(s.rng.choice(list("abcd"), size=5)) for _ in range(16)], dtype=object)
            y, candidates, k = everything[:10], everything[10:], common_letters
            kernel = FromFunction(common_letters)
        elif name == "precomputed":
            B = s.rng.normal(size=(16, 5))
            k = None
            y, candidates, kernel = np.arange(10), np.arange(10, 16), Precomputed(B @ B.T)
            psi, psi_candidates = B[:10], B[10:]
        if k is not None:
            values, vectors = np.linalg.eigh(reference.gram(k, everything))
            features = vectors * np.sqrt(np.clip(values, 0, None))
            psi, psi_candidates = features[:10], features[10:]
    return SimpleNamespace(s=s, y=y, candidates=candidates, kernel=kernel, psi=psi, psi_candidates=psi_candidates)


def common_letters(x: str, z: str) -> float:
    """Σ over letters of the products of their counts: an unnormalised kernel on strings."""
    return float(sum(x.count(letter) * z.count(letter) for letter in "abcd"))


OUTPUTS = ["quadratic", "linear", "rbf", "fingerprints", "strings", "precomputed"]


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
@pytest.mark.parametrize("name", OUTPUTS)
def test_scores_and_distances_equal_those_of_explicit_features(name, embedding, weighted, semi):
    o, w = outputs(name), weights(weighted, 10)
    manifold, L, U = (Laplacian(0.4), reference.graph_laplacian(o.s.K), o.s.U) if semi else (None, None, None)
    K, K_new = (o.s.K, o.s.K_new) if semi else (o.s.K[:10, :10], o.s.K_new[:, :10])
    model = IOKR(RBF(GAMMA), output_kernel=o.kernel, embedding=embedding, alpha=0.1, manifold=manifold)
    model.fit(o.s.X, o.y, sample_weight=w, X_unlabeled=U)
    ridge = Ridge(K, o.psi, 0.1, None, L, 0.4 if semi else 0.0, w)
    H = ridge.values(K_new)
    assert_close(model.scores(o.s.X_new, o.candidates), reference.scores(H, o.psi_candidates), 1e-9)
    assert_close(model.distances(o.s.X_new, o.candidates), reference.distances(H, o.psi_candidates), 1e-9)
    assert_close(model.weights(o.s.X_new) @ o.psi, H, 1e-9)


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_leave_one_out_equals_that_of_explicit_features(name, semi):
    o = outputs(name)
    manifold, L, U = (Laplacian(0.4), reference.graph_laplacian(o.s.K), o.s.U) if semi else (None, None, None)
    K = o.s.K if semi else o.s.K[:10, :10]
    ridge = Ridge(K, o.psi, 0.1, None, L, 0.4 if semi else 0.0)
    loo = ridge.leave_one_out()
    implicit = IOKR(RBF(GAMMA), output_kernel=o.kernel, embedding=Implicit(), alpha=0.1, manifold=manifold)
    implicit.fit(o.s.X, o.y, X_unlabeled=U)
    beta = implicit.loo_decision_function()
    assert_close(beta @ o.psi, loo, 1e-9)
    assert np.abs(np.diag(beta)).max() < 1e-13, "a label must not weigh on its own leave-one-out value"
    eigen = IOKR(RBF(GAMMA), output_kernel=o.kernel, embedding=Eigen(), alpha=0.1, manifold=manifold)
    eigen.fit(o.s.X, o.y, X_unlabeled=U)
    # Coordinates are arbitrary up to rotation: compare inner products with each other and with ψ(y_i).
    V, H = eigen.embedding_.transform(o.y), eigen.loo_decision_function()
    assert_close(V @ V.T, o.psi @ o.psi.T, 1e-9)
    assert_close(H @ V.T, loo @ o.psi.T, 1e-9)
    assert_close(H @ H.T, loo @ loo.T, 1e-9)


@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
@pytest.mark.parametrize("name", OUTPUTS)
def test_path_of_errors_equals_that_of_explicit_features(name, embedding, weighted):
    o, w = outputs(name), weights(weighted, 10)
    alphas = (1e-3, 0.1, 10.0)
    path = IOKRCV(RBF(GAMMA), output_kernel=o.kernel, embedding=embedding, alphas=alphas).fit(
        o.s.X, o.y, sample_weight=w
    )
    ridge = Ridge(o.s.K[:10, :10], o.psi, weight=w)
    assert_close(path.loo_errors_, [ridge.at(alpha=a).leave_one_out_error() for a in alphas], 1e-9)


@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
@pytest.mark.parametrize("name", OUTPUTS)
def test_semi_supervised_grid_equals_that_of_explicit_features(name, embedding):
    o = outputs(name)
    alphas, manifold_weights = (1e-2, 1.0), (0.0, 0.1, 3.0)
    grid = IOKRCV(
        RBF(GAMMA),
        output_kernel=o.kernel,
        embedding=embedding,
        alphas=alphas,
        manifold_weights=manifold_weights,
        manifold=Laplacian(1.0),
    )
    grid.fit(o.s.X, o.y, X_unlabeled=o.s.U)
    ridge = Ridge(o.s.K, o.psi, L=reference.graph_laplacian(o.s.K))
    expected = [[ridge.at(alpha=a, mu=mu).leave_one_out_error() for a in alphas] for mu in manifold_weights]
    assert_close(grid.loo_errors_, np.array(expected), 1e-9)


@pytest.mark.parametrize("name", OUTPUTS)
def test_score_does_not_depend_on_how_the_outputs_are_held(name):
    """R² in the output feature space, from explicit features of held-out outputs."""
    o = outputs(name)
    H = Ridge(o.s.K[:10, :10], o.psi, 0.1).values(o.s.K_new[:, :10])
    truth, psi = o.candidates[:5], o.psi_candidates[:5]
    w = np.array([1.0, 0.5, 2.0, 0.0, 1.0])
    for embedding in EMBEDDINGS:
        model = IOKR(RBF(GAMMA), output_kernel=o.kernel, embedding=embedding, alpha=0.1).fit(o.s.X, o.y)
        assert_close(model.score(o.s.X_new, truth), reference.r2_score(H, psi), 1e-9)
        assert_close(model.score(o.s.X_new, truth, sample_weight=w), reference.r2_score(H, psi, w), 1e-9)


def test_decision_function_of_implicit_outputs_is_the_weights():
    o = outputs("fingerprints")
    model = IOKR(RBF(GAMMA), output_kernel=o.kernel, embedding=Implicit(), alpha=0.1).fit(o.s.X, o.y)
    B = np.linalg.solve(o.s.K[:10, :10] + 0.1 * np.eye(10), o.s.K_new[:, :10].T).T
    assert_close(model.decision_function(o.s.X_new), B, 1e-11)
    assert_close(model.weights(o.s.X_new), B, 1e-11)


def test_default_embedding_is_exact_and_implicit_for_ridge():
    o = outputs("strings")
    model = IOKR(RBF(GAMMA), output_kernel=o.kernel, alpha=0.1).fit(o.s.X, o.y)
    assert isinstance(model.embedding_, Implicit)
    assert isinstance(IOKR(RBF(GAMMA)).fit(o.s.X, o.s.Y).embedding_, Identity)


def test_eigen_coordinates_of_full_rank_are_exact_and_fewer_are_the_leading_ones():
    o = outputs("rbf")
    K_Y = o.psi @ o.psi.T
    values, vectors = np.linalg.eigh(K_Y)
    for rank in (1, 3):
        model = IOKR(RBF(GAMMA), output_kernel=o.kernel, embedding=Eigen(rank), alpha=0.1).fit(o.s.X, o.y)
        V = model.embedding_.transform(o.y)
        top = vectors[:, -rank:]
        assert_close(V @ V.T, top * values[-rank:] @ top.T, 1e-10)
        assert model.decision_function(o.s.X_new).shape == (5, rank)
        # Candidates are projected on the same directions, their distance is to the whole ψ(y).
        H = Ridge(o.s.K[:10, :10], o.psi, 0.1).values(o.s.K_new[:, :10])
        directions = o.psi.T @ top / np.sqrt(values[-rank:])
        projected = H @ directions
        assert_close(model.scores(o.s.X_new, o.candidates), projected @ (o.psi_candidates @ directions).T, 1e-9)


def test_normalised_output_kernel_is_the_model_on_normalised_features():
    o = outputs("quadratic")
    psi = o.psi / np.linalg.norm(o.psi, axis=1, keepdims=True)
    psi_candidates = o.psi_candidates / np.linalg.norm(o.psi_candidates, axis=1, keepdims=True)
    model = IOKR(RBF(GAMMA), output_kernel=Normalized(o.kernel), alpha=0.1).fit(o.s.X, o.y)
    H = Ridge(o.s.K[:10, :10], psi, 0.1).values(o.s.K_new[:, :10])
    assert_close(model.distances(o.s.X_new, o.candidates), reference.distances(H, psi_candidates), 1e-9)


@pytest.mark.parametrize("embedding", [None, Implicit()], ids=str)
def test_scaled_identity_operator_is_allowed_with_implicit_outputs(embedding):
    o = outputs("rbf")
    kernel = Decomposable(RBF(GAMMA), np.array([[2.5]]))
    expected = Ridge(o.s.K[:10, :10], o.psi, 0.1 / 2.5).values(o.s.K_new[:, :10])
    model = IOKR(kernel, output_kernel=o.kernel, embedding=embedding, alpha=0.1)
    try:
        model.fit(o.s.X, o.y)
    except ValueError as error:  # a (1, 1) matrix is no operator on ten coordinates: that too is an answer in words
        assert "A" in str(error)
        model = IOKR(2.5 * RBF(GAMMA), output_kernel=o.kernel, embedding=embedding, alpha=0.1).fit(o.s.X, o.y)
    assert_close(model.scores(o.s.X_new, o.candidates), reference.scores(expected, o.psi_candidates), 1e-9)


@pytest.mark.parametrize("embedding", [None, Implicit(), Eigen()], ids=str)
def test_an_operator_is_refused_with_implicit_outputs(embedding):
    """The basis of the output coordinates is arbitrary, so a matrix in it means nothing."""
    o = outputs("linear")
    A = np.array([[1.0, 0.5], [0.5, 1.0]])
    with pytest.raises(ValueError, match=r"`?A`?|operator|Decomposable"):
        IOKR(Decomposable(RBF(GAMMA), A), output_kernel=o.kernel, embedding=embedding).fit(o.s.X, o.y)


def test_bandwidth_of_the_output_kernel_is_estimated_from_the_outputs():
    o = outputs("rbf")
    estimated = IOKR(RBF(GAMMA), output_kernel=RBF(), alpha=0.1).fit(o.s.X, o.y)
    given = IOKR(RBF(GAMMA), output_kernel=RBF(reference.median_bandwidth(o.y)), alpha=0.1).fit(o.s.X, o.y)
    assert_close(estimated.distances(o.s.X_new, o.candidates), given.distances(o.s.X_new, o.candidates), 1e-11)
