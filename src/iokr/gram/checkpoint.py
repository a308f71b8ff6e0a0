"""Moments of chunks in a folder, from which an interrupted fit continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from iokr._array import to_numpy
from iokr._system.files import write_atomically
from iokr.gram.moments import Moments

__all__ = ["Checkpoint", "fingerprint"]

_NAMES = ("G", "B", "s", "n", "weight", "left")


def fingerprint(*parts: Any) -> str:
    """A hash of everything that moments of a chunk depend on except its rows: kernel, landmarks, outputs, chunks."""
    return str(joblib.hash(parts))


class Checkpoint:
    """A folder with a manifest and a file of moments for each chunk, written atomically.

    Parameters
    ----------
    folder : path
        Created if it does not exist; raises if it belongs to another fit.
    manifest : str
        The `fingerprint` of the fit.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from iokr.gram.checkpoint import Checkpoint
    >>> from iokr.gram.moments import moments_of
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Checkpoint(folder, "a fit")
    ...     kept.save(3, moments_of(np.eye(2), np.ones((2, 1))))
    ...     Checkpoint(folder, "a fit").load(3).n, kept.load(4)
    (2, None)
    """

    def __init__(self, folder: Any, manifest: str) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "manifest.json"
        if path.exists():
            if json.loads(path.read_text("utf-8"))["fit"] != manifest:
                raise ValueError(
                    f"`checkpoint` {str(self.folder)!r} contains the moments of another fit (other data, kernel, "
                    "landmarks or chunks); use a separate folder for each fit, or empty this one."
                )
        elif any(self.folder.iterdir()):
            raise ValueError(
                f"`checkpoint` {str(self.folder)!r} contains other files; use an empty folder, or a new one."
            )
        else:
            with write_atomically(path) as file:
                file.write(json.dumps({"format": 1, "fit": manifest}).encode())

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.npz"

    def save(self, number: int, moments: Moments) -> None:
        """Write the moments of a chunk."""
        values: dict[str, Any] = {name: to_numpy(getattr(moments, name)) for name in _NAMES}
        with write_atomically(self._path(number)) as file:
            np.savez(file, **values)

    def load(self, number: int) -> Moments | None:
        """The moments of a chunk, None if they are not there."""
        path = self._path(number)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as kept:
            G, B, s, n, weight, left = (kept[name] for name in _NAMES)
        return Moments(G, B, float(s), int(n), float(weight), float(left))
