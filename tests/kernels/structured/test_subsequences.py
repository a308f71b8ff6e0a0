"""Words with gaps beside their explicit features: listed, compiled and in NumPy."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from iokr._system.compile import compiled, compiling
from iokr.kernels import Subsequence
from iokr.kernels._data import gapped
from iokr.kernels.structured import subsequences
from reference import assert_close

ROUTES = ["listed", "mixed", "words", "compiled", "numpy"]


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch):
    if request.param != "listed":  # else these strings have few places
        monkeypatch.setattr(subsequences, "_OCCURRENCES", 20 if request.param == "mixed" else -1)
    if request.param in ("compiled", "numpy"):
        monkeypatch.setattr(subsequences, "words_pay", lambda *given: False)
    elif request.param == "words":
        monkeypatch.setattr(subsequences, "words_pay", lambda *given: True)
    if request.param == "compiled":
        pytest.importorskip("numba")
        assert compiled(subsequences._subsequence) is not None
    with compiling(request.param != "numpy"):
        yield request.param


def words(n: int, longest: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), size=size)) for size in rng.integers(1, longest + 1, size=n)]


def features(x: str, n: int, decay: float) -> Counter:
    phi: Counter = Counter()
    for places in combinations(range(len(x)), n):
        phi["".join(x[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
    return phi


def naive(x: str, z: str, n: int, decay: float) -> float:
    a, b = features(x, n, decay), features(z, n, decay)
    return sum(a[u] * b[u] for u in a)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("decay", [0.3, 1.0])
def test_equals_its_features(n, decay, route):
    X, Z = words(19, 10), words(11, 10, seed=1)
    k = Subsequence(n, decay)
    assert_close(k(X, Z), [[naive(x, z, n, decay) for z in Z] for x in X], 1e-13)
    assert_close(k(X), [[naive(x, z, n, decay) for z in X] for x in X], 1e-13)
    assert_close(k.diag(k.represent(X)), [naive(x, x, n, decay) for x in X], 1e-13)


def test_slices_of_parsed_strings(route):
    X = words(30, 10)
    k = Subsequence(3, 0.7)
    R, K = k.represent(X), k(X, X)
    some = np.array([17, 3, 3, 25])
    assert_close(k.block(R[some], R[5:9]), K[some][:, 5:9], 1e-13)


def test_many_pairs_at_once_in_small_tiles(monkeypatch):
    """Tiles of pairs cover the block whatever their size."""
    from iokr.data import ragged

    X = words(23, 12)
    whole = Subsequence(2, 0.5)(X)
    monkeypatch.setattr(subsequences, "_OCCURRENCES", -1)
    monkeypatch.setattr(subsequences, "words_pay", lambda *given: False)
    monkeypatch.setattr(ragged, "_CELLS", 300)
    with compiling(False):
        assert_close(Subsequence(2, 0.5)(X), whole, 1e-14)
        monkeypatch.setattr(subsequences, "_RANGE", 0.0)  # sums that fade, as for strings of thousands of letters
        assert_close(Subsequence(2, 0.5)(X), whole, 1e-14)


def test_all_words_by_a_few_first_letters_and_strings_at_a_time(monkeypatch):
    X, Z = words(23, 12), ["zab", "cc", *words(9, 12, seed=1)]
    whole = Subsequence(3, 0.5)(X, Z)
    monkeypatch.setattr(subsequences, "_OCCURRENCES", -1)
    monkeypatch.setattr(subsequences, "words_pay", lambda *given: True)
    monkeypatch.setattr(gapped, "_ENTRIES", 2 * 9 * (len(X) + len(Z)))
    monkeypatch.setattr(gapped, "_TILE", 50)
    assert_close(Subsequence(3, 0.5)(X, Z), whole, 1e-14)
    monkeypatch.setattr(gapped, "_height", lambda size, n: 4)
    assert_close(Subsequence(3, 0.5)(X, Z), whole, 1e-14)


def test_strings_without_a_common_letter():
    assert not Subsequence(2, 0.5)(["ab" * 40], ["cd" * 40, "ef"]).any()


def test_all_words_are_summed_over_where_letters_are_few():
    def strings(letters, length):
        return subsequences.letters([letters * (length // len(letters))] * 20)

    few, many = strings("ACGT", 80), strings("abcdefghijklmnopqrst", 80)
    for compared in (subsequences._NUMPY, subsequences._COMPILED):
        assert gapped.words_pay(few, few, 4, compared)
        assert not gapped.words_pay(many, many, 6, compared)


def test_words_are_listed_where_that_costs_less_than_the_recursion():
    k = Subsequence(3, 0.5)
    X = ["ab", "abcab" * 3, "abcab" * 5]
    R = k.represent(X)
    assert np.diff(R.parts[1].matrix.indptr).astype(bool).tolist() == [False, True, False]
    assert_close(k.block(R, R), [[naive(x, z, 3, 0.5) for z in X] for x in X], 1e-13)


def test_strings_listed_a_few_at_a_time(monkeypatch):
    X, Z = words(23, 12), words(9, 12, seed=1)
    whole = Subsequence(3, 0.5)(X, Z)
    monkeypatch.setattr(subsequences, "_STRINGS", 4)
    assert_close(Subsequence(3, 0.5)(X, Z), whole, 1e-15)
