"""Moments that are known already, kept in a folder: a fit that was interrupted takes them up again."""

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
    """A hash of what a chunk's moments depend on besides its rows: kernel, landmarks, outputs, the list of chunks."""
    return str(joblib.hash(parts))


class Checkpoint:
    """A folder with a manifest and a file of moments for each number, each whole or not there.

    Parameters
    ----------
    folder : path
        Made where it is not there; one that holds another fit is refused.
    manifest : str
        What the fit is, as `fingerprint` says it.

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
        try:
            self.folder = Path(folder)
        except TypeError:
            raise TypeError(f"`checkpoint` must be the path of a folder, got {folder!r:.60}.") from None
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "manifest.json"
        if path.exists():
            try:
                found = json.loads(path.read_text("utf-8")).get("fit")
            except (ValueError, AttributeError):
                found = None
            if found != manifest:
                raise ValueError(
                    f"`checkpoint` {str(self.folder)!r} holds the moments of another fit (other data, kernel, "
                    "landmarks or chunks); give each fit a folder of its own, or empty this one."
                )
        elif any(self.folder.iterdir()):
            raise ValueError(
                f"`checkpoint` {str(self.folder)!r} holds other files; give an empty folder, or a new one."
            )
        else:
            with write_atomically(path) as file:
                file.write(json.dumps({"format": 1, "fit": manifest}).encode())

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.npz"

    def save(self, number: int, moments: Moments) -> None:
        """Keep the moments of a chunk."""
        values: dict[str, Any] = {name: to_numpy(getattr(moments, name)) for name in _NAMES}
        with write_atomically(self._path(number)) as file:
            np.savez(file, **values)

    def load(self, number: int) -> Moments | None:
        """Those of a chunk, None where they are not known yet."""
        path = self._path(number)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as kept:
            G, B, s, n, weight, left = (kept[name] for name in _NAMES)
        return Moments(G, B, float(s), int(n), float(weight), float(left))
