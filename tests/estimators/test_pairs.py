"""Unordered pairs: the strategies of Hue and Vert, which of them are the same, and every way to solve them."""

import itertools

import numpy as np
import pytest

from iokr import PairModel
from iokr.gram import pair_loops
from iokr.kernels import RBF, Linear, Precomputed
from iokr.losses import Huber, MaxMargin, Square
from iokr.solvers import Cholesky, ConjugateGradient, CoordinateDescent, Eigen
from reference import assert_close

GAMMA = 0.3
LOSSES = {"square": None, "hinge": MaxMargin()}
EXACT = {"square": None, "hinge": CoordinateDescent(tol=1e-12)}


def network(seed=0, m=14, n=40, self_pairs=True):
    """Nodes, distinct pairs in any order (self-pairs among them), labels ±1 and new nodes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    every = np.array([(i, j) for i in range(m) for j in range(i, m) if self_pairs or i != j])
    pairs = every[rng.permutation(len(every))[:n]]
    turned = rng.uniform(size=n) < 0.5
    pairs[turned] = pairs[turned, ::-1]
    distance = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
    y = np.where(distance + rng.normal(size=n) < np.median(distance), 1.0, -1.0)
    return X, pairs, y, rng.normal(size=(4, 3))


def gram(X, Z=None):
    Z = X if Z is None else Z
    return np.exp(-GAMMA * ((X[:, None] - Z[None]) ** 2).sum(axis=-1))


def orders(p):
    """The one or two points of a pair."""
    return sorted({(p[0], p[1]), (p[1], p[0])})


def point_kernel(K, delta):
    """2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d) on points in order; −1 for nodes that are not the same as any."""
    return lambda x, z: 2 * (delta * (x[0] == z[0]) + (1 - delta) * K[x[0], z[0]]) * K[x[1], z[1]]


def set_kernel(k, P, Q):
    return np.array([[np.mean([k(x, z) for x in orders(p) for z in orders(q)]) for q in Q] for p in P])


def slow_ridge(K, pairs, y, alpha, strategy, delta, test):
    """The strategies as defined, with dense systems on explicit points; K over all nodes, test ones included."""
    k = point_kernel(K, delta)
    if strategy == "kernel":
        c = np.linalg.solve(set_kernel(k, pairs, pairs) + alpha * np.eye(len(y)), y)
        return set_kernel(k, test, pairs) @ c
    points = [x for p in pairs for x in orders(p)]
    weight = np.array([1 / len(orders(p)) for p in pairs for _ in orders(p)])
    labels = np.array([label for p, label in zip(pairs, y, strict=True) for _ in orders(p)])
    G = np.array([[k(x, z) for z in points] for x in points])
    c = np.linalg.solve(G + alpha * np.diag(1 / weight), labels)
    return np.array(
        [np.mean([sum(k(x, z) * v for z, v in zip(points, c, strict=True)) for x in orders(p)]) for p in test]
    )


def all_pairs(m):
    return np.array([(i, j) for i in range(m) for j in range(i, m)])


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
    points = [x for p in pairs for x in orders(p)]
    owner = np.array([i for i, p in enumerate(pairs) for _ in orders(p)])
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
    points = [x for p in pairs for x in orders(p)]
    G = np.array([[k(x, z) for z in points] for x in points])
    mean = np.zeros((len(pairs), len(points)))
    for column, i in enumerate(i for i, p in enumerate(pairs) for _ in orders(p)):
        mean[i, column] = 1 / len(orders(pairs[i]))
    c = np.linalg.lstsq(G @ mean.T @ mean @ G + 0.3 * G, G @ mean.T @ y, rcond=None)[0]
    model = PairModel(RBF(GAMMA), mix=0.6, alpha=0.3).fit(X, pairs, y)
    assert_close(model.decision_function(pairs), mean @ G @ c, 1e-7)


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
def route(request, monkeypatch):
    """The loops of pairs with and without Numba."""
    if request.param == "numpy":
        for module in (pair_loops, __import__("iokr.solvers.pair_margin", fromlist=["compiled"])):
            monkeypatch.setattr(module, "compiled", lambda loop: None)
    else:
        pytest.importorskip("numba")
    return request.param


@pytest.mark.parametrize("delta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("strategy", ["kernel", "duplicate"])
def test_iterative_equals_dense(strategy, delta, route):
    X, pairs, y, _ = network(9, m=40, n=300)
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=delta, alpha=0.1)
    dense = model.set_params(solver=Cholesky()).fit(X, pairs, y).decision_function(all_pairs(40))
    iterative = model.set_params(solver=ConjugateGradient(tol=1e-12)).fit(X, pairs, y)
    assert_close(iterative.decision_function(all_pairs(40)), dense, 1e-8)
    assert iterative.solution_.converged and iterative.solution_.gap < 1e-12


@pytest.mark.parametrize("delta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("strategy", ["kernel", "duplicate"])
def test_margin_without_a_matrix_equals_margin_with_it(strategy, delta, route, monkeypatch):
    from iokr.gram.pairs import PairGram

    X, pairs, y, _ = network(10, m=25, n=150)
    model = PairModel(
        RBF(GAMMA), strategy=strategy, mix=delta, loss=MaxMargin(), alpha=0.2, solver=CoordinateDescent(1e-11)
    )
    given = {}
    for products_only in (True, False):
        monkeypatch.setattr(PairGram, "iterative", property(lambda self, value=products_only: value))
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


@pytest.mark.parametrize("delta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("strategy", ["kernel", "duplicate", "local"])
def test_complete_case_equals_dense(strategy, delta):
    """All pairs, self-pairs of half the weight of the others: one eigendecomposition of K."""
    if strategy == "local" and delta == 0.5:
        pytest.skip("mix is 0 or 1 there")
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


# --------------------------------------------------------------------------------------------------- leaving out

STRATEGIES = [("kernel", 0.0), ("kernel", 0.5), ("duplicate", 0.5), ("duplicate", 1.0), ("local", 0.0)]


def complete(m=7, seed=0):
    pairs = all_pairs(m)
    y = np.random.default_rng(seed).normal(size=len(pairs))
    return pairs, y, np.where(pairs[:, 0] == pairs[:, 1], 0.5, 1.0)


@pytest.mark.parametrize(("strategy", "mix"), STRATEGIES)
@pytest.mark.parametrize("whole", [False, True])
def test_leaving_a_pair_out_is_refitting_without_it(strategy, mix, whole):
    X, pairs, y, _ = network(16, m=8, n=24)
    weight = None
    if whole:
        pairs, y, weight = complete(8)
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=mix, alpha=0.3)
    found = model.fit(X, pairs, y, sample_weight=weight).loo_decision_function()
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        model.fit(X, pairs[rest], y[rest], sample_weight=None if weight is None else weight[rest])
        assert_close(found[i], model.decision_function(pairs[[i]])[0], 1e-8, atol=1e-12)


@pytest.mark.parametrize(("strategy", "mix"), STRATEGIES)
@pytest.mark.parametrize("whole", [False, True])
def test_leaving_a_node_out_is_refitting_without_its_pairs(strategy, mix, whole):
    X, pairs, y, _ = network(17, m=8, n=24, self_pairs=False)
    weight = None
    if whole:
        pairs, y, weight = complete(8)
    model = PairModel(RBF(GAMMA), strategy=strategy, mix=mix, alpha=0.3)
    found = model.fit(X, pairs, y, sample_weight=weight).loo_decision_function(by="node")
    assert found.shape == (len(y), 2)
    for i, side in itertools.product(range(len(y)), range(2)):
        kept = ~(pairs == pairs[i, side]).any(axis=1)
        if strategy == "local" and pairs[i, 0] == pairs[i, 1]:
            assert np.isnan(found[i, side])  # nobody is left
            continue
        model.fit(X, pairs[kept], y[kept], sample_weight=None if weight is None else weight[kept])
        assert_close(found[i, side], model.decision_function(pairs[[i]])[0], 1e-8, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_folds_of_nodes_are_refits_without_them(loss):
    X, pairs, y, _ = network(18, m=10, n=30)
    model = PairModel(RBF(GAMMA), mix=0.4, loss=LOSSES[loss], alpha=0.3, solver=EXACT[loss]).fit(X, pairs, y)
    found = model.cv_decision_function(cv=10)  # one node a fold
    kept = ~(pairs == pairs[4, 1]).any(axis=1)
    expected = model.fit(X, pairs[kept], y[kept]).decision_function(pairs[[4]])[0]
    assert_close(found[4, 1], expected, 1e-8)


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


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"strategy": "both"}, ValueError, "`strategy` must be one of 'kernel', 'duplicate', 'local', got 'both'"),
        ({"mix": 1.5}, ValueError, "`mix` must be a number from 0 to 1, got 1.5"),
        ({"mix": -0.1}, ValueError, "`mix` must be a number of at least 0"),
        ({"strategy": "local", "mix": 0.5}, ValueError, "`mix` means nothing"),
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


@pytest.mark.parametrize(
    ("pairs", "y", "error", "message"),
    [
        ([[0, 1], [1, 0]], [1, -1], ValueError, r"The pair \{0, 1\} has two different labels"),
        ([[0, 14]], [1], ValueError, "Row number 14 in `pairs` is outside the rows of X, of which there are 14"),
        ([[0, -1]], [1], ValueError, "Row number -1"),
        ([[0, 1, 2]], [1], ValueError, "`pairs` must have two columns"),
        ([[0.5, 1.0]], [1], TypeError, "`pairs` must hold row numbers of nodes, integers"),
        ([["a", "b"]], [1], TypeError, "`pairs` must hold row numbers of nodes"),
        ([[0, 1]], [1, 2], ValueError, "pairs has 1 objects but y has 2"),
        ([[0, 1]], [np.nan], ValueError, "`y` contains NaN"),
        ([[0, 1]], None, ValueError, "requires y to be passed"),
        ([[0, 1], [1, 2], [2, 3]], ["a", "b", "c"], ValueError, "two different labels, got 3 labels"),
    ],
)
def test_pairs_and_labels_are_refused_in_words(pairs, y, error, message):
    with pytest.raises(error, match=message):
        PairModel(RBF(GAMMA)).fit(network()[0], pairs, y)


def test_the_margin_needs_two_labels_and_has_no_closed_leave_out():
    X, pairs, y, _ = network(27)
    with pytest.raises(ValueError, match="needs a binary `y`"):
        PairModel(loss=MaxMargin()).fit(X, pairs, np.arange(len(y)))
    with pytest.raises(ValueError, match="cv_decision_function"):
        PairModel(loss=MaxMargin()).fit(X, pairs, y).loo_decision_function()


def test_new_nodes_must_be_given():
    X, pairs, y, X_new = network(28)
    model = PairModel(RBF(GAMMA)).fit(X, pairs, y)
    with pytest.raises(ValueError, match="Row number 14 in `pairs` is outside the fitted nodes"):
        model.decision_function([[0, 14]])
    with pytest.raises(ValueError, match="Row number 18 in `pairs` is outside the fitted nodes and the rows of X"):
        model.decision_function([[0, 18]], X_new)
    with pytest.raises(ValueError, match="features"):
        model.decision_function([[0, 14]], X_new[:, :2])


def test_clones_pickles_and_refits():
    import pickle

    from sklearn.base import clone

    X, pairs, y, _ = network(29)
    model = PairModel(RBF(), strategy="duplicate", mix=0.5, loss=MaxMargin()).fit(X, pairs, y)
    assert not hasattr(clone(model), "solution_")
    restored = pickle.loads(pickle.dumps(model))
    assert_close(restored.decision_function(pairs), model.decision_function(pairs), 1e-14)
    model.set_params(loss=None).fit(X, pairs, y * np.arange(1, len(y) + 1))
    assert not hasattr(model, "classes_")
