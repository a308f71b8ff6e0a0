"""The strategies of Hue and Vert by their definitions, and which of them are the same."""

import numpy as np
import pytest

from iokr import PairModel
from iokr.estimators.pairs.model import choose_strategy
from iokr.estimators.pairs.strategies import BothOrders, OnePerNode, OnePerPair
from iokr.kernels import RBF, Precomputed
from iokr.losses import MaxMargin, Square
from pair_problems import EXACT, GAMMA, LOSSES, all_pairs, gram, network, orders, point_kernel, set_kernel, slow_ridge
from reference import assert_close


def test_a_strategy_is_chosen_once_by_name_and_mix():
    assert choose_strategy("kernel", 0.5) == OnePerPair(0.5)
    assert choose_strategy("duplicate", 0.5) == BothOrders(0.5)
    assert choose_strategy("duplicate", 0) == OnePerPair(0.0)  # the same model, half as many examples
    assert choose_strategy("local", 0) == choose_strategy("local", 1) == OnePerNode(1.0)


def test_a_fitted_model_keeps_its_strategy():
    X, pairs, y, _ = network(1)
    model = PairModel(RBF(GAMMA), strategy="local").fit(X, pairs, y)
    f, out = model.decision_function(pairs), model.cv_decision_function(3)
    model.set_params(strategy="kernel", mix=0.5, alpha=7.0)
    assert_close(model.decision_function(pairs), f, 0)
    np.testing.assert_array_equal(model.cv_decision_function(3), out)


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
