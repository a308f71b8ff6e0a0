"""Kernels on any objects: the delta kernel and kernels from a function."""

import numpy as np
import pytest

import reference
from iokr import IOKR
from iokr.kernels import RBF, Delta, FromFunction
from reference import assert_close
from samples import vectors

WORDS = np.array(["kernel", "colonel", "nel", "", "kernel", "ridge"], dtype=object)


def letters(x: str, z: str) -> float:
    return float(sum(x.count(a) * z.count(a) for a in set(x)))


@pytest.mark.parametrize(
    "objects",
    [WORDS, np.array([3, 1, 2, 3, 3]), np.array([1.5, 2.5, 1.5]), ["a", "b", "a"], [(1, 2), (1, 2), (2, 1)]],
    ids=["strings", "integers", "floats", "list", "tuples"],
)
def test_delta_is_equality(objects):
    K = Delta().fit(objects)(objects)
    expected = [[float(x == z) for z in objects] for x in objects]
    np.testing.assert_array_equal(K, expected)


def test_delta_of_rows_compares_whole_rows():
    X = np.array([[1, 2], [1, 3], [1, 2]])
    np.testing.assert_array_equal(Delta().fit(X)(X), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    Z = np.array([[1, 3], [9, 9]])
    np.testing.assert_array_equal(Delta().fit(X)(X, Z), [[0, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(Delta().diag(Delta().fit(X).represent(X)), np.ones(3))


def test_delta_of_unseen_objects():
    fitted = Delta().fit(["a", "b"])
    np.testing.assert_array_equal(fitted(["a", "z"], ["z", "a"]), [[0, 1], [1, 0]])


def test_a_function_is_called_on_every_pair():
    kernel = FromFunction(letters).fit(WORDS)
    other = np.array(["nee", "k"], dtype=object)
    assert_close(kernel(WORDS, other), reference.gram(letters, WORDS, other), 1e-15)
    assert_close(kernel(WORDS), reference.gram(letters, WORDS), 1e-15)
    assert_close(kernel.diag(kernel.represent(WORDS)), [letters(x, x) for x in WORDS], 1e-15)


def test_a_function_of_vectors():
    X, Z = vectors(6, 3, seed=1), vectors(4, 3, seed=2)
    kernel = FromFunction(lambda x, z: float(np.exp(-np.sum((x - z) ** 2)))).fit(X)
    assert_close(kernel(X, Z), RBF(1.0)(X, Z), 1e-14)


def test_a_function_of_anything_python_has():
    graphs = [
        {"nodes": 3, "edges": {(0, 1)}},
        {"nodes": 2, "edges": set()},
        {"nodes": 3, "edges": {(0, 1), (1, 2)}},
    ]

    def k(a, b):
        return a["nodes"] * b["nodes"] + len(a["edges"] & b["edges"])

    Y = np.eye(3)
    K = reference.gram(k, graphs)
    for intercept in (False, True):
        model = IOKR(FromFunction(k), alpha=0.5, intercept=intercept).fit(graphs, Y)
        expected = reference.Ridge(K, Y, 0.5, intercept=intercept).values(K)
        assert_close(model.decision_function(graphs), expected, 1e-11)


def test_a_function_that_does_not_answer_with_a_number():
    with pytest.raises((TypeError, ValueError)):
        FromFunction(lambda x, z: "near").fit(WORDS)(WORDS)
