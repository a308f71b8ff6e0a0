"""Trees: splits are those of an exhaustive search with the kernel criterion, predictions the means of leaves.

Tests of `iokr.estimators.trees.base` and `iokr.estimators.trees.growing`.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

import reference
from iokr import OutputKernelTree
from iokr.decoders import Threshold
from iokr.kernels import RBF, Centered, Delta, FromFunction, Linear, Polynomial, Precomputed, Tanimoto
from tree_reference import best_splits, gain, nodes, variance


def inputs(n=24, p=3, seed=0):
    """Few distinct values, so that there are ties and repeated rows; exact in float32."""
    return np.random.default_rng(seed).integers(0, 9, size=(n, p)).astype(float)


def outputs(kind, n=24, seed=1):
    rng = np.random.default_rng(seed)
    if kind == "words":
        return np.array(["".join(rng.choice(list("abc"), size=3)) for _ in range(n)], dtype=object)
    if kind == "labels":
        return rng.choice(np.array(["a", "b", "c"], dtype=object), size=n)
    if kind == "bits":
        return (rng.uniform(size=(n, 6)) < 0.4).astype(float)
    if kind == "rows":
        return rng.permutation(40)[:n]
    return rng.normal(size=(n, 2))


def shared(a, b):
    return float(len(set(a) & set(b)))


GIVEN = np.cov(np.random.default_rng(5).normal(size=(40, 60)))

CASES = {
    "no kernel": (None, "vectors"),
    "linear": (Linear(), "vectors"),
    "rbf": (RBF(), "vectors"),
    "polynomial": (Polynomial(2), "vectors"),
    "centred": (Centered(RBF(0.5)), "vectors"),
    "tanimoto": (Tanimoto(), "bits"),
    "rbf on bits": (RBF(0.3), "bits"),
    "delta": (Delta(), "labels"),
    "function": (FromFunction(shared), "words"),
    "matrix": (Precomputed(GIVEN), "rows"),
}


def output_gram(model, Y):
    """K_Y by the fitted kernel itself, all rows."""
    kernel = model.output_kernel_
    return Y @ Y.T if kernel is None else kernel(Y)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    kernel, kind = CASES[request.param]
    return kernel, inputs(), outputs(kind)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_split_is_that_of_an_exhaustive_search(case, weighted):
    kernel, X, Y = case
    w = np.random.default_rng(2).integers(1, 4, size=len(X)).astype(float) if weighted else np.ones(len(X))
    model = OutputKernelTree(kernel, random_state=0).fit(X, Y, sample_weight=w if weighted else None)
    K = output_gram(model, Y)
    size = variance(K, np.arange(len(X)), w)
    n_splits = 0
    for node, S, left in nodes(model.tree_, X):
        assert_allclose(model.tree_.impurity[node], variance(K, S, w), atol=1e-12 * size)
        if left is None:
            continue
        best, lefts = best_splits(K, X, S, w)
        assert_allclose(gain(K, S, left, w), best, atol=1e-12 * size)
        assert best >= 0
        assert frozenset(left.tolist()) in lefts
        n_splits += 1
    assert n_splits >= 5


def test_weights_are_the_members_of_the_leaf_and_h_their_mean(case):
    kernel, X, Y = case
    model = OutputKernelTree(kernel, min_samples_leaf=3, random_state=0).fit(X, Y)
    new = inputs(10, seed=7)
    leaf, leaves = model.apply(X), model.apply(new)
    beta = np.array([[(a == b) / np.sum(leaf == b) for a in leaf] for b in leaves])
    assert_allclose(model.weights(new), beta, atol=1e-15)
    K = output_gram(model, Y)
    assert_allclose(model.scores(new, Y), beta @ K, atol=1e-12)
    squares = np.einsum("ij,jk,ik->i", beta, K, beta)[:, None] - 2 * beta @ K + np.diag(K)
    assert_allclose(model.distances(new, Y), np.clip(squares, 0, None), atol=1e-12)
    assert_allclose(model.similarities(new, X[:4]), beta @ K @ model.weights(X[:4]).T, atol=1e-12)
    assert_allclose(model.similarities(new), beta @ K @ beta.T, atol=1e-12)
    first, values = model.rank(new, Y, k=3)
    assert_allclose(values, np.sort(np.clip(squares, 0, None), axis=1)[:, :3], atol=1e-12)
    assert_allclose(np.take_along_axis(np.clip(squares, 0, None), first, axis=1), values, atol=1e-12)


def test_score_is_r2_in_the_output_feature_space():
    X, Y = inputs(40), outputs("bits", 40)
    model = OutputKernelTree(RBF(0.3), max_depth=3, random_state=0).fit(X, Y)
    K, B = RBF(0.3)(Y), model.weights(X)
    residual = np.trace(K - 2 * B @ K + B @ K @ B.T)
    assert_allclose(model.score(X, Y), 1 - residual / (np.trace(K) - K.sum() / len(X)), rtol=1e-12)


def test_without_a_kernel_it_is_scikit_learns_tree():
    rng = np.random.default_rng(0)
    X, Y, new = rng.normal(size=(60, 4)), rng.normal(size=(60, 3)), rng.normal(size=(30, 4))
    for options in ({}, {"splitter": "random"}, {"max_depth": 3}, {"max_leaf_nodes": 7}, {"max_features": 2}):
        ours = OutputKernelTree(random_state=3, **options).fit(X, Y)
        theirs = DecisionTreeRegressor(random_state=3, **options).fit(X, Y)
        assert_array_equal(ours.apply(new), theirs.apply(new))
        assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-12)
        assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-12)
        assert ours.tree_.max_depth == theirs.get_depth()
        assert ours.tree_.n_leaves == theirs.get_n_leaves()


@pytest.mark.parametrize("name", ["min_impurity_decrease", "ccp_alpha"])
def test_thresholds_are_in_units_of_the_variance(name):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 3))
    ours = OutputKernelTree(Linear(), random_state=0, **{name: 0.06}).fit(X, Y)
    theirs = DecisionTreeRegressor(random_state=0, **{name: 0.02}).fit(X, Y)  # scikit-learn divides by 3 outputs
    assert 1 < theirs.get_n_leaves() < 40
    assert ours.tree_.n_leaves == theirs.get_n_leaves()


def test_equal_outputs_are_embedded_once():
    Y = outputs("labels", 200)
    model = OutputKernelTree(Delta(), random_state=0).fit(inputs(200), Y)
    assert model.embedding_.S_fit_.shape[0] == 3
    assert model.decision_function(inputs(5)).shape == (5, 3)
    assert model.weights(inputs(5)).shape == (5, 200)


def test_a_centred_kernel_is_centred_over_the_rows_not_over_the_distinct_outputs():
    Y = np.array([[0.0]] * 9 + [[1.0]])
    model = OutputKernelTree(Centered(Linear())).fit(np.arange(10.0)[:, None], Y)
    assert_allclose(model.scores([[0.0]], [[1.0]]), [[-0.1 * 0.9]])


def test_a_row_of_weight_zero_counts_for_nothing():
    X, Y = inputs(30), outputs("bits", 30)
    w = (np.arange(30) % 3 > 0).astype(float)
    weighted = OutputKernelTree(RBF(0.3), random_state=0).fit(X, Y, sample_weight=w)
    without = OutputKernelTree(RBF(0.3), random_state=0).fit(X[w > 0], Y[w > 0])
    assert_allclose(weighted.weights(X)[:, w > 0], without.weights(X))
    assert not weighted.weights(X)[:, w == 0].any()


@pytest.mark.parametrize("projection", ["principal", "random"])
@pytest.mark.parametrize("kernel", [None, RBF(0.3)], ids=str)
def test_fewer_coordinates_change_the_splits_not_the_means(kernel, projection):
    X, Y = inputs(40), outputs("bits", 40)
    model = OutputKernelTree(kernel, n_components=2, projection=projection, min_samples_leaf=4, random_state=0).fit(
        X, Y
    )
    assert 0 < model.lost_variance_ < 1
    leaf = model.apply(X)
    beta = (leaf[:, None] == leaf) / np.sum(leaf[:, None] == leaf, axis=1)[:, None]
    assert_allclose(model.scores(X, Y), beta @ output_gram(model, Y), atol=1e-12)


def test_the_lost_variance_is_that_of_the_directions_left_out():
    X, Y = inputs(40), outputs("bits", 40)
    w = np.random.default_rng(3).integers(1, 4, size=40).astype(float)
    K = RBF(0.3)(Y)
    C = np.eye(40) - np.outer(np.ones(40), w / w.sum())
    root = np.sqrt(w)[:, None]
    s = np.linalg.eigvalsh(root * (C @ K @ C.T) * root.T)[::-1]
    for rank in (1, 2, 5):
        model = OutputKernelTree(RBF(0.3), n_components=rank, random_state=0).fit(X, Y, sample_weight=w)
        assert_allclose(model.lost_variance_, s[rank:].sum() / s.sum(), rtol=1e-9)
        # the same splits as on a rank-r approximation of K_Y, which is another kernel matrix
        Z = np.linalg.eigh(root * (C @ K @ C.T) * root.T)[1][:, ::-1][:, :rank] * np.sqrt(s[:rank]) / root
        other = OutputKernelTree(Precomputed(Z @ Z.T), random_state=0).fit(X, np.arange(40), sample_weight=w)
        assert_allclose(model.tree_.impurity[0], other.tree_.impurity[0], rtol=1e-9)
        assert_allclose(model.tree_.impurity[1], other.tree_.impurity[1], rtol=1e-9)


def test_the_tolerance_takes_the_fewest_directions_that_meet_it():
    X, Y = inputs(40), outputs("bits", 40)
    lost = [OutputKernelTree(RBF(0.3), n_components=r, random_state=0).fit(X, Y).lost_variance_ for r in range(1, 30)]
    for tol in (0.5, 0.1, 0.01):
        chosen = next(value for value in lost if value <= tol)
        assert_allclose(OutputKernelTree(RBF(0.3), tol=tol, random_state=0).fit(X, Y).lost_variance_, chosen)
    assert OutputKernelTree(RBF(0.3), n_components=1000, random_state=0).fit(X, Y).lost_variance_ < 1e-12


@pytest.mark.parametrize("options", [{}, {"n_components": 2}, {"n_components": 2, "projection": "random"}])
def test_outputs_far_from_zero_are_split_as_well(options):
    """The variance of 1e8 + y is that of y; as a difference of squares it would be 6 in place of 3."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.round(np.column_stack([X[:, 0], X[:, 0] - X[:, 1], X[:, 2]]) + 0.1 * rng.normal(size=(60, 3)), 6)
    tree = OutputKernelTree(max_depth=4, random_state=0, **options)
    leaves = tree.fit(X, Y).apply(X)
    np.testing.assert_array_equal(tree.fit(X, Y + 1e8).apply(X), leaves)
    np.testing.assert_allclose(tree.tree_.impurity[0], tree.fit(X, Y).tree_.impurity[0], rtol=1e-6)


@pytest.mark.parametrize("kernel", [None, Linear()], ids=["vectors", "kernel"])
@pytest.mark.parametrize(
    "options", [{}, {"n_components": 2}, {"min_impurity_decrease": 0.02}, {"ccp_alpha": 0.02}], ids=str
)
@pytest.mark.parametrize("unit", [1e-120, 1e-9, 1e9, 1e120])
def test_the_unit_of_the_outputs_does_not_matter(unit, options, kernel):
    """Below a variance of 2e-16 scikit-learn's tree would be a single leaf."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.column_stack([X[:, 0], X[:, 0] - X[:, 1], X[:, 2]]) + 0.3 * rng.normal(size=(60, 3))
    tree = OutputKernelTree(kernel, max_depth=4, min_samples_leaf=4, random_state=0, **options).fit(X, Y)
    leaves, variance = tree.apply(X), tree.tree_.impurity
    squares = {name: unit**2 * value for name, value in options.items() if name != "n_components"}
    tree = clone(tree).set_params(**squares).fit(X, unit * Y)
    np.testing.assert_array_equal(tree.apply(X), leaves)
    np.testing.assert_allclose(tree.tree_.impurity, unit**2 * variance, rtol=1e-6)


def test_inputs_that_trees_cannot_tell_apart_are_warned_of():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    with pytest.warns(UserWarning, match=r"Feature 0 of X \(1 in all\) varies by less than trees can separate"):
        tree = OutputKernelTree(random_state=0).fit(np.column_stack([1e-9 * X[:, 0], X[:, 1]]), X)
    assert tree.feature_importances_[0] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OutputKernelTree(random_state=0).fit(np.column_stack([X[:, 0], np.where(X[:, 1] > 0.5, 1.0, np.nan)]), X)


@pytest.mark.parametrize("shift", [2.0**26, 2.0**30, -(2.0**40)])
def test_inputs_far_from_the_origin_are_told_apart(shift):
    """Time stamps have more digits than the float32 in which trees compare inputs."""
    rng = np.random.default_rng(0)
    X, Y = rng.integers(-40, 40, size=(60, 3)) / 8, rng.normal(size=(60, 2))
    near = OutputKernelTree(random_state=0).fit(X, Y)
    far = OutputKernelTree(random_state=0).fit(X + shift, Y)
    new = rng.integers(-40, 40, size=(20, 3)) / 8
    np.testing.assert_array_equal(far.predict(new + shift), near.predict(new))
    np.testing.assert_array_equal(far.predict((new + shift).tolist()), near.predict(new))
    np.testing.assert_array_equal(far.predict(csr_array(new + shift)), near.predict(new))
    weight = np.append(np.ones(60), 0.0)  # of a row at the origin
    far.fit(np.vstack([X + shift, np.zeros(3)]), np.vstack([Y, Y[:1]]), sample_weight=weight)
    np.testing.assert_array_equal(far.predict(new + shift), near.predict(new))


def test_the_unit_of_the_weights_does_not_matter():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(60, 3)), rng.uniform(0.2, 3.0, size=60)
    Y = np.column_stack([X[:, 0], X[:, 0] - X[:, 1], X[:, 2]]) + 0.3 * rng.normal(size=(60, 3))
    tree = OutputKernelTree(RBF(0.5), n_components=2, max_depth=4, min_samples_leaf=4, random_state=0)
    leaves = tree.fit(X, Y, sample_weight=weight).apply(X)
    for unit in (1e-12, 1e12):
        np.testing.assert_array_equal(tree.fit(X, Y, sample_weight=unit * weight).apply(X), leaves)


def test_wide_vectors_lose_what_narrow_ones_do():
    rng = np.random.default_rng(0)
    X, B = rng.normal(size=(12, 2)), rng.normal(size=(12, 40))
    wide = OutputKernelTree(n_components=3, random_state=0).fit(X, B)
    kernel = OutputKernelTree(Linear(), n_components=3, random_state=0).fit(X, B)
    assert_allclose(wide.lost_variance_, kernel.lost_variance_, rtol=1e-9)
    assert_allclose(wide.weights(X), kernel.weights(X))


def test_a_single_leaf_is_the_mean_of_everything():
    X, Y = inputs(20), outputs("bits", 20)
    model = OutputKernelTree(Tanimoto(), min_samples_leaf=20).fit(X, Y)
    assert_allclose(model.weights(X), np.full((20, 20), 1 / 20))
    assert_allclose(model.similarities(X), np.full((20, 20), Tanimoto()(Y).mean()))
    assert not model.feature_importances_.any()


def test_pure_leaves_give_the_kernel_back():
    X, Y = np.arange(20.0)[:, None], outputs("words", 20)
    model = OutputKernelTree(FromFunction(shared)).fit(X, Y)
    assert_allclose(model.similarities(X), reference.gram(shared, Y), atol=1e-12)
    assert_array_equal(model.predict(X, candidates=Y), model.predict(X))


def test_missing_inputs_go_to_the_side_that_gains():
    X = np.array([[0.0], [1.0], [np.nan], [np.nan], [5.0], [6.0]])
    model = OutputKernelTree(Delta(), random_state=0).fit(X, ["a", "a", "c", "c", "b", "b"])
    assert_array_equal(model.predict([[np.nan], [0.5], [9.0]]), ["c", "a", "b"])


def test_sparse_inputs_grow_the_same_tree():
    from scipy.sparse import csr_array

    X, Y = inputs(40, 6) * (inputs(40, 6, seed=3) > 4), outputs("bits", 40)
    dense = OutputKernelTree(RBF(0.3), random_state=0).fit(X, Y)
    sparse = OutputKernelTree(RBF(0.3), random_state=0).fit(csr_array(X), csr_array(Y))
    assert_allclose(sparse.weights(csr_array(X)), dense.weights(X))


def test_other_decoders():
    X, Y = inputs(40), outputs("bits", 40)
    model = OutputKernelTree(decoder=Threshold(), min_samples_leaf=5, random_state=0).fit(X, Y)
    assert_array_equal(model.predict(X), (model.decision_function(X) > 0.5).astype(float))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "`n_components` must be an integer of at least 1, got 0"),
        ({"tol": 1.0}, "`tol` must be a fraction of the variance"),
        ({"tol": -0.1}, "`tol` must be a number of at least 0"),
        ({"projection": "none"}, "`projection` must be one of 'principal', 'random'"),
        ({"projection": "random"}, "needs `n_components`"),
        ({"projection": "random", "n_components": 2, "tol": 0.1}, "does not take `tol`"),
        ({"min_impurity_decrease": -1.0}, "`min_impurity_decrease` must be a number of at least 0, got -1.0"),
        ({"ccp_alpha": -1.0}, "`ccp_alpha`"),
        ({"max_depth": 0}, "max_depth"),
        ({"splitter": "worst"}, "splitter"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        OutputKernelTree(**options).fit(inputs(), outputs("vectors"))


def test_refuses_missing_outputs_and_foreign_components():
    Y = outputs("vectors")
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"`y` contains NaN.*use `IOKR`"):
        OutputKernelTree().fit(inputs(), Y)
    with pytest.raises(TypeError, match="`output_kernel` must be a component"):
        OutputKernelTree(DecisionTreeRegressor()).fit(inputs(), Y)
    with pytest.raises(ValueError, match="infinity"):
        OutputKernelTree().fit(np.full((24, 2), np.inf), outputs("vectors"))
    with pytest.raises(ValueError, match="holds objects such as"):
        OutputKernelTree().fit(["a"] * 24, outputs("vectors"))


def test_rank_is_a_method_and_n_components_a_parameter():
    model = OutputKernelTree(RBF(0.3), n_components=3)
    assert model.get_params()["n_components"] == 3
    assert "n_components=3" in repr(model)
    model.set_params(n_components=2).fit(inputs(), outputs("bits"))
    index, _ = model.rank(inputs(4), outputs("bits"), k=2)
    assert index.shape == (4, 2)
