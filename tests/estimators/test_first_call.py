"""The call without arguments: columns are standardised, a kernel is chosen among several, units do not matter."""

import re
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_friedman1

from iokr import IOKR, IOKRCV, Conformal, FunctionalCV, IOKRClassifier, IOKRRegressor, MultiTaskCV, QuantileCurvesCV
from iokr.estimators.regression import kernel_search
from iokr.estimators.search.ends import warn_at_end_of_widths
from iokr.estimators.search.kernels import is_linear, kernel_list
from iokr.estimators.search.result import ALPHAS, Axis, SearchResult
from iokr.kernels import RBF, Laplacian, Linear, Scaled, Standardized
from iokr.losses import Huber
from iokr.manifolds import Laplacian as GraphLaplacian
from reference import assert_close


def friedman(n=120, seed=0):
    """Ten columns, of which five matter."""
    return make_friedman1(n, noise=1.0, random_state=seed)


def quiet(fit, *data, **more):
    """Without warnings of ends of lists."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit(*data, **more)


def test_the_list_of_kernels():
    """Seven widths of `RBF`, five of `Laplacian`, `Linear`, on standardised columns; as they are for sparse rows."""
    X, _ = friedman()
    kernels = kernel_list(X)
    assert all(isinstance(kernel, Standardized) for kernel in kernels)
    assert [type(kernel.base) for kernel in kernels] == 7 * [RBF] + 5 * [Laplacian] + [Scaled]
    Z = Standardized(Linear()).fit(X).standardized(X)
    assert kernels[3].base.gamma == pytest.approx(RBF().fit(Z).gamma_, rel=1e-5)  # six digits
    assert np.mean(kernels[-1].fit(X)(X).diagonal()) == pytest.approx(1.0, rel=1e-5)
    assert [type(kernel) for kernel in kernel_list(csr_array(X))] == 7 * [RBF] + 5 * [Laplacian] + [Scaled]
    assert [type(kernel) for kernel in kernel_list(X, standardize=False)] == 7 * [RBF] + 5 * [Laplacian] + [Scaled]


def chosen(kernels, found):
    """The number of a kernel in the list."""
    return [repr(kernel) for kernel in kernels].index(repr(found))


def test_the_kernel_with_the_smallest_leave_one_out_error_is_taken():
    """Errors as if the list had been given; then a search for alpha with that kernel alone."""
    X, y = friedman()
    model = quiet(IOKRCV().fit, X, y)
    kernels = kernel_list(X)
    listed = quiet(IOKRCV(kernels).fit, X, y)
    assert_close(model.kernel_search_.values[:, 0], listed.loo_errors_, 1e-10)
    assert chosen(kernels, model.kernel_) == np.argmin(listed.loo_errors_.min(axis=1))
    assert_close(model.loo_errors_, listed.loo_errors_[chosen(kernels, model.kernel_)], 1e-10)
    alone = IOKR(model.kernel_, alpha=model.alpha_).fit(X, y)
    assert_close(model.predict(X), alone.predict(X), 1e-10)


def test_alpha_is_the_largest_within_a_standard_error():
    """Of leave-one-out errors paired over rows, which refits give, too; with groups over these."""
    X, y = friedman(60)
    groups = np.repeat(np.arange(20), 3)
    for together in (None, groups):
        model = quiet(IOKRCV().fit, X, y, groups=together)
        alphas = np.array(ALPHAS)
        of_rows = np.array(
            [(y - IOKR(model.kernel_, alpha=a).fit(X, y).loo_decision_function(together)[:, 0]) ** 2 for a in alphas]
        )
        if together is not None:
            of_rows = np.add.reduceat(of_rows, np.arange(0, 60, 3), axis=1)
        difference = of_rows - of_rows[of_rows.sum(axis=1).argmin()]
        error = difference.std(axis=1) / np.sqrt(of_rows.shape[1])
        assert model.alpha_ == alphas[difference.mean(axis=1) <= error].max()
        assert model.alpha_ > alphas[of_rows.sum(axis=1).argmin()]


def test_a_straight_line_is_preferred_where_nothing_is_clearly_better():
    """On a line with noise, with a few rows far out; and not on a curve."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=80), 6.0, 9.0][:, None]
    line = 2 * x[:, 0] + rng.normal(size=82)
    model = quiet(IOKRCV().fit, x, line)
    assert is_linear(model.kernel_)
    assert abs(model.predict([[20.0]])[0] - 40) < 5
    assert not is_linear(quiet(IOKRCV().fit, x[:80], np.sin(3 * x[:80, 0]) + 0.1 * line[:80]).kernel_)


def test_many_rows_choose_the_kernel_on_some_of_them(monkeypatch):
    """Then alpha on all rows: for the best kernel, and the second-best if the two cannot be told apart."""
    monkeypatch.setattr(kernel_search, "KERNEL_ROWS", 50)
    X, y = friedman()
    model = quiet(IOKRCV().fit, X, y)
    rows = kernel_search.sampled_rows(120)
    assert len(rows) == 50
    part = quiet(IOKRCV(kernel_list(X)).fit, X[rows], y[rows])
    assert_close(model.kernel_search_.values[:, 0], part.loo_errors_, 1e-10)
    best = np.argsort(part.loo_errors_.min(axis=1))
    carried = [repr(kernel) for kernel in model.search_.axes[0].values]
    assert carried in ([repr(kernel_list(X)[i]) for i in best[:k]] for k in (1, 2))
    alone = IOKR(model.kernel_, alpha=model.alpha_).fit(X, y)
    assert_close(model.predict(X), alone.predict(X), 1e-10)


def test_kernels_that_cannot_be_told_apart_both_go_on(monkeypatch):
    """Two kernels with the same errors, and two with very different ones."""
    monkeypatch.setattr(kernel_search, "KERNEL_ROWS", 60)
    X, y = friedman(100)
    for kernels, carried in (([RBF(0.1), RBF(0.1000001)], 2), ([RBF(0.1), RBF(1e4)], 1)):
        monkeypatch.setattr("iokr.estimators.regression.cv.kernel_list", lambda X, how, kernels=kernels: kernels)
        assert len(quiet(IOKRCV().fit, X, y).search_.axes[0].values) == carried


def test_a_model_without_a_kernel_can_be_conformal():
    """With the kernel that was chosen on half of the rows, means and deviations included, there is a guarantee."""
    X, y = friedman(80)
    sure = quiet(Conformal(IOKRCV(), selected="separately", random_state=0).fit, X, y)
    assert "no guarantee" not in sure.guarantee_
    assert np.mean(sure.contains(X, y, 0.9)) > 0.8
    with pytest.raises(ValueError, match="selects its parameters"):
        Conformal(IOKRCV(alphas=[0.1])).fit(X, y)


@pytest.mark.parametrize(
    "more", [{"loss": Huber(1.0), "cv": 3}, {"manifold": GraphLaplacian(0.1)}], ids=["loss", "manifold"]
)
def test_other_losses_and_manifolds_choose_the_kernel_by_the_square_loss(more):
    """With the rows that have labels."""
    X, y = friedman(60)
    model = quiet(IOKRCV(alphas=(0.01, 0.1, 1.0), **more).fit, X, y)
    plain = quiet(IOKRCV(kernel_list(X), alphas=(0.01, 0.1, 1.0)).fit, X, y)
    assert_close(model.kernel_search_.values[:, 0], plain.loo_errors_, 1e-10)


def _curves(x):
    return np.sin(np.linspace(0, 3, 12) * x[:, :1]) + 0.1 * x[:, 1:2]


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (IOKRCV(), "numbers"),
        (IOKRRegressor(), "numbers"),
        (IOKRRegressor(alpha=0.1), "numbers"),
        (MultiTaskCV(), "columns"),
        (FunctionalCV(), "curves"),
        (QuantileCurvesCV(levels=(0.25, 0.5, 0.75), cv=3), "numbers"),
        (IOKRClassifier(), "labels"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_units_of_X_and_y_do_not_matter(model, target):
    """Predictions from X·s + c and 1000 y + 7 are 1000 times those from X and y, plus 7."""
    X, y = friedman(60)
    targets = {
        "numbers": y,
        "columns": np.column_stack([y, y**2 / 10, X[:, 0]]),
        "curves": _curves(X),
        "labels": y > np.median(y),
    }
    Y = targets[target]
    moved = X * np.geomspace(1e-3, 1e3, 10) + np.arange(10)
    plain = quiet(model.fit, X, Y).predict(X)
    if target == "labels":
        assert np.array_equal(quiet(model.fit, moved, Y).predict(moved), plain)
        return
    other = quiet(model.fit, moved, 1000 * Y + 7).predict(moved)
    assert_close((other - 7) / 1000, plain, 1e-6)


def test_a_kernel_that_was_given_sees_X_as_it_is():
    """Unless `standardize=True`; `IOKR` never scales."""
    X, y = friedman(40)
    X = X * np.geomspace(1, 100, 10)
    assert IOKRCV(RBF(0.1)).fit(X, y).kernel_.get_params(deep=False) == {"gamma": 0.1}
    assert isinstance(IOKRCV(RBF(0.1), standardize=True).fit(X, y).kernel_, Standardized)
    assert isinstance(IOKRRegressor(RBF(0.1), standardize=True, alpha=0.1).fit(X, y).kernel_, Standardized)
    assert isinstance(IOKRRegressor(alpha=0.1).fit(X, y).kernel_, Standardized)
    assert isinstance(IOKRRegressor(alpha=0.1).fit(csr_array(X), y).kernel_, RBF)
    assert isinstance(IOKR().fit(X, y).kernel_, RBF)
    with pytest.raises(ValueError, match="standardize"):
        IOKRCV(standardize="yes").fit(X, y)


def test_a_mean_and_units_no_longer_ruin_the_default():
    """Far from 0, in odd units, with a constant column: R² of the default stays what it is on tidy data."""
    X, y = friedman(200)
    X_test, y_test = friedman(500, seed=1)
    tidy = quiet(IOKRRegressor().fit, X, y).score(X_test, y_test)
    scale = np.geomspace(1e-2, 1e4, 10)
    untidy, untidy_test = (np.column_stack([A * scale + 50, np.ones(len(A))]) for A in (X, X_test))
    assert quiet(IOKRRegressor().fit, untidy, y + 100).score(untidy_test, y_test + 100) == pytest.approx(tidy, abs=1e-6)
    assert tidy > 0.8


def _warnings(model, X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(warning.message) for warning in caught]


def test_the_end_of_a_list_is_named():
    """The smallest of large alphas; nothing where the best lies inside."""
    X, y = friedman()
    alphas = np.geomspace(1e-3, 1e-1, 5)
    (said,) = _warnings(IOKRCV(RBF(0.05), alphas=alphas), X, y)
    assert re.search(r"smallest of the list.*extend `alphas`", said)
    assert _warnings(IOKRCV(RBF(0.5), alphas=np.geomspace(1e-6, 1e3, 19)), X, y) == []


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([9, 8, 7, 6, 5, 4, 3], "narrowest"),
        ([3, 4, 5, 6, 7, 8, 9], "widest"),
        ([9, 8, 3, 6, 5, 4, 7], ""),
        ([9, 8, 7, 6, 5, 3.001, 3], ""),
    ],
)
def test_the_end_of_the_widths_is_named(errors, said):
    """Where the error still falls clearly; not for few rows."""
    kernels = [Standardized(RBF(4.0**k)) for k in range(-3, 4)]
    values = np.array(errors, dtype=float)[:, None, None]
    axes = (Axis("kernel", [*kernels, Linear()]), Axis("manifold__weight", [0.0]), Axis("alpha", [1.0]))
    values = np.concatenate([values, np.full((1, 1, 1), 10.0)])
    found = SearchResult(axes, values, False, {}, best_index=(int(np.argmin(values)), 0, 0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_at_end_of_widths(found, 10)
        assert not caught
        warn_at_end_of_widths(found, 100)
    assert [said in str(warning.message) for warning in caught] == ([True] if said else [])


def test_a_long_search_says_so_before(monkeypatch):
    """With the time on this machine, and what is quicker."""
    monkeypatch.setattr("iokr.solvers._routes.flops_per_second", lambda like: 1e3)
    monkeypatch.setattr("iokr.solvers._routes._QUICK", 100)
    X, y = friedman()
    said = _warnings(IOKRCV(RBF(0.5)), X, y)
    assert any(re.search(r"takes about .* h here.*Nystroem\(", text) for text in said)
    assert not any("takes about" in text for text in _warnings(IOKRCV(Linear()), X, y))  # few features
