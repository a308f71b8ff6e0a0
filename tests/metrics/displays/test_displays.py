"""Displays draw what the model has: `iokr.metrics.displays.path`, `iokr.metrics.displays.ranks`,
`iokr.metrics.displays.coverage`, `iokr.metrics.displays.prediction`, `iokr.metrics.displays.weights` and
`iokr.metrics.displays.axes`.
"""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("matplotlib")
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from pandas import DataFrame

from iokr import IOKR, IOKRCV, CandidateSets, Conformal, FunctionalCV, LinkPredictorCV
from iokr.kernels import ARD, RBF, Aligned, Delta, Linear, Normalized
from iokr.manifolds import Laplacian
from iokr.metrics import CoverageDisplay, PathDisplay, PredictionDisplay, RankDisplay, WeightsDisplay
from iokr.operator_kernels import Decomposable

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(40, 2))
NAMES = ["a", "b", "c"]
y = np.array(NAMES, dtype=object)[np.digitize(X[:, 0], [-0.5, 0.5])]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(display):
    """The figure can be drawn, and the display keeps it."""
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    return display


# ------------------------------------------------------------------------------------------------------------- path


def test_path_has_a_curve_for_each_kernel_and_marks_the_best():
    model = IOKRCV([RBF(0.1), RBF(1.0), Linear()], alphas=(1.0, 0.01, 0.1)).fit(X, Y)
    display = drawn(PathDisplay.from_estimator(model))
    assert_array_equal(display.values, model.loo_errors_)
    assert display.best == model.best_index_
    assert display.labels == ["RBF(gamma=0.1)", "RBF(gamma=1.0)", "Linear()"]
    assert_array_equal(display.lines_[0].get_xdata(), [0.01, 0.1, 1.0])
    assert display.ax_.get_ylabel() == "leave-one-out error" and display.ax_.get_xscale() == "log"


def test_path_over_weights_folds_links_and_curves():
    manifold_weights = IOKRCV(RBF(0.5), alphas=(0.1, 1.0), manifold_weights=(0.0, 0.1), manifold=Laplacian(0.1)).fit(
        X, Y
    )
    assert PathDisplay.from_estimator(manifold_weights).labels == ["manifold weight 0", "manifold weight 0.1"]
    folds = PathDisplay.from_estimator(IOKRCV(RBF(), alphas=(0.1, 1.0), cv=3).fit(X, Y))
    assert folds.ylabel == "cross-validation error" and folds.labels == ["RBF()"]
    W = (np.abs(X[:, :1] - X[:, 0]) < 0.3).astype(float) - np.eye(40)
    links = LinkPredictorCV([RBF(0.1), RBF(1.0)], alphas=(0.1, 1.0)).fit(X, W)
    display = drawn(PathDisplay.from_estimator(links))
    assert display.ylabel == "score" and display.values.max() == display.values[display.best]
    curves = FunctionalCV(RBF(1.0), alphas=(0.1, 1.0), curve_kernel=[RBF(1.0), RBF(9.0)]).fit(X, np.cumsum(Y, axis=1))
    names = PathDisplay.from_estimator(curves).labels
    assert names == ["curve kernel RBF(gamma=1.0)", "curve kernel RBF(gamma=9.0)"]
    named = PathDisplay.from_estimator(links, labels=["wide", "narrow"], linestyle="--")
    assert [line.get_label() for line in named.lines_] == ["wide", "narrow"]
    marked = PathDisplay([0.1, 1.0], [[1.0, 2.0]], ["one"], (0, 0), chosen=0.3).plot()
    assert "chosen" in [text.get_text() for text in marked.ax_.get_legend().get_texts()]


def test_path_needs_a_choice():
    with pytest.raises(TypeError, match="alphas"):
        PathDisplay.from_estimator(IOKR().fit(X, Y))
    with pytest.raises(ValueError, match="list of 1 names, got 2"):
        PathDisplay.from_estimator(IOKRCV(RBF(), alphas=(0.1, 1.0)).fit(X, Y), labels=["a", "b"])


# ------------------------------------------------------------------------------------------------------------ ranks


def test_ranks_are_those_of_the_truth():
    model = IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.5).fit(X[:20], y[:20])
    order, _ = model.rank(X[20:], NAMES)
    expected = [1 + [NAMES[c] for c in row].index(truth) for row, truth in zip(order, y[20:], strict=True)]
    display = drawn(RankDisplay.from_estimator(model, X[20:], y[20:], NAMES, name="IOKR"))
    assert_array_equal(display.ranks, expected)
    heights = display.line_.get_ydata()
    assert_allclose(heights[0], 100 * np.mean(np.array(expected) == 1))
    assert heights[-1] == 100
    sets = CandidateSets([["a", "b"] if truth == "c" else NAMES for truth in y[20:]])
    found = RankDisplay.from_estimator(model, X[20:], y[20:], sets).ranks
    assert_array_equal(np.isinf(found), y[20:] == "c")


def test_ranks_out_of_fold_on_one_axis():
    _, ax = plt.subplots()
    one = RankDisplay.from_ranks([1, 2, 50, np.inf], name="one", ax=ax)
    two = drawn(RankDisplay.from_ranks([1, 1, 3, 4], name="two", ax=ax, color="red"))
    assert one.ax_ is two.ax_ is ax and len(ax.lines) == 2
    assert one.line_.get_ydata()[-1] == 75
    with pytest.raises(ValueError, match="numbers from 1"):
        RankDisplay([0, 1])
    assert drawn(RankDisplay.from_ranks([np.inf])).line_.get_ydata()[-1] == 0


# --------------------------------------------------------------------------------------------------------- coverage


def test_coverage_against_the_level():
    sets = Conformal(IOKR(RBF(0.5), alpha=0.1), method="jackknife+").fit(X[:25], Y[:25])
    display = drawn(CoverageDisplay.from_estimator(sets, X[25:], Y[25:], levels=(0.5, 0.8, 0.9), name="jackknife+"))
    assert_allclose(display.coverage, [sets.contains(X[25:], Y[25:], c).mean() for c in (0.5, 0.8, 0.9)])
    low, high = display.interval()
    assert np.all((low >= 0) & (low <= display.coverage) & (display.coverage <= high) & (high <= 1))
    assert display.ax_.get_xlabel() == "requested coverage"
    with pytest.raises(TypeError, match="Conformal"):
        CoverageDisplay.from_estimator(IOKR().fit(X, Y), X, Y)


def test_intervals_are_wilsons():
    from scipy.stats import binomtest

    display = CoverageDisplay([0.5, 0.9], [40, 90], 100)
    for low, high, held in zip(*display.interval(), (40, 90), strict=True):
        expected = binomtest(held, 100).proportion_ci(0.95, method="wilson")
        assert_allclose([low, high], [expected.low, expected.high], rtol=1e-6)


# ------------------------------------------------------------------------------------------------------- prediction


def test_predictions_of_numbers_with_their_bands():
    sets = Conformal(IOKR(RBF(0.5), alpha=0.1)).fit(X[:25], Y[:25, 0])
    display = drawn(PredictionDisplay.from_estimator(sets, X[25:], Y[25:, 0], coverage=0.8))
    assert_allclose(display.band[:, 0], sets.band(X[25:], 0.8))
    assert_allclose(display.y_pred[:, 0], sets.predict(X[25:]))


def test_predictions_of_vectors():
    model = IOKR(RBF(0.5), alpha=0.1).fit(X[:25], Y[:25])
    display = drawn(PredictionDisplay.from_estimator(model, X[25:], Y[25:], alpha=0.5))
    assert display.band is None and display.y_true.shape == (15, 2)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["output 0", "output 1"]
    with pytest.raises(TypeError, match="numbers or vectors"):
        PredictionDisplay(["a", "b"], ["a", "b"])
    with pytest.raises(ValueError, match="same"):
        PredictionDisplay([1.0, 2.0], [1.0])


# ---------------------------------------------------------------------------------------------------------- weights


def test_weights_of_kernels():
    model = IOKR(Aligned([Linear(), RBF(1.0)])).fit(X, Y)
    display = drawn(WeightsDisplay.from_estimator(model))
    assert_allclose(display.values, model.kernel_.weights_)
    assert display.xlabel == "weight" and [bar.get_width() for bar in display.bars_] == list(display.values)
    summed = IOKR(Decomposable(0.3 * RBF(1.0) + 2.0 * Linear(), np.eye(2))).fit(X, Y)
    found = WeightsDisplay.from_estimator(summed)
    assert_allclose(found.values, [0.3, 2.0])
    assert found.labels == ["RBF(gamma=1.0)", "Linear()"]


def test_widths_of_features():
    frame = DataFrame(np.column_stack([X, X[:, 0]]), columns=["height", "age", "noise"])
    display = drawn(WeightsDisplay.from_estimator(IOKR(ARD((0.5, 2.0, 0.0))).fit(frame, Y)))
    assert display.labels == ["height", "age", "noise"] and display.xlabel == "gamma"
    assert_allclose(display.values, [0.5, 2.0, 0.0])
    inside = WeightsDisplay.from_estimator(IOKR(Normalized(ARD((0.5, 2.0)))).fit(X, Y))
    assert inside.labels == ["feature 0", "feature 1"]


def test_a_kernel_without_weights_is_rejected():
    with pytest.raises(TypeError, match="neither weights nor widths"):
        WeightsDisplay.from_estimator(IOKR(Normalized(RBF(1.0))).fit(X, Y))
    with pytest.raises(ValueError, match="list of"):
        WeightsDisplay([1.0, 2.0], ["one"])


# ------------------------------------------------------------------------------------------------------------- axes


def test_the_extra_is_named_where_matplotlib_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"iokr\[report\]"):
        RankDisplay.from_ranks([1, 2])
