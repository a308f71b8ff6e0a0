"""Quantile curves: special cases, an interior point, levels never trained, crossings, calibrated intervals.

Tests of `iokr.estimators.quantiles.model`, `iokr.estimators.quantiles.base`, `iokr.estimators.quantiles.levels` and
`iokr.estimators.quantiles.cv`.
"""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from iokr import IOKR, QuantileCurves, QuantileCurvesCV
from iokr.estimators.quantiles.levels import fit_levels
from iokr.kernels import RBF, Delta, Laplacian
from iokr.losses import Pinball
from iokr.metrics import pinball
from iokr.solvers import ADMM

RNG = np.random.default_rng(0)
X = np.sort(RNG.uniform(size=(30, 1)), axis=0)
Y = np.sin(6 * X[:, 0]) + (0.1 + 0.5 * X[:, 0]) * RNG.normal(size=30)
NEW = np.linspace(0, 1, 50)[:, None]
LEVELS = (0.2, 0.5, 0.8)
TIGHT = ADMM(1e-10)


def model(**changes):
    arguments = {"levels": LEVELS, "alpha": 0.01, "solver": TIGHT, "intercept": False} | changes
    return QuantileCurves(RBF(10.0), **arguments)


@pytest.mark.parametrize("intercept", [False, True])
def test_one_level_without_penalty_is_the_pinball_loss(intercept):
    found = model(levels=[0.7], crossing=0.0, intercept=intercept).fit(X, Y)
    alpha = 0.005 if intercept else 0.01  # the kernel on levels is 1 + 1 with an intercept, so that shifts are cheap
    plain = IOKR(RBF(10.0), loss=Pinball(0.7), alpha=alpha, solver=TIGHT, intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(found.predict(NEW)[:, 0], plain.predict(NEW), atol=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_unit_matrix_learns_levels_independently(intercept):
    joint = model(level_kernel=np.eye(3), crossing=0.0, intercept=intercept).fit(X, Y)
    for j, level in enumerate(LEVELS):  # the mean over three levels: a third of the loss, so three times the alpha
        alone = model(levels=[level], level_kernel=np.eye(1), crossing=0.0, alpha=0.03, intercept=intercept).fit(X, Y)
        np.testing.assert_allclose(joint.predict(NEW, sort=False)[:, j], alone.predict(NEW)[:, 0], atol=2e-3)


def test_a_matrix_goes_with_its_levels_in_any_order():
    A = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.5], [0.1, 0.5, 1.0]])
    order = [2, 0, 1]
    ordered = model(level_kernel=A, crossing=0.0).fit(X, Y)
    mixed = model(level_kernel=A[np.ix_(order, order)], levels=[LEVELS[j] for j in order], crossing=0.0).fit(X, Y)
    np.testing.assert_allclose(mixed.predict(NEW, sort=False), ordered.predict(NEW, sort=False)[:, order], atol=1e-9)


def test_a_small_penalty_is_none():
    np.testing.assert_allclose(
        model(crossing=1e-12).fit(X, Y).predict(NEW), model(crossing=0.0).fit(X, Y).predict(NEW), atol=1e-3
    )


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("crossing", [0.0, 0.5])
def test_equals_an_interior_point(crossing, intercept):
    cp = pytest.importorskip("cvxpy")
    found = model(crossing=crossing, intercept=intercept, alpha=0.01).fit(X, Y)
    levels = found.levels_
    G = np.kron(RBF(10.0)(X), levels.G)
    s, U = np.linalg.eigh(G)
    F = U[:, s > 1e-14 * s[-1]] * np.sqrt(s[s > 1e-14 * s[-1]])
    b = cp.Variable(F.shape[1])
    H = cp.reshape(F @ b, (30, G.shape[0] // 30), order="C")
    constants = cp.Variable((1, 3)) if intercept else np.zeros((1, 3))
    shapes = levels.shapes() * levels.r  # values of the three levels, then slopes between them
    H = H + np.ones((30, 1)) @ (constants @ shapes[:, : H.shape[1]])
    e = np.repeat(Y[:, None], 3, axis=1) - H[:, :3]
    theta = np.tile(LEVELS, (30, 1))
    cost = cp.sum(cp.maximum(cp.multiply(theta, e), cp.multiply(theta - 1, e))) / 3
    if crossing:
        cost += crossing * cp.sum(cp.pos(-H[:, 3:]))
    least = cp.Problem(cp.Minimize(cost + 0.005 * cp.sum_squares(b))).solve(solver=cp.CLARABEL)
    C = found.solution_.C / levels.r
    values = RBF(10.0)(X) @ C @ levels.G
    norm = np.sum(C * values)
    if intercept:
        values = values + found.solution_.intercept * levels.r
    e = Y[:, None] - values[:, :3]
    ours = np.maximum(np.array(LEVELS) * e, (np.array(LEVELS) - 1) * e).sum() / 3 + 0.005 * norm
    if crossing:
        ours += crossing * np.maximum(-values[:, 3:], 0).sum()
    assert abs(ours - least) <= 1e-6 * abs(least)


def test_slopes_match_differences():
    levels = fit_levels(np.array(LEVELS), RBF(9.0), 0.1, 1.0)
    step = 1e-6
    t = np.array([0.33])
    # The atom of an anchor at level t, and the value there of the slope of the atoms: both are derivatives of k_Θ.
    upper, lower = (RBF(9.0)(levels.anchors[:, None] + s, t[:, None]) for s in (step, -step))
    np.testing.assert_allclose(
        levels.atoms(t)[3:] * levels.r[3:, None], (upper - lower) / (2 * step), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(levels.G, levels.G.T, atol=1e-14)
    assert np.linalg.eigvalsh(levels.G)[0] > -1e-10


def test_levels_never_trained_lie_between():
    found = model(intercept=True).fit(X, Y)
    low, middle, high = (found.predict(NEW, levels=[level])[:, 0] for level in (0.2, 0.35, 0.5))
    assert np.mean((middle >= low) & (middle <= high)) > 0.9
    np.testing.assert_allclose(found.predict(NEW, levels=[0.2, 0.5])[:, 0], low, atol=1e-9)


def test_the_share_below_a_quantile_is_its_level():
    found = model(intercept=True, alpha=1e-4, level_kernel=RBF(9.0)).fit(X, Y)
    Q = found.predict(X)
    for j, level in enumerate(LEVELS):
        free = np.sum(np.abs(Y - Q[:, j]) < 1e-3)
        assert abs(np.sum(Q[:, j] > Y) - 30 * level) <= free + 1


def test_sorting_orders_and_does_not_raise_the_loss():
    rough = model(crossing=0.0, alpha=1e-6, level_kernel=np.eye(3), solver=ADMM(1e-5)).fit(X, Y)
    raw, ordered = rough.predict(NEW, sort=False), rough.predict(NEW)
    assert rough.crossing_rate(NEW) > 0 and np.all(np.diff(ordered, axis=1) >= 0)
    truth = np.sin(6 * NEW)
    theta = np.array(LEVELS)

    def loss(Q):
        return np.maximum(theta * (truth - Q), (theta - 1) * (truth - Q)).mean()

    assert loss(ordered) <= loss(raw) + 1e-12


def test_a_penalty_makes_crossings_smaller():
    levels = np.linspace(0.05, 0.95, 10)

    def violation(nu):
        fitted = model(levels=levels, crossing=nu, alpha=1e-4, intercept=True, solver=ADMM(1e-7)).fit(X, Y)
        return np.maximum(-np.diff(fitted.predict(X, sort=False), axis=1), 0).mean()

    assert violation(1.0) <= violation(0.0) / 3


def test_a_large_alpha_gives_the_quantiles_of_all_rows_or_zero():
    np.testing.assert_allclose(model(alpha=1e9).fit(X, Y).predict(NEW), 0.0, atol=1e-6)
    flat = model(alpha=1e9, intercept=True).fit(X, Y).predict(NEW)
    np.testing.assert_allclose(flat, flat[:1].repeat(50, axis=0), atol=1e-6)
    for j, level in enumerate(LEVELS):  # the quantiles of all rows
        assert np.mean(flat[0, j] - 1e-6 > Y) <= level <= np.mean(flat[0, j] + 1e-6 >= Y)


def test_a_weight_of_two_is_the_row_twice():
    twice = np.r_[np.arange(30), 3]
    weighted = model(intercept=True).fit(X, Y, sample_weight=1.0 + (np.arange(30) == 3))
    np.testing.assert_allclose(
        weighted.predict(NEW), model(intercept=True).fit(X[twice], Y[twice]).predict(NEW), atol=1e-3
    )


def test_rows_of_weight_zero_have_no_say_in_bandwidth_and_calibration():
    weight, odd, far = (np.arange(30) % 7 != 2).astype(float), Y.copy(), X.copy()
    keep = weight > 0
    odd[~keep], far[~keep] = 50.0, 9.0
    loose = QuantileCurves(levels=LEVELS, alpha=0.01, solver=ADMM(1e-8))
    given, kept = clone(loose).fit(far, odd, sample_weight=weight), loose.fit(X[keep], Y[keep])
    np.testing.assert_allclose(given.predict(NEW), kept.predict(NEW), rtol=1e-9, atol=1e-12)
    for calibration in ("cv+", "split"):
        np.testing.assert_allclose(
            given.interval(NEW, 0.6, calibration), kept.interval(NEW, 0.6, calibration), rtol=1e-9, atol=1e-12
        )


def test_errors_of_folds_are_means_over_rows():
    """Folds of different size and weight count by the rows that they hold; a fold without weight does not."""
    weight = np.where(np.arange(30) < 4, 0.0, np.linspace(0.5, 2.0, 30))
    splits = [(np.setdiff1d(np.arange(30), test), test) for test in np.split(np.arange(30), [4, 10, 25])]
    found = QuantileCurvesCV(RBF(10.0), levels=LEVELS, alphas=(0.01, 1.0), crossings=(0.0,), cv=splits, solver=TIGHT)
    found.fit(X, Y, sample_weight=weight)
    for alpha, error in zip((0.01, 1.0), found.cv_errors_, strict=True):
        one, out = model(alpha=alpha, crossing=0.0, intercept=True), np.zeros((30, 3))
        for train, test in splits:
            out[test] = one.fit(X[train], Y[train], sample_weight=weight[train]).predict(X[test])
        assert error == pytest.approx(pinball(Y, out, LEVELS, weight), rel=1e-4)


class TestIntervals:
    def data(self, n, seed):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=(n, 1))
        return x, np.sin(6 * x[:, 0]) + (0.1 + 0.4 * x[:, 0]) * rng.normal(size=n)

    @pytest.mark.parametrize("calibration", ["cv+", "split"])
    def test_cover_what_they_promise(self, calibration):
        hits = []
        for seed in range(12):
            x, y = self.data(60, seed)
            x_new, y_new = self.data(100, seed + 1000)
            fitted = QuantileCurves(RBF(10.0), alpha=0.01, solver=ADMM(1e-4)).fit(x, y)
            low, high = fitted.interval(x_new, 0.8, calibration).T
            hits.append(np.mean((low <= y_new) & (y_new <= high)))
        # the coverage given one calibration set varies by about √(0.8·0.2/30); 12 of them are averaged
        assert abs(np.mean(hits) - 0.8) < 3 * np.sqrt(0.16 / 30 / 12) + 1 / 31
        assert "0.8" in fitted.guarantee_

    def test_from_levels_that_were_trained(self):
        levels = [j / 10 for j in range(1, 10)]  # (1 − 0.8)/2 is not 0.1 in floating point
        alone = QuantileCurves(RBF(10.0), level_kernel=np.eye(9), levels=levels, crossing=0.0, alpha=0.01).fit(X, Y)
        assert np.all(np.diff(alone.interval(NEW, 0.8)) > 0)

    def test_too_few_rows_give_everything(self):
        fitted = QuantileCurves(RBF(10.0), solver=ADMM(1e-3)).fit(X, Y)
        with pytest.warns(UserWarning, match="too few"):
            assert np.isinf(fitted.interval(NEW, 0.99, "split")).all()

    def test_the_least_coverage_is_within_every_other(self):
        fitted = model().fit(X, Y)
        least, some = fitted.interval(NEW, 5e-324), fitted.interval(NEW, 0.5)
        assert np.all(np.diff(least) <= np.diff(some))

    def test_folds_without_a_row_that_counts(self):
        weight = np.zeros(len(X))
        weight[3] = 1.0
        with pytest.raises(ValueError, match="`sample_weight` is zero for every row of a training part"):
            QuantileCurvesCV(RBF(10.0), solver=ADMM(1e-3)).fit(X, Y, sample_weight=weight)
        with pytest.raises(ValueError, match="`kernel` is an empty list"):
            QuantileCurvesCV([]).fit(X, Y)

    def test_bad_arguments(self):
        fitted = model().fit(X, Y)
        for arguments in ((1.0,), (0.0,), (0.8, "bootstrap")):
            with pytest.raises(ValueError, match=r"coverage|calibration"):
                fitted.interval(NEW, *arguments)


def test_selection_by_folds():
    found = QuantileCurvesCV(
        [RBF(10.0), RBF(0.01)], alphas=(1e-3, 10.0), level_kernels=[RBF(9.0), RBF(1.0)], crossings=(0.05, 0.5), cv=3
    ).fit(X, Y)
    assert found.cv_errors_.shape == (2, 2, 2, 2)
    assert found.cv_errors_[found.best_index_] == found.cv_errors_.min()
    assert found.score(X, Y) > QuantileCurves(RBF(10.0), alpha=1e3).fit(X, Y).score(X, Y)
    found.interval(NEW[:2])
    assert "selected on the same rows" in found.guarantee_


def test_clones_and_pickles():
    fitted = model().fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))
    expected = fitted.interval(NEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).interval(NEW), expected)
    assert clone(fitted).alpha == 0.01
    assert set(fitted.table(NEW)) == {"row", "level", "value"}


def test_bad_input():
    for changes, words in (
        ({"levels": (0.0, 0.5)}, "between 0 and 1"),
        ({"levels": (0.5, 0.5)}, "must be distinct"),
        ({"crossing": -1.0}, "crossing"),
        ({"level_kernel": Laplacian(1.0)}, "crossing=0"),
        ({"level_kernel": np.eye(3)}, "crossing=0"),
        ({"level_kernel": np.eye(2), "crossing": 0.0}, r"\(3, 3\)"),
        ({"alpha": 0.0}, "alpha"),
    ):
        with pytest.raises(ValueError, match=words):
            model(**changes).fit(X, Y)
    with pytest.raises(ValueError, match="number per row"):
        model().fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="cannot be predicted"):
        model(level_kernel=np.eye(3), crossing=0.0).fit(X, Y).predict(NEW, levels=[0.3])
    with pytest.warns(UserWarning, match="are too few for a level"):
        model(levels=(0.01, 0.5)).fit(X, Y)
    assert model(level_kernel=Delta(), crossing=0.0).fit(X, Y).predict(NEW).shape == (50, 3)


def test_numbers_out_of_range_are_answered_or_refused_by_name():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), rng.normal(size=24)
    for size in (1e200, -1e307):
        odd = y.copy()
        odd[3] = size
        with pytest.warns(RuntimeWarning, match="A row of `y` has a loss .* times the median"):
            QuantileCurves(RBF(0.5)).fit(X, odd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for alpha in (1e308, 5e-324):
            assert np.all(np.isfinite(QuantileCurves(RBF(0.5), alpha=alpha).fit(X, y).predict(X)))
        heavy = QuantileCurves(RBF(0.5)).fit(X, y, sample_weight=np.full(24, 1e300))
        assert np.all(np.isfinite(heavy.predict(X)))
