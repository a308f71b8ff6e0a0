"""Models compared by folds of nodes, evidence for a link, lists of pairs, and the page used in a browser.

Tests of `iokr.apps.links.methods`, `iokr.apps.links.described`, `iokr.apps.links.explanation`,
`iokr.apps.links.methods`, `iokr.apps.links.model`, `iokr.apps.links.nodes`, `iokr.apps.links.page` and
`iokr.apps.links.nodes`.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from browser import CHROMIUM, MISSING, Browser
from iokr.apps import links
from iokr.apps.links.explanation import Terms, evidence, shared_neighbours, similarity
from iokr.apps.links.methods import METHODS, STACKED, HeldOut, fit_methods, parts_of, searches
from iokr.apps.links.model import training_set
from iokr.apps.links.nodes import ModelNodes, PairScores, Selection, rank
from iokr.apps.links.settings import Settings
from iokr.cli import app
from iokr.datasets import make_communities
from iokr.estimators.links.cv import LinkPredictorCV


def invoke(*arguments):
    return CliRunner().invoke(app, ["links", *(str(a) for a in arguments)])


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Nodes n0 … n59 with features; links between the first forty."""
    folder = tmp_path_factory.mktemp("links")
    network = make_communities(60, 3, n_relevant=8, n_irrelevant=2, noise=0.1, seed=1)
    head = "id\t" + "\t".join(f"x{j}" for j in range(network.X.shape[1]))
    lines = ["\t".join([f"n{i}", *map(repr, row.tolist())]) for i, row in enumerate(network.X)]
    (folder / "nodes.tsv").write_text("\n".join([head, *lines]) + "\n")
    edges = [(i, j) for i, j in network.edges if i < 40 and j < 40]
    (folder / "edges.tsv").write_text("source\ttarget\n" + "".join(f"n{i}\tn{j}\n" for i, j in edges))
    return folder


@pytest.fixture(scope="module")
def network(folder):
    return links.read(nodes=folder / "nodes.tsv", edges=folder / "edges.tsv")


@pytest.fixture(scope="module", params=["iokr", "pairs", "stack"])
def scored(request, network):
    """The nodes of a network, their scores by a method, and the terms of these."""
    settings = Settings(method=request.param)
    data, inputs = training_set(network, settings)
    [fitted] = fit_methods([request.param], searches(inputs.kernels, settings), data)
    parts = parts_of(fitted.method, fitted.model)
    nodes = ModelNodes.of(network, [data.X])
    return nodes, PairScores.of(parts, nodes), Terms.of(parts, nodes)


@pytest.fixture(scope="module")
def run(folder):
    """The folder of a run of `predict`, and what it printed."""
    files = ("-i", folder / "nodes.tsv", "-e", folder / "edges.tsv")
    result = invoke("predict", *files, "--top", 60, "-o", folder / "run")
    assert result.exit_code == 0, result.output
    return folder / "run", result.stdout


def test_models_are_compared_by_folds_of_nodes_and_the_better_one_is_used(run):
    out, printed = run
    [won] = re.findall(r"^Models on held-out nodes; (\S.*) is the best by roc_auc$", printed, flags=re.MULTILINE)
    assert won in METHODS.values()
    metrics = json.loads((out / "metrics.json").read_text())
    [compared] = [table for table in metrics["tables"] if won in table["title"]]
    areas = [row["AUC-ROC %"]["mean"] for row in compared["rows"]]
    assert {row["model"] for row in compared["rows"]} == set(METHODS.values()), "the two, and their stack"
    assert compared["rows"][0]["model"] == won and areas == sorted(areas, reverse=True)
    behind = compared["rows"][1]["AUC-ROC minus the best"]["mean"]
    assert behind == pytest.approx(areas[1] - areas[0])


@pytest.mark.parametrize(("method", "words"), [("iokr", "LinkPredictor"), ("pairs", "PairLinkPredictor")])
def test_a_method_can_be_fixed(folder, method, words):
    files = ("-i", folder / "nodes.tsv", "-e", folder / "edges.tsv")
    result = invoke(
        "predict", *files, "--top", 9, "-o", folder / method, "--method", method, "--alphas", "0.1,1", "--threads", 1
    )
    assert result.exit_code == 0, result.output
    tables = json.loads((folder / method / "metrics.json").read_text())["tables"]
    chosen = {row["parameter"]: row["value"] for row in tables[-1]["rows"]}
    assert chosen["model"] == words and 0.1 <= chosen["alpha"] <= 1, "numbers are numbers"
    assert "is the best" not in result.stdout


@pytest.mark.parametrize("command", ["predict", "train", "cv"])
@pytest.mark.parametrize("method", ["pairs", "auto"])
def test_a_failure_inside_a_model_ends_the_command_with_its_message(folder, tmp_path, monkeypatch, command, method):
    """It is not taken for a network with too few links for folds, and no other model is used in silence."""

    def broken(self, *args, **options):
        raise ValueError("the factorisation has failed")

    monkeypatch.setattr("iokr.apps.links.methods.PairLinkPredictorCV.fit", broken)
    files = ("-i", folder / "nodes.tsv", "-e", folder / "edges.tsv", "--alphas", "0.1,1", "--method", method)
    result = invoke(command, *files, "-o", tmp_path / "out")
    assert result.exit_code == 1 and result.stderr.endswith("iokr: the factorisation has failed\n")
    assert not (tmp_path / "out").exists()


def test_too_few_links_for_folds_are_no_failure(tmp_path):
    """One link: a model is learned, and the page says why there are no probabilities."""
    (tmp_path / "n.tsv").write_text("".join(f"n{i}\t{i}\t{i % 3}\n" for i in range(6)))
    (tmp_path / "e.tsv").write_text("n0\tn1\n")
    files = ("-i", tmp_path / "n.tsv", "-e", tmp_path / "e.tsv", "--labeled", "all")
    result = invoke("predict", *files, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "probability" not in rows(tmp_path / "out" / "edges.tsv")[0]
    assert "too few links for folds" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("alphas", ["", "a", "1,-1", "0", "1;2"])
def test_alphas_are_positive_numbers(folder, alphas):
    result = invoke("predict", "-i", "n", "-e", "e", "--alphas", alphas)
    assert result.exit_code == 2 and "--alphas" in result.output


def test_cv_compares_models_too(folder, tmp_path):
    files = ("-i", folder / "nodes.tsv", "-e", folder / "edges.tsv")
    result = invoke("cv", *files, "--folds", 2, "-o", tmp_path / "cv", "--alphas", "0.1,1")
    assert result.exit_code == 0, result.output
    assert re.search(rf"; ({'|'.join(METHODS.values())}) is the best by roc_auc$", result.stdout, flags=re.MULTILINE)
    assert all(name in result.stdout for name in METHODS.values())


def test_the_stack_weighs_both_models_and_searches_each_once(folder, tmp_path):
    files = ("-i", folder / "nodes.tsv", "-e", folder / "edges.tsv", "--alphas", "0.1,1")
    result = invoke("predict", *files, "--top", 9, "-o", tmp_path / "stack", "--method", "stack")
    assert result.exit_code == 0, result.output
    tables = json.loads((tmp_path / "stack" / "metrics.json").read_text())["tables"]
    chosen = {row["parameter"]: row["value"] for row in tables[-1]["rows"]}
    assert chosen["model"] == METHODS["stack"]
    weights = [chosen[f"{METHODS[one]}, weight of its standardised scores"] for one in ("iokr", "pairs")]
    assert min(weights) >= 0 and sum(weights) > 0
    found = rows(tmp_path / "stack" / "edges.tsv")
    assert [float(row["score"]) for row in found] == sorted((float(row["score"]) for row in found), reverse=True)


def test_a_search_is_made_once_for_a_model_and_the_stack(network, monkeypatch):
    searched = []
    fit = LinkPredictorCV.fit
    monkeypatch.setattr(LinkPredictorCV, "fit", lambda self, *a, **k: searched.append(1) or fit(self, *a, **k))
    data, inputs = training_set(network, Settings())
    found = list(fit_methods([*STACKED, "stack"], searches(inputs.kernels, Settings()), data))
    assert [one.method for one in found] == ["iokr", "pairs", "stack"] and len(searched) == 1


def test_progress_is_that_of_the_searches(network):
    told = []
    data, inputs = training_set(network, Settings())
    models = searches(inputs.kernels, Settings(alphas=(0.1, 1.0)))
    list(fit_methods(STACKED, models, data, progress=lambda *where: told.append(where)))
    shares = [done / total for done, total, _ in told]
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(told) > len(inputs.kernels)
    assert told[0][2].startswith("LinkPredictor: kernel 1 of 4") and told[-1][2].startswith("PairLinkPredictor: ")


def test_probabilities_and_expected_precision_fall_along_the_list(run):
    found = rows(run[0] / "edges.tsv")
    for name in ("probability", "expected_precision"):
        values = np.array([float(row[name]) for row in found])
        assert np.all((values >= 0) & (values <= 1)) and values[0] > values[-1]
    assert np.all(np.diff([float(row["probability"]) for row in found]) <= 1e-12)


def test_the_precision_is_that_of_the_pairs_above():
    truth = np.arange(100) < 30
    held_out = HeldOut("iokr", np.ones((2, 2)), truth, np.arange(100)[::-1].astype(float))
    assert held_out.precision(np.array([1e9, 70.0, 50.0, -1.0])).tolist() == [1.0, 1.0, 0.6, 0.3]
    assert held_out.threshold == pytest.approx(69.5)
    p = held_out.probability(np.array([99.0, 0.0]))
    assert p[0] > 0.9 and p[1] < 0.1


def best_pairs(nodes, scores, top):
    selection = Selection(top)
    return rank(nodes, scores, selection.blocks(nodes), top)


def test_the_terms_of_a_score_add_up_to_it(scored):
    """Over all training nodes, not only the nearest, the terms are the score."""
    nodes, scores, terms = scored
    pairs, values = best_pairs(nodes, scores, 5)
    np.testing.assert_allclose(scores.of_pairs(pairs), values, rtol=1e-10)
    L, R = terms.rows(pairs.ravel())
    i, j = np.indices((L.shape[1],) * 2)
    S = terms.weight(i, j)
    for p in range(5):
        parts = S * (np.outer(L[2 * p], R[2 * p + 1]) + np.outer(R[2 * p], L[2 * p + 1])) / 2
        assert parts.sum() == pytest.approx(values[p], rel=1e-9)


def test_evidence_for_a_link(network, scored):
    nodes, scores, terms = scored
    pairs, _ = best_pairs(nodes, scores, 20)
    [(table,), *_] = evidence(nodes, scores, terms, pairs)
    assert len(table.rows) <= 3
    known = network.links.toarray() != 0
    at = {name: i for i, name in enumerate(nodes.ids.tolist())}
    for row in table.rows:
        a, b = at[row["similar to source"]], at[row["similar to target"]]
        assert row["pair"] == ("same node" if a == b else "linked" if known[a, b] else "not linked")
    for (i, j), count in zip(pairs, shared_neighbours(nodes, pairs), strict=True):
        assert count == np.count_nonzero(known[i] & known[j])
    K = np.asarray(terms.kernel(nodes.sides[0].X))
    np.testing.assert_allclose(similarity(nodes, terms.kernel, pairs), K[pairs[:, 0], pairs[:, 1]], rtol=1e-9)


def test_partners_of_a_few_nodes(folder, tmp_path):
    files = ("-i", folder / "nodes.tsv", "-e", folder / "edges.tsv", "--method", "iokr", "--alphas", "0.1")
    all_of = invoke("predict", *files, "--top", 5000, "-o", tmp_path / "all")
    some = invoke("predict", *files, "--top", 5000, "-o", tmp_path / "some", "--for", "n3", "--for", "n50")
    assert all_of.exit_code == some.exit_code == 0, some.output
    pairs = [
        [(row["source"], row["target"]) for row in rows(tmp_path / name / "edges.tsv")] for name in ("all", "some")
    ]
    assert pairs[1] == [pair for pair in pairs[0] if {"n3", "n50"} & set(pair)]
    wrong = invoke("predict", *files, "--for", "N3", "-o", tmp_path / "no")
    assert wrong.exit_code == 1 and "'N3' is not a node of the network; did you mean 'n3'" in wrong.output
    near = invoke("predict", *files, "--for", "n_03", "-o", tmp_path / "no")
    assert near.exit_code == 1 and "did you mean" in near.output


def test_pairs_between_two_lists(folder, tmp_path):
    files = ("-i", folder / "nodes.tsv", "-e", folder / "edges.tsv", "--method", "pairs", "--alphas", "0.1")
    (tmp_path / "a.txt").write_text("n1\nn2\nn3\n")
    (tmp_path / "b.txt").write_text("id\nn2\nn3\nn45\n")
    result = invoke("predict", *files, "-o", tmp_path / "out", "--between", tmp_path / "a.txt", tmp_path / "b.txt")
    assert result.exit_code == 0, result.output
    found = {frozenset((row["source"], row["target"])) for row in rows(tmp_path / "out" / "edges.tsv")}
    known = {frozenset((row["source"], row["target"])) for row in rows(folder / "edges.tsv")}
    pairs = [("n1", "n2"), ("n1", "n3"), ("n1", "n45"), ("n2", "n3"), ("n2", "n45"), ("n3", "n45")]
    assert found == {frozenset(pair) for pair in pairs} - known
    assert len(rows(tmp_path / "out" / "edges.tsv")) == len(found)


def test_a_reader_works_with_the_page(run, tmp_path):
    if CHROMIUM is None:
        pytest.skip(MISSING)
    browser = Browser(tmp_path / "browser")
    try:
        browser.open(Path(run[0] / "report.html").absolute())
        found = rows(run[0] / "edges.tsv")
        assert browser.read("iokr.tables[0].n") == 60 and browser.errors == []
        browser.click("table.live button.name")
        assert browser.read("document.querySelector('.panel h3').innerText") == found[0]["source"]
        partners = [
            a["target"] if a["source"] == found[0]["source"] else a["source"]
            for a in found
            if found[0]["source"] in (a["source"], a["target"])
        ]
        listed = "[...document.querySelector('.partners').querySelectorAll('.name')].map(b => b.innerText)"
        assert browser.read(listed) == partners
        browser.click(".panel .why summary")
        browser.wait()
        told = browser.read("document.querySelector('.panel details[open]').innerText")
        assert "probability" in told and "contribute most to the score" in told
    finally:
        browser.close()


def test_nodes_that_are_kept_are_not_among_the_rejected(folder, tmp_path):
    head, first, *rest = (folder / "nodes.tsv").read_text().splitlines()
    gap = "\t".join([first.split("\t")[0], "", *first.split("\t")[2:]])
    (tmp_path / "nodes.tsv").write_text("\n".join([head, gap, *rest]) + "\n")
    files = ("-i", tmp_path / "nodes.tsv", "-e", folder / "edges.tsv", "--method", "iokr", "--alphas", "0.1")
    result = invoke("predict", *files, "--missing", "mean", "-o", tmp_path / "out", "--top", 9)
    assert result.exit_code == 0, result.output
    assert rows(tmp_path / "out" / "rejected.tsv") == [] and "filled with the mean" in result.stdout
