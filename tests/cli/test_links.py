"""`iokr links`: files in, ranked links and figures out; bad files are named, odd rows listed.

Tests of `iokr.cli.links`, `iokr.cli.links_options`, `iokr.apps.links.cross_validation` and
`iokr.apps.links.prediction`.
"""

import csv
import json
import re

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from iokr.cli import app
from iokr.datasets import make_communities


def invoke(*arguments):
    return CliRunner().invoke(app, ["links", *(str(a) for a in arguments)])


def rows(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="module")
def network():
    return make_communities(60, 3, n_relevant=8, n_irrelevant=2, noise=0.1, seed=1)


@pytest.fixture
def folder(tmp_path, monkeypatch, network):
    """Nodes n0 … n59 with features; links between the first forty, a duplicate, a self-loop and an unknown node."""
    monkeypatch.chdir(tmp_path)
    names = [f"n{i}" for i in range(60)]
    lines = ["id\t" + "\t".join(f"x{j}" for j in range(network.X.shape[1]))]
    lines += ["\t".join([name, *map(repr, row.tolist())]) for name, row in zip(names, network.X, strict=True)]
    (tmp_path / "nodes.tsv").write_text("\n".join(lines) + "\n")
    kept = np.random.default_rng(0).permutation(60)[:40]
    edges = [(names[i], names[j]) for i, j in network.edges if i in kept and j in kept]
    odd = [edges[0][::-1], (names[kept[0]], names[kept[0]]), (names[kept[0]], "stranger")]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in [*edges, *odd]))
    return tmp_path


FILES = ("-i", "nodes.tsv", "-e", "edges.csv")


def test_predict_writes_the_run_folder(folder):
    result = invoke("predict", *FILES, "--top", 50)
    assert result.exit_code == 0, result.output
    out = folder / "iokr-links"
    names = {path.name for path in out.iterdir()}
    assert names == {
        "edges.tsv", "network.graphml", "network.cyjs", "rejected.tsv",
        "table.tsv", *(f"table-{k}.tsv" for k in range(2, 6)), "metrics.json", "run.json", "report.html",
    }  # fmt: skip
    for k, table in enumerate(json.loads((out / "metrics.json").read_text())["tables"], start=1):
        kept = rows(out / ("table.tsv" if k == 1 else f"table-{k}.tsv"))
        assert len(kept) == len(table["rows"]), "one file a table, under its own header"
    found = rows(out / "edges.tsv")
    assert len(found) == 50 and [int(row["rank"]) for row in found] == list(range(1, 51))
    scores = [float(row["score"]) for row in found]
    assert scores == sorted(scores, reverse=True)
    info = json.loads((out / "run.json").read_text())
    assert len(info["data"]) == 2 and all(len(digest) == 64 for digest in info["data"].values())
    assert "The first 20 of 50 predicted links" in result.stdout and "ranking pairs" in result.stderr


def test_predicted_links_are_new_and_mostly_right(folder, network):
    assert invoke("predict", *FILES, "--top", 60).exit_code == 0
    known = {frozenset(row.values()) for row in csv.DictReader((folder / "edges.csv").open())}
    found = rows(folder / "iokr-links" / "edges.tsv")
    pairs = [(row["source"], row["target"]) for row in found]
    assert not [pair for pair in pairs if frozenset(pair) in known]
    assert len({frozenset(pair) for pair in pairs}) == 60
    community = {f"n{i}": c for i, c in enumerate(network.communities)}
    assert np.mean([community[a] == community[b] for a, b in pairs]) > 0.9
    assert {row["pair"] for row in found} <= {"labelled–labelled", "labelled–new", "new–new"}


def test_networkx_reads_the_same_network_from_both_files(folder):
    assert invoke("predict", *FILES, "--top", 30).exit_code == 0
    out = folder / "iokr-links"
    expected = nx.Graph()
    linked = set()
    for row in csv.DictReader((folder / "edges.csv").open()):
        a, b = row["source"], row["target"]
        if a != b and "stranger" not in (a, b):
            linked |= {a, b}
            expected.add_edge(a, b, kind="known", weight=1.0)
    for row in rows(out / "edges.tsv"):
        values = {"kind": "predicted", "score": float(row["score"]), "rank": int(row["rank"])}
        values["probability"] = float(row["probability"])
        expected.add_edge(row["source"], row["target"], **values)
    for i in range(60):
        expected.add_node(f"n{i}", labeled=f"n{i}" in linked)
    found = nx.read_graphml(out / "network.graphml")
    assert type(found) is nx.Graph
    assert dict(found.nodes(data=True)) == dict(expected.nodes(data=True))
    assert found.adj == expected.adj
    drawn = nx.cytoscape_graph(json.loads((out / "network.cyjs").read_text()))
    assert {frozenset(edge) for edge in drawn.edges} == {frozenset(edge) for edge in expected.edges}
    assert all(drawn.nodes[node]["labeled"] == expected.nodes[node]["labeled"] for node in expected)


def test_rows_that_do_not_fit_are_counted_and_listed(folder):
    result = invoke("predict", *FILES)
    listed = rows(folder / "iokr-links" / "rejected.tsv")
    assert [row["reason"] for row in listed] == ["duplicate, the other way round", "self-loop", "unknown node"]
    assert listed[0]["detail"] == "as in line 2" and listed[2]["detail"] == "stranger"
    for reason in ("edge: duplicate, the other way round", "edge: self-loop", "edge: unknown node"):
        assert reason in result.stdout


def test_cv_reports_the_three_kinds_of_pairs_apart(folder):
    result = invoke("cv", *FILES, "--folds", 3, "--seed", 1)
    assert result.exit_code == 0, result.output
    out = folder / "iokr-links-cv"
    table = json.loads((out / "metrics.json").read_text())["tables"][0]["rows"]
    assert [row["pairs"] for row in table] == ["known-known", "known-new", "new-new"]
    assert table[1]["AUC-ROC %"]["mean"] > 70 and table[1]["AUC-ROC %"]["n"] == 3
    assert table[1]["AUC-PR %"]["mean"] > table[1]["linked %"]
    curves = rows(out / "curves.tsv")
    assert {row["curve"] for row in curves} == {"roc", "precision-recall"}
    assert len(curves) == 3 * 2 * 201
    assert "fold 3 of 3" in result.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [((0,), "left"), ((0, 1), "mean of left, right"), ((0, 1, "--combine", "alignf"), " left + ")],
    ids=["one", "mean", "aligned"],
)
def test_given_kernels_are_called_by_their_names(folder, network, given, words):
    """Not by their entries."""
    names = [f"n{i}" for i in range(60)]
    options = []
    for part in given:
        if isinstance(part, str):
            options.append(part)
            continue
        X = network.X[:, part::2]
        K = X @ X.T
        path = folder / f"{('left', 'right')[part]}.tsv"
        lines = ["\t".join([name, *map(repr, row.tolist())]) for name, row in zip(names, K, strict=True)]
        path.write_text("\n".join(["\t".join(["id", *names]), *lines]) + "\n")
        options += ["-k", path.name]
    result = invoke("predict", *options, "-e", "edges.csv", "--top", 5)
    assert result.exit_code == 0, result.output
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("input kernel")]
    assert words in line and "array" not in result.stdout


def test_a_choice_at_an_end_of_the_grid_is_marked(folder):
    """There the best may lie beyond; shuffled features tell nothing, and the largest penalty is the best."""
    head, *lines = (folder / "nodes.tsv").read_text().splitlines()
    names, values = zip(*(line.split("\t", 1) for line in lines), strict=True)
    order = np.random.default_rng(0).permutation(len(values))
    mixed = [f"{name}\t{values[i]}" for name, i in zip(names, order, strict=True)]
    plain = (folder / "nodes.tsv").read_text()
    (folder / "nodes.tsv").write_text("\n".join([head, *mixed]) + "\n")
    result = invoke("predict", *FILES, "--input-kernel", "linear", "--method", "iokr")
    words = " ".join(line for line in result.stdout.splitlines() if line.startswith("alpha"))
    assert result.exit_code == 0 and ("largest value of the grid" in words or "smallest value of the grid" in words), (
        words
    )
    (folder / "nodes.tsv").write_text(plain)
    assert (
        "of the grid" not in invoke("predict", *FILES, "-o", "plain", "--method", "iokr").stdout.partition("alpha")[2]
    )


def test_unlabelled_nodes_take_part_in_cross_validation(folder):
    """The figures are on the same pairs and others: nodes without known links are there when the model is fitted."""
    ends = {row[name] for row in csv.DictReader((folder / "edges.csv").open()) for name in ("source", "target")}
    head, *lines = (folder / "nodes.tsv").read_text().splitlines(keepends=True)
    (folder / "fewer.tsv").write_text(head + "".join(line for line in lines if line.split("\t")[0] in ends))
    figures = []
    for nodes, more in (("nodes", ["--unlabeled"]), ("fewer", ["--unlabeled"]), ("nodes", []), ("fewer", [])):
        result = invoke("cv", "-i", f"{nodes}.tsv", "-e", "edges.csv", "--no-scale", *more, "-o", "out", "--force")
        assert result.exit_code == 0, result.output
        figures.append(json.loads((folder / "out" / "metrics.json").read_text())["tables"][0]["rows"])
    assert [row["number of pairs"] for row in figures[0]] == [row["number of pairs"] for row in figures[1]]
    assert figures[0] != figures[1]
    assert figures[2] == figures[3]


def test_kernel_matrices_in_place_of_features(folder, network):
    K = np.exp(-((network.X[:, None] - network.X[None]) ** 2).sum(axis=2) / 40)
    ids = [f"n{i}" for i in range(60)]
    np.savez(folder / "K.npz", ids=ids, K=K)
    np.savez(folder / "L.npz", ids=ids[::-1], L=(network.X @ network.X.T)[::-1, ::-1])
    for more in ((), ("-k", "L.npz"), ("-k", "L.npz", "--combine", "alignf")):
        result = invoke("predict", "-k", "K.npz", *more, "-e", "edges.csv", "-o", "out", "--force", "--top", 5)
        assert result.exit_code == 0, result.output
        assert len(rows(folder / "out" / "edges.tsv")) == 5


@pytest.mark.sweep
@pytest.mark.parametrize(
    "options",
    [
        ("--unlabeled",),
        ("--input-kernel", "cosine"),
        ("--input-kernel", "linear", "--no-scale"),
        ("--beta", "3", "--scoring", "average_precision"),
        ("--labeled", "all"),
    ],
)
def test_options_give_other_models(folder, options):
    assert invoke("predict", *FILES, "-o", "plain", "-q").exit_code == 0
    result = invoke("predict", *FILES, "-o", "other", *options, "-q")
    assert result.exit_code == 0 and result.stderr == "", result.output
    assert (folder / "plain" / "edges.tsv").read_text() != (folder / "other" / "edges.tsv").read_text()


def test_links_to_unlabelled_nodes_are_not_predicted_again(folder):
    with (folder / "edges.csv").open() as file:
        first = next(csv.DictReader(file))
    (folder / "labeled.txt").write_text("\n".join(f"n{i}" for i in range(60) if f"n{i}" != first["source"]) + "\n")
    result = invoke("predict", *FILES, "--labeled", "labeled.txt", "--top", 1770)
    assert result.exit_code == 0, result.output
    pairs = {frozenset((row["source"], row["target"])) for row in rows(folder / "iokr-links" / "edges.tsv")}
    assert frozenset((first["source"], first["target"])) not in pairs
    assert "a node that is not labelled" in (folder / "iokr-links" / "rejected.tsv").read_text()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "edges.csv",
            "n0,n1,1\nn1,n2,1\nn1,n0,2\n",
            "edges.csv, line 3: the link n1 – n0 has weight 2, but 1 in line 1",
        ),
        ("edges.csv", "n0,n1,1\nn1,n2,x\n", "edges.csv, line 2, column 3: 'x' is not a number"),
        ("edges.csv", "a,b\nc,d\n", "none of its 2 rows joins two known nodes"),
        ("edges.csv", "", "edges.csv is empty"),
        ("nodes.tsv", "id\tx\nn0\t1\nn0\t2\n", "nodes.tsv, line 3: node 'n0' has other values than in line 2"),
        ("nodes.tsv", "id\tx\nn0\t1\nn1\tone\n", "nodes.tsv, line 3, column 'x': 'one' is not a number"),
    ],
)
@pytest.mark.parametrize("command", ["cv", "predict"])
def test_bad_files_are_one_line_and_exit_1(folder, command, name, content, message):
    (folder / name).write_text(content)
    result = invoke(command, *FILES, "-q")
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.output
    assert not (folder / "iokr-links").exists() and not (folder / "iokr-links-cv").exists()


def test_a_file_that_is_not_there(folder):
    result = invoke("predict", "-i", "no.tsv", "-e", "edges.csv", "-q")
    assert (result.exit_code, result.stderr) == (1, "iokr: no.tsv does not exist.\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "-e", "edges.csv"),
        ("predict", "-i", "nodes.tsv"),
        ("predict", *FILES, "-k", "K.npz"),
        ("predict", *FILES, "--top", "0"),
        ("predict", *FILES, "--beta", "-1"),
        ("predict", *FILES, "--beta", "inf"),
        ("predict", *FILES, "--combine", "mean"),
        ("predict", "-k", "K.npz", "-e", "edges.csv", "--missing", "mean"),
        ("predict", "-k", "K.npz", "-e", "edges.csv", "--no-scale"),
        ("cv", "-k", "K.npz", "-e", "edges.csv", "--input-kernel", "linear"),
        ("cv", *FILES, "--folds", "1"),
        ("nonsense",),
    ],
)
def test_wrong_usage_exits_with_2(folder, arguments):
    result = invoke(*arguments)
    assert result.exit_code == 2 and "Traceback" not in result.output


def test_too_few_nodes_for_the_folds(folder):
    result = invoke("cv", *FILES, "--folds", 39, "-q")
    assert result.exit_code == 1 and "too few for 39 folds" in result.stderr


def test_kernels_and_features_of_any_size_give_the_same_links(folder, network):
    """`alpha` is searched on a grid, so the size of a kernel must not matter."""
    ids = [f"n{i}" for i in range(60)]
    K = network.X @ network.X.T
    np.savez(folder / "K.npz", ids=ids, small=1e-8 * K, large=1e100 * K, X=1e6 * network.X, Y=network.X)
    found = []
    for given in (("-k", "K.npz:small"), ("-k", "K.npz:large"), *(("-i", f"K.npz:{x}") for x in "XY")):
        linear = ("--input-kernel", "linear", "--no-scale") if "-i" in given else ()
        result = invoke("predict", *given, *linear, "-e", "edges.csv", "-o", "out", "--force", "--top", 20, "-q")
        assert result.exit_code == 0 and result.stderr == "", result.output
        found.append([(row["source"], row["target"]) for row in rows(folder / "out" / "edges.tsv")])
    assert all(pairs == found[0] for pairs in found)


def test_the_unit_of_the_weights_does_not_matter_but_the_weights_do(folder):
    lines = (folder / "edges.csv").read_text().splitlines()[1:-3]
    found = []
    for unit, power in ((1, 0), (1e307, 0), (1, 1), (999, 1)):
        weights = [unit * (1 + i % 5) ** power for i in range(len(lines))]
        rows_of = [f"{line},{weight}" for line, weight in zip(lines, weights, strict=True)]
        (folder / "weighted.csv").write_text("\n".join(rows_of) + "\n")
        result = invoke("predict", "-i", "nodes.tsv", "-e", "weighted.csv", "-o", "out", "--force", "--top", 20, "-q")
        assert result.exit_code == 0, result.output
        found.append([(row["source"], row["target"]) for row in rows(folder / "out" / "edges.tsv")])
    assert found[0] == found[1] and found[2] == found[3] and found[0] != found[2]


def test_features_of_any_size_are_scaled_without_overflow(folder, network):
    ids = [f"n{i}" for i in range(60)]
    np.savez(folder / "n.npz", ids=ids, X=network.X, Y=network.X * np.geomspace(1e-200, 1e300, network.X.shape[1]))
    found = []
    for x in "XY":
        result = invoke("predict", "-i", f"n.npz:{x}", "-e", "edges.csv", "-o", "out", "--force", "-q")
        assert result.exit_code == 0 and result.stderr == "", result.output
        found.append([(row["source"], row["target"]) for row in rows(folder / "out" / "edges.tsv")])
    assert found[0] == found[1]


def test_inputs_that_say_nothing_are_refused(folder):
    names = [f"n{i}" for i in range(60)]
    (folder / "nodes.tsv").write_text("id\tx\ty\n" + "".join(f"{name}\t1\t2\n" for name in names))
    result = invoke("predict", *FILES, "-q")
    assert result.exit_code == 1 and "every feature is constant over all 60 nodes" in result.stderr
    np.savez(folder / "K.npz", ids=names, K=np.zeros((60, 60)))
    result = invoke("predict", "-k", "K.npz", "-e", "edges.csv", "-q")
    assert result.exit_code == 1 and "every entry of the kernel is 0" in result.stderr


def test_cv_says_that_scaling_sees_the_features_of_new_nodes(folder):
    assert invoke("cv", *FILES, "--folds", 2, "-q").exit_code == 0
    assert "(transductive)" in (folder / "iokr-links-cv/report.html").read_text()


def test_nothing_is_overwritten_without_force(folder):
    (folder / "out").mkdir()
    (folder / "out" / "edges.tsv").write_text("mine")
    for force in ([], ["--force"]):
        result = invoke("predict", *FILES, "-o", "out", *force)
        assert result.exit_code == 1 and "already contains edges.tsv, which was not written by a run" in result.stderr
        assert [path.name for path in (folder / "out").iterdir()] == ["edges.tsv"] and "reading" not in result.stderr
    (folder / "out" / "edges.tsv").unlink()
    assert invoke("predict", *FILES, "-o", "out", "-q").exit_code == 0
    (folder / "out" / "edges.tsv").write_text("changed")
    result = invoke("predict", *FILES, "-o", "out")
    assert result.exit_code == 1 and "overwrite it with --force" in result.stderr and "reading" not in result.stderr
    assert invoke("predict", *FILES, "-o", "out", "--force", "-q").exit_code == 0
    assert (folder / "out" / "edges.tsv").read_text() != "changed"


def test_help_names_both_commands():
    result = invoke("-h")
    assert result.exit_code == 0 and "cv" in result.stdout and "predict" in result.stdout
    assert "Usage" in invoke("cv", "-h").stdout and "--missing" in invoke("predict", "--help").stdout


def test_links_that_are_not_learned_from_are_not_counted_as_such(folder):
    kept = sorted(
        {name for row in csv.DictReader((folder / "edges.csv").open()) for name in row.values()} - {"stranger"}
    )
    (folder / "some.txt").write_text("\n".join(kept[:25]) + "\n")
    known = {
        frozenset(row.values())
        for row in csv.DictReader((folder / "edges.csv").open())
        if len(set(row.values())) == 2 and "stranger" not in row.values()
    }
    learned = sum(pair <= set(kept[:25]) for pair in known)
    assert 0 < learned < len(known)
    for command, out in (("predict", "iokr-links"), ("cv", "iokr-links-cv")):
        more = ["--folds", 2] if command == "cv" else ["--top", 5]
        result = invoke(command, *FILES, "--labeled", "some.txt", *more)
        assert result.exit_code == 0, result.output
        page = (folder / out / "report.html").read_text()
        assert f"{learned} known links" in page
        tables = json.loads((folder / out / "metrics.json").read_text())["tables"]
        counts = {row["item"]: row["count"] for table in tables if table["title"] == "Input" for row in table["rows"]}
        assert counts["known links between labelled nodes"] == learned
        assert counts["edge: a node that is not labelled"] == len(known) - learned


@pytest.mark.parametrize("safe", [True, False])
def test_ids_that_spreadsheets_execute(folder, safe):
    """As they are, unless a safe form is asked for; the page says so."""
    names = {"n0": "=1+2", "n1": "@cmd", "n2": "-x", "n3": "a  b\x9b"}
    for file in ("nodes.tsv", "edges.csv"):
        text = (folder / file).read_text()
        for old, new in names.items():
            text = re.sub(rf"\b{old}\b", new, text)
        (folder / file).write_text(text)
    (folder / "edges.csv").write_text((folder / "edges.csv").read_text() + "=strange,@cmd\n")
    result = invoke("predict", *FILES, "--top", 2000, *(["--spreadsheet-safe"] if safe else []))
    assert result.exit_code == 0, result.output
    assert "\x9b" not in result.output
    out = folder / "iokr-links"
    found = {row[end] for row in rows(out / "edges.tsv") for end in ("source", "target")}
    exact = {"=1+2", "@cmd", "-x"}
    assert found & exact == (set() if safe else exact) and "a  b\x9b" in found
    assert ({"'=1+2", "'@cmd", "'-x"} <= found) == safe
    assert {row["source"] for row in rows(out / "rejected.tsv")} >= {"'=strange" if safe else "=strange"}
    assert all(float(row["score"]) is not None for row in rows(out / "edges.tsv")), "negative numbers stay numbers"
    page = (out / "report.html").read_text()
    assert ("an apostrophe precedes them" if safe else "which spreadsheets execute") in page
    drawn = json.loads((out / "network.cyjs").read_text())
    assert exact <= {node["data"]["id"] for node in drawn["elements"]["nodes"]}


def test_an_unknown_choice_is_refused_with_the_possible_ones():
    result = invoke("predict", "-i", "n", "-e", "e", "--missing", "median")
    message = "'median' is not one of 'reject', 'mean', 'zero'"
    told = " ".join(result.output.replace("│", " ").split())
    assert result.exit_code == 2 and told.count(message) == 1 and "Value error" not in told
