"""Inputs of estimators: checked, represented, cast, nothing moved silently."""

import numpy as np
import pytest

from iokr import IOKR
from iokr.estimators.inputs import InputAdapter, check_isotropic, check_kernel, fresh_solver, represent
from iokr.kernels import RBF, Delta, Subsequence, Tanimoto
from iokr.operator_kernels import Decomposable
from iokr.solvers import Auto, Eigen

X = np.random.default_rng(0).normal(size=(6, 2))


def test_defaults():
    assert isinstance(check_kernel(None), RBF)
    assert isinstance(fresh_solver(None), Auto)
    given = Eigen()
    solver = fresh_solver(given)
    assert isinstance(solver, Eigen)
    assert solver is not given


def test_a_border_counts_the_features_of_fit():
    model = IOKR().fit(X, X[:, 0])
    adapter = InputAdapter(model.kernel_, model.solution_.C)
    assert np.array_equal(adapter.check(model, X[:3]), X[:3])
    with pytest.raises(ValueError, match="3 features"):
        adapter.check(model, np.ones((2, 3)))


def test_a_border_says_which_argument_is_wrong():
    kernel = Subsequence(2).fit(["ab", "ba"])
    with pytest.raises((TypeError, ValueError), match="`X`"):
        represent(kernel, ["ab", 3])
    with pytest.raises((TypeError, ValueError), match="`X_unlabeled`"):
        represent(kernel, ["ab", 3], "X_unlabeled")


@pytest.mark.parametrize("single", [False, True])
def test_answers_have_the_precision_of_the_data(single):
    adapter = InputAdapter(RBF().fit(X), X, single)
    assert adapter.cast(X).dtype == (np.float32 if single else np.float64)
    labels = np.array(["a", "b"], dtype=object)
    assert adapter.cast(labels) is labels


def test_nothing_is_moved_silently():
    strict = pytest.importorskip("array_api_strict")
    model = IOKR().fit(X, X[:, 0])
    with pytest.raises(TypeError, match="another library or device"):
        InputAdapter(model.kernel_, model.solution_.C).check(model, strict.asarray(X))


def test_objects_have_no_library():
    model = IOKR(Delta()).fit(["a", "b"], [0.0, 1.0])
    assert InputAdapter(model.kernel_, model.solution_.C).check(model, ["b"]) == ["b"]


def test_an_operator_on_implicit_outputs_is_a_multiple_of_the_identity():
    check_isotropic(Decomposable(RBF(), 2 * np.eye(3)))
    with pytest.raises(ValueError, match="no preferred basis"):
        check_isotropic(Decomposable(RBF(), np.diag([1.0, 2.0])))


def test_sets_where_numbers_are_meant_name_the_kernel_of_sets():
    sets = [{"a", "b"}, {"b"}, {"a"}]
    with pytest.raises(ValueError, match=r"sets are compared by `Jaccard\(\)`"):
        IOKR(Tanimoto()).fit(sets, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("scale", [1, 200])
def test_fingerprints_of_small_integers_are_computed_in_float64(scale):
    """Too narrow to be packed: products of uint8 would overflow."""
    rng = np.random.default_rng(0)
    bits = scale * (rng.uniform(size=(30, 40)) < 0.4)
    y = rng.normal(size=30)
    found, expected = (
        IOKR(Tanimoto(), alpha=0.1).fit(X, y).predict(X[:3]) for X in (bits.astype(np.uint8), bits.astype(float))
    )
    np.testing.assert_array_equal(found, expected)
