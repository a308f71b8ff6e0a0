"""What `iokr links train` keeps is what `iokr links predict` would have used, whichever model that is.

Tests of `iokr.apps.links.features` and `iokr.apps.links.model_file`.
"""

import csv
import json
import re
import shutil
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

import iokr
from iokr.apps.links import methods
from iokr.apps.links.settings import Settings
from iokr.cli import app
from iokr.datasets import make_communities
from iokr.files import load_beside

N, OLD, LINKED = 60, 50, 40
FEW = ("--alphas", "0.1,1")
KINDS = {"iokr": iokr.LinkPredictorCV, "pairs": iokr.PairLinkPredictorCV, "stack": iokr.LinkStack}


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def ran(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def tables(folder):
    return {table["title"]: table for table in json.loads((folder / "metrics.json").read_text())["tables"]}


def write(path, names, X, columns):
    lines = ["\t".join([name, *map(repr, row)]) for name, row in zip(names, X.tolist(), strict=True)]
    path.write_text("\n".join(["\t".join(["id", *columns]), *lines]) + "\n")


@pytest.fixture(scope="module")
def network():
    return make_communities(N, 3, n_relevant=8, n_irrelevant=2, noise=0.1, seed=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory, network):
    """Sixty nodes, of which forty have links; ten of the others come later."""
    folder = tmp_path_factory.mktemp("kept")
    columns, names = [f"x{j}" for j in range(network.X.shape[1])], [f"n{i}" for i in range(N)]
    for name, at in (("nodes", range(OLD)), ("new", range(OLD, N)), ("all", range(N))):
        write(folder / f"{name}.tsv", [names[i] for i in at], network.X[list(at)], columns)
    edges = [(i, j) for i, j in network.edges if i < LINKED and j < LINKED] + [(0, LINKED + 1)]
    text = "".join(f"n{i}\tn{j}\t{1 + (i + j) % 3}\n" for i, j in edges)
    (folder / "edges.tsv").write_text("source\ttarget\tweight\n" + text)
    (folder / "labeled.txt").write_text("".join(f"n{i}\n" for i in range(LINKED)))
    return folder


@pytest.fixture(scope="module", params=["iokr", "pairs", "stack", "auto", "semi", "sample"])
def both(request, files, tmp_path_factory):
    """(folder of `predict`, the model, folder of `predict --model`) with one choice of options."""
    out = tmp_path_factory.mktemp(request.param)
    chosen = {"auto": (), "semi": ("--method", "iokr", "--unlabeled"), "sample": ("--method", "stack")}
    options = (*chosen.get(request.param, ("--method", request.param)), *FEW, "--labeled", files / "labeled.txt")
    given = ("-i", files / "nodes.tsv", "-e", files / "edges.tsv", *options)
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "sample":
            patch.setattr(methods, "SAMPLE", 30)
        ran("links", "predict", *given, "-o", out / "direct", "--top", 400)
        trained = ran("links", "train", *given, "-o", out / "model.safetensors")
    ran("links", "predict", "--model", out / "model.safetensors", "-o", out / "kept", "--top", 400)
    return out, trained


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("labeled", "nodes", "unlabeled", "everything", "size"),
    [
        (2000, 9000, False, False, None),
        (2001, 9000, False, False, 2000),
        (2001, 9000, False, True, None),
        (1500, 2000, True, False, None),
        (1500, 2001, True, False, 1000),
        (700, 9000, True, False, 700),
    ],
)
def test_parameters_are_chosen_on_two_thousand_nodes(labeled, nodes, unlabeled, everything, size):
    """Of the nodes that take part; half of them labelled where others take part."""
    settings = Settings(unlabeled=unlabeled, search_all=everything)
    assert methods.sample_size(labeled, nodes, settings) == size


def test_the_list_of_a_kept_model_is_that_of_the_command(both):
    """Every column, probabilities among them; scores to the last digits."""
    out, _ = both
    direct, kept = rows(out / "direct" / "edges.tsv"), rows(out / "kept" / "edges.tsv")
    assert len(direct) == 400 and list(direct[0]) == list(kept[0])
    for one, other in zip(direct, kept, strict=True):
        for name in one:
            if name in ("score", "probability", "expected_precision", "similarity"):
                assert float(other[name]) == pytest.approx(float(one[name]), rel=1e-9, abs=1e-12)
            else:
                assert one[name] == other[name]
    graphs = [nx.read_graphml(out / folder / "network.graphml") for folder in ("direct", "kept")]
    assert dict(graphs[0].nodes(data=True)) == dict(graphs[1].nodes(data=True))
    kinds = [{frozenset(ends[:2]): ends[2] for ends in graph.edges(data="kind")} for graph in graphs]
    weights = [{frozenset(ends[:2]): ends[2] for ends in graph.edges(data="weight")} for graph in graphs]
    assert kinds[0] == kinds[1] and weights[0] == weights[1]
    assert ("on a sample" in str(list(tables(out / "kept")))) == ("sample" in out.name)


def test_what_the_page_tells_of_models_and_choices_is_the_same(both):
    out, trained = both
    direct, kept = tables(out / "direct"), tables(out / "kept")
    for title in direct:
        if title != "Input" and not title.startswith("The first"):
            assert kept[title]["rows"] == direct[title]["rows"], title
            if "Expected" not in title:
                assert title in trained.stdout, "and what `train` printed"
    page = (out / "kept" / "report.html").read_text()
    assert "training nodes that contribute most to the score" in page


def test_the_file_says_which_model_it_is(both):
    out, trained = both
    path = out / "model.safetensors"
    method = load_beside(path)["method"]
    assert isinstance(iokr.load(path), KINDS[method])
    shown = ran("show", path).stdout
    assert type(iokr.load(path)).__name__ in shown and methods.METHODS[method] in shown
    if "auto" in out.name:
        [won] = re.findall(
            r"^Models on held-out nodes; (\S.*) is the best by roc_auc$", trained.stdout, flags=re.MULTILINE
        )
        assert won == methods.METHODS[method] and "the best of 3 by folds of nodes" in shown


def test_nodes_that_come_later_are_scored_as_if_they_had_been_there(files, tmp_path):
    """Without scaling, which would see the features of all nodes, and with labels for some: nothing else differs."""
    for method in ("iokr", "pairs", "stack"):
        options = (
            "-e",
            files / "edges.tsv",
            "--no-scale",
            "--method",
            method,
            *FEW,
            "--labeled",
            files / "labeled.txt",
        )
        ran("links", "predict", "-i", files / "all.tsv", *options, "-o", tmp_path / method, "--top", 5000)
        ran("links", "train", "-i", files / "nodes.tsv", *options, "-o", tmp_path / f"{method}.safetensors")
        placed = ("--model", tmp_path / f"{method}.safetensors", "-i", files / "new.tsv")
        ran("links", "predict", *placed, "-o", tmp_path / f"{method}-new", "--top", 5000)
        late = {f"n{i}" for i in range(OLD, N)}
        expected = [row for row in rows(tmp_path / method / "edges.tsv") if late & {row["source"], row["target"]}]
        found = rows(tmp_path / f"{method}-new" / "edges.tsv")
        assert len(found) == len(expected) == 10 * OLD + 45
        told = {frozenset((row["source"], row["target"])): row for row in expected}
        for row in found:
            other = told[frozenset((row["source"], row["target"]))]
            assert row["source"] in late, "the new node comes first"
            assert {row[name] for name in ("pair", "shared_partners", "above_threshold")} == {
                other[name] for name in ("pair", "shared_partners", "above_threshold")
            }
            for name in ("score", "probability", "similarity"):
                assert float(row[name]) == pytest.approx(float(other[name]), rel=1e-6, abs=1e-9)
        scores = [float(row["score"]) for row in found]
        assert scores == sorted(scores, reverse=True)


@pytest.fixture(scope="module")
def model(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    ran("links", "train", "-i", files / "nodes.tsv", "-e", files / "edges.tsv", "--method", "pairs", *FEW, "-o", path)
    return path


def test_nodes_of_the_model_alone_are_ranked_as_without_a_file(files, model, tmp_path):
    ran("links", "predict", "--model", model, "-o", tmp_path / "none", "--top", 50)
    again = ran("links", "predict", "--model", model, "-i", files / "nodes.tsv", "-o", tmp_path / "again", "--top", 50)
    assert "pairs of its nodes are ranked" in again.stdout
    assert (tmp_path / "none" / "edges.tsv").read_text() == (tmp_path / "again" / "edges.tsv").read_text()


def test_partners_of_a_node_and_pairs_between_lists(files, model, tmp_path):
    given = ("links", "predict", "--model", model, "-i", files / "new.tsv", "--top", 5000)
    ran(*given, "-o", tmp_path / "all")
    ran(*given, "-o", tmp_path / "for", "--for", "n55")
    pairs = [[(row["source"], row["target"]) for row in rows(tmp_path / name / "edges.tsv")] for name in ("all", "for")]
    assert pairs[1] == [pair for pair in pairs[0] if "n55" in pair]
    (tmp_path / "a.txt").write_text("n55\nn1\n")
    (tmp_path / "b.txt").write_text("n2\nn56\n")
    ran(*given, "-o", tmp_path / "between", "--between", tmp_path / "a.txt", tmp_path / "b.txt")
    found = {frozenset((row["source"], row["target"])) for row in rows(tmp_path / "between" / "edges.tsv")}
    known = {frozenset((row["source"], row["target"])) for row in rows(files / "edges.tsv")}
    assert found == {frozenset(p) for p in (("n55", "n2"), ("n55", "n56"), ("n1", "n2"), ("n1", "n56"))} - known
    assert invoke(*given, "-o", tmp_path / "x", "--for", "n1", "--between", "a", "b").exit_code == 2


def test_a_known_node_with_other_features_is_told(files, model, tmp_path):
    head, first, *rest = (files / "all.tsv").read_text().splitlines()
    changed = "\t".join([first.split("\t")[0], "99", *first.split("\t")[2:]])
    (tmp_path / "nodes.tsv").write_text("\n".join([head, changed, *rest]) + "\n")
    result = ran("links", "predict", "--model", model, "-i", tmp_path / "nodes.tsv", "-o", tmp_path / "out")
    assert "other features than at training" in result.stdout
    [row] = rows(tmp_path / "out" / "rejected.tsv")
    assert (row["source"], row["action"]) == ("n0", "training features are used")


def test_the_first_models_place_new_nodes_as_they_did(tmp_path, monkeypatch):
    """A file from before models were compared: the same pairs with the same scores, and no probability."""
    golden = Path(__file__).parent / "golden" / "links_train_1"
    assert "links" not in load_beside(golden / "model.safetensors")
    for name in ("model.safetensors", "new.tsv"):
        shutil.copy(golden / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    ran("links", "predict", "--model", "model.safetensors", "-i", "new.tsv", "--top", 1000, "-o", "out")
    expected, found = rows(golden / "predicted.tsv"), rows(tmp_path / "out" / "edges.tsv")
    told = {frozenset((row["source"], row["target"])): row for row in found}
    assert len(told) == len(expected) == len(found)
    for row in expected:
        other = told[frozenset((row["source"], row["target"]))]
        assert float(other["score"]) == pytest.approx(float(row["score"]), rel=1e-9)
        assert (row["pair"], row["above_threshold"]) == (other["pair"], other["above_threshold"])
    assert "probability" not in found[0]
    assert "without an evaluation at training" in (tmp_path / "out" / "report.html").read_text()
    ran("links", "predict", "--model", "model.safetensors", "-o", "own", "--top", 10)
    assert "LinkPredictorCV" in ran("show", "model.safetensors").stdout


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("stack", ("--model", "stack.safetensors")),
        ("stack_new", ("--model", "stack.safetensors", "-i", "new.tsv")),
        ("two_kinds", ("--model", "two_kinds.safetensors")),
        ("two_kinds_new", ("--model", "two_kinds.safetensors", "-i", "drugs_new.tsv", "--partners", "targets_new.tsv")),
    ],
)
def test_models_of_earlier_versions_predict_the_same_links(name, given, tmp_path, monkeypatch):
    """A stack of both models, and one of two kinds of nodes, written before `iokr.apps.links` was a library."""
    monkeypatch.chdir(Path(__file__).parent / "golden" / "links_train_2")
    ran("links", "predict", *given, "--top", 40, "-o", tmp_path / "out")
    expected, found = rows(Path(f"{name}.tsv")), rows(tmp_path / "out" / "edges.tsv")
    assert len(found) == len(expected) == 40
    for row, other in zip(expected, found, strict=True):
        assert (row["source"], row["target"], row["pair"]) == (other["source"], other["target"], other["pair"])
        for column in set(row) & {"score", "probability", "expected_precision", "similarity"}:
            assert float(other[column]) == pytest.approx(float(row[column]), rel=1e-9, abs=1e-12)


def test_a_weight_of_zero_is_said_and_costs_nothing(files, tmp_path, monkeypatch):
    """Where the weights of a stack leave one model out, it is neither learned from all links nor kept."""

    def weigh(self, X, adjacency, labeled=None):
        original(self, X, adjacency, labeled)
        self.weights_ = np.array([0.0, 1.0])
        return self

    original = iokr.LinkStack.weigh
    monkeypatch.setattr(iokr.LinkStack, "weigh", weigh)
    fitted, fit = [], iokr.LinkPredictor.fit

    def counted(self, X, adjacency, labeled=None):
        fitted.append(len(labeled))
        return fit(self, X, adjacency, labeled)

    monkeypatch.setattr(iokr.LinkPredictor, "fit", counted)
    given = ("-i", files / "nodes.tsv", "-e", files / "edges.tsv", "--method", "stack", *FEW)
    ran("links", "predict", *given, "-o", tmp_path / "out", "--top", 20)
    assert max(fitted) < LINKED, "on parts of the nodes, to be weighed, and never on all"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "LinkPredictor</code> has the weight 0" in page and "not fitted to all links" in page
    ran("links", "train", *given, "-o", tmp_path / "model")
    assert iokr.load(tmp_path / "model").models_[0] is None
    ran("links", "predict", "--model", tmp_path / "model", "-o", tmp_path / "kept", "--top", 20)
    assert [row["source"] for row in rows(tmp_path / "kept" / "edges.tsv")] == [
        row["source"] for row in rows(tmp_path / "out" / "edges.tsv")
    ]


# ------------------------------------------------------------------------------------------------- two kinds of nodes


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """Thirty drugs, of which five come later, and twenty targets, of which four do."""
    folder = tmp_path_factory.mktemp("kinds")
    rng = np.random.default_rng(0)
    places = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    linked = places[0] @ places[1].T > 1.2
    for name, P, old in (("drug", places[0], 25), ("target", places[1], 16)):
        names = [f"{name}{i}" for i in range(len(P))]
        for part, at in (("", slice(old)), ("_new", slice(old, None)), ("_all", slice(None))):
            write(folder / f"{name}s{part}.tsv", names[at], P[at], "ab")
    edges = [f"drug{i}\ttarget{j}" for i, j in np.argwhere(linked[:25, :16])]
    (folder / "edges.tsv").write_text("\n".join(["drug\ttarget", *edges]) + "\n")
    drugs, targets = ((folder / f"{name}s.tsv").read_text().splitlines() for name in ("drug", "target"))
    (folder / "nodes.tsv").write_text("\n".join([*drugs, *targets[1:]]) + "\n")
    return folder


@pytest.mark.parametrize("way", ["--partners", "--bipartite"])
def test_two_kinds_are_kept_too(kinds, tmp_path, way):
    both = ("-i", kinds / "drugs.tsv", "--partners", kinds / "targets.tsv")
    given = (*(both if way == "--partners" else ("-i", kinds / "nodes.tsv", "--bipartite")), "-e", kinds / "edges.tsv")
    ran("links", "predict", *given, *FEW, "-o", tmp_path / "direct", "--top", 5000)
    trained = ran("links", "train", *given, *FEW, "-o", tmp_path / "model")
    ran("links", "predict", "--model", tmp_path / "model", "-o", tmp_path / "kept", "--top", 5000)
    assert (tmp_path / "kept" / "edges.tsv").read_text() == (tmp_path / "direct" / "edges.tsv").read_text()
    assert (tmp_path / "kept" / "network.graphml").read_text() == (tmp_path / "direct" / "network.graphml").read_text()
    direct, kept = tables(tmp_path / "direct"), tables(tmp_path / "kept")
    for title in ("Accuracy on held-out links", "Parameters, chosen by leaving out rows and columns"):
        assert kept[title]["rows"] == direct[title]["rows"] and title in trained.stdout
    assert "BipartitePredictor between drug and target" in ran("show", tmp_path / "model").stdout


def test_new_rows_and_new_columns_are_placed(kinds, tmp_path):
    """Scores are those of the model; only pairs across with a new node are listed."""
    given = ("-i", kinds / "drugs.tsv", "--partners", kinds / "targets.tsv", "-e", kinds / "edges.tsv", "--no-scale")
    ran("links", "train", *given, *FEW, "-o", tmp_path / "model")
    model = iokr.load(tmp_path / "model")
    assert isinstance(model, iokr.BipartitePredictor)
    X, Z = (
        np.array([[float(row[c]) for c in "ab"] for row in rows(kinds / f"{name}s_all.tsv")])
        for name in ("drug", "target")
    )
    S = np.asarray(model.decision_function(X, Z))
    new = {"rows": ("-i", kinds / "drugs_new.tsv"), "columns": ("--partners", kinds / "targets_new.tsv")}
    new["both"] = (*new["rows"], *new["columns"])
    counts = {"rows": 5 * 16, "columns": 25 * 4, "both": 30 * 20 - 25 * 16}
    for name, files in new.items():
        ran("links", "predict", "--model", tmp_path / "model", *files, "-o", tmp_path / name, "--top", 5000)
        found = rows(tmp_path / name / "edges.tsv")
        assert len(found) == counts[name]
        for row in found:
            i, j = int(row["source"].removeprefix("drug")), int(row["target"].removeprefix("target"))
            assert i >= 25 or j >= 16
            assert float(row["score"]) == pytest.approx(S[i, j], rel=1e-9, abs=1e-12)
    ran("links", "predict", "--model", tmp_path / "model", "--for", "drug3", "-o", tmp_path / "for")
    assert {row["source"] for row in rows(tmp_path / "for" / "edges.tsv")} == {"drug3"}


def test_usage_of_kept_models(kinds, files, model, tmp_path):
    one_kind = invoke("links", "predict", "--model", model, "--partners", files / "new.tsv", "-o", tmp_path / "a")
    assert one_kind.exit_code == 1 and "one kind of nodes; leave --partners out" in one_kind.stderr
    given = ("-i", kinds / "drugs.tsv", "--partners", kinds / "targets.tsv", "-e", kinds / "edges.tsv")
    ran("links", "train", *given, *FEW, "-o", tmp_path / "model")
    swapped = invoke(
        "links", "predict", "--model", tmp_path / "model", "-i", kinds / "targets.tsv", "-o", tmp_path / "b"
    )
    assert swapped.exit_code == 1 and "'target0' is given as drug" in swapped.stderr
    idle = invoke("links", "train", *given, "--method", "pairs", "-o", tmp_path / "c")
    assert idle.exit_code == 2 and "--method" in idle.output
