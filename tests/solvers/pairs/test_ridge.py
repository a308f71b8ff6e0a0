"""What solves problems on pairs, piece by piece against dense matrices: sweeps, preconditioners, closed forms."""

import numpy as np
import pytest

from iokr._compile import compiling
from iokr.gram.pairs.gram import PairGram
from iokr.solvers.pairs import margin
from iokr.solvers.pairs.margin import PairQuadratic
from iokr.solvers.pairs.ridge import conjugate_gradients
from iokr.solvers.pairs.spectrum import CompletePairs, low_rank_preconditioner, pair_preconditioner
from pair_problems import all_pairs, gram, network
from reference import assert_close

FORMS = [(mix, ordered) for mix in (0.0, 0.4, 1.0) for ordered in (False, True)]


@pytest.fixture(params=["compiled", "numpy"])
def route(request):
    """The loops with and without Numba."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    with compiling(request.param == "compiled"):
        yield request.param


@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_a_sweep_is_coordinate_descent_entry_by_entry(mix, ordered, route):
    X, pairs, y, _ = network(0, m=12, n=50)
    pair_gram = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    quadratic = PairQuadratic(pair_gram, y, 0.3)
    Q = pair_gram.dense() * np.outer(y, y) / 0.3
    rng = np.random.default_rng(0)
    upper, start = rng.uniform(0.2, 1, size=50), rng.uniform(0, 0.2, size=50)
    expected = start.copy()
    for _ in range(margin._PASSES):
        for p in quadratic.order:
            step = (Q[p] @ expected - 1) / Q[p, p]
            expected[p] = np.clip(expected[p] - step, 0, upper[p])
    alpha, gradient = start.copy(), Q @ start - 1
    quadratic.sweep(upper, alpha, gradient)
    assert np.abs(alpha - start).max() > 0.1
    assert_close(alpha, expected, 1e-10)
    assert_close(gradient, Q @ expected - 1, 1e-10)


def test_a_pair_without_length_goes_to_its_bound(route):
    """k_P(p, p) = 0: the dual is −α_p there, largest at the bound."""
    K = np.diag([1.0, 1.0, 0.0])
    quadratic = PairQuadratic(PairGram(K, np.array([[0, 1], [2, 2]])), np.array([1.0, -1.0]), 1.0)
    alpha, gradient = np.zeros(2), -np.ones(2)
    quadratic.sweep(np.array([5.0, 0.7]), alpha, gradient)
    assert_close(alpha, [1.0, 0.7], 1e-12)


@pytest.mark.parametrize("few", [5, 2000])
@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_newton_directions_solve_the_corner(mix, ordered, few, monkeypatch):
    """By a factorisation, or by conjugate gradients where the corner is large."""
    monkeypatch.setattr(margin, "_CORNER", few)
    monkeypatch.setattr(margin, "_ACCURACY", 1e-10)
    monkeypatch.setattr(margin, "_STEPS", 1000)
    X, pairs, y, _ = network(1, m=12, n=50)
    pair_gram = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    free, slope = np.arange(0, 50, 2), np.random.default_rng(0).normal(size=25)
    Q = (pair_gram.dense() * np.outer(y, y) / 0.3)[np.ix_(free, free)]
    direction = next(PairQuadratic(pair_gram, y, 0.3).directions(free, slope))
    assert_close(Q @ direction, -slope, 1e-4)


@pytest.mark.parametrize("ordered", [False, True])
def test_the_low_rank_preconditioner_is_the_inverse_when_the_rank_is_low(ordered, route):
    """K of rank 3 has 6 (9) products of eigenvectors, all of which are taken."""
    rng = np.random.default_rng(0)
    _, pairs, _, _ = network(2, m=20, n=120)
    V = rng.normal(size=(20, 3))
    pair_gram, shift = PairGram(V @ V.T, pairs, ordered=ordered), rng.uniform(0.5, 2, size=120)
    r = rng.normal(size=120)
    exact = np.linalg.solve(pair_gram.dense() + np.diag(shift), r)
    assert_close(low_rank_preconditioner(pair_gram, shift)(r), exact, 1e-8)


@pytest.mark.parametrize(("mix", "ordered"), FORMS)
@pytest.mark.parametrize("part", ["some", "nearly all"])
def test_preconditioners_are_symmetric_positive_and_save_steps(mix, ordered, part):
    X = np.random.default_rng(3).normal(size=(30, 3))
    pairs = np.array([(i, j) for i in range(30) for j in range(30) if i < j or (ordered and i != j)])
    if part == "some":
        pairs = pairs[np.random.default_rng(0).permutation(len(pairs))[: len(pairs) // 2]]
    pair_gram, shift = PairGram(gram(X), pairs, mix=mix, ordered=ordered), np.full(len(pairs), 0.01)
    M = pair_preconditioner(pair_gram, shift)
    inverse = np.stack([M(e) for e in np.eye(len(pairs))])
    assert_close(inverse, inverse.T, 1e-9)
    assert np.linalg.eigvalsh(inverse)[0] > 0
    y = np.random.default_rng(1).normal(size=(len(pairs), 1))

    def steps(precondition):
        G = pair_gram.dense()
        return conjugate_gradients(lambda P: G @ P + shift[:, None] * P, y, precondition, 1e-8, 5000)[2]

    if mix < 1 or part == "nearly all":
        assert steps(lambda R: M(R[:, 0])[:, None]) < 0.6 * steps(lambda R: R)


@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_all_pairs_in_closed_form(mix, ordered):
    """One common weight of all ordered pairs: unordered pairs weigh as much as their two orders."""
    X = np.random.default_rng(4).normal(size=(7, 3))
    pairs = all_pairs(7) if not ordered else np.array([(i, j) for i in range(7) for j in range(7)])
    alone = ordered | (pairs[:, 0] == pairs[:, 1])
    shift, y = np.where(alone, 0.6, 0.3), np.random.default_rng(0).normal(size=len(pairs))
    pair_gram = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    form = CompletePairs(pair_gram, shift)
    assert form.exact
    N = np.linalg.inv(pair_gram.dense() + np.diag(shift))
    assert_close(form.solve(y), N @ y, 1e-9)
    if not ordered:
        assert_close(form.loo_residuals(y), (N @ y) / np.diagonal(N), 1e-9)
    else:
        at = {tuple(p): i for i, p in enumerate(pairs.tolist())}
        for i, (a, b) in enumerate(pairs.tolist()):
            F = sorted({at[a, b], at[b, a]})
            assert_close(form.loo_residuals(y)[i], np.linalg.solve(N[np.ix_(F, F)], (N @ y)[F]).mean(), 1e-8)
    if not ordered:
        assert not CompletePairs(pair_gram, np.full(len(pairs), 0.3)).exact  # self-pairs weigh twice as much
    assert not CompletePairs(pair_gram.restrict(np.arange(1, len(pairs))), shift[1:]).exact


def test_conjugate_gradients_solve_every_column_and_start_warm():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(30, 30))
    A = A @ A.T + np.eye(30)
    B = rng.normal(size=(30, 3)) * [1.0, 1e-6, 0.0]
    X, R, steps = conjugate_gradients(lambda P: A @ P, B, lambda R: R, 1e-10, 1000)
    assert_close(X, np.linalg.solve(A, B), 1e-8)
    assert np.all(np.linalg.norm(R, axis=0) <= 1e-10 * np.linalg.norm(B, axis=0) + 1e-300)
    assert conjugate_gradients(lambda P: A @ P, B, lambda R: R, 1e-10, 1000, X)[2] <= 1 < steps
    _, R, steps = conjugate_gradients(lambda P: A @ P, B, lambda R: R, 1e-10, 4)
    assert steps == 4
    assert_close(np.linalg.norm(R, axis=0) > 0, [True, True, False], 0)
