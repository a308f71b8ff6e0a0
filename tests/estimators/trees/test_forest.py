"""Forests: averages of trees, those of scikit-learn's forests; the out-of-bag error is a hand count."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

import reference
from iokr import OutputKernelForest, OutputKernelTree
from iokr.decoders import Candidates
from iokr.embeddings import Eigen
from iokr.estimators.trees.growing import on_grid
from iokr.kernels import RBF, Delta, FromFunction, Linear, Tanimoto
from iokr.metrics import f1_samples


def problem(n=60, m=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 4))
    Y = (X @ rng.normal(size=(4, 5)) + 0.5 * rng.normal(size=(n + m, 5)) > 0.3).astype(float)
    return X[:n], Y[:n], X[n:], Y[n:]


RANDOM_FOREST = {"splitter": "best", "bootstrap": True, "max_features": "sqrt"}
BOTH = [{}, RANDOM_FOREST]


@pytest.mark.parametrize("options", BOTH, ids=["extra-trees", "random forest"])
@pytest.mark.parametrize("kernel", [None, RBF(0.3), Tanimoto()], ids=str)
def test_weights_are_the_mean_over_the_trees(kernel, options):
    X, Y, new, _ = problem()
    model = OutputKernelForest(kernel, n_estimators=7, random_state=0, **options).fit(X, Y)
    beta = np.zeros((len(new), len(X)))
    seeds = [np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=7)[t] for t in range(7)]
    for t, tree in enumerate(model.trees_):
        count = np.ones(len(X))
        if options:
            count = np.bincount(np.random.RandomState(seeds[t]).randint(0, len(X), len(X)), minlength=len(X))
        leaf, leaves = tree.apply(X.astype(np.float32)), tree.apply(new.astype(np.float32))
        for i, one in enumerate(leaves):
            members = count * (leaf == one)
            beta[i] += members / members.sum() / 7
    assert_allclose(model.weights(new), beta, atol=1e-14)
    K = Y @ Y.T if kernel is None else kernel(Y)
    assert_allclose(model.scores(new, Y), beta @ K, atol=1e-12)
    assert_array_equal(model.apply(new), np.column_stack([t.apply(new.astype(np.float32)) for t in model.trees_]))


@pytest.mark.parametrize(
    ("theirs", "options"),
    [(ExtraTreesRegressor, {}), (RandomForestRegressor, {"splitter": "best", "bootstrap": True})],
    ids=["extra-trees", "random forest"],
)
def test_the_trees_are_those_of_scikit_learn_on_the_same_coordinates(theirs, options):
    X, Y, new, _ = problem()
    ours = OutputKernelForest(RBF(0.3), n_estimators=9, random_state=4, **options).fit(X, Y)
    Z = ours.embedding_.euclidean(np.eye(ours.embedding_.S_fit_.shape[0]))[ours.Psi_.indices]
    forest = theirs(9, random_state=4).fit(X, on_grid(Z, len(Z)))
    assert_array_equal(ours.apply(new), forest.apply(new))
    assert_allclose(ours.feature_importances_, forest.feature_importances_, rtol=1e-9)
    assert_allclose(ours.decision_function(new) @ RBF(0.3)(Y[_first(Y)], Y), forest.predict(new) @ Z.T, atol=1e-12)


def _first(Y):
    return sorted(np.unique(Y, axis=0, return_index=True)[1])


def test_eigen_coordinates_have_the_same_gains():
    """Z Zᵀ = K_Y decides: another orthonormal basis gives trees with the same impurities at the first split."""
    X, Y, _, _ = problem()
    tree = OutputKernelTree(RBF(0.3), random_state=0).fit(X, Y)
    Z = Eigen().fit_transform(Y, RBF(0.3).fit(Y))
    other = OutputKernelTree(random_state=0).fit(X, Z)
    assert_allclose(tree.tree_.impurity[:3], other.tree_.impurity[:3], rtol=1e-9)


@pytest.mark.parametrize("kernel", [None, RBF(0.3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_out_of_bag_error_is_a_hand_count(kernel, weighted):
    X, Y, _, _ = problem(30)
    w = np.random.default_rng(1).integers(0, 3, size=30).astype(float) if weighted else np.ones(30)
    model = OutputKernelForest(kernel, n_estimators=40, bootstrap=True, oob_score=True, random_state=0)
    model.fit(X, Y, sample_weight=w if weighted else None)
    K = Y @ Y.T if kernel is None else kernel(Y)
    seeds = [np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=40)[t] for t in range(40)]
    errors, weight = [], []
    for i in range(30):
        total, trees = np.zeros(30), 0
        for tree, seed in zip(model.trees_, seeds, strict=True):
            rng = np.random.RandomState(seed)
            drawn = rng.choice(30, 30, p=w / w.sum()) if weighted else rng.randint(0, 30, 30)
            if i in drawn:
                continue
            leaf = tree.apply(X.astype(np.float32))
            members = np.array([np.sum(drawn == j) * (leaf[j] == leaf[i]) for j in range(30)])
            total += members / members.sum()
            trees += 1
        beta = total / trees
        errors.append(K[i, i] - 2 * beta @ K[i] + beta @ K @ beta)
        weight.append(w[i])
    assert_allclose(model.oob_error_, np.average(errors, weights=weight), rtol=1e-10)
    mean = w / w.sum()
    spread = mean @ np.diag(K) - mean @ K @ mean
    assert_allclose(model.oob_score_, 1 - np.average(errors, weights=weight) / spread, rtol=1e-10)


def test_out_of_bag_is_close_to_the_error_on_new_rows():
    X, Y, new, Y_new = problem(300, 300)
    model = OutputKernelForest(Linear(), n_estimators=60, oob_score=True, random_state=0, **RANDOM_FOREST).fit(X, Y)
    assert abs(model.oob_score_ - model.score(new, Y_new)) < 0.06
    assert model.score(X, Y) > model.oob_score_ + 0.2


def test_rows_that_every_tree_drew_have_no_out_of_bag_prediction():
    X, Y, _, _ = problem()
    with pytest.warns(UserWarning, match="rows were drawn by every tree"):
        model = OutputKernelForest(n_estimators=2, bootstrap=True, oob_score=True, random_state=0).fit(X, Y)
    missing = np.isnan(model.oob_decision_function_).any(axis=1)
    assert 0 < missing.sum() < len(X)
    refit = model.set_params(oob_score=False).fit(X, Y)
    assert not hasattr(refit, "oob_error_")


def test_predicts_label_sets_better_than_one_tree():
    X, Y, new, Y_new = problem(300, 200)
    tree = OutputKernelTree(Tanimoto(), random_state=0).fit(X, Y)
    forest = OutputKernelForest(Tanimoto(), random_state=0, decoder=Candidates()).fit(X, Y)
    assert f1_samples(Y_new, forest.predict(new)) > f1_samples(Y_new, tree.predict(new)) + 0.02


def test_threads_change_nothing():
    X, Y, new, _ = problem()
    one = OutputKernelForest(RBF(), n_estimators=10, random_state=0).fit(X, Y)
    two = OutputKernelForest(RBF(), n_estimators=10, random_state=0, n_jobs=2).fit(X, Y)
    assert_array_equal(one.weights(new), two.weights(new))
    for jobs in (10**6, 10**30, -(10**6)):  # as many as there are trees, no more
        many = OutputKernelForest(RBF(), n_estimators=10, random_state=0, n_jobs=jobs).fit(X, Y)
        assert_array_equal(one.weights(new), many.weights(new))


def test_each_tree_draws_its_own_directions():
    X, Y, _, _ = problem()
    options = {"n_estimators": 30, "n_components": 2, "random_state": 0, "splitter": "best"}
    drawn = OutputKernelForest(RBF(0.3), projection="random", **options).fit(X, Y)
    fixed = OutputKernelForest(RBF(0.3), **options).fit(X, Y)
    assert len({tree.feature[0] for tree in drawn.trees_} | {tree.threshold[0] for tree in drawn.trees_}) > 3
    assert len({tree.threshold[0] for tree in fixed.trees_}) == 1
    assert drawn.lost_variance_ > fixed.lost_variance_
    r = np.linalg.matrix_rank(RBF(0.3)(np.unique(Y, axis=0)))
    assert abs(drawn.lost_variance_ - (1 - 2 / r)) < 0.1  # on average, k of r orthonormal directions see k/r
    root = [tree.impurity[0] for tree in drawn.trees_]
    K = RBF(0.3)(Y)
    assert abs(np.mean(root) / (1 - K.mean()) - 1) < 0.2  # variances keep their size on average


def test_structured_outputs():
    def shared(a, b):
        return float(len(set(a) & set(b)))

    X = np.arange(30.0)[:, None]
    Y = ["sun" if x < 10 else "sea" if x < 20 else "ice" for x in X[:, 0]]
    model = OutputKernelForest(FromFunction(shared), n_estimators=5, random_state=0).fit(X, Y)
    assert_array_equal(model.predict([[3.0], [14.0], [29.0]]), ["sun", "sea", "ice"])
    assert_allclose(model.similarities(X), reference.gram(shared, Y), atol=1e-12)


def test_max_samples():
    X, Y, _, _ = problem()
    for given, drawn in ((10, 10), (0.5, 30), (1.0, 60)):
        model = OutputKernelForest(n_estimators=3, bootstrap=True, max_samples=given, random_state=0).fit(X, Y)
        assert all(tree.weighted_n_node_samples[0] == drawn for tree in model.trees_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "`n_estimators` must be an integer of at least 1"),
        ({"oob_score": True}, r"`oob_score` needs rows that a tree did not draw; set `bootstrap=True`"),
        ({"max_samples": 5}, "`max_samples` is the number of rows drawn"),
        ({"bootstrap": True, "max_samples": 1000}, "at most the number of rows, 60, got 1000"),
        ({"bootstrap": True, "max_samples": 1.5}, "`max_samples` as a fraction"),
        ({"max_features": "all"}, "max_features"),
    ],
)
def test_refuses(options, message):
    X, Y, _, _ = problem()
    with pytest.raises(ValueError, match=message):
        OutputKernelForest(**options).fit(X, Y)


def test_labels():
    X, Y, new, _ = problem()
    labels = np.where(Y[:, 0] > 0, "yes", "no").astype(object)
    model = OutputKernelForest(Delta(), n_estimators=10, random_state=0).fit(X, labels)
    votes = model.decision_function(new)
    assert_allclose(votes.sum(axis=1), 1)
    assert_array_equal(model.predict(new), labels[_first_of(labels)][votes.argmax(axis=1)])


def _first_of(labels):
    return [list(labels).index(name) for name in dict.fromkeys(labels)]
