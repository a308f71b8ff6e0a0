"""Unordered pairs: the strategies of Hue and Vert, which of them are the same, and every way to solve them.

Tests of `iokr.estimators.pairs.local`, `iokr.estimators.pairs.posing` and `iokr.estimators.pairs.strategies`.
"""

import itertools

import numpy as np
import pytest

from iokr import PairModel
from iokr._compile import compiling
from iokr.kernels import RBF, Linear, Precomputed
from iokr.losses import MaxMargin, Square
from iokr.solvers import Cholesky, ConjugateGradient, CoordinateDescent
from pair_problems import (
    EXACT,
    GAMMA,
    LOSSES,
    STRATEGIES,
    all_pairs,
    gram,
    network,
    orders,
    point_kernel,
    set_kernel,
    slow_ridge,
)
from reference import assert_close

# ------------------------------------------------------------------------------------------------ the definitions


@pytest.mark.parametrize("delta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("strategy", ["kernel", "duplicate"])
def test_ridge_is_what_the_definition_says_also_for_unseen_nodes(strategy, delta):
    X, pairs, y, X_new = network()
    K = gram(np.vstack([X, X_new]))
    test = np.array([(0, 3), (5, 5), (2, 14), (15, 4), (16, 17), (17, 17)])
    expected = slow_ridge(K, pairs, y, 0.3, strategy, delta, test)
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=delta, alpha=0.3).fit(X, pairs, y)
    assert_close(model.decision_function(test, X_new), expected, 1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_tppk_is_both_strategies(loss):
    """Proposition 1: a kernel that does not mind swapping both pairs makes the strategies coincide, self-pairs too."""
    X, pairs, y, X_new = network(1)
    test = np.vstack([all_pairs(14), [(3, 14), (15, 16)]])
    options = {"loss": LOSSES[loss], "alpha": 0.2, "solver": EXACT[loss]}
    one, two = (
        PairModel(RBF(GAMMA), strategy=strategy, **options).fit(X, pairs, y).decision_function(test, X_new)
        for strategy in ("kernel", "duplicate")
    )
    assert_close(one, two, 1e-12)
    # `duplicate` takes the short way at δ = 0; the long one, with both orders as examples, gives the same.
    nearly = PairModel(RBF(GAMMA), strategy="duplicate", mix=1e-13, **options).fit(X, pairs, y)
    assert len(nearly.points_) > len(pairs) == len(nearly.pairs_)
    assert_close(nearly.decision_function(test, X_new), one, 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_any_swap_invariant_kernel_makes_the_strategies_coincide(loss):
    """Both through `IOKR`'s solvers on explicit Gram matrices, the kernel being k(a, c)k(b, d) + k'(a, c)k'(b, d)."""
    from iokr.problem import Problem
    from iokr.solvers import Auto

    X, pairs, y, _ = network(2)
    K, L = gram(X), X @ X.T
    k = lambda x, z: K[x[0], z[0]] * K[x[1], z[1]] + L[x[0], z[0]] * L[x[1], z[1]]  # noqa: E731
    points, owner, _ = explicit_points(pairs)
    weight = 1 / np.bincount(owner)[owner]
    solver = EXACT[loss] or Auto()

    def solve(G, targets, w):
        problem = Problem(
            Precomputed(G).fit(G).gram(np.arange(len(G))), targets[:, None], LOSSES[loss] or Square(), 0.5, weight=w
        )
        return (G @ solver.solve(problem).C)[:, 0]

    one = solve(set_kernel(k, pairs, pairs), y, None)
    g = solve(np.array([[k(x, z) for z in points] for x in points]), y[owner], weight)
    assert_close(np.bincount(owner, g) / np.bincount(owner), one, 1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_local_is_duplicate_with_the_kronecker_kernel(loss):
    """Proposition 2, with summed losses, one λ and no bias."""
    X, pairs, y, _ = network(3)
    assert len(np.unique(pairs)) == 14
    options = {"loss": LOSSES[loss], "alpha": 0.4}
    solver = CoordinateDescent(tol=1e-13) if loss == "hinge" else None
    local = PairModel(RBF(GAMMA), strategy="local", solver=solver, **options).fit(X, pairs, y)
    both = PairModel(RBF(GAMMA), strategy="duplicate", mix=1.0, solver=solver, **options).fit(X, pairs, y)
    assert_close(local.decision_function(all_pairs(14)), both.decision_function(all_pairs(14)), 1e-8)


def test_local_machines_are_separate_ridge_fits():
    X, pairs, y, _ = network(4)
    K = gram(X)
    model = PairModel(RBF(GAMMA), strategy="local", alpha=0.7).fit(X, pairs, y)

    def machine(node):
        mates = [
            (b if a == node else a, a == b, label) for (a, b), label in zip(pairs, y, strict=True) if node in (a, b)
        ]
        at = np.array([mate for mate, _, _ in mates])
        shift = np.array([0.7 if alone else 1.4 for _, alone, _ in mates])
        c = np.linalg.solve(2 * K[np.ix_(at, at)] + np.diag(shift), np.array([label for *_, label in mates]))
        return lambda x: 2 * K[x, at] @ c

    expected = [(machine(a)(b) + machine(b)(a)) / 2 for a, b in all_pairs(14)]
    assert_close(model.decision_function(all_pairs(14)), expected, 1e-10)


def test_theorem_1_one_example_per_pair_is_a_loss_on_the_mean():
    """min_g Σ_p ½(y_p − mean_x g(x))² + (λ/2)‖g‖², solved in the coefficients of g on the points."""
    X, pairs, y, _ = network(5)
    k = point_kernel(gram(X), 0.6)
    points, _, mean = explicit_points(pairs)
    G = np.array([[k(x, z) for z in points] for x in points])
    c = np.linalg.lstsq(G @ mean.T @ mean @ G + 0.3 * G, G @ mean.T @ y, rcond=None)[0]
    model = PairModel(RBF(GAMMA), mix=0.6, alpha=0.3).fit(X, pairs, y)
    assert_close(model.decision_function(pairs), mean @ G @ c, 1e-7)


def explicit_points(pairs):
    """The points of all pairs, the pair of each, and the matrix that averages values at points over pairs."""
    points = [x for p in pairs for x in orders(p)]
    owner = np.array([i for i, p in enumerate(pairs) for _ in orders(p)])
    mean = (owner[None, :] == np.arange(len(pairs))[:, None]) / np.bincount(owner)[:, None]
    return points, owner, mean


@pytest.mark.parametrize("delta", [0.0, 0.6, 1.0])
def test_theorem_1_for_the_hinge(delta):
    """The machine on pairs reaches min_g Σ_p max(0, 1 − y_p mean_x g(x)) + (λ/2)‖g‖²: its gap there is zero."""
    X, pairs, y, _ = network(5)
    k = point_kernel(gram(X), delta)
    points, _, mean = explicit_points(pairs)
    G = np.array([[k(x, z) for z in points] for x in points])
    model = PairModel(RBF(GAMMA), mix=delta, loss=MaxMargin(), alpha=0.3, solver=EXACT["hinge"]).fit(X, pairs, y)
    at = {tuple(p): i for i, p in enumerate(model.pairs_.tolist())}
    dual = 0.3 * y * model.solution_.C[[at[tuple(sorted(p))] for p in pairs.tolist()], 0]
    assert dual.min() >= -1e-12 and dual.max() <= 1 + 1e-12
    c = mean.T @ (y * dual) / 0.3
    primal = np.maximum(0, 1 - y * (mean @ G @ c)).sum() + 0.15 * c @ G @ c
    assert_close(primal, dual.sum() - 0.15 * c @ G @ c, 1e-8)
    assert_close(model.decision_function(pairs), mean @ G @ c, 1e-10)


@pytest.mark.parametrize("delta", [0.3, 1.0])
def test_duplicate_hinge_is_the_weighted_machine_on_points(delta):
    """min_g Σ_x w_x max(0, 1 − y_x g(x)) + (λ/2)‖g‖² with w = 1/|p|: primal and dual of the definition meet."""
    X, pairs, y, _ = network(6)
    k = point_kernel(gram(X), delta)
    points, owner, mean = explicit_points(pairs)
    G = np.array([[k(x, z) for z in points] for x in points])
    w, target = 1 / np.bincount(owner)[owner], y[owner]
    model = PairModel(RBF(GAMMA), strategy="duplicate", mix=delta, loss=MaxMargin(), alpha=0.3, solver=EXACT["hinge"])
    model.fit(X, pairs, y)
    at = {tuple(x): i for i, x in enumerate(model.points_.tolist())}
    c = model.solution_.C[[at[tuple(map(int, x))] for x in points], 0]
    dual = 0.3 * target * c
    assert dual.min() >= -1e-12 and np.all(dual <= w + 1e-12)
    primal = (w * np.maximum(0, 1 - target * (G @ c))).sum() + 0.15 * c @ G @ c
    assert_close(primal, dual.sum() - 0.15 * c @ G @ c, 1e-8)
    assert_close(model.decision_function(pairs), mean @ G @ c, 1e-10)


def test_strategies_differ_elsewhere():
    """E48: the pair kernel at δ = 1 is not the local model."""
    X, pairs, y, _ = network(6)
    one, two = (
        PairModel(RBF(GAMMA), strategy=s, mix=1.0, alpha=0.3).fit(X, pairs, y).decision_function(all_pairs(14))
        for s in ("kernel", "duplicate")
    )
    assert np.abs(one - two).max() > 0.01


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


def test_local_scores_one_unseen_node_by_the_other_and_refuses_two():
    X, pairs, y, X_new = network(25, m=10, n=20)
    kept = ~np.isin(pairs, [8, 9]).any(axis=1)
    model = PairModel(RBF(GAMMA), strategy="local", alpha=0.5).fit(X, pairs[kept], y[kept])
    twin = PairModel(RBF(GAMMA), strategy="duplicate", mix=1.0, alpha=0.5).fit(X, pairs[kept], y[kept])
    node = int(pairs[kept][0, 0])
    for unseen in (8, 10):  # a row of X in no pair, and a new one
        both = 2 * twin.decision_function([[node, unseen]], X_new)
        assert_close(model.decision_function([[unseen, node]], X_new), both, 1e-10)
    with pytest.raises(ValueError, match="Neither 8 nor 10 has a local model"):
        model.decision_function([[8, 10]], X_new)
