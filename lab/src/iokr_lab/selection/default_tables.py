"""Real tables for the experiment `defaults`; the lists were fixed before the first run and have no table twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import DataNotFound
from iokr_lab.data.multilabel import load_multilabel
from iokr_lab.data.quantile import load_quantile
from iokr_lab.data.uci import load_uci
from iokr_lab.data.usps import load_usps

__all__ = ["ASIDE", "CLASSIFICATION", "LABEL_SETS", "REGRESSION", "Sample", "found"]

Matrix = NDArray[np.float64]

USPS_ROWS = 2000
BIBTEX_ROWS = 3000


@dataclass(frozen=True)
class Sample:
    """Inputs, and numbers, labels or label sets as 0/1 rows."""

    X: Any  # (n, p), sparse for bibtex
    y: NDArray[Any]


def _uci(name: str) -> Sample:
    one = load_uci(name)
    return Sample(one.X, one.y)


def _quantile(name: str) -> Sample:
    one = load_quantile(name)
    return Sample(one.X, one.y)


def _multilabel(name: str, rows: int | None = None) -> Sample:
    one = load_multilabel(name)
    if rows is None:
        return Sample(one.X, one.Y)
    part = _drawn(len(one.Y), rows)
    return Sample(one.X[part], one.Y[part])


def _drawn(n: int, rows: int) -> NDArray[np.intp]:
    """The same rows in every run."""
    return np.sort(np.random.default_rng(0).choice(n, rows, replace=False))


def _scikit_learn(name: str) -> Sample:
    import sklearn.datasets

    return Sample(*getattr(sklearn.datasets, f"load_{name}")(return_X_y=True))


def _statsmodels(name: str) -> Any:
    """A frame of statsmodels."""
    try:
        datasets = import_module("statsmodels.datasets")
    except ImportError:
        raise DataNotFound(f"{name} needs statsmodels: pip install statsmodels.") from None
    return getattr(datasets, name).load_pandas().data


def _grunfeld() -> Sample:
    """Investment of a firm in a year; firms as columns of zeros and ones."""
    frame = _statsmodels("grunfeld")
    numbers = frame[["value", "capital", "year"]].to_numpy(float)
    firms = frame["firm"].to_numpy()
    firm = [(firms == level).astype(float) for level in np.unique(firms)[1:]]
    return Sample(np.column_stack([numbers, *firm]), frame["invest"].to_numpy(float))


def _star98() -> Sample:
    """The share of students above the national median, without the products of features in the table."""
    frame = _statsmodels("star98")
    above = frame["NABOVE"].to_numpy(float)
    below = frame["NBELOW"].to_numpy(float)
    return Sample(frame.iloc[:, 2:14].to_numpy(float), above / (above + below))


def _anes96() -> Sample:
    """The vote of a person, without the logarithm of another column."""
    frame = _statsmodels("anes96")
    return Sample(frame.drop(columns=["vote", "logpopul"]).to_numpy(float), frame["vote"].to_numpy(int))


def _crabs() -> Sample:
    """Species and sex, four classes, from all five lengths."""
    one = load_quantile("crabs")
    kinds = [one.columns.index("sp=O"), one.columns.index("sex=M")]
    lengths = np.column_stack([np.delete(one.X, kinds, axis=1), one.y])
    return Sample(lengths, one.X[:, kinds] @ np.array([2, 1]))


def _birthwt() -> Sample:
    """Whether the weight is below 2500 g."""
    one = load_quantile("birthwt")
    return Sample(one.X, (one.y < 2500).astype(int))


def _usps() -> Sample:
    usps = load_usps()
    part = _drawn(len(usps.y_train), USPS_ROWS)
    return Sample(usps.X_train[part], usps.y_train[part])


def _each(loader: Callable[[str], Sample], names: str) -> dict[str, Callable[[], Sample]]:
    return {name: partial(loader, name) for name in names.split()}


REGRESSION: dict[str, Callable[[], Sample]] = {
    "Boston": partial(_uci, "bostonHousing"),
    **_each(_uci, "concrete energy kin8nm yacht"),
    **_each(_quantile, "GAGurine UN3 birthwt caution cpus crabs engel geyser gilgais heights ufc"),
    **_each(_scikit_learn, "diabetes"),
    "star98": _star98,
}
ASIDE: dict[str, Callable[[], Sample]] = {  # regressions that are not looked at until the defaults are settled
    **_each(_quantile, "bone mcycle sniffer"),
    "grunfeld": _grunfeld,
}
CLASSIFICATION: dict[str, Callable[[], Sample]] = {
    **_each(_scikit_learn, "iris wine breast_cancer digits"),
    "crabs": _crabs,
    "birthwt": _birthwt,
    "anes96": _anes96,
    "USPS": _usps,
}
LABEL_SETS: dict[str, Callable[[], Sample]] = {
    "bibtex": partial(_multilabel, "bibtex", BIBTEX_ROWS),
    **_each(_multilabel, "emotions scene yeast"),
}


def found(loaders: dict[str, Callable[[], Sample]], names: Iterable[str]) -> tuple[dict[str, Sample], tuple[str, ...]]:
    """The tables that can be read, and a sentence for each of the others."""
    samples = {}
    absent = []
    for name in names:
        try:
            samples[name] = loaders[name]()
        except DataNotFound as error:
            absent.append(f"{name} was not run: {error}")
    return samples, tuple(absent)
