"""The nearest of all sequences, beside trying them all.

Tests of `iokr.decoders.positions`.
"""

from itertools import product

import numpy as np
import pytest

from iokr import IOKR
from iokr.decoders import Positions, positions
from iokr.kernels import RBF, Delta, Normalized, Positional
from reference import assert_close
from samples import vectors


def words(n: int, sizes=(1, 5), seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), size=size)) for size in rng.integers(*sizes, size=n)]


def every_word(longest: int) -> list[str]:
    return ["".join(w) for size in range(1, longest + 1) for w in product("abc", repeat=size)]


STEPS = Positional(Delta(), transitions=1.5)
KERNELS = [Positional(Delta()), Normalized(Positional(Delta())), 0.3 * Positional(Delta())]


@pytest.mark.parametrize("kernel", [*KERNELS, STEPS, Normalized(STEPS), 2.0 * STEPS], ids=repr)
def test_is_the_nearest_of_all_words(kernel):
    X, new, Y = vectors(12, seed=1), vectors(9, seed=2), words(12)
    model = IOKR(RBF(0.3), output_kernel=kernel, alpha=0.2, decoder=Positions()).fit(X, Y)
    found = model.predict(new)
    assert all(isinstance(word, str) for word in found)
    assert_close(np.diag(model.distances(new, found)), model.distances(new, every_word(5)).min(axis=1), 1e-12)
    assert len({len(word) for word in found}) > 1


@pytest.mark.parametrize("transitions", [0.0, 0.4, 5.0])
def test_words_of_one_length(transitions):
    X, new, Y = vectors(12, seed=1), vectors(9, seed=2), words(12, sizes=(4, 5))
    kernel = Positional(Delta(), transitions=transitions)
    model = IOKR(RBF(1.0), output_kernel=kernel, alpha=0.2, decoder=Positions()).fit(X, Y)
    found = model.predict(new)
    best = model.distances(new, ["".join(w) for w in product("abc", repeat=4)]).min(axis=1)
    assert_close(np.diag(model.distances(new, found)), best, 1e-12)


@pytest.mark.parametrize("transitions", [0.0, 0.7])
def test_given_lengths(transitions, monkeypatch):
    X, Y = vectors(12, seed=1), words(12)
    kernel = Positional(Delta(), transitions=transitions)
    model = IOKR(RBF(1.0), output_kernel=kernel, alpha=0.2, decoder=Positions()).fit(X, Y)
    H, lengths = model.decision_function(X), [len(y) for y in Y]
    found = model.decoder_.decode(H, model.embedding_, lengths=lengths)
    assert [len(word) for word in found] == lengths
    best = [model.distances(X[i : i + 1], [w for w in every_word(5) if len(w) == k]) for i, k in enumerate(lengths)]
    assert_close(np.diag(model.distances(X, found)), [row.min() for row in best], 1e-12)
    monkeypatch.setattr(positions, "_ENTRIES", 20)  # a row or two at a time
    assert list(model.decoder_.decode(H, model.embedding_, lengths=lengths)) == list(found)


def test_transitions_keep_together_what_was_seen_together():
    """After the first letter a, b is the better second letter by itself, but c was seen after a."""
    X, Y = np.zeros((5, 1)), ["ac", "ac", "db", "eb", "fb"]
    alone = IOKR(RBF(1.0), output_kernel=Positional(Delta()), decoder=Positions(), alpha=0.1).fit(X, Y)
    steps = IOKR(RBF(1.0), output_kernel=Positional(Delta(), transitions=2.0), decoder=Positions(), alpha=0.1).fit(X, Y)
    assert alone.predict(X[:1])[0] == "ab"
    assert steps.predict(X[:1])[0] == "ac"


def test_rows_of_labels_tuples_and_lists():
    X = np.arange(3.0)[:, None]
    rows = np.array([[1, 2, 3], [1, 1, 2], [3, 3, 3]])
    for Y in (rows, [tuple(row) for row in rows.tolist()], rows.tolist()):
        model = IOKR(RBF(2.0), output_kernel=Positional(Delta()), alpha=1e-3, decoder=Positions()).fit(X, Y)
        found = model.predict(X)
        np.testing.assert_array_equal(np.stack([np.asarray(y) for y in found]), rows)
        assert type(found[0]) is type(Y[0])


def test_a_letter_that_was_never_there_beats_one_with_a_negative_weight():
    X = np.array([[0.0], [1.0], [2.0]])
    model = IOKR(RBF(0.2), output_kernel=Positional(Delta()), alpha=1e-4, decoder=Positions()).fit(X, ["a", "b", "ca"])
    found, best = model.predict([[5.0]]), model.distances([[5.0]], every_word(2)).min()
    assert model.distances([[5.0]], found)[0, 0] == pytest.approx(best)


def test_single_precision_inputs():
    X = vectors(6).astype(np.float32)
    model = IOKR(RBF(1.0), output_kernel=Positional(Delta()), alpha=0.1, decoder=Positions()).fit(X, words(6))
    assert all(isinstance(word, str) for word in model.predict(X))
