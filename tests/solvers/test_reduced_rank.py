"""Reduced rank: the kernel form of the papers, full rank, leave-one-out against refits with the projection held."""

import numpy as np
import pytest

from iokr import IOKR, IOKRCV, CandidateSets, IOKRRegressor
from iokr.embeddings import Implicit, Nystroem
from iokr.kernels import RBF, Polynomial
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, ReducedRank
from samples import each_intercept

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(14, 2)), RNG.normal(size=(5, 2))
Y = np.column_stack([np.sin(X), np.cos(X)]) + 0.2 * RNG.normal(size=(14, 4))
K_Y = Polynomial(2, 1.0, 1.0)
A = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
CLOSE = {"rtol": 1e-7, "atol": 1e-9}


def model(solver, kernel=None, **changes):
    return IOKR(RBF(0.5) if kernel is None else kernel, **{"alpha": 0.1, "solver": solver} | changes)


@pytest.mark.parametrize("p", [1, 3, 8])
def test_equals_the_kernel_form(p):
    """⟨P̂h(x), ψ(y)⟩ = (F_y k_Y(y))ᵀ(F_x k_x) with H₁K_YH₁ = W diag(f) Wᵀ."""
    first, second = 0.5, 0.1
    K, Ky = RBF(0.5)(X), K_Y(Y)
    H1 = K @ np.linalg.inv(K + first * np.eye(14))
    f, W = np.linalg.eigh(H1 @ Ky @ H1)
    f, W = f[::-1][:p], W[:, ::-1][:, :p]
    Fy = (W / np.sqrt(f)).T @ H1
    Fx = Fy @ Ky @ np.linalg.inv(K + second * np.eye(14))
    expected = (Fy @ K_Y(Y, Y)).T @ (Fx @ RBF(0.5)(X, NEW))
    found = model(ReducedRank(p, first), output_kernel=K_Y).fit(X, Y)
    np.testing.assert_allclose(found.scores(NEW, Y), expected.T, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", [RBF(0.5), Decomposable(RBF(0.5), A)], ids=["scalar", "operator"])
def test_full_rank_is_the_model_itself(kernel):
    full = 4 if isinstance(kernel, RBF) else 3  # A leaves one output out
    np.testing.assert_allclose(
        model(ReducedRank(full), kernel).fit(X, Y).predict(NEW), model(None, kernel).fit(X, Y).predict(NEW), **CLOSE
    )


@each_intercept
@pytest.mark.parametrize("kernel", [RBF(0.5), Decomposable(RBF(0.5), A)], ids=["scalar", "operator"])
@pytest.mark.parametrize("weight", [None, RNG.uniform(0.5, 2.0, size=14)], ids=["plain", "weighted"])
def test_values_are_projected_and_leave_one_out_holds_the_projection(kernel, weight, intercept):
    """With an intercept deviations from the mean output are projected."""

    def mean(rows):
        return intercept * np.average(Y[rows], axis=0, weights=None if weight is None else weight[rows])

    everything = np.arange(14)
    reduced = model(ReducedRank(2, 0.3), kernel, intercept=intercept).fit(X, Y, sample_weight=weight)
    V = reduced.solver_.directions_
    P = V @ V.T
    F = model(None, kernel, alpha=0.3, intercept=intercept).fit(X, Y, sample_weight=weight).decision_function(X)
    F = (F - mean(everything)) * (1.0 if weight is None else np.sqrt(weight)[:, None])
    _, _, top = np.linalg.svd(F)
    np.testing.assert_allclose(P, top[:2].T @ top[:2], **CLOSE)
    plain = model(None, kernel, intercept=intercept).fit(X, Y, sample_weight=weight).predict(NEW)
    projected = mean(everything) + (plain - mean(everything)) @ P
    np.testing.assert_allclose(reduced.predict(NEW), projected, **CLOSE)
    left_out = reduced.loo_decision_function()
    for i in range(14):
        rest = np.delete(everything, i)
        w = None if weight is None else weight[rest]
        refit = model(None, kernel, intercept=intercept).fit(X[rest], Y[rest], sample_weight=w)
        projected = mean(rest) + (refit.predict(X[i : i + 1])[0] - mean(rest)) @ P
        np.testing.assert_allclose(left_out[i], projected, **CLOSE)


def test_the_rank_is_that_of_the_least_leave_one_out_error():
    errors = [
        np.mean(np.sum((Y - model(ReducedRank(p)).fit(X, Y).loo_decision_function()) ** 2, axis=1)) for p in range(1, 5)
    ]
    chosen = model(ReducedRank()).fit(X, Y)
    assert chosen.solver_.rank_ == 1 + int(np.argmin(errors))
    found = IOKRCV(RBF(0.5), alphas=(0.1,), solver=ReducedRank()).fit(X, Y)
    np.testing.assert_allclose(found.loo_errors_, min(errors), rtol=1e-9)
    assert str(chosen.solver_.rank_) in str(chosen.solver_)


def test_selection_of_rank_and_both_alphas():
    alphas, firsts, ranks = (0.01, 0.1, 1.0), (0.05, 0.5), (1, 2, 3)
    found = IOKRCV(RBF(0.5), alphas=alphas, solver=ReducedRank(ranks, firsts), output_kernel=K_Y).fit(X, Y)
    every = {
        (a, b, p): IOKRCV(RBF(0.5), alphas=(a,), solver=ReducedRank(p, b), output_kernel=K_Y).fit(X, Y).loo_errors_
        for a in alphas
        for b in firsts
        for p in ranks
    }
    np.testing.assert_allclose(found.loo_errors_.min(), min(every.values()), rtol=1e-8)
    best = min(every, key=every.get)
    assert (found.alpha_, found.solver_.rank_) == (best[0], best[2])


@each_intercept
def test_other_losses_and_unlabelled_points(intercept):
    """With an intercept deviations from the mean of the fitted values are projected."""
    robust = model(ReducedRank(1, solver=ADMM(1e-10)), loss=Huber(0.5), intercept=intercept).fit(X, Y)
    P = robust.solver_.directions_ @ robust.solver_.directions_.T
    plain = model(ADMM(1e-10), loss=Huber(0.5), intercept=intercept).fit(X, Y)
    mean = intercept * plain.predict(X).mean(axis=0)
    np.testing.assert_allclose(robust.predict(NEW), mean + (plain.predict(NEW) - mean) @ P, atol=1e-6)
    semi = model(ReducedRank(2), manifold=Laplacian(0.1), intercept=intercept).fit(X, Y, X_unlabeled=NEW)
    H = semi.predict(NEW)
    assert np.linalg.matrix_rank(H - intercept * H.mean(axis=0), tol=1e-10) == 2


def test_refusals():
    with pytest.raises(ValueError, match="lower it"):
        model(ReducedRank(5)).fit(X, Y)
    with pytest.raises(ValueError, match="Eigen"):
        model(ReducedRank(1), output_kernel=K_Y, embedding=Implicit()).fit(X, Y)
    with pytest.raises(ValueError, match="give a number"):
        model(ReducedRank(), loss=Huber()).fit(X, Y)
    with pytest.raises(ValueError, match="missing"):
        model(ReducedRank(1)).fit(X, np.where(np.arange(4) == np.arange(14)[:, None] % 5, np.nan, Y))
    with pytest.raises(ValueError, match="rank"):
        model(ReducedRank(0)).fit(X, Y)


@pytest.mark.parametrize("method", ["weights", "variance"])
def test_what_belongs_to_h_with_all_its_directions_is_refused(method):
    found = model(ReducedRank(1)).fit(X, Y)
    with pytest.raises(ValueError, match="all directions"):
        getattr(found, method)(NEW)
    regressor = IOKRRegressor(RBF(0.5), alpha=0.1, solver=ReducedRank(1)).fit(X, Y)
    np.testing.assert_allclose(regressor.predict(NEW), found.predict(NEW), **CLOSE)
    with pytest.raises(ValueError, match="all directions"):
        regressor.predict(NEW, return_std=True)


@pytest.mark.parametrize("embedding", [None, Nystroem(8)], ids=["eigen", "nystroem"])
def test_candidates_are_ranked_through_p_numbers(embedding):
    found = model(ReducedRank(2), output_kernel=K_Y, embedding=embedding).fit(X, Y)
    E, H = found.embedding_, found.decision_function(NEW)
    S = E.represent(Y)
    inner = H @ E.coordinates(S, H).T
    distances = (H**2).sum(axis=1)[:, None] + K_Y(Y).diagonal() - 2 * inner
    np.testing.assert_allclose(found.scores(NEW, Y), inner, **CLOSE)
    np.testing.assert_allclose(found.distances(NEW, Y), distances, **CLOSE)
    np.testing.assert_array_equal(found.rank(NEW, Y)[0], np.argsort(distances, axis=1, kind="stable"))
    np.testing.assert_array_equal(found.predict(NEW), Y[distances.argmin(axis=1)])
    sets = CandidateSets([Y[:5], Y[3:], Y, Y[:1], Y[::2]])
    np.testing.assert_allclose(found.distances(NEW, sets)[1], distances[1, 3:], **CLOSE)
    assert found.solver_.coefficients_.shape == (14, 2)
