"""Conversion of arrays of other libraries to NumPy and back, for files."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
from array_api_compat import is_cupy_namespace, is_torch_array

from iokr._array.namespaces import Array, array_namespace, is_numpy

LIBRARIES = {"torch": "iokr[torch]", "cupy": "iokr[cuda12] or iokr[cuda13]", "array_api_strict": "array-api-strict"}


def home_of(x: Any) -> tuple[str, str] | None:
    """(library, device) of an array, as text; None for NumPy arrays."""
    if is_numpy(x):
        return None
    if is_torch_array(x):
        return "torch", str(x.device)
    if is_cupy_namespace(array_namespace(x)):
        return "cupy", f"cuda:{x.device.id}"
    return type(x).__module__.partition(".")[0], str(x.device)


def put_home(x: np.ndarray, library: str, device: str | None = None) -> Array:
    """A NumPy array as one of `library`: torch's on `device`, the host by default, where both share memory.

    CuPy arrays are on the current device, unless `device` is "cpu": then they are NumPy arrays.
    """
    if library not in LIBRARIES:
        raise ValueError(f"`library` must be one of {', '.join(LIBRARIES)}, got {library!r:.40}.")
    if library == "cupy" and device == "cpu":
        return x
    try:
        module: Any = import_module(library)
    except ImportError as error:
        raise ImportError(
            f"These arrays need {library}, which is not installed; install {LIBRARIES[library]}."
        ) from error
    if library == "torch":
        with warnings.catch_warnings():  # an array of a memory map is not writable, and never written to
            warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
            tensor = module.from_numpy(x)
        try:
            return tensor.to(module.device("cpu" if device is None else device))
        except (AssertionError, RuntimeError, TypeError) as error:  # raised by torch for a device that does not exist
            raise ValueError(f"`device` must be available to torch, such as 'cpu', got {device!r:.40}.") from error
    return module.asarray(x)
