"""The rows that a model is given: nodes or pairs of input and output, some of them, complete ones."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from iokr.data.objects import take
from iokr.estimators.conformal.order import INCOMPLETE
from iokr.estimators.regression.iokr import KernelRegression

__all__ = ["check_targets", "is_pairwise", "links_model", "rows_of", "second_argument", "some"]


def second_argument(model: Any) -> str:
    """The name of what `fit` takes after X; empty where there is none."""
    arguments = list(inspect.signature(model.fit).parameters) if hasattr(model, "fit") else []
    return "".join(arguments[1:2])


def links_model(model: Any) -> bool:
    """Whether rows are the nodes of a network."""
    return second_argument(model) == "adjacency"


def is_pairwise(model: Any) -> bool:
    """Whether X is a Gram matrix."""
    return bool(getattr(getattr(model, "kernel", None), "pairwise", False))


def some(X: Any, rows: np.ndarray) -> Any:
    """Some of the rows, a list of a list: models read lists of numbers as matrices."""
    return [X[int(i)] for i in rows] if isinstance(X, (list, tuple)) else take(X, rows)


def rows_of(X: Any, rows: np.ndarray, model: Any, columns: np.ndarray | None = None) -> Any:
    """Some rows; of a Gram matrix against some columns, by default the same."""
    if not is_pairwise(model):
        return some(X, rows)
    return take(X, rows)[:, rows if columns is None else columns]


def check_targets(model: Any) -> None:
    """Refuse missing entries of outputs in forms that only the model reads, such as curves with gaps."""
    if isinstance(model, KernelRegression) and model.targets_.mask is not None:
        raise ValueError(INCOMPLETE)
