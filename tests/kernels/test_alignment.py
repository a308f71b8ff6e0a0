"""Weights by alignment: against a search over directions, exact recovery, and what is always true."""

import warnings

import numpy as np
import pytest

from iokr import IOKR, IOKRCV, LinkPredictor
from iokr.kernels import RBF, Aligned, Columns, Delta, Linear, Mean, Normalized, Precomputed, Scaled
from iokr.kernels.alignment import alignment, alignment_weights
from network_samples import network
from reference import assert_close


def grams(seed, q, n=12, rank=6):
    rng = np.random.default_rng(seed)
    roots = [rng.normal(size=(n, rank)) for _ in range(q)]
    return [B @ B.T for B in roots], rng


def rho(K, T):
    """The cosine, written with projections."""
    P = np.eye(len(K)) - 1 / len(K)
    A, B = P @ K @ P, P @ T @ P
    return np.trace(A @ B) / np.sqrt(np.trace(A @ A) * np.trace(B @ B))


def test_alignment_is_the_cosine_of_centred_matrices():
    (K, T), _ = grams(0, 2)
    assert_close(alignment(K, T), rho(K, T), 1e-13)
    assert_close(alignment(3.0 * K + 2.0, T), rho(K, T), 1e-13)
    assert alignment(np.ones((4, 4)), np.eye(4)) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_alignf_is_the_best_direction_of_two(seed):
    Ks, rng = grams(seed, 2)
    B = rng.normal(size=(12, 3))
    T = B @ B.T + 0.4 * Ks[seed % 2]
    weights, _, found = alignment_weights(Ks, T, "alignf")
    angles = np.linspace(0, np.pi / 2, 2001)
    searched = [rho(np.cos(t) * Ks[0] + np.sin(t) * Ks[1], T) for t in angles]
    assert_close(found, rho(weights[0] * Ks[0] + weights[1] * Ks[1], T), 1e-12)
    assert found >= max(searched) - 1e-12
    assert found - max(searched) < 1e-5


def test_alignf_has_interior_and_corner_optima():
    """Both occur, with three kernels, and no direction of a fine grid is better."""
    zeros = 0
    for seed in range(8):
        Ks, rng = grams(seed, 3)
        B = rng.normal(size=(12, 4))
        T = B @ B.T
        weights, _, found = alignment_weights(Ks, T, "alignf")
        zeros += int(np.sum(weights == 0))
        grid = rng.dirichlet(np.ones(3), size=3000)
        assert found >= max(rho(sum(w * K for w, K in zip(ws, Ks, strict=True)), T) for ws in grid) - 1e-12
    assert 0 < zeros < 16


@pytest.mark.parametrize("q", [1, 2, 4])
def test_a_non_negative_combination_is_recovered(q):
    Ks, rng = grams(q, q, n=30)
    v = rng.uniform(0.2, 2.0, size=q)
    weights, _, found = alignment_weights(Ks, sum(c * K for c, K in zip(v, Ks, strict=True)), "alignf")
    assert_close(weights, v / v.sum(), 1e-8)
    assert_close(found, 1.0, 1e-12)


def test_alignf_is_at_least_as_aligned_as_the_others():
    for seed in range(10):
        Ks, rng = grams(seed, 3)
        B = rng.normal(size=(12, 2))
        T = B @ B.T
        best, single, by_f = alignment_weights(Ks, T, "alignf")
        other, _, by_align = alignment_weights(Ks, T, "align")
        assert_close(other, single / single.sum(), 1e-14)
        assert by_f >= by_align - 1e-12 and by_f >= rho(sum(Ks), T) - 1e-12
        assert abs(best.sum() - 1) < 1e-12 and best.min() >= 0
        assert_close(single, [rho(K, T) for K in Ks], 1e-12)


def test_scale_of_a_kernel_moves_its_weight_but_not_the_sum():
    Ks, rng = grams(3, 2)
    B = rng.normal(size=(12, 2))
    T = B @ B.T + Ks[0] + 0.5 * Ks[1]
    one, _, found = alignment_weights(Ks, T, "alignf")
    two, _, same = alignment_weights([Ks[0], 10.0 * Ks[1]], T, "alignf")
    assert_close(found, same, 1e-12)
    assert_close(two[1] * 10 / two[0], one[1] / one[0], 1e-8)


def test_equal_and_constant_kernels_are_no_trouble():
    Ks, _ = grams(0, 1)
    weights, _, found = alignment_weights([Ks[0], Ks[0], np.ones((12, 12))], Ks[0], "alignf")
    assert_close(found, 1.0, 1e-12)
    assert weights[2] == 0.0
    with pytest.warns(UserWarning, match="equal weights"):
        weights, _, _ = alignment_weights([np.ones((4, 4)), 2 * np.ones((4, 4))], np.eye(4), "alignf")
    assert_close(weights, [0.5, 0.5], 1e-15)


rng = np.random.default_rng(5)
X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
PARTS = [Columns(RBF(0.5), [0]), Columns(RBF(0.5), [1]), Linear()]


@pytest.mark.parametrize("method", ["alignf", "align"])
@pytest.mark.parametrize("output_kernel", [None, RBF(0.3)], ids=["vectors", "implicit"])
def test_in_a_model_the_target_is_the_gram_of_the_outputs(method, output_kernel):
    T = Y @ Y.T if output_kernel is None else output_kernel(Y)
    weights, alone, found = alignment_weights([k(X) for k in PARTS], T, method)
    model = IOKR(Aligned(PARTS, method), output_kernel=output_kernel, alpha=0.1).fit(X, Y)
    assert_close(model.kernel_.weights_, weights, 1e-9)
    assert_close(model.kernel_.alignments_, alone, 1e-12)
    assert_close(model.kernel_.alignment_, found, 1e-12)
    combined = sum((Scaled(k, float(w)) for k, w in zip(PARTS[1:], weights[1:], strict=True)), weights[0] * PARTS[0])
    expected = IOKR(combined, output_kernel=output_kernel, alpha=0.1).fit(X, Y)
    assert_close(model.decision_function(X[:4]), expected.decision_function(X[:4]), 1e-9)


def test_rows_without_weight_do_not_count():
    weight = (np.arange(20) < 12) * 1.0
    for output_kernel in (None, RBF(0.3)):
        some = IOKR(Aligned(PARTS), output_kernel=output_kernel).fit(X, Y, sample_weight=weight)
        fewer = IOKR(Aligned(PARTS), output_kernel=output_kernel).fit(X[:12], Y[:12])
        assert_close(some.kernel_.weights_, fewer.kernel_.weights_, 1e-10)


def test_for_links_the_target_is_the_kernel_of_the_known_links():
    s = network()
    kernels = [Columns(RBF(0.4), [0, 1]), Columns(RBF(0.4), [2])]
    model = LinkPredictor(Aligned(kernels), alpha=0.1).fit(s.X, s.W, s.labeled)
    n = np.arange(len(s.labeled))
    expected, _, _ = alignment_weights([k(s.X[s.labeled]) for k in kernels], model.output_kernel_(n), "alignf")
    assert_close(model.model_.kernel_.weights_, expected, 1e-9)


def test_in_a_search_and_with_given_matrices():
    Ks = [Precomputed(k(X)) for k in PARTS]
    model = IOKRCV([Aligned(Ks), Ks[0]], alphas=(0.1, 1.0)).fit(np.arange(20), Y)
    assert model.loo_errors_.shape == (2, 2)


def test_without_outputs_it_is_the_mean_and_says_so():
    with pytest.warns(UserWarning, match="no outputs to align with"):
        K = Aligned(PARTS).fit(X)(X)
    assert_close(K, Mean(PARTS)(X), 1e-14)
    with pytest.warns(UserWarning, match="not a part of another kernel"):
        IOKR(Normalized(Aligned(PARTS))).fit(X, Y)


def test_refusals():
    with pytest.raises(ValueError, match="`method` must be one of 'alignf', 'align'"):
        IOKR(Aligned(PARTS, "best")).fit(X, Y)
    with pytest.raises(ValueError, match="`kernels` is empty"):
        IOKR(Aligned([])).fit(X, Y)
    with pytest.raises(TypeError, match="`kernels` must be"):
        IOKR(Aligned(["rbf"])).fit(X, Y)
    missing = Y.copy()
    missing[0, 0] = np.nan
    with pytest.raises(ValueError, match="missing entries"):
        IOKR(Aligned(PARTS)).fit(X, missing)


def test_objects_of_any_kind():
    words, labels = ["ab", "cd", "ab", "ef"], [0.0, 1.0, 0.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = IOKR(Aligned([Delta(), Delta()])).fit(words, labels)
    assert abs(model.kernel_.weights_.sum() - 1) < 1e-12


def test_given_weights_are_not_learned():
    learned = Aligned(PARTS).fit(X, Y @ Y.T)
    given = learned.fixed()
    assert learned.supervised and not given.supervised and not hasattr(given, "weights_")
    np.testing.assert_allclose(given.fit(X)(X), learned(X), rtol=1e-12)
    plain = IOKR(Aligned(PARTS[:2], weights=[0.25, 0.75]), alpha=0.1).fit(X, Y)
    summed = IOKR(0.25 * PARTS[0] + 0.75 * PARTS[1], alpha=0.1).fit(X, Y)
    np.testing.assert_allclose(plain.predict(X), summed.predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", [[1.0], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]])
def test_weights_are_a_number_for_each_kernel(weights):
    with pytest.raises(ValueError, match="one per kernel"):
        Aligned(PARTS[:2], weights=weights).fit(X)
