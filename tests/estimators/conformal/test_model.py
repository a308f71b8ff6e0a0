"""Conformal sets: coverage, what is claimed, other models, and what is refused.

Also `iokr.estimators.conformal.guarantee`, `iokr.estimators.conformal.scores`, `iokr.estimators.conformal.scores`,
`iokr.estimators.conformal.scores` and `iokr.estimators.conformal.scores`.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut

from iokr import IOKR, IOKRCV, CandidateSets, Conformal, OutputKernelForest, PairModel
from iokr.embeddings import Eigen
from iokr.estimators.conformal.scores import rank_needed, rows_needed
from iokr.kernels import RBF, Centered, Delta, Linear, Precomputed, TensorPair
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Covariance, Decomposable

METHODS = ("full", "jackknife+", "jackknife", "split")


def draw(seed, n=40, m=30):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n + m, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) + rng.standard_t(4, size=(n + m, 2)) * 0.3
    return X[:n], Y[:n], X[n:], Y[n:]


def ridge(**parts):
    return IOKR(RBF(0.5), alpha=0.3, **parts)


X, Y, NEW, Y_NEW = draw(0)


# --------------------------------------------------------------------------------------------------------- coverage


@pytest.mark.parametrize("method", METHODS)
def test_coverage_over_many_draws(method):
    """At least 1 − a (1 − 2a is proved for the jackknife+, and both jackknives come close), up to three deviations."""
    found = []
    for seed in range(200):
        X, Y, X_new, Y_new = draw(seed)
        sure = Conformal(ridge(), method=method, random_state=seed).fit(X, Y)
        found.append(sure.contains(X_new, Y_new, 0.8).mean())
    error = 3 * np.std(found) / np.sqrt(len(found))
    slack = 0.01 if method.startswith("jackknife") else 0.0
    assert 0.8 - error - slack <= np.mean(found) <= 0.8 + 1 / 21 + error + slack


def test_p_values_and_sets_agree_and_grow_with_coverage():
    for method in METHODS:
        sure = Conformal(ridge(), method=method, random_state=0).fit(X, Y)
        p = sure.p_values(NEW, Y_NEW)
        for coverage in (0.5, 0.8, 0.9):
            assert_array_equal(sure.contains(NEW, Y_NEW, coverage), p > 1 - coverage + 1e-9)
        assert np.all(sure.radius(NEW, 0.9) >= sure.radius(NEW, 0.5))


def test_scaled_sets_grow_away_from_the_data():
    for method in METHODS:
        sure = Conformal(ridge(), method=method, conformity="scaled", random_state=0).fit(X, Y)
        near, far = sure.radius([X[0], [50.0, 50.0]], 0.8)
        assert far > 1.2 * near


def test_bands_hold_curves_whole():
    rng = np.random.default_rng(1)
    t = np.linspace(0, 1, 11)
    x = rng.uniform(size=(400, 1))
    curves = np.sin(3 * t + 2 * x) + 0.2 * rng.normal(size=(400, 1)) * (1 + t)
    for method in ("jackknife+", "jackknife", "split"):
        sure = Conformal(ridge(), method=method, random_state=0).fit(x[:100], curves[:100])
        band = sure.band(x[100:], 0.8)
        assert band.shape == (300, 11, 2)
        inside = ((band[..., 0] <= curves[100:]) & (curves[100:] <= band[..., 1])).all(axis=1).mean()
        assert 0.65 < inside < 0.95
        widths = (band[..., 1] - band[..., 0]).mean(axis=0)
        assert widths[-1] > 1.3 * widths[0]  # the noise grows with t


def test_intercepts_are_added_to_bands():
    y = Y[:, 0] + 1000.0
    band = Conformal(ridge(intercept=True), method="jackknife").fit(X, y).band(NEW, 0.8)
    assert_allclose(band.mean(), 1000.0, atol=3)
    assert band.shape == (30, 2)


# ------------------------------------------------------------------------------------------------------ jackknife+


@pytest.mark.parametrize("intercept", [False, True])
def test_jackknife_plus_is_that_of_mapie(intercept):
    regression = pytest.importorskip("mapie.regression")
    alpha, y = 0.7, Y[:, 0]
    reference = regression.CrossConformalRegressor(
        Ridge(alpha=alpha, fit_intercept=intercept), confidence_level=0.8, cv=LeaveOneOut(), method="plus"
    )
    _, theirs = reference.fit_conformalize(X, y).predict_interval(NEW)
    ours = Conformal(IOKR(Linear(), alpha=alpha, intercept=intercept), method="jackknife+").fit(X, y)
    assert_allclose(ours.band(NEW, 0.8), np.asarray(theirs)[:, :, 0], atol=1e-10)
    assert "1 − 2a" in ours.guarantee_


# ------------------------------------------------------------------------------------------------- what is claimed


@pytest.mark.parametrize("intercept", [False, True])
def test_claims(intercept):
    model = ridge(intercept=intercept)
    claim = {method: Conformal(model, method=method, random_state=0).fit(X, Y).guarantee_ for method in METHODS}
    assert claim["full"].startswith("coverage of at least the requested level") and "40 rows" in claim["full"]
    assert (
        claim["split"].startswith("coverage of at least the requested level")
        and "20 calibration rows" in claim["split"]
    )
    assert claim["jackknife+"].startswith("coverage of at least 1 − 2a")
    assert claim["jackknife"].startswith("no guarantee")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (IOKR(alpha=0.3), "RBF.gamma_"),
        (IOKR(0.5 * RBF() + Linear()), "RBF.gamma_"),
        (IOKR(Centered(RBF(0.5))), "Centered.mean_"),
        (IOKR(Decomposable(RBF(), np.eye(2))), "RBF.gamma_"),
        (IOKR(Covariance(RBF(0.5))), "Covariance"),
        (IOKR(RBF(0.5), output_kernel=RBF()), "RBF.gamma_"),
    ],
)
def test_nothing_is_claimed_of_what_is_estimated_from_the_same_rows(model, name):
    for method in ("full", "jackknife+"):
        claim = Conformal(model, method=method).fit(X, Y).guarantee_
        assert claim.startswith("no guarantee:") and name in claim
    assert Conformal(model, method="split").fit(X, Y).guarantee_.startswith("coverage")


def test_selection():
    search = IOKRCV([RBF(0.1), RBF()], alphas=(0.1, 1.0))
    with pytest.raises(ValueError, match="separately"):
        Conformal(search).fit(X, Y)
    for method in ("jackknife+", "jackknife"):
        assert (
            Conformal(search, method=method).fit(X, Y).guarantee_
            == "no guarantee: parameters were selected on these data"
        )
    assert Conformal(search, method="split").fit(X, Y).guarantee_.startswith("coverage of at least the requested level")
    apart = Conformal(search, selected="separately", random_state=0).fit(X, Y)
    assert apart.guarantee_.startswith("coverage of at least the requested level") and apart.n_calibration_ == 20
    assert isinstance(apart.model_, IOKR) and apart.model_.kernel.gamma is not None
    width = Conformal(IOKR(), selected="separately", random_state=0).fit(X, Y)  # a width is selected, too
    assert width.guarantee_.startswith("coverage of at least the requested level")
    assert Conformal(IOKRCV(RBF(0.5), alphas=(0.3,))).fit(X, Y).guarantee_.startswith("coverage")  # nothing to select


def test_coverage_of_parameters_selected_separately():
    search = IOKRCV([RBF(0.1), RBF(1.0)], alphas=(0.1, 1.0))
    found = []
    for seed in range(60):
        X, Y, X_new, Y_new = draw(seed)
        sure = Conformal(search, selected="separately", random_state=seed).fit(X, Y)
        found.append(sure.contains(X_new, Y_new, 0.8).mean())
    assert np.mean(found) >= 0.8 - 3 * np.std(found) / np.sqrt(60)


def test_pairs_are_not_exchangeable():
    nodes = np.random.default_rng(0).normal(size=(10, 2))
    pairs = np.array([(i, j) for i in range(10) for j in range(i)])
    sure = Conformal(IOKR(TensorPair(RBF(0.5), nodes=nodes))).fit(pairs, np.arange(45.0))
    assert "pairs that share a node are not exchangeable" in sure.guarantee_
    with pytest.raises(TypeError, match="nodes are exchangeable, pairs of them"):
        Conformal(PairModel()).fit(nodes, np.eye(10))


# --------------------------------------------------------------------------------------------------- other models


def test_split_takes_any_model():
    forest = OutputKernelForest(n_estimators=10, random_state=0)
    for model in (forest, RandomForestRegressor(10, random_state=0), ridge(loss=Huber(1.0)), IOKRCV()):
        sure = Conformal(model, method="split", random_state=0).fit(X, Y)
        assert sure.contains(NEW, Y_NEW, 0.8).mean() > 0.5
        assert_allclose(np.ptp(sure.radius(NEW, 0.8)), 0.0)
        assert sure.predict(NEW).shape == (30, 2)
        assert len(sure.predict_set(NEW, Y_NEW, 0.8)) == 30
        assert sure.band(NEW, 0.8).shape == (30, 2, 2)
    by_function = Conformal(Ridge(), method="split", conformity=lambda R, X: np.abs(R).max(axis=1)).fit(X, Y)
    assert by_function.contains(NEW, Y_NEW, 0.8).shape == (30,)
    assert len(by_function.predict_set(NEW[:2], Y_NEW, 0.8)) == 2


@pytest.mark.parametrize("model", [ridge(), Ridge()], ids=["iokr", "scikit-learn"])
def test_a_function_scores_candidate_sets_as_it_scores_lists(model):
    sets = Conformal(model, method="split", conformity=lambda R, X: np.abs(R).max(axis=1), random_state=0).fit(X, Y)
    lists = [Y[i : i + 5] for i in range(4)]
    by_sets = sets.predict_set(NEW[:4], CandidateSets(lists), 0.5)
    for i, (found, candidates) in enumerate(zip(by_sets, lists, strict=True)):
        assert_array_equal(found, sets.predict_set(NEW[i : i + 1], candidates, 0.5)[0])


def test_objects_as_outputs_and_gram_matrices_as_inputs():
    labels = np.array(["low", "high"], dtype=object)[(X[:, 0] > 0).astype(int)]
    new = np.array(["low", "high"], dtype=object)[(NEW[:, 0] > 0).astype(int)]
    for method in METHODS:
        sure = Conformal(ridge(output_kernel=Delta()), method=method, random_state=0).fit(X, labels)
        sets = sure.predict_set(NEW, ["low", "high"], 0.9)
        held = [new[j] in np.array(["low", "high"])[s] for j, s in enumerate(sets)]
        assert_array_equal(held, sure.contains(NEW, new, 0.9))
        assert set(sure.predict(NEW)) <= {"low", "high"}
    whole = Precomputed(RBF(0.5)(np.vstack([X, NEW])))
    given = Conformal(IOKR(whole, alpha=0.3)).fit(np.arange(40), Y)
    assert_array_equal(given.p_values(np.arange(40, 70), Y_NEW), Conformal(ridge()).fit(X, Y).p_values(NEW, Y_NEW))
    with pytest.raises(ValueError, match="does not have"):  # k(x, x) of a new object
        Conformal(IOKR(Precomputed())).fit(RBF(0.5)(X), Y).p_values(RBF(0.5)(NEW, X), Y_NEW)
    parts = Conformal(IOKR(Precomputed(), alpha=0.3), method="split", random_state=0).fit(RBF(0.5)(X), Y)
    same = Conformal(ridge(), method="split", random_state=0).fit(X, Y)
    cross = RBF(0.5)(NEW, X)  # a column for each row of `fit`, whichever the model was fitted on
    assert_allclose(parts.p_values(cross, Y_NEW), same.p_values(NEW, Y_NEW))
    assert_allclose(parts.radius(cross, 0.8), same.radius(NEW, 0.8))
    assert_allclose(parts.predict(cross), same.predict(NEW))
    for method in ("jackknife", "jackknife+"):  # distances need no k(x, x)
        left_out = Conformal(IOKR(Precomputed(), alpha=0.3), method=method).fit(RBF(0.5)(X), Y)
        expected = Conformal(ridge(), method=method).fit(X, Y)
        assert_array_equal(left_out.p_values(cross, Y_NEW), expected.p_values(NEW, Y_NEW))
        assert_allclose(left_out.band(cross, 0.8), expected.band(NEW, 0.8))


def test_clones_and_pickles():
    sure = Conformal(ridge(), method="jackknife+").fit(X, Y)
    again = pickle.loads(pickle.dumps(sure))
    assert_array_equal(again.p_values(NEW, Y_NEW), sure.p_values(NEW, Y_NEW))
    assert clone(sure).method == "jackknife+"


# ---------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 1.5, np.nan, "0.9"])
def test_coverage_lies_between_0_and_1(coverage):
    sure = Conformal(ridge()).fit(X, Y)
    for call in (sure.radius, lambda X, coverage: sure.contains(X, Y_NEW, coverage)):
        with pytest.raises((ValueError, TypeError), match="coverage"):
            call(NEW, coverage=coverage)


def test_the_least_coverage_has_the_first_rank():
    assert rank_needed(5e-324, 10) == rank_needed(1e-12, 10) == 1


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95, 0.99, 2 / 3])
def test_too_few_rows_are_refused_with_the_number_needed(coverage):
    n = rows_needed(coverage)
    assert rank_needed(coverage, n) <= n
    if n > 1:
        with pytest.raises(ValueError, match=f"at least {n} calibration rows, got {n - 1}"):
            rank_needed(coverage, n - 1)


def test_few_rows_and_empty_parts():
    with pytest.raises(ValueError, match="at least 9 calibration rows"):
        Conformal(ridge()).fit(X[:8], Y[:8]).contains(NEW, Y_NEW, 0.9)
    with pytest.raises(ValueError, match="at least 19 calibration rows, got 10"):
        Conformal(ridge(), method="split").fit(X[:20], Y[:20]).predict_set(NEW, Y_NEW, 0.95)
    with pytest.raises(ValueError, match=r"leaves 0 rows to calibrate on.*at least 6 rows"):
        Conformal(ridge(), method="split", fraction=0.1).fit(X[:4], Y[:4])
    with pytest.raises(ValueError, match="leaves 0 rows to select on"):
        Conformal(IOKRCV(), selected="separately", fraction=0.1).fit(X[:4], Y[:4])
    assert Conformal(ridge(), method="split", fraction=0.1).fit(X[:6], Y[:6]).n_calibration_ == 1


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"method": "cv"}, "`method` must be one of"),
        ({"conformity": "ratio"}, "`conformity` must be one of"),
        ({"selected": "yes"}, "`selected` must be one of"),
        ({"fraction": 1.0}, "`fraction` must lie between"),
        ({"model": Ridge()}, "split"),
        ({"model": ridge(loss=Huber(1.0))}, "quadratic losses.*split"),
        ({"model": ridge(manifold=Laplacian(0.1))}, "graph.*split"),
        ({"model": ridge(output_kernel=RBF(1.0), embedding=Eigen())}, "not an exact embedding"),
        ({"model": IOKR(Covariance(RBF(0.5)), output_kernel=RBF(1.0))}, "no closed form.*split"),
        ({"model": IOKR(Decomposable(RBF(0.5), np.diag([1.0, 2.0]))), "conformity": "scaled"}, "own variance"),
        ({"conformity": "relative"}, "jackknife"),
        ({"conformity": lambda R, X: R}, "a number for each"),
        ({"model": ridge(output_kernel=RBF(1.0)), "conformity": lambda R, X: R[:, 0]}, "residual vectors"),
    ],
)
def test_refused_in_words(parts, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Conformal(**{"model": ridge(), **parts}).fit(X, Y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("conformity", ["distance", lambda R, X: np.abs(R).max(axis=1)], ids=["distance", "function"])
def test_lists_are_the_arrays_that_they_hold(method, conformity):
    sure = Conformal(ridge(), method=method, conformity=conformity, random_state=0)
    given, listed = clone(sure).fit(X, Y), sure.fit(X.tolist(), Y.tolist())
    assert_array_equal(listed.p_values(NEW.tolist(), Y_NEW.tolist()), given.p_values(NEW, Y_NEW))
    for one, other in zip(listed.predict_set(NEW.tolist(), Y.tolist()), given.predict_set(NEW, Y), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("method", ["p_values", "contains", "predict_set"])
def test_before_the_fit(method):
    with pytest.raises(NotFittedError):
        getattr(Conformal(ridge()), method)(NEW, Y_NEW)


def test_refused_after_the_fit():
    holes = np.where(np.arange(80).reshape(40, 2) == 3, np.nan, Y)
    for method in METHODS:
        with pytest.raises(ValueError, match="NaN"):
            Conformal(ridge(), method=method).fit(X, holes)
    full = Conformal(ridge()).fit(X, Y)
    with pytest.raises(ValueError, match="not a band"):
        full.band(NEW)
    with pytest.raises(ValueError, match="predict_set"):
        Conformal(ridge(output_kernel=RBF(1.0)), method="split").fit(X, Y).band(NEW, 0.8)
    relative = Conformal(ridge(), method="jackknife", conformity="relative").fit(X, Y)
    with pytest.raises(ValueError, match="candidates"):
        relative.contains(NEW, Y_NEW)
    with pytest.raises(ValueError, match="balls"):
        relative.radius(NEW)
    with pytest.raises(ValueError, match="same length"):
        full.contains(NEW, Y_NEW[:3])
