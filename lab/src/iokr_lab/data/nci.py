"""NCI-Cancer: activity of molecules against 59 human cancer cell lines."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_choice
from iokr.datasets.home import find_data
from iokr_lab.data.archives import check_rows, read_arrays, sparse_rows

__all__ = ["NCICancer", "load_nci_cancer", "load_nci_smiles"]

ACTIVE = 60  # minimal score of an active molecule
_BY_MOLECULE = ("nsc", "score", "no_zero_active", "middle_active", "has_structure")  # arrays of nci_cancer.npz
_BY_LINE = ("cell_line", "tissue")
_PATHS = ("nsc", "indptr", "indices", "n_features")  # arrays of paths.npz


@dataclass(frozen=True)
class NCICancer:
    """Molecules as sets of labelled paths, and their activity against every cell line."""

    paths: Any  # (n, p), 1 if the molecule has the labelled linear path of 0 to 6 bonds
    score: NDArray[np.float64]  # (n, 59), −10 log₁₀ GI50
    nsc: NDArray[np.int64]  # compound numbers
    cell_line: tuple[str, ...]  # name of each column
    tissue: tuple[str, ...]

    @property
    def active(self) -> NDArray[np.bool_]:
        """Score ≥ 60: half the growth is inhibited at one micromole per litre or less."""
        return self.score >= ACTIVE


def load_nci_cancer(subset: str = "no_zero_active") -> NCICancer:
    """The molecules with a structure of `data_home()`/nci_cancer.

    Parameters
    ----------
    subset : {"no_zero_active", "middle_active", "all"}, default="no_zero_active"
        Molecules active against at least one line, molecules active against about half of the lines, or all.
    """
    check_choice(subset, "subset", ("no_zero_active", "middle_active", "all"))
    table_path = find_data("nci_cancer/nci_cancer.npz")
    paths_path = find_data("nci_cancer/paths.npz")
    table = read_arrays(table_path, "an NCI-Cancer", _BY_MOLECULE + _BY_LINE)
    paths = read_arrays(paths_path, "an NCI-Cancer", _PATHS)
    n = len(table["nsc"])
    d = len(table["cell_line"])
    check_rows(table_path, n, {name: table[name] for name in _BY_MOLECULE})
    check_rows(table_path, d, {name: table[name] for name in _BY_LINE})
    if table["score"].ndim != 2 or table["score"].shape[1] != d:
        raise ValueError(f"{table_path}: `score` must be ({n}, {d}), got {table['score'].shape}.")
    shape = (len(paths["nsc"]), int(paths["n_features"]))
    features = sparse_rows(paths_path, paths["indptr"], paths["indices"], None, shape)
    chosen = table["has_structure"].astype(bool)
    if subset != "all":
        chosen &= table[subset].astype(bool)
    nsc = table["nsc"][chosen].astype(np.int64)
    row_of = {int(number): row for row, number in enumerate(paths["nsc"])}
    missing = [number for number in nsc.tolist() if number not in row_of]
    if missing:
        raise ValueError(
            f"{paths_path} must have paths of all molecules, {len(missing)} are missing, such as NSC {missing[0]}."
        )
    return NCICancer(
        paths=features[[row_of[number] for number in nsc.tolist()]],
        score=table["score"][chosen].astype(np.float64),
        nsc=nsc,
        cell_line=tuple(table["cell_line"].tolist()),
        tissue=tuple(table["tissue"].tolist()),
    )


def load_nci_smiles(nsc: Iterable[int]) -> list[str]:
    """The SMILES of compounds by their numbers, of `data_home()`/nci_cancer.

    Parameters
    ----------
    nsc : iterable of int
        Compound numbers, such as `nsc` of `load_nci_cancer()`.
    """
    path = find_data("nci_cancer/smiles.tsv.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    if not rows or rows[0] != ["nsc", "smiles"] or any(len(row) != 2 for row in rows):
        raise ValueError(f"{path}: each line must have a number and a SMILES, the first line 'nsc' and 'smiles'.")
    smiles = dict(rows[1:])
    numbers = [str(number) for number in nsc]
    missing = [number for number in numbers if not smiles.get(number)]
    if missing:
        raise ValueError(f"{path} must have all structures, {len(missing)} are missing, such as NSC {missing[0]}.")
    return [smiles[number] for number in numbers]
