"""Several tables of the same nodes: a kernel each, in one model; one value where one is meant.

Tests of `iokr.apps.links.features`, `iokr.apps.links.settings` and `iokr.cli.links_options`.
"""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from iokr.apps import links
from iokr.apps.links.model import training_set
from iokr.apps.links.settings import Settings
from iokr.apps.readers import read_views
from iokr.cli import app
from iokr.datasets import make_communities

FEW = ("--alphas", "0.1,1", "--method", "iokr")


def invoke(*arguments, **options):
    return CliRunner().invoke(app, ["links", *(str(a) for a in arguments)], **options)


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def write(path, names, X, columns):
    lines = ["\t".join([name, *map(repr, row.tolist())]) for name, row in zip(names, X, strict=True)]
    path.write_text("\n".join(["\t".join(["id", *columns]), *lines]) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two views of forty nodes in different orders; n39 is not in the second, `more` not in the first."""
    folder = tmp_path_factory.mktemp("views")
    network = make_communities(40, 3, n_relevant=8, n_irrelevant=2, noise=0.1, seed=1)
    X = np.asarray(network.X)
    write(folder / "one.tsv", [f"n{i}" for i in range(40)], X[:, :5], "abcde")
    order = np.random.default_rng(0).permutation(39)
    write(folder / "two.tsv", [f"n{i}" for i in order] + ["more"], np.vstack([X[order, 5:], X[:1, 5:]]), "abcde")
    write(folder / "new.tsv", ["new0", "new1"], X[:2, :5] + 0.01, "abcde")
    write(folder / "new2.tsv", ["new1", "new0"], X[1::-1, 5:] + 0.01, "abcde")
    edges = [(i, j) for i, j in network.edges if i < 30 and j < 30]
    (folder / "edges.tsv").write_text("source\ttarget\n" + "".join(f"n{i}\tn{j}\n" for i, j in edges))
    return folder


def views(folder):
    return ("-i", folder / "one.tsv", "-i", folder / "two.tsv", "-e", folder / "edges.tsv")


@pytest.mark.parametrize("combine", ["mean", "alignf"])
def test_views_are_one_model(folder, tmp_path, combine):
    result = invoke("predict", *views(folder), "-o", tmp_path / "out", "--combine", combine, "--top", 20, *FEW)
    assert result.exit_code == 0, result.output
    tables = {t["title"]: t["rows"] for t in json.loads((tmp_path / "out" / "metrics.json").read_text())["tables"]}
    [nodes] = [row for row in tables["Input"] if row["item"] == "nodes"]
    assert nodes == {"item": "nodes", "count": 39, "details": "2 views: one (5 features), two (5 features)"}
    [kernel] = [
        row["value"] for row in tables["Parameters, chosen by leave-one-out"] if row["parameter"] == "input kernel"
    ]
    assert "one (gaussian" in kernel and "two (gaussian" in kernel
    gone = rows(tmp_path / "out" / "rejected.tsv")
    assert {(row["source"], row["reason"], row["action"]) for row in gone if row["what"] == "node"} == {
        ("n39", "not in every view", "left out"),
        ("more", "not in every view", "left out"),
    }
    assert all(str(folder / "two.tsv") in row["detail"] for row in gone if row["source"] == "n39")


def test_the_kernel_is_the_mean_of_those_of_the_views(folder):
    names = str(folder / "one.tsv"), str(folder / "two.tsv")
    network = links.read(nodes=names, edges=folder / "edges.tsv")
    data, inputs = training_set(network, Settings())
    X = data.X
    for kernel in inputs.kernels:
        kernel = kernel.fit(X)
        parts = [np.exp(-part.base_.gamma * _squares(X[:, part.columns])) for part in kernel.kernels_]
        np.testing.assert_allclose(kernel(X), (parts[0] + parts[1]) / 2, rtol=1e-9)
    one = links.read(nodes=names[:1], edges=folder / "edges.tsv")
    alone, _ = training_set(one, Settings())
    at = [one.rows.ids.tolist().index(name) for name in network.rows.ids.tolist()]
    scaled = alone.X[at] * (alone.X[at].std(axis=0) ** -1) - (alone.X[at] / alone.X[at].std(axis=0)).mean(axis=0)
    np.testing.assert_allclose(X[:, :5], scaled, atol=1e-9)


def _squares(X):
    return ((X[:, None] - X[None]) ** 2).sum(axis=-1)


def test_what_a_view_lacks_is_filled_in_like_other_gaps(folder, tmp_path):
    files = folder / "one.tsv", folder / "two.tsv"
    nodes = read_views(files, missing="mean")
    assert len(nodes.ids) == 41 and nodes.ids[-1] == "more"
    own = read_views(files[:1]).X
    np.testing.assert_allclose(nodes.X[-1, :5], own.mean(axis=0))
    np.testing.assert_array_equal(read_views(files, missing="zero").X[-1, :5], np.zeros(5))
    result = invoke("predict", *views(folder), "-o", tmp_path / "out", "--missing", "mean", "--top", 5, *FEW)
    assert result.exit_code == 0 and "node: not in every view" in result.stdout
    assert not [row for row in rows(tmp_path / "out" / "rejected.tsv") if row["what"] == "node"], "kept nodes stay"


def test_views_without_a_common_node(folder, tmp_path):
    write(tmp_path / "far.tsv", ["x", "y"], np.eye(2), "ab")
    with pytest.raises(ValueError, match=r"No node is in all of .* nodes like 'n0' and 'x'; `missing=.mean.` imputes"):
        read_views([folder / "one.tsv", tmp_path / "far.tsv"])


def test_cv_and_a_model_for_later_take_views(folder, tmp_path):
    result = invoke("cv", *views(folder), "-o", tmp_path / "cv", "--folds", 2, "--combine", "align", *FEW)
    assert result.exit_code == 0, result.output
    model = tmp_path / "model.safetensors"
    result = invoke("train", *views(folder), "-o", model)
    assert result.exit_code == 0, result.output
    new = ("predict", "--model", model, "-o", tmp_path / "new", "--top", 10, "--force")
    result = invoke(*new, "-i", folder / "new.tsv", "-i", folder / "new2.tsv")
    assert result.exit_code == 0, result.output
    assert {"new0", "new1"} & {row["source"] for row in rows(tmp_path / "new" / "edges.tsv")}
    once = invoke(*new, "-i", folder / "new.tsv")
    assert once.exit_code == 1 and "trained with features of 'one', 'two'; give --nodes a table for each" in once.output


def test_scores_of_new_nodes_do_not_depend_on_the_order_of_rows(folder, tmp_path):
    """Node new0 is n0 moved a little: its scores are nearly those of n0."""
    invoke("train", *views(folder), "-o", tmp_path / "m.safetensors")
    files = ("-i", folder / "new.tsv", "-i", folder / "new2.tsv")
    invoke("predict", "--model", tmp_path / "m.safetensors", *files, "-o", tmp_path / "new", "--top", 100)
    scores = {(row["source"], row["target"]): float(row["score"]) for row in rows(tmp_path / "new" / "edges.tsv")}
    from iokr import load

    model = load(tmp_path / "m.safetensors")
    names = read_views([folder / "one.tsv", folder / "two.tsv"]).ids.tolist()
    S = np.asarray(model.decision_function())
    told = {pair: score for pair, score in scores.items() if pair[0] == "new0" and pair[1] in names}
    assert len(told) > 10
    for (_, target), score in told.items():
        if target != "n0":
            assert abs(score - S[names.index("n0"), names.index(target)]) < 0.1


@pytest.mark.parametrize("option", ["--edges", "--labeled", "--columns", "--beta", "--model", "--id"])
def test_where_one_value_is_meant_a_second_one_is_refused(option):
    result = invoke("predict", "-i", "n", "-e", "e", option, "1", option, "2")
    assert result.exit_code == 2 and "takes one value" in result.output and option in result.output


def test_combine_needs_something_to_combine(folder):
    result = invoke("predict", "-i", folder / "one.tsv", "-e", folder / "edges.tsv", "--combine", "align")
    assert result.exit_code == 2 and "several --nodes or --kernel" in result.output.replace("\n", " ").replace("│", "")


def test_standard_input_is_read_once(folder, tmp_path):
    text = (folder / "one.tsv").read_text()
    result = invoke("predict", "-i", "-", "-e", folder / "edges.tsv", "-o", tmp_path / "o", *FEW, input=text)
    assert result.exit_code == 0, result.output
    assert "data" in json.loads((tmp_path / "o" / "run.json").read_text())
    twice = invoke("predict", "-i", "-", "-e", "-", input=text)
    assert twice.exit_code == 2 and "Standard input, -, can be read only once" in twice.output
