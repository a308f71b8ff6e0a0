"""QM9: small molecules of carbon, nitrogen, oxygen and fluorine."""

from __future__ import annotations

import gzip

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import find_data

__all__ = ["load_qm9"]


def load_qm9() -> NDArray[np.object_]:
    """The SMILES of `data_home()`/qm9, 133 595 molecules of at most nine heavy atoms."""
    path = find_data("qm9/qm9_smiles.csv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    if lines[0].strip() != "smiles":
        raise ValueError(f"{path}: the first line must be 'smiles', got {lines[0]!r:.40}.")
    return np.array([line.strip() for line in lines[1:] if line.strip()], dtype=object)
