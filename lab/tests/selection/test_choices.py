"""Searches against loops, on small networks."""

from dataclasses import replace

import numpy as np
import pytest

from iokr_lab.data.networks import YeastNetwork
from iokr_lab.pairs import pairs
from iokr_lab.selection import choices
from iokr_lab.selection.choices import PLANS, ChoicesPlan, Links, Pairs
from iokr_lab.study import run

TINY = ChoicesPlan(
    sigmas=(1.0, 3.0), betas=(0.5, 2.0), alphas=(0.1, 1.0), mixes=(0.0, 1.0), decoys=1, costs=(1.0, 8.0), folds=2
)


def toy(n=30, seed=0):
    """A network whose links follow its features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    i, j = np.triu_indices(n, 1)
    near = np.argsort(((X[i] - X[j]) ** 2).sum(axis=1))[:80]
    edges = np.stack([i[near], j[near]], axis=1)
    names = np.array([f"Y{k}" for k in range(n)])
    loc = (X > 0).astype(float)
    return YeastNetwork(names, edges, X, np.full((n, 1), np.nan), loc, ("a", "b", "c", "d"), edges_y2h_full=edges[:20])


@pytest.fixture
def networks(monkeypatch):
    monkeypatch.setattr(pairs, "load_yeast_ppi", toy)
    monkeypatch.setattr(pairs, "load_yeast_metabolic", lambda: toy(25, 1))
    monkeypatch.setattr(choices, "load_yeast_ppi", toy)


def test_searches_choose_what_loops_choose(networks):
    report = run(replace(choices.STUDY), TINY, n_jobs=1)
    links, unordered = report.tables
    assert len(links.rows) == 5 * 3 and len(unordered.rows) == 7 * 2
    assert {row["the same"] for row in (*links.rows, *unordered.rows)} == {"yes"}
    assert "in 15 of 15" in report.summary and "in 14 of 14" in report.summary


def test_a_difference_is_counted(networks):
    def other(case, plan, data):
        chosen = {"roc_auc": {"sigma": 1.0, "beta": 1.0, "alpha": 1.0}}
        changed = {"roc_auc": {"sigma": 1.0, "beta": 3.0, "alpha": 1.0}}
        return {"search": chosen, "loop": changed, "seconds": {"search": 1.0, "loop": 2.0}}

    report = run(replace(choices.STUDY, work=other), TINY)
    assert "in 0 of 5" in report.summary
    assert report.tables[0].rows[0]["loop"] == "σ = 1, β = 3, α = 1"


def test_the_default_has_the_grids_of_the_experiments():
    plan = PLANS["default"]
    shared = pairs.PLANS["default"]
    assert all(getattr(plan, name) == getattr(shared, name) for name in ("mixes", "decoys", "inner", "costs", "folds"))
    found = choices.cases(plan, None)
    assert sum(isinstance(case, Links) for case in found) == 5 and sum(isinstance(case, Pairs) for case in found) == 35
