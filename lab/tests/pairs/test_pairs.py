"""The experiment on pairs: protocols, cells that survive an interruption, and the page."""

from dataclasses import replace

import numpy as np
import pytest

from iokr_lab import find
from iokr_lab.cells import Cells
from iokr_lab.data.networks import YeastNetwork
from iokr_lab.pairs import pairs
from iokr_lab.pairs.pairs import DUPLICATE, KERNEL, PLANS, Fold, PairsPlan, cases, load, roc, work
from iokr_lab.study import Results, run

TINY = PairsPlan(mixes=(0.0, 1.0), costs=(1.0, 8.0), folds=2)


def toy(n=30, seed=0):
    """A network whose links follow its features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    i, j = np.triu_indices(n, 1)
    near = np.argsort(distance[i, j])[:60]
    edges = np.stack([i[near], j[near]], axis=1)
    loc = (X > 0).astype(float)
    names = np.array([f"Y{k}" for k in range(n)])
    return YeastNetwork(names, edges, X, np.full((n, 1), np.nan), loc, ("a", "b", "c", "d"), edges_y2h_full=edges[:20])


@pytest.fixture
def networks(monkeypatch):
    monkeypatch.setattr(pairs, "load_yeast_ppi", toy)
    monkeypatch.setattr(pairs, "load_yeast_metabolic", lambda: toy(25, 1))


def test_the_published_protocol():
    full, default = PLANS["full"], PLANS["default"]
    assert (len(full.mixes), full.decoys, full.inner, full.folds) == (11, 9, 5, 5)
    assert full.costs == (1, 2, 4, 8, 16, 32)
    assert len(cases(full, None)) == 7 * (1 + 2 * 10) * 5
    assert (len(default.mixes), default.decoys, default.inner) == (3, 2, 1)


def test_the_published_winners():
    rows = {str(row): (row.strategy, row.mix) for row in pairs.PUBLISHED}
    assert len(rows) == 9 and rows["interaction, exp"] == (DUPLICATE, 0.7) and rows["metabolic, loc"] == (KERNEL, 1.0)
    assert [name for name, (_, mix) in rows.items() if mix == 0] == [
        "interaction, y2h",
        "interaction, integrated",
        "metabolic, integrated",
    ]


def test_decoys_are_no_links_and_no_self_pairs():
    drawn, y = pairs.labelled_pairs(toy(), 3, 0)
    links = {tuple(edge) for edge in np.sort(toy().edges, axis=1).tolist()}
    apart = [tuple(pair) for pair in drawn[y < 0].tolist()]
    assert len(set(apart)) == len(apart) == 3 * len(links)
    assert not links & set(apart)
    assert all(a < b for a, b in apart)


def test_alpha_is_two_over_the_published_cost():
    """libsvm's CΣhinge + ½‖f‖² with k^δ, half of our kernel: the same scores up to the bias."""
    from iokr import PairModel
    from iokr.kernels import Precomputed
    from iokr.losses import MaxMargin
    from iokr.problem import Problem
    from iokr.solvers import CoordinateDescent

    K = pairs.node_gram(toy(), "exp")
    drawn, y = pairs.labelled_pairs(toy(), 1, 0)
    solver = CoordinateDescent(1e-10)
    alpha = pairs.alpha_of(4.0)
    ours = PairModel(Precomputed(K), loss=MaxMargin(), alpha=alpha, solver=solver).fit(np.arange(30), drawn, y)
    a, b = drawn.T
    half = (K[np.ix_(a, a)] * K[np.ix_(b, b)] + K[np.ix_(a, b)] * K[np.ix_(b, a)]) / 2
    gram = Precomputed(half).fit(half).gram(np.arange(len(y)))
    C = solver.solve(Problem(gram, y[:, None], MaxMargin(), 1 / 4.0)).C
    np.testing.assert_allclose(ours.decision_function(drawn), (half @ C)[:, 0], atol=1e-4)


def test_rounding_does_not_break_ties():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    assert roc(y, np.array([0.3, 0.3, 0.3, 0.3]) + 1e-14 * np.array([1, 2, 3, 4])) == 0.5
    assert roc(y, np.array([2.0, 1.0, 2.0, 1.0])) == 1.0


def test_a_cell_learns_something(networks):
    metrics = work(Fold("interaction", "exp", KERNEL, 0.0, 0), TINY, load(TINY))
    assert metrics["roc"] > 0.7 and metrics["C"] in TINY.costs and metrics["gap"] < 1e-2


def test_an_interrupted_run_goes_on_where_it_stopped(networks, tmp_path):
    done, again, steps = [], [], []

    def some(case, plan, data):
        if len(done) == 9:
            raise KeyboardInterrupt
        done.append(str(case))
        return {"roc": 0.5 + 0.01 * case.fold, "C": 1.0, "gap": 1e-4, "seconds": 0.1}

    def rest(case, plan, data):
        again.append(str(case))
        return {"roc": 0.6, "C": 1.0, "gap": 1e-4, "seconds": 0.1}

    with pytest.raises(KeyboardInterrupt):
        run(replace(pairs.STUDY, work=some), TINY, folder=tmp_path / "run")
    kept = Cells(tmp_path / "run.partial" / "cells.jsonl", {"plan": TINY.key(), "data": {}})
    assert 1 <= len(kept.earlier) <= 9
    report = run(
        replace(pairs.STUDY, work=rest), TINY, folder=tmp_path / "run", progress=lambda *step: steps.append(step)
    )
    total = len(cases(TINY, None))
    assert len(again) == total - len(kept.earlier) and not set(again) & set(kept.values)
    assert steps[-1][:2] == (total, total)
    assert report.notes[-1] == f"{len(kept.earlier)} of {total} cells were found from an earlier run."
    every = report.tables[-1].rows
    assert len(every) == total and [row["ROC"] for row in every].count(0.6) == len(again)


def test_the_page_has_winners_beside_the_published_and_the_curves(networks):
    report = run(pairs.STUDY, replace(TINY, seed=3))
    winners = report.tables[0]
    assert len(winners.rows) == 9
    assert sum("ours" in row for row in winners.rows) == 7  # no phylogenetic profiles
    assert winners.rows[0]["published"].replace("\N{NO-BREAK SPACE}", " ") == "duplicate, δ = 0.7"
    assert "<svg" in report.html()


def test_many_values_of_delta_fit_on_the_page():
    found = {pairs.PUBLISHED[0]: {KERNEL: [[0.5, 0.6]] * 11, DUPLICATE: [[0.7, 0.9]] * 11}}
    first, second = pairs.roc_table(found, PLANS["full"]).texts()
    assert first[2:] == ["55.0"] * 11 and second[2:] == ["80.0"] * 11
    few = replace(PLANS["full"], mixes=(0.0, 1.0))
    short = {row: {name: values[:2] for name, values in curve.items()} for row, curve in found.items()}
    assert pairs.roc_table(short, few).texts()[0][2] == "0.550 ± 0.071"


def test_the_lead_is_given_where_neither_end_is_best():
    def lead(mid):
        found = {pairs.PUBLISHED[0]: {KERNEL: [[0.7, 0.7], mid], DUPLICATE: [[0.7, 0.7], [0.6, 0.75]]}}
        return pairs.winners_table(found, TINY).rows[0].get("folds better than both")

    assert lead([0.8, 0.72]) == "1 of 2"
    assert lead([0.5, 0.5]) is None


def test_both_strategies_start_together():
    plan = replace(TINY, folds=1)
    results = Results({case: {"roc": 0.9 if case.strategy == DUPLICATE else 0.8} for case in cases(plan, None)})
    found = pairs.curve(results, pairs.PUBLISHED[0], plan)
    assert found == {KERNEL: [[0.8], [0.8]], DUPLICATE: [[0.8], [0.9]]}


def test_there_is_nothing_to_repeat():
    with pytest.raises(ValueError, match="`repeat` must be 1"):
        find("pairs").run(repeat=2)
