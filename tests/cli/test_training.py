"""A model of a network is kept in a file, and nodes that come later are placed by it.

Tests of `iokr.apps.links.model_file` and `iokr.cli.show`.
"""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import iokr
from iokr.cli import app
from iokr.datasets import make_communities
from iokr.files import load_beside

N, OLD = 60, 50


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def write_nodes(path, X, names, columns):
    lines = ["\t".join(["id", *columns])]
    cells = [["" if np.isnan(value) else repr(value) for value in row] for row in X.tolist()]
    lines += ["\t".join([name, *row]) for name, row in zip(names, cells, strict=True)]
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def network():
    return make_communities(N, 3, n_relevant=8, n_irrelevant=2, noise=0.1, seed=1)


@pytest.fixture
def folder(tmp_path, monkeypatch, network):
    """Fifty nodes with their links today, ten nodes tomorrow, their columns in another order."""
    monkeypatch.chdir(tmp_path)
    X = network.X * np.arange(1, 11) + 100.0  # in units of their own
    columns = [f"x{j}" for j in range(X.shape[1])]
    names = [f"n{i}" for i in range(N)]
    write_nodes(tmp_path / "nodes.tsv", X[:OLD], names[:OLD], columns)
    order = np.random.default_rng(0).permutation(X.shape[1])
    write_nodes(tmp_path / "new.tsv", X[OLD:][:, order], names[OLD:], [columns[j] for j in order])
    write_nodes(tmp_path / "all.tsv", X, names, columns)
    edges = [(f"n{i}", f"n{j}") for i, j in network.edges if i < OLD and j < OLD]
    (tmp_path / "edges.tsv").write_text("source\ttarget\n" + "".join(f"{a}\t{b}\n" for a, b in edges))
    return tmp_path


TRAIN = ("links", "train", "-i", "nodes.tsv", "-e", "edges.tsv", "-o", "model", "--method", "iokr", "--alphas", "0.1,1")
PREDICT = ("links", "predict", "--model", "model", "-i", "new.tsv", "--top", 40)


def test_new_nodes_are_placed_by_the_model(folder, network):
    trained = invoke(*TRAIN)
    assert trained.exit_code == 0, trained.output
    assert "wrote model" in trained.stderr and "Parameters, chosen by leave-one-out" in trained.stdout
    assert "Accuracy on held-out nodes" in trained.stdout, "evaluated by folds of nodes"
    result = invoke(*PREDICT)
    assert result.exit_code == 0, result.output
    found = rows(folder / "iokr-links" / "edges.tsv")
    assert len(found) == 40 and all(row["source"] in {f"n{i}" for i in range(OLD, N)} for row in found)
    community = {f"n{i}": c for i, c in enumerate(network.communities)}
    assert np.mean([community[row["source"]] == community[row["target"]] for row in found]) > 0.9
    assert {row["pair"] for row in found} <= {"labelled–new", "new–new"}


def test_scores_are_those_of_the_features_scaled_as_at_training(folder, network):
    assert invoke(*TRAIN).exit_code == 0 and invoke(*PREDICT).exit_code == 0
    beside, model = load_beside("model"), iokr.load("model")
    X = network.X * np.arange(1, 11) + 100.0
    mean, deviation = X[:OLD].mean(axis=0), X[:OLD].std(axis=0)
    H = model.decision_function((X[OLD:] - mean) / deviation)
    ids = {name: j for j, name in enumerate(beside["ids"].tolist())}
    for row in rows(folder / "iokr-links" / "edges.tsv"):
        if row["target"] in ids:
            expected = H[int(row["source"][1:]) - OLD, ids[row["target"]]]
            assert float(row["score"]) == pytest.approx(expected, rel=1e-9)


def test_nodes_that_the_model_knows_are_left_out(folder):
    assert invoke(*TRAIN).exit_code == 0
    result = invoke("links", "predict", "--model", "model", "-i", "all.tsv", "--top", 40)
    assert result.exit_code == 0, result.output
    assert "Only pairs with a new node are ranked." in result.stdout
    assert all(int(row["source"][1:]) >= OLD for row in rows(folder / "iokr-links" / "edges.tsv"))


def test_other_columns_are_refused_in_words(folder):
    assert invoke(*TRAIN).exit_code == 0
    text = (folder / "new.tsv").read_text()
    (folder / "new.tsv").write_text(text.replace("x3", "speed"))
    result = invoke(*PREDICT)
    assert result.exit_code == 1
    assert "new.tsv has no column 'x3' and has 'speed', which the model does not know" in result.stderr
    assert "10 columns, 'x0', 'x1', 'x2', 'x3', 'x4' and 5 more" in result.stderr
    write_nodes(folder / "new.tsv", np.ones((2, 11)), ["a", "b"], [f"x{j}" for j in range(10)] + ["x3"])
    assert "'x3' appears twice" in invoke(*PREDICT).stderr


def test_missing_features_are_filled_with_the_means_of_training(folder):
    X = np.full((2, 10), np.nan)
    X[:, 0] = 100.0
    write_nodes(folder / "new.tsv", X, ["a", "b"], [f"x{j}" for j in range(10)])
    assert invoke(*TRAIN, "--missing", "mean").exit_code == 0
    result = invoke(*PREDICT)
    assert result.exit_code == 0, result.output
    assert "filled with the mean" in result.stdout
    assert rows(folder / "iokr-links" / "rejected.tsv") == [], "nodes that are kept are not rejected"
    assert invoke(*TRAIN, "--force").exit_code == 0
    assert "every node has missing features" in invoke(*PREDICT, "--force").stderr


def test_rows_that_did_not_fit_are_counted_without_a_list_that_is_not_there(folder):
    with (folder / "edges.tsv").open("a") as file:
        file.write("n0\tnobody\n")
    result = invoke(*TRAIN)
    assert result.exit_code == 0 and "unknown node" in result.stdout
    assert "rejected.tsv" not in result.stdout


def test_usage(folder):
    assert invoke(*TRAIN).exit_code == 0
    assert "model exists; use --force" in invoke(*TRAIN).stderr
    assert invoke("links", "predict", "-i", "new.tsv").exit_code == 2
    assert invoke(*PREDICT, "-e", "edges.tsv").exit_code == 2
    assert invoke(*PREDICT, "--beta", 2).exit_code == 2
    iokr.save(iokr.kernels.RBF(), "other")
    result = invoke("links", "predict", "--model", "other", "-i", "new.tsv")
    assert result.exit_code == 1 and "not a model of `iokr links train`" in result.stderr


@pytest.mark.parametrize("kernel", ["linear", "cosine", "tanimoto"])
def test_every_input_kernel(kernel, folder):
    assert invoke(*TRAIN, "--input-kernel", kernel).exit_code == 0
    assert invoke(*PREDICT).exit_code == 0


def test_show_says_what_is_inside(folder):
    assert invoke(*TRAIN).exit_code == 0
    result = invoke("show", "model", "--verify")
    assert result.exit_code == 0, result.output
    for words in ("LinkPredictorCV, fitted", "format", "scikit-learn", "alpha_", "edges.tsv", "iokr", "'columns'"):
        assert words in result.stdout
    assert "all hashes are correct" in result.stderr
    raw = bytearray((folder / "model").read_bytes())
    raw[-1] ^= 1
    (folder / "model").write_bytes(raw)
    assert invoke("show", "model").exit_code == 0
    result = invoke("show", "model", "--verify")
    assert result.exit_code == 1 and "is not what was saved" in result.stderr
    result = invoke("show", "nodes.tsv")
    assert result.exit_code == 1 and "nodes.tsv cannot be read as a model" in result.stderr
