"""Contenders of `links` agree on small data, and its floors with formulas that are slow and obvious.

Tests of `iokr_lab.bench.link_search`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr_lab import baselines
from iokr_lab.bench import base, link_search, links
from iokr_lab.bench.link_search import command_files, network
from network_samples import diffusion, normalized


@pytest.mark.parametrize("name", ["fold", "top_links", "smooth_links"])
def test_all_contenders_agree(name):
    question = getattr(links, name)(seed=1, **links._SMALL[name])
    table, verdicts = base.ask(question, 1, lambda what: None)
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == len(question.targets)


def test_every_rival_that_learns_from_links_is_there():
    question = links.fold(**links._SMALL["fold"])
    ran = {type(c.run.args[0]).__name__ for c in question.contenders if c.role != "floor"}
    everybody = {name for name in baselines.__all__ if issubclass(getattr(baselines, name), baselines.LinkBaseline)}
    apart = {"LinkBaseline", "PairClassifier"}  # a model of ours; boosting on all pairs takes its time
    assert ran - {"LinkPredictor"} == everybody - apart


def scores(X, W, labeled, gamma, alpha):
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    K_Y = normalized(diffusion(W.toarray()[np.ix_(labeled, labeled)]))
    B = K[:, labeled] @ np.linalg.inv(K[np.ix_(labeled, labeled)] + alpha * np.eye(len(labeled)))
    return B @ K_Y @ B.T


def test_the_floors_are_the_formulas():
    rng = np.random.default_rng(0)
    X, W = network(rng, 50, 4, degree=6.0)
    assert (W != W.T).nnz == 0 and W.diagonal().max() == 0 and 3 < W.sum() / 50 < 9
    labeled = np.sort(rng.permutation(50)[:20])
    expected = scores(X, W, labeled, 0.3, 0.2)
    assert_allclose(links.fold_floor(X, W, labeled, 0.3, 0.2), expected, rtol=1e-9, atol=1e-12)
    H = links.values_floor(X, W, labeled, 0.3, 0.2)
    known = {(i, j) for i in labeled for j in labeled if W[i, j]}
    pairs = sorted((expected[i, j] for i in range(50) for j in range(i + 1, 50) if (i, j) not in known), reverse=True)
    for top in (10, 100_000):
        assert_allclose(links.top_floor(H, W, labeled, top), pairs[:top], rtol=1e-9, atol=1e-12)


def test_panels_of_the_floor_do_not_matter(monkeypatch):
    rng = np.random.default_rng(1)
    _, W = network(rng, 50, 4, degree=6.0)
    H, labeled = rng.standard_normal((50, 3)), np.arange(20)
    whole = links.top_floor(H, W, labeled, 30)
    monkeypatch.setattr(links, "_PANEL", 7)
    assert_allclose(links.top_floor(H, W, labeled, 30), whole, rtol=1e-12)


def test_footprints_name_contenders_and_the_target_is_evaluated():
    for footprint in links._footprints(0, quick=True):
        getattr(links, footprint.question)(**footprint.small).find(footprint.contender)
    assert [verdict.met for verdict in links._memory_verdicts([int(3.9e9), int(4.1e9), 1])] == [True, False]


def test_the_command_on_files_and_both_searches_are_timed_and_evaluated():
    told = []
    tables, verdicts = link_search.SECTION.work(base.Run(0, True, 1, told.append))
    assert [table.rows[1]["nodes"] == table.rows[2]["nodes"] for table in tables] == [True, True], "too few to sample"
    for table in tables:
        sampled, everything = (row["AUC-ROC %"] for row in table.rows[1:])
        assert sampled == everything > 50
    assert [verdict.measured for verdict in verdicts] == [0.0, 0.0]
    assert any("kernel 1 of 4" in line for line in told)


def test_links_of_new_nodes_are_told_to_nobody(tmp_path):
    files, new, W = command_files(tmp_path, seed=0, N=60, p=4, new=12, semi=False)
    named = set((tmp_path / "edges.tsv").read_text().split())
    assert not named & {f"n{i}" for i in new} and W[new].nnz > 0
    assert files["nodes"] == tmp_path / "nodes.tsv"
