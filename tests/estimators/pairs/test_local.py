"""Local models: one per node on its partners."""

import numpy as np
import pytest

from iokr import PairModel
from iokr.estimators.pairs.strategies import local_grams
from iokr.gram import PairGram
from iokr.kernels import RBF
from iokr.solvers import CoordinateDescent
from pair_problems import GAMMA, LOSSES, all_pairs, gram, network
from reference import assert_close


def test_every_point_belongs_to_the_model_of_its_first_node():
    X, pairs, _, _ = network(4)
    K, seen = gram(X), []
    for own, Q in local_grams(PairGram(K, pairs, mix=1.0, ordered=True)):
        node, partners = pairs[own, 0], pairs[own, 1]
        assert len(np.unique(node)) == 1
        assert_close(Q, 2 * K[np.ix_(partners, partners)], 0)
        seen += own.tolist()
    assert sorted(seen) == list(range(len(pairs)))


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


def test_local_models_are_separate_ridge_fits():
    X, pairs, y, _ = network(4)
    K = gram(X)
    model = PairModel(RBF(GAMMA), strategy="local", alpha=0.7).fit(X, pairs, y)

    def local_model(node):
        partners = [
            (b if a == node else a, a == b, label) for (a, b), label in zip(pairs, y, strict=True) if node in (a, b)
        ]
        at = np.array([partner for partner, _, _ in partners])
        shift = np.array([0.7 if alone else 1.4 for _, alone, _ in partners])
        c = np.linalg.solve(2 * K[np.ix_(at, at)] + np.diag(shift), np.array([label for *_, label in partners]))
        return lambda x: 2 * K[x, at] @ c

    expected = [(local_model(a)(b) + local_model(b)(a)) / 2 for a, b in all_pairs(14)]
    assert_close(model.decision_function(all_pairs(14)), expected, 1e-10)


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
