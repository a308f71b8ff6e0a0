"""Label sets: F1 is a kernel with an exact best set, no row tells on itself, kernel ridge is scikit-learn's.

Tests of `iokr_lab.label_sets.protocol`, `iokr_lab.label_sets.ridge` and `iokr_lab.label_sets.sets`.
"""

import dataclasses
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler

from iokr import IOKR
from iokr.apps.report import Figure
from iokr.datasets import DataNotFound
from iokr.embeddings import Nystroem as FewOutputs
from iokr.kernels import RBF, Tanimoto
from iokr.metrics import f1_samples
from iokr.solvers import Eigen
from iokr_lab import find
from iokr_lab.data import MultiLabel, load_multilabel
from iokr_lab.label_sets import protocol
from iokr_lab.label_sets.multilabel import STUDY
from iokr_lab.label_sets.protocol import METHODS, OURS, Seeds, logistic, random_forests, ridges, task_of
from iokr_lab.label_sets.ridge import FactoredRidge, by_f1, by_labels, by_seen_sets
from iokr_lab.label_sets.sets import THRESHOLDS, F1Map, best_threshold, nearest_sets
from iokr_lab.study import run


def rows_of(rng, n, p=6, d=4):
    """Labels that depend on the features; some sets are empty, some common, some seen once."""
    X = rng.normal(size=(n, p))
    return X, (X @ rng.normal(size=(p, d)) + 0.3 * rng.normal(size=(n, d)) > 0.7).astype(float)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data(rng):
    X, Y = rows_of(rng, 60)
    return MultiLabel(X, Y, 40, ("a", "b", "c", "d"))


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(protocol, "N_TREES", 16)
    monkeypatch.setattr(protocol, "ALPHAS", (0.1, 1.0))
    monkeypatch.setattr(protocol, "WIDTHS", (0.5, 1.0))


# ------------------------------------------------------------------------------------------------------------- sets


def test_inner_products_of_the_map_are_f1(rng):
    Y = (rng.random((30, 7)) < 0.4).astype(float)
    Y[0] = Y[1] = 0
    Z = F1Map(7, 7).transform(Y)
    expected = [[f1_samples(y[None], z[None]) for z in Y] for y in Y]
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-4)


def test_best_set_is_that_of_an_exhaustive_search(rng):
    d = 5
    Y, everything = (rng.random((25, d)) < 0.4).astype(float), np.array(list(product([0.0, 1.0], repeat=d)))
    f1, beta = F1Map(d, d), rng.normal(size=(40, 25))  # weights of ridge have both signs
    expected = beta @ np.array([[f1_samples(y[None], z[None]) for z in everything] for y in Y])
    sets = f1.best_sets(beta @ f1.transform(Y))
    reached = [score[(everything == one).all(axis=1)][0] for score, one in zip(expected, sets, strict=True)]
    np.testing.assert_allclose(reached, expected.max(axis=1), atol=1e-3)
    assert {0, 1} <= set(sets.sum(axis=1))  # also the empty set


def test_sets_are_no_larger_than_the_largest(rng):
    f1 = F1Map(6, 2)
    H = np.full((1, f1.transform(np.zeros((1, 6))).shape[1]), 1.0)
    assert f1.best_sets(H).sum() <= 2
    with pytest.raises(ValueError, match="at most 2 labels per row, got more in row 1"):
        f1.transform([[0] * 6, [1] * 6])


def test_a_set_of_its_own_is_no_candidate():
    Y = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
    embedding = FewOutputs(n_components=10)
    Psi = embedding.fit_transform(Y, Tanimoto().fit(Y))  # h(x_i) = ψ(y_i): each row would find itself
    sets = nearest_sets(Psi, embedding, Y)
    np.testing.assert_array_equal(sets[1:3], Y[1:3])  # two rows have this set
    np.testing.assert_array_equal(sets[0], Y[1])  # the nearest of the others
    assert not np.array_equal(sets[3], Y[3])


def test_threshold_has_the_best_f1(rng):
    Y = (rng.random((50, 4)) < 0.3).astype(float)
    scores = 0.3 * Y + 0.3 * rng.random((50, 4))
    found = f1_samples(Y, scores > best_threshold(Y, scores))
    assert found == max(f1_samples(Y, scores > threshold) for threshold in THRESHOLDS)
    assert found > f1_samples(Y, scores > 0.5)


# ------------------------------------------------------------------------------------------------------------ ridge


def test_ridge_on_labels_is_that_of_scikit_learn(data):
    X, Y, X_test = data.X[:40], data.Y[:40], data.X[40:]
    ridge = FactoredRidge(RBF(0.1), X, Eigen())
    theirs = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.1)
    np.testing.assert_allclose(ridge.values(Y, 0.3, X_test), theirs.fit(X, Y).predict(X_test), atol=1e-10)
    left_out = ridge.left_out(Y, 0.3)
    for i in (0, 7, 39):
        rest = np.arange(40) != i
        np.testing.assert_allclose(left_out[i], theirs.fit(X[rest], Y[rest]).predict(X[[i]])[0], atol=1e-10)


@pytest.mark.parametrize("output_kernel", [Tanimoto(), RBF(0.3)], ids=["Tanimoto", "RBF"])
def test_nearest_seen_sets_are_those_of_iokr(data, output_kernel):
    X, Y, X_test = data.X[:40], data.Y[:40], data.X[40:]
    ridge = FactoredRidge(RBF(0.1), X, Eigen())
    sets, name, alpha = by_seen_sets(ridge, Y, {"one": output_kernel}, (0.1, 1.0), 100, X_test)
    assert name == "one" and alpha in (0.1, 1.0)
    expected = IOKR(RBF(0.1), output_kernel=output_kernel, alpha=alpha).fit(X, Y).predict(X_test)
    np.testing.assert_array_equal(sets, expected)


def test_alpha_has_the_best_f1_left_out(data):
    X, Y = data.X[:40], data.Y[:40]
    ridge, f1, alphas = FactoredRidge(RBF(0.1), X, Eigen()), F1Map(4, 4), (0.01, 0.3, 30.0)
    by = {alpha: f1_samples(Y, f1.best_sets(ridge.left_out(f1.transform(Y), alpha))) for alpha in alphas}
    sets, alpha = by_f1(ridge, Y, f1, alphas, data.X[40:])
    assert by[alpha] == max(by.values()) and len(set(by.values())) > 1
    np.testing.assert_array_equal(sets, f1.best_sets(ridge.values(f1.transform(Y), alpha, data.X[40:])))
    best, alpha, scores = by_labels(ridge, Y, alphas)
    assert best == f1_samples(Y, scores > best_threshold(Y, scores))
    np.testing.assert_array_equal(scores, ridge.left_out(Y, alpha))


# --------------------------------------------------------------------------------------------------------- protocol


def test_test_rows_change_only_their_own_predictions(quick, data):
    """Scaling, choices and models see the training part alone."""
    X = data.X.copy()
    X[50:] = 1e3  # the last ten test rows
    for method_of in (ridges, lambda task: logistic(task, 0)):
        one = dict(method_of(task_of(data)))
        other = dict(method_of(task_of(MultiLabel(X, data.Y, 40, data.label_names))))
        for method, answer in one.items():
            assert answer.chosen == other[method].chosen
            np.testing.assert_array_equal(answer.sets[:10], other[method].sets[:10])


def test_columns_are_scaled_by_the_training_part(data):
    task = task_of(data)
    np.testing.assert_allclose(task.unit_test, StandardScaler().fit(data.X[:40]).transform(data.X[40:]))
    assert len(task.X) == len(task.Y) == 40 and len(task.X_test) == len(task.Y_test) == 20


def test_sparse_rows_take_the_low_rank_route(quick, data):
    sparse = MultiLabel(csr_array((data.X > 0.5).astype(float)), data.Y, 40, data.label_names)
    found = dict(ridges(task_of(sparse)))
    assert all(one.sets.shape == (20, 4) for one in found.values())
    assert "cosine" in found[protocol.IOKR_F1].chosen


def test_linear_models_choose_how_words_are_weighted(quick, data):
    """Both weightings are tried, and tf-idf counts documents of the training part alone."""
    words = (np.abs(data.X) * 3).astype(int)
    sparse = MultiLabel(csr_array(words), data.Y, 40, data.label_names)
    task = task_of(sparse)
    expected = TfidfTransformer().fit(words[:40]).transform(words)
    np.testing.assert_allclose(task.designs["tf-idf"][1].toarray(), expected[40:].toarray())
    found = {}
    for name, design in task.designs.items():
        only = dataclasses.replace(task, designs={name: design})
        found[name] = next(answer for _, answer in logistic(only, 0))
    both = next(answer for _, answer in logistic(task, 0))
    assert both.chosen in [answer.chosen for answer in found.values()]
    assert {name for name in found if name in both.chosen}, both.chosen


def test_a_seed_repeats_and_another_draws_other_trees(quick, data):
    task = task_of(data)
    one, again = (dict(protocol.forests(task, 0)) for _ in range(2))
    for method, answer in one.items():
        np.testing.assert_array_equal(answer.sets, again[method].sets)
    half = "random forest, threshold ½"
    draws = [dict(random_forests(task, seed))[half].sets for seed in range(4)]
    assert any(not np.array_equal(draws[0], sets) for sets in draws[1:])


def test_every_method_learns(quick, data):
    task, seen = task_of(data), protocol.seen_sets(data)
    plan = Seeds(repeat=2, sets=("one",))
    cells = {case: STUDY.work(case, plan, {"one": data}) for case in STUDY.cases(plan, {"one": data})}
    found = {}
    for cell in cells.values():
        for method, metrics in cell.items():
            found.setdefault(method, []).append(metrics)
    assert set(found) == set(METHODS)
    always = np.broadcast_to(task.Y.mean(axis=0) > 0.3, task.Y_test.shape)
    for method in OURS:
        assert np.mean([metrics["f1"] for metrics in found[method]]) > f1_samples(task.Y_test, always)
        first = found[method][0]
        both = seen.mean() * first["f1 of seen sets"] + (1 - seen.mean()) * first["f1 of other sets"]
        np.testing.assert_allclose(both, first["f1"])
    assert len(found[protocol.FOREST_F1]) == 2 and len(found[protocol.IOKR_F1]) == 1


def test_the_page_shows_every_method_and_the_seeds(quick, data):
    study = dataclasses.replace(STUDY, load=lambda plan: {"bibtex": data, "other": data})
    done = []
    plan = Seeds(seed=3, repeat=2, sets=("bibtex", "other"))
    report = run(study, plan, progress=lambda *step: done.append(step))
    assert done[-1][:2] == (14, 14)
    assert "Seeds: 3, 4" in report.summary
    f1, hamming = (table for table in report.tables if "test part" in table.title)
    assert [row["method"] for row in f1.rows] == [row["method"] for row in hamming.rows] == list(METHODS)
    assert all(0 <= row["bibtex"].mean <= 100 for row in (*f1.rows, *hamming.rows))
    assert {row["bibtex"].n for row in f1.rows} == {1, 2}
    [chosen] = [table for table in report.tables if table.title == "Chosen parameters"]
    assert len(chosen.rows) == 2 * len(METHODS)
    assert sum(isinstance(item, Figure) for item in report.items) == 2
    assert "example-F1" in report.html()


def test_it_is_listed():
    assert find("multilabel").data == ("multilabel",)


def test_emotions_as_far_as_the_data_is_there():
    try:
        data = load_multilabel("emotions")
    except DataNotFound as error:
        pytest.skip(str(error))
    task = task_of(data)
    f1 = {method: f1_samples(task.Y_test, answer.sets) for method, answer in ridges(task)}
    assert f1[protocol.IOKR_TANIMOTO] > 0.67 and f1[protocol.IOKR_F1] > 0.67
    assert f1[protocol.IOKR_F1] > f1["kernel ridge, threshold ½"] + 0.03
