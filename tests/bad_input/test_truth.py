"""Answers that were wrong without a word, each right or refused by name now.

Tests of `iokr._validation.arguments`, `iokr.data.frames`, `iokr.data.curves`, `iokr.data.candidates`,
`iokr.estimators.outputs`,
`iokr.metrics.outputs` and `iokr.metrics.pairs`.
"""

import ctypes
import threading
import types

import numpy as np
import pandas as pd
import pytest

from iokr import (
    IOKR,
    IOKRCV,
    CandidateSets,
    Conformal,
    Functional,
    FunctionalCV,
    IOKRClassifier,
    LinkPredictorCV,
    MultiTaskCV,
    NeuralRegressor,
    PairModel,
    QuantileCurves,
    SetModel,
    SharedCandidates,
)
from iokr.apps.links.baselines import PKMR
from iokr.data.curves import read_curves
from iokr.embeddings import Eigen
from iokr.kernels import L2, RBF, Delta, Linear, Periodic
from iokr.losses import Huber
from iokr.metrics import average_precision_pairs, hamming, kendall_tau, roc_auc_pairs, subset_accuracy
from iokr.model_selection import cross_val_rank

RNG = np.random.default_rng(0)
X, Y, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(12, 2)), RNG.normal(size=(5, 3))
LABELS = ["ash", "birch", "cedar"] * 4
K = RBF(0.5)


class TestUnitsOfOutputs:
    @pytest.mark.parametrize("size", [1e-139, 1e-200, 1e-300, 5e-324])
    @pytest.mark.parametrize(
        "model", [IOKR(K), IOKR(K, loss=Huber()), IOKRCV(K), IOKR(K, output_kernel=Linear()), Functional(K)], ids=repr
    )
    def test_squares_that_vanish_are_refused(self, model, size):
        if size == 1e-139 and model.get_params().get("output_kernel") is not None:
            pytest.skip("a linear output kernel has k(y, y) = 1e-278 here, which is a number")
        with pytest.raises(ValueError, match=r"`y` has numbers too small, at most .* multiply the data by a constant"):
            model.fit(X, np.sign(Y) * size)

    def test_zeros_are_outputs(self):
        assert np.all(IOKR(K).fit(X, 0 * Y).predict(NEW) == 0)
        mixed = np.c_[Y[:, 0], np.sign(Y[:, 1]) * 1e-200]  # one column among others
        assert np.abs(IOKR(K).fit(X, mixed).predict(NEW)[:, 1]).max() < 1e-199


class TestFrames:
    def test_columns_of_outputs_are_those_of_fit(self):
        y = pd.DataFrame(Y, columns=["u", "v"])
        swapped = y[["v", "u"]]
        model = IOKR(K).fit(X, y)
        for call in (
            lambda: model.score(X, swapped),
            lambda: model.predict(NEW, swapped),
            lambda: model.distances(NEW, SharedCandidates(swapped)),
            lambda: model.rank(NEW, CandidateSets([y, y, y, swapped, y])),
            lambda: Conformal(IOKR(K)).fit(X, y).contains(NEW, swapped[:5]),
            lambda: Conformal(IOKR(K)).fit(X, y).predict_set(NEW, swapped),
        ):
            with pytest.raises(ValueError, match=r"must have the columns of y at fit, in their order, \['u', 'v'\]"):
                call()
        assert model.score(X, y) == model.score(X, Y) == model.score(X, pd.DataFrame(Y))  # numbered ones have no name

    @pytest.mark.parametrize("metric", [hamming, subset_accuracy, kendall_tau])
    def test_columns_that_are_compared_are_the_same(self, metric):
        ranks = pd.DataFrame([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], columns=list("abc"))
        with pytest.raises(ValueError, match="`y_pred` must have the columns of y_true"):
            metric(ranks, ranks[["c", "b", "a"]])

    def test_a_column_is_its_numbers(self):
        assert subset_accuracy(np.arange(3.0), np.arange(3.0)[:, None]) == 1.0
        assert subset_accuracy(np.arange(3)[:, None], [0, 1, 5]) == pytest.approx(2 / 3)


class TestCandidates:
    @pytest.mark.parametrize(
        "labels", [LABELS, [1, 2, 3] * 4, np.array([0.5, 1.5, 2.5] * 4)], ids=["texts", "ints", "floats"]
    )
    def test_lists_are_no_labels(self, labels):
        model = IOKR(K, output_kernel=Delta()).fit(X, labels)
        some = list(labels)[:3]
        for candidates in ([some] * 5, [some], [tuple(some)] * 5, np.array(some)[:, None]):
            with pytest.raises(
                TypeError, match=r"`candidates` must be labels such as .* `CandidateSets\(candidates\)`"
            ):
                model.predict(NEW, candidates)
        assert len(model.predict(NEW, CandidateSets([some] * 5))) == 5

    def test_lists_are_labels_where_they_were_at_fit(self):
        model = IOKR(K, output_kernel=Delta()).fit(X, [["a", "b"], ["c"]] * 6)
        assert list(model.predict(NEW[:1], [["c"]])) == [["c"]]


class TestCurves:
    GRID = np.linspace(0, 1, 7)

    def test_points_outside_of_the_nodes(self):
        pairs = [(self.GRID, row) for row in RNG.normal(size=(3, 7))]
        assert read_curves(pairs, self.GRID + 0.01).values.shape == (3, 7)
        with pytest.raises(ValueError, match=r"Curve 2 has a point at 5, outside of the nodes from 0 to 1; drop it"):
            read_curves([*pairs[:2], (self.GRID + 5, pairs[2][1])], self.GRID)

    def test_a_functional_object_on_other_points(self):
        values = RNG.normal(size=(3, 7))
        other = types.SimpleNamespace(data_matrix=values[:, ::2, None], grid_points=[self.GRID[::2]])
        found = read_curves(other, self.GRID)
        np.testing.assert_array_equal(found.values[:, ::2], values[:, ::2])
        assert np.isnan(found.values[:, 1::2]).all()

    def test_columns_ascend(self):
        curves = RNG.normal(size=(12, 7))
        for model in (Functional(K, grid=self.GRID[::-1]), FunctionalCV(K, grid=self.GRID[::-1])):
            with pytest.raises(ValueError, match="`grid` must ascend"):
                model.fit(X, curves)
        with pytest.raises(ValueError, match="`grid` must ascend"):
            L2(grid=self.GRID[::-1])(curves)

    @pytest.mark.parametrize(
        ("grid", "error", "words"),
        [
            (GRID + 1j, ValueError, "`grid` must be real"),
            (GRID.astype(str), ValueError, "`grid` must be numbers"),
        ],
        ids=["complex", "texts"],
    )
    def test_points_are_numbers(self, grid, error, words):
        with pytest.raises(error, match=words):
            Functional(K, grid=grid).fit(X, RNG.normal(size=(12, 7)))

    def test_levels_are_no_text(self):
        with pytest.raises(TypeError, match="`levels` must be numbers"):
            QuantileCurves(K, levels="0.5").fit(X, Y[:, 0])


class TestContainers:
    def test_what_torch_cannot_compute_with(self):
        torch = pytest.importorskip("torch")
        with pytest.raises(TypeError, match=r"`X`: Tensor of shape \(12, 3\) has torch's layout"):
            IOKR(K).fit(torch.tensor(X).to_sparse(), torch.tensor(Y))
        with pytest.raises(TypeError, match=r"`X`: Tensor of shape \(12, 3\) is on torch's device 'meta'"):
            IOKR(K).fit(torch.tensor(X).to("meta"), torch.tensor(Y))
        sets = [torch.tensor(X[i : i + 2]) for i in range(6)]
        model = SetModel(K).fit(sets, [1, -1] * 3)
        with pytest.raises(TypeError, match="are in different libraries or on different devices"):
            model.decision_function([X[:2]])

    def test_tensors_whose_rows_cannot_be_taken(self):
        torch = pytest.importorskip("torch")
        with pytest.raises(TypeError, match=r"Tensor of shape \(12, 3\) has torch's layout"):
            cross_val_rank(
                IOKR(K, output_kernel=Delta()), torch.tensor(X).to_sparse(), LABELS, SharedCandidates(LABELS)
            )
        with pytest.raises(TypeError, match=r"`y`: Tensor of shape \(12, 2\) is on torch's device 'meta'"):
            Conformal(IOKR(K)).fit(torch.tensor(X), torch.tensor(Y).to("meta"))

    def test_numbers_that_leave_the_floats_in_a_step(self):
        largest = np.sign(X) * np.finfo(float).max
        with pytest.raises(ValueError, match=r"`X`: Row . has numbers too large"):
            Periodic().fit(largest)(largest)
        with pytest.raises(ValueError, match=r"`alpha` = 1e\+308"):
            PKMR(K, alpha=1e308).fit(1e-3 * X, np.eye(12)[::-1])
        assert Eigen(tol=1e308).fit_transform(Y, RBF(0.5).fit(Y)).shape == (12, 0)
        pytest.importorskip("torch")
        with pytest.raises(ValueError, match="`lr` must be a number above 0 and at most"):
            NeuralRegressor(lr=1e300).fit(X, Y)

    def test_a_mask_where_yes_or_no_is_meant(self):
        model = LinkPredictorCV(RBF(0.5)).fit(X, np.eye(12)[::-1])
        with pytest.raises((TypeError, ValueError), match="`known`"):
            model.predict_links(top=3, known=np.ones(12, dtype=bool))

    def test_types_without_a_module_and_tensors_of_arrow(self):
        expected = IOKR(K).fit(X, Y).predict(NEW)
        np.testing.assert_array_equal(IOKR(K).fit(np.ctypeslib.as_ctypes(X.copy()), Y).predict(NEW), expected)
        assert type(np.ctypeslib.as_ctypes(X.copy())).__mro__[1] is ctypes.Array
        arrow = pytest.importorskip("pyarrow")
        np.testing.assert_array_equal(IOKR(K).fit(arrow.Tensor.from_numpy(X), Y).predict(NEW), expected)

    def test_durations_are_no_numbers(self):
        frame = pd.DataFrame(X, columns=list("abc")).assign(c=pd.to_timedelta(np.arange(12), unit="D"))
        with pytest.raises(ValueError, match="Column 'c' of 3 holds no numbers"):
            IOKR(K).fit(frame, Y)


def test_labels_of_several_kinds_are_refused_in_a_list():
    with pytest.raises(ValueError, match="all of one kind"):
        IOKRClassifier().fit(X, [1, "a"] * 6)


@pytest.mark.parametrize("model", [IOKRCV(K), MultiTaskCV(K), FunctionalCV(K)], ids=repr)
def test_one_group_leaves_nothing(model):
    with pytest.raises(ValueError, match="`groups` has one group for all rows"):
        model.fit(X, Y, groups=["a"] * 12)


def test_links_of_minus_one_are_refused():
    for metric in (roc_auc_pairs, average_precision_pairs):
        with pytest.raises(ValueError, match="`truth` must be 0 where a pair is not linked"):
            metric([1, -1, -1], [0.9, 0.1, 0.2])


def test_pairs_with_two_labels_name_the_argument():
    with pytest.raises(ValueError, match=r"The pair \{0, 1\} has two different labels in `y`"):
        PairModel(K).fit(X, [[0, 1], [1, 0]], [1.0, -1.0])


def test_networks_that_are_fitted_side_by_side():
    """torch has one source of random numbers: weights are drawn by one thread at a time."""
    pytest.importorskip("torch")
    expected, found = NeuralRegressor(hidden=(4,), epochs=2, random_state=0).fit(X, Y).predict(NEW), []

    def fit():
        found.append(NeuralRegressor(hidden=(4,), epochs=2, random_state=0).fit(X, Y).predict(NEW))

    threads = [threading.Thread(target=fit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in found:
        np.testing.assert_array_equal(answer, expected)


def test_predictions_of_a_network_leave_the_random_state_of_torch():
    """Layers draw weights when they are made, also where these are then replaced by the learned ones."""
    torch = pytest.importorskip("torch")
    model = NeuralRegressor(hidden=(4,), epochs=2, random_state=0).fit(X, Y)
    before = torch.random.get_rng_state()
    model.predict(NEW)
    assert torch.equal(torch.random.get_rng_state(), before)
