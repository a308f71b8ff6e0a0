"""What `PairModel` refuses, and in which words; clones and pickles."""

import numpy as np
import pytest

from iokr import PairModel
from iokr.kernels import RBF
from iokr.losses import Huber, MaxMargin
from iokr.solvers import CoordinateDescent, Eigen
from pair_problems import GAMMA, network
from reference import assert_close


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"strategy": "both"}, ValueError, "`strategy` must be one of 'kernel', 'duplicate', 'local', got 'both'"),
        ({"mix": 1.5}, ValueError, "`mix` must be a number from 0 to 1, got 1.5"),
        ({"mix": -0.1}, ValueError, "`mix` must be a number of at least 0"),
        ({"strategy": "local", "mix": 0.5}, ValueError, "`mix` has no effect with"),
        ({"alpha": -1.0}, ValueError, "`alpha` must be a positive number, got -1.0"),
        ({"loss": Huber()}, ValueError, "`loss` must be `Square\\(\\)` or `MaxMargin\\(\\)`"),
        ({"solver": "cg"}, TypeError, "`solver` must be a component"),
        ({"kernel": "rbf"}, TypeError, "`kernel` must be a component"),
        ({"strategy": "local", "solver": Eigen()}, ValueError, "`solver` must be `Auto\\(\\)` or `Cholesky\\(\\)`"),
        ({"solver": CoordinateDescent()}, ValueError, "cannot solve this problem"),
    ],
)
def test_parameters_are_refused_in_words(change, error, message):
    X, pairs, y, _ = network(26)
    with pytest.raises(error, match=message):
        PairModel(**{"kernel": RBF(GAMMA), **change}).fit(X, pairs, y)


@pytest.mark.parametrize(
    ("pairs", "y", "error", "message"),
    [
        ([[0, 1], [1, 0]], [1, -1], ValueError, r"The pair \{0, 1\} has two different labels"),
        ([[0, 14]], [1], ValueError, "Row number 14 in `pairs` is outside the rows of X, of which there are 14"),
        ([[0, -1]], [1], ValueError, "Row number -1"),
        ([[0, 1, 2]], [1], ValueError, "`pairs` must have two columns"),
        ([[0.5, 1.0]], [1], TypeError, "`pairs` must hold row numbers of nodes, integers"),
        ([["a", "b"]], [1], TypeError, "`pairs` must hold row numbers of nodes"),
        ([[0, 1]], [1, 2], ValueError, "pairs has 1 objects but y has 2"),
        ([[0, 1]], [np.nan], ValueError, "`y` contains NaN"),
        ([[0, 1]], None, ValueError, "requires y to be passed"),
        ([[0, 1], [1, 2], [2, 3]], ["a", "b", "c"], ValueError, "two different labels, not 3"),
        ([[0, 1], [1, 2]], ["a", "a"], ValueError, "two different labels, not 1"),
        ([[0, 1], [1, 2]], ["a", None], TypeError, "labels of one kind, got NoneType, str"),
        ([[0, 1], [2, 3], [1, 0]], [0.5, 1.0, 2.0], ValueError, r"The pair \{0, 1\} has two different labels"),
        ([[0, np.nan]], [1], TypeError, "integers, got"),
        ([[0, np.inf]], [1], TypeError, "integers, got"),
        (np.array([[0, 2**63 + 1]], dtype=np.uint64), [1], ValueError, "Row number 9223372036854775809"),
        ([[0, 1], [2]], [1, 0], ValueError, "two columns, .* some rows differ"),
        (np.empty((0, 2), dtype=int), [], ValueError, "`pairs` is empty"),
    ],
)
def test_pairs_and_labels_are_refused_in_words(pairs, y, error, message):
    with pytest.raises(error, match=message):
        PairModel(RBF(GAMMA)).fit(network()[0], pairs, y)


def test_the_margin_needs_two_labels_and_has_no_closed_leave_out():
    X, pairs, y, _ = network(27)
    with pytest.raises(ValueError, match="two different labels, but there are more"):
        PairModel(loss=MaxMargin()).fit(X, pairs, np.arange(len(y)))
    with pytest.raises(ValueError, match="all 40 labels are the same"):
        PairModel(loss=MaxMargin()).fit(X, pairs, np.ones(len(y)))
    with pytest.raises(ValueError, match="cv_decision_function"):
        PairModel(loss=MaxMargin()).fit(X, pairs, y).loo_decision_function()


def test_missing_values_of_nodes_are_refused():
    X, pairs, y, X_new = network(28)
    model = PairModel(RBF(GAMMA)).fit(X, pairs, y)
    X[3, 1] = X_new[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.decision_function([[0, 14]], X_new)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, pairs, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [(0.0, "weight zero"), (-1.0, "at least 0"), (np.nan, "finite numbers"), (np.inf, "finite numbers")],
)
def test_weights_that_mean_nothing_are_refused(weight, message):
    X, pairs, y, _ = network(28)
    with pytest.raises(ValueError, match=message):
        PairModel(RBF(GAMMA)).fit(X, pairs, y, sample_weight=np.append(np.ones(len(y) - 1), weight))


def test_new_nodes_must_be_given():
    X, pairs, y, X_new = network(28)
    model = PairModel(RBF(GAMMA)).fit(X, pairs, y)
    with pytest.raises(ValueError, match="Row number 14 in `pairs` is outside the fitted nodes"):
        model.decision_function([[0, 14]])
    with pytest.raises(ValueError, match="Row number 18 in `pairs` is outside the fitted nodes and the rows of X"):
        model.decision_function([[0, 18]], X_new)
    with pytest.raises(ValueError, match="features"):
        model.decision_function([[0, 14]], X_new[:, :2])


def test_clones_pickles_and_refits():
    import pickle

    from sklearn.base import clone

    X, pairs, y, _ = network(29)
    model = PairModel(RBF(), strategy="duplicate", mix=0.5, loss=MaxMargin()).fit(X, pairs, y)
    assert not hasattr(clone(model), "solution_")
    restored = pickle.loads(pickle.dumps(model))
    assert_close(restored.decision_function(pairs), model.decision_function(pairs), 1e-14)
    model.set_params(loss=None).fit(X, pairs, y * np.arange(1, len(y) + 1))
    assert not hasattr(model, "classes_")
