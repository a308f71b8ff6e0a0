"""Strings near h(x) under a spectrum kernel, beside trying all strings, and the bound."""

from itertools import product

import numpy as np
import pytest

from iokr import IOKR
from iokr.decoders import NGramPath
from iokr.kernels import RBF, Normalized, Spectrum
from reference import assert_close
from samples import vectors


def words(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), size=size)) for size in rng.integers(2, 6, size=n)]


def every_word(longest: int, n: int) -> list[str]:
    return ["".join(w) for size in range(n, longest + 1) for w in product("abc", repeat=size)]


@pytest.fixture(params=[Spectrum(2), Normalized(Spectrum(2)), 3.0 * Spectrum(2), Spectrum(1)], ids=repr)
def model(request):
    X, Y = vectors(15, seed=1), words(15)
    decoder = NGramPath(width=500, max_length=5)
    return IOKR(RBF(0.5), output_kernel=request.param, alpha=0.2, decoder=decoder).fit(X, Y)


def test_a_wide_beam_finds_the_nearest_of_all_words(model):
    """Over the n-grams seen; with these data all are."""
    new = vectors(8, seed=2)
    assert {"".join(w) for w in product("abc", repeat=2)} <= {
        y[i : i + 2] for y in words(15) for i in range(len(y) - 1)
    }
    n = 1 if "n=1" in repr(model.output_kernel) else 2
    best = model.distances(new, every_word(5, n)).min(axis=1)
    assert_close(np.diag(model.distances(new, model.predict(new))), best, 1e-12)


def test_costs_and_bounds(model):
    new = vectors(8, seed=2)
    H = model.decision_function(new)
    found, costs, bounds = model.decoder_.solve(H, model.embedding_)
    factor = getattr(model.output_kernel, "factor", 1.0)
    rest = np.diag(model.distances(new, found)) - model.embedding_.sq_norms_of(H)
    unit = 1.0 if isinstance(model.output_kernel, Normalized) else 0.0
    assert_close(factor * costs + unit, rest, 1e-10, atol=1e-12)
    assert np.all(bounds <= costs)
    longer = model.distances(new, every_word(7, 2)).min(axis=1) - model.embedding_.sq_norms_of(H)
    assert np.all(factor * bounds + unit <= longer + 1e-9)


@pytest.mark.parametrize("width", [1, 3])
def test_never_worse_than_the_best_training_output(width):
    X, Y, new = vectors(15, seed=1), words(15), vectors(8, seed=2)
    model = IOKR(RBF(0.5), output_kernel=Spectrum(2), alpha=0.2, decoder=NGramPath(width)).fit(X, Y)
    assert np.all(np.diag(model.distances(new, model.predict(new))) <= model.distances(new, Y).min(axis=1) + 1e-12)
    assert all(len(word) <= 5 for word in model.predict(new))


def test_a_word_that_was_not_there():
    X = [[1, 0, 0, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]
    model = IOKR(RBF(0.1), output_kernel=Spectrum(2), decoder=NGramPath(), alpha=1e-3)
    model.fit(X, ["walk", "walked", "talk", "sing"])
    assert model.predict([[0, 1, 0, 1]]).tolist() == ["talked"]


def test_bad_parameters():
    with pytest.raises(ValueError, match="`width` must be an integer of at least 1"):
        IOKR(output_kernel=Spectrum(2), decoder=NGramPath(0)).fit(vectors(3), words(3))
