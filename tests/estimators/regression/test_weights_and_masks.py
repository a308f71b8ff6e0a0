"""Invariant 14: weight 2 is the row twice, weight 0 the row removed, columns are separate."""

import numpy as np
import pytest

import reference
from iokr import IOKR, IOKRCV
from iokr.embeddings import Eigen, Implicit
from iokr.kernels import RBF, Linear, Polynomial, Precomputed
from iokr.manifolds import Given, Laplacian
from iokr.operator_kernels import Decomposable
from reference import Ridge, assert_close
from samples import GAMMA, OPERATORS, each_intercept, missing, operator, regression, weights
from tolerance import deformed_condition, rounding


def with_operator(kernel, A):
    return kernel if A is None else Decomposable(kernel, A)


@each_intercept
@pytest.mark.parametrize("holes", ["none", "entries", "one column", "two patterns"])
@pytest.mark.parametrize("kind", OPERATORS)
def test_weights_and_holes_solve_the_dense_system(kind, holes, intercept):
    s = regression(1, n=9)
    A, Y = operator(kind, 3), missing(holes, s.Y)
    for weighted in ("none", "any", "zeros", "tiny"):
        w = weights(weighted, 9)
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.05, intercept=intercept).fit(s.X, Y, sample_weight=w)
        expected = Ridge(s.K, Y, 0.05, A, weight=w, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)


@each_intercept
@pytest.mark.parametrize("holes", ["none", "entries", "one column", "two patterns"])
@pytest.mark.parametrize("kind", ["identity", "full", "singular"])
def test_weights_and_holes_with_unlabelled_points(kind, holes, intercept):
    s = regression(2, n=7, u=6)
    A, Y, L = operator(kind, 3), missing(holes, s.Y), reference.graph_laplacian(s.K)
    for weighted in ("none", "any", "zeros", "tiny"):
        w = weights(weighted, 7)
        model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.05, manifold=Laplacian(0.6), intercept=intercept)
        model.fit(s.X, Y, sample_weight=w, X_unlabeled=s.U)
        expected = Ridge(s.K, Y, 0.05, A, L, 0.6, w, intercept=intercept)
        assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)


@each_intercept
@pytest.mark.parametrize("kernel", [RBF(GAMMA), RBF(), Linear()], ids=["gamma given", "gamma estimated", "linear"])
@pytest.mark.parametrize("kind", ["identity", "full"])
@pytest.mark.parametrize("holes", ["none", "entries"])
def test_whole_weights_are_repeated_rows(holes, kind, kernel, intercept):
    """Weight 0 removes the row, weight k is the row k times, in h and in the bandwidth."""
    s = regression(3, n=10)
    Y, counts = missing(holes, s.Y), np.array([1, 2, 0, 3, 1, 0, 2, 1, 1, 4])
    model = IOKR(with_operator(kernel, operator(kind, 3)), alpha=0.1, intercept=intercept)
    weighted = model.fit(s.X, Y, sample_weight=counts.astype(float)).decision_function(s.X_new)
    repeated = model.fit(np.repeat(s.X, counts, axis=0), np.repeat(Y, counts, axis=0)).decision_function(s.X_new)
    assert_close(weighted, repeated, 1e-10)
    removed = model.fit(s.X[counts > 0], Y[counts > 0], sample_weight=counts[counts > 0]).decision_function(s.X_new)
    assert_close(weighted, removed, 1e-11)


@each_intercept
@pytest.mark.parametrize("embedding", [Implicit(), Eigen(), None], ids=str)
def test_whole_weights_are_repeated_rows_for_implicit_outputs(embedding, intercept):
    s = regression(5, n=8)
    counts = np.array([1, 2, 0, 3, 1, 1, 2, 1])
    candidates = s.rng.normal(size=(6, 3))
    common = {"output_kernel": Polynomial(2, 0.5, 1.0), "embedding": embedding, "intercept": intercept}
    model = IOKR(RBF(GAMMA), alpha=0.1, **common)
    weighted = model.fit(s.X, s.Y, sample_weight=counts).distances(s.X_new, candidates)
    repeated = model.fit(np.repeat(s.X, counts, axis=0), np.repeat(s.Y, counts, axis=0)).distances(s.X_new, candidates)
    assert_close(weighted, repeated, 1e-10)


@each_intercept
def test_weights_are_not_normalised(intercept):
    """Multiplying all weights by c is dividing alpha by c."""
    s = regression(6)
    w = weights("any", 11)
    scaled = IOKR(RBF(GAMMA), alpha=0.3, intercept=intercept).fit(s.X, s.Y, sample_weight=6 * w)
    expected = IOKR(RBF(GAMMA), alpha=0.05, intercept=intercept).fit(s.X, s.Y, sample_weight=w)
    assert_close(scaled.decision_function(s.X_new), expected.decision_function(s.X_new), 1e-11)


def test_unit_weights_and_full_masks_change_nothing():
    s = regression(7, n=8, u=4)
    for manifold, U in ((None, None), (Laplacian(0.5), s.U)):
        model = IOKR(RBF(GAMMA), alpha=0.1, manifold=manifold)
        plain = model.fit(s.X, s.Y, X_unlabeled=U).decision_function(s.X_new)
        ones = model.fit(s.X, s.Y, sample_weight=np.ones(8), X_unlabeled=U).decision_function(s.X_new)
        assert_close(ones, plain, 1e-12)


def test_weight_zero_is_unlabelled_when_there_is_a_manifold():
    """A point without weight still belongs to the graph."""
    s = regression(8, n=9, u=4)
    w = np.ones(9)
    w[6:] = 0.0
    L = reference.graph_laplacian(s.K)
    model = IOKR(RBF(GAMMA), alpha=0.1, manifold=Given(0.7, L))
    weighted = model.fit(s.X, s.Y, sample_weight=w, X_unlabeled=s.U).decision_function(s.X_new)
    unlabelled = model.fit(s.X[:6], s.Y[:6], X_unlabeled=np.vstack([s.X[6:], s.U])).decision_function(s.X_new)
    assert_close(weighted, unlabelled, 1e-11)


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
def test_columns_without_an_operator_are_separate_fits(semi, intercept):
    s = regression(9, n=9, u=4 if semi else 0)
    Y = missing("entries", s.Y)
    manifold, U = (Given(0.3, reference.graph_laplacian(s.K)), s.U) if semi else (None, None)
    model = IOKR(RBF(GAMMA), intercept=intercept, alpha=0.1, manifold=manifold)
    together = model.fit(s.X, Y, X_unlabeled=U).predict(s.X_new)
    for j in range(3):
        seen = ~np.isnan(Y[:, j])
        others = s.X[~seen] if not semi else np.vstack([s.X[~seen], s.U])
        if semi:
            order = np.concatenate([np.flatnonzero(seen), np.flatnonzero(~seen), np.arange(9, 13)])
            manifold = Given(0.3, reference.graph_laplacian(s.K)[np.ix_(order, order)])
        alone = IOKR(RBF(GAMMA), intercept=intercept, alpha=0.1, manifold=manifold)
        alone.fit(s.X[seen], Y[seen][:, [j]], X_unlabeled=others if semi else None)
        assert_close(together[:, [j]], alone.predict(s.X_new), 1e-11)


@each_intercept
def test_a_mask_with_an_operator_shares_information_between_columns(intercept):
    """The wrong answer, columns fitted apart, is far away: the test of the dense system can tell."""
    s = regression(10, n=9)
    Y, A = missing("entries", s.Y), operator("full", 3)
    right = Ridge(s.K, Y, 0.1, A, intercept=intercept).values(s.K_new)
    apart = Ridge(s.K, Y, 0.1, np.diag(np.diag(A)), intercept=intercept).values(s.K_new)
    assert np.abs(right - apart).max() > 1e-2
    model = IOKR(Decomposable(RBF(GAMMA), A), alpha=0.1, intercept=intercept).fit(s.X, Y)
    assert_close(model.decision_function(s.X_new), right, 1e-10)


@each_intercept
@pytest.mark.parametrize("solver_name", ["Eigen", "Cholesky"])
def test_named_solvers_take_weights_and_masks_or_refuse_in_words(solver_name, intercept):
    import iokr.solvers

    s = regression(11, n=8)
    Y, w = missing("entries", s.Y), weights("any", 8)
    solver = getattr(iokr.solvers, solver_name)()
    for targets, weight in ((Y, None), (s.Y, w), (Y, w)):
        for A in (None, operator("full", 3)):
            model = IOKR(with_operator(RBF(GAMMA), A), alpha=0.1, solver=solver, intercept=intercept)
            try:
                model.fit(s.X, targets, sample_weight=weight)
            except ValueError as error:
                assert f"{solver_name}() cannot solve this problem" in str(error)
            else:
                expected = Ridge(s.K, targets, 0.1, A, weight=weight, intercept=intercept)
                assert_close(model.decision_function(s.X_new), expected.values(s.K_new), 1e-10)


def test_a_column_without_any_target_is_warned_of():
    Y = np.column_stack([np.arange(6.0), np.full(6, np.nan)])
    with pytest.warns(UserWarning, match=r"Column 1 of `y` \(1 in all\) contains NaN alone"):
        model = IOKR().fit(np.arange(6.0)[:, None], Y)
    np.testing.assert_array_equal(model.predict([[2.0]])[:, 1], 0.0)


def test_a_row_without_any_target_points_to_unlabelled_inputs():
    s = regression(12)
    Y = s.Y.copy()
    Y[4] = np.nan
    with pytest.raises(ValueError, match="X_unlabeled"):
        IOKR(RBF(GAMMA)).fit(s.X, Y)


@pytest.mark.parametrize("embedding", [Implicit(), Eigen()], ids=str)
def test_missing_targets_of_implicit_outputs_are_refused(embedding):
    s = regression(13)
    Y = missing("entries", s.Y)
    with pytest.raises(ValueError, match=r"[Mm]issing|NaN|mask"):
        IOKR(RBF(GAMMA), output_kernel=RBF(1.0), embedding=embedding).fit(s.X, Y)


@pytest.mark.parametrize("bad", [[-1.0] + [1.0] * 10, [np.nan] + [1.0] * 10, [1.0] * 10])
def test_bad_weights_are_refused(bad):
    s = regression(14)
    with pytest.raises(ValueError, match="sample_weight"):
        IOKR(RBF(GAMMA)).fit(s.X, s.Y, sample_weight=np.array(bad))


@each_intercept
def test_errors_of_a_path_count_rows_by_their_weight(intercept):
    s = regression(15, n=9)
    counts = np.array([1, 2, 0, 3, 1, 0, 2, 1, 1])
    path = IOKRCV(RBF(GAMMA), alphas=(0.01, 0.1, 1.0), intercept=intercept).fit(s.X, s.Y, sample_weight=counts)
    models = [IOKR(RBF(GAMMA), alpha=a, intercept=intercept) for a in path.alphas]
    loo = np.array([model.fit(s.X, s.Y, sample_weight=counts).loo_decision_function() for model in models])
    squares = np.sum((s.Y - loo) ** 2, axis=2)
    assert_close(path.loo_errors_, squares @ counts / counts.sum(), 1e-11)


@each_intercept
@pytest.mark.parametrize("kind", ["full", "rank one"])
def test_missing_targets_under_a_strong_penalty(kind, intercept):
    """μγw_max/λ far above 1e6, where the deformed kernel must come from the other form; against 60 digits."""
    s = regression(16, n=5, u=4, d=2)
    Y, A, L = missing("entries", s.Y), operator(kind, 2), reference.graph_laplacian(s.K)
    model = IOKR(Decomposable(Precomputed(s.K), A), alpha=1e-7, manifold=Given(10.0, L), intercept=intercept)
    model.fit(np.arange(5), Y, X_unlabeled=np.arange(5, 9))
    expected = Ridge(s.K, Y, 1e-7, A, L, 10.0, exact=True, intercept=intercept)
    rtol = rounding(5, deformed_condition(s.K, 5, 1e-7, L, 10.0, A))  # about 1e-8
    assert_close(model.decision_function(np.arange(9)), expected.values(s.K), rtol)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), rtol)
