"""Words with gaps as products of explicit features, beside a sum over all places of a word."""

from itertools import combinations

import numpy as np
import pytest

from iokr.data.ragged import Ragged
from iokr.kernels._data.gapped import word_products, words_pay
from reference import assert_close

STRINGS = ["abca", "ba", "", "caab", "bbacb"]


def ragged(strings):
    return Ragged.of(np.array([ord(c) for s in strings for c in s], dtype=np.int64), [len(s) for s in strings])


def slowly(x, z, n, decay):
    """Σ_u φ_u(x) φ_u(z), φ_u(x) = Σ decay^(last place − first place + 1) over the places of u in x."""

    def features(s):
        phi = {}
        for places in combinations(range(len(s)), n):
            word = "".join(s[i] for i in places)
            phi[word] = phi.get(word, 0.0) + decay ** (places[-1] - places[0] + 1)
        return phi

    left, right = features(x), features(z)
    return sum(left[u] * right.get(u, 0.0) for u in left)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("decay", [0.5, 1.0])
def test_products_of_features(n, decay):
    x, z = STRINGS, STRINGS[::-1][:3]
    expected = np.array([[slowly(a, b, n, decay) for b in z] for a in x])
    assert_close(word_products(ragged(x), ragged(z), n, decay), expected, 1e-13)


def test_no_letter_in_common():
    np.testing.assert_array_equal(word_products(ragged(["ab"]), ragged(["cd"]), 2, 0.5), [[0.0]])


def test_features_pay_with_few_letters_and_many_strings_only():
    few, many = ragged(["ab" * 20] * 50), ragged(["".join(map(chr, range(97, 97 + 26)))] * 2)
    assert words_pay(few, few, 2, compared=1.0)
    assert not words_pay(many, many, 5, compared=1.0)
