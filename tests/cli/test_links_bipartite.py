"""Two kinds of nodes: nothing within a kind is ever predicted, a header is no edge.

Tests of `iokr.cli.links.across` and `iokr.cli.links.bipartite`.
"""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from iokr.cli import app


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
    counts = {row["what"]: row["count"] for row in tables["Input"]}
    assert counts["known links"] == linked.sum()
    assert counts["edge: two nodes of one kind"] == counts["edge: unknown node"] == counts["edge: duplicate"] == 1
    assert "edge: names no node" not in counts, "drug target is a header"
    judged = tables["Links that the model has not seen"]
    assert [row["new"] for row in judged] == ["drug, one at a time", "target, one at a time", "both, by thirds"]
    assert all(row["AUC-ROC %"] > 60 for row in judged)


def test_ids_of_two_kinds_differ_and_edges_join_them(folder):
    path, _ = folder
    edges = ("-e", path / "edges.tsv", "-o", path / "no")
    same = invoke("predict", "-i", path / "drugs.tsv", "--partners", path / "drugs.tsv", *edges)
    assert same.exit_code == 1 and "is a node and a partner" in same.output
    (path / "edges.tsv").write_text("a\tb\nc\td\n")
    none = invoke("predict", "-i", path / "drugs.tsv", "--partners", path / "targets.tsv", *edges)
    assert none.exit_code == 1 and "joins a node like 'drug0' and a partner like 'target0'" in none.output
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
    page = (path / "out" / "report.html").read_text()
    assert "a new drug" in page.lower() or "new drug" in page
    graph = (path / "out" / "network.cyjs").read_text()
    assert "lonely" not in graph


def test_a_node_in_both_columns_has_no_kind(one_table):
    path, _ = one_table
    with (path / "edges.tsv").open("a") as file:
        file.write("target3\tdrug5\n")
    result = invoke("predict", "-i", path / "nodes.tsv", "-e", path / "edges.tsv", "--bipartite", "-o", path / "no")
    assert result.exit_code == 1 and "is in both columns" in result.output and "--partners" in result.output


def test_cv_judges_new_rows_new_columns_and_both_apart(one_table):
    path, _ = one_table
    for files in (
        ("-i", path / "nodes.tsv", "--bipartite"),
        ("-i", path / "drugs.tsv", "--partners", path / "targets.tsv"),
    ):
        arguments = ("-e", path / "edges.tsv", "--folds", 3, "-o", path / "cv", "--alphas", "0.1,1", "--force")
        result = invoke("cv", *files, *arguments)
        assert result.exit_code == 0, result.output
        [table] = [t for t in json.loads((path / "cv" / "metrics.json").read_text())["tables"] if "folds" in t["title"]]
        assert [row["pair with"] for row in table["rows"]] == ["a new drug", "a new target", "both new"]
        assert all(row["AUC-ROC %"]["mean"] > 60 for row in table["rows"])


@pytest.mark.parametrize(
    ("arguments", "option"),
    [(("--partners", "p"), "--bipartite"), (("-i", "m"), "--nodes"), (("--unlabeled",), "--unlabeled")],
)
def test_usage_of_two_kinds(arguments, option):
    result = invoke("predict", "-i", "n", "-e", "e", "--bipartite", *arguments)
    assert result.exit_code == 2 and option in result.output
