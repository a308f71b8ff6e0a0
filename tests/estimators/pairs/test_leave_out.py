"""Leaving out pairs, nodes and folds of nodes is fitting again without them."""

import itertools

import numpy as np
import pytest

from iokr import PairModel
from iokr.kernels import RBF
from pair_problems import EXACT, GAMMA, LOSSES, STRATEGIES, all_pairs, network
from reference import assert_close


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
@pytest.mark.parametrize(("strategy", "mix"), STRATEGIES)
def test_folds_of_nodes_are_refits_without_them(strategy, mix, loss):
    X, pairs, y, _ = network(18, m=10, n=34)
    options = {"strategy": strategy, "mix": mix, "loss": LOSSES[loss], "alpha": 0.3, "solver": EXACT[loss]}
    found = PairModel(RBF(GAMMA), **options).fit(X, pairs, y).cv_decision_function(cv=3, random_state=5)
    assert found.shape == (34, 2)
    folds = np.array_split(np.random.default_rng(5).permutation(np.unique(pairs)), 3)
    for fold in folds:
        kept = ~np.isin(pairs, fold).any(axis=1)
        refit = PairModel(RBF(GAMMA), **options).fit(X, pairs[kept], y[kept])
        for i, side in zip(*np.nonzero(np.isin(pairs, fold)), strict=True):
            if strategy == "local" and not np.isin(pairs[i], pairs[kept]).any():
                assert np.isnan(found[i, side])  # nobody is left
            else:
                assert_close(found[i, side], refit.decision_function(pairs[[i]])[0], 1e-6, atol=1e-9)


def test_one_node_a_fold_is_leaving_nodes_out():
    X, pairs, y, _ = network(19, m=10, n=30)
    model = PairModel(RBF(GAMMA), mix=0.4, alpha=0.3).fit(X, pairs, y)
    assert_close(model.cv_decision_function(cv=10), model.loo_decision_function(by="node"), 1e-9)
