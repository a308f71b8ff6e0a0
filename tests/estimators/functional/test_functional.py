"""Curves: the identities of integral kernels and of projections, on problems that slow obvious code solves.

Tests of `iokr.estimators.functional.model`, `iokr.estimators.functional.base`, `iokr.estimators.functional.operator`,
`iokr.estimators.functional.cv` and `iokr.estimators.functional.plot`.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from iokr import Functional, FunctionalCV
from iokr.embeddings import Basis
from iokr.kernels import L2, RBF, Delta, Periodic, Precomputed
from iokr.losses import EpsilonInsensitive, Huber
from iokr.manifolds import Laplacian
from iokr.solvers import ADMM

N, T, ALPHA = 9, 7, 0.05
RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(N, 2)), RNG.normal(size=(4, 2))
POINTS = np.sort(RNG.uniform(size=T))
Y = RNG.normal(size=(N, T))
K, L = RBF(0.5), RBF(8.0)
GAPS = np.where(RNG.uniform(size=(N, T)) < 0.3, np.nan, Y)
GAPS[:, 3] = Y[:, 3]
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


def model(**changes):
    return Functional(K, **{"curve_kernel": L, "grid": POINTS, "alpha": ALPHA, "intercept": False} | changes)


def trapezoid(points):
    gaps = np.diff(points) / (points[-1] - points[0])
    return (np.r_[gaps, 0] + np.r_[0, gaps]) / 2


def scalar_ridge(values, at, weight=1.0):
    """k ⊗ L on observations (i, t) with weights w_t: h(x)(θ) anywhere."""
    i, t = np.nonzero(~np.isnan(values))
    w = trapezoid(POINTS)[t] * np.broadcast_to(weight, N)[i]
    G = K(X, X)[np.ix_(i, i)] * L(POINTS[:, None], POINTS[:, None])[np.ix_(t, t)]
    c = np.linalg.solve(G + ALPHA * np.diag(1 / w), values[i, t])
    return np.einsum("mj,lj,j->ml", K(X_NEW, X)[:, i], L(at[:, None], POINTS[:, None])[:, t], c)


class TestIntegralKernel:
    at = np.linspace(POINTS[0], POINTS[-1], 11)

    def test_equals_scalar_ridge_with_observation_weights_anywhere(self):
        fitted = model().fit(X, Y)
        np.testing.assert_allclose(fitted.predict(X_NEW), scalar_ridge(Y, POINTS), **CLOSE)
        np.testing.assert_allclose(fitted.predict(X_NEW, at=self.at), scalar_ridge(Y, self.at), **CLOSE)

    def test_with_gaps_too_every_curve_counting_alike_or_every_point(self):
        counts = T / (~np.isnan(GAPS)).sum(axis=1)
        for curve_weight, weight in (("equal", counts), ("points", 1.0)):
            fitted = model(curve_weight=curve_weight).fit(X, GAPS)
            np.testing.assert_allclose(fitted.predict(X_NEW, at=self.at), scalar_ridge(GAPS, self.at, weight), **CLOSE)

    @pytest.mark.parametrize("values", [Y, GAPS], ids=["complete", "gaps"])
    def test_leave_one_curve_out_equals_refits(self, values):
        left_out = model().fit(X, values).loo_decision_function()
        for i in range(N):
            rest = np.arange(N) != i
            np.testing.assert_allclose(
                left_out[i], model().fit(X[rest], values[rest]).predict(X[i : i + 1])[0], **CLOSE
            )

    def test_at_the_nodes_is_the_values_there(self):
        fitted = model(intercept=True).fit(X, Y)
        np.testing.assert_allclose(fitted.predict(X_NEW, at=POINTS), fitted.predict(X_NEW), **CLOSE)

    def test_weights_times_c_with_alpha_times_c_leave_h(self):
        w = trapezoid(POINTS)
        scaled = model(quadrature=3 * w, alpha=3 * ALPHA).fit(X, Y)
        np.testing.assert_allclose(scaled.predict(X_NEW), model(quadrature=w).fit(X, Y).predict(X_NEW), **CLOSE)

    def test_a_shift_of_the_points_shifts_the_curves(self):
        moved = model(grid=POINTS + 5).fit(X, Y)
        np.testing.assert_allclose(moved.predict(X_NEW, at=self.at + 5), scalar_ridge(Y, self.at), rtol=1e-7, atol=1e-9)

    def test_a_finer_grid_converges(self):
        def h(size):
            t = np.linspace(0, 1, size)
            curves = np.sin(3 * t + X[:, :1])
            return Functional(K, curve_kernel=L, grid=t, alpha=0.1).fit(X, curves).predict(X_NEW, at=[0.31])

        fine = h(321)
        errors = [np.abs(h(size) - fine).max() for size in (11, 21, 41)]
        assert errors[1] < errors[0] / 3 and errors[2] < errors[1] / 3  # the trapezoid's O(h²)

    def test_derivatives_match_differences(self):
        for kernel in (L, Periodic(8.0)):
            fitted = model(curve_kernel=kernel, intercept=True).fit(X, Y)
            inside = np.linspace(POINTS[0] + 0.05, POINTS[-1] - 0.05, 5)
            step = 1e-5
            for order in (1, 2):
                lower, upper = (fitted.predict(X_NEW, inside + s, derivative=order - 1) for s in (-step, step))
                np.testing.assert_allclose(
                    fitted.predict(X_NEW, inside, derivative=order), (upper - lower) / (2 * step), rtol=1e-4, atol=1e-4
                )

    @pytest.mark.parametrize("basis", [None, Basis.bsplines(4), Basis.principal(2)], ids=str)
    def test_weights_count_in_the_mean_and_in_principal_components(self, basis):
        """A weight of 2 is the curve twice, and of 0 no curve, whatever it is."""
        rows, weight = np.r_[np.arange(8), 3], np.r_[np.ones(8), 0.0] + (np.arange(N) == 3)
        options = {"intercept": True, "basis": basis, "curve_kernel": L if basis is None else None}
        odd = np.where(np.arange(N)[:, None] == 8, 50.0, Y)
        weighted = model(**options).fit(X, odd, sample_weight=weight).predict(X_NEW)
        np.testing.assert_allclose(weighted, model(**options).fit(X[rows], Y[rows]).predict(X_NEW), **CLOSE)

    def test_a_weight_of_two_is_the_curve_twice(self):
        twice = np.r_[np.arange(N), 2]
        weighted = model().fit(X, GAPS, sample_weight=1.0 + (np.arange(N) == 2))
        np.testing.assert_allclose(weighted.predict(X_NEW), model().fit(X[twice], GAPS[twice]).predict(X_NEW), **CLOSE)


class TestForms:
    def pairs(self, values=Y):
        return [(POINTS[~np.isnan(row)], row[~np.isnan(row)]) for row in values]

    def test_pairs_on_equal_grids_are_the_matrix(self):
        fitted = model(grid=None).fit(X, self.pairs())
        np.testing.assert_array_equal(fitted.points_, POINTS)
        np.testing.assert_allclose(fitted.predict(X_NEW), model().fit(X, Y).predict(X_NEW), **CLOSE)

    def test_pairs_with_gaps_are_the_matrix_with_nan(self):
        fitted = model(grid=None).fit(X, self.pairs(GAPS))
        np.testing.assert_allclose(fitted.predict(X_NEW), model().fit(X, GAPS).predict(X_NEW), **CLOSE)

    def test_a_long_table_in_pandas_and_polars(self):
        i, t = np.nonzero(~np.isnan(GAPS))
        columns = {"id": i, "t": POINTS[t], "value": GAPS[i, t]}
        expected = model().fit(X, GAPS).predict(X_NEW)
        for library in ("pandas", "polars"):
            table = pytest.importorskip(library).DataFrame(columns)
            fitted = model(grid=None).fit(X, table)
            np.testing.assert_allclose(fitted.predict(X_NEW), expected, **CLOSE)
            assert fitted.curve_names_ == list(range(N))

    def test_scikit_fda(self):
        fda = pytest.importorskip("skfda")
        fitted = model(grid=None).fit(X, fda.FDataGrid(Y, POINTS))
        np.testing.assert_allclose(fitted.predict(X_NEW), model().fit(X, Y).predict(X_NEW), **CLOSE)

    def test_predictions_as_a_long_table(self):
        fitted = model().fit(X, Y)
        columns = fitted.table(X_NEW)
        again = np.reshape(columns["value"], (4, T))
        np.testing.assert_array_equal(again, fitted.predict(X_NEW))
        assert columns["id"][T] == 1 and columns["t"][1] == POINTS[1]

    def test_a_curve_with_one_point(self):
        one = [*self.pairs()[:-1], ([0.5], [1.0])]
        assert np.isfinite(model(grid=None).fit(X, one).predict(X_NEW)).all()

    def test_curves_to_curves(self):
        inputs = np.cumsum(RNG.normal(size=(N, 12)), axis=1)
        fitted = Functional(L2(), alpha=0.1).fit(inputs, Y)
        assert fitted.predict(inputs).shape == (N, T)


class TestBasis:
    Phi = RNG.normal(size=(T, 4))
    B = np.diag([1.0, 0.5, 2.0, 0.1])

    def projected(self, **changes):
        basis = Basis(self.Phi, residual=changes.pop("residual", True))
        return model(basis=basis, curve_kernel=self.B, **changes)

    def test_solves_the_equations_of_projection_learning(self):
        W = np.diag(trapezoid(POINTS))
        G, nu = self.Phi.T @ W @ self.Phi, Y @ W @ self.Phi
        gram = np.kron(K(X, X), self.B @ G)
        a = np.linalg.solve(gram.T + ALPHA * np.eye(N * 4), nu.ravel()).reshape(N, 4)
        # stationarity: K a B G + λa = ν, written with the transposed Kronecker product above
        np.testing.assert_allclose(K(X, X) @ a @ self.B @ G + ALPHA * a, nu, rtol=1e-8, atol=1e-10)
        expected = K(X_NEW, X) @ a @ self.B @ self.Phi.T
        np.testing.assert_allclose(self.projected().fit(X, Y).predict(X_NEW), expected, rtol=1e-8, atol=1e-10)

    def test_redundant_functions_change_nothing(self):
        doubled = np.column_stack([self.Phi, self.Phi[:, :1]])
        B = np.zeros((5, 5))
        B[:4, :4] = self.B
        fitted = model(basis=Basis(doubled), curve_kernel=B).fit(X, Y)
        np.testing.assert_allclose(
            fitted.predict(X_NEW), self.projected().fit(X, Y).predict(X_NEW), rtol=1e-7, atol=1e-9
        )

    def test_all_functions_and_the_kernel_between_them_are_the_kernel(self):
        fitted = model(basis=Basis(np.eye(T))).fit(X, Y)
        np.testing.assert_allclose(fitted.predict(X_NEW), model().fit(X, Y).predict(X_NEW), rtol=1e-8, atol=1e-10)

    @pytest.mark.parametrize("loss", [Huber(0.3), EpsilonInsensitive(0.2)], ids=repr)
    def test_with_the_residual_a_truncated_basis_is_the_full_problem(self, loss):
        """L(θ, θ') = Φ(θ) B Φ(θ')ᵀ on the nodes has the same h for every loss of the L² norm."""
        kernel = self.Phi @ self.B @ self.Phi.T

        class Given(RBF):
            def represent(self, Z):
                return np.searchsorted(POINTS, np.asarray(Z)[:, 0])[:, None]

            def block(self, R, S):
                return kernel[np.ix_(R[:, 0], S[:, 0])]

        solver = ADMM(1e-11)
        full = model(curve_kernel=Given(1.0), loss=loss, solver=solver).fit(X, Y).predict(X_NEW)
        exact = self.projected(loss=loss, solver=solver).fit(X, Y).predict(X_NEW)
        truncated = self.projected(loss=loss, solver=solver, residual=False).fit(X, Y).predict(X_NEW)
        np.testing.assert_allclose(exact, full, atol=1e-4)  # ‖h‖ is known to the root of the gap
        assert np.abs(truncated - full).max() > 1e-2

    def test_gaps_in_a_basis_are_the_kernel_that_it_spans(self):
        complete = self.projected().fit(X, Y).predict(X_NEW)
        almost = np.vstack([Y, np.full(T, np.nan)])
        almost[-1, 0] = 1.0
        far = np.vstack([X, [[1e3, 1e3]]])  # a curve that sees one point, and says nothing about the others
        np.testing.assert_allclose(self.projected().fit(far, almost).predict(X_NEW), complete, rtol=1e-7, atol=1e-9)

    @pytest.mark.parametrize("basis", [Basis.fourier(4), Basis.bsplines(5), Basis.principal(3)], ids=repr)
    def test_named_bases_predict_anywhere_and_leave_out(self, basis):
        fitted = model(basis=basis, curve_kernel=None, intercept=True).fit(X, Y)
        np.testing.assert_allclose(fitted.predict(X_NEW, at=POINTS), fitted.predict(X_NEW), **CLOSE)
        held = fitted.loo_decision_function()
        assert held.shape == (N, T) and np.isfinite(fitted.predict(X_NEW, at=[0.5], derivative=1)).all()

    def test_callables(self):
        functions = [np.ones_like, np.sin, np.cos]
        fitted = model(basis=Basis(functions), curve_kernel=None).fit(X, Y)
        table = np.column_stack([f(POINTS) for f in functions])
        np.testing.assert_allclose(
            fitted.predict(X_NEW), model(basis=Basis(table), curve_kernel=None).fit(X, Y).predict(X_NEW), **CLOSE
        )
        with pytest.raises(ValueError, match="derivative"):
            fitted.predict(X_NEW, at=[0.5], derivative=1)


class TestLeftOut:
    @pytest.mark.parametrize("values", [Y, GAPS], ids=["complete", "gaps"])
    def test_other_losses_are_fitted_again(self, values):
        robust = {"loss": Huber(0.3), "solver": ADMM(1e-11)}
        found = model(**robust).fit(X, values).loo_decision_function()
        for i in (0, 4):
            rest = np.delete(np.arange(N), i)
            alone = model(**robust).fit(X[rest], values[rest])
            np.testing.assert_allclose(found[i], alone.predict(X[i : i + 1])[0], atol=1e-4)

    def test_groups_leave_together(self):
        names = [0, 0, 1, 1, 2, 2, 3, 3, 3]
        found = model(loss=Huber(0.3), solver=ADMM(1e-11)).fit(X, Y).loo_decision_function(groups=names)
        alone = model(loss=Huber(0.3), solver=ADMM(1e-11)).fit(X[2:], Y[2:])
        np.testing.assert_allclose(found[:2], alone.predict(X[:2]), atol=1e-4)


class TestSelection:
    def test_errors_are_those_of_leave_one_out(self):
        kernels, curve_kernels, alphas = [RBF(0.5), RBF(2.0)], [RBF(1.0), RBF(8.0)], (0.01, 0.1, 1.0)
        found = FunctionalCV(kernels, curve_kernel=curve_kernels, alphas=alphas, grid=POINTS).fit(X, Y)
        assert found.loo_errors_.shape == (2, 2, 3)
        i, j, k = found.best_index_
        one = Functional(kernels[i], curve_kernel=curve_kernels[j], alpha=alphas[k], grid=POINTS).fit(X, Y)
        error = np.mean((Y - one.loo_decision_function()) ** 2 @ trapezoid(POINTS))
        np.testing.assert_allclose(found.loo_errors_[i, j, k], error, rtol=1e-9)
        np.testing.assert_allclose(found.loo_errors_.min(), error, rtol=1e-9)
        np.testing.assert_allclose(found.predict(X_NEW), one.predict(X_NEW), **CLOSE)

    def test_bases_of_different_size_are_compared_on_the_curves(self):
        for d in (2, 4):
            found = FunctionalCV(K, basis=Basis.fourier(d), alphas=(0.1,), grid=POINTS, intercept=False).fit(X, Y)
            curves = model(basis=Basis.fourier(d), curve_kernel=None, alpha=0.1).fit(X, Y).loo_decision_function()
            np.testing.assert_allclose(found.loo_errors_, np.mean((Y - curves) ** 2 @ trapezoid(POINTS)), rtol=1e-8)

    @pytest.mark.parametrize("curve_weight", ["equal", "points"])
    def test_folds_measure_as_leave_one_out_does(self, curve_weight):
        """n folds are leave-one-out, gaps and weights included: T Σ w r² / Σ (nodes that were seen)."""
        weight = RNG.uniform(0.5, 2.0, size=N)
        options = {
            "curve_kernel": L,
            "grid": POINTS,
            "alphas": (0.1, 1.0),
            "intercept": False,
            "curve_weight": curve_weight,
        }
        closed, folds = (FunctionalCV(K, cv=cv, **options).fit(X, GAPS, sample_weight=weight) for cv in (None, N))
        np.testing.assert_allclose(folds.cv_errors_, closed.loo_errors_, rtol=1e-7)

    def test_folds_of_a_gram_matrix(self):
        given, gram = (
            FunctionalCV(kernel, alphas=(0.1, 1.0), grid=POINTS, cv=3).fit(inputs, GAPS)
            for kernel, inputs in ((K, X), (Precomputed(), K(X)))
        )
        np.testing.assert_allclose(gram.cv_errors_, given.cv_errors_, rtol=1e-9)
        np.testing.assert_allclose(gram.predict(K(X_NEW, X)), given.predict(X_NEW), **CLOSE)

    def test_folds_for_any_loss(self):
        found = FunctionalCV(K, alphas=(0.1, 1.0), loss=Huber(0.5), cv=3, grid=POINTS).fit(X, GAPS)
        assert found.cv_errors_.shape == (2,) and found.alpha_ in (0.1, 1.0)
        with pytest.raises(ValueError, match="cv=5"):
            FunctionalCV(K, loss=Huber(0.5), grid=POINTS).fit(X, Y)

    def test_scikit_learn_searches(self):
        search = GridSearchCV(Functional(K, grid=POINTS), {"alpha": [0.1, 1.0]}, cv=2).fit(X, Y)
        assert search.best_params_["alpha"] in (0.1, 1.0)
        assert clone(search.best_estimator_).alpha == search.best_params_["alpha"]


class TestBadInput:
    def pairs(self, *bad):
        return [(POINTS, row) for row in Y[: N - 1]] + [bad]

    def test_unsorted_points_are_sorted_and_unsorted_columns_refused(self):
        order = RNG.permutation(T)
        with pytest.raises(ValueError, match="`grid` must ascend from column to column"):
            model(grid=POINTS[order]).fit(X, Y[:, order])
        mixed = [(POINTS[order], row[order]) for row in Y]
        np.testing.assert_allclose(
            model(grid=None).fit(X, mixed).predict(X_NEW), model().fit(X, Y).predict(X_NEW), **CLOSE
        )

    def test_repeated_points_warn_and_conflicts_are_refused(self):
        with pytest.warns(UserWarning, match="repeats points"):
            model(grid=None).fit(X, self.pairs([0.5, 0.5], [1.0, 1.0]))
        with pytest.raises(ValueError, match=r"Curve 8 has two values at the point 0\.5"):
            model(grid=None).fit(X, self.pairs([0.5, 0.5], [1.0, 2.0]))

    def test_a_curve_without_points_is_named(self):
        with pytest.raises(ValueError, match=r"Curve 8 has no points; .*X_unlabeled"):
            model(grid=None).fit(X, self.pairs([], []))
        empty = np.where(np.arange(N)[:, None] == 4, np.nan, Y)
        with pytest.raises(ValueError, match=r"Curve 4 \(1 in all\) has no points"):
            model().fit(X, empty)

    def test_nan_points(self):
        with pytest.raises(ValueError, match="Curve 8 has points"):
            model(grid=None).fit(X, self.pairs([0.1, np.nan], [1.0, 2.0]))

    def test_too_many_nodes(self):
        scattered = [(np.linspace(i / 9000, 1 + i / 9000, 700) ** (1 + i), np.zeros(700)) for i in range(9)]
        same = [(np.linspace(0, 1, 5001), np.zeros(5001))] * N
        with pytest.raises(ValueError, match=r"5001 nodes, more than 5000.*Give `grid`"):
            model(grid=None).fit(X, same)
        assert model(grid=np.linspace(0, 1, 9)).fit(X, scattered).points_.shape == (9,)

    def test_extrapolation_warns(self):
        with pytest.warns(UserWarning, match="extrapolates"):
            model().fit(X, Y).predict(X_NEW, at=[POINTS[-1] + 1])

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"quadrature": "simpson"}, "quadrature"),
            ({"quadrature": -np.ones(T)}, "positive weight"),
            ({"curve_weight": "area"}, "curve_weight"),
            ({"grid": POINTS[:-1]}, "columns"),
            ({"grid": np.r_[POINTS[:-1], POINTS[0]]}, "same point twice"),
            ({"basis": Basis.principal(50), "curve_kernel": None}, "principal components"),
            ({"basis": Basis.bsplines(2), "curve_kernel": None}, "degree"),
            ({"basis": Basis(np.ones((3, 2)))}, "functions"),
            ({"basis": Basis.fourier(3), "curve_kernel": np.ones(2)}, "3 coefficients"),
        ],
    )
    def test_parameters(self, changes, words):
        with pytest.raises(ValueError, match=words):
            model(**changes).fit(X, Y)

    def test_kinds(self):
        with pytest.raises(TypeError, match="curve_kernel"):
            model(curve_kernel="smooth").fit(X, Y)
        with pytest.raises(TypeError, match="basis"):
            model(basis=np.ones((T, 2))).fit(X, Y)
        with pytest.raises(ValueError, match="derivative"):
            model(curve_kernel=Delta()).fit(X, Y).predict(X_NEW, derivative=1)
        with pytest.raises(ValueError, match="complete curves"):
            model(basis=Basis.principal(2), curve_kernel=None).fit(X, GAPS)


def test_unlabelled_inputs():
    fitted = model(manifold=Laplacian(0.1)).fit(X, Y, X_unlabeled=X_NEW)
    assert fitted.predict(X_NEW).shape == (4, T)


def test_a_figure_in_one_line():
    pytest.importorskip("matplotlib")
    ax = model().fit(X, GAPS).plot(X, GAPS)
    assert len(ax.lines) == 8 and len(ax.collections) == 4  # four curves, their points, their bands
    assert len(model(loss=Huber(1.0)).fit(X, Y).plot(X, rows=[0]).collections) == 0


def test_a_plot_needs_a_fitted_model_and_a_curve_per_row():
    with pytest.raises(NotFittedError):
        model().plot(X)
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="y has"):
        model().fit(X, Y).plot(X, Y[:-1])


@pytest.mark.parametrize("full", [np.arange(4.0), "x", None, 2])
def test_full_is_yes_or_no(full):
    from iokr import IOKR

    with pytest.raises(ValueError, match="`full` must be one of"):
        IOKR(RBF(0.5)).fit(X, Y).variance(X, full=full)


def test_score_is_an_integrated_r2():
    fitted = model(intercept=True).fit(X, Y)
    w = trapezoid(POINTS)
    expected = 1 - np.sum(w * (Y - fitted.predict(X)) ** 2) / np.sum(w * (Y - Y.mean(axis=0)) ** 2)
    np.testing.assert_allclose(fitted.score(X, Y), expected, rtol=1e-12)


def test_a_score_of_numbers_whose_squares_overflow_is_refused():
    with pytest.raises(ValueError, match="squares of `y` must be finite"):
        model().fit(X, Y).score(X, np.sign(Y) * 1e200)
    with pytest.raises(ValueError, match="names has 2"):
        model().fit(X, Y).table(X, names=["a", "b"])
