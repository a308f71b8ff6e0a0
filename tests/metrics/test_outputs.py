"""Losses between label sets and vectors beside scikit-learn's and plain loops."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, f1_score, hamming_loss

from iokr.kernels import RBF
from iokr.metrics import f1_samples, hamming, mean_rank, rbf_loss, subset_accuracy, top_k_accuracy


def label_sets(seed: int = 0):
    rng = np.random.default_rng(seed)
    Y = rng.random((40, 5)) < 0.4
    return Y.astype(int), (Y ^ (rng.random((40, 5)) < 0.2)).astype(float)


def test_sets_are_judged_as_scikit_learn_does():
    Y, Z = label_sets()
    assert not Y.any(axis=1).all() and (Y == Z).all(axis=1).any(), "there are empty sets and sets that are right"
    assert hamming(Y, Z) == pytest.approx(hamming_loss(Y, Z), rel=1e-15)
    assert f1_samples(Y, Z) == pytest.approx(f1_score(Y, Z, average="samples", zero_division=1.0), rel=1e-15)
    assert subset_accuracy(Y, Z) == pytest.approx(accuracy_score(Y, Z), rel=1e-15)


@pytest.mark.parametrize("metric", [hamming, f1_samples, subset_accuracy])
def test_lists_and_sparse_matrices_are_the_same_sets(metric):
    Y, Z = label_sets()
    expected = metric(Y, Z)
    assert metric(Y.tolist(), Z) == metric(csr_array(Y), Z.tolist()) == metric(Y.astype(bool), csr_array(Z)) == expected


def test_any_objects_can_be_right_as_a_whole():
    truth = np.array(["ab", "b", "c"], dtype=object)
    assert subset_accuracy(truth, ["ab", "x", "c"]) == 2 / 3
    rankings = np.empty(2, dtype=object)
    rankings[:] = [np.array([1.0, 2.0]), np.array([2.0, 1.0])]
    assert subset_accuracy([[1, 2], [1, 2]], rankings) == 0.5
    assert subset_accuracy([{1, 2}, {3}], [{2, 1}, {4}]) == 0.5
    assert subset_accuracy([[1.0, np.nan]], [[1.0, np.nan]]) == 1.0


def test_the_gaussian_loss_is_a_squared_distance_of_features():
    rng = np.random.default_rng(0)
    Y, Z = rng.normal(size=(2, 15, 3))
    kernel = RBF(0.3)
    expected = [kernel([y])[0, 0] + kernel([z])[0, 0] - 2 * kernel([y], [z])[0, 0] for y, z in zip(Y, Z, strict=True)]
    assert rbf_loss(Y, Z, gamma=0.3) == pytest.approx(np.mean(expected), rel=1e-12)
    assert rbf_loss(Y, Y, gamma=0.3) == 0.0
    with pytest.raises(ValueError, match="`gamma` must be a positive number, got -1"):
        rbf_loss(Y, Z, gamma=-1.0)


def test_ranks():
    assert top_k_accuracy([1, 2, np.inf], k=2) == 2 / 3 and mean_rank([1, 2, 6]) == 3
    with pytest.raises(ValueError, match="`ranks` must be"):
        mean_rank([0, 1])


@pytest.mark.parametrize("metric", [hamming, f1_samples, subset_accuracy, rbf_loss])
def test_as_many_predictions_as_truths(metric):
    with pytest.raises(ValueError, match="y_true has 2 objects but y_pred has 1"):
        metric([[1, 0], [0, 1]], [[1, 0]])


@pytest.mark.parametrize("metric", [hamming, f1_samples, rbf_loss])
def test_missing_entries_are_refused(metric):
    """NaN is neither equal to itself nor zero: it would count as a wrong label, or as a label."""
    with pytest.raises(ValueError, match="`y_true` contains NaN"):
        metric([[1.0, np.nan]], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="`y_pred` contains NaN"):
        metric([[1.0, 0.0]], [[1.0, np.nan]])


SETS = [{"sea", "sun"}, set(), frozenset({"ice"}), {"sun"}]
OTHER_SETS = [{"sea"}, set(), {"sun"}, {"sun"}]


@pytest.mark.parametrize("metric", [hamming, f1_samples, subset_accuracy, rbf_loss])
def test_python_sets_are_rows_of_their_indicators(metric):
    from sklearn.preprocessing import MultiLabelBinarizer

    encode = MultiLabelBinarizer().fit([*SETS, *OTHER_SETS]).transform
    expected = metric(encode(SETS), encode(OTHER_SETS))
    assert metric(SETS, OTHER_SETS) == pytest.approx(expected)
    predicted = np.fromiter(OTHER_SETS, dtype=object, count=4)  # the form in which models return them
    assert metric(SETS, predicted) == pytest.approx(expected)


def test_empty_sets_are_equal():
    assert f1_samples([set()], [set()]) == 1 and hamming([set()], [set()]) == 0


@pytest.mark.parametrize("metric", [hamming, f1_samples])
def test_sets_are_not_compared_with_rows(metric):
    with pytest.raises(ValueError, match="`y_true` holds sets but `y_pred` does not; give both as sets"):
        metric([{0}, {1}], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="`y_pred` holds sets but `y_true` does not"):
        metric([[1, 0], [0, 1]], [{0}, {1}])


def test_a_model_of_sets_is_scored():
    from iokr import IOKR
    from iokr.kernels import RBF, Jaccard
    from iokr.metrics import decoded_scorer

    X = np.arange(4.0)[:, None]
    model = IOKR(RBF(10.0), output_kernel=Jaccard(), alpha=1e-3).fit(X, SETS)
    assert decoded_scorer("f1_samples")(model, X, SETS) == 1
    assert decoded_scorer("hamming")(model, X, SETS) == 0


@pytest.mark.parametrize("sets", [[[0.9, 0.1]], [[1, -1]]], ids=["scores", "signs"])
def test_label_sets_are_zeros_and_ones(sets):
    with pytest.raises(ValueError, match="`y_pred` must hold label sets, rows of 0 and 1"):
        f1_samples([[1, 0]], sets)
