"""Library and device of arrays, conversion between them, rows and slices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace as _array_namespace
from array_api_compat import device as _device
from array_api_compat import is_array_api_obj, is_cupy_namespace, is_numpy_array, is_torch_array
from array_api_compat import numpy as numpy_namespace

Array: TypeAlias = Any


def is_sparse(x: Any) -> bool:
    """Whether `x` is a SciPy sparse matrix or array."""
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def is_array(x: Any) -> bool:
    """Whether `x` is an array of some Array API library (NumPy included, sparse not)."""
    return is_array_api_obj(x)


def array_namespace(*arrays: Any) -> Any:
    """The Array API namespace of `arrays`; sparse matrices, scalars and None count as NumPy."""
    dense = [x for x in arrays if is_array_api_obj(x)]
    return _array_namespace(*dense) if dense else numpy_namespace


def is_numpy(*arrays: Any) -> bool:
    """Whether every array is of NumPy (or sparse, or a scalar)."""
    return all(is_numpy_array(x) or not is_array_api_obj(x) for x in arrays)


def to_numpy(x: Any) -> np.ndarray:
    """`x` as a NumPy array, copied to the host if necessary."""
    if is_torch_array(x):
        return np.asarray(x.detach().cpu())
    if hasattr(x, "get") and is_cupy_namespace(array_namespace(x)):
        return np.asarray(x.get())
    if hasattr(x, "to_device") and is_array_api_obj(x) and not is_numpy_array(x):
        x = x.to_device(array_namespace(x).__array_namespace_info__().default_device())
    return np.asarray(x)


def unreadable(x: Any) -> str | None:
    """Why an array cannot be computed with, or None: torch's sparse layouts, and tensors without data."""
    if not is_torch_array(x):
        return None
    if str(x.layout) != "torch.strided":
        return f"has torch's layout {x.layout}; pass `.to_dense()`, or a SciPy matrix"
    return "is on torch's device 'meta', which has no data" if x.device.type == "meta" else None


def detached(x: Any) -> Any:
    """`x` without a record of gradients."""
    return x.detach() if is_torch_array(x) else x


def same_home(x: Any, y: Any) -> bool:
    """Whether two arrays are of one library and on one device."""
    if is_sparse(x) or is_sparse(y):
        return is_numpy(x, y)
    return array_namespace(x) is array_namespace(y) and (is_numpy_array(x) or _device(x) == _device(y))


def asarray_like(x: Any, like: Any) -> Array:
    """`x` as an array of the library and on the device of `like`."""
    if not is_array_api_obj(like) or is_numpy_array(like):
        return to_numpy(x)
    xp = array_namespace(like)
    if is_array_api_obj(x) and not is_numpy_array(x) and array_namespace(x) is xp:
        return x if _device(x) == _device(like) else xp.asarray(x, device=_device(like))
    values = to_numpy(x)
    if is_torch_array(like) and not values.flags.writeable:  # torch has no read-only arrays
        values = values.copy()
    return xp.asarray(values, device=_device(like))


def _device_of(like: Any) -> Any:
    """The device of an array; None, the default, for sparse matrices and scalars."""
    return _device(like) if is_array_api_obj(like) else None


def eye_like(n: int, like: Any) -> Array:
    """The identity of size n, float64, on the device of `like`."""
    xp = array_namespace(like)
    return xp.eye(n, dtype=xp.float64, device=_device_of(like))


def empty_like(shape: tuple[int, ...], like: Any) -> Array:
    """An uninitialised float64 array on the device of `like`."""
    xp = array_namespace(like)
    return xp.empty(shape, dtype=xp.float64, device=_device_of(like))


def take_rows(R: Any, rows: Any) -> Any:
    """R[rows] for a slice, integers (NumPy, or as R) or a list of them; `R` an array, sparse, or sliceable."""
    if not is_array_api_obj(R) or is_numpy_array(R):
        return R[rows]
    if isinstance(rows, slice):
        return R[rows, ...]
    xp = array_namespace(R)
    known = is_array_api_obj(rows) and not is_numpy_array(rows)
    index = rows if known else xp.asarray(np.asarray(rows), device=_device(R))
    return R[index] if is_torch_array(R) and index.dtype == xp.int64 else xp.take(R, index, axis=0)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `size` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
