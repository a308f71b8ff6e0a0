"""The answer of least expected loss, against exhaustive search.

Tests of `iokr.decoders.risk`, `iokr.decoders.fgw`, and of `iokr.decoders._losses.base`,
`iokr.decoders._losses.objects`, `iokr.decoders._losses.objects`, `iokr.decoders._losses.label_sets`,
`iokr.decoders._losses.rankings`, `iokr.decoders._losses.objects`, `iokr.decoders._losses.objects`.
"""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import sparse

from iokr import IOKR, CandidateSets, OutputKernelForest, OutputKernelTree
from iokr.datasets import sample
from iokr.decoders import Candidates, MinimumRisk
from iokr.embeddings import Eigen
from iokr.kernels import RBF, Delta, Kendall, Linear, Spectrum
from iokr.metrics import (
    character_accuracy,
    edit_distance,
    f1_samples,
    fgw,
    hamming,
    kendall_tau,
    roc_auc_pairs,
    subset_accuracy,
    tree_edit_distance,
)
from samples import vectors
from tree_samples import fewest_edits

LABELS = np.array(list(product([0.0, 1.0], repeat=5)))
ORDERS = np.array(list(permutations([1.0, 2.0, 3.0, 4.0])))
X, NEW = vectors(14, seed=1), vectors(9, seed=2)


def label_sets(n=14, q=5, seed=0):
    return (np.random.default_rng(seed).uniform(size=(n, q)) < 0.35).astype(float)


def rankings(n=14, d=4, seed=0):
    return np.random.default_rng(seed).permuted(np.tile(np.arange(1.0, d + 1), (n, 1)), axis=1)


def risks(model, Y, candidates, loss):
    """Σ_i β_i(x) Δ(y_i, z), pair by pair."""
    table = np.array([[loss(y, z) for z in candidates] for y in Y])
    return np.asarray(model.weights(NEW)) @ table


def one(metric, sign):
    """A metric over one pair, as a loss."""
    return lambda y, z: metric([y], [z]) if sign > 0 else 1.0 - metric([y], [z])


@pytest.mark.parametrize("alpha", [0.01, 1.0])  # some weights are negative at the first
@pytest.mark.parametrize(("name", "loss"), [("hamming", one(hamming, 1)), ("f1", one(f1_samples, -1))])
def test_label_sets_are_the_best_of_all(name, loss, alpha):
    Y = label_sets()
    assert not Y.any(axis=1).all()  # an empty set is among them
    model = IOKR(RBF(1.0), alpha=alpha, decoder=MinimumRisk(name)).fit(X, Y)
    R = risks(model, Y, LABELS, loss)
    best = model.predict(NEW)
    chosen = [int(np.flatnonzero((z == LABELS).all(axis=1))[0]) for z in best]
    np.testing.assert_allclose(R[np.arange(len(NEW)), chosen], R.min(axis=1), atol=1e-12)
    indices, values = model.rank(NEW, LABELS)
    np.testing.assert_allclose(-values, np.take_along_axis(R, indices, axis=1), atol=1e-12)
    np.testing.assert_allclose(-values, np.sort(R, axis=1), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "loss"), [("kendall", lambda y, z: 0.5 - 0.5 * kendall_tau([y], [z])), ("spearman", None)]
)
@pytest.mark.parametrize("partial", [False, True])
def test_rankings_are_the_best_of_all(name, loss, partial):
    Y = rankings()
    if partial:
        Y[0, 1] = np.nan
        Y[1, :2] = np.nan
        Y[2, 0] = Y[2, 1]
    model = IOKR(RBF(1.0), output_kernel=Kendall(), alpha=0.05, decoder=MinimumRisk(name)).fit(X, Y)
    everything = model.predict(NEW)
    among = model.predict(NEW, candidates=ORDERS)
    if loss is not None:
        values = model.rank(NEW, ORDERS)[1]
        R = risks(model, Y, ORDERS, loss)
        np.testing.assert_allclose(-values, np.sort(R, axis=1), atol=1e-12)
    np.testing.assert_array_equal(np.stack(list(everything)), np.stack(list(among)))


def test_categories_and_single_labels():
    y = np.array([3, 5, 5, 7] * 3 + [3, 3])
    model = IOKR(RBF(1.0), alpha=0.1, decoder=MinimumRisk("hamming")).fit(X, y)
    R = risks(model, y, np.array([3, 5, 7]), lambda a, b: float(a != b))
    np.testing.assert_array_equal(model.predict(NEW), np.array([3, 5, 7])[R.argmin(axis=1)])


@pytest.mark.parametrize("intercept", [False, True])
def test_the_squared_distance_gives_the_nearest_candidate(intercept):
    Y = np.random.default_rng(3).normal(size=(14, 3))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)  # k_Y(y, y) constant
    pool = np.random.default_rng(4).normal(size=(30, 3))
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)

    def squared(y, z):
        return float(((y - z) ** 2).sum())

    parts = {"alpha": 0.2, "intercept": intercept}
    for kernel in (None, Linear()):
        by_risk = IOKR(RBF(1.0), output_kernel=kernel, decoder=MinimumRisk(squared), **parts).fit(X, Y)
        by_distance = IOKR(RBF(1.0), output_kernel=Linear(), decoder=Candidates(), **parts).fit(X, Y)
        np.testing.assert_array_equal(by_risk.rank(NEW, pool)[0], by_distance.rank(NEW, pool)[0])


@pytest.mark.parametrize(
    "model",
    [
        OutputKernelTree(Delta(), max_depth=2, decoder=MinimumRisk("edit")),
        OutputKernelForest(Delta(), n_estimators=4, random_state=0, decoder=MinimumRisk("edit")),
        IOKR(RBF(1.0), output_kernel=Spectrum(2), alpha=0.1, decoder=MinimumRisk("edit")),
        IOKR(RBF(1.0), output_kernel=Spectrum(2), embedding=Eigen(), alpha=0.1, decoder=MinimumRisk("edit")),
    ],
    ids=lambda m: type(m).__name__ + str(m.embedding or ""),
)
def test_words_by_edits(model):
    words = ["cat", "cot", "dog", "doge", "cart", "cat", ""] if isinstance(model, OutputKernelTree) else None
    words = (words or ["cat", "cot", "dog", "doge", "cart", "cat", "ox"]) * 2
    model.fit(X, words)
    pool = ["cat", "dig", "coat", "dodge"]
    R = risks(model, words, pool, lambda y, z: edit_distance([y], [z]))
    np.testing.assert_allclose(-model.rank(NEW, pool)[1], np.sort(R, axis=1), atol=1e-10)
    assert list(model.predict(NEW, candidates=pool)) == [pool[j] for j in R.argmin(axis=1)]
    assert set(model.predict(NEW)) <= set(words)
    sets = CandidateSets([pool[: 1 + i % 4] for i in range(len(NEW))])
    expected = [pool[: 1 + i % 4][R[i, : 1 + i % 4].argmin()] for i in range(len(NEW))]
    assert list(model.predict(NEW, candidates=sets)) == expected


def test_trees_by_edits():
    Y = sample("trees", 14)
    pool = sample("trees", 6, seed=1)
    model = IOKR(RBF(1.0), alpha=0.1, decoder=MinimumRisk("tree")).fit(X, Y)
    R = risks(model, Y, pool, fewest_edits)
    np.testing.assert_allclose(-model.rank(NEW, pool)[1], np.sort(R, axis=1), atol=1e-10)
    own = risks(model, Y, Y, fewest_edits)
    assert list(model.predict(NEW)) == [Y[j] for j in own.argmin(axis=1)]
    by_metric = IOKR(RBF(1.0), alpha=0.1, decoder=MinimumRisk(tree_edit_distance)).fit(X, Y)
    assert list(by_metric.predict(NEW)) == list(model.predict(NEW))


@pytest.mark.parametrize("intercept", [False, True])
def test_python_sets_and_sparse_rows(intercept):
    Y = label_sets()
    names = np.array(list("abcde"), dtype=object)
    as_sets = [set(names[row > 0]) for row in Y]
    parts = {"alpha": 0.1, "decoder": MinimumRisk("f1"), "intercept": intercept}
    dense = IOKR(RBF(1.0), **parts).fit(X, Y).predict(NEW)
    thin = IOKR(RBF(1.0), **parts).fit(X, sparse.csr_matrix(Y)).predict(NEW)
    model = IOKR(RBF(1.0), output_kernel=Delta(), **parts).fit(X, as_sets)
    np.testing.assert_array_equal(thin, dense)
    assert [set(z) for z in model.predict(NEW)] == [set(names[row > 0]) for row in dense]


@pytest.mark.parametrize(
    ("metric", "other"), [(hamming, "hamming"), (f1_samples, "f1"), (kendall_tau, "kendall"), (edit_distance, "edit")]
)
def test_a_metric_is_the_loss_of_its_name(metric, other):
    kernel = {"kendall": Kendall(), "edit": Spectrum(2)}.get(other)
    y = {"kendall": rankings(), "edit": np.array(["ab", "abb", "ba", "bb", "aab", "b" * 3, "aba"] * 2, dtype=object)}
    Y = y.get(other, label_sets())
    first, second = (
        IOKR(RBF(1.0), output_kernel=kernel, alpha=0.1, decoder=MinimumRisk(loss)).fit(X, Y) for loss in (metric, other)
    )
    np.testing.assert_array_equal(np.stack(list(first.predict(NEW))), np.stack(list(second.predict(NEW))))


def test_an_accuracy_is_turned_round():
    words = ["cat", "cot", "dog", "dot", "cog", "cat", "dig"] * 2
    for metric in (character_accuracy, subset_accuracy):
        model = IOKR(RBF(1.0), output_kernel=Delta(), alpha=0.1, decoder=MinimumRisk(metric)).fit(X, words)
        R = risks(model, words, ["cat", "dig"], lambda y, z, metric=metric: 1.0 - metric([y], [z]))
        np.testing.assert_allclose(-model.rank(NEW, ["cat", "dig"])[1], np.sort(R, axis=1), atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "message"),
    [("squared", "hamming"), (3, "hamming"), (roc_auc_pairs, "not a loss between two outputs")],
)
def test_a_loss_that_is_none(loss, message):
    with pytest.raises(ValueError, match=message):
        IOKR(decoder=MinimumRisk(loss)).fit(X, label_sets())


def test_a_loss_that_is_not_finite():
    model = IOKR(decoder=MinimumRisk(lambda y, z: np.nan)).fit(X, label_sets())
    with pytest.raises(ValueError, match="must return finite numbers"):
        model.predict(NEW)


def test_outputs_of_another_kind():
    with pytest.raises((ValueError, TypeError), match=r"y|set"):
        IOKR(decoder=MinimumRisk("f1")).fit(X, vectors(14, 3))
    with pytest.raises((ValueError, TypeError)):
        IOKR(output_kernel=Delta(), decoder=MinimumRisk("kendall")).fit(X, ["a"] * 7 + ["b"] * 7)


class TestFGW:
    """Properties of the distance between graphs."""

    ot = pytest.importorskip("ot", reason="needs the extra graph")
    chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])

    def graph(self, seed, n=5, labels="CNO"):
        rng = np.random.default_rng(seed)
        A = np.triu(rng.uniform(size=(n, n)) < 0.5, 1)
        return (A | A.T).astype(int), list(rng.choice(list(labels), size=n))

    def test_zero_for_copies_and_symmetric(self):
        for seed in range(6):
            A, labels = self.graph(seed)
            order = np.random.default_rng(seed + 50).permutation(5)
            B = A[np.ix_(order, order)], [labels[i] for i in order]
            other = self.graph(seed + 100, 4)
            assert fgw([(A, labels)], [B]) <= 1e-8
            assert fgw([(A, labels)], [other]) == pytest.approx(fgw([other], [(A, labels)]), rel=0.3)
            assert fgw([(A, labels)], [(A, labels)]) <= 1e-12

    def test_labels_alone_and_edges_alone(self):
        other = np.ones((3, 3), dtype=int) - np.eye(3, dtype=int)
        assert fgw([(self.chain, "CCO")], [(other, "OCC")], alpha=0.0) == pytest.approx(0.0, abs=1e-12)
        assert fgw([(self.chain, "CCO")], [(self.chain, "NNN")], alpha=0.0) == pytest.approx(2.0)
        assert fgw([(self.chain, "CCO")], [(self.chain, "NNN")], alpha=1.0) == pytest.approx(0.0, abs=1e-12)

    def test_coordinates_and_soft_labels(self):
        numbers = [(self.chain, [0.0, 1.0, 2.0])], [(self.chain, [0.0, 1.0, 3.0])]
        assert fgw(*numbers, alpha=0.0) == pytest.approx(1.0 / 3.0)
        soft = self.chain.astype(float), np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
        assert fgw([(self.chain, "CCO")], [soft], alpha=0.0, labels="CO") == pytest.approx(0.5 / 3.0)
        with pytest.raises(ValueError, match="labels"):
            fgw([(self.chain, "CCO")], [soft])

    def test_risk_by_fgw(self):
        graphs = [self.graph(seed, 3 + seed % 2) for seed in range(14)]
        model = IOKR(RBF(1.0), output_kernel=Delta(), alpha=0.3, decoder=MinimumRisk("fgw")).fit(X, graphs)
        pool = graphs[:4]
        R = risks(model, graphs, pool, lambda y, z: fgw([y], [z]))
        np.testing.assert_allclose(-model.rank(NEW, pool)[1], np.sort(R, axis=1), atol=1e-10)

    @pytest.mark.parametrize(
        "bad", [5, (np.ones((2, 3)), "ab"), (np.eye(2), "a"), (np.full((2, 2), np.nan), "ab"), (np.zeros((0, 0)), "")]
    )
    def test_what_is_no_graph(self, bad):
        with pytest.raises((ValueError, TypeError), match="y_pred"):
            fgw([(self.chain, "CCO")], [bad])
