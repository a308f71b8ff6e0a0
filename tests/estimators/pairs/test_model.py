"""`PairModel`: what does not matter to it, every way to solve it, what it answers and what it refuses."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from iokr import PairModel
from iokr._system.compile import compiling
from iokr.kernels import RBF, Linear, Precomputed
from iokr.losses import Huber, MaxMargin
from iokr.solvers import Cholesky, ConjugateGradient, CoordinateDescent, Eigen
from pair_problems import (
    EXACT,
    GAMMA,
    LOSSES,
    STRATEGIES,
    all_pairs,
    gram,
    network,
    point_kernel,
    set_kernel,
)
from reference import assert_close

# ------------------------------------------------------------------------------------------------- invariances

MODELS = [
    (strategy, mix, loss)
    for strategy, mix in [("kernel", 0.0), ("kernel", 0.5), ("duplicate", 0.5), ("duplicate", 1.0), ("local", 0.0)]
    for loss in LOSSES
]


@pytest.mark.parametrize(("strategy", "mix", "loss"), MODELS)
def test_order_of_nodes_pairs_and_of_the_two_within_a_pair_does_not_matter(strategy, mix, loss):
    X, pairs, y, X_new = network(7)
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=mix, loss=LOSSES[loss], alpha=0.3, solver=EXACT[loss])
    test = np.array([(0, 1), (4, 4), (3, 12), (14, 2)])
    f = model.fit(X, pairs, y).decision_function(test, X_new)
    assert_close(model.decision_function(test[:, ::-1], X_new), f, 1e-13)
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(pairs))
    swapped = np.where(rng.uniform(size=(len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1])[shuffled]
    assert_close(model.fit(X, swapped, y[shuffled]).decision_function(test, X_new), f, 1e-9)
    renamed = rng.permutation(14)  # node i is now row place[i]
    place = np.argsort(renamed)
    moved = np.where(test < 14, place[np.minimum(test, 13)], test)
    assert_close(model.fit(X[renamed], place[pairs], y).decision_function(moved, X_new), f, 1e-9)


@pytest.mark.parametrize("strategy", ["kernel", "duplicate", "local"])
def test_a_pair_twice_is_a_pair_of_weight_two(strategy):
    X, pairs, y, _ = network(8)
    again = np.vstack([pairs, pairs[[2, 5], ::-1]])
    weight = np.ones(len(y))
    weight[[2, 5]] = 2
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=0.0 if strategy == "local" else 0.5, alpha=0.3)
    twice = model.fit(X, again, np.append(y, y[[2, 5]])).decision_function(pairs)
    assert_close(model.fit(X, pairs, y, sample_weight=weight).decision_function(pairs), twice, 1e-12)


# -------------------------------------------------------------------------------------------------- the solvers


@pytest.fixture(params=["compiled", "numpy"])
def route(request):
    """The loops of pairs with and without Numba."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    with compiling(request.param == "compiled"):
        yield request.param


@pytest.mark.parametrize("delta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("strategy", ["kernel", "duplicate"])
def test_iterative_equals_dense(strategy, delta, route):
    X, pairs, y, _ = network(9, m=40, n=300)
    weight = np.random.default_rng(0).uniform(0.5, 3, size=300)
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=delta, alpha=0.1)
    dense = model.set_params(solver=Cholesky()).fit(X, pairs, y, weight).decision_function(all_pairs(40))
    iterative = model.set_params(solver=ConjugateGradient(tol=1e-12)).fit(X, pairs, y, weight)
    assert_close(iterative.decision_function(all_pairs(40)), dense, 1e-8)
    assert iterative.solution_.converged and iterative.solution_.gap < 1e-12


@pytest.mark.parametrize("delta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("strategy", ["kernel", "duplicate"])
def test_margin_without_a_matrix_equals_margin_with_it(strategy, delta, route, monkeypatch):
    from iokr.gram.pairs.gram import PairGram

    X, pairs, y, _ = network(10, m=25, n=150)
    model = PairModel(
        RBF(GAMMA), strategy=strategy, mix=delta, loss=MaxMargin(), alpha=0.2, solver=CoordinateDescent(1e-11)
    )
    given = {}
    for products_only in (True, False):
        monkeypatch.setattr(PairGram, "prefers_products", products_only)
        fitted = model.fit(X, pairs, y)
        assert fitted.solution_.gap <= 1e-11
        given[products_only] = fitted.decision_function(all_pairs(25))
    assert_close(given[True], given[False], 1e-6)


def test_margin_is_the_support_vector_machine_without_a_bias():
    """Its dual by a general solver of quadratic programs."""
    cvxpy = pytest.importorskip("cvxpy")
    X, pairs, y, _ = network(11)
    Q = set_kernel(point_kernel(gram(X), 0.5), pairs, pairs)
    c = cvxpy.Variable(len(y))
    factor = np.linalg.cholesky(Q + 1e-12 * np.eye(len(y)))
    value = cvxpy.sum(cvxpy.pos(1 - cvxpy.multiply(y, Q @ c))) + 0.15 * cvxpy.sum_squares(factor.T @ c)
    cvxpy.Problem(cvxpy.Minimize(value)).solve(solver=cvxpy.CLARABEL)
    model = PairModel(RBF(GAMMA), mix=0.5, loss=MaxMargin(), alpha=0.3, solver=CoordinateDescent(1e-10)).fit(
        X, pairs, y
    )
    assert_close(model.decision_function(pairs), Q @ c.value, 1e-4)


@pytest.mark.parametrize(("strategy", "delta"), [*STRATEGIES, ("kernel", 1.0), ("duplicate", 0.0)])
def test_complete_case_equals_dense(strategy, delta):
    """All pairs, self-pairs of half the weight of the others: one eigendecomposition of K."""
    X, _, _, X_new = network(12, m=9, n=20)
    pairs = all_pairs(9)
    rng = np.random.default_rng(0)
    y, weight = rng.normal(size=len(pairs)), np.where(pairs[:, 0] == pairs[:, 1], 0.5, 1.0)
    test = np.array([(0, 1), (2, 2), (3, 9), (10, 11)]) if strategy != "local" else np.array([(0, 1), (2, 2), (3, 9)])
    solver = None if strategy == "local" else ConjugateGradient()
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=delta, alpha=0.3, solver=solver)
    closed = model.fit(X, pairs, y, sample_weight=3 * weight)
    assert closed.solution_.n_iter == 1 and closed.solution_.gap == 0.0
    values = closed.decision_function(test, X_new)
    nearly = 3 * weight * (1 + 1e-9 * rng.uniform(size=len(y)))  # no closed form any more
    model.set_params(solver=Cholesky())
    assert_close(values, model.fit(X, pairs, y, sample_weight=nearly).decision_function(test, X_new), 1e-7)


@pytest.mark.parametrize("strategy", ["kernel", "duplicate"])
def test_all_pairs_without_self_pairs_take_few_steps(strategy):
    X, _, _, _ = network(13, m=25, n=20)
    pairs = np.array(list(itertools.combinations(range(25), 2)))
    y = np.random.default_rng(0).normal(size=len(pairs))
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=0.5, alpha=0.1)
    fast = model.set_params(solver=ConjugateGradient(tol=1e-11)).fit(X, pairs, y)
    assert fast.solution_.n_iter < 60
    exact = model.set_params(solver=Cholesky()).fit(X, pairs, y).decision_function(pairs)
    assert_close(fast.decision_function(pairs), exact, 1e-8)


def test_route_is_chosen_from_the_sizes():
    few, many = network(14), network(14, m=80, n=3000)
    assert "Cholesky" in str(PairModel(RBF(GAMMA)).fit(*few[:3]).solver_)
    assert "no matrix of pairs" in str(PairModel(RBF(GAMMA)).fit(*many[:3]).solver_).replace("\n", " ")


def test_path_is_the_fits_one_by_one():
    X, pairs, y, _ = network(15)
    for loss, solver in EXACT.items():
        model = PairModel(RBF(GAMMA), loss=LOSSES[loss], mix=0.3, solver=solver)
        for fitted in model.path(X, pairs, y, [1.0, 0.3, 0.1]):
            alone = PairModel(RBF(GAMMA), loss=LOSSES[loss], mix=0.3, alpha=fitted.alpha, solver=solver).fit(
                X, pairs, y
            )
            assert_close(fitted.decision_function(pairs), alone.decision_function(pairs), 1e-7)


# ------------------------------------------------------------------------------------------------ what it answers


def test_labels_of_any_kind_come_back():
    X, pairs, y, _ = network(19)
    words = np.where(y > 0, "linked", "apart")
    model = PairModel(RBF(GAMMA), alpha=0.01).fit(X, pairs, words)
    assert list(model.classes_) == ["apart", "linked"]
    assert np.mean(model.predict(pairs) == words) > 0.9
    f = PairModel(RBF(GAMMA), alpha=0.01).fit(X, pairs, y).decision_function(pairs)
    assert_close(model.decision_function(pairs), f, 1e-13)


def test_numbers_come_back_as_scores():
    X, pairs, y, _ = network(20)
    model = PairModel(RBF(GAMMA), alpha=1e-3).fit(X, pairs, y * np.arange(len(y)))
    assert not hasattr(model, "classes_")
    np.testing.assert_array_equal(model.predict(pairs), model.decision_function(pairs))


def test_precomputed_kernels():
    X, pairs, y, X_new = network(21)
    K = gram(np.vstack([X, X_new]))
    test = np.array([(0, 1), (3, 15), (14, 16)])
    expected = PairModel(RBF(GAMMA), mix=0.5).fit(X, pairs, y).decision_function(test, X_new)
    rows = PairModel(Precomputed(), mix=0.5).fit(K[:14, :14], pairs, y)
    assert_close(rows.decision_function(test, K[14:, :14]), expected, 1e-12)
    whole = PairModel(Precomputed(K), mix=0.5).fit(np.arange(14), pairs, y)
    assert_close(whole.decision_function(test, np.arange(14, 18)), expected, 1e-12)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize(("strategy", "mix"), STRATEGIES)
def test_other_array_libraries(library, strategy, mix):
    xp = pytest.importorskip(library)
    X, pairs, y, _ = network(22)
    expected = PairModel(RBF(GAMMA), strategy=strategy, mix=mix).fit(X, pairs, y).decision_function(pairs)
    f = PairModel(RBF(GAMMA), strategy=strategy, mix=mix).fit(xp.asarray(X), pairs, y).decision_function(pairs)
    assert type(f).__module__.startswith(library)
    assert_close(np.asarray(f), expected, 1e-12)


def test_products_in_other_array_libraries():
    torch = pytest.importorskip("torch")
    X, pairs, y, _ = network(23, m=20, n=120)
    model = PairModel(RBF(GAMMA), mix=0.5, solver=ConjugateGradient(tol=1e-11))
    expected = model.fit(X, pairs, y).decision_function(pairs)
    assert_close(model.fit(torch.asarray(X), pairs, y).decision_function(pairs), expected, 1e-8)


def test_single_precision_is_kept():
    X, pairs, y, _ = network(24)
    assert PairModel(Linear()).fit(X.astype(np.float32), pairs, y).decision_function(pairs).dtype == np.float32


def test_clones_pickles_and_refits():
    X, pairs, y, _ = network(29)
    model = PairModel(RBF(), strategy="duplicate", mix=0.5, loss=MaxMargin()).fit(X, pairs, y)
    assert not hasattr(clone(model), "solution_")
    restored = pickle.loads(pickle.dumps(model))
    assert_close(restored.decision_function(pairs), model.decision_function(pairs), 1e-14)
    model.set_params(loss=None).fit(X, pairs, y * np.arange(1, len(y) + 1))
    assert not hasattr(model, "classes_")


# ------------------------------------------------------------------------------------------------ what it refuses


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"strategy": "both"}, ValueError, "`strategy` must be one of 'kernel', 'duplicate', 'local', got 'both'"),
        ({"mix": 1.5}, ValueError, "`mix` must be a number from 0 to 1, got 1.5"),
        ({"mix": -0.1}, ValueError, "`mix` must be a number from 0 to 1, got -0.1"),
        ({"strategy": "local", "mix": 0.5}, ValueError, "`mix` has no effect with"),
        ({"alpha": -1.0}, ValueError, "`alpha` must be a positive number, got -1.0"),
        ({"loss": Huber()}, ValueError, "`loss` must be `Square\\(\\)` or `MaxMargin\\(\\)`"),
        ({"solver": "cg"}, TypeError, "`solver` must be a component"),
        ({"kernel": "rbf"}, TypeError, "`kernel` must be a component"),
        ({"strategy": "local", "solver": Eigen()}, ValueError, "`solver` must be `Auto\\(\\)` or `Cholesky\\(\\)`"),
        ({"solver": CoordinateDescent()}, ValueError, "cannot solve this problem"),
    ],
)
def test_parameters_are_refused_in_words(change, error, message):
    X, pairs, y, _ = network(26)
    with pytest.raises(error, match=message):
        PairModel(**{"kernel": RBF(GAMMA), **change}).fit(X, pairs, y)


def test_the_margin_needs_two_labels_and_has_no_closed_leave_out():
    X, pairs, y, _ = network(27)
    with pytest.raises(ValueError, match="two different labels, got 40"):
        PairModel(loss=MaxMargin()).fit(X, pairs, np.arange(len(y)))
    with pytest.raises(ValueError, match="two different labels, got 1"):
        PairModel(loss=MaxMargin()).fit(X, pairs, np.ones(len(y)))
    with pytest.raises(ValueError, match="cv_decision_function"):
        PairModel(loss=MaxMargin()).fit(X, pairs, y).loo_decision_function()


def test_missing_values_of_nodes_are_refused():
    X, pairs, y, X_new = network(28)
    model = PairModel(RBF(GAMMA)).fit(X, pairs, y)
    X[3, 1] = X_new[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.decision_function([[0, 14]], X_new)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, pairs, y)


def test_new_nodes_must_be_given():
    X, pairs, y, X_new = network(28)
    model = PairModel(RBF(GAMMA)).fit(X, pairs, y)
    with pytest.raises(
        ValueError, match="`pairs` must hold row numbers of the fitted nodes, integers from 0 to 13, got 14"
    ):
        model.decision_function([[0, 14]])
    with pytest.raises(ValueError, match=r"row numbers of the fitted nodes and the rows of X, .*, got 18"):
        model.decision_function([[0, 18]], X_new)
    with pytest.raises(ValueError, match="features"):
        model.decision_function([[0, 14]], X_new[:, :2])
