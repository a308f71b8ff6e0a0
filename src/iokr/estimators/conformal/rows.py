"""Rows that a model is fitted on: some of them, of objects or of a Gram matrix; pairs (x, y), or nodes of a network."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from iokr.data.objects import take
from iokr.estimators.inputs import is_pairwise

__all__ = ["fits_network", "rows_of", "second_argument", "some", "takes_gram"]


def second_argument(model: Any) -> str:
    """The name of the second argument of `fit`; empty without one."""
    if not hasattr(model, "fit"):
        return ""
    names = list(inspect.signature(model.fit).parameters)
    return names[1] if len(names) > 1 else ""


def fits_network(model: Any) -> bool:
    """Whether rows are the nodes of a network."""
    return second_argument(model) == "adjacency"


def takes_gram(model: Any) -> bool:
    """Whether X is a Gram matrix."""
    return hasattr(model, "get_params") and is_pairwise(model.get_params(deep=False).get("kernel"))


def some(X: Any, rows: np.ndarray) -> Any:
    """Some of the rows; a list for a list, which models read as a matrix if it holds numbers."""
    return [X[int(i)] for i in rows] if isinstance(X, (list, tuple)) else take(X, rows)


def rows_of(X: Any, rows: np.ndarray, model: Any, columns: np.ndarray | None = None) -> Any:
    """Some rows; of a Gram matrix with some columns, by default those of the same rows."""
    if not takes_gram(model):
        return some(X, rows)
    return take(X, rows)[:, rows if columns is None else columns]
