"""A = E diag(γ) L acts, rotates and groups as its matrix says, and is diagonalised once."""

import numpy as np
import pytest

import iokr.gram.operators
from iokr import IOKR
from iokr.gram.operators import IdentityMatrix, Multiple, Oblique, Symmetric, as_array, as_operator
from iokr.kernels import RBF
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, Auto, Cholesky, Eigen, ManifoldEigen
from reference import assert_close
from samples import GAMMA, operator, problem, regression, vectors


@pytest.mark.parametrize("kind", ["full", "rank one", "scaled"])
def test_rotation_and_action_are_those_of_the_matrix(kind):
    A, H = operator(kind, 3), vectors(5, 3)
    ours = as_operator(A)
    assert_close(ours.act(H), H @ A, 1e-14)
    assert_close(ours.matrix(3, H), A, 0)
    gamma = ours.gamma if ours.scale is None else np.full(3, ours.scale)
    assert_close(ours.unrotate(ours.rotate(H) * gamma), H @ A, 1e-14)
    assert_close(ours.unrotate(ours.rotate(H)), H, 1e-14)


def test_a_multiple_of_the_identity_has_no_size():
    assert isinstance(as_operator(3.0 * np.eye(4)), Multiple)
    assert isinstance(as_operator(np.diag([3.0, 3.0, 3.5])), Symmetric)
    assert Multiple(3.0).groups(5)[0][0] == 3.0
    assert Multiple(3.0).n_distinct == 1
    assert_close(Multiple(3.0).matrix(2, np.empty(0)), 3.0 * np.eye(2), 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.0, 2.0], [[0, 1], [2]]),
        ([1.0, 1.0 + 1e-15, 2.0], [[0, 1], [2]]),  # within the rounding of the largest
        ([1.0, 1.0 + 1e-13, 2.0], [[0], [1], [2]]),
        ([1e-16, 2e-16, 1.0], [[0, 1], [2]]),
        ([1.0, 2.0, 3.0], [[0], [1], [2]]),
        ([0.0, 0.0, 0.0], [[0, 1, 2]]),
    ],
    ids=str,
)
def test_groups_of_equal_eigenvalues(values, expected):
    E = np.eye(3)
    ours = Oblique(np.array(values), E, E, np.ones(3))
    groups = ours.groups(3)
    assert ours.n_distinct == len(groups)
    assert [sorted(group.tolist()) for _, group in groups] == expected
    assert_close(np.array([g for g, _ in groups]), [np.mean(np.array(values)[group]) for group in expected], 1e-15)


def test_the_identity_is_rotated_without_a_product():
    E = vectors(4, 2)
    ours = Oblique(np.array([1.0, 2.0]), E, E.T, np.ones(4))
    identity = IdentityMatrix(4, E)
    assert ours.rotate(identity) is E
    assert_close(Multiple(2.0).rotate(identity), np.eye(4), 0)
    assert identity.like.size == 0


@pytest.mark.parametrize("name", ["numpy", "torch", "array_api_strict"])
def test_the_identity_follows_its_neighbour(name):
    like = pytest.importorskip(name).asarray(vectors(3, 2))
    assert type(as_array(IdentityMatrix(3, like))) is type(like)


SOLVERS = [(None, None), (Auto(), None), (Cholesky(), None), (Eigen(), None), (ADMM(), Huber(0.5))]


@pytest.mark.parametrize(("solver", "loss"), SOLVERS, ids=repr)
@pytest.mark.parametrize("semi", [False, True])
def test_a_fit_diagonalises_the_operator_once(solver, loss, semi, monkeypatch):
    calls = []
    plain = iokr.gram.operators.eigh
    monkeypatch.setattr(iokr.gram.operators, "eigh", lambda A, **rest: calls.append(A.shape) or plain(A, **rest))
    s = regression(1, n=9, u=4, d=3)
    manifold = Laplacian(0.5) if semi else None
    model = IOKR(Decomposable(RBF(GAMMA), operator("full", 3)), loss=loss, manifold=manifold, solver=solver)
    model.fit(s.X, s.Y, X_unlabeled=s.U if semi else None)
    assert calls == [(3, 3)]
    model.predict(s.X)
    assert len(calls) == 1


def test_a_grid_of_strengths_diagonalises_the_operator_once(monkeypatch):
    calls = []
    plain = iokr.gram.operators.eigh
    monkeypatch.setattr(iokr.gram.operators, "eigh", lambda A, **rest: calls.append(A.shape) or plain(A, **rest))
    posed = problem("full", semi=True)[0]
    for path in ManifoldEigen().paths(posed, [0.1, 1.0, 10.0]):
        path.loo_errors(posed.Psi, [0.1, 1.0])
    assert len(calls) == 1
