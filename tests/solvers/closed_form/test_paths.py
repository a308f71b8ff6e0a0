"""Every closed form against the dense system: coefficients, paths and leave-one-out.

Tests of `iokr.solvers.closed_form.eigen`.
"""

from dataclasses import replace

import numpy as np
import pytest

from iokr.solvers import Auto, Cholesky, Eigen, ManifoldEigen
from reference import Ridge, assert_close
from samples import OPERATORS, problem

SUPERVISED = [Auto(), Eigen(), Cholesky()]
WITH_PENALTY = [
    Auto(),
    Eigen(),
    Cholesky(),
    ManifoldEigen(),
    ManifoldEigen("eigen"),
    ManifoldEigen("deformed"),
]
CASES = [(solver, False) for solver in SUPERVISED] + [(solver, True) for solver in WITH_PENALTY]
PATHS = [(solver, semi) for solver, semi in CASES if not isinstance(solver, Auto)]


def name(value) -> str:
    return value if isinstance(value, str) else {True: "semi", False: "supervised"}.get(value) or repr(value)


def values(ours, C, K_new) -> np.ndarray:
    H = K_new @ np.asarray(C)
    return ours.operator.act(H)


def assert_solves(solver, ours, ridge: Ridge, K_new, rtol: float = 1e-9) -> None:
    solution = solver.solve(ours)
    assert solution.converged
    assert_close(values(ours, solution.C, K_new), ridge.values(K_new), rtol)


@pytest.mark.parametrize(("solver", "semi"), CASES, ids=name)
@pytest.mark.parametrize("kind", OPERATORS)
def test_every_operator(kind, solver, semi):
    for alpha in (1e-3, 0.1, 20.0):
        assert_solves(solver, *problem(kind, semi=semi, alpha=alpha))


@pytest.mark.parametrize(("solver", "semi"), CASES, ids=name)
@pytest.mark.parametrize("weighted", ["any", "zeros", "tiny"])
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_weights(kind, weighted, solver, semi):
    ours, ridge, K_new = problem(kind, weighted, semi=semi)
    if weighted == "tiny" and semi and not isinstance(solver, Auto) and solver.refuses(ours):
        assert "sample_weight" in solver.refuses(ours)  # fourteen orders of magnitude: right, or refused in words
    else:
        assert_solves(solver, ours, ridge, K_new)


@pytest.mark.parametrize(("solver", "semi"), CASES, ids=name)
@pytest.mark.parametrize("holes", ["entries", "one column", "two patterns"])
@pytest.mark.parametrize("kind", ["identity", "scaled", "full", "rank one", "singular"])
def test_missing_targets(kind, holes, solver, semi):
    for weighted in ("none", "zeros"):
        assert_solves(solver, *problem(kind, weighted, holes, semi))


@pytest.mark.parametrize("solver", WITH_PENALTY, ids=repr)
@pytest.mark.parametrize("mu", [0.0, 1e-3, 50.0])
def test_strengths(mu, solver):
    assert_solves(solver, *problem("full", semi=True, mu=mu))


@pytest.mark.parametrize(("solver", "semi"), PATHS, ids=name)
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("holes", ["none", "entries"])
@pytest.mark.parametrize("kind", ["identity", "full", "rank one"])
def test_whole_paths(kind, holes, weighted, solver, semi):
    """One path object serves every alpha: coefficients, leave-one-out residuals and errors."""
    ours, ridge, K_new = problem(kind, weighted, holes, semi)
    alphas = (1e-2, 0.3, 5.0)
    path = solver.path(ours)
    for alpha in alphas:
        at = ridge.at(alpha=alpha)
        assert_close(values(ours, path.coefficients(ours.Psi, alpha), K_new), at.values(K_new), 1e-9)
        observed = ours.mask if ours.mask is not None else np.ones(ours.Psi.shape, dtype=bool)
        residuals = np.asarray(path.loo_residuals(ours.Psi, alpha))
        expected = ours.Psi - at.leave_one_out()
        assert_close(residuals[observed], expected[observed], 1e-9)
        assert_close(residuals, expected, 1e-9)  # where nothing is observed Ψ reads 0
    expected = [ridge.at(alpha=alpha).leave_one_out_error() for alpha in alphas]
    assert_close(path.loo_errors(ours.Psi, alphas), expected, 1e-9)


@pytest.mark.parametrize("solver", [s for s in WITH_PENALTY if not isinstance(s, Auto)], ids=repr)
def test_paths_over_strengths_share_their_factors_without_mixing_them_up(solver):
    ours, ridge, K_new = problem("full", "any", semi=True)
    manifold_weights = (0.0, 5.0, 0.1)
    for mu, path in zip(manifold_weights, solver.paths(ours, manifold_weights), strict=True):
        for alpha in (0.05, 2.0):
            at = ridge.at(alpha=alpha, mu=mu)
            assert_close(values(ours, path.coefficients(ours.Psi, alpha), K_new), at.values(K_new), 1e-9)
            assert_close(ours.Psi - np.asarray(path.loo_residuals(ours.Psi, alpha)), at.leave_one_out(), 1e-9)


@pytest.mark.parametrize(("solver", "semi"), PATHS, ids=name)
def test_other_targets_along_the_same_path(solver, semi):
    ours, ridge, K_new = problem("full", semi=semi)
    path = solver.path(ours)
    other = np.random.default_rng(5).normal(size=ours.Psi.shape)
    for targets in (ours.Psi, other):
        at = ridge.at(Y=targets)
        assert_close(values(ours, path.coefficients(targets, 0.1), K_new), at.values(K_new), 1e-9)


def test_many_outputs_and_many_alphas_are_worked_off_in_batches():
    """More columns than one product takes."""
    rng = np.random.default_rng(6)
    ours, ridge, _ = problem()
    Psi = rng.normal(size=(8, 300))
    alphas = np.logspace(-3, 2, 7)
    errors = Eigen().path(replace(ours, Psi=Psi)).loo_errors(Psi, alphas)
    N = [np.linalg.inv(ridge.K + a * np.eye(8)) for a in alphas]
    expected = [np.mean(np.sum((inverse @ Psi / np.diag(inverse)[:, None]) ** 2, axis=1)) for inverse in N]
    assert_close(errors, expected, 1e-9)


@pytest.mark.parametrize(("solver", "semi"), CASES, ids=name)
def test_solving_twice_gives_the_same_answer(solver, semi):
    """Factorisations overwrite their matrices, never those of the problem."""
    ours, ridge, _ = problem("full", semi=semi)
    first, second = solver.solve(ours).C, solver.solve(ours).C
    assert_close(first, second, 1e-13)
    assert_close(ours.gram.K.dense(), ridge.K, 1e-13)
    if semi:
        assert_close(ours.penalty, ridge.L, 1e-15)
