"""`IOKRClassifier` and `IOKRRegressor`: scikit-learn's checks, the identities behind them, and what is built on both.

Tests of `iokr.estimators.plain.base`, `iokr.estimators.plain.classifier`, `iokr.estimators.plain.regressor`.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as GaussianRBF
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay, log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from iokr import IOKR, IOKRCV, IOKRClassifier, IOKRRegressor
from iokr.kernels import RBF, Delta, Linear, Spectrum
from iokr.losses import Huber, MaxMargin
from iokr.operator_kernels import Decomposable
from iokr.solvers import IRLS

WEIGHTS = "check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"


@parametrize_with_checks(
    [
        IOKRClassifier(),
        IOKRClassifier(alpha=0.1),
        IOKRClassifier(alpha=0.1, loss=Huber(), solver=IRLS(tol=1e-12)),
        IOKRRegressor(),
        IOKRRegressor(alpha=0.1),
        IOKRRegressor(Linear(), alpha=0.1, intercept=True),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    left_out = estimator.alpha is None or (isinstance(estimator, IOKRClassifier) and estimator.loss is None)
    if left_out and check.func.__name__ in WEIGHTS:  # alpha, or the temperature of the probabilities
        pytest.skip("to leave out one of two equal rows is not to leave out a row of weight two")
    check(estimator)


def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))


def waves(n=60, q=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(n, 1))
    Y = np.column_stack([np.sin(X[:, 0]), 3 * np.cos(X[:, 0])]) + rng.normal(size=(n, 2)) / 5
    return X, Y if q == 2 else Y[:, 0]


@pytest.mark.parametrize("intercept", [False, True])
def test_is_iokr_with_delta(intercept):
    X, y = iris()
    ours = IOKRClassifier(RBF(0.3), alpha=0.1, intercept=intercept).fit(X, y)
    theirs = IOKR(RBF(0.3), output_kernel=Delta(), alpha=0.1, intercept=intercept).fit(X, y)
    scores = theirs.scores(X, ours.classes_)
    assert_allclose(ours.decision_function(X), scores, atol=1e-10)
    assert_array_equal(ours.predict(X), ours.classes_[scores.argmax(axis=1)])
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X, ours.classes_), atol=1e-6)
    assert ours.score(X, y) == np.mean(ours.predict(X) == y)


def test_alpha_by_leave_one_out_unless_given():
    X, y = waves()
    chosen = IOKRRegressor(RBF()).fit(X, y)
    assert chosen.alpha_ == IOKRCV(RBF()).fit(X, y).alpha_
    assert_allclose(chosen.predict(X), IOKRRegressor(RBF(), alpha=chosen.alpha_).fit(X, y).predict(X), rtol=1e-8)
    assert "mean_test_score" in chosen.model_.cv_results_


def test_two_classes_have_one_margin():
    X, y = iris()
    X, y = X[:100], y[:100] == "setosa"
    model = IOKRClassifier().fit(X, y)
    assert_array_equal(model.classes_, [False, True])
    f, p = model.decision_function(X), model.predict_proba(X)
    assert f.shape == (100,) and p.shape == (100, 2)
    assert_array_equal(model.predict(X), f > 0)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(p[:, 1] > 0.5, f > 0)


def test_probabilities_are_calibrated_on_new_rows():
    """Their log loss is close to that of the best temperature for the new rows, and to that of the truth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    truth = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.random(600) < truth
    model = IOKRClassifier(RBF(0.3)).fit(X[:200], y[:200])
    f, p = model.decision_function(X[200:]), model.predict_proba(X[200:])[:, 1]
    assert_allclose(p, 1 / (1 + np.exp(-2 * f / model.temperature_)))
    best = min(log_loss(y[200:], 1 / (1 + np.exp(-2 * f / T))) for T in np.logspace(-2, 2, 99))
    assert log_loss(y[200:], p) < best + 0.02 < log_loss(y[200:], truth[200:]) + 0.08


def test_a_weight_of_two_is_the_row_twice():
    X, y = (np.asarray(part) for part in iris())
    weight = np.random.default_rng(0).integers(0, 3, size=150)
    rows = np.repeat(np.arange(150), weight)
    weighted = IOKRClassifier(RBF(0.5), alpha=0.1).fit(X, y, sample_weight=weight)
    repeated = IOKRClassifier(RBF(0.5), alpha=0.1).fit(X[rows], y[rows])
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-8, atol=1e-10)


def test_no_probabilities_where_leave_one_out_has_no_closed_form():
    X, y = iris()
    for loss in (Huber(), MaxMargin()):
        model = IOKRClassifier(alpha=0.1, loss=loss).fit(X, y)
        assert not hasattr(model, "predict_proba") and model.score(X, y) > 0.9
    assert IOKRClassifier(alphas=(0.1, 1.0), loss=Huber(), cv=3).fit(X[::5], y[::5]).alpha_ in (0.1, 1.0)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes, got 1 class in 2 rows"):
        IOKRClassifier().fit([[0.0], [1.0]], ["a", "a"])


def test_texts_as_inputs():
    words = ["banana", "ananas", "bandana", "kiwi", "wiki", "kiwiki"] * 2
    labels = [w.count("a") > 1 for w in words]
    assert IOKRClassifier(Spectrum(2), alpha=0.1).fit(words, labels).predict(["cabana", "wikiwiki"]).tolist() == [1, 0]


@pytest.mark.parametrize("q", [None, 2])
def test_is_kernel_ridge(q):
    X, y = waves(q=q)
    ours = IOKRRegressor(RBF(0.7), alpha=0.3, intercept=False).fit(X, y)
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.7).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)
    assert ours.predict(X).shape == y.shape


def gaussian_process(intercept):
    """An intercept is the limit of a constant of large variance, 1e6, and what is equal is so to its inverse."""
    kernel = GaussianRBF(1.0) + ConstantKernel(1e6) if intercept else GaussianRBF(1.0)
    return GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None), 1e-5 if intercept else 1e-8


@pytest.mark.parametrize("q", [None, 2])
@pytest.mark.parametrize("intercept", [False, True])
def test_standard_deviation_is_that_of_a_gaussian_process(q, intercept):
    X, y = waves(q=q)
    new = np.linspace(-2, 8, 30)[:, None]
    ours = IOKRRegressor(RBF(0.5), alpha=0.3, intercept=intercept).fit(X, y)
    process, tolerance = gaussian_process(intercept)
    mean, std = ours.predict(new, return_std=True)
    expected, latent = process.fit(X, y).predict(new, return_std=True)
    assert_allclose(mean, expected, atol=tolerance)
    assert std.shape == mean.shape
    scale = np.ravel(ours.scale_)[: 1 if q is None else None]
    assert_allclose(std, np.sqrt(latent**2 + 0.3) * scale, rtol=tolerance)


@pytest.mark.parametrize("intercept", [False, True])
def test_scale_is_that_of_leave_one_out_residuals(intercept):
    X, y = waves(30)
    model = IOKRRegressor(RBF(0.5), alpha=0.3, intercept=intercept).fit(X, y)
    squares = []
    for i in range(30):
        rest = np.arange(30) != i
        process, tolerance = gaussian_process(intercept)
        mean, std = process.fit(X[rest], y[rest]).predict(X[~rest], return_std=True)
        squares.append((y[i] - mean[0]) ** 2 / (std[0] ** 2 + 0.3))
    assert_allclose(model.scale_, np.sqrt(np.mean(squares)), rtol=tolerance)


def test_most_new_rows_are_within_two_standard_deviations():
    X, y = waves(400)
    mean, std = IOKRRegressor().fit(X[:100], y[:100]).predict(X[100:], return_std=True)
    assert 0.9 < np.mean(np.abs(y[100:] - mean) < 2 * std) < 0.99


def test_deviation_with_gaps_and_with_operators():
    X, Y = waves(q=2)
    Y[:10, 1] = np.nan
    gaps = IOKRRegressor(RBF(0.5), alpha=0.3).fit(X, Y)
    alone = IOKRRegressor(RBF(0.5), alpha=0.3).fit(X[10:], Y[10:, 1])
    assert_allclose(gaps.predict(X, return_std=True)[1][:, 1], alone.predict(X, return_std=True)[1], rtol=1e-8)
    mixed = IOKRRegressor(Decomposable(RBF(0.5), np.array([[2.0, 1.0], [1.0, 2.0]])), alpha=0.3).fit(X[10:], Y[10:])
    assert mixed.predict(X, return_std=True)[1].shape == Y.shape


def test_deviation_needs_the_square_loss():
    X, y = waves()
    with pytest.raises(ValueError, match="closed form for quadratic losses"):
        IOKRRegressor(alpha=0.1, loss=Huber()).fit(X, y).predict(X, return_std=True)


def test_far_away_is_the_mean_of_correlated_outputs():
    """b = 1ᵀ(K + αI)⁻¹y / 1ᵀ(K + αI)⁻¹1; 0 without an intercept."""
    X, y = waves()
    weight = np.linalg.solve(RBF(0.5)(X, X) + 0.3 * np.eye(60), np.ones(60))
    far = IOKRRegressor(RBF(0.5), alpha=0.3).fit(X, y + 7).predict([[1e3]])
    assert_allclose(far, weight @ (y + 7) / weight.sum(), rtol=1e-10)
    assert_allclose(IOKRRegressor(RBF(0.5), intercept=False).fit(X, y + 7).predict([[1e3]]), 0)


def test_one_row():
    """It is the intercept; left out, h is 0."""
    model = IOKRRegressor(RBF(0.5)).fit([[1.0]], [3.0])
    assert_allclose(model.predict([[0.0], [5.0]]), 3.0)
    assert_allclose(model.model_.loo_errors_, 9.0)


def test_kinds():
    assert is_classifier(IOKRClassifier()) and is_regressor(IOKRRegressor())


def test_stacking_voting_and_searching_of_labels():
    X, y = iris()
    X, y = X[::2], y[::2]
    ours = make_pipeline(StandardScaler(), IOKRClassifier(RBF(0.5)))
    stack = StackingClassifier([("iokr", ours), ("logit", LogisticRegression(max_iter=500))], cv=3).fit(X, y)
    assert stack.score(X, y) > 0.9
    vote = VotingClassifier([("iokr", IOKRClassifier()), ("logit", LogisticRegression(max_iter=500))], voting="soft")
    assert vote.fit(X, y).score(X, y) > 0.9
    search = GridSearchCV(IOKRClassifier(), {"kernel": [RBF(0.1), RBF(1.0)], "alpha": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert cross_val_predict(IOKRClassifier(), X, y, cv=3, method="predict_proba").shape == (75, 3)
    calibrated = CalibratedClassifierCV(IOKRClassifier(alpha=0.1, loss=Huber()), cv=3).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_stacking_voting_and_searching_of_numbers():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y = X[:120], y[:120]
    ours = IOKRRegressor(intercept=True)
    vote = VotingRegressor([("iokr", ours), ("ridge", Ridge())]).fit(X, y)
    parts = [model.predict(X) for model in vote.estimators_]
    assert_allclose(vote.predict(X), np.mean(parts, axis=0))
    assert StackingRegressor([("iokr", ours), ("ridge", Ridge())], cv=3).fit(X, y).score(X, y) > 0.3
    search = GridSearchCV(IOKRRegressor(intercept=True), {"alpha": [0.01, 1.0, 100.0]}, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 3
    assert cross_val_score(ours, X, y, cv=3).mean() > 0.2
    assert permutation_importance(ours.fit(X, y), X, y, n_repeats=2, random_state=0).importances_mean.shape == (10,)


def test_displays():
    pytest.importorskip("matplotlib")
    X, y = iris()
    model = IOKRClassifier().fit(X, y)
    drawn = ConfusionMatrixDisplay.from_estimator(model, X, y)
    assert drawn.confusion_matrix.sum() == 150
    assert RocCurveDisplay.from_estimator(model.fit(X[:100], y[:100]), X[:100], y[:100]).roc_auc > 0.99
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    shown = PartialDependenceDisplay.from_estimator(IOKRRegressor(alpha=0.1).fit(X[:90], y[:90]), X[:90], ["bmi"])
    assert shown.pd_results[0]["average"].shape[0] == 1
    partial = PartialDependenceDisplay.from_estimator(
        IOKRClassifier(alpha=0.1).fit(*iris()), iris()[0], [0], target="virginica"
    )
    assert np.isfinite(partial.pd_results[0]["average"]).all()


def test_frames_are_remembered():
    X, y = iris()
    model = IOKRClassifier().fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
    assert isinstance(model.predict(X), np.ndarray)
    assert isinstance(IOKRRegressor(alpha=1.0).fit(X, pd.Series(np.arange(150.0), name="n")).predict(X), np.ndarray)
