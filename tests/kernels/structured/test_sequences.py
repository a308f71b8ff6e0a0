"""Position by position: sums, products, and the maps of letters in words."""

from itertools import pairwise

import numpy as np
import pytest

import reference
from iokr import IOKR
from iokr.data.objects import as_objects, concat
from iokr.kernels import RBF, Delta, EmpiricalMap, Linear, Polynomial, Positional
from reference import assert_close


def series(n: int, longest: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(size, 3)) for size in rng.integers(1, longest + 1, size=n)]


def rbf(a, b):
    return np.exp(-0.3 * np.sum((a - b) ** 2))


def test_sum_over_the_positions_of_both():
    X, Z = series(7, 5), series(6, 7, seed=1)
    expected = [[sum(rbf(a, b) for a, b in zip(x, z, strict=False)) for z in Z] for x in X]
    assert_close(Positional(RBF(0.3))(X, Z), expected, 1e-13)


def test_product_for_equal_lengths_else_zero():
    X, Z = series(9, 3), series(8, 3, seed=1)
    expected = [
        [np.prod([rbf(a, b) for a, b in zip(x, z, strict=True)]) if len(x) == len(z) else 0.0 for z in Z] for x in X
    ]
    assert np.count_nonzero(expected) not in (0, 72)
    assert_close(Positional(RBF(0.3), "product")(X, Z), expected, 1e-13)


def test_the_maps_of_letters_in_words():
    """Φ(x) = [k(c, x_v(c))] over all letters c of the training words, v(c) the place of c, 0 beyond the end of x."""
    X, Z = series(6, 4), series(7, 6, seed=1)
    base = Polynomial(3).fit(X[0])

    def phi(x):
        letters = [(c[t], t) for c in X for t in range(len(c))]
        return [base([c], [x[t]])[0, 0] if t < len(x) else 0.0 for c, t in letters]

    F, G = np.array([phi(x) for x in X]), np.array([phi(z) for z in Z])
    k = Positional(EmpiricalMap(Polynomial(3)), pooled=False).fit(X)
    assert_close(k(X), F @ F.T, 1e-13)
    assert_close(k(X, Z), F @ G.T, 1e-13)
    assert_close(k(Z, Z), G @ G.T, 1e-13)
    both = concat(k.represent(X), k.represent(Z))
    assert_close(k.block(both, both), np.block([[F @ F.T, F @ G.T], [G @ F.T, G @ G.T]]), 1e-13)


def test_one_hot_letters():
    """Φ(y) = one-hot letters side by side: ⟨Φ(y), Φ(y')⟩ counts the places where both have the same letter."""
    words = ["house", "mouse", "hot", "h"]
    expected = [[sum(a == b for a, b in zip(x, z, strict=False)) for z in words] for x in words]
    np.testing.assert_array_equal(Positional(Delta())(words), expected)
    rows = np.array([[1, 2, 3], [1, 5, 3]])
    np.testing.assert_array_equal(Positional(Delta())(rows), [[3, 2], [2, 3]])


def test_the_bandwidth_is_that_of_all_entries_or_of_each_position():
    X = [np.array([[0.0], [0.0]]), np.array([[1.0], [3.0]]), np.array([[5.0]])]
    pooled = Positional(RBF()).fit(X)
    assert [base.gamma_ for base in pooled.bases_] == [RBF().fit([[0.0], [0.0], [1.0], [3.0], [5.0]]).gamma_]
    apart = Positional(RBF(), pooled=False).fit(X)
    assert [base.gamma_ for base in apart.bases_] == [
        RBF().fit([[0.0], [1.0], [5.0]]).gamma_,
        RBF().fit([[0.0], [3.0]]).gamma_,
    ]


def test_three_dimensional_arrays():
    X = np.arange(12.0).reshape(2, 3, 2)
    assert_close(Positional(Linear())(X), np.einsum("itd,jtd->ij", X, X), 1e-14)


def test_slices():
    X = series(9, 5)
    k = Positional(RBF(0.3)).fit(X)
    R, K = k.represent(X), k(X, X)
    some = np.array([8, 2, 2, 5])
    assert_close(k.block(R[some], R[1:4]), K[some][:, 1:4], 1e-14)
    assert_close(k.diag(R[some]), np.diag(K)[some], 1e-14)


def test_bad_sequences_are_named():
    with pytest.raises(ValueError, match="Sequence 1 is empty"):
        Positional(Delta())(["ab", ""])
    with pytest.raises(TypeError, match="Object 0 must be a sequence"):
        Positional(Delta())([3, 4])
    with pytest.raises(ValueError, match="`combine` must be one of 'sum', 'product', got 'mean'"):
        Positional(Delta(), "mean").fit(["ab"])
    with pytest.raises(TypeError, match="`base` must be a component"):
        Positional("delta").fit(["ab"])


def test_words_as_outputs():
    words = ["house", "mouse", "hot"]
    model = IOKR(output_kernel=Positional(Delta()), alpha=1e-6).fit([[0.0], [1.0], [2.0]], words)
    assert model.predict([[0.9]]).tolist() == ["mouse"]


def test_empirical_map_is_the_square_of_the_gram():
    X = np.random.default_rng(0).normal(size=(6, 3))
    K = RBF(0.4)(X)
    assert_close(EmpiricalMap(RBF(0.4))(X), K @ K, 1e-14)


def steps_by_hand(base, transitions):
    def k(x, z):
        values = [base(a, b) for a, b in zip(x, z, strict=False)]
        return sum(values) + transitions * sum(a * b for a, b in pairwise(values))

    return k


@pytest.mark.parametrize("transitions", [0.5, 3.0])
def test_transitions_beside_a_loop(transitions):
    words = ["abba", "ab", "a", "babab", "bbba"]
    K = reference.gram(steps_by_hand(reference.delta, transitions), words)
    assert_close(Positional(Delta(), transitions=transitions)(words), K, 1e-14)
    assert_close(Positional(Delta(), pooled=False, transitions=transitions)(words), K, 1e-14)
    rng = np.random.default_rng(0)
    series = as_objects(rng.normal(size=(length, 2)) for length in (3, 1, 4, 2))
    K = reference.gram(steps_by_hand(reference.rbf(0.4), transitions), series)
    assert_close(Positional(RBF(0.4), transitions=transitions)(series), K, 1e-12)
    kernel = Positional(RBF(0.4), transitions=transitions).fit(series)
    assert_close(kernel.diag(kernel.represent(series)), np.diag(K), 1e-12)


def test_transitions_are_not_negative_and_need_a_sum():
    with pytest.raises(ValueError, match="`transitions`"):
        Positional(Delta(), transitions=-1.0)(["a"])
    with pytest.raises(ValueError, match='use `combine="sum"`'):
        Positional(Delta(), combine="product", transitions=1.0)(["a"])
