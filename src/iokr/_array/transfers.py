"""Copies of arrays from the host to a torch device, ahead of their use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from iokr._array.namespaces import Array, is_array, is_numpy

_END = object()  # after the last item


def torch_device(device: Any) -> Any:
    """An existing device of torch, by its name."""
    try:
        import torch
    except ImportError:
        raise ImportError("Moving rows to a device needs torch: pip install 'iokr[torch]'.") from None
    if not isinstance(device, (str, torch.device)):
        raise TypeError(f'`device` must be the name of a torch device, "cuda" or "cuda:1", got {device!r:.40}.')
    try:
        found = torch.device(device)
    except RuntimeError:
        raise ValueError(
            f'`device` must be the name of a torch device, "cuda" or "cuda:1", got {device!r:.40}.'
        ) from None
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"`device` is {device!r}, but torch finds {torch.cuda.device_count()} CUDA devices.")
    return found


def ahead(items: Iterable[Any], device: Any) -> Iterator[Any]:
    """Each item, a tuple whose first two members are arrays, with these on a device; the next item is copied meanwhile.

    A separate thread fetches the next item and copies it, on CUDA through page-locked memory and on a separate stream,
    while the caller processes the item before.
    """
    move = _Mover(torch_device(device))
    moved = map(move, items)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, moved, _END)
        while (found := coming.result()) is not _END:
            coming = thread.submit(next, moved, _END)
            move.hand_over(found)
            yield found


class _Mover:
    """Copies the arrays of an item; the user of the arrays calls `hand_over`."""

    def __init__(self, device: Any) -> None:
        self.torch: Any = import_module("torch")
        self.device = device
        self.stream = self.torch.cuda.Stream(device) if device.type == "cuda" else None
        self._locked: list[Array | None] = [None, None]

    def __call__(self, item: Any) -> Any:
        if not isinstance(item, (tuple, list)) or len(item) not in (2, 3):
            return item  # the caller raises for it
        if self.stream is None:
            return (*(self._plain(x) for x in item[:2]), *item[2:])
        with self.torch.cuda.stream(self.stream):
            moved = tuple(self._through_locked(k, x) for k, x in enumerate(item[:2]))
            self.stream.synchronize()  # in this thread: only the next copy waits
        return (*moved, *item[2:])

    def hand_over(self, item: Any) -> None:
        if self.stream is not None and isinstance(item, tuple):
            for x in item[:2]:
                if is_torch_array(x):  # its memory is not reused before its current uses end
                    x.record_stream(self.torch.cuda.current_stream(self.device))

    def _plain(self, x: Any) -> Array:
        self._check(x)
        return x.to(self.device) if is_torch_array(x) else self.torch.tensor(np.asarray(x), device=self.device)

    def _through_locked(self, k: int, x: Any) -> Array:
        self._check(x)
        if is_torch_array(x) and x.device.type != "cpu":
            return x.to(self.device)
        x = x if is_torch_array(x) else np.asarray(x)
        dtype = x.dtype if is_torch_array(x) else self.torch.from_numpy(np.empty(0, dtype=x.dtype)).dtype
        kept = self._locked[k]
        if kept is None or kept.dtype != dtype or kept.shape[1:] != x.shape[1:] or kept.shape[0] < x.shape[0]:
            kept = self._locked[k] = self.torch.empty(tuple(x.shape), dtype=dtype, pin_memory=True)
        part = kept[: x.shape[0]]
        if is_torch_array(x):
            part.copy_(x)
        else:
            np.copyto(part.numpy(), x)
        return part.to(self.device, non_blocking=True)

    def _check(self, x: Any) -> None:
        known = is_array(x) and (is_torch_array(x) or (is_numpy(x) and x.dtype.kind in "buif" and x.ndim > 0))
        if not known:
            raise TypeError(f"Only arrays of numbers can be moved to {self.device}, got a {type(x).__name__}.")
