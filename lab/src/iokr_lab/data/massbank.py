"""Tandem mass spectra of MassBank with candidate molecules of the same formula."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.chem import MassSpectra
from iokr.datasets.home import find_data
from iokr_lab.data.archives import read_arrays

__all__ = ["MassBank", "load_massbank_msms", "write_massbank_files"]

_BITS = 4263  # 167 MACCS, 2048 Morgan (radius 2), 2048 paths of up to six bonds
_SPECTRA = ("indptr", "mz", "intensity", "precursor_mz", "inchikey14", "n_merged", "casmi2016")
_MOLECULES = ("smiles", "n_spectra", "formula", "formula_id")


@dataclass(frozen=True)
class MassBank:
    """n spectra, one per molecule, and M ≥ n molecules: first those of the spectra, then other candidates."""

    spectra: MassSpectra  # (n,), [M+H]+, metadata: id, adduct, inchikey14, smiles, formula
    smiles: NDArray[np.str_]  # (M,)
    formulas: NDArray[np.str_]  # (M,)
    packed: NDArray[np.uint8]  # (M, 533), packed bits
    casmi2016: NDArray[np.bool_]  # (n,), spectra of molecules of that contest

    @property
    def n_bits(self) -> int:
        """The number of bits of a fingerprint."""
        return _BITS

    def bits(self, rows: Any) -> NDArray[np.uint8]:
        """The fingerprints of molecules as zeros and ones."""
        return np.unpackbits(self.packed[rows], axis=-1)[..., :_BITS]

    def candidates(self) -> list[NDArray[np.intp]]:
        """For each spectrum the molecules of its formula, including the true one, in the order of the table."""
        _, group = np.unique(self.formulas, return_inverse=True)
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(group.max() + 2))
        return [order[starts[g] : starts[g + 1]] for g in group[: len(self.spectra)]]

    def folds(self, n_folds: int = 5, seed: int = 0) -> NDArray[np.intp]:
        """The fold of each spectrum: a random assignment to folds of nearly equal size."""
        fold = np.arange(len(self.spectra)) % n_folds
        return np.random.default_rng(seed).permutation(fold)


def load_massbank_msms() -> MassBank:
    """The spectra and candidates of `data_home()`/massbank_msms.

    The folder holds ``spectra.npz``, ``molecules.npz`` and ``fingerprints.npz``; the candidates of a spectrum are the
    molecules of its formula.
    """
    path = find_data("massbank_msms/spectra.npz")
    found = read_arrays(path, "a spectra", _SPECTRA)
    molecules = read_arrays(find_data("massbank_msms/molecules.npz"), "a molecules", _MOLECULES)
    packed = read_arrays(find_data("massbank_msms/fingerprints.npz"), "a fingerprints", ("fp",))["fp"]
    n = int(molecules["n_spectra"])
    smiles = molecules["smiles"]
    if n != len(found["indptr"]) - 1 or len(packed) != len(smiles) or packed.shape[1:] != (-(-_BITS // 8),):
        raise ValueError(
            f"{path.parent} must have as many molecules as fingerprints of {_BITS} packed bits, first those of the "
            f"spectra; got {len(smiles)}, {packed.shape} and {len(found['indptr']) - 1} spectra for {n}."
        )
    formulas = molecules["formula"][molecules["formula_id"]]
    metadata = [
        {"id": f"MB{i + 1:04d}", "adduct": "[M+H]+", "inchikey14": str(key), "smiles": str(s), "formula": str(f)}
        for i, (key, s, f) in enumerate(zip(found["inchikey14"], smiles[:n], formulas[:n], strict=True))
    ]
    peaks = (found["mz"].astype(np.float64), found["intensity"].astype(np.float64))
    spectra = MassSpectra(*peaks, found["indptr"], found["precursor_mz"], metadata)
    return MassBank(spectra, smiles, formulas, packed, found["casmi2016"].astype(bool))


def write_massbank_files(folder: Path, rows: Any = None) -> tuple[Path, Path]:
    """Write `spectra.mgf` and `candidates.tsv` of some spectra (None: all), the input files of `iokr msms`."""
    data = load_massbank_msms()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = np.arange(len(data.spectra)) if rows is None else np.arange(len(data.spectra))[rows]
    sets = data.candidates()
    mgf = folder / "spectra.mgf"
    table = folder / "candidates.tsv"
    with mgf.open("w", encoding="utf-8") as file:
        for spectrum in data.spectra[chosen]:
            known = spectrum.metadata
            file.write(f"BEGIN IONS\nTITLE={known['id']}\nPEPMASS={spectrum.precursor_mz:.6f}\nCHARGE=1+\n")
            file.write(f"IONMODE=positive\nADDUCT={known['adduct']}\nFORMULA={known['formula']}\n")
            file.write(f"SMILES={known['smiles']}\n")
            for mz, height in zip(spectrum.mz, spectrum.intensity, strict=True):
                file.write(f"{mz:.5f} {height:.6g}\n")
            file.write("END IONS\n\n")
    with table.open("w", encoding="utf-8") as file:
        file.write("spectrum_id\tsmiles\tcandidate_id\n")
        for i in chosen:
            name = data.spectra.metadata[i]["id"]
            file.writelines(f"{name}\t{data.smiles[j]}\tM{j + 1:05d}\n" for j in sets[i])
    return mgf, table
