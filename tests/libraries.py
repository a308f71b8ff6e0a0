"""Array libraries and their devices, and a small problem to move between them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

N, M, U = 16, 7, 9


@dataclass
class Library:
    """An array library and one of its devices."""

    name: str
    xp: Any
    device: Any

    def __call__(self, array, dtype=None):
        """`array` as this library's, on this device."""
        array = np.asarray(array, dtype=dtype)
        if self.name == "cupy":
            return self.xp.asarray(array)
        return self.xp.asarray(array, device=self.device)

    def numpy(self, array):
        """Back to NumPy; fails if it is another library's or device's."""
        self.check(array)
        if self.name == "torch":
            return array.cpu().numpy()
        if self.name == "cupy":
            return array.get()
        return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))

    def check(self, array):
        if self.name == "torch":
            assert type(array) is self.xp.Tensor
            assert array.device.type == self.device
        elif self.name == "cupy":
            assert isinstance(array, self.xp.ndarray)
        else:
            assert isinstance(array, self.xp.asarray(0.0).__class__)
            assert array.device == self.device


def library_of(name, device):
    xp = pytest.importorskip(name)
    if name == "torch":
        if device == "cuda" and not xp.cuda.is_available():
            pytest.skip("no CUDA device")
        return Library(name, xp, device)
    if name == "cupy":
        if not xp.cuda.is_available():
            pytest.skip("no CUDA device")
        return Library(name, xp, None)
    return Library(name, xp, xp.Device(device))


@dataclass
class Data:
    X: Any
    Y: Any
    new: Any
    unlabeled: Any
    candidates: Any

    def moved(self, to, dtype=None):
        return Data(*(to(array, dtype) for array in vars(self).values()))


def problem():
    rng = np.random.default_rng(0)
    X, new, unlabeled = (np.abs(rng.normal(size=(k, 3))) for k in (N, M, U))
    return Data(X, rng.normal(size=(N, 2)), new, unlabeled, rng.normal(size=(5, 2)))
