"""Ψ = I said by `IdentityMatrix` is Ψ = I given as an array."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from iokr.gram import SeparableGram
from iokr.gram.operators import IdentityMatrix, Oblique
from iokr.kernels import RBF, Nystroem
from iokr.losses import Square
from iokr.problem import Problem
from iokr.solvers import Auto, Cholesky, ConjugateGradient, Eigen, LowRank, ManifoldEigen
from reference import assert_close, graph_laplacian
from samples import vectors, weights

N, U = 9, 4


def oblique(K_Y):
    """A = Φ Φᵀ of implicit outputs: E = K_Y W, L = Wᵀ with K_Y = W diag(γ) Wᵀ."""
    gamma, W = np.linalg.eigh(K_Y)
    return Oblique(gamma, K_Y @ W, W.T, np.diag(K_Y))


def posed(Psi, *, semi=False, operator=None, weighted="none", features=False):
    X = vectors(N + (U if semi else 0), 3)
    kernel = Nystroem(RBF(0.4), n_components=3).fit(X) if features else RBF(0.4).fit(X)
    gram = kernel.gram(kernel.represent(X))
    penalty = graph_laplacian(RBF(0.4)(X)) if semi else None
    gram = gram if operator is None else SeparableGram(gram, operator)
    weight = weights(weighted, N)
    return Problem(gram, Psi, Square(), 0.1, penalty=penalty, manifold_weight=0.5 if semi else 0.0, weight=weight)


CASES = [
    (solver, case)
    for solver in (Cholesky(), Eigen(), ManifoldEigen(), ManifoldEigen("deformed"), ManifoldEigen("eigen"), Auto())
    for case in (
        {"semi": False},
        {"semi": True},
        {"semi": False, "weighted": "zeros"},
        {"semi": True, "operator": oblique(RBF(0.7)(vectors(N, 2, seed=3)))},
        {"semi": False, "operator": oblique(RBF(0.7)(vectors(N, 2, seed=3)))},
    )
]


@pytest.mark.parametrize(
    ("solver", "case"), CASES, ids=lambda value: " ".join(value) if isinstance(value, dict) else repr(value)
)
def test_said_or_given(solver, case):
    said, given = posed(IdentityMatrix(N, np.empty(0)), **case), posed(np.eye(N), **case)
    if solver.refuses(given):
        assert solver.refuses(said) == solver.refuses(given)
        return
    assert_close(solver.solve(said).C, solver.solve(given).C, 1e-13)
    if isinstance(solver, Auto):
        return
    one, other = solver.path(said), solver.path(given)
    assert_close(one.loo_residuals(said.Psi, 0.2), other.loo_residuals(given.Psi, 0.2), 1e-12)
    assert_close(one.loo_errors(said.Psi, [0.2, 2.0]), other.loo_errors(given.Psi, [0.2, 2.0]), 1e-12)
    C = solver.solve(given).C
    if not given.operator.oblique:
        assert_close(said.objective(C), given.objective(C), 1e-15)
        assert_close(said.gradient(C), given.gradient(C), 1e-15)


def test_with_few_features_and_by_products():
    said, given = posed(IdentityMatrix(N, np.empty(0)), features=True), posed(np.eye(N), features=True)
    assert_close(LowRank().solve(said).C, LowRank().solve(given).C, 1e-13)
    errors = [LowRank().path(p).loo_errors(p.Psi, [0.1, 1.0]) for p in (said, given)]
    assert_close(errors[0], errors[1], 1e-12)
    assert_close(ConjugateGradient().solve(said).C, ConjugateGradient().solve(given).C, 1e-13)


def test_no_identity_is_made_before_it_is_needed():
    """The matrix that is factored, the identity and its solution: three n × n arrays, and none beside them."""
    n = 400
    X = vectors(n, 3)
    kernel = RBF(0.4).fit(X)
    said = replace(posed(np.eye(N)), gram=kernel.gram(kernel.represent(X)), Psi=IdentityMatrix(n, X))
    assert said.like.size == 0
    Cholesky().solve(said)
    tracemalloc.start()
    Cholesky().solve(said)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5 * 8 * n * n
