"""Sets of labels, compared label by label."""

import numpy as np
import pytest
from scipy import sparse

from iokr import IOKR
from iokr.kernels import Hamming, Positional
from iokr.kernels.generic import Delta
from iokr.kernels.structured import sets as hamming_module
from iokr.metrics import hamming
from reference import assert_close
from samples import vectors

LABELS = ["jazz", "folk", "rock", "pop"]


def rows(n: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, 4)) < 0.4).astype(float)


def sets(Y: np.ndarray) -> list[set]:
    return [{label for label, there in zip(LABELS, row, strict=True) if there} for row in Y]


def test_is_one_less_the_share_of_labels_that_differ():
    X, Z = rows(7), rows(5, seed=1)
    expected = [[1 - np.mean(x != z) for z in Z] for x in X]
    assert_close(Hamming()(X, Z), expected, 1e-14, atol=1e-15)
    assert_close(Hamming(LABELS)(sets(X), sets(Z)), expected, 1e-14, atol=1e-15)
    assert_close(Hamming()(X, Z), Positional(Delta())(X, Z) / 4, 1e-14, atol=1e-15)
    assert_close(Hamming()(sparse.csr_array(X), Z.tolist()), expected, 1e-14, atol=1e-15)


def test_distances_are_twice_the_hamming_loss():
    X, Y, Z = vectors(7), rows(7), rows(7, seed=1)
    K = Hamming()(Y, Z)
    assert_close(np.mean(2 - 2 * np.diag(K)), 2 * hamming(Y, Z), 1e-14)
    assert IOKR(output_kernel=Hamming(), alpha=1e-9).fit(X, Y).score(X, Y) > 0.999


def test_labels_are_those_at_fit():
    kernel = Hamming().fit([{"b", "a"}, set(), {"c"}])
    assert kernel.labels_ == ["a", "b", "c"]
    assert Hamming().fit(rows(3)).labels_ == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"Set 1 has the label 'd', which is unknown"):
        kernel.represent([{"a"}, {"a", "d"}])


def test_refusals():
    with pytest.raises(ValueError, match="Row 1 has entries other than 0 and 1"):
        Hamming()(np.array([[0, 1], [2, 1]]))
    with pytest.raises(ValueError, match=r"Rows of shape \(3, 5\) do not match the 4 labels"):
        Hamming().fit(rows(3)).represent(np.zeros((3, 5)))
    with pytest.raises(TypeError, match=r"Object 1 must be a set of labels, or a row of 4 zeros and ones, got 'jazz'"):
        Hamming(LABELS)([{"jazz"}, "jazz"])
    with pytest.raises(ValueError, match="names a label twice"):
        Hamming(["a", "a"])([{"a"}])
    with pytest.raises(ValueError, match="have no labels"):
        Hamming()([set(), set()])
    with pytest.raises(TypeError, match="`labels` must be a sequence"):
        Hamming("abc")([{"a"}])


def test_sums_in_single_precision_are_exact(monkeypatch):
    Y = (np.random.default_rng(0).random((40, 1001)) < 0.3).astype(float)
    K = Hamming()(Y)
    monkeypatch.setattr(hamming_module, "_EXACT", 1)
    assert_close(K, Hamming()(Y), 1e-15 * 10)
    assert_close(K, [[1 - np.mean(x != z) for z in Y] for x in Y], 1e-14)


def test_sets_without_labels():
    kernel = Hamming(LABELS).fit([set()])
    assert_close(kernel([set(), set()]), np.ones((2, 2)), 1e-15)
