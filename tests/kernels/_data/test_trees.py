"""Trees as sequences of nodes beside a recursion."""

from iokr.data.trees import Preorder, preorder, subtree_ends, tree_nodes
from iokr.datasets import sample


def written(tree, depth=0):
    """(depth, label) of every node, parents first."""
    label, children = (tree[0], tree[1:]) if isinstance(tree, tuple) else (tree, ())
    yield depth, label
    for child in children:
        yield from written(child, depth + 1)


def size(tree) -> int:
    return len(list(written(tree)))


def subtrees(tree):
    """Every subtree, parents first."""
    yield tree
    for child in tree[1:] if isinstance(tree, tuple) else ():
        yield from subtrees(child)


def test_parents_come_first_and_children_in_order():
    for tree in [*sample("trees", 20), ("a", ("b", "c"), "d", ("e",))]:
        found = preorder(tree_nodes(tree, "label", 0))
        assert found == Preorder(*zip(*written(tree), strict=True))


def test_ends_of_subtrees():
    for tree in [*sample("trees", 20), ("a", ("b", "c"), "d", ("e",))]:
        depths = preorder(tree_nodes(tree, "label", 0)).depths
        assert [end - i for i, end in enumerate(subtree_ends(depths))] == [size(part) for part in subtrees(tree)]
