"""Edits between trees: compiled, in Python, and by the recursion over forests."""

import numpy as np

from iokr._system.compile import compiling
from iokr.data.tree_edits import coded_trees, tree_edit_matrix
from iokr.data.trees import keyed_trees
from iokr.datasets import sample
from tree_samples import every_tree, fewest_edits


def test_edits_compiled_and_not():
    Y, Z = [*sample("trees", 8), *every_tree(3, "ab")], [*sample("trees", 6, seed=1), ("a", ("b", "c"), "a", ("b",))]
    codes: dict = {}
    A, B = (coded_trees(keyed_trees(side), codes) for side in (Y, Z))
    with compiling(False):
        plain = tree_edit_matrix(A, B)
    np.testing.assert_array_equal(tree_edit_matrix(A, B), plain)
    np.testing.assert_array_equal(plain, [[fewest_edits(y, z) for z in Z] for y in Y])


def test_is_a_distance():
    codes: dict = {}
    A = coded_trees(keyed_trees(every_tree(4, "ab")), codes)
    D = tree_edit_matrix(A, A)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(D == 0, np.eye(len(D), dtype=bool))
    assert np.all(D[:, None, :] <= D[:, :, None] + D[None, :, :])
