"""The experiment on pairs: protocols, cells that survive an interruption, and the page."""

from dataclasses import replace

import numpy as np
import pytest

from iokr_lab import find
from iokr_lab.cells import Cells
from iokr_lab.data.yeast import YeastNetwork
from iokr_lab.pairs import pairs
from iokr_lab.pairs import protocol as pairs_protocol
from iokr_lab.pairs.protocol import DUPLICATE, KERNEL, Case, Protocol, cases, default, full, roc, run_case

TINY = Protocol(mixes=(0.0, 1.0), decoys=2, inner=1, costs=(1.0, 8.0), folds=2)


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
    monkeypatch.setattr(pairs_protocol, "load_yeast_ppi", toy)
    monkeypatch.setattr(pairs_protocol, "load_yeast_metabolic", lambda: toy(25, 1))
    cached = (pairs_protocol._network, pairs_protocol.node_gram, pairs_protocol.labelled_pairs)
    for function in cached:
        function.cache_clear()
    yield
    for function in cached:
        function.cache_clear()


def test_the_published_protocol():
    protocol = full()
    assert (len(protocol.mixes), protocol.decoys, protocol.inner, protocol.folds) == (11, 9, 5, 5)
    assert protocol.costs == (1, 2, 4, 8, 16, 32)
    assert len(list(cases(protocol))) == 7 * (1 + 2 * 10) * 5
    assert (len(default().mixes), default().decoys, default().inner) == (3, 2, 1)


def test_decoys_are_no_links_and_no_self_pairs(networks):
    drawn, y = pairs_protocol.labelled_pairs("interaction", 3, 0)
    links = {tuple(edge) for edge in np.sort(toy().edges, axis=1).tolist()}
    apart = [tuple(pair) for pair in drawn[y < 0].tolist()]
    assert len(set(apart)) == len(apart) == 3 * len(links)
    assert not links & set(apart)
    assert all(a < b for a, b in apart)


def test_alpha_is_two_over_the_published_cost(networks):
    """libsvm's CΣhinge + ½‖f‖² with k^δ, half of our kernel: the same scores up to the bias."""
    from iokr import PairModel
    from iokr.kernels import Precomputed
    from iokr.losses import MaxMargin
    from iokr.problem import Problem
    from iokr.solvers import CoordinateDescent

    K = pairs_protocol.node_gram("interaction", "exp")
    drawn, y = pairs_protocol.labelled_pairs("interaction", 1, 0)
    solver = CoordinateDescent(1e-10)
    alpha = pairs_protocol.alpha_of(4.0)
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
    figures = run_case(Case("interaction", "exp", KERNEL, 0.0, 0), TINY, seed=0)
    assert figures["roc"] > 0.7 and figures["C"] in TINY.costs and figures["gap"] < 1e-2


def test_an_interrupted_run_goes_on_where_it_stopped(networks, monkeypatch, tmp_path):
    monkeypatch.setattr(pairs, "default", lambda: TINY)
    done = []

    def some(case, protocol, seed):
        if len(done) == 9:
            raise KeyboardInterrupt
        done.append(str(case))
        return {"roc": 0.5 + 0.01 * case.fold, "C": 1.0, "gap": 1e-4, "seconds": 0.1}

    monkeypatch.setattr(pairs, "run_case", some)
    with pytest.raises(KeyboardInterrupt):
        pairs.run(folder=tmp_path)
    kept = Cells(tmp_path / "cells.jsonl", TINY.key(0))
    assert 1 <= len(kept.earlier) <= 9
    again, steps = [], []

    def rest(case, protocol, seed):
        again.append(str(case))
        return {"roc": 0.6, "C": 1.0, "gap": 1e-4, "seconds": 0.1}

    monkeypatch.setattr(pairs, "run_case", rest)
    report = pairs.run(folder=tmp_path, progress=lambda *step: steps.append(step))
    total = len(list(cases(TINY)))
    assert len(again) == total - len(kept.earlier) and not set(again) & set(kept.values)
    assert steps[-1][:2] == (total, total)
    assert f"{len(kept.earlier)} of them found from an earlier run" in report.items[0].paragraphs[1]
    every = report.tables[-1].rows
    assert [row["run"] for row in every].count("earlier") == len(kept.earlier) and len(every) == total
    assert {row["ROC"] for row in every if row["run"] == "now"} == {0.6}
    (tmp_path / "cells.jsonl").open("a").write('{"run": {"seed": 0')  # cut off in the middle of a line
    assert len(Cells(tmp_path / "cells.jsonl", kept.run).values) == total
    assert Cells(tmp_path / "cells.jsonl", {**kept.run, "seed": 1}).earlier == frozenset()


def test_the_page_has_winners_beside_the_published_and_the_curves(networks, monkeypatch):
    monkeypatch.setattr(pairs, "default", lambda: TINY)
    report = pairs.run(seed=3)
    winners = report.tables[0]
    assert len(winners.rows) == 9
    assert sum("ours" in row for row in winners.rows) == 7  # no phylogenetic profiles
    assert winners.rows[0]["published"].replace("\N{NO-BREAK SPACE}", " ") == "duplicate, δ = 0.7"
    assert "<svg" in report.html()


def test_many_values_of_delta_fit_on_the_page():
    found = {pairs_protocol.PUBLISHED[0]: {KERNEL: [[0.5, 0.6]] * 11, DUPLICATE: [[0.7, 0.9]] * 11}}
    first, second = pairs._roc_table(found, full()).texts()
    assert first[2:] == ["55.0"] * 11 and second[2:] == ["80.0"] * 11
    few = replace(full(), mixes=(0.0, 1.0))
    short = {row: {name: values[:2] for name, values in curve.items()} for row, curve in found.items()}
    assert pairs._roc_table(short, few).texts()[0][2] == "0.550 ± 0.071"


def test_the_lead_is_told_where_neither_end_is_best():
    def lead(mid):
        found = {pairs_protocol.PUBLISHED[0]: {KERNEL: [[0.7, 0.7], mid], DUPLICATE: [[0.7, 0.7], [0.6, 0.75]]}}
        return pairs._winners_table(found, TINY).rows[0].get("folds ahead of both")

    assert lead([0.8, 0.72]) == "1 of 2"
    assert lead([0.5, 0.5]) is None


def test_both_strategies_start_together(networks):
    row = pairs_protocol.PUBLISHED[0]
    cells = Cells(None, {})
    for case in cases(replace(TINY, folds=1)):
        cells.add(str(case), {"roc": 0.9 if case.strategy == DUPLICATE else 0.8})
    found = pairs_protocol.curves(row, replace(TINY, folds=1), cells)
    assert found == {KERNEL: [[0.8], [0.8]], DUPLICATE: [[0.8], [0.9]]}


def test_there_is_nothing_to_repeat():
    with pytest.raises(ValueError, match="`--repeat` means nothing"):
        pairs.run(repeat=2)


def test_only_long_experiments_have_a_full_protocol():
    assert find("pairs").resumable
    with pytest.raises(ValueError, match="usps has one protocol"):
        find("usps").run(complete=True)
