"""The plain case, written as the equation, is the path's; and what happens when rounding makes K + αI indefinite."""

import numpy as np
import pytest

from iokr.gram import ScalarGram
from iokr.kernels import RBF, Precomputed
from iokr.losses import Square
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem
from iokr.solvers import Cholesky, Eigen
from libraries import library_of
from reference import assert_close
from samples import problem


@pytest.mark.parametrize("kind", ["identity", "scaled"])
def test_the_plain_case_is_the_path(kind):
    posed = problem(kind)[0]
    path = Cholesky().path(posed)
    assert_close(Cholesky().solve(posed).C, path.coefficients(posed.Psi, posed.alpha), 0)


@pytest.mark.filterwarnings("ignore:`alpha`")
def test_eigenvalues_are_clipped_where_the_factorisation_fails():
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(30, 2))
    K = Phi @ Phi.T
    K -= 1e-13 * np.eye(30)  # as rounding might
    kernel = Precomputed(K)
    gram = kernel.fit(np.arange(30)).gram(kernel.represent(np.arange(30)))
    posed = Problem(gram, rng.normal(size=(30, 1)), Square(), 1e-15)
    with pytest.warns(RuntimeWarning, match="few correct digits"):
        C = Cholesky().solve(posed).C
    with pytest.warns(RuntimeWarning, match="few correct digits"):
        expected = Eigen().solve(posed).C
    assert_close(K @ C, K @ expected, 1e-6)


LIBRARIES = [
    ("numpy", None),
    ("torch", "cpu"),
    ("array_api_strict", "CPU_DEVICE"),
    pytest.param("torch", "cuda", marks=pytest.mark.gpu),
    pytest.param("cupy", "cuda", marks=pytest.mark.gpu),
]


@pytest.mark.parametrize("n", [30, 31])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", ["scalar", "operator", "mask"])
@pytest.mark.parametrize(("name", "device"), LIBRARIES)
def test_one_triangle_is_the_full_matrix(name, device, kind, weighted, n):
    """Coefficients and leave-one-out at three alphas beside eigenvectors of the full matrix in NumPy."""
    rng = np.random.default_rng(n)
    X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    w = rng.uniform(0, 2, size=n) * (rng.uniform(size=n) > 0.2) if weighted else None
    mask = rng.uniform(size=Y.shape) > 0.3 if kind == "mask" else None
    kernel = Decomposable(RBF(0.3), np.array([[2.0, 1.0], [1.0, 3.0]])) if kind == "operator" else RBF(0.3)

    def path(solver, to):
        fitted = kernel.fit(to(X), to(Y)) if kind == "operator" else kernel.fit(to(X))
        gram = fitted.gram(fitted.represent(to(X)))
        return solver.path(Problem(gram, to(Y), Square(), 1.0, weight=w, mask=mask))

    to = np.asarray if name == "numpy" else library_of(name, device)
    back = np.asarray if name == "numpy" else to.numpy
    ours, full = path(Cholesky(), to), path(Eigen(), np.asarray)
    for alpha in (0.1, 1.0, 0.1):  # the triangle is factored again
        for what in ("coefficients", "loo_residuals"):
            found, expected = back(getattr(ours, what)(to(Y), alpha)), getattr(full, what)(Y, alpha)
            np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_without_room_for_a_copy_the_triangle_is_evaluated_again(monkeypatch):
    import iokr.solvers.closed_form.cholesky as module

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    evaluated = []

    def block(R, S):
        evaluated.append(len(R) * len(S))
        return np.exp(-((R[:, None] - S[None]) ** 2).sum(axis=2))

    gram = ScalarGram(block, X, diag=lambda R: np.ones(len(R)))
    expected = Eigen().path(Problem(gram, Y, Square(), 1.0))
    path = Cholesky().path(Problem(gram, Y, Square(), 1.0))
    counts = []
    for room in (10**9, 10**9, 0, 0):
        monkeypatch.setattr(module, "available_memory", lambda like=None, room=room: room)
        evaluated.clear()
        np.testing.assert_allclose(path.coefficients(Y, 0.5), expected.coefficients(Y, 0.5), atol=1e-12)
        counts.append(sum(evaluated))
    assert counts[0] > 0
    assert counts[1] == counts[2] == 0  # a copy, then the kept one itself
    assert counts[3] > 0
