"""Two kinds of nodes: nothing within a kind is ever predicted, a header is no edge.

Tests of `iokr.apps.links.data` and `iokr.apps.links.explanation`.
"""

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

from iokr.apps import links
from iokr.apps.links.explanation import evidence_across
from iokr.apps.links.features import inputs_of
from iokr.apps.links.nodes import ModelNodes, Side
from iokr.apps.links.settings import Settings
from iokr.cli import app
from iokr.estimators.bipartite import BipartitePredictor
from iokr.kernels import RBF


def invoke(*arguments):
    return CliRunner().invoke(app, ["links", *(str(a) for a in arguments)])


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    places = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    for name, P in zip(("drug", "target"), places, strict=True):
        lines = [f"{name}{i}\t" + "\t".join(f"{v:.4f}" for v in row) for i, row in enumerate(P)]
        (tmp_path / f"{name}s.tsv").write_text("id\ta\tb\n" + "\n".join(lines) + "\n")
    linked = places[0] @ places[1].T > 1.5
    edges = [f"drug{i}\ttarget{j}" for i, j in np.argwhere(linked)]
    edges[3] = "\t".join(edges[3].split("\t")[::-1])  # the other way round
    odd = ["drug1\tdrug2", "drug1\tstranger", edges[0]]
    (tmp_path / "edges.tsv").write_text("\n".join(["drug\ttarget", *edges, *odd]) + "\n")
    return tmp_path, linked


def test_only_pairs_across_are_predicted(folder):
    path, linked = folder
    files = ("-i", path / "drugs.tsv", "--partners", path / "targets.tsv", "-e", path / "edges.tsv")
    result = invoke("predict", *files, "-o", path / "out", "--top", 5000)
    assert result.exit_code == 0, result.output
    found = rows(path / "out" / "edges.tsv")
    assert len(found) == linked.size - linked.sum()
    assert all(row["source"].startswith("drug") and row["target"].startswith("target") for row in found)
    tables = {
        table["title"]: table["rows"] for table in json.loads((path / "out" / "metrics.json").read_text())["tables"]
    }
    counts = {row["item"]: row["count"] for row in tables["Input"]}
    assert counts["known links"] == linked.sum()
    assert counts["edge: two nodes of one kind"] == counts["edge: unknown node"] == counts["edge: duplicate"] == 1
    assert "edge: names no node" not in counts, "drug target is a header"
    evaluated = tables["Accuracy on held-out links"]
    assert [row["pairs"] for row in evaluated] == ["new drug", "new target", "both new"]
    assert all(row["AUC-ROC %"] > 60 for row in evaluated)


def test_ids_of_two_kinds_differ_and_edges_join_them(folder):
    path, _ = folder
    edges = ("-e", path / "edges.tsv", "-o", path / "no")
    same = invoke("predict", "-i", path / "drugs.tsv", "--partners", path / "drugs.tsv", *edges)
    assert same.exit_code == 1 and "is a node and a partner" in same.output
    (path / "edges.tsv").write_text("a\tb\nc\td\n")
    none = invoke("predict", "-i", path / "drugs.tsv", "--partners", path / "targets.tsv", *edges)
    assert (
        none.exit_code == 1 and "no link between a node such as 'drug0' and a partner such as 'target0'" in none.output
    )
    usage = invoke("predict", "-i", path / "drugs.tsv", "--partners", path / "targets.tsv", *edges, "--beta", 2)
    assert usage.exit_code == 2 and "--beta" in usage.output


@pytest.fixture
def one_table(folder):
    """Both kinds in one table of nodes, and a node that no link names."""
    path, linked = folder
    drugs, targets = ((path / f"{name}s.tsv").read_text().splitlines() for name in ("drug", "target"))
    (path / "nodes.tsv").write_text("\n".join([*drugs, *targets[1:], "lonely\t0\t1"]) + "\n")
    edges = [line for line in (path / "edges.tsv").read_text().splitlines() if line != "drug1\tdrug2"]
    straight = ["\t".join(sorted(line.split("\t"))) for line in edges]
    (path / "edges.tsv").write_text("\n".join(straight) + "\n")
    return path, linked


def test_one_table_and_the_column_of_the_edge_list_tells_the_kind(one_table):
    path, _ = one_table
    files = ("-i", path / "nodes.tsv", "-e", path / "edges.tsv", "--bipartite", "--alphas", "0.1,1")
    result = invoke("predict", *files, "-o", path / "out", "--top", 5000)
    assert result.exit_code == 0, result.output
    found = rows(path / "out" / "edges.tsv")
    assert found and all(row["source"].startswith("drug") and row["target"].startswith("target") for row in found)
    gone = {(row["source"], row["reason"]) for row in rows(path / "out" / "rejected.tsv")}
    assert ("lonely", "in neither column") in gone
    assert "new drug" in (path / "out" / "report.html").read_text()
    graph = (path / "out" / "network.cyjs").read_text()
    assert "lonely" not in graph


def test_a_node_in_both_columns_has_no_kind(one_table):
    path, _ = one_table
    with (path / "edges.tsv").open("a") as file:
        file.write("target3\tdrug5\n")
    result = invoke("predict", "-i", path / "nodes.tsv", "-e", path / "edges.tsv", "--bipartite", "-o", path / "no")
    assert result.exit_code == 1 and "is in both columns" in result.output and "--partners" in result.output


def test_cv_evaluates_new_rows_new_columns_and_both_apart(one_table):
    path, _ = one_table
    for files in (
        ("-i", path / "nodes.tsv", "--bipartite"),
        ("-i", path / "drugs.tsv", "--partners", path / "targets.tsv"),
    ):
        arguments = ("-e", path / "edges.tsv", "--folds", 3, "-o", path / "cv", "--alphas", "0.1,1", "--force")
        result = invoke("cv", *files, *arguments)
        assert result.exit_code == 0, result.output
        [table] = [t for t in json.loads((path / "cv" / "metrics.json").read_text())["tables"] if "folds" in t["title"]]
        assert [row["pairs"] for row in table["rows"]] == ["new drug", "new target", "both new"]
        assert all(row["AUC-ROC %"]["mean"] > 60 for row in table["rows"])


@pytest.mark.parametrize(
    ("arguments", "option"),
    [(("--partners", "p"), "--bipartite"), (("--combine", "align"), "--combine"), (("--unlabeled",), "--unlabeled")],
)
def test_usage_of_two_kinds(arguments, option):
    result = invoke("predict", "-i", "n", "-e", "e", "--bipartite", *arguments)
    assert result.exit_code == 2 and option in result.output


@pytest.fixture
def views(folder):
    """Either kind in two tables, the second in another order; drug29 is not in the second."""
    path, linked = folder
    for name in ("drug", "target"):
        lines = (path / f"{name}s.tsv").read_text().splitlines()[1:]
        cells = [line.split("\t") for line in lines]
        for k, view in enumerate("ab"):
            some = cells if k == 0 else cells[::-1][name == "drug" :]
            text = "\n".join([f"id\t{view}", *(f"{cell[0]}\t{cell[k + 1]}" for cell in some)])
            (path / f"{name}_{view}.tsv").write_text(text + "\n")
    return path, linked


def given(path):
    rows, columns = (
        [part for view in "ab" for part in (option, path / f"{name}_{view}.tsv")]
        for option, name in (("-i", "drug"), ("--partners", "target"))
    )
    return (*rows, *columns, "-e", path / "edges.tsv", "--alphas", "0.1,1")


@pytest.mark.parametrize("combine", ["mean", "alignf", "align"])
def test_views_of_two_kinds_are_one_model(views, combine):
    path, linked = views
    result = invoke("predict", *given(path), "--combine", combine, "-o", path / "out", "--top", 5000)
    assert result.exit_code == 0, result.output
    found = rows(path / "out" / "edges.tsv")
    assert len(found) == 29 * 20 - linked[:29].sum()
    assert all(row["source"].startswith("drug") and row["target"].startswith("target") for row in found)
    tables = {t["title"]: t["rows"] for t in json.loads((path / "out" / "metrics.json").read_text())["tables"]}
    assert tables["Input"][0]["details"] == "2 views: drug_a (1 features), drug_b (1 features)"
    assert tables["Input"][1]["details"] == "2 views: target_a (1 features), target_b (1 features)"
    assert {"item": "node: not in every view", "count": 1, "details": "left out"} in tables["Input"]
    chosen = {row["parameter"]: row["value"] for row in tables["Parameters, chosen by leaving out rows and columns"]}
    for kind in ("drug", "target"):
        words = chosen[f"kernel of {kind}"]
        assert all(f"{kind}_{view} (gaussian, gamma" in words for view in "ab")
        assert words.startswith("mean of") == (combine == "mean")
    assert all(row["AUC-ROC %"] > 60 for row in tables["Accuracy on held-out links"])


def test_the_kernel_of_each_kind_is_the_mean_of_those_of_its_views(views):
    path, _ = views
    names = [tuple(str(path / f"{name}_{view}.tsv") for view in "ab") for name in ("drug", "target")]
    network = links.read(nodes=names[0], partners=names[1], edges=path / "edges.tsv")
    for nodes in network.sides:
        inputs = inputs_of(nodes, Settings())
        objects = inputs.X
        np.testing.assert_allclose(objects.mean(axis=0), 0, atol=1e-12)
        for kernel in inputs.kernels:
            fitted = kernel.fit(objects)
            squares = [(objects[:, [j]] - objects[:, [j]].T) ** 2 for j in range(2)]
            parts = [np.exp(-part.base_.gamma * d) for part, d in zip(fitted.kernels_, squares, strict=True)]
            np.testing.assert_allclose(fitted(objects), (parts[0] + parts[1]) / 2, rtol=1e-9)


def test_views_are_evaluated_and_kept_too(views, tmp_path):
    path, _ = views
    evaluated = invoke("cv", *given(path), "--combine", "alignf", "--folds", 3, "-o", path / "cv")
    assert evaluated.exit_code == 0, evaluated.output
    direct = invoke("predict", *given(path), "-o", path / "direct", "--top", 5000)
    trained = invoke("train", *given(path), "-o", path / "model")
    kept = invoke("predict", "--model", path / "model", "-o", path / "kept", "--top", 5000)
    assert direct.exit_code == trained.exit_code == kept.exit_code == 0, trained.output + kept.output
    assert (path / "kept" / "edges.tsv").read_text() == (path / "direct" / "edges.tsv").read_text()
    for view in "ab":
        (tmp_path / f"{view}.tsv").write_text(f"id\t{view}\nnew\t0.5\n")
    new = ("-i", tmp_path / "a.tsv", "-i", tmp_path / "b.tsv")
    placed = invoke("predict", "--model", path / "model", *new, "-o", path / "new", "--top", 5000)
    assert placed.exit_code == 0, placed.output
    assert {row["source"] for row in rows(path / "new" / "edges.tsv")} == {"new"}
    once = invoke("predict", "--model", path / "model", "--partners", tmp_path / "a.tsv", "-o", path / "once")
    assert once.exit_code == 1 and "give --partners a table for each" in once.output


def test_views_of_one_table_of_both_kinds(views):
    path, linked = views
    for view in "ab":
        drugs, targets = ((path / f"{name}_{view}.tsv").read_text().splitlines() for name in ("drug", "target"))
        (path / f"{view}.tsv").write_text("\n".join([*drugs, *targets[1:]]) + "\n")
    straight = ["\t".join(sorted(line.split("\t"))) for line in (path / "edges.tsv").read_text().splitlines()]
    (path / "edges.tsv").write_text("\n".join(line for line in straight if line != "drug1\tdrug2") + "\n")
    tables = ("-i", path / "a.tsv", "-i", path / "b.tsv", "-e", path / "edges.tsv", "--alphas", "0.1,1")
    one = invoke("predict", *tables, "--bipartite", "-o", path / "one", "--top", 5000)
    assert one.exit_code == 0, one.output
    named = linked[:29].any(axis=1) | (np.arange(29) == 1)  # of others the kind is not known
    assert len(rows(path / "one" / "edges.tsv")) == named.sum() * linked.any(axis=0).sum() - linked[:29].sum()
    assert "2 views" in one.stdout


def test_partners_of_a_node_and_pairs_between_lists_of_two_kinds(folder):
    path, linked = folder
    files = ("-i", path / "drugs.tsv", "--partners", path / "targets.tsv", "-e", path / "edges.tsv", "--alphas", "0.1")
    result = invoke("predict", *files, "--for", "drug4", "--for", "target7", "-o", path / "for", "--top", 5000)
    assert result.exit_code == 0, result.output
    found = {(row["source"], row["target"]) for row in rows(path / "for" / "edges.tsv")}
    expected = {(f"drug{i}", f"target{j}") for i, j in np.argwhere(~linked) if i == 4 or j == 7}
    assert found == expected
    (path / "a.txt").write_text("target1\ndrug2\n")
    (path / "b.txt").write_text("drug3\ntarget2\n")
    result = invoke("predict", *files, "--between", path / "a.txt", path / "b.txt", "-o", path / "between")
    assert result.exit_code == 0, result.output
    found = {(row["source"], row["target"]) for row in rows(path / "between" / "edges.tsv")}
    asked = {("drug3", "target1"): linked[3, 1], ("drug2", "target2"): linked[2, 2]}
    assert found == {pair for pair, known in asked.items() if not known}
    (path / "b.txt").write_text("target2\n")
    (path / "a.txt").write_text("target1\n")
    none = invoke("predict", *files, "--between", path / "a.txt", path / "b.txt", "-o", path / "none")
    assert none.exit_code == 1 and "No pair across the two kinds is left" in none.output


def test_evidence_for_a_link_are_the_terms_of_the_known_links():
    """A score is linear in the links: the term of one is the score of a model that knows it alone."""
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(9, 2)), rng.normal(size=(7, 3))
    Y = (rng.random((7, 5)) < 0.4).astype(float)
    kernels = RBF(0.3), RBF(0.2)
    model = BipartitePredictor(*kernels, alpha=0.3).fit(X[:7], Z[:5], Y)
    ids = np.array([f"r{i}" for i in range(9)]), np.array([f"c{j}" for j in range(7)])
    pairs = np.array([[0, 1], [8, 2], [3, 6], [8, 6]])
    sides = Side("row", ids[0], X, 2), Side("column", ids[1], Z, 2)
    nodes = ModelNodes(sides, csr_array(Y), np.arange(7))
    details = evidence_across(nodes, model, np.column_stack([pairs[:, 0], 9 + pairs[:, 1]]))
    for (u, v), parts in zip(pairs, details, strict=True):
        terms = {}
        for i, j in np.argwhere(Y > 0):
            alone = np.zeros_like(Y)
            alone[i, j] = 1.0
            fitted = BipartitePredictor(*kernels, alpha=0.3).fit(X[:7], Z[:5], alone)
            terms[f"r{i}", f"c{j}"] = fitted.decision_function(X[[u]], Z[[v]])[0, 0]
        score = model.decision_function(X[[u]], Z[[v]])[0, 0]
        assert sum(terms.values()) == pytest.approx(score, rel=1e-9)
        if score <= 0:
            continue
        [table] = parts
        best = sorted(terms, key=lambda pair: -terms[pair])[: len(table.rows)]
        assert [(row["source"], row["target"]) for row in table.rows] == best
        shares = [100 * terms[pair] / score for pair in best]
        assert [row["share of score"] for row in table.rows] == ["> 100 %" if s > 100 else f"{s:.1f} %" for s in shares]
