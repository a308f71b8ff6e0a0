"""One table of bad objects: as inputs, outputs and candidates each is refused by its own number."""

import numpy as np
import pytest
from scipy import sparse

from iokr import IOKR, CandidateSets, OutputKernelForest, OutputKernelTree, SharedCandidates
from iokr.decoders import candidates as candidates_module
from iokr.kernels import (
    RBF,
    GlobalAlignment,
    Hamming,
    Jaccard,
    Kendall,
    Mallows,
    Mismatch,
    Normalized,
    Positional,
    Precomputed,
    ShortestPath,
    Spearman,
    Spectrum,
    Subsequence,
    WeisfeilerLehman,
    order_ranks,
)
from iokr.kernels.generic import Delta
from members import objects

N, PLACE = 12, 7
RING = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])


class Empty:
    """A graph without nodes, in the manner of NetworkX."""

    adj = nodes = ()

    def is_directed(self):
        return False

    is_multigraph = is_directed

    def __len__(self):
        return 0


def good(domain: str) -> list:
    return list(objects(domain, N))


GRAPHS = {
    "no nodes": (Empty(), ValueError, "no nodes"),
    "no nodes in a pair": ((np.zeros((0, 0)), []), ValueError, "no nodes"),
    "a number": (5, TypeError, "NetworkX"),
    "one label too few": ((RING, "CO"), ValueError, "2 labels"),
    "one direction only": ((np.triu(RING), "COC"), ValueError, "one direction"),
}
STRINGS = {
    "empty": ("", ValueError, "empty"),
    "a number": (5, TypeError, "string"),
    "bytes": (b"ab", TypeError, "string"),
    "nothing": (None, TypeError, "string"),
}
RANKINGS = {
    "an item twice in a list of items": (["a", "b", "a", "c"], TypeError, "order_ranks"),
    "too short": ([1.0, 2.0], ValueError, "2 entries"),
    "an infinite rank": ([1.0, np.inf, 2.0, 3.0], ValueError, "infinite"),
    "no rank known": ([np.nan] * 4, ValueError, "no item"),
    "a word": ("abcd", TypeError, "vector of ranks"),
}
KINDS = {  # kernels, how to make good objects, and what is bad for them
    "strings": (
        [Spectrum(2), Normalized(Subsequence(2, 0.5)), Mismatch(2, 1, "abcd")],
        lambda: good("strings"),
        STRINGS,
    ),
    "strings over an alphabet": (
        [Mismatch(2, 1, "abcd")],
        lambda: good("strings"),
        {"a letter outside": ("abxd", ValueError, "not in the alphabet")},
    ),
    "sequences": (
        [Positional(Delta()), Positional(Delta(), transitions=1.0)],
        lambda: good("sequences"),
        {
            "empty": ((), ValueError, "empty"),
            "a number": (5, TypeError, "sequence"),
            "a set": ({1, 2}, TypeError, "sequence"),
        },
    ),
    "rankings": (
        [Kendall(), Spearman(), Mallows(0.5)],
        lambda: [np.random.default_rng(i).permutation(4).tolist() for i in range(N)],
        RANKINGS,
    ),
    "sets": (
        [Jaccard()],
        lambda: good("sets"),
        {
            "a word": ("ab", TypeError, "set"),
            "a number": (5, TypeError, "set"),
            "a list in it": ([["a"]], TypeError, "hashed"),
        },
    ),
    "label sets": (
        [Hamming(list("abcdefghij"))],
        lambda: good("sets"),
        {
            "a label outside the training set": ({"a", "z"}, ValueError, "'z'"),
            "a word": ("ab", TypeError, "set"),
            "a row of another length": ([0, 1], TypeError, "10 zeros and ones"),
        },
    ),
    "graphs": ([WeisfeilerLehman(1), ShortestPath()], lambda: good("graphs"), GRAPHS),
    "series": (
        [GlobalAlignment(1.0)],
        lambda: good("series"),
        {
            "empty": ([], ValueError, "at least 1"),
            "not a number": ([0.0, np.nan], ValueError, "NaN"),
            "words": (["a", "b"], TypeError, "numbers"),
        },
    ),
}
TABLE = [
    pytest.param(kernel, make, bad, error, word, id=f"{type(kernel).__name__}-{kind}-{what}")
    for kind, (kernels, make, wrong) in KINDS.items()
    for kernel in kernels
    for what, (bad, error, word) in wrong.items()
]
VECTORS = np.random.default_rng(0).normal(size=(N, 3))
every_bad_object = pytest.mark.parametrize(("kernel", "make", "bad", "error", "word"), TABLE)


def spoilt(make, bad, place: int = PLACE) -> list:
    some = make()
    some[place] = bad
    return some


@every_bad_object
def test_as_inputs(kernel, make, bad, error, word, refuses):
    y = np.arange(N, dtype=float)
    with refuses(error, "`X`", str(PLACE), word):
        IOKR(kernel).fit(spoilt(make, bad), y)
    with refuses(error, "`X`", str(PLACE), word):
        weight = np.where(np.arange(N) < 4, 0.0, 1.0)  # rows that do not count are still counted
        IOKR(kernel).fit(spoilt(make, bad), y, sample_weight=weight)
    model = IOKR(kernel).fit(make(), y)
    for method in (model.predict, model.decision_function, model.weights):
        with refuses(error, "`X`", str(PLACE), word):
            method(spoilt(make, bad))


@every_bad_object
def test_as_outputs(kernel, make, bad, error, word, refuses):
    for model in (IOKR(RBF(0.5), output_kernel=kernel), OutputKernelTree(kernel), OutputKernelForest(kernel)):
        with refuses(error, "`y`", str(PLACE), word):
            model.fit(VECTORS, spoilt(make, bad))
    with refuses(error, "`y`", str(PLACE), word):
        weight = np.where(np.arange(N) < 4, 0.0, 1.0)
        IOKR(RBF(0.5), output_kernel=kernel).fit(VECTORS, spoilt(make, bad), sample_weight=weight)
    for model in (IOKR(RBF(0.5), output_kernel=kernel), OutputKernelTree(kernel)):
        model.fit(VECTORS, make())
        with refuses(error, "`y`", str(PLACE), word):
            model.score(VECTORS, spoilt(make, bad))


@every_bad_object
def test_as_candidates(kernel, make, bad, error, word, refuses, monkeypatch):
    some, more = spoilt(make, bad), [*make()[:3], *spoilt(make, bad)]  # three twice: the number does not change
    for two_at_a_time in (False, True):
        if two_at_a_time:
            monkeypatch.setattr(candidates_module, "_ROWS", 2)
            monkeypatch.setattr(candidates_module._Pool, "step", lambda pool, m: 2)
        for model in (IOKR(RBF(0.5), output_kernel=kernel), OutputKernelTree(kernel)):
            model.fit(VECTORS, make())
            for method in (model.predict, model.rank, model.scores, model.distances):
                with refuses(error, "`candidates`", str(PLACE), word):
                    method(VECTORS[:2], some)
                with refuses(error, "`candidates`", str(PLACE + 3), word):
                    method(VECTORS[:2], SharedCandidates(more))
                with refuses(error, "`candidates`", str(PLACE), "candidate set 1", word):
                    method(VECTORS[:2], CandidateSets([make()[:5], some]))
            with refuses(error, "`candidates`", str(PLACE), word):
                model.score(VECTORS, make(), candidates=some)


def test_an_order_that_names_an_item_twice(refuses):
    with refuses(ValueError, "Order 1", "'tea'", "twice"):
        order_ranks([["tea", "milk"], ["tea", "milk", "tea"]])
    with refuses(ValueError, "Order 2", "'gin'", "items"):
        order_ranks([["tea"], ["milk"], ["gin"]], items=["tea", "milk"])


def test_label_rows_with_other_values(refuses):
    Y = np.eye(4)[np.arange(N) % 4]
    wrong = Y.copy()
    wrong[PLACE, 2] = 3.0
    for bad in (wrong, sparse.csr_array(wrong)):
        with refuses(ValueError, "`y`", f"Row {PLACE}"):
            IOKR(RBF(0.5), output_kernel=Hamming()).fit(VECTORS, bad)
    model = IOKR(RBF(0.5), output_kernel=Hamming()).fit(VECTORS, Y)
    with refuses(ValueError, "`candidates`", f"Row {PLACE}"):
        model.rank(VECTORS, wrong)
    with refuses(ValueError, "4 labels", "5"):
        model.rank(VECTORS, np.zeros((2, 5)))


@pytest.mark.parametrize("output_kernel", [None, RBF(0.5)], ids=repr)
def test_other_objects_among_candidate_vectors(output_kernel, refuses):
    model = IOKR(RBF(0.5), output_kernel=output_kernel).fit(VECTORS, VECTORS)
    rows = VECTORS.tolist()
    expected = model.rank(VECTORS, VECTORS)[0]
    np.testing.assert_array_equal(model.rank(VECTORS, rows)[0], expected)
    np.testing.assert_array_equal(model.predict(VECTORS, CandidateSets([rows] * N)), model.predict(VECTORS, VECTORS))
    for bad in ("axe", None, [1.0], [1.0, 2.0, "a"], {1, 2, 3}):
        wrong = [*rows[:PLACE], bad, *rows[PLACE:]]
        for method in (model.rank, model.predict, model.scores, model.distances):
            with refuses(TypeError, "`candidates`", str(PLACE)):
                method(VECTORS, wrong)
            with refuses(TypeError, "`candidates`", str(PLACE), "candidate set 3"):
                method(VECTORS, CandidateSets([wrong if i == 3 else rows for i in range(N)]))


def test_row_numbers_among_candidates(refuses):
    model = IOKR(RBF(0.5), output_kernel=Precomputed(np.eye(20))).fit(VECTORS, np.arange(N))
    np.testing.assert_array_equal(model.predict(VECTORS, list(range(N))), model.predict(VECTORS, np.arange(N)))
    with refuses(TypeError, "`candidates`", "2"):
        model.rank(VECTORS, [0, 1, "a"])
    with refuses(ValueError, "row numbers", "from 0 to 19", "got 20"):
        model.rank(VECTORS, [0, 20])
