"""Tanimoto on binary rows, counts and sparse rows; Jaccard on sets."""

import numpy as np
import pytest
from scipy import sparse

import reference
from iokr import IOKR
from iokr._system.compile import compiled, compiling
from iokr.data.bits import Bits
from iokr.data.objects import concat
from iokr.datasets import sample
from iokr.kernels import Jaccard, Tanimoto
from iokr.kernels.structured import sets
from reference import assert_close


def fingerprints(n: int, bits: int, seed: int, counts: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    B = (rng.uniform(size=(n, bits)) < 0.4).astype(float)
    return B * rng.integers(1, 6, size=B.shape) if counts else B


@pytest.mark.parametrize("counts", [False, True], ids=["binary", "counts"])
def test_equals_the_loop(counts):
    X, Z = fingerprints(9, 15, 1, counts), fingerprints(6, 15, 2, counts)
    X[3] = Z[2] = 0.0
    fitted = Tanimoto().fit(X)
    assert_close(fitted(X, Z), reference.gram(reference.tanimoto, X, Z), 1e-14)
    assert_close(fitted(X), reference.gram(reference.tanimoto, X), 1e-14)
    assert_close(fitted.diag(fitted.represent(X)), np.ones(9), 1e-15)


def test_is_intersection_over_union_of_binary_rows():
    X = fingerprints(8, 20, 3, counts=False)
    jaccard = [[np.sum((x > 0) & (z > 0)) / np.sum((x > 0) | (z > 0)) for z in X] for x in X]
    assert_close(Tanimoto().fit(X)(X), jaccard, 1e-14)


def test_two_empty_rows_are_equal_and_one_empty_row_is_far_from_all_others():
    X = np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(Tanimoto().fit(X)(X), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("counts", [False, True], ids=["binary", "counts"])
@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_give_the_same_numbers(layout, counts):
    X, Z = fingerprints(9, 40, 4, counts), fingerprints(6, 40, 5, counts)
    X[3] = Z[2] = 0.0
    fitted = Tanimoto().fit(layout(X))
    assert_close(fitted(layout(X), layout(Z)), reference.gram(reference.tanimoto, X, Z), 1e-14)
    assert_close(fitted.diag(fitted.represent(layout(X))), np.ones(9), 1e-15)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32])
def test_integer_and_boolean_rows(dtype):
    """Products of bytes must not overflow."""
    X = (200 * fingerprints(7, 30, 6, counts=False)).astype(dtype)
    expected = reference.gram(reference.tanimoto, X.astype(float))
    assert_close(Tanimoto().fit(X)(X), expected, 1e-6 if dtype == np.float32 else 1e-14)


def test_wide_sparse_rows_of_bits_give_the_same_numbers():
    """Rows of 64 or more bits are packed; whether they are bits is read from the stored entries."""
    X = (np.random.default_rng(0).random((12, 80)) < 0.2).astype(float)
    X[:, 0] = 1.0
    for layout in (sparse.csr_array, sparse.csr_matrix):
        np.testing.assert_allclose(Tanimoto()(layout(X)), Tanimoto()(X), atol=1e-15)
        np.testing.assert_allclose(Tanimoto()(layout(2 * X)), Tanimoto()(2 * X), atol=1e-15)


def test_sparse_inputs_fit_the_same_model():
    X, Y = fingerprints(10, 25, 7, counts=False), np.random.default_rng(8).normal(size=(10, 2))
    dense = IOKR(Tanimoto(), alpha=0.1).fit(X, Y).decision_function(X[:4])
    thin = IOKR(Tanimoto(), alpha=0.1).fit(sparse.csr_matrix(X), Y).decision_function(sparse.csr_matrix(X[:4]))
    assert_close(thin, dense, 1e-12)


def jaccard(x: frozenset, z: frozenset) -> float:
    return len(x & z) / len(x | z) if x | z else 1.0


def test_jaccard_of_sets():
    X, Z = sample("sets", 9), [*sample("sets", 5, seed=1), frozenset(), frozenset("zyx")]
    X[2] = frozenset()
    np.testing.assert_array_equal(Jaccard()(X, Z), [[jaccard(x, z) for z in Z] for x in X])
    np.testing.assert_array_equal(Jaccard()(X), [[jaccard(x, z) for z in X] for x in X])
    np.testing.assert_array_equal(Jaccard()([list(x) * 2 for x in X], [tuple(z) for z in Z]), Jaccard()(X, Z))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix])
def test_jaccard_of_rows_is_that_of_their_columns(layout):
    B = fingerprints(8, 12, 3, counts=True)
    B[1] = 0.0
    sets = [set(np.flatnonzero(row).tolist()) for row in B]
    np.testing.assert_array_equal(Jaccard()(layout(B)), [[jaccard(x, z) for z in sets] for x in sets])
    np.testing.assert_array_equal(Jaccard()(layout(B), sets), Jaccard()(sets))
    assert_close(Jaccard()(layout(B)), Tanimoto()(layout(B > 0)), 1e-15)


def test_jaccard_of_sets_parsed_in_parts():
    X, Z = sample("sets", 4), sample("sets", 5, seed=1)
    k = Jaccard()
    both = concat(k.represent(X), k.represent(Z))
    np.testing.assert_array_equal(k.block(both, both), k([*X, *Z]))


@pytest.mark.parametrize("bad", [3, "abc", {"a": 1}, [["b"]]])
def test_what_is_no_set_is_named(bad):
    with pytest.raises(TypeError, match=r"(Object|Set) 1 "):
        Jaccard()([{1}, bad])


@pytest.mark.parametrize("elements", [3, 64, 65, 300])
def test_bits_and_counts_agree(elements, monkeypatch):
    """Elements in one word, a whole one, one more, several; some unknown to the other side; empty sets."""
    pytest.importorskip("numba")
    assert compiled(sets._bits_shared) is not None
    rng = np.random.default_rng(0)
    X, Z = ([set(rng.integers(shift, elements, size=20).tolist()) for _ in range(8)] + [set()] for shift in (0, 2))
    naive = [[len(x & z) / len(x | z) if x | z else 1.0 for z in Z] for x in X]
    for words in (0, 10**6):
        monkeypatch.setattr(sets, "_WORDS", words)
        assert sets._as_bits(*(Jaccard().represent(side).parts[0] for side in (X, Z))) == (words > 0)
        assert_close(Jaccard()(X, Z), naive, 1e-15)


@pytest.mark.parametrize("fast", [True, False])
def test_tanimoto_of_packed_bits_is_that_of_the_rows(fast):
    rng = np.random.default_rng(3)
    X, Z = (rng.uniform(size=(n, 150)) < 0.2 for n in (9, 6))
    X[2] = Z[1] = False  # two empty sets
    x, z = X.astype(float), Z.astype(float)
    both = x @ z.T
    either = x.sum(1)[:, None] + z.sum(1)[None] - both
    expected = np.where(either == 0, 1.0, both / np.where(either == 0, 1.0, either))
    with compiling(fast):
        for left in (X, x, X.astype(np.uint8), Bits.of(X)):
            for right in (Z, z, Bits.of(Z)):
                np.testing.assert_array_equal(Tanimoto()(left, right), expected)
        half = Tanimoto().block(Tanimoto().represent(2 * x), Tanimoto().represent(Bits.of(Z)))
    np.testing.assert_array_equal(half, Tanimoto()(2 * x, z))
