"""Trees beside the recursion over forests."""

import numpy as np
import pytest

from iokr.datasets import sample
from iokr.metrics import tree_edit_distance
from tree_samples import fewest_edits, networkx_tree


@pytest.mark.parametrize("seed", range(3))
def test_edits_are_the_fewest(seed):
    Y, Z = sample("trees", 12, seed), sample("trees", 12, seed + 10)
    expected = np.mean([fewest_edits(y, z) for y, z in zip(Y, Z, strict=True)])
    assert tree_edit_distance(Y, Z) == pytest.approx(expected, rel=1e-14)
    assert tree_edit_distance(Y, Y) == 0.0


def test_labels_are_compared_by_value():
    assert tree_edit_distance([(1, 2)], [(1.0, (np.int64(2),))]) == 0.0
    assert tree_edit_distance([("a", (frozenset("b"),))], [["a", "c"]]) == 1.0


def test_networkx_trees():
    pytest.importorskip("networkx")
    Y, Z = sample("trees", 6), sample("trees", 6, 1)
    assert tree_edit_distance([networkx_tree(y) for y in Y], Z, label="word") == tree_edit_distance(Y, Z)


def test_refusals():
    with pytest.raises(ValueError, match="y_true has 2 objects but y_pred has 1"):
        tree_edit_distance(["a", "b"], ["a"])
    with pytest.raises(TypeError, match=r"`y_pred`.*1 must be"):
        tree_edit_distance(["a", "b"], ["a", None])
