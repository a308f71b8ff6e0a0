"""What holds for every public component: it is listed, clones, pickles, prints and stays unchanged.

Tests of `iokr._component`.
"""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from iokr import IOKR
from iokr.kernels import Precomputed
from members import EVERYTHING, FOLDERS, TABLES, final_classes, label


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.__name__)
def test_every_member_is_tested_here(folder):
    """A new component must be added to `members.py`."""
    assert sorted(TABLES[folder]) == sorted(cls.__name__ for cls in final_classes(folder))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.__name__)
def test_all_is_sorted_and_complete(folder):
    assert len(set(folder.__all__)) == len(folder.__all__)
    for name in folder.__all__:
        assert inspect.getdoc(getattr(folder, name)), f"{name} has no docstring"


def equal(a, b) -> bool:
    if isinstance(a, BaseEstimator):
        return type(a) is type(b) and equal(a.get_params(deep=False), b.get_params(deep=False))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    return bool(a is b or a == b)


@pytest.mark.parametrize("component", EVERYTHING, ids=label)
class TestComponent:
    def test_clone(self, component):
        copy = clone(component)
        assert copy is not component
        assert equal(copy, component)

    def test_pickle(self, component):
        assert equal(pickle.loads(pickle.dumps(component)), component)

    def test_repr_names_the_class(self, component):
        assert type(component).__name__ in repr(component)

    def test_limits_are_of_parameters_and_hold(self, component):
        assert set(component.limits) <= set(component.get_params(deep=False))
        component.check_parameters()
        for name in component.limits:
            with pytest.raises((TypeError, ValueError), match=f"`{name}` must be"):
                clone(component).set_params(**{name: object()}).check_parameters()

    def test_parameters_are_the_arguments_of_init(self, component):
        params = component.get_params(deep=False)
        signature = inspect.signature(type(component).__init__)
        names = [p for p in signature.parameters if p != "self"]
        assert sorted(params) == sorted(names)
        kinds = {p.kind for name, p in signature.parameters.items() if name != "self"}
        assert inspect.Parameter.VAR_POSITIONAL not in kinds
        assert inspect.Parameter.VAR_KEYWORD not in kinds
        named = [name for name in names if signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY]
        first = [params[name] for name in names if name not in named]
        rebuilt = type(component)(*first, **{name: params[name] for name in named})
        assert equal(rebuilt, component)
        assert equal(type(component)().set_params(**params), component) if not names or _optional(signature) else True

    def test_constructor_stores_and_does_nothing_else(self, component):
        for name, value in component.get_params(deep=False).items():
            assert getattr(component, name) is value
        assert not [name for name in vars(component) if name.endswith("_")]

    def test_compared_by_identity(self, component):
        assert component == component
        assert component != clone(component)
        assert isinstance(hash(component), int)


def _optional(signature: inspect.Signature) -> bool:
    return all(p.default is not inspect.Parameter.empty for name, p in signature.parameters.items() if name != "self")


def test_large_arrays_are_told_by_their_shape():
    kernel = Precomputed(np.eye(50))
    assert repr(kernel) == "Precomputed(matrix=<array of float64, shape (50, 50)>)"
    assert repr(IOKR(kernel)) == f"IOKR(kernel={kernel!r})"
    assert "1., 0." in repr(Precomputed(np.eye(2))), "a few numbers are shown"
