"""Labels of pairs and of sets: two of any kind, or numbers."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from iokr._validation.arguments import check_numbers
from iokr.data.frames import read
from iokr.data.objects import as_array, distinct, error_context

__all__ = ["code_labels"]


def code_labels(y: Any, each: str) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Numbers to learn, the two labels where there are two, coded −1 and 1, and which of the distinct labels each is.

    `each` is what has a label, for the words of errors: "pair", "set".
    """
    with error_context("y"):
        values = read(y)
    try:
        values = as_array(values)
    except ValueError:
        raise ValueError(f"`y` must be one label per {each}, a 1-D array; some entries are sequences.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"`y` must be one label per {each}, a 1-D array, got shape {values.shape}.")
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: `y` must hold real numbers, or two different labels.")
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise ValueError(f"`y` contains NaN or infinity; leave such {each}s out.")
    chosen, names = distinct(values)
    try:
        classes = values[chosen] if len(chosen) > 2 else np.sort(values[chosen])
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in values.tolist()}))
        raise TypeError(f"`y` must hold labels of one kind, got {kinds}; leave {each}s without a label out.") from None
    if len(classes) == 2:
        second = 0 if classes[0] != values[chosen[0]] else 1  # which of the distinct labels is the larger one
        return np.where(names == second, 1.0, -1.0), classes, names
    if values.dtype.kind not in "buifO" or not all(isinstance(label, Real) for label in values.tolist()):
        raise ValueError(f"`y` must hold numbers, or two different labels, not {len(classes)}.")
    return check_numbers(values, "y"), None, names
