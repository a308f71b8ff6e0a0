"""Compositions of the components: the only place with `fit(X, y)` and `predict(X)`."""

from iokr.estimators.path import IOKRCV
from iokr.estimators.regression import IOKR

__all__ = ["IOKR", "IOKRCV"]
