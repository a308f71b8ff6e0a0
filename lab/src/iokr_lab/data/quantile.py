"""Small regression data sets used in papers on joint quantiles and infinite tasks."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iokr_lab.data.archives import find_set, reading

__all__ = ["QUANTILE_SETS", "QuantileSet", "load_quantile"]

QUANTILE_SETS = {  # name → response, dropped columns, numeric columns that are categories; texts are categories
    "BigMac2003": ("BigMac", ("name",), ()),
    "Boston": ("medv", (), ()),
    "CobarOre": ("z", (), ()),
    "GAGurine": ("GAG", (), ()),
    "UN3": ("Purban", ("name",), ()),
    "birthwt": ("bwt", ("low",), ("race",)),
    "caution": ("y", (), ()),
    "cpus": ("estperf", ("name",), ()),
    "crabs": ("CW", ("index",), ()),
    "engel": ("foodexp", (), ()),
    "ftcollinssnow": ("Late", (), ()),
    "geyser": ("waiting", (), ()),
    "gilgais": ("e80", (), ()),
    "heights": ("Dheight", (), ()),
    "highway": ("Rate", ("name",), ("Hwy",)),
    "mcycle": ("accel", (), ()),
    "sniffer": ("Y", (), ()),
    "snowgeese": ("photo", (), ()),
    "topo": ("z", (), ()),
    "ufc": ("Height", ("Plot", "Tree"), ()),
    "bone": ("spnbmd", ("idnum",), ()),
}
_MISSING = {"", "NA", "nan", "NaN"}


@dataclass(frozen=True)
class QuantileSet:
    """Inputs and response as in the file, not standardised."""

    X: NDArray[np.float64]  # (n, p), categories one-hot
    y: NDArray[np.float64]  # (n,)
    columns: tuple[str, ...]


def load_quantile(name: str) -> QuantileSet:
    """A data set of `data_home()`/quantile without incomplete rows."""
    path = find_set("quantile", name, ".csv.gz")
    response, dropped, codes = QUANTILE_SETS[name]
    with reading(path, "a quantile"), gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
        rows = [row for row in rows if not any(cell in _MISSING for cell in row)]
        table = {column: np.array([row[i] for row in rows]) for i, column in enumerate(header)}
        y = table[response].astype(float)
        features: dict[str, NDArray[np.float64]] = {}
        for column, values in table.items():
            if column == response or column in dropped or not column:
                continue
            if column in codes or not _numbers(values):
                for level in np.unique(values)[1:]:
                    features[f"{column}={level}"] = (values == level).astype(float)
            else:
                features[column] = values.astype(float)
    return QuantileSet(np.column_stack(list(features.values())), y, tuple(features))


def _numbers(values: NDArray[np.str_]) -> bool:
    try:
        values.astype(float)
    except ValueError:
        return False
    return True
