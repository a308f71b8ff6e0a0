"""Values of every kind, in every argument: answered right, or refused by the argument's name.

Tests of `iokr.data.frames` and `iokr.data.objects` through the models.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from iokr import IOKR, CandidateSets, LinkPredictor, OutputKernelTree, PairModel
from iokr.kernels import (
    RBF,
    Columns,
    Delta,
    Diffusion,
    Hamming,
    Mean,
    Positional,
    Precomputed,
    SetKernel,
    Spectrum,
    WeisfeilerLehman,
)
from iokr.losses import EpsilonInsensitive, Huber
from iokr.metrics import hamming, pair_metrics, subset_accuracy, top_k_accuracy
from iokr.model_selection import cross_val_rank

BIG = 2**60
HUGE = 10**400
CODES = np.arange(24) % 4
X = np.column_stack([3.0 * CODES, np.linspace(0, 1, 24)])

# ------------------------------------------------------------------------------------------------ whole numbers

LABELS = {
    "int64": BIG + CODES,
    "uint64": (BIG + CODES).astype(np.uint64) + np.uint64(2**63),
    "list": (BIG + CODES).tolist(),
    "beyond 64 bits": [10**30 + int(c) for c in CODES],
    "rows": np.column_stack([BIG + CODES, np.ones(24, dtype=int)]),
    "tuples": [(BIG + int(c), 0.5) for c in CODES],
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize(
    "model", [IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.01), OutputKernelTree(Delta())], ids=repr
)
def test_ids_are_not_merged(model, y):
    fitted = model.fit(X, y)
    predicted = fitted.predict(X)
    assert subset_accuracy(y, predicted) == 1.0
    assert fitted.score(X, y, candidates=y) == 1.0
    other = np.roll(np.arange(24), 1)
    wrong = y[other] if isinstance(y, np.ndarray) else [y[i] for i in other]
    assert subset_accuracy(y, wrong) == 0.0
    assert fitted.score(X, wrong, candidates=y) == 0.0
    assert np.all(cross_val_rank(model, X, y, y[:4], cv=3) == 1)


def test_candidate_sets_of_several_types_are_not_rounded():
    model = IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.01).fit(X, BIG + CODES)
    sets = [np.array([BIG + c, BIG + 9]) if c % 2 else np.array([BIG + c, BIG + 9], dtype=np.uint64) for c in CODES]
    assert model.predict(X, CandidateSets(sets)).tolist() == (BIG + CODES).tolist()


def test_metrics_and_rankings_of_large_numbers():
    assert hamming([[BIG, 1]], [[BIG + 1, 1]]) == 0.5
    assert hamming(np.array([BIG + 1]), np.array([float(BIG)])) == 1.0


def test_labels_of_pairs():
    pairs = [[0, 1], [1, 2], [2, 3]]
    model = PairModel().fit(X[:4], pairs, [BIG, BIG + 1, BIG])
    assert model.classes_.tolist() == [BIG, BIG + 1]
    with pytest.raises(ValueError, match="two different labels"):
        PairModel().fit(X[:4], [[0, 1], [1, 0], [2, 3]], [BIG, BIG + 1, 5])


# --------------------------------------------------------------------------------------------------------- tables


def test_a_table_of_words_is_the_list_of_its_words(table):
    words = ["abab", "abba", "bbb", "ba", "aab", "abb"]
    expected = IOKR(Spectrum(2)).fit(words, X[:6])
    fitted = IOKR(Spectrum(2)).fit(table({"word": words}), X[:6])
    for new in (words[:3], table({"word": words[:3]})):
        assert_allclose(fitted.predict(new), expected.predict(words[:3]))
        assert_allclose(expected.predict(new), expected.predict(words[:3]))
    labels = IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.1).fit(X[:6], table({"label": words}))
    answers = labels.predict(X[:6])  # frames of outputs come back as frames
    assert list(answers if isinstance(answers, np.ndarray) else answers["label"]) == words
    assert labels.score(X[:6], words, candidates=table({"label": words})) == 1.0


def test_rows_of_candidate_tables_compete(table):
    Y = np.column_stack([np.cos(CODES), np.sin(CODES)])
    frame = table({"a": Y[:, 0], "b": Y[:, 1]})
    model = IOKR(RBF(0.5), output_kernel=RBF(1.0), alpha=0.01).fit(X, frame)
    assert model.score(X, frame, candidates=frame) == 1.0
    assert_array_equal(model.rank(X, frame, k=3)[0], model.rank(X, Y, k=3)[0])
    assert_array_equal(cross_val_rank(model, X, frame, frame, cv=3), cross_val_rank(model, X, Y, Y, cv=3))


def test_mixed_tables_by_columns(table):
    words = [["ab", "ba", "aa", "bb"][c] for c in CODES]
    frame = table({"word": words, "a": X[:, 0], "b": X[:, 1]})
    model = IOKR(Columns(Spectrum(2), "word") * Columns(RBF(0.5), ["a", "b"]), alpha=0.1).fit(frame, X)
    gram = Spectrum(2)(words) * RBF(0.5)(X)
    expected = IOKR(Precomputed(), alpha=0.1).fit(gram, X).predict(gram)
    assert_allclose(model.predict(frame), expected, atol=1e-10)
    for kernel in (Spectrum(2), Delta(), RBF(0.5)):
        with pytest.raises(ValueError, match="`X`: Column 'word' of 3 holds no numbers"):
            IOKR(kernel).fit(frame, X)
    with pytest.raises(ValueError, match=r"Columns at fit: \['word', 'a', 'b'\]; columns of X: \['word', 'b', 'a'\]"):
        model.predict(table({"word": words, "b": X[:, 1], "a": X[:, 0]}))


def test_tables_in_every_argument(table):
    W = np.zeros((6, 6))
    W[[0, 2], [1, 3]] = W[[1, 3], [0, 2]] = 1
    adjacency = table({f"n{j}": W[:, j] for j in range(6)})
    nodes = table({"a": X[:6, 0], "b": X[:6, 1]})
    expected = LinkPredictor().fit(X[:6], W).decision_function()
    assert_allclose(LinkPredictor().fit(nodes, adjacency).decision_function(), expected)
    pairs = table({"i": [0, 2, 0], "j": [1, 3, 2]})
    found = PairModel().fit(nodes, pairs, table({"y": [1.0, 0.5, 0.0]}), table({"w": [1.0, 2.0, 1.0]}))
    plain = PairModel().fit(X[:6], [[0, 1], [2, 3], [0, 2]], [1.0, 0.5, 0.0], [1.0, 2.0, 1.0])
    assert_allclose(found.decision_function(pairs), plain.decision_function([[0, 1], [2, 3], [0, 2]]))
    assert pair_metrics(adjacency, adjacency)["roc_auc"] == 1.0
    assert_allclose(Diffusion(1.0, adjacency)([0, 1]), Diffusion(1.0, W)([0, 1]))


# ------------------------------------------------------------------------------- what has no meaning is refused


@pytest.mark.parametrize("name", ["X", "y", "candidates", "sample_weight"])
def test_hidden_entries_are_refused(name, refuses):
    hidden = np.ma.array(X, mask=X > 5)
    model = IOKR(RBF(0.5), output_kernel=RBF(0.5))
    with refuses(ValueError, name, "hidden"):
        if name == "X":
            model.fit(hidden, X)
        elif name == "y":
            model.fit(X, hidden)
        elif name == "candidates":
            model.fit(X, X).predict(X, candidates=hidden)
        else:
            model.fit(X, X, sample_weight=np.ma.array(np.ones(24), mask=CODES == 1))


def test_hidden_outputs_are_missing_vectors():
    hidden = np.ma.array(X, mask=[[i == 3, False] for i in range(24)])
    missing = np.where(np.ma.getmaskarray(hidden), np.nan, X)
    assert_allclose(IOKR().fit(X, hidden).predict(X), IOKR().fit(X, missing).predict(X))


def test_complex_labels_of_pairs_are_refused(refuses):
    with refuses(ValueError, "y", "complex"):
        PairModel().fit(X[:4], [[0, 1], [1, 2]], [1 + 1j, 1 - 1j])
    with refuses(ValueError, "sample_weight", "complex"):
        IOKR().fit(X, X, sample_weight=np.ones(24) + 1j)


@pytest.mark.parametrize("where", [[0.5, 1.0, 0.0], [np.nan, 1, 0], [2, 1, 0], ["a", "b", "c"]], ids=repr)
def test_masks_are_true_or_false(where, refuses):
    with refuses(ValueError, "where"):
        pair_metrics([1, 0, 1], [3.0, 2.0, 1.0], where=where)
    assert pair_metrics([1, 0, 1], [3.0, 2.0, 1.0], where=[1.0, 1.0, 0.0])["n_pairs"] == 2


def test_outputs_without_entries_are_refused(refuses):
    for output_kernel in (None, Delta(), RBF()):
        with refuses(ValueError, "y", "(24, 0)"):
            IOKR(output_kernel=output_kernel).fit(X, np.zeros((24, 0)))
    with refuses(ValueError, "candidates", "(3, 0)"):
        IOKR(output_kernel=Delta()).fit(X, X).predict(X, candidates=np.zeros((3, 0)))
    with refuses(ValueError, "X", "(24, 0)"):
        IOKR(Delta()).fit(np.zeros((24, 0)), X)


def test_weights_too_small_to_divide_by_are_refused(refuses):
    with refuses(ValueError, "sample_weight", "4.94e-324"):
        IOKR().fit(X, X, sample_weight=np.where(CODES == 1, 5e-324, 1.0))


def test_light_rows_are_nearly_left_out():
    one = np.arange(24) != 3
    light = IOKR(RBF(0.5)).fit(X, X, sample_weight=np.where(one, 1.0, 1e-300)).predict(X)
    assert_allclose(light, IOKR(RBF(0.5)).fit(X[one], X[one]).predict(X), atol=1e-10)


def test_nan_in_sequences_is_refused(refuses):
    for base in (Delta(), RBF(0.5)):
        rows = [[[1.0], [2.0]], [[1.0], [np.nan]]]
        with refuses(ValueError, "X", "1", "NaN"):
            Positional(base)(rows)
    with refuses(ValueError, "1", "NaN"):
        Positional(Delta())(np.array([[1.0, 2.0], [1.0, np.nan]]))


# ------------------------------------------------------------------------------------------------ no tracebacks


@pytest.mark.parametrize(
    "y",
    [
        np.array([["a", "b"], ["a", "c"]] * 12),
        np.array([["a", 1], [None, 2.0]] * 12, dtype=object),
        np.array([[1j, 1], [2j, 1]] * 12),
        np.array([["2020-01-01"], ["2020-01-02"]] * 12, dtype="M8[D]"),
    ],
    ids=lambda y: str(y.dtype),
)
def test_rows_of_other_things_are_labels(y):
    model = IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.01).fit(np.tile([[0.0], [1.0]], (12, 1)), y)
    new = np.array([[0.0], [1.0]])
    assert [list(row) for row in model.predict(new)] == [list(row) for row in y[:2]]
    assert [list(row) for row in model.predict(new, candidates=y[:2])] == [list(row) for row in y[:2]]
    assert model.score(new, y[:2], candidates=y) == 1.0


@pytest.mark.parametrize("X_bad", [{"a": [1.0]}, {1.0, 2.0}, {"a": 1}.values()], ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("kernel", [RBF(0.5), Delta(), Spectrum(2), Precomputed(np.eye(2))], ids=repr)
def test_what_has_no_order_is_refused(kernel, X_bad, refuses):
    with refuses(TypeError, "X", "list"):
        IOKR(kernel).fit(X_bad, [0.0])
    with refuses(TypeError, "X"):
        kernel(X_bad)


@pytest.mark.parametrize("loss", [None, Huber(), EpsilonInsensitive(0.1)], ids=repr)
@pytest.mark.parametrize("alpha", [1e200, 1e308])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_penalty_beyond_measure_gives_the_intercept_or_is_refused(loss, alpha):
    """To a gap of 1e-6 in Σℓ(b, y_i), or zero without an intercept."""
    for intercept in (False, True):
        model = IOKR(RBF(0.5), loss=loss, alpha=alpha, intercept=intercept)
        try:
            predicted = model.fit(X, X).predict(X)
        except ValueError as error:
            assert "`alpha`" in str(error)
            continue
        if not intercept:
            assert_allclose(predicted, 0.0, atol=1e-100)
            continue
        b = model.solution_.intercept
        assert_allclose(predicted, np.tile(b, (len(X), 1)), atol=1e-100)

        def total(b, loss=model.loss_):
            return float(np.sum(loss.value(np.tile(b, (len(X), 1)), X)))

        assert total(b) <= minimize(total, X.mean(axis=0), method="Nelder-Mead").fun * (1 + 1e-6)


def test_numbers_beyond_floats_are_refused(refuses):
    with refuses(ValueError, "alpha"):
        IOKR(alpha=HUGE).fit(X, X)
    with refuses(ValueError, "gamma"):
        IOKR(RBF(HUGE)).fit(X, X)
    with refuses(ValueError, "X"):
        IOKR().fit([[HUGE, 1.0]] * 3, [1.0, 2.0, 3.0])
    with refuses(ValueError, "y"):
        IOKR().fit(X[:3], [HUGE, 1, 2])
    with refuses(ValueError, "sample_weight"):
        IOKR().fit(X[:2], [1.0, 2.0], sample_weight=[HUGE, 1])
    with refuses(ValueError, "ranks"):
        top_k_accuracy([HUGE])


RAGGED = [[1], [1, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("kernel", "objects"),
    [
        (SetKernel(RBF(0.5)), [np.ones((2, 2)), np.ones((2, 3)), np.ones((1, 2))]),
        (Hamming(), [[[1], [1, 2]], [1], [2]]),
        (WeisfeilerLehman(1), [([[0, 1], [1]], None)] * 3),
        (WeisfeilerLehman(1), [(np.eye(2), 5)] * 3),
    ],
    ids=lambda value: f"{value!r:.30}",
)
def test_ragged_objects_are_refused_in_our_words(kernel, objects):
    with pytest.raises((TypeError, ValueError)) as caught:
        IOKR(kernel).fit(objects, [0.0, 1.0, 2.0])
    assert "inhomogeneous" not in str(caught.value)


@pytest.mark.parametrize("kernels", [None, RBF(), "ab", 3], ids=repr)
def test_mean_takes_a_list_of_kernels(kernels, refuses):
    with refuses(TypeError, "kernels"):
        IOKR(Mean(kernels)).fit(X, X)
