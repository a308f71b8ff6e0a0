"""Spectrum and mismatch kernels beside explicit features over all words."""

from collections import Counter
from itertools import product
from math import comb

import numpy as np
import pytest

from iokr import IOKR
from iokr.data.objects import concat
from iokr.kernels import Mismatch, Normalized, Spectrum, Subsequence
from iokr.kernels.structured.strings import agreement_weights, shared_words
from reference import assert_close


def words(n: int, longest: int, letters: str = "abc", seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(letters), size=size)) for size in rng.integers(1, longest + 1, size=n)]


def grams(x: str, n: int) -> list[str]:
    return [x[i : i + n] for i in range(len(x) - n + 1)]


def spectrum(x: str, z: str, n: int) -> int:
    return sum(a == b for a in grams(x, n) for b in grams(z, n))


def near(x: str, u: str, m: int) -> int:
    return sum(sum(a != b for a, b in zip(gram, u, strict=True)) <= m for gram in grams(x, len(u)))


def mismatch(x: str, z: str, n: int, m: int, alphabet: str) -> int:
    return sum(near(x, "".join(u), m) * near(z, "".join(u), m) for u in product(alphabet, repeat=n))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_spectrum_counts_equal_pairs_of_grams(n):
    X, Z = [*words(9, 12), "abcabcabcabc"], words(6, 12, "abcd", seed=1)
    k = Spectrum(n)
    np.testing.assert_array_equal(k(X, Z), [[spectrum(x, z, n) for z in Z] for x in X])
    np.testing.assert_array_equal(k(X), [[spectrum(x, z, n) for z in X] for x in X])
    np.testing.assert_array_equal(k.diag(k.represent(X)), [spectrum(x, x, n) for x in X])


@pytest.mark.parametrize(("n", "m"), [(1, 0), (2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3)])
def test_mismatch_counts_the_words_near_both(n, m):
    X, Z = words(7, 9), words(5, 9, seed=1)
    k = Mismatch(n, m, "abcd")
    np.testing.assert_array_equal(k(X, Z), [[mismatch(x, z, n, m, "abcd") for z in Z] for x in X])
    fitted = k.fit(X)
    np.testing.assert_array_equal(fitted.diag(fitted.represent(X)), [mismatch(x, x, n, m, "abcd") for x in X])


def test_mismatch_without_mismatches_is_the_spectrum():
    X, Z = words(7, 9), words(5, 9, seed=1)
    np.testing.assert_array_equal(Mismatch(3, 0, "abc")(X, Z), Spectrum(3)(X, Z))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(("n", "m"), [(3, 1), (3, 2), (4, 1)])
def test_words_shared_by_two_grams_at_a_distance(n, m, size):
    letters = "abcd"[:size]
    everything = ["".join(u) for u in product(letters, repeat=n)]
    weights = agreement_weights(n, m, size)
    for other in everything:
        first = letters[0] * n
        d = sum(a != b for a, b in zip(first, other, strict=True))
        count = sum(near(first, u, m) * near(other, u, m) for u in everything)
        assert shared_words(n, m, d, size) == count
        assert sum(w * comb(n - d, s) for s, w in weights.items()) == pytest.approx(count)


def test_letters_of_any_script_and_long_words():
    X = ["naïve café", "日本語の日本語", "\U0001f9ea\U0001f9ea\U0001f9ea", "a\0b\0a\0b", "nai\u0308ve"]
    for n in (1, 2, 4):
        np.testing.assert_array_equal(Spectrum(n)(X), [[spectrum(x, z, n) for z in X] for x in X])
    long = ["abcdefghijklmnopqrstuvwxyz" * 2 + c for c in "xyz"]  # 30 letters out of 26 do not fit into one integer
    np.testing.assert_array_equal(Spectrum(30)(long), [[spectrum(x, z, 30) for z in long] for x in long])


def test_the_alphabet_is_that_of_fit_and_foreign_letters_are_named():
    k = Mismatch(2, 1).fit(["abca", "cab"])
    assert k.alphabet_ == "abc"
    np.testing.assert_array_equal(k(["ab"], ["cc"]), Mismatch(2, 1, "cba")(["ab"], ["cc"]))
    with pytest.raises(ValueError, match=r"String 1 has the letter 'x'.*alphabet"):
        k(["ab"], ["aa", "bxb"])


@pytest.mark.parametrize("kernel", [Spectrum(2), Mismatch(2, 1, "ab"), Subsequence(2, 0.5)])
class TestBadStrings:
    def test_an_empty_string_is_named(self, kernel):
        with pytest.raises(ValueError, match="String 2 is empty"):
            kernel(["ab", "a", ""])

    @pytest.mark.parametrize("other", [3, None, ["a", "b"], b"ab"])
    def test_what_is_no_string_is_named(self, kernel, other):
        with pytest.raises(TypeError, match="Object 1 must be a string"):
            kernel(["ab", other])

    def test_one_string_is_not_a_sequence_of_strings(self, kernel):
        with pytest.raises(TypeError, match="sequence of objects"):
            kernel("abab")

    def test_a_candidate_of_another_type_is_named(self, kernel):
        model = IOKR(output_kernel=kernel).fit([[0.0], [1.0]], ["ab", "ba"])
        with pytest.raises(TypeError, match="Object 1 must be a string"):
            model.predict([[0.5]], candidates=["ab", 7])

    def test_short_strings_have_no_features(self, kernel):
        K = Normalized(kernel)(["a", "ab"])
        np.testing.assert_array_equal(K, [[0, 0], [0, 1]])

    def test_strings_can_be_joined_after_parsing(self, kernel):
        X, Z = words(4, 6, "ab"), words(3, 6, "ab", seed=1)
        fitted = kernel.fit(X)
        both = concat(fitted.represent(X), fitted.represent(Z))
        assert_close(fitted.block(both, both), fitted([*X, *Z], [*X, *Z]), 1e-14)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Spectrum(0), "`n` must be an integer of at least 1, got 0"),
        (Mismatch(2, 2), "`m` must be below `n`, got m = 2 and n = 2"),
        (Mismatch(2, -1), "`m` must be an integer of at least 0"),
        (Subsequence(2, 0.0), "`decay` must be a number above 0 and at most 1, got 0.0"),
        (Subsequence(2, 1.5), "`decay` must be a number above 0 and at most 1, got 1.5"),
    ],
)
def test_bad_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.fit(["ab"])


def test_a_model_of_strings_with_unlabelled_ones():
    from iokr.manifolds import Laplacian

    X, more = words(12, 8), words(10, 8, seed=2)
    y = np.array([float(Counter(x)["a"]) for x in X])
    model = IOKR(Normalized(Spectrum(1)), alpha=0.1, manifold=Laplacian(0.1)).fit(X, y, X_unlabeled=more)
    assert np.isfinite(model.predict(more)).all()
