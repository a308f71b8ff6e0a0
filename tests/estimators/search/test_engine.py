"""Every point of the grid is evaluated, one is chosen, `cv_results_` has scikit-learn's form, Ctrl-C keeps values.

Tests of `iokr.estimators.search.engine` and `iokr.estimators.search.result`.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

import iokr
from iokr import (
    IOKR,
    IOKRCV,
    Functional,
    FunctionalCV,
    LinkPredictor,
    LinkPredictorCV,
    MultiTask,
    MultiTaskCV,
    PairModel,
    PairModelCV,
    QuantileCurves,
    QuantileCurvesCV,
)
from iokr.estimators.search.engine import Part, search
from iokr.estimators.search.result import Axis, SearchResult, drop_single_axes, largest
from iokr.kernels import RBF, Linear, Nystroem
from iokr.losses import Huber
from iokr.manifolds import Laplacian

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + rng.normal(size=(24, 2)) / 5
LINKS = ((X[:, None] - X[None]) ** 2).sum(axis=2) < 2.5
np.fill_diagonal(LINKS, False)
PAIRS = np.array([(i, j) for i in range(24) for j in range(i)])
KERNELS = [RBF(0.1), RBF(1.0)]
ALPHAS = (0.01, 0.1, 1.0)
NETWORK = (X, LINKS.astype(float))
EDGES = (X, PAIRS, LINKS[PAIRS[:, 0], PAIRS[:, 1]])

SEARCHES = {  # search, data, the model that is chosen, whether larger is better
    "IOKRCV": (IOKRCV(KERNELS, alphas=ALPHAS), (X, Y), IOKR(), False),
    "IOKRCV folds": (IOKRCV(KERNELS, alphas=ALPHAS, cv=3, loss=Huber()), (X, Y), IOKR(), False),
    "IOKRCV manifold_weights": (
        IOKRCV(manifold=Laplacian(), manifold_weights=(0.1, 1.0), alphas=ALPHAS),
        (X, Y),
        IOKR(manifold=Laplacian()),
        False,
    ),
    "LinkPredictorCV": (LinkPredictorCV(KERNELS, alphas=ALPHAS), NETWORK, LinkPredictor(), True),
    "LinkPredictorCV folds": (LinkPredictorCV(KERNELS, alphas=ALPHAS, cv=3), NETWORK, LinkPredictor(), True),
    "PairModelCV": (PairModelCV(mixes=(0.0, 0.5), alphas=ALPHAS), EDGES, PairModel(), True),
    "PairModelCV folds": (
        PairModelCV(strategies=("kernel", "local"), mixes=(0.0, 0.5), alphas=ALPHAS, cv=3),
        EDGES,
        PairModel(),
        True,
    ),
    "MultiTaskCV": (MultiTaskCV(KERNELS, task_weights=(0.0, 0.5), alphas=ALPHAS), (X, Y), MultiTask(), False),
    "MultiTaskCV learned": (MultiTaskCV(learn_tasks=True, alphas=ALPHAS), (X, Y), MultiTask(), False),
    "FunctionalCV": (FunctionalCV(curve_kernel=KERNELS, alphas=ALPHAS), (X, Y), Functional(), False),
    "FunctionalCV folds": (FunctionalCV(KERNELS, alphas=ALPHAS, cv=3), (X, Y), Functional(), False),
    "QuantileCurvesCV": (
        QuantileCurvesCV(KERNELS, alphas=(0.1, 1.0), crossings=(0.0, 0.1), cv=3, levels=(0.3, 0.7)),
        (X, Y[:, 0]),
        QuantileCurves(),
        False,
    ),
}


def errors_of(model):
    return next(vars(model)[name] for name in ("loo_errors_", "cv_errors_", "scores_") if name in vars(model))


@pytest.mark.parametrize("name", SEARCHES)
def test_table(name):
    search, data, plain, larger = SEARCHES[name]
    model = search.fit(*data)
    results = model.cv_results_
    frame = pd.DataFrame(results)
    values = errors_of(model)
    assert_allclose(frame["mean_test_score"], values.ravel() * (1 if larger else -1), rtol=1e-12)
    assert frame["rank_test_score"].min() == 1 and len(frame) == values.size
    best = np.ravel_multi_index(model.best_index_, values.shape)
    if "Link" not in name:  # the soft choice is not the largest score
        assert frame["rank_test_score"][best] == 1
    names = [column.removeprefix("param_") for column in frame if column.startswith("param_")]
    assert "alpha" in names
    for k, params in enumerate(results["params"]):
        assert set(params) == set(names)
        assert all(params[n] is results[f"param_{n}"][k] or params[n] == results[f"param_{n}"][k] for n in names)
    plain.set_params(**{n: v for n, v in results["params"][0].items() if n != "width"})  # names of the chosen model
    splits = [column for column in frame if column.startswith("split")]
    assert len(splits) == (3 if getattr(model, "cv", None) else 0)
    assert ("std_test_score" in frame) == bool(splits)
    assert not [column for column in frame if "time" in column]
    assert model.interrupted_ is False


def test_means_and_spreads_of_folds_are_scikit_learns():
    model = IOKRCV(RBF(0.5), alphas=ALPHAS, cv=KFold(4)).fit(X, Y)
    score = lambda fitted, X, y: -np.mean(((y - fitted.predict(X)) ** 2).sum(axis=1))  # noqa: E731
    theirs = GridSearchCV(IOKR(RBF(0.5)), {"alpha": ALPHAS}, cv=KFold(4), scoring=score).fit(X, Y).cv_results_
    for name, values in model.cv_results_.items():
        if name != "params":
            assert_allclose(np.asarray(values, dtype=float), np.asarray(theirs[name], dtype=float), rtol=1e-10)
    assert model.cv_results_["params"] == theirs["params"]


def test_folds_of_different_sizes_and_weights():
    weight = rng.uniform(size=24)
    model = IOKRCV(RBF(0.5), alphas=ALPHAS, cv=5).fit(X, Y, sample_weight=weight)
    results = model.cv_results_
    split = np.array([results[f"split{k}_test_score"] for k in range(5)])
    share = np.array([weight[test].sum() for _, test in KFold(5).split(X)])
    assert_allclose(share @ split / share.sum(), results["mean_test_score"], rtol=1e-12)


def test_chunks_have_a_table_too():
    chunks = iokr.Stream(lambda: iter([(X[:12], Y[:12]), (X[12:], Y[12:])]))
    model = IOKRCV(Nystroem(RBF(0.5), 5), alphas=ALPHAS).fit(chunks)
    assert_allclose(model.cv_results_["mean_test_score"], -model.loo_errors_)


def test_unknown_scores_come_last():
    scores = np.array([np.nan, 1.0, 2.0])
    found = SearchResult((Axis("alpha", [1.0, 2.0, 3.0]),), scores, True, {"score": scores})
    assert_array_equal(found.table()["rank_test_score"], [3, 2, 1])


def test_nothing_before_fit():
    assert not hasattr(IOKRCV(), "cv_results_")


def test_saved_with_the_model(tmp_path):
    model = IOKRCV([RBF(0.1), Linear()], alphas=ALPHAS, cv=3).fit(X, Y)
    iokr.save(model, tmp_path / "m.safetensors")
    again = iokr.load(tmp_path / "m.safetensors").cv_results_
    assert_allclose(again["mean_test_score"], model.cv_results_["mean_test_score"])
    assert repr(again["params"]) == repr(model.cv_results_["params"])


class Impatient(RBF):
    """Ctrl-C comes when the kernel is fitted for the n-th time."""

    left = 1

    def fit(self, X):
        type(self).left -= 1
        if type(self).left < 0:
            raise KeyboardInterrupt
        return super().fit(X)


INTERRUPTED = {  # how often the kernel is fitted before, searches with two kernels, how much is known
    "IOKRCV": (0, lambda k: IOKRCV(k, alphas=ALPHAS), (X, Y), 3),
    "IOKRCV folds": (1, lambda k: IOKRCV(k, alphas=ALPHAS, cv=3), (X, Y), 6),
    "LinkPredictorCV": (0, lambda k: LinkPredictorCV(k, alphas=ALPHAS), NETWORK, 3),
    "LinkPredictorCV folds": (1, lambda k: LinkPredictorCV(k, alphas=ALPHAS, cv=3), NETWORK, 6),
    "PairModelCV": (0, lambda k: PairModelCV(k, alphas=ALPHAS), EDGES, 3),
    "MultiTaskCV": (0, lambda k: MultiTaskCV(k, task_weights=(0.0, 0.5), alphas=ALPHAS), (X, Y), 6),
    "FunctionalCV": (0, lambda k: FunctionalCV(k, alphas=ALPHAS), (X, Y), 3),
    "FunctionalCV folds": (1, lambda k: FunctionalCV(k, alphas=ALPHAS, cv=3), (X, Y), 6),
    "QuantileCurvesCV": (
        1,
        lambda k: QuantileCurvesCV(k, alphas=(0.1, 1.0), crossings=(0.0,), levels=(0.3, 0.7), cv=3),
        (X, Y[:, 0]),
        4,
    ),
}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupted_search_keeps_what_is_known(name, again):
    before, make, data, known = INTERRUPTED[name]
    model = make([RBF(0.1), Impatient(1.0)])
    if again:
        Impatient.left = 10**9
        model.fit(*data)
    Impatient.left = before
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert model.interrupted_ is True
    values = errors_of(model)
    assert values.shape == (2, *values.shape[1:])
    assert np.isfinite(values).sum() == known
    scores = model.cv_results_["mean_test_score"]
    assert np.isfinite(scores).sum() == known
    assert np.isfinite(scores[model.cv_results_["rank_test_score"] == 1]).all()
    with pytest.raises(NotFittedError):
        model.decision_function(*([PAIRS] if name == "PairModelCV" else [X])) if hasattr(
            model, "decision_function"
        ) else model.predict(X)
    whole = make([RBF(0.1), RBF(1.0)]).fit(*data)
    if "folds" not in name and "Quantile" not in name:
        first = values[np.isfinite(values)]
        assert_allclose(first, errors_of(whole).ravel()[: len(first)], rtol=1e-10)
    Impatient.left = 10**9
    assert model.fit(*data).interrupted_ is False


AXES = (Axis("kernel", ["a", "b"]), Axis("alpha", [1.0, 2.0, 4.0]))
ERRORS = np.array([[3.0, 1.0, 2.0], [5.0, 1.0, 1.0]])


def test_a_path_a_part_and_the_first_of_equal_values():
    solved = []
    parts = [Part((i,), ERRORS[i], solve=lambda choice, i=i: solved.append((i, choice.value))) for i in (1, 0)]
    found = search(AXES, parts)
    assert_array_equal(found.values, ERRORS)
    assert found.best == {"kernel": "a", "alpha": 2.0} and found.best_index == (0, 1)
    assert solved == [(1, 2.0), (0, 2.0)]  # equal errors: the first on the grid, in whatever order they come
    assert found.folds is None and not found.interrupted and not found.larger


def test_points_one_by_one_are_solved_when_their_path_is_known():
    solved = []
    parts = [Part((i, k), ERRORS[i, k], solve=solved.append) for i in range(2) for k in range(3)]
    found = search(AXES, parts, solve=lambda result: result.best["alpha"])
    assert [choice.index for choice in solved] == [1]
    assert found.solution == 2.0  # the parts' solve gave nothing


def test_scores_are_maximised():
    found = search(AXES, [Part((i,), ERRORS[i]) for i in range(2)], rule=largest)
    assert found.larger and found.best == {"kernel": "b", "alpha": 1.0}
    assert_array_equal(found.scores, ERRORS)


def test_folds_are_weighed():
    def evaluate():
        yield Part((), np.array([2.0, 6.0]), fold=0, weight=2.0)
        yield Part((0,), 30.0, fold=1, weight=6.0)
        raise KeyboardInterrupt

    found = search([Axis("alpha", [1.0, 2.0])], evaluate(), n_folds=2)
    assert found.interrupted
    assert_allclose(found.values, [32 / 8, 3.0])
    assert_allclose(found.folds, [[1.0, 3.0], [5.0, np.nan]])
    assert_array_equal(found.weights, [2.0, 6.0])


def test_progress_counts_values():
    said = []
    parts = [Part((i,), ERRORS[i], fold=f) for f in range(2) for i in range(2)]
    search(AXES, parts, n_folds=2, progress=lambda *arguments: said.append(arguments))
    assert said[0] == (3, 12, "kernel 1 of 2, fold 1 of 2") and said[-1] == (12, 12, "kernel 2 of 2, fold 2 of 2")


def test_no_finite_value_is_an_error():
    with pytest.raises(ValueError, match="finite"):
        search(AXES, [Part((i,), np.full(3, np.nan)) for i in range(2)])


def test_axes_of_length_one_are_dropped():
    squeezed, index = drop_single_axes(ERRORS[:, None], (1, 0, 2))
    assert_array_equal(squeezed, ERRORS)
    assert index == (1, 2)
    assert drop_single_axes(np.ones((1, 1)), (0, 0))[1] == ()


def test_the_result_keeps_every_axis_and_its_name():
    found = IOKRCV(RBF(0.5), alphas=ALPHAS, cv=3).fit(X, Y).search_
    assert [axis.name for axis in found.axes] == ["kernel", "manifold__weight", "alpha"]
    assert found.values.shape == (1, 1, 3) and found.folds.shape == (3, 1, 1, 3)
    assert found.solution is None
