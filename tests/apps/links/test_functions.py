"""`iokr.apps.links` in a notebook: tables in memory in, values with tables and reports out.

Tests of `iokr.apps.links.data`, `iokr.apps.links.reading`, `iokr.apps.links.model`, `iokr.apps.links.prediction`,
`iokr.apps.links.cross_validation` and `iokr.apps.readers.typed_tables`.
"""

import csv

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from iokr.apps import links
from iokr.datasets import make_communities

FEW = {"method": "iokr", "alphas": (0.1, 1.0)}


@pytest.fixture(scope="module")
def made():
    return make_communities(60, 3, n_relevant=8, n_irrelevant=2, noise=0.1, seed=1)


@pytest.fixture(scope="module")
def nodes(made):
    return pd.DataFrame(np.round(made.X, 4), index=[f"n{i}" for i in range(60)]).rename(columns=lambda j: f"x{j}")


@pytest.fixture(scope="module")
def edges(made):
    """Links between the first forty nodes."""
    known = [(f"n{i}", f"n{j}") for i, j in made.edges if i < 40 and j < 40]
    return pd.DataFrame(known, columns=["source", "target"])


@pytest.fixture(scope="module")
def network(nodes, edges):
    return links.read(nodes=nodes, edges=edges)


@pytest.fixture(scope="module")
def model(network):
    return links.fit(network, alphas=(0.1, 1.0))


@pytest.fixture(scope="module")
def result(model):
    return links.predict(model, top=30)


@pytest.fixture(scope="module")
def two_kinds():
    """Drugs, targets, and the links between them, as a matrix."""
    rng = np.random.default_rng(0)
    places = rng.normal(size=(20, 2)), rng.normal(size=(14, 2))
    drugs, targets = (
        pd.DataFrame(place, index=[f"{name}{i}" for i in range(len(place))], columns=["a", "b"])
        for name, place in zip(("drug", "target"), places, strict=True)
    )
    return drugs, targets, (places[0] @ places[1].T > 1.0).astype(float)


# ------------------------------------------------------------------------------------------------------------- reading


def test_frames_files_arrays_and_graphs_are_the_same_network(nodes, edges, network, tmp_path):
    nodes.rename_axis("id").to_csv(tmp_path / "nodes.csv")
    edges.to_csv(tmp_path / "edges.tsv", sep="\t", index=False)
    ends = edges.map(lambda name: int(name[1:])).to_numpy()
    adjacency = csr_array((np.ones(len(ends)), ends.T), shape=(60, 60))
    adjacency = adjacency + adjacency.T
    given = [
        (tmp_path / "nodes.csv", tmp_path / "edges.tsv"),
        (str(tmp_path / "nodes.csv"), edges),
        (nodes.reset_index(names="id"), nx.Graph(list(edges.itertuples(index=False)))),
        (nodes, ends),
        (nodes, adjacency),
        (nodes, adjacency.toarray()),
        ({"all": nodes}, edges.to_numpy(dtype=str)),
    ]
    for tables, known in given:
        found = links.read(nodes=tables, edges=known)
        assert found.rows.ids.tolist() == network.rows.ids.tolist()
        np.testing.assert_array_equal(found.rows.X, network.rows.X)
        np.testing.assert_array_equal(found.links.toarray(), network.links.toarray())
        assert found.labeled.tolist() == network.labeled.tolist() and found.rejections == ()
    bare = links.read(nodes=nodes.to_numpy(), edges=ends)
    assert bare.rows.ids.tolist() == [str(i) for i in range(60)]
    np.testing.assert_array_equal(bare.links.toarray(), network.links.toarray())
    named = links.read(nodes=nodes.to_numpy(), ids=nodes.index, edges=edges)
    assert named.rows.ids.tolist() == network.rows.ids.tolist()


def test_weights_of_a_graph_are_those_of_the_links(nodes):
    graph = nx.Graph()
    graph.add_weighted_edges_from([("n0", "n1", 2.0), ("n1", "n2", 0.5)])
    found = links.read(nodes=nodes, edges=graph)
    assert found.links[[0, 1], [1, 2]].tolist() == [2.0, 0.5]
    with pytest.raises(ValueError, match="directed"):
        links.read(nodes=nodes, edges=nx.DiGraph([("n0", "n1")]))


def test_what_does_not_fit_is_listed(nodes, edges):
    odd = pd.DataFrame({"source": ["n0", "n0"], "target": ["n0", "stranger"]})
    found = links.read(nodes=nodes, edges=pd.concat([edges, odd]))
    assert [(one.file, one.reason) for one in found.rejections] == [("edges", "self-loop"), ("edges", "unknown node")]
    assert [one.line for one in found.rejections] == [len(edges) + 1, len(edges) + 2]


def test_views_are_named_and_joined(nodes, edges):
    views = {"left": nodes.iloc[:, :5], "right": nodes.iloc[::-1, 5:]}
    found = links.read(nodes=views, edges=edges)
    assert found.rows.views == (("left", 5), ("right", 5))
    np.testing.assert_array_equal(found.rows.X, nodes.to_numpy())
    result = links.predict(found, combine="alignf", top=5, **FEW)
    assert "left (gaussian" in result.chosen.set_index("parameter").value["input kernel"]


def test_labelled_nodes_are_those_of_a_list(nodes, edges):
    some = [f"n{i}" for i in range(25)]
    found = links.read(nodes=nodes, edges=edges, labeled=some)
    assert found.rows.ids[found.labeled].tolist() == some and found.labeled_by == "list"
    inside = edges.isin(some).all(axis=1).sum()
    assert found.n_links == inside < len(edges)


def test_matrices_and_tables_of_two_kinds_are_one_network(two_kinds):
    drugs, targets, Y = two_kinds
    i, j = np.nonzero(Y)
    ends = pd.DataFrame({"drug": drugs.index[i], "target": targets.index[j]})
    both = pd.concat([drugs, targets])
    found = [
        links.read(nodes=drugs, partners=targets, edges=Y),
        links.read(nodes=drugs, partners=targets, edges=csr_array(Y)),
        links.read(nodes=drugs, partners=targets, edges=ends),
    ]
    for one in found:
        np.testing.assert_array_equal(one.links.toarray(), Y)
        assert one.across and one.n_links == Y.sum()
    assert found[2].kinds == ("drug", "target")
    one_table = links.read(nodes=both, edges=ends, bipartite=True)
    linked = Y[np.ix_(Y.any(axis=1), Y.any(axis=0))]
    np.testing.assert_array_equal(one_table.links.toarray(), linked)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edges": "e"}, "Give either `nodes`"),
        ({"nodes": "n", "kernels": "k", "edges": "e"}, "Give either `nodes`"),
        ({"nodes": "n", "edges": "e", "source": "a"}, "both `source` and `target`"),
        ({"kernels": "k", "edges": "e", "missing": "mean"}, "`missing` has no effect on kernel matrices"),
        ({"nodes": "n", "partners": "p", "edges": "e", "labeled": "all"}, "`labeled` has no effect with `partners`"),
        ({"nodes": "n", "partners": "p", "edges": "e", "bipartite": True}, "`bipartite` has no effect with `partners`"),
        ({"nodes": "-", "edges": "-"}, "Standard input"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused_before_anything_is_read(arguments, message):
    with pytest.raises(ValueError, match=message) as refused:
        links.read(**arguments)
    assert "--" not in str(refused.value)


def test_other_values_are_refused_with_what_is_accepted(nodes, edges):
    with pytest.raises(TypeError, match="`nodes` must be a path, a data frame, or an array, got int"):
        links.read(nodes=3, edges=edges)
    with pytest.raises(TypeError, match="`edges` is missing"):
        links.read(nodes=nodes)
    with pytest.raises(ValueError, match="symmetric matrix"):
        links.read(nodes=nodes, edges=csr_array(np.triu(np.ones((60, 60)), 1)))


# ---------------------------------------------------------------------------------------------------------- prediction


def test_predict_of_a_network_is_that_of_its_model(network, model, result, tmp_path):
    direct = links.predict(network, top=30, alphas=(0.1, 1.0))
    pd.testing.assert_frame_equal(direct.table, result.table)
    pd.testing.assert_frame_equal(direct.comparison, model.comparison)
    links.save(model, tmp_path / "model.safetensors")
    again = links.load(tmp_path / "model.safetensors")
    loaded = links.predict(again, top=30)
    pd.testing.assert_frame_equal(loaded.table, result.table, rtol=1e-9)
    pd.testing.assert_frame_equal(again.chosen, model.chosen)
    assert again.description == model.description and again.threshold == model.threshold


def test_the_table_ranks_new_pairs_with_evidence(network, result):
    table = result.table
    assert table["rank"].tolist() == list(range(1, 31)) and table.score.is_monotonic_decreasing
    assert table.probability.between(0, 1).all() and table.evidence.str.contains("%").all()
    at = {name: i for i, name in enumerate(network.rows.ids.tolist())}
    known = network.links.toarray() > 0
    assert not any(known[at[a], at[b]] for a, b in zip(table.source, table.target, strict=True))
    assert [result.nodes.ids[pair].tolist() for pair in result.pairs] == table[["source", "target"]].to_numpy().tolist()


def test_the_network_has_known_and_predicted_links(network, result):
    graph = result.network()
    kinds = pd.Series([kind for *_, kind in graph.edges(data="kind")]).value_counts()
    assert kinds.to_dict() == {"known": network.n_links, "predicted": 30}
    first = result.table.iloc[0]
    assert graph[first.source][first.target]["rank"] == 1
    assert graph.nodes["n0"]["labeled"] and not graph.nodes["n59"]["labeled"]


def test_a_report_overwrites_an_earlier_one_with_force_only(result, tmp_path):
    report = result.report(tmp_path / "out")
    assert repr(report).startswith("Report('Predicted links', ") and len(repr(report)) < 60
    with pytest.raises(FileExistsError, match="overwrite it with `force`"):
        result.report(tmp_path / "out")
    assert result.report(tmp_path / "out", force=True).title == report.title


def test_the_report_writes_what_the_command_writes(result, tmp_path):
    report = result.report(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"edges.tsv", "network.graphml", "network.cyjs", "rejected.tsv", "report.html", "run.json"} <= names
    assert report.info["seed"] == 0 and "--" not in "".join(report.notes)
    with (tmp_path / "out" / "edges.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["source"] for row in rows] == result.table.source.tolist()


def test_later_nodes_in_another_order_of_columns(nodes, edges):
    network = links.read(nodes=nodes.iloc[:50], edges=edges)
    model = links.fit(network, scale=False, **FEW)
    later = links.predict(model, nodes=nodes.iloc[50:, ::-1], top=2000)
    assert later.nodes.n_later == 10 and set(later.table.source) == set(nodes.index[50:])
    X = nodes.to_numpy()
    S = model.estimator.decision_function(X[50:], X)
    for row in later.table.itertuples():
        assert row.score == pytest.approx(S[int(row.source[1:]) - 50, int(row.target[1:])], rel=1e-9, abs=1e-12)
    with pytest.raises(ValueError, match=r"nodes has no column 'x3' .* trained with 10 columns"):
        links.predict(model, nodes=nodes.iloc[50:].rename(columns={"x3": "speed"}))
    with pytest.raises(ValueError, match="`beta` has no effect on a fitted model"):
        links.predict(model, beta=2.0)


def test_partners_of_nodes_and_pairs_between_lists(model):
    some = links.predict(model, partners_of=["n3", "n50"], top=5000).table
    assert all({"n3", "n50"} & {row.source, row.target} for row in some.itertuples())
    between = links.predict(model, between=(["n1", "n41"], ["n2", "n41"]), top=5000).table
    assert {frozenset(pair) for pair in zip(between.source, between.target, strict=True)} <= {
        frozenset(pair) for pair in (("n1", "n2"), ("n1", "n41"), ("n41", "n2"))
    }
    with pytest.raises(ValueError, match=r"`partners_of`: 'N3' is not a node of the network; did you mean 'n3'"):
        links.predict(model, partners_of=["N3"])
    with pytest.raises(ValueError, match="`partners_of` or `between`, not both"):
        links.predict(model, partners_of=["n3"], between=(["n1"], ["n2"]))


def test_pairs_of_known_links_leave_nothing_to_rank(network, model):
    i, j = np.argwhere(network.links.toarray() > 0)[0]
    ends = [str(network.rows.ids[i])], [str(network.rows.ids[j])]
    with pytest.raises(ValueError, match="No pair is left to rank"):
        links.predict(model, between=ends)


def test_two_kinds_of_nodes(two_kinds, tmp_path):
    drugs, targets, Y = two_kinds
    network = links.read(nodes=drugs, partners=targets, edges=Y)
    model = links.fit(network, alphas=(0.1, 1.0))
    result = links.predict(model, top=5000)
    assert len(result.table) == (Y == 0).sum() and model.method == "across"
    S = model.estimator.decision_function(*(side.X for side in model.nodes.sides))
    for row in result.table.itertuples():
        expected = S[int(row.source.removeprefix("drug")), int(row.target.removeprefix("target"))]
        assert row.score == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert set(nx.get_node_attributes(result.network(), "kind").values()) == set(network.kinds)
    links.save(model, tmp_path / "model")
    new = pd.DataFrame([[0.5, 0.5]], index=["late"], columns=["b", "a"])
    later = links.predict(links.load(tmp_path / "model"), partners=new, top=5000)
    assert set(later.table.target) == {"late"} and len(later.table) == 20
    with pytest.raises(ValueError, match="`method` has no effect with `partners`"):
        links.fit(network, method="pairs")


def test_a_model_of_kernel_matrices_ranks_its_own_nodes_only(nodes, edges, tmp_path):
    X = nodes.to_numpy()
    K = pd.DataFrame(np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 40), index=nodes.index, columns=nodes.index)
    model = links.fit(links.read(kernels={"shape": K}, edges=edges), **FEW)
    array = links.fit(links.read(kernels=K.to_numpy(), ids=nodes.index, edges=edges), **FEW)
    tables = [links.predict(one, top=20).table for one in (model, array)]
    pd.testing.assert_frame_equal(*tables)
    assert model.chosen.set_index("parameter").value["input kernel"] == "shape"
    with pytest.raises(ValueError, match="cannot be saved"):
        links.save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="leave `nodes` out"):
        links.predict(model, nodes=nodes)


# ---------------------------------------------------------------------------------------------------- cross-validation


def test_cross_validation_returns_tables_and_curves(network, tmp_path):
    scores = links.cross_validate(network, folds=2, alphas=(0.1, 1.0), seed=3)
    assert scores.table.pairs.tolist() == ["known-known", "known-new", "new-new"]
    assert len(scores.metrics) == 6 and set(scores.curves) == set(scores.metrics.setting)
    assert scores.method in ("iokr", "pairs", "stack") and len(scores.comparison) == 3
    again = links.cross_validate(network, folds=2, alphas=(0.1, 1.0), seed=3)
    pd.testing.assert_frame_equal(again.metrics, scores.metrics)
    scores.report(tmp_path / "cv")
    assert {"curves.tsv", "rejected.tsv", "report.html"} <= {path.name for path in (tmp_path / "cv").iterdir()}


def test_too_few_nodes_for_folds_are_named(network, two_kinds):
    with pytest.raises(links.TooFewLinks, match="39 labelled nodes are too few for 21 folds; `folds` must be"):
        links.cross_validate(network, folds=21)
    drugs, targets, Y = two_kinds
    with pytest.raises(links.TooFewLinks, match="14 nodes of a kind are too few for 8 folds"):
        links.cross_validate(links.read(nodes=drugs, partners=targets, edges=Y), folds=8)


def test_an_error_of_a_model_is_that_error(network, monkeypatch):
    """Whatever fails inside a model: it is not taken for a network with too few links."""

    def broken(self, *args, **options):
        raise ValueError("the factorisation has failed")

    monkeypatch.setattr("iokr.LinkPredictorCV.fit", broken)
    for function in (links.fit, links.predict, links.cross_validate):
        with pytest.raises(ValueError, match="the factorisation has failed"):
            function(network)


def test_progress_only_goes_forward(network):
    told = []
    links.predict(network, top=5, alphas=(0.1, 1.0), progress=lambda *where: told.append(where))
    fitting = [done / total for done, total, what in told if what != "ranking pairs"]
    assert fitting == sorted(fitting) and len(set(fitting)) > 5
    assert {what.partition(":")[0] for *_, what in told} == {
        "comparing models", "choosing parameters", "ranking pairs",
    }  # fmt: skip
    assert not any("left" in what for *_, what in told), "whoever shows progress estimates the time"
