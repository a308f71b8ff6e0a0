"""Pipelines, candidates and unlabelled inputs through metadata routing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from iokr import IOKR, IOKRCV, CandidateSets, SharedCandidates, Unlabeled
from iokr.kernels import RBF, FromFunction
from iokr.manifolds import Laplacian

N = 24
WORDS = ["axe", "bit", "cog", "dim", "elk", "fun"]


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def shared_letters(x, z):
    return float(len(set(x) & set(z)))


def problem(seed=0):
    """Inputs, words that depend on them, and a different set of candidates for every input."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, size=N)
    X = rng.normal(size=(N, 6)) + 2.0 * np.eye(6)[kind]
    y = [WORDS[k] for k in kind]
    sets = [[word, *rng.choice(WORDS, size=rng.integers(1, 4))] for word in y]
    for words in sets:
        rng.shuffle(words)
    return X, y, sets


def word_model(**params):
    return IOKR(RBF(0.1), output_kernel=FromFunction(shared_letters), alpha=0.1, **params)


def accuracy(found, true):
    return np.mean([f == t for f, t in zip(found, true, strict=True)])


def by_hand(X, y, cv, candidates_of, model=None):
    """Top-1 accuracy of every fold."""
    scores = []
    for train, test in cv.split(X):
        fitted = (model or word_model()).fit(X[train], [y[i] for i in train])
        scores.append(accuracy(fitted.predict(X[test], candidates_of(test)), [y[i] for i in test]))
    return scores


@pytest.mark.parametrize("model", [IOKR(), IOKRCV()], ids=["IOKR", "IOKRCV"])
def test_what_can_be_routed(model):
    requests = model.get_metadata_routing()
    more = {"groups"} if isinstance(model, IOKRCV) else set()
    assert set(requests.fit.requests) == {"sample_weight", "X_unlabeled"} | more
    assert set(requests.predict.requests) == {"candidates"}
    assert set(requests.score.requests) == {"sample_weight", "candidates"}


def test_pipeline_equals_its_steps():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)) * [1.0, 10.0, 0.1] + 5.0, rng.normal(size=(N, 2))
    scaler = StandardScaler().fit(X)
    expected = IOKR().fit(scaler.transform(X), Y)
    pipeline = make_pipeline(StandardScaler(), IOKR()).fit(X, Y)
    assert_allclose(pipeline.predict(X), expected.predict(scaler.transform(X)), rtol=1e-12)
    assert_allclose(pipeline.decision_function(X), expected.decision_function(scaler.transform(X)), rtol=1e-12)
    assert pipeline.score(X, Y) == pytest.approx(expected.score(scaler.transform(X), Y), rel=1e-12)


def test_grid_search_of_a_pipeline():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)) * [1.0, 10.0, 0.1], rng.normal(size=(N, 2))
    pipeline = make_pipeline(StandardScaler(), IOKR(RBF(1.0)))
    search = GridSearchCV(pipeline, {"iokr__kernel__gamma": [0.1, 1.0], "iokr__alpha": [0.1]}, cv=3).fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(set(search.cv_results_["mean_test_score"])) == 2


def test_pipeline_transforms_unlabelled_inputs():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)) * [1.0, 10.0, 0.1], rng.normal(size=(N, 2))
    X_unlabeled = rng.normal(size=(30, 3)) * [1.0, 10.0, 0.1]
    model = IOKR(RBF(0.5), manifold=Laplacian(0.3)).set_fit_request(X_unlabeled=True)
    steps = [("scale", StandardScaler()), ("iokr", model)]
    pipeline = Pipeline(steps, transform_input=["X_unlabeled"]).fit(X, Y, X_unlabeled=X_unlabeled)

    scaler = StandardScaler().fit(X)
    expected = IOKR(RBF(0.5), manifold=Laplacian(0.3))
    expected.fit(scaler.transform(X), Y, X_unlabeled=scaler.transform(X_unlabeled))
    assert_allclose(pipeline.predict(X), expected.predict(scaler.transform(X)), rtol=1e-10)
    supervised = IOKR(RBF(0.5)).fit(scaler.transform(X), Y)
    assert np.abs(pipeline.predict(X) - supervised.predict(scaler.transform(X))).max() > 1e-3


def test_unlabeled_is_what_it_wraps():
    rng = np.random.default_rng(0)
    X, Y, more = rng.normal(size=(N, 3)), rng.normal(size=(N, 2)), rng.normal(size=(N, 3))
    model = IOKR(RBF(0.5), manifold=Laplacian(0.3))
    wrapped = model.fit(X, Y, X_unlabeled=Unlabeled(more)).predict(X)
    assert_array_equal(wrapped, model.fit(X, Y, X_unlabeled=more).predict(X))


def test_folds_do_not_split_unlabelled_inputs():
    rng = np.random.default_rng(0)
    X, Y, more = rng.normal(size=(N, 3)), rng.normal(size=(N, 2)), rng.normal(size=(N, 3))
    model = IOKR(RBF(0.5), manifold=Laplacian(0.3), alpha=0.1).set_fit_request(X_unlabeled=True)
    cv = KFold(3)
    grid = {"manifold__weight": [0.01, 1.0]}
    search = GridSearchCV(model, grid, cv=cv, error_score="raise").fit(X, Y, X_unlabeled=Unlabeled(more))
    for manifold_weight, mean in zip([0.01, 1.0], search.cv_results_["mean_test_score"], strict=True):
        scores = []
        for train, test in cv.split(X):
            fitted = IOKR(RBF(0.5), manifold=Laplacian(manifold_weight), alpha=0.1)
            fitted.fit(X[train], Y[train], X_unlabeled=more)
            scores.append(fitted.score(X[test], Y[test]))
        assert_allclose(mean, np.mean(scores), rtol=1e-10)


def test_wrappers_have_no_length():
    for wrapper in SharedCandidates(WORDS), Unlabeled(np.zeros((3, 2))):
        with pytest.raises(TypeError):
            len(wrapper)
        assert not hasattr(wrapper, "shape")
        assert not hasattr(wrapper, "__array__")


def test_shared_candidates_reach_every_fold_whole():
    X, y, _ = problem()
    cv = KFold(3)
    candidates = (WORDS * 4)[:N]  # as many as inputs: a plain list would be cut
    model = word_model().set_score_request(candidates=True)
    result = cross_validate(
        model, X, y, cv=cv, params={"candidates": SharedCandidates(candidates)}, error_score="raise"
    )
    assert_allclose(result["test_score"], by_hand(X, y, cv, lambda test: candidates))
    assert result["test_score"].mean() > 0.3


def test_candidate_sets_are_split_with_the_rows():
    X, y, sets = problem()
    cv = KFold(3, shuffle=True, random_state=0)
    model = word_model().set_score_request(candidates=True)
    result = cross_validate(model, X, y, cv=cv, params={"candidates": CandidateSets(sets)}, error_score="raise")
    expected = by_hand(X, y, cv, lambda test: CandidateSets([sets[i] for i in test]))
    assert_allclose(result["test_score"], expected)
    assert len(set(expected)) > 1


@pytest.mark.parametrize("kind", ["shared", "sets"])
def test_grid_search_with_candidates(kind):
    X, y, sets = problem()
    cv = KFold(3)
    candidates = SharedCandidates(WORDS) if kind == "shared" else CandidateSets(sets)
    model = word_model().set_score_request(candidates=True)
    search = GridSearchCV(model, {"kernel__gamma": [0.1, 100.0]}, cv=cv, error_score="raise")
    search.fit(X, y, candidates=candidates)
    for gamma, mean in zip([0.1, 100.0], search.cv_results_["mean_test_score"], strict=True):
        scores = by_hand(
            *(X, y, cv),
            lambda test: WORDS if kind == "shared" else CandidateSets([sets[i] for i in test]),
            word_model().set_params(kernel__gamma=gamma),
        )
        assert_allclose(mean, np.mean(scores))
    assert search.best_params_ == {"kernel__gamma": 0.1}
    whole = search.score(X, y, candidates=candidates)
    assert whole == accuracy(search.best_estimator_.predict(X, candidates), y)


def test_candidates_through_a_pipeline():
    X, y, sets = problem()
    model = word_model().set_score_request(candidates=True).set_predict_request(candidates=True)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    expected = word_model().fit(scaled, y)
    for candidates in ["axe", "elk"], SharedCandidates(["axe", "elk"]), CandidateSets(sets):
        found = pipeline.predict(X, candidates=candidates)
        assert_array_equal(found, expected.predict(scaled, candidates))
        assert pipeline.score(X, y, candidates=candidates) == accuracy(found, y)
    assert set(pipeline.predict(X, candidates=["axe", "elk"])) <= {"axe", "elk"}


def test_candidate_sets_stay_themselves_when_indexed():
    sets = CandidateSets([["a"], ["b", "c"], ["d", "e", "f"]])
    assert len(sets) == 3
    assert sets.shape[0] == 3
    chosen = {
        "indices": sets[np.array([2, 0])],
        "list": sets[[2, 0]],
        "mask": sets[np.array([True, False, True])],
        "slice": sets[::2],
        "array call": sets[np.array([2, 0]), ...],  # as scikit-learn 1.9 asks
    }
    for how, part in chosen.items():
        assert isinstance(part, CandidateSets), how
        assert len(part) == 2, how
    X, y, _ = problem()
    model = word_model().fit(X, y)
    _, values = model.rank(X[:2], CandidateSets([["axe", "elk", "fun"], ["bit"]])[np.array([1, 0])])
    assert [len(v) for v in values] == [1, 3]


def test_sample_weight_is_routed():
    rng = np.random.default_rng(0)
    X, Y, weight = rng.normal(size=(N, 3)), rng.normal(size=(N, 2)), rng.uniform(size=N)
    model = IOKR().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    cv = KFold(3)
    result = cross_validate(model, X, Y, cv=cv, params={"sample_weight": weight}, error_score="raise")
    expected = [
        IOKR().fit(X[a], Y[a], sample_weight=weight[a]).score(X[b], Y[b], sample_weight=weight[b])
        for a, b in cv.split(X)
    ]
    assert_allclose(result["test_score"], expected)
