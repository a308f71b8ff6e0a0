"""Label ranking data: each row has features and a ranking of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr_lab.data.archives import find_set, reading, set_names

__all__ = ["LabelRanking", "label_ranking_sets", "load_label_ranking"]

FOLDER = "label_ranking"
SUFFIX = ".csv.gz"
TARGET = "ranking"


@dataclass(frozen=True)
class LabelRanking:
    """Rows of features, and the rank of every label for each row.

    Ranks start at 1, the best; tied labels share their mean rank, and labels missing in a row are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.data import LabelRanking
    >>> data = LabelRanking(np.zeros((1, 2)), np.array([[2.0, 1.0, 3.0]]), ("a", "b", "c"), ("width", "height"))
    >>> data.order(0)
    'b>a>c'
    """

    X: NDArray[np.float64]  # (n, p), categories one-hot
    ranks: NDArray[np.float64]  # (n, d)
    labels: tuple[str, ...]
    feature_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.X)

    def order(self, i: int) -> str:
        """The labels of row i, best first; tied labels without separator."""
        row = self.ranks[i]
        groups = ("".join(np.array(self.labels)[row == rank]) for rank in np.unique(row[~np.isnan(row)]))
        return ">".join(groups)


def label_ranking_sets() -> tuple[str, ...]:
    """The sorted names of the data sets in `data_home()`/label_ranking."""
    return set_names(FOLDER, SUFFIX)


def load_label_ranking(name: str) -> LabelRanking:
    """The label ranking set of `data_home()`/label_ranking/`name`.csv.gz.

    The file has a header; its last column, ``ranking``, has rankings such as ``b>a>c``, best first, one letter per
    label, tied labels without separator. Columns that are not numeric are categories.

    Parameters
    ----------
    name : str
        ``"iris"``, ``"sushi"``, ...
    """
    import pandas as pd

    path = find_set(FOLDER, name, SUFFIX)
    with reading(path, "a label ranking"):
        table = pd.read_csv(path)
    if TARGET not in table.columns or table.shape[1] < 2 or not len(table):
        raise ValueError(f"{path} must be a label ranking file, with features and a column `{TARGET}`.")
    orders = table.pop(TARGET)
    features = pd.get_dummies(table)
    X = features.to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    if len(bad):
        raise ValueError(f"{path}: features must be finite, row {bad[0]} has a missing or infinite one.")
    ranks, labels = _ranks(path, orders.tolist())
    return LabelRanking(X, ranks, labels, tuple(map(str, features.columns)))


def _ranks(path: Path, orders: list[Any]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Ranks of the labels, ties at their mean."""
    from iokr.kernels.structured.rankings import midranks  # here, so that the list of data sets imports no kernel

    labels = tuple(sorted({label for order in orders for label in str(order)} - {">"}))
    column = {label: j for j, label in enumerate(labels)}
    places = np.full((len(orders), len(labels)), np.nan)
    for i, order in enumerate(orders):
        groups = str(order).split(">")
        named = "".join(groups)
        if not isinstance(order, str) or not all(groups) or len(set(named)) != len(named):
            raise ValueError(f"{path}: row {i} must be a ranking such as 'b>a>c' with each label once, got {order!r}.")
        for place, group in enumerate(groups):
            places[i, [column[label] for label in group]] = place
    if len(labels) < 2:
        raise ValueError(f"{path} must have at least two labels, got {len(labels)}.")
    return midranks(places), labels
