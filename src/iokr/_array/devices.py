"""The device of an array: CUDA or not, the speed of its float64, and TF32 in a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from iokr._array.homes import home_of
from iokr._array.namespaces import Array, asarray_like, to_numpy
from iokr._array.products import matmul

# Compute capabilities whose float64 runs at half of the float32 rate; on all others it is 1/32 or less.
_FULL_DOUBLE = {(6, 0), (7, 0), (8, 0), (9, 0), (10, 0)}
_SIDE = 768  # size of the product that is timed
_RATES: dict[tuple[str, str] | None, float] = {}  # by library and device


def device_name(like: Any) -> str:
    """The device of an array as text: cuda:0, or this machine."""
    home = home_of(like)
    return home[1] if home is not None and home[1].startswith("cuda") else "this machine"


def is_cuda(like: Any) -> bool:
    """Whether an array is on a CUDA device."""
    return device_name(like) != "this machine"


def slow_double(like: Array) -> bool:
    """Whether the float64 of this CUDA device is 1/16 of its float32 or slower, by its compute capability."""
    home = home_of(like)
    if home is None or not is_cuda(like):
        return False
    if home[0] == "torch":
        import torch

        return torch.cuda.get_device_capability(like.device) not in _FULL_DOUBLE
    known = str(like.device.compute_capability)
    return (int(known[:-1]), int(known[-1])) not in _FULL_DOUBLE


@contextmanager
def tensor_products(like: Array) -> Iterator[None]:
    """A context in which float32 products of torch on CUDA are in TF32; without effect elsewhere."""
    home = home_of(like)
    if home is None or home[0] != "torch" or not is_cuda(like):
        yield
        return
    import torch

    switch: Any = torch.backends.cuda.matmul
    name, on = ("fp32_precision", "tf32") if hasattr(switch, "fp32_precision") else ("allow_tf32", True)
    before = getattr(switch, name)
    setattr(switch, name, on)
    try:
        yield
    finally:
        setattr(switch, name, before)


def flops_per_second(like: Array) -> float:
    """Multiplications per second of float64 products on the device of `like`, timed once."""
    where = home_of(like)
    if where not in _RATES:
        _RATES[where] = _timed(like)
    return _RATES[where]


def _timed(like: Array) -> float:
    A = asarray_like(np.full((_SIDE, _SIDE), 0.5), like)
    # Loads the library; reading an entry waits for the product without compiling a kernel.
    to_numpy(matmul(A, A)[:1, :1])
    start = perf_counter()
    to_numpy(matmul(A, A)[:1, :1])
    return 2.0 * _SIDE**3 / max(perf_counter() - start, 1e-6)
