"""Kernels on unordered pairs and on finite sets, against loops over the orders.

Tests of `iokr.kernels.structured.bags`.
"""

import numpy as np
import pytest
from sklearn.svm import SVC

from iokr import IOKR
from iokr.gram import PairGram
from iokr.kernels import (
    RBF,
    CartesianPair,
    Delta,
    FromFunction,
    Linear,
    MetricPair,
    MixedPair,
    Precomputed,
    SetKernel,
    TensorPair,
)
from iokr.solvers import Cholesky, ConjugateGradient
from reference import Ridge, assert_close

rng = np.random.default_rng(0)
NODES = rng.normal(size=(9, 3))
K = np.exp(-0.3 * ((NODES[:, None] - NODES[None]) ** 2).sum(axis=-1))
PAIRS = np.array([(a, b) for a in range(9) for b in range(9)])[rng.permutation(81)[:40]]


def orders(p):
    return sorted({(p[0], p[1]), (p[1], p[0])})


def averaged(point, P, Q):
    return [[np.mean([point(x, z) for x in orders(p) for z in orders(q)]) for q in Q] for p in P]


@pytest.mark.parametrize("mix", [0.0, 0.3, 1.0])
def test_mixed_is_the_mean_over_orders(mix):
    def point(x, z):
        return 2 * (mix * (x[0] == z[0]) + (1 - mix) * K[x[0], z[0]]) * K[x[1], z[1]]

    expected = averaged(point, PAIRS[:12], PAIRS)
    assert_close(MixedPair(RBF(0.3), mix, NODES)(PAIRS[:12], PAIRS), expected, 1e-13)
    assert_close(MixedPair(Precomputed(K), mix)(PAIRS[:12], PAIRS), expected, 1e-13)


def test_nodes_that_only_one_side_has_are_the_same_as_none():
    left, right = np.array([(0, 1), (3, 8), (5, 5)]), np.array([(2, 1), (2, 4), (6, 2)])

    def point(x, z):
        return 2 * (0.4 * (x[0] == z[0]) + 0.6 * K[x[0], z[0]]) * K[x[1], z[1]]

    kernel = MixedPair(Precomputed(K), 0.4)
    assert_close(kernel(left, right), averaged(point, left, right), 1e-13)
    assert_close(kernel.fit(PAIRS).gram(left, right) @ np.eye(3), averaged(point, left, right), 1e-13)
    assert np.count_nonzero(CartesianPair(Precomputed(K))(left, right)) == 1  # {0, 1} and {2, 1}


def test_tensor_cartesian_and_metric_formulas():
    a, b = PAIRS.T
    c, d = PAIRS[:7].T
    tensor = K[np.ix_(a, c)] * K[np.ix_(b, d)] + K[np.ix_(a, d)] * K[np.ix_(b, c)]
    assert_close(TensorPair(Precomputed(K))(PAIRS, PAIRS[:7]), tensor, 1e-14)
    assert_close(MixedPair(Precomputed(K), 0)(PAIRS, PAIRS[:7]), tensor, 1e-14)
    assert_close(CartesianPair(Precomputed(K))(PAIRS), MixedPair(Precomputed(K), 1.0)(PAIRS), 1e-15)
    metric = (K[np.ix_(a, c)] - K[np.ix_(a, d)] - K[np.ix_(b, c)] + K[np.ix_(b, d)]) ** 2
    assert_close(MetricPair(Precomputed(K))(PAIRS, PAIRS[:7]), metric, 1e-12)
    assert MetricPair(Precomputed(K))([[3, 3]], [[0, 1]]) == 0


@pytest.mark.parametrize(
    "kernel", [TensorPair(RBF(0.3), NODES), MixedPair(RBF(0.3), 0.4, NODES), MetricPair(RBF(0.3), NODES)]
)
def test_swapping_a_pair_changes_nothing(kernel):
    assert_close(kernel(PAIRS[:, ::-1], PAIRS), kernel(PAIRS, PAIRS), 1e-14)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("make", [TensorPair, lambda k, nodes: MixedPair(k, 0.4, nodes), CartesianPair, MetricPair])
def test_in_other_array_libraries(library, make):
    xp = pytest.importorskip(library)
    kernel, expected = make(RBF(0.3), xp.asarray(NODES)), make(RBF(0.3), NODES)
    found = kernel(PAIRS, PAIRS[:7])
    assert type(found).__module__.startswith(library)
    assert_close(np.asarray(found), expected(PAIRS, PAIRS[:7]), 1e-12)
    kernel.fit(PAIRS), expected.fit(PAIRS)
    assert_close(np.asarray(kernel.diag(PAIRS)), expected.diag(PAIRS), 1e-12)
    assert_close(expected.diag(PAIRS), np.diagonal(expected(PAIRS)), 1e-12, atol=1e-12)


def test_products_need_no_matrix():
    kernel = MixedPair(Precomputed(K), 0.4).fit(PAIRS)
    gram = kernel.gram(PAIRS)
    assert isinstance(gram, PairGram)
    c = rng.normal(size=40)
    assert_close(gram.product(c), kernel(PAIRS) @ c, 1e-13)
    other = kernel.gram(PAIRS[:5], PAIRS)
    assert_close(other.product(c), kernel(PAIRS[:5], PAIRS) @ c, 1e-13)
    assert gram._kept is None and other._kept is None


def test_in_a_support_vector_machine_and_in_iokr():
    pairs = np.unique(np.sort(PAIRS, axis=1), axis=0)
    y = np.where(K[pairs[:, 0], pairs[:, 1]] > np.median(K), 1, -1)
    kernel = TensorPair(RBF(0.3), NODES)
    machine = SVC(kernel=kernel, C=2.0).fit(pairs, y)
    known = SVC(kernel="precomputed", C=2.0).fit(kernel(pairs), y)
    assert_close(machine.decision_function(pairs[:5]), known.decision_function(kernel(pairs[:5], pairs)), 1e-6)
    exact = IOKR(kernel, alpha=0.1, solver=Cholesky()).fit(pairs, y).predict(PAIRS)
    assert_close(IOKR(kernel, alpha=0.1, solver=ConjugateGradient(1e-12)).fit(pairs, y).predict(PAIRS), exact, 1e-8)


@pytest.mark.parametrize(
    "objects", [[(0, 0), (0, 0), (1, 1), (1, 1)], [(0, 1), (1, 0)], [(0, 1), (1, 0), (1, 1), (1, 1)]]
)
def test_pairs_given_twice_are_not_taken_for_all_pairs(objects):
    y, kernel = np.arange(1.0, 1 + len(objects)), TensorPair(Precomputed(K))
    for intercept in (False, True):
        ridge = Ridge(kernel(objects), y[:, None], 0.1, intercept=intercept)
        model = IOKR(kernel, alpha=0.1, solver=ConjugateGradient(1e-12), intercept=intercept)
        expected = ridge.values(kernel(PAIRS[:9], objects))[:, 0]
        assert_close(model.fit(np.array(objects), y).predict(PAIRS[:9]), expected, 1e-9)


def test_set_kernel_is_the_mean_over_members():
    sets = [rng.normal(size=(size, 2)) for size in (1, 3, 2)]
    expected = [[np.mean(p @ q.T) for q in sets] for p in sets]
    assert_close(SetKernel(Linear())(sets), expected, 1e-14)
    letters = [["a", "b"], ["b"], ["b", "b", "c", "a"]]
    assert_close(SetKernel(Delta())(letters), [[0.5, 0.5, 0.375], [0.5, 1, 0.5], [0.375, 0.5, 0.375]], 1e-14)


def test_pair_kernels_are_set_kernels():
    def point(x, z):
        return 2 * (0.3 * (x[0] == z[0]) + 0.7 * K[x[0], z[0]]) * K[x[1], z[1]]

    sets = [orders(p.tolist()) for p in PAIRS[:10]]
    assert_close(SetKernel(FromFunction(point))(sets), MixedPair(Precomputed(K), 0.3)(PAIRS[:10]), 1e-13)


@pytest.mark.parametrize(
    ("kernel", "objects", "error", "message"),
    [
        (
            TensorPair(RBF(), NODES),
            [[0, 9]],
            ValueError,
            "`pairs` must hold row numbers of the nodes, integers from 0 to 8, got 9",
        ),
        (TensorPair(RBF(), NODES), [[0.5, 1]], TypeError, "integers"),
        (TensorPair(RBF(), NODES), [0, 1], ValueError, "two columns"),
        (TensorPair("rbf", NODES), [[0, 1]], TypeError, "`base` must be a component"),
        (TensorPair(Precomputed()), [[0, 1]], ValueError, "`base` must be a kernel between any nodes"),
        (MixedPair(RBF(), 2.0, NODES), [[0, 1]], ValueError, "`mix` must be a number from 0 to 1, got 2.0"),
        (SetKernel(Delta()), [[], ["a"]], ValueError, "Set 0 is empty"),
        (SetKernel(Delta()), ["ab", "c"], TypeError, "set 0 is 'ab'"),
        (SetKernel(Precomputed()), [[0], [1]], ValueError, "`base` must be a kernel between any members"),
    ],
)
def test_errors(kernel, objects, error, message):
    with pytest.raises(error, match=message):
        kernel(objects)
