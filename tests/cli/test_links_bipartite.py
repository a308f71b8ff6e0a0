"""Two kinds of nodes: nothing within a kind is ever predicted, a header is no edge.

Tests of `iokr.cli.links.bipartite`.
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
    assert counts["edge: two nodes of one kind"] == counts["edge: names no node"] == counts["edge: unknown node"] == 1
    assert [row["AUC-ROC %"] > 70 for row in tables["Links that the model has not seen"]] == [True, True]


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
