"""Methods that some models have."""

import pickle

import pytest

from iokr.estimators.available import available_unless


class Model:
    def __init__(self, why=None):
        self.why = why

    @available_unless(lambda model: model.why)
    def partial_fit(self, X):
        """Learn from more rows."""
        return X


def test_a_method_that_is_there():
    assert Model().partial_fit(3) == 3 and hasattr(Model(), "partial_fit")
    assert Model.partial_fit.__doc__ == "Learn from more rows."
    assert pickle.loads(pickle.dumps(Model())).partial_fit(3) == 3


def test_a_method_that_is_not_there_says_why():
    model = Model("it needs all rows; use `fit`.")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match=r"This Model has no `partial_fit`: it needs all rows; use `fit`\."):
        model.partial_fit(3)
