"""Limits, invariances and the edges of the domain for losses without closed form (invariants 2, 7, 14 and 17)."""

import numpy as np
import pytest

import reference
from iokr import IOKR
from iokr.kernels import RBF, Linear, Precomputed
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin, Square
from iokr.manifolds import Given
from iokr.operator_kernels import Decomposable
from iokr.solvers import Auto
from loss_samples import NAMES, NORMS, PAIRS, case, each_loss, each_loss_and_intercept, each_norm, fitted
from reference import Ridge, assert_close
from samples import GAMMA, each_intercept, operator

TIGHT = Auto(tol=1e-12)
OPTIONS = [{}, {"kind": "full"}, {"kind": "singular"}, {"u": 6}, {"u": 6, "kind": "full"}, {"kernel": "linear"}]
INTERCEPTS = [{"intercept": True, **chosen} for chosen in ({}, {"kind": "full"}, {"u": 6}, {"kernel": "linear"})]
VARIANTS = [{}, {"weighted": "zeros"}, {"holes": "entries"}]
options = pytest.mark.parametrize("options", OPTIONS, ids=str)
options_of_norms = pytest.mark.parametrize("options", OPTIONS + INTERCEPTS, ids=str)


def ridge(s):
    K = s.convex.Phi @ s.convex.Phi.T
    mu = s.mu if s.L is not None else 0.0
    return Ridge(K, s.Y, s.alpha, s.A, s.L, mu, s.w, intercept=s.intercept)


def ridge_values(s):
    return ridge(s).values(s.Phi_new @ s.convex.Phi.T)


# ------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@options_of_norms
def test_huber_with_a_large_threshold_is_ridge(options, variant):
    s = case("huber", **options, **variant)
    for kappa in (1e3, 1e9):
        assert_close(fitted(s, loss=Huber(kappa)).decision_function(s.X_new), ridge_values(s), 1e-6)


@each_intercept
def test_huber_is_ridge_as_soon_as_no_residual_is_beyond_the_threshold(intercept):
    s = case("huber", intercept=intercept)
    r = ridge(s)
    largest = np.linalg.norm(r.values(r.K) - s.Y, axis=1).max()
    assert_close(fitted(s, loss=Huber(1.001 * largest)).decision_function(s.X_new), ridge_values(s), 1e-6)
    other = fitted(s, loss=Huber(0.9 * largest)).decision_function(s.X_new)
    assert np.abs(other - ridge_values(s)).max() > 1e-4


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@options_of_norms
def test_no_tube_is_ridge(options, variant):
    s = case("epsilon square", **options, **variant)
    assert_close(fitted(s, loss=EpsilonSquare(0.0)).decision_function(s.X_new), ridge_values(s), 1e-6)
    assert_close(fitted(s, loss=EpsilonSquare(1e-8)).decision_function(s.X_new), ridge_values(s), 1e-6)


@pytest.mark.parametrize("loss", [EpsilonSquare, EpsilonInsensitive])
@options
def test_a_tube_around_all_targets_gives_zero(options, loss):
    s = case("epsilon square", **options)
    widest = np.linalg.norm(s.Y, axis=1).max()
    for epsilon in (widest, 1.5 * widest):
        model = fitted(s, loss=loss(epsilon))
        assert np.all(model.decision_function(s.X_new) == 0)
        assert model.solution_.converged
    model = fitted(s, loss=loss(0.99 * widest))
    assert np.abs(model.decision_function(s.X)).max() > 1e-5


@options
def test_margin_with_a_large_alpha_uses_every_point_fully(options):
    """α_i = 1: h(x) = (1/λ) A Yᵀ k_x, or its lift with unlabelled points."""
    s = case("margin", **options, alpha=1e4)
    model = fitted(s)
    K, mu = s.convex.Phi @ s.convex.Phi.T, s.mu if s.L is not None else 0.0
    N, d = len(K), s.Y.shape[1]
    A, L = np.eye(d) if s.A is None else s.A, np.zeros((N, N)) if s.L is None else s.L
    rhs = np.zeros((N, d))
    rhs[: len(s.Y)] = s.Y
    system = s.alpha * np.eye(N * d) + mu * np.kron(L, np.eye(d)) @ np.kron(K, A)
    C = np.linalg.solve(system, rhs.ravel()).reshape(N, d)
    assert_close(model.decision_function(s.X_new), s.Phi_new @ s.convex.Phi.T @ C @ A, 1e-9)


def test_margin_multipliers_with_a_large_alpha():
    s = case("margin", weighted="any", alpha=1e4)
    model = s.fit(TIGHT)
    alphas = s.alpha * np.sum(np.asarray(model.solution_.C) * s.Y, axis=1)  # C = α_i y_i / λ, ‖y_i‖ = 1
    assert_close(alphas, s.w, 1e-9)


def test_margin_multipliers_are_in_their_boxes():
    """K is regular, so C = W/λ is unique: W_i = α_i y_i with 0 ≤ α_i ≤ w_i, and some α_i of every kind."""
    s = case("margin", weighted="zeros", n=20, seed=4)
    W = s.alpha * np.asarray(fitted(s).solution_.C)
    alphas = np.sum(W * s.Y, axis=1)
    assert_close(W, alphas[:, None] * s.Y, 1e-5)
    assert np.all(alphas >= -1e-5)
    assert np.all(alphas <= s.w + 1e-5)
    positive = s.w > 0
    assert np.any(alphas[positive] < 1e-5)
    assert np.any((alphas > 1e-3) & (alphas < s.w - 1e-3))
    assert np.any(alphas[positive] > s.w[positive] - 1e-5)
    margins = np.sum(s.Y * fitted(s).decision_function(s.X), axis=1)
    assert np.all(alphas[margins > 1 + 1e-4] < 1e-5)
    assert_close(alphas[margins < 1 - 1e-4], s.w[margins < 1 - 1e-4], 1e-5)


@pytest.mark.parametrize("name", ["epsilon square", "epsilon insensitive"])
@each_intercept
def test_rows_inside_the_tube_have_no_coefficient(name, intercept):
    """Sparsity: c_i = 0 where ‖y_i − h(x_i)‖ < ε, and the row constraint elsewhere."""
    s = case(name, n=20, alpha=0.5, intercept=intercept, seed=5)
    model = fitted(s)
    r = np.linalg.norm(model.decision_function(s.X) - s.Y, axis=1)
    size = s.alpha * np.linalg.norm(np.asarray(model.solution_.C), axis=1)
    inside = r < s.slow.parameter - 1e-4
    assert inside.any()
    assert np.all(size[inside] < 1e-5)
    outside = r > s.slow.parameter + 1e-4
    expected = np.maximum(r - s.slow.parameter, 0) if name == "epsilon square" else np.ones_like(r)
    assert_close(size[outside], expected[outside], 1e-4)


@each_intercept
def test_rows_beyond_the_threshold_of_huber_have_coefficients_of_size_kappa(intercept):
    s = case("huber", n=20, alpha=0.5, intercept=intercept, seed=6)
    model = fitted(s)
    R = s.Y - model.decision_function(s.X)
    r = np.linalg.norm(R, axis=1)
    W = s.alpha * np.asarray(model.solution_.C)
    assert np.any(r > s.slow.parameter)
    assert_close(W, R * np.minimum(1, s.slow.parameter / r)[:, None], 1e-5)


@each_intercept
def test_huber_with_a_tiny_threshold_is_the_norm(intercept):
    """Huber/κ → ‖h − y‖ as κ → 0."""
    s = case("epsilon insensitive", alpha=0.5, intercept=intercept)
    norm = fitted(s, loss=EpsilonInsensitive(0.0)).decision_function(s.X_new)
    huber = fitted(s, loss=Huber(1e-5), alpha=0.5e-5).decision_function(s.X_new)
    assert_close(huber, norm, 1e-3)


@each_loss
def test_alpha_to_infinity_gives_zero(name):
    s = case(name, alpha=1e9)
    assert np.abs(fitted(s).decision_function(s.X_new)).max() < 1e-6


def constant(s):
    """The constant with the smallest loss, for each new point."""
    return s.convex.at(Phi=np.zeros((14, 1)), A=None, intercept=True).values(np.zeros((5, 1)))


@each_norm
def test_alpha_to_infinity_gives_a_constant_with_an_intercept(name):
    s = case(name, alpha=1e9, intercept=True)
    assert_close(fitted(s).decision_function(s.X_new), constant(s), 1e-6)


# -------------------------------------------------------------------------------------- invariances


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, chosen) for name in NAMES for chosen in OPTIONS), *((n, chosen) for n in NORMS for chosen in INTERCEPTS)],
)
def test_scaling_kernel_and_alpha_together_changes_nothing(name, options):
    """(λ, K) → (cλ, cK), at fixed L and μ."""
    s = case(name, **options, seed=7)
    expected = fitted(s).decision_function(s.X_new)
    for c in (1e-5, 1e5):
        model = IOKR(
            c * s.scalar if s.A is None else Decomposable(c * s.scalar, s.A),
            loss=s.loss,
            alpha=c * s.alpha,
            manifold=None if s.L is None else Given(s.mu, s.L),
            solver=TIGHT,
            intercept=s.intercept,
        ).fit(s.X, s.Y, X_unlabeled=s.U if len(s.U) else None)
        assert_close(model.decision_function(s.X_new), expected, 1e-5)


@pytest.mark.parametrize("c", [1e-4, 1e4])
@pytest.mark.parametrize("kind", ["identity", "full"])
def test_scaling_outputs_with_the_parameters_of_the_loss(kind, c):
    """y → cy with κ, ε → cκ, cε gives ch; the ε loss wants λ/c, the margin λc² and gives h/c."""
    rules = {
        "huber": (Huber(0.4 * c), 1.0, c),
        "epsilon square": (EpsilonSquare(0.3 * c), 1.0, c),
        "epsilon insensitive": (EpsilonInsensitive(0.3 * c), 1 / c, c),
        "margin": (MaxMargin(), c**2, 1 / c),
    }
    for name, (loss, alpha_factor, factor) in rules.items():
        s = case(name, kind=kind, seed=8)
        expected = factor * fitted(s).decision_function(s.X_new)
        model = s.model(TIGHT, loss=loss, alpha=s.alpha * alpha_factor).fit(s.X, c * s.Y)
        assert_close(model.decision_function(s.X_new), expected, 1e-5)
        assert -1e-14 <= model.solution_.gap <= 1e-12


@pytest.mark.parametrize("u", [0, 6])
@each_loss_and_intercept
def test_order_of_the_rows_does_not_matter(name, intercept, u):
    s = case(name, u=u, weighted="zeros", intercept=intercept, seed=9)
    order = np.random.default_rng(0).permutation(len(s.Y))
    everything = np.concatenate([order, np.arange(len(s.Y), len(s.Y) + u)])
    manifold = Given(s.mu, s.L[np.ix_(everything, everything)]) if u else None
    model = s.model(TIGHT, manifold=manifold)
    model.fit(s.X[order], s.Y[order], sample_weight=s.w[order], X_unlabeled=s.U if u else None)
    assert_close(model.decision_function(s.X_new), fitted(s).decision_function(s.X_new), 1e-5)


@pytest.mark.parametrize("kind", ["identity", "full"])
@each_loss_and_intercept
def test_rotated_outputs_give_rotated_values(name, intercept, kind):
    s = case(name, kind=kind, intercept=intercept, seed=10)
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    kernel = s.scalar if s.A is None else Decomposable(s.scalar, Q.T @ s.A @ Q)
    model = IOKR(kernel, loss=s.loss, alpha=s.alpha, solver=TIGHT, intercept=intercept).fit(s.X, s.Y @ Q)
    assert_close(model.decision_function(s.X_new), fitted(s).decision_function(s.X_new) @ Q, 1e-5)


@pytest.mark.parametrize("kind", ["identity", "full"])
@pytest.mark.parametrize(("name", "holes"), [("margin", "none"), *((n, h) for n in NORMS for h in ("none", "entries"))])
def test_whole_weights_are_repeated_rows(name, holes, kind):
    s = case(name, holes=holes, kind=kind, seed=11)
    counts = np.resize([1, 2, 0, 3, 1], len(s.Y))
    weighted = s.model(TIGHT).fit(s.X, s.Y, sample_weight=counts.astype(float)).decision_function(s.X_new)
    rows = np.repeat(np.arange(len(s.Y)), counts)
    repeated = s.model(TIGHT).fit(s.X[rows], s.Y[rows]).decision_function(s.X_new)
    assert_close(weighted, repeated, 1e-5)
    kept = counts > 0
    removed = s.model(TIGHT).fit(s.X[kept], s.Y[kept], sample_weight=counts[kept]).decision_function(s.X_new)
    assert_close(weighted, removed, 1e-5)


@each_loss_and_intercept
def test_weights_are_not_normalised(name, intercept):
    """Multiplying all weights by c is dividing α by c."""
    s = case(name, weighted="any", intercept=intercept, seed=12)
    scaled = s.model(TIGHT, alpha=6 * s.alpha).fit(s.X, s.Y, sample_weight=6 * s.w)
    assert_close(scaled.decision_function(s.X_new), fitted(s).decision_function(s.X_new), 1e-5)


@each_loss_and_intercept
def test_weights_over_many_orders_of_magnitude(name, intercept):
    s = case(name, intercept=intercept, seed=13)
    w = np.geomspace(1e-6, 1e3, len(s.Y))
    model = s.model(TIGHT).fit(s.X, s.Y, sample_weight=w)
    assert_close(model.decision_function(s.X_new), s.convex.at(weight=w).values(s.Phi_new), 1e-4)


@each_loss_and_intercept
def test_a_tiny_weight_is_nearly_none(name, intercept):
    s = case(name, intercept=intercept, seed=14)
    w = np.ones(len(s.Y))
    w[2] = 1e-14
    tiny = s.model(TIGHT).fit(s.X, s.Y, sample_weight=w)
    w[2] = 0.0
    none = s.model(TIGHT).fit(s.X, s.Y, sample_weight=w)
    assert_close(tiny.decision_function(s.X_new), none.decision_function(s.X_new), 1e-5)
    assert tiny.solution_.gap <= 1e-12


@each_loss_and_intercept
def test_weight_zero_is_unlabelled_when_there_is_a_manifold(name, intercept):
    s = case(name, u=6, intercept=intercept, seed=15)
    w = np.ones(len(s.Y))
    w[10:] = 0.0
    weighted = s.model(TIGHT).fit(s.X, s.Y, sample_weight=w, X_unlabeled=s.U)
    others = s.model(TIGHT).fit(s.X[:10], s.Y[:10], X_unlabeled=np.vstack([s.X[10:], s.U]))
    assert_close(weighted.decision_function(s.X_new), others.decision_function(s.X_new), 1e-5)


@each_loss_and_intercept
def test_a_penalty_of_strength_zero_is_no_penalty(name, intercept):
    s = case(name, u=6, mu=0.0, intercept=intercept, seed=16)
    supervised = s.model(TIGHT, manifold=None).fit(s.X, s.Y)
    assert_close(fitted(s).decision_function(s.X_new), supervised.decision_function(s.X_new), 1e-5)


@each_norm
def test_a_full_mask_is_no_mask_and_holes_change_the_answer(name):
    s = case(name, holes="entries", seed=17)
    filled = np.where(np.isnan(s.Y), 0.0, s.Y)
    plain = s.model(TIGHT).fit(s.X, filled).decision_function(s.X_new)
    assert np.abs(plain - fitted(s).decision_function(s.X_new)).max() > 1e-3


# ---------------------------------------------------------------------------------------- by hand


ONE_POINT = {  # h for y, λ and k(x, x) = 1
    "huber": lambda y, lam: min(y / (1 + lam), 0.4 / lam),
    "epsilon square": lambda y, lam: max(y - 0.3, 0.0) / (1 + lam),
    "epsilon insensitive": lambda y, lam: min(max(y - 0.3, 0.0), 1 / lam),
    "margin": lambda y, lam: min(1 / y, y / lam),
}


@pytest.mark.parametrize("lam", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("y", [0.2, 1.0, 5.0])
@each_loss
def test_one_point_by_hand(name, y, lam):
    model = IOKR(RBF(1.0), loss=PAIRS[name][0], alpha=lam, solver=TIGHT, intercept=False).fit([[0.0]], [y])
    expected = ONE_POINT[name](y, lam)
    assert_close(model.decision_function([[0.0], [1.0]])[:, 0], [expected, expected * np.exp(-1)], 1e-6, 1e-9)
    assert model.solution_.gap <= 1e-12


@pytest.mark.parametrize("lam", [0.1, 1.0])
@each_loss
def test_one_point_with_several_outputs(name, lam):
    """Everything happens along y."""
    y = np.array([3.0, 0.0, 4.0])
    model = IOKR(RBF(1.0), loss=PAIRS[name][0], alpha=lam, solver=TIGHT, intercept=False).fit([[0.0]], y[None])
    assert_close(model.decision_function([[0.0]])[0], ONE_POINT[name](5.0, lam) * y / 5.0, 1e-6)


@each_norm
def test_one_point_with_an_intercept(name):
    """Its target is a constant, which costs nothing."""
    y = np.array([3.0, 0.0, 4.0])
    model = IOKR(RBF(1.0), loss=PAIRS[name][0], alpha=0.1, solver=TIGHT).fit([[0.0]], y[None])
    assert np.linalg.norm(model.decision_function([[0.0], [1.0]]) - y, axis=1).max() <= PAIRS[name][1].parameter
    assert np.all(np.asarray(model.solution_.C) == 0) and model.solution_.gap <= 1e-12


@each_loss
def test_one_point_and_unlabelled_ones(name):
    s = case(name, n=1, u=4, seed=18)
    assert_close(fitted(s).decision_function(s.X_new), s.convex.values(s.Phi_new), 1e-5)


@each_loss
def test_points_that_are_orthogonal_are_separate_problems(name):
    y = np.array([1.0, 2.0, 0.7, 4.0])
    solver = IOKR(Precomputed(np.eye(4)), loss=PAIRS[name][0], alpha=0.5, solver=TIGHT, intercept=False)
    if name == "margin":
        with pytest.warns(UserWarning, match="norm"):
            model = solver.fit(np.arange(4), y)
    else:
        model = solver.fit(np.arange(4), y)
    expected = [ONE_POINT[name](value, 0.5) for value in y]
    assert_close(model.decision_function(np.arange(4))[:, 0], expected, 1e-6)


# ------------------------------------------------------------------------------- degenerate problems


@each_loss_and_intercept
def test_zero_gram_matrix(name, intercept):
    """h = 0 whatever the multipliers are, or a constant; all of them count for the dual."""
    s = case(name, intercept=intercept)
    model = IOKR(Linear(), loss=s.loss, alpha=0.1, solver=TIGHT, intercept=intercept).fit(np.zeros((14, 2)), s.Y)
    if intercept:
        assert_close(model.decision_function(s.X_new), constant(s), 1e-5)
    else:
        assert np.all(model.decision_function(s.X_new) == 0)
    assert model.solution_.gap <= 1e-12
    assert model.solution_.converged


@each_loss_and_intercept
def test_zero_operator(name, intercept):
    s = case(name, intercept=intercept)
    kernel = Decomposable(RBF(GAMMA), np.zeros((3, 3)))
    model = IOKR(kernel, loss=s.loss, alpha=0.1, solver=TIGHT, intercept=intercept).fit(s.X, s.Y)
    if intercept:
        assert_close(model.decision_function(s.X_new), constant(s), 1e-5)
    else:
        assert np.all(model.decision_function(s.X_new) == 0)
    assert model.solution_.gap <= 1e-12


@each_loss_and_intercept
def test_all_inputs_equal(name, intercept):
    """K of rank one."""
    s = case(name, intercept=intercept, seed=19)
    K = np.ones((14, 14))
    model = IOKR(Precomputed(K), loss=s.loss, alpha=s.alpha, solver=TIGHT, intercept=intercept)
    model.fit(np.arange(14), s.Y)
    expected = s.convex.at(Phi=np.ones((14, 1)), L=None)
    assert_close(model.decision_function(np.arange(1)), expected.values(np.ones((1, 1))), 1e-5)


@each_norm
def test_constant_targets_with_an_intercept(name):
    s = case(name)
    model = IOKR(RBF(GAMMA), intercept=True, loss=s.loss).fit(s.X, np.full((14, 2), 7.0))
    assert_close(model.predict(s.X_new), np.full((5, 2), 7.0), 1e-15)
    assert model.solution_.gap == 0.0


@each_intercept
@each_norm
def test_a_target_that_is_fitted_exactly(name, intercept):
    """One of the targets is 0: h may pass through it, where the norm has a kink."""
    s = case(name, intercept=intercept, seed=20)
    Y = s.Y.copy()
    Y[3] = 0.0
    model = s.model(TIGHT).fit(s.X, Y)
    assert_close(model.decision_function(s.X_new), s.convex.at(Y=Y).values(s.Phi_new), 1e-5)


@each_intercept
@each_norm
def test_a_far_outlier(name, intercept):
    s = case(name, intercept=intercept, seed=21)
    Y = s.Y.copy()
    Y[4] *= 1e6
    model = s.model(Auto(tol=1e-9)).fit(s.X, Y)
    assert np.isfinite(np.asarray(model.decision_function(s.X_new))).all()
    assert model.solution_.gap <= 1e-9


@each_intercept
def test_an_outlier_moves_huber_less_than_ridge(intercept):
    s = case("huber", intercept=intercept, seed=22)
    Y = s.Y.copy()
    Y[4] += 1e3
    moved = {}
    for label, loss in (("ridge", Square()), ("huber", Huber(0.4)), ("insensitive", EpsilonInsensitive(0.3))):
        model = s.model(loss=loss, alpha=1.0)
        before = model.fit(s.X, s.Y).decision_function(s.X_new)
        moved[label] = np.abs(model.fit(s.X, Y).decision_function(s.X_new) - before).max()
    assert moved["huber"] < 1e-2 * moved["ridge"]
    assert moved["insensitive"] < 1e-2 * moved["ridge"]


@pytest.mark.parametrize("u", [0, 5])
@each_loss
def test_nothing_that_was_given_is_changed(name, u):
    s = case(name, u=u, weighted="zeros", kind="full", seed=23)
    K = reference.gram(reference.rbf(GAMMA), s.points)
    N = len(s.Y) + u
    given = [K, s.Y.copy(), s.w.copy(), s.A.copy(), *([s.L.copy()] if u else [])]
    before = [array.copy() for array in given]
    K, Y, w, A = given[:4]
    model = IOKR(Decomposable(Precomputed(K), A), loss=s.loss, alpha=0.1, manifold=Given(0.5, given[4]) if u else None)
    model.fit(np.arange(len(Y)), Y, sample_weight=w, X_unlabeled=np.arange(len(Y), N) if u else None)
    model.decision_function(np.arange(3))
    for now, then in zip(given, before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_fitting_again_forgets_the_past():
    s = case("huber", u=6, holes="entries", weighted="any")
    t = case("huber", seed=24)
    model = s.fit(TIGHT).set_params(manifold=None)
    again = model.fit(t.X[:9], t.Y[:9]).decision_function(t.X_new)
    fresh = s.model(TIGHT, manifold=None).fit(t.X[:9], t.Y[:9]).decision_function(t.X_new)
    assert_close(again, fresh, 1e-14)


def test_the_same_fit_twice_gives_the_same_answer():
    for name in NAMES:
        s = case(name, u=5, kind="full" if name in NORMS else "identity")
        np.testing.assert_array_equal(s.fit().decision_function(s.X_new), s.fit().decision_function(s.X_new))


def test_operator_kernel_with_a_multiple_of_the_identity_is_a_scaled_kernel():
    for name in NAMES:
        s = case(name, seed=25)
        by_operator = s.model(TIGHT)
        by_operator.set_params(kernel=Decomposable(RBF(GAMMA), 2.5 * np.eye(3)))
        by_kernel = s.model(TIGHT).set_params(kernel=2.5 * RBF(GAMMA))
        expected = by_kernel.fit(s.X, s.Y).decision_function(s.X_new)
        assert_close(by_operator.fit(s.X, s.Y).decision_function(s.X_new), expected, 1e-5)
        assert operator("scaled", 3)[0, 0] == 2.5
