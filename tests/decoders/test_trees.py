"""Trees by local search: each step gets nearer, no single edit is left that helps, and the bound is one.

Tests of `iokr.decoders._search.trees`.
"""

from itertools import product

import numpy as np
import pytest

from iokr import IOKR
from iokr.data.objects import as_objects
from iokr.data.trees import Preorder, preorder, tree_nodes
from iokr.decoders import Candidates, TreeEdits
from iokr.decoders._search.linear import output_bounds
from iokr.decoders._search.trees import productions, subtrees, tree_edits
from iokr.kernels import RBF, Delta, GaussianOf, Normalized, Subtree
from reference import assert_close
from tree_samples import every_tree, fewest_edits, networkx_tree, parts

KERNELS = [
    Subtree(depth=1),
    Subtree(0.5, depth=2),
    Subtree(),
    Subtree(0.7, ordered=False, depth=1),
    2.0 * Subtree(0.3),
    Normalized(Subtree(0.5)),
    Subtree(depth=1) + 0.5 * Normalized(Subtree(0.5, ordered=False)),
    GaussianOf(Subtree(depth=1), 0.3),
]
CODES = np.array(list(product((0.0, 1.0), repeat=5)))
TREES = as_objects((s, (t, u, v), w) for s, t, u, v, w in product("ab", repeat=5))  # the tree of each code
SUMS = as_objects((s, (t, u, v), w) for s, t, u, v, w in product("+-", "*/", "ab", "ab", "ab"))
SEEN, NEW = np.split(np.random.default_rng(0).permutation(32), 2)


def named(kernel) -> str:
    return " ".join(repr(kernel).split())


def model(kernel, decoder, Y=TREES) -> IOKR:
    """Each bit of the input is the label of a node; half of the trees are there."""
    return IOKR(RBF(0.2), output_kernel=kernel, alpha=0.05, decoder=decoder).fit(CODES[SEEN], as_objects(Y)[SEEN])


def costs(fitted: IOKR, X: np.ndarray, Y) -> np.ndarray:
    E, H = fitted.embedding_, fitted.decision_function(X)
    S = E.represent(as_objects(Y))
    return E.sq_norms(S) - 2 * E.inner(H, S)


def flat(tree) -> Preorder:
    return preorder(tree_nodes(tree, "label", 0))


@pytest.mark.parametrize("tree", ["a", ("a", "b"), ("a", ("b", "a"), "b"), ("b", "a", "a", "b")], ids=str)
def test_every_tree_at_edit_distance_one_is_an_edit(tree):
    edited = tree_edits(flat(tree), "ab", [], swaps=False)
    assert len(set(edited)) == len(edited)
    near = {flat(z) for z in every_tree(5, "ab") if fewest_edits(tree, z) == 1}
    assert near <= set(edited)
    every = {flat(z): fewest_edits(tree, z) for z in every_tree(5, "ab")}
    further = [z for z in edited if every[z] > 1]  # subtrees that went
    assert all(len(z.labels) == len(flat(tree).labels) - every[z] for z in further)


def test_swaps_and_grafts():
    tree = ("a", ("b", "c"), "d", ("b", "c"))
    plain = set(tree_edits(flat(tree), "abcd", [], swaps=False))
    swapped = set(tree_edits(flat(tree), "abcd", [], swaps=True)) - plain
    assert swapped == {flat(("a", "d", ("b", "c"), ("b", "c"))), flat(("a", ("b", "c"), ("b", "c"), "d"))}
    grafted = set(tree_edits(flat(tree), "abcd", [flat(("c", "a", "a"))], swaps=False)) - plain
    graft = ("c", "a", "a")
    assert grafted == {
        flat(z)
        for z in [
            graft,
            ("a", graft, "d", ("b", "c")),
            ("a", ("b", graft), "d", ("b", "c")),
            ("a", ("b", "c"), graft, ("b", "c")),
            ("a", ("b", "c"), "d", graft),
            ("a", ("b", "c"), "d", ("b", graft)),
        ]
    }


def test_subtrees_and_productions():
    tree = flat(("a", ("c", "b"), "b"))
    assert subtrees(tree) == [tree, flat(("c", "b")), flat("b"), flat("b")]
    assert productions(tree, ordered=True) == {("a", "c", "b"), ("c", "b"), ("b",)}
    assert productions(tree, ordered=False) == {("a", "b", "c"), ("c", "b"), ("b",)}


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_every_step_gets_nearer(kernel):
    X, before = CODES[NEW], None
    for steps in (0, 1, 2, 5):
        fitted = model(kernel, TreeEdits(2, steps))
        now = np.diag(fitted.distances(X, fitted.predict(X)))
        if before is not None:
            assert np.all(now <= before + 1e-9)
        before = now
    nearest = fitted.distances(X, TREES[SEEN]).min(axis=1)
    assert np.all(before <= nearest + 1e-9)
    if kernel in KERNELS[:3]:
        assert np.any(before < nearest - 1e-4)


def test_no_steps_is_the_best_candidate():
    still, best = (model(Subtree(0.5), decoder).predict(CODES[NEW]) for decoder in (TreeEdits(1, 0), Candidates()))
    assert list(still) == list(best)


@pytest.mark.parametrize("kernel", KERNELS[:5], ids=named)
def test_no_tree_one_edit_away_is_nearer(kernel):
    X, fitted = CODES[NEW[:6]], model(kernel, TreeEdits(max_steps=100))
    for x, y in zip(X, fitted.predict(X), strict=True):
        near = [z for z in every_tree(6, "ab") if fewest_edits(y, z) <= 1]
        distances = fitted.distances(x[None], as_objects([y, *near]))[0]
        assert distances[0] <= distances.min() + 1e-8


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_costs_and_bounds(kernel):
    X, fitted = CODES[NEW[:6]], model(kernel, TreeEdits(3, 5))
    H = fitted.decision_function(X)
    found, cost, bound = fitted.decoder_.solve(H, fitted.embedding_)
    assert_close(cost, np.diag(costs(fitted, X, found)), 1e-9)
    best = costs(fitted, X, every_tree(6, "ab")).min(axis=1)
    assert np.all(output_bounds(H, fitted.embedding_) <= best + 1e-9)
    assert np.all(bound <= best + 1e-9)
    assert np.all(bound <= cost + 1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_trees_that_are_there_are_found(kernel):
    """h(x) = ψ(y): no tree is nearer."""
    fitted = model(kernel, None)
    H = fitted.embedding_.fit_transform(TREES[SEEN], fitted.embedding_.kernel_)
    found, cost, bound = TreeEdits().fit(TREES[SEEN], fitted.embedding_).solve(H, fitted.embedding_)
    assert_close(kernel(found), kernel(TREES[SEEN]), 1e-9)  # two trees may have the same parts
    assert_close(cost, -np.diag(kernel(TREES[SEEN])), 1e-9)
    assert_close(cost, bound, 1e-9)


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=named)
def test_trees_that_are_not_there_are_found(kernel):
    """h(x) = ψ(y) for all 32 trees y, of which half are known: each is reached, and the bound proves it the best."""
    embedding = model(kernel, None, SUMS).embedding_
    H = embedding.fit_transform(SUMS, embedding.kernel_)
    found, cost, bound = TreeEdits(4).fit(SUMS[SEEN], embedding).solve(H, embedding)
    assert list(found) == list(SUMS)
    assert_close(cost, bound, 1e-9)


def test_parts_are_predicted_where_trees_never_were():
    """Half of the 32 trees are known; more than a third of the others are answered to the last label."""
    answers = model(Subtree(depth=1), TreeEdits(), SUMS).predict(CODES[NEW])
    assert sum(a == b for a, b in zip(answers, SUMS[NEW], strict=True)) > len(NEW) / 3


def test_what_inputs_say_about_parts_is_put_together():
    """The operation is read from one input and the operand from the other; one of the four trees was not seen."""
    Y = [("+", ("*", "a", "b"), "c"), ("+", ("*", "a", "b"), "d"), ("+", ("*", "b", "b"), "c")]
    fitted = IOKR(RBF(0.5), output_kernel=Subtree(0.5), decoder=TreeEdits(), alpha=0.01)
    answer = fitted.fit([[0, 0], [1, 0], [0, 1]], Y).predict([[1, 1]])[0]
    assert answer == ("+", ("*", "b", "b"), "d")


def test_grammar_keeps_to_what_was_seen():
    Y = as_objects([("+", "x", "x"), ("+", ("-", "x"), "x"), ("-", ("+", "x", "x")), "x", ("-", "x"), ("+", "x", "y")])
    seen = set().union(*(productions(flat(y), ordered=True) for y in Y))
    free, held = (
        IOKR(
            RBF(0.2),
            output_kernel=Normalized(Subtree(depth=0)),
            alpha=0.05,
            decoder=TreeEdits(1, 5, grammar=grammar, max_nodes=9),
        )
        .fit(CODES[:6], Y)
        .predict(CODES[6:])
        for grammar in (False, True)
    )
    assert not all(productions(flat(y), ordered=True) <= seen for y in free)
    assert all(productions(flat(y), ordered=True) <= seen for y in held)
    assert any(y not in list(Y) for y in held)


def test_answers_are_no_larger_than_training_trees_unless_asked():
    kernel = Normalized(Subtree(depth=0))
    held, wide = (model(kernel, TreeEdits(1, 10, max_nodes=most)).predict(CODES[NEW]) for most in (None, 30))
    largest = max(len(flat(y).labels) for y in TREES[SEEN])
    assert max(len(flat(y).labels) for y in held) <= largest < max(len(flat(y).labels) for y in wide)
    with pytest.raises(ValueError, match="max_nodes"):
        model(kernel, TreeEdits(max_nodes=0))


def test_networkx_trees_come_back_as_such():
    networkx = pytest.importorskip("networkx")
    kernel = Normalized(Subtree(0.5, label="word")) + Subtree(label="word", depth=1)
    found = model(kernel, TreeEdits(), map(networkx_tree, TREES)).predict(CODES[NEW])
    expected = model(Normalized(Subtree(0.5)) + Subtree(depth=1), TreeEdits()).predict(CODES[NEW])
    assert any(y not in list(TREES[SEEN]) for y in expected)
    for G, y in zip(found, expected, strict=True):
        assert isinstance(G, networkx.DiGraph)
        assert preorder(tree_nodes(G, "word", 0)) == flat(y)


def test_answers_are_written_as_training_trees_are():
    def in_lists(tree):
        label, children = parts(tree)
        return [label, *map(in_lists, children)]

    def in_tuples(tree):
        label, children = parts(tree)
        return (label, *map(in_tuples, children))

    plain, lists, tuples = (
        model(Subtree(depth=1), TreeEdits(), Y).predict(CODES[NEW])
        for Y in (TREES, map(in_lists, TREES), map(in_tuples, TREES))
    )
    assert any(y not in list(TREES[SEEN]) for y in plain)
    assert list(lists) == [in_lists(y) for y in plain]
    assert list(tuples) == [in_tuples(y) for y in plain]


def test_labels_of_any_kind():
    """Numbers, None and sets are labels too; the last two stand in tuples."""
    Y = as_objects([(1, (None,), 2.5), (1, (frozenset("a"),), 2), (None, 2, 2.5), (1, 1)])
    fitted = IOKR(RBF(0.2), output_kernel=Subtree(depth=1), alpha=0.05, decoder=TreeEdits()).fit(CODES[:4], Y)
    found = fitted.predict(CODES[4:12])
    assert any(y not in list(Y) for y in found)
    assert np.all(np.diag(Subtree(depth=0)(found)) >= 1)  # the kernel reads them


def test_refusals():
    with pytest.raises(ValueError, match="needs an output kernel on trees"):
        model(Delta(), TreeEdits())
    with pytest.raises(ValueError, match="`n_starts` must be an integer of at least 1"):
        model(Subtree(), TreeEdits(0))
    with pytest.raises(ValueError, match="`max_steps` must be an integer of at least 0"):
        model(Subtree(), TreeEdits(1, -1))
    with pytest.raises(ValueError, match="`grafts` must be an integer of at least 0"):
        model(Subtree(), TreeEdits(grafts=-1))
    with pytest.raises(ValueError, match="`grammar` must be"):
        model(Subtree(), TreeEdits(grammar="no"))
