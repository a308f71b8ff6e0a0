"""Networks from files: rejected entries are listed, contradictions raise with file and line.

Tests of `iokr.apps.readers.node_files` and `iokr.datasets.edges`.
"""

import numpy as np
import pandas as pd
import pytest

from iokr.apps.readers import read_kernels, read_network, read_nodes

NODES = "id\tu\tv\na\t1\t2\nb\t3\t4\nc\t5\t6\nd\t7\t8\n"
EDGES = "source\ttarget\na\tb\nb\tc\n"
LINKED = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0.0]])


def write(folder, name, content):
    path = folder / name
    path.write_text(content)
    return path


@pytest.fixture
def read(tmp_path):
    """Read a network from the contents of files."""

    def read(edges=EDGES, nodes=NODES, *, edge_name="edges.tsv", **options):
        return read_network(write(tmp_path, edge_name, edges), nodes=write(tmp_path, "nodes.tsv", nodes), **options)

    return read


def rejected(network):
    return [(r.line, r.source, r.target, r.reason, r.action, r.detail) for r in network.rejections]


def test_a_clean_network(read):
    network = read()
    assert network.nodes.ids.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(network.nodes.X, [[1, 2], [3, 4], [5, 6], [7, 8]])
    np.testing.assert_array_equal(network.adjacency.toarray(), LINKED)
    assert network.labeled.tolist() == [0, 1, 2] and network.n_links == 2
    assert network.rejections == () and network.nodes.columns == ("u", "v")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("edges.tsv", "a\tb\nb\tc\n"),
        ("edges.tsv", "protein1\tprotein2\na\tb\nb\tc\n"),
        ("edges.tsv", "Source\tTarget\tWeight\na\tb\t1\nb\tc\t1\n"),
        ("edges.csv", "b,a\nc,b\n"),
        ("edges.txt", "# of SNAP's kind\na b\nb c\n"),
    ],
)
def test_edge_lists_of_every_kind(read, name, content):
    np.testing.assert_array_equal(read(content, edge_name=name).adjacency.toarray(), LINKED)


def test_edges_in_parquet_and_arrays(tmp_path):
    pytest.importorskip("pyarrow")
    nodes = write(tmp_path, "nodes.tsv", NODES)
    pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]}).to_parquet(tmp_path / "e.parquet")
    np.save(tmp_path / "names.npy", np.array([["a", "b"], ["b", "c"]]))
    np.save(tmp_path / "rows.npy", np.array([[0, 1], [1, 2]]))
    np.savez(tmp_path / "rows.npz", edges=np.array([[0, 1], [1, 2]]), other=np.zeros(3))
    for name in ("e.parquet", "names.npy", "rows.npy", "rows.npz:edges"):
        network = read_network(f"{tmp_path}/{name}", nodes=nodes)
        np.testing.assert_array_equal(network.adjacency.toarray(), LINKED)
        assert network.by_position is name.startswith("rows")


def test_numbers_of_an_array_are_ids_where_the_ids_are_numbers(tmp_path):
    nodes = write(tmp_path, "nodes.tsv", "id\tu\n10\t1\n20\t2\n30\t3\n")
    np.save(tmp_path / "edges.npy", np.array([[10, 30]]))
    network = read_network(tmp_path / "edges.npy", nodes=nodes)
    assert network.adjacency.toarray()[0, 2] == 1 and not network.by_position


def test_row_numbers_count_the_rows_of_the_file_also_those_left_out(tmp_path):
    nodes = write(tmp_path, "nodes.tsv", "id\tu\na\t1\nb\t\nc\t3\nd\t4\n")
    np.save(tmp_path / "edges.npy", np.array([[0, 2], [1, 2], [2, 3], [3, 9]]))
    network = read_network(tmp_path / "edges.npy", nodes=nodes)
    assert network.nodes.ids.tolist() == ["a", "c", "d"]
    np.testing.assert_array_equal(network.adjacency.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert network.counts() == {
        "node: missing features": 1,
        "edge: a node that was left out": 1,
        "edge: unknown node": 1,
    }


def test_rejected_rows_are_listed_with_their_lines(read):
    edges = "a\tb\nb\ta\na\tb\nc\tc\nb\tc\na\tz\ny\tz\n\tb\n"
    assert rejected(read(edges)) == [
        (2, "b", "a", "duplicate, the other way round", "counted once", "as in line 1"),
        (3, "a", "b", "duplicate", "counted once", "as in line 1"),
        (4, "c", "c", "self-loop", "left out", ""),
        (6, "a", "z", "unknown node", "left out", "z"),
        (7, "y", "z", "unknown node", "left out", "y, z"),
        (8, "", "b", "no id", "left out", ""),
    ]
    np.testing.assert_array_equal(read(edges).adjacency.toarray(), LINKED)


def test_a_list_of_both_directions_is_one_network(read):
    network = read("a\tb\nb\ta\nb\tc\nc\tb\n")
    np.testing.assert_array_equal(network.adjacency.toarray(), LINKED)
    assert network.counts() == {"edge: duplicate, the other way round": 2}


def test_weights_and_zero_weights(read):
    network = read("source\ttarget\tweight\na\tb\t0.5\nb\tc\t2\nc\td\t0\n")
    assert network.adjacency.toarray()[0, 1] == 0.5 and network.adjacency.toarray()[2, 1] == 2
    assert rejected(network) == [(4, "c", "d", "weight 0", "taken as no link", "")]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("a\tb\t1\nb\tc\t1\nb\ta\t2\n", r"edges\.tsv, line 3: the link b – a has weight 2, but 1 in line 1"),
        ("a\tb\t1\na\tb\t0\n", r"edges\.tsv, line 2: the link a – b has weight 0, but 1 in line 1"),
        ("a\tz\t1\nz\ta\t2\nb\tc\t1\n", r"edges\.tsv, line 2: the link z – a has weight 2, but 1 in line 1"),
        ("a\tb\t1\nb\tc\t\n", r"edges\.tsv, line 2, column weight: the value is missing"),
        ("a\tb\t1\nb\tc\t-1\n", r"edges\.tsv, line 2, column weight: must not be negative, got -1"),
        ("a\tb\t1\nb\tc\tx\n", r"edges\.tsv, line 2, column 3: 'x' is not a number"),
        (
            "a\tb\t1\t1\n",
            r"edges\.tsv: expected source, target and perhaps weight, got 4 columns, .* with `source`, `target`",
        ),
        ("a\tb\tx\nb\tc\t1\n", r"the first row, 'a b x', names two nodes, but 'x' is not a weight"),
        ("a\tb\nb\n", r"edges\.tsv, line 2: expected 2 columns as in line 1, got 1"),
        (
            "a\tz\nb\tx\n",
            r"edges\.tsv: none of its 2 rows joins two known nodes; .* like 'z', `nodes` names nodes like 'a'",
        ),
        (
            "y\tz\nz\tx\n",
            r"edges\.tsv: none of its 2 rows joins two known nodes; .* like 'y', `nodes` names nodes like 'a'",
        ),
        ("a\ta\n", r"edges\.tsv: none of its 1 rows is a link: self-loop \(1\)"),
        ("a\tb\t0\nb\tc\t0\nc\tc\t1\n", r"none of its 3 rows is a link: weight 0 \(2\), self-loop \(1\)"),
    ],
)
def test_contradictions_raise_with_file_and_line(read, edges, message):
    with pytest.raises(ValueError, match=message):
        read(edges)


@pytest.mark.parametrize("named", [True, False])
def test_row_numbers_from_one_are_a_mistake(tmp_path, named):
    """Taken as they are, nearly all of them would be links of other nodes."""
    np.savez(tmp_path / "n.npz", X=np.eye(4), E=np.array([[1, 2], [2, 4]]), **({"ids": list("abcd")} if named else {}))
    with pytest.raises(ValueError, match="row numbers go from 1 to 4, but rows count from 0; subtract 1"):
        read_network(f"{tmp_path}/n.npz:E", nodes=f"{tmp_path}/n.npz:X")


def test_comments_are_counted_in_both_files(read):
    assert read("# one\n" + EDGES, "# two\n# three\n" + NODES).comments == 3


def test_a_row_that_is_one_cell_is_shown(read):
    with pytest.raises(ValueError, match=r"has ids but no features; .* whose first cell is 'a 1 2'"):
        read(nodes="a 1 2\n")


def test_nodes_with_the_names_of_a_header(read):
    network = read("source\ttarget\n", "id\tu\nsource\t1\ntarget\t2\n")
    assert network.n_links == 1


# --------------------------------------------------------------------------------------------------------------- nodes


def test_nodes_with_missing_features(tmp_path):
    path = write(tmp_path, "nodes.tsv", "id\tu\tv\na\t1\t2\nb\t\t4\nc\t5\tNA\nd\t\t\n")
    kept = read_nodes(path)
    assert kept.ids.tolist() == ["a"]
    assert [(r.line, r.source, r.reason, r.detail, r.action) for r in kept.rejections] == [
        (3, "b", "missing features", "1 of 2", "left out"),
        (4, "c", "missing features", "1 of 2", "left out"),
        (5, "d", "missing features", "2 of 2", "left out"),
    ]
    mean = read_nodes(path, missing="mean")
    assert mean.ids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(mean.X, [[1, 2], [3, 4], [5, 3]])
    actions = [r.action for r in mean.rejections]
    assert actions == ["filled with the mean of the column"] * 2 + ["left out"]
    np.testing.assert_array_equal(read_nodes(path, missing="zero").X, [[1, 2], [0, 4], [5, 0]])


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        ("id\tu\na\t1\na\t2\n", {}, r"nodes\.tsv, line 3: node 'a' has other values than in line 2"),
        (
            "id\tu\na\t\nb\t1\nc\t\n",
            {"missing": "best"},
            "`missing` must be one of 'reject', 'mean', 'zero', got 'best'",
        ),
        (
            "id\tu\tv\na\t\t1\nb\t1\t\n",
            {},
            r"every node has missing features \(1 of 2 in line 2\); impute .*`missing=.mean.`",
        ),
        ("id\tu\tv\na\t1\t\nb\t1\t\n", {"missing": "mean"}, r"nodes\.tsv, column 'v': every value is missing"),
        ("id\na\nb\n", {}, r"has ids but no features"),
        ("id\tu\n\t1\n", {}, r"nodes\.tsv has no ids"),
    ],
)
def test_invalid_nodes(tmp_path, nodes, options, message):
    with pytest.raises(ValueError, match=message):
        read_nodes(write(tmp_path, "nodes.tsv", nodes), **options)


def test_the_same_node_twice_is_counted_once(tmp_path):
    nodes = read_nodes(write(tmp_path, "nodes.tsv", "id\tu\na\t1\nb\t2\na\t1\n\t3\n"))
    assert nodes.ids.tolist() == ["a", "b"]
    assert [(r.line, r.reason) for r in nodes.rejections] == [(4, "duplicate"), (5, "no id")]


def test_features_in_an_array_with_ids_beside_it(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    assert read_nodes(tmp_path / "X.npy").ids.tolist() == ["0", "1", "2"]
    ids = write(tmp_path, "ids.txt", "a\nb\nc\n")
    assert read_nodes(tmp_path / "X.npy", ids=ids).ids.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"has 3 rows but .* has 2 ids"):
        read_nodes(tmp_path / "X.npy", ids=write(tmp_path, "few.txt", "a\nb\n"))
    with pytest.raises(ValueError, match="has its own ids"):
        read_nodes(write(tmp_path, "nodes.tsv", NODES), ids=ids)


# ------------------------------------------------------------------------------------------------------------- labelled


def test_labelled_nodes(read, tmp_path):
    assert read(labeled="all").labeled.tolist() == [0, 1, 2, 3]
    some = write(tmp_path, "labeled.txt", "id\nb\na\nz\na\n")
    network = read(labeled=some)
    assert network.labeled.tolist() == [0, 1]
    assert rejected(network) == [
        (4, "z", "", "unknown node", "left out", ""),
        (5, "a", "", "listed twice", "counted once", ""),
        (3, "b", "c", "a node that is not labelled", "not learned from", ""),
    ]
    with pytest.raises(ValueError, match="no link joins two labelled nodes"):
        read(labeled=write(tmp_path, "far.txt", "a\nc\n"))
    with pytest.raises(ValueError, match="none of its 1 ids is a node; it begins with 'q'"):
        read(labeled=write(tmp_path, "none.txt", "q\n"))


# -------------------------------------------------------------------------------------------------------------- kernels


def test_kernels_are_matched_by_id(tmp_path):
    one = write(tmp_path, "one.tsv", "id\ta\tb\tc\na\t2\t1\t0\nb\t1\t2\t1\nc\t0\t1\t2\n")
    two = write(tmp_path, "two.csv", "id,c,a\na,0.5,1\nc,1,0.5\n")
    nodes = read_kernels([one, two])
    assert nodes.ids.tolist() == ["a", "c"]
    np.testing.assert_array_equal(nodes.kernels["one"], [[2, 0], [0, 2]])
    np.testing.assert_array_equal(nodes.kernels["two"], [[1, 0.5], [0.5, 1]])
    [lost] = nodes.rejections
    assert (lost.line, lost.source, lost.reason) == (3, "b", "not in every file") and "two.csv" in lost.detail


def test_a_network_of_kernels(tmp_path):
    K = np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])
    np.savez(tmp_path / "k.npz", ids=["a", "b", "c"], K=K, other=K)
    edges = write(tmp_path, "edges.tsv", EDGES)
    network = read_network(edges, kernels=[f"{tmp_path}/k.npz:K", f"{tmp_path}/k.npz:other"])
    assert network.nodes.X is None and list(network.nodes.kernels) == ["K", "other"]
    np.testing.assert_array_equal(network.nodes.kernels["K"], K)
    with pytest.raises(ValueError, match="either tables of features, `nodes`, or kernel matrices"):
        read_network(edges)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id\ta\tb\na\t2\t1\nb\t0\t2\n", r"k\.tsv, line 2: a kernel must be symmetric, but k\(a, b\) = 1 and .* = 0"),
        ("id\ta\tb\na\t2\t1\n", r"k\.tsv: a kernel must be square, got 1 rows and 2 columns"),
        ("id\ta\tz\na\t2\t1\nb\t1\t2\n", r"k\.tsv: rows and columns must name the same nodes, but '[bz]' is not"),
        ("id\ta\tb\na\t2\t\nb\t1\t2\n", r"k\.tsv, line 2, column 'b': missing value; a kernel must be complete"),
        (
            "id\ta\tb\na\t2\t1\na\t2\t1\n",
            r"k\.tsv, line 3: a kernel needs one row for each node, but 'a' is a duplicate",
        ),
        ("id\ta\tb\na\t0\t1\nb\t1\t0\n", r"k\.tsv` must be positive semi-definite"),
    ],
)
def test_invalid_kernels(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_kernels([write(tmp_path, "k.tsv", content)])


def test_kernels_without_a_common_node(tmp_path):
    one, two = write(tmp_path, "one.tsv", "id\ta\na\t1\n"), write(tmp_path, "two.tsv", "id\tb\nb\t1\n")
    with pytest.raises(ValueError, match="have no id in common"):
        read_kernels([one, two])


def test_when_all_links_are_lost_to_missing_features_imputation_is_suggested(tmp_path):
    nodes, edges = tmp_path / "nodes.tsv", tmp_path / "edges.tsv"
    nodes.write_text("id\tx\ty\na\t1\t\nb\t\t1\nc\t1\t2\nd\t2\t1\n")
    edges.write_text("a\tb\na\tc\n")
    with pytest.raises(ValueError, match=r"a node that was left out \(2\)\. .*`missing=.mean.` imputes them"):
        read_network(edges, nodes=nodes)


def test_columns_without_a_common_node_may_be_two_kinds(tmp_path):
    nodes, edges = tmp_path / "nodes.tsv", tmp_path / "edges.tsv"
    nodes.write_text("id\tx\n" + "".join(f"{kind}{i}\t{i}\n" for kind in "dt" for i in range(6)))
    links = [f"d{i}\tt{j}" for i in range(6) for j in range(6) if (i + j) % 3]
    edges.write_text("\n".join(links) + "\n")
    assert any("read them as bipartite" in note for note in read_network(edges, nodes=nodes).notes)
    edges.write_text("\n".join([*links, "t1\td0"]) + "\n")  # the other way round: a list without kinds
    assert not any("bipartite" in note for note in read_network(edges, nodes=nodes).notes)
