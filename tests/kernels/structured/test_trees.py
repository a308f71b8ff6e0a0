"""Subtrees beside a recursive count."""

from collections import Counter

import numpy as np
import pytest

from iokr import IOKR
from iokr.data.objects import concat
from iokr.datasets import sample
from iokr.kernels import RBF, Normalized, Subtree
from reference import assert_close


def subtrees(tree, ordered: bool) -> Counter:
    """Every subtree, written out in full."""
    found: Counter = Counter()

    def written(node) -> str:
        label, children = (node[0], node[1:]) if isinstance(node, tuple) else (node, ())
        below = [written(child) for child in children]
        text = f"{label}({','.join(below if ordered else sorted(below))})"
        found[text] += 1
        return text

    written(tree)
    return found


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("decay", [1.0, 0.5])
def test_subtrees_are_counted(ordered, decay):
    X, Z = sample("trees", 12), sample("trees", 9, seed=1)
    sides = [[subtrees(x, ordered) for x in side] for side in (X, Z)]
    expected = [[sum(x[t] * z[t] * decay ** t.count("(") for t in x) for z in sides[1]] for x in sides[0]]
    kernel = Subtree(decay, ordered)
    assert_close(kernel(X, Z), expected, 1e-12)
    both = concat(kernel.represent(X), kernel.represent(Z))
    assert_close(kernel.block(both, both), kernel([*X, *Z]), 1e-12)


def tops(tree, ordered: bool, depth: int) -> Counter:
    """Every node with as many of the levels below it as there are, up to depth: none, one, …, each once."""
    found: Counter = Counter()

    def parts(node) -> tuple:
        return (node[0], node[1:]) if isinstance(node, tuple) else (node, ())

    def height(node) -> int:
        return max((1 + height(child) for child in parts(node)[1]), default=0)

    def written(node, levels: int) -> str:
        label, children = parts(node)
        below = [written(child, levels - 1) for child in children] if levels else []
        return f"{label}({','.join(below if ordered else sorted(below))})"

    def walk(node) -> None:
        for levels in range(min(depth, height(node)) + 1):
            found[written(node, levels)] += 1
        for child in parts(node)[1]:
            walk(child)

    walk(tree)
    return found


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_first_levels_are_counted(ordered, depth):
    X, Z = sample("trees", 12), sample("trees", 9, seed=1)
    sides = [[tops(x, ordered, depth) for x in side] for side in (X, Z)]
    expected = [[sum(x[t] * z[t] * 0.7 ** t.count("(") for t in x) for z in sides[1]] for x in sides[0]]
    kernel = Subtree(0.7, ordered, depth=depth)
    assert_close(kernel(X, Z), expected, 1e-12)
    both = concat(kernel.represent(X), kernel.represent(Z))
    assert_close(kernel.block(both, both), kernel([*X, *Z]), 1e-12)


def test_networkx_trees_are_the_same():
    nx = pytest.importorskip("networkx")

    def grown(tree):
        G = nx.DiGraph()

        def add(node):
            number = len(G)
            G.add_node(number, label=node[0] if isinstance(node, tuple) else node)
            for child in node[1:] if isinstance(node, tuple) else ():
                G.add_edge(number, add(child))
            return number

        add(tree)
        return G

    X = sample("trees", 12)
    np.testing.assert_array_equal(Subtree()([grown(x) for x in X], X), Subtree()(X))


def test_deep_trees():
    tree = "a"
    for _ in range(50_000):
        tree = ("b", tree)
    assert Subtree()([tree])[0, 0] == 50_001


def test_trees_as_outputs_and_in_files(tmp_path):
    import iokr

    X, Y = np.arange(12.0)[:, None], sample("trees", 12)
    model = IOKR(RBF(2.0), output_kernel=Normalized(Subtree(0.7)), alpha=1e-6).fit(X, Y)
    assert list(model.predict(X)) == list(Y)
    iokr.save(model, tmp_path / "trees.safetensors")
    assert list(iokr.load(tmp_path / "trees.safetensors").predict(X)) == list(Y)


def test_refusals():
    nx = pytest.importorskip("networkx")
    unlabelled = nx.DiGraph([(0, 1)])
    for bad, error, message in [
        ((), ValueError, "Tree 1 has a node without a label"),
        ((("a",), "b"), ValueError, "Tree 1 has a node without a label"),
        (None, TypeError, r"Tree 1 must be \(label, child, …\)"),
        (nx.Graph([(0, 1)]), ValueError, "Tree 1 must be a NetworkX DiGraph"),
        (nx.DiGraph([(0, 1), (2, 1)]), ValueError, "is not a tree: it has 3 nodes, 2 edges and 2 roots"),
        (nx.DiGraph([(0, 1), (2, 3), (3, 2)]), ValueError, "not a tree: its root does not reach"),
        (unlabelled, ValueError, "Tree 1: node 0 has no 'label'"),
    ]:
        with pytest.raises(error, match=message):
            Subtree()(["a", bad])
    for decay in (0.0, 1.5):
        with pytest.raises(ValueError, match="`decay` must be a number above 0 and at most 1"):
            Subtree(decay)(["a"])
    with pytest.raises(ValueError, match="`depth` must be an integer of at least 0"):
        Subtree(depth=-1)(["a"])
