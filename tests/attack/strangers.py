"""An object of every domain, whole or broken, to stand among valid ones of another."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["STRANGERS"]


STRANGERS: dict[str, Any] = {
    "a word": "abc",
    "an empty word": "",
    "a number": 3,
    "a float": 2.5,
    "NaN": float("nan"),
    "None": None,
    "an empty tuple": (),
    "an empty set": frozenset(),
    "a set": {"a", "b"},
    "a ranking": (2, 0, 1, 4, 3),
    "a short ranking": (1, 0),
    "a ranking with ties": (1, 1, 0, 0, 2),
    "a ranking with NaN": (0.0, float("nan"), 1.0, 2.0, 3.0),
    "a series": (0.5, 1.0, -1.0),
    "a series with NaN": (0.5, float("nan")),
    "a series with infinity": (float("inf"), 1.0),
    "a huge series": (1e200, -1e200, 1e300),
    "a bag": ((0.5, 1.0, 2.0),),
    "a ragged bag": ((0.5, 1.0, 2.0), (1.0,)),
    "a bag with NaN": ((float("nan"), 1.0, 2.0),),
    "a huge bag": ((1e200, 1.0, 2.0),),
    "a graph": (((0, 1), (1, 0)), "CN"),
    "a graph without nodes": ((), ""),
    "an asymmetric graph": (((0, 1), (0, 0)), "CN"),
    "a graph with NaN": (((0, float("nan")), (1, 0)), "CN"),
    "a graph of ragged rows": (((0, 1), (1,)), "CN"),
    "a graph of too few labels": (((0, 1), (1, 0)), "C"),
    "a matrix": np.ones((2, 2)),
    "a matrix with NaN": np.array([[np.nan, 1.0]]),
    "a matrix of another width": np.ones((2, 3)),
    "an empty matrix": np.zeros((0, 2)),
    "a pair beyond": (0, 10**6),
    "a negative pair": (-1, 0),
}
