"""Simulated spectra: a library, unknown spectra, the candidates of both, and the truth."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from iokr.chem.spectra import MassSpectra, MassSpectrum, read_spectra
from iokr.chem.structures.molecules import BadMolecule, Molecule, bond_fragments

__all__ = ["MadeSpectra", "made_molecules", "make_spectra", "write_demo"]

_CORES = ("c1ccc({})cc1", "c1cc({})ccn1", "c1csc({})c1", "C1CCC({})CC1", "c1cc({})oc1", "C1CCN({})CC1")
_CHAINS = ("C", "CC", "CCC", "C(=O)", "C(=O)N", "CO", "CN", "C(C)")
_ENDS = ("O", "N", "C", "C(=O)O", "Cl", "C#N", "OC", "C(=O)C")
_PROTON = 1.007276  # u
_H2 = 2 * 1.00783  # u
_SMALLEST_PART = 14.0  # u
_MEASURED = 0.55  # fraction of the peaks
_MASS_ERROR = 2e-6  # relative standard deviation
_NOISE = 6  # random peaks in each spectrum
_CANDIDATES = 12  # of each spectrum at least


@dataclass(frozen=True, eq=False)
class MadeSpectra:
    """Toy data for `train`, `identify` and `evaluate`; made by `make_spectra`.

    Attributes
    ----------
    library, unknowns : MassSpectra
        Spectra with and without structures.
    library_candidates, candidates : data frame
        Candidates of the library and of the unknown spectra.
    truth : data frame
        The molecules of the unknown spectra.
    """

    library: MassSpectra
    library_candidates: pd.DataFrame
    unknowns: MassSpectra
    candidates: pd.DataFrame
    truth: pd.DataFrame


def made_molecules(n: int, seed: int = 0) -> list[str]:
    """SMILES of rings with a chain and an end group, in an order given by the seed."""
    texts = [core.format(chain + end) for core, chain, end in itertools.product(_CORES, _CHAINS, _ENDS)]
    np.random.default_rng(seed).shuffle(texts)
    found: dict[str, str] = {}
    for text in texts:
        try:
            molecule = Molecule(text)
        except BadMolecule:
            continue
        found.setdefault(molecule.identity, molecule.smiles)
        if len(found) == n:
            break
    return list(found.values())


def make_spectra(n: int = 90, unknowns: int = 12, seed: int = 0) -> MadeSpectra:
    """Simulate spectra of n molecules: a peak for each part that a broken bond leaves, with noise.

    Parameters
    ----------
    n : int, default=90
        Number of molecules, each with one spectrum.
    unknowns : int, default=12
        Number of spectra whose molecules are unknown; all others are the library.
    seed : int, default=0

    Examples
    --------
    >>> from iokr.apps import msms
    >>> made = msms.make_spectra(20, unknowns=3)
    >>> len(made.library), len(made.unknowns), made.truth.columns.tolist()
    (17, 3, ['spectrum_id', 'smiles'])
    """
    rng = np.random.default_rng(seed)
    molecules = [Molecule(text) for text in made_molecules(n, seed)]
    unknown = set(rng.permutation(n)[:unknowns].tolist())
    spectra = [_spectrum(molecule, f"S{i + 1}", rng, known=i not in unknown) for i, molecule in enumerate(molecules)]
    rows: dict[bool, list[dict[str, str]]] = {False: [], True: []}  # of the library, and of the unknown spectra
    for i in range(n):
        rows[i in unknown] += [
            {"spectrum_id": f"S{i + 1}", "smiles": molecules[j].smiles, "candidate_id": f"M{j + 1}"}
            for j in _candidates(molecules, i)
        ]
    truth = [{"spectrum_id": f"S{i + 1}", "smiles": molecules[i].smiles} for i in sorted(unknown)]
    return MadeSpectra(
        library=read_spectra([spectrum for i, spectrum in enumerate(spectra) if i not in unknown]),
        library_candidates=pd.DataFrame(rows[False]),
        unknowns=read_spectra([spectrum for i, spectrum in enumerate(spectra) if i in unknown]),
        candidates=pd.DataFrame(rows[True]),
        truth=pd.DataFrame(truth, columns=["spectrum_id", "smiles"]),
    )


def _spectrum(molecule: Molecule, name: str, rng: np.random.Generator, *, known: bool) -> MassSpectrum:
    """A spectrum of [M+H]+: toy chemistry, but the same parts give the same peaks."""
    peaks: dict[float, float] = {round(molecule.mass + _PROTON, 4): 0.6}
    for mass, order in bond_fragments(molecule):
        mz = mass + _PROTON
        if mz > _SMALLEST_PART:
            peaks[round(mz, 4)] = peaks.get(round(mz, 4), 0.0) + 0.3 + 0.1 * order
            peaks[round(mz - _H2, 4)] = 0.15
    measured = [
        (mz * (1 + _MASS_ERROR * float(rng.normal())), height * float(rng.uniform(0.5, 1.5)))
        for mz, height in sorted(peaks.items())
        if rng.uniform() < _MEASURED
    ]
    noise_mz = rng.uniform(40, molecule.mass, size=_NOISE).tolist()
    noise = zip(noise_mz, rng.uniform(0.02, 0.3, size=_NOISE).tolist(), strict=True)
    places, heights = zip(*sorted([*measured, *noise]), strict=True)
    metadata = {"id": name, "charge": "1+", "adduct": "[M+H]+", "formula": molecule.formula}
    if known:
        metadata["smiles"] = molecule.smiles
    return MassSpectrum(places, heights, molecule.mass + _PROTON, metadata)


def _candidates(molecules: list[Molecule], i: int) -> list[int]:
    """Molecules of the same formula, and of the nearest masses where these are few."""
    same = [j for j, molecule in enumerate(molecules) if molecule.formula == molecules[i].formula]
    nearest = np.argsort([abs(molecule.mass - molecules[i].mass) for molecule in molecules]).tolist()
    others = [j for j in nearest if j not in same]
    return sorted([*same, *others[: max(0, _CANDIDATES - len(same))]])


def write_demo(folder: Path, seed: int = 0, n: int = 90, unknowns: int = 12) -> dict[str, Path]:
    """Write simulated spectra to library.mgf and unknowns.mgf, their candidates and truth.tsv; the paths by name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps import msms
    >>> with TemporaryDirectory() as folder:
    ...     list(msms.write_demo(Path(folder), n=6, unknowns=1))
    ['library.mgf', 'unknowns.mgf', 'library_candidates.tsv', 'candidates.tsv', 'truth.tsv']
    """
    made = make_spectra(n, unknowns, seed)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "library.mgf": _mgf(made.library),
        "unknowns.mgf": _mgf(made.unknowns),
        "library_candidates.tsv": _tsv(made.library_candidates),
        "candidates.tsv": _tsv(made.candidates),
        "truth.tsv": _tsv(made.truth),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: folder / name for name in texts}


def _mgf(spectra: MassSpectra) -> str:
    lines = []
    for spectrum in spectra:
        known = spectrum.metadata
        lines += ["BEGIN IONS", f"TITLE={known['id']}", f"PEPMASS={spectrum.precursor_mz:.5f}"]
        lines += [f"CHARGE={known['charge']}", f"ADDUCT={known['adduct']}", f"FORMULA={known['formula']}"]
        if "smiles" in known:
            lines.append(f"SMILES={known['smiles']}")
        lines += [f"{mz:.4f} {height:.4f}" for mz, height in zip(spectrum.mz, spectrum.intensity, strict=True)]
        lines += ["END IONS", ""]
    return "\n".join([*lines, ""])


def _tsv(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(sep="\t", index=False, lineterminator="\n"))
