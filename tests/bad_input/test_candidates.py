"""Candidates that cannot be ranked."""

import numpy as np
import pytest

from iokr import IOKR, CandidateSets, SharedCandidates
from iokr.kernels import RBF, FromFunction

METHODS = {
    "scores": lambda model, X, candidates: model.scores(X, candidates),
    "distances": lambda model, X, candidates: model.distances(X, candidates),
    "rank": lambda model, X, candidates: model.rank(X, candidates),
    "predict": lambda model, X, candidates: model.predict(X, candidates),
    "score": lambda model, X, candidates: model.score(X, model.predict(X), candidates=candidates),
}


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


@pytest.fixture
def words(data):
    model = IOKR(RBF(0.5), output_kernel=FromFunction(lambda y, z: float(len(set(y) & set(z)))))
    return model.fit(data[0], ["axe", "bit", "cog"] * 4)


@pytest.mark.parametrize(
    "candidates", [5, 2.5, object(), {"axe", "bit"}, {"axe": 1}, iter(["axe"])], ids=lambda v: type(v).__name__
)
def test_candidates_of_an_unknown_kind(words, data, refuses, method, candidates):
    with refuses(TypeError, "candidates"):
        method(words, data[0], candidates)


def test_one_word_is_not_a_list_of_candidates(words, data, refuses, method):
    with refuses(TypeError, "candidates"):
        method(words, data[0], "axe")
    with refuses(TypeError, "candidates"):
        method(words, data[0], SharedCandidates("axe"))


@pytest.mark.parametrize("candidates", [[], (), np.array([]), SharedCandidates([])], ids=repr)
def test_no_candidates(words, data, refuses, method, candidates):
    with refuses(ValueError, "candidates", "empty"):
        method(words, data[0], candidates)


def test_no_candidate_vectors(fitted, data, refuses, method):
    with refuses(ValueError, "candidates", "empty"):
        method(fitted, data[0], np.zeros((0, 2)))


def test_one_empty_set_among_others(words, data, refuses, method):
    sets = [["axe"]] * 12
    sets[7] = []
    with refuses(ValueError, "candidate", "empty", "7"):
        method(words, data[0], CandidateSets(sets))


@pytest.mark.parametrize("n", [0, 1, 11, 13])
def test_sets_must_pair_up_with_inputs(words, data, refuses, method, n):
    with refuses(ValueError, "candidates", "12", str(n)):
        method(words, data[0], CandidateSets([["axe"]] * n))


@pytest.mark.parametrize("sets", [5, "axe", None, ["axe", "bit"], [5, 6]], ids=repr)
def test_sets_must_be_sequences_of_sequences(words, data, refuses, sets):
    with refuses(TypeError, "candidate"):
        words.predict(data[0][:2], CandidateSets(sets))


@pytest.mark.parametrize("name", ["scores", "distances", "rank"])
def test_candidates_are_required(words, data, refuses, name):
    with refuses(TypeError, "candidates"):
        getattr(words, name)(data[0])
    with refuses((TypeError, ValueError), "candidates"):
        getattr(words, name)(data[0], None)


def test_candidate_vectors_must_be_like_the_outputs(fitted, data, refuses, method):
    with refuses(ValueError, "3", "2"):
        method(fitted, data[0], np.zeros((4, 3)))
    with refuses(ValueError, "NaN"):
        method(fitted, data[0], np.full((4, 2), np.nan))
    with refuses((TypeError, ValueError), "candidates"):
        method(fitted, data[0], ["axe", "bit"])


def test_vectors_without_output_kernel_check_candidates_too(data, refuses):
    model = IOKR().fit(*data)
    with refuses(ValueError, "3", "2"):
        model.scores(data[0], np.zeros((4, 3)))
    with refuses(ValueError, "candidates", "empty"):
        model.rank(data[0], np.zeros((0, 2)))


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(words, data, refuses, k):
    with refuses(ValueError, "`k`", str(k)):
        words.rank(data[0], ["axe", "bit"], k=k)


@pytest.mark.parametrize("k", [1.5, "2", [1], True], ids=repr)
def test_k_must_be_an_integer(words, data, refuses, k):
    with refuses(TypeError, "`k`"):
        words.rank(data[0], ["axe", "bit"], k=k)


def test_k_beyond_the_candidates_gives_them_all(words, data):
    indices, values = words.rank(data[0], ["axe", "bit"], k=9)
    assert indices.shape == values.shape == (12, 2)


@pytest.mark.parametrize("rows", [slice(1, 2), slice(None)])
def test_outputs_with_missing_entries_are_no_candidates(data, refuses, rows):
    X, Y = data
    fitted = IOKR(RBF(0.5)).fit(X, Y)
    missing = np.array(Y, dtype=float)
    missing[rows] = np.nan
    with refuses(ValueError, "y"):
        fitted.score(X, missing, candidates=Y)
    assert fitted.score(X, np.array(Y, dtype=float), candidates=Y) <= 1.0
