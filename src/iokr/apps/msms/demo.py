"""`iokr msms demo`: a library, unknowns and candidates that are made here, then all three commands on them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

__all__ = ["made_molecules", "write_demo"]

_CORES = ("c1ccc({})cc1", "c1cc({})ccn1", "c1csc({})c1", "C1CCC({})CC1", "c1cc({})oc1", "C1CCN({})CC1")
_CHAINS = ("C", "CC", "CCC", "C(=O)", "C(=O)N", "CO", "CN", "C(C)")
_ENDS = ("O", "N", "C", "C(=O)O", "Cl", "C#N", "OC", "C(=O)C")
_PROTON = 1.007276
_SEEN = 0.55  # of the peaks are measured
_NOISE = 6  # peaks of nothing


def made_molecules(n: int, seed: int = 0) -> list[str]:
    """SMILES of rings with a chain and an end, in an order that the seed gives."""
    from iokr.chem.structures.molecules import BadMolecule, Molecule

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


def _spectrum(smiles: str, rng: np.random.Generator) -> list[tuple[float, float]]:
    """A peak for each part that a broken bond leaves: toy chemistry, but the same parts give the same peaks."""
    from rdkit import Chem
    from rdkit.Chem.rdMolDescriptors import CalcExactMolWt

    mol = Chem.MolFromSmiles(smiles)
    mass = float(CalcExactMolWt(mol))
    peaks: dict[float, float] = {round(mass + _PROTON, 4): 0.6}
    for bond in mol.GetBonds():
        if bond.IsInRing() or bond.GetBondTypeAsDouble() > 2:
            continue
        for part in Chem.GetMolFrags(Chem.FragmentOnBonds(mol, [bond.GetIdx()], addDummies=False), asMols=True):
            weight = float(CalcExactMolWt(part)) + _PROTON
            if weight > 14:
                peaks[round(weight, 4)] = peaks.get(round(weight, 4), 0.0) + 0.3 + 0.1 * bond.GetBondTypeAsDouble()
                peaks[round(weight - 2 * 1.00783, 4)] = 0.15
    found = [
        (mz * (1 + 2e-6 * float(rng.normal())), height * float(rng.uniform(0.5, 1.5)))
        for mz, height in sorted(peaks.items())
        if rng.uniform() < _SEEN
    ]
    noise = zip(rng.uniform(40, mass, size=_NOISE).tolist(), rng.uniform(0.02, 0.3, size=_NOISE).tolist(), strict=True)
    return sorted([*found, *noise])


def write_demo(folder: Path, seed: int = 0, n: int = 90, unknowns: int = 12) -> dict[str, Path]:
    """library.mgf and unknowns.mgf, the candidates of both, and truth.tsv."""
    from iokr.chem.structures.molecules import Molecule

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    molecules = [Molecule(text) for text in made_molecules(n, seed)]
    formulas = [molecule.formula for molecule in molecules]
    names = ("library.mgf", "unknowns.mgf", "library_candidates.tsv", "candidates.tsv", "truth.tsv")
    paths = {name: folder / name for name in names}
    asked = rng.permutation(n)[:unknowns].tolist()
    with paths["library.mgf"].open("w") as library, paths["unknowns.mgf"].open("w") as unknown:
        for i, molecule in enumerate(molecules):
            file, known = (unknown, False) if i in asked else (library, True)
            file.write(f"BEGIN IONS\nTITLE=S{i + 1}\nPEPMASS={molecule.mass + _PROTON:.5f}\nCHARGE=1+\nADDUCT=[M+H]+\n")
            file.write(f"FORMULA={molecule.formula}\n")
            file.write(f"SMILES={molecule.smiles}\n" if known else "")
            file.writelines(f"{mz:.4f} {height:.4f}\n" for mz, height in _spectrum(molecule.smiles, rng))
            file.write("END IONS\n\n")
    tables = [paths[name].open("w") for name in ("library_candidates.tsv", "candidates.tsv", "truth.tsv")]
    with tables[0] as learned, tables[1] as asked_of, tables[2] as truth:
        for table in (learned, asked_of):
            table.write("spectrum_id\tsmiles\tcandidate_id\n")
        truth.write("spectrum_id\tsmiles\n")
        for i, molecule in enumerate(molecules):
            same = [j for j in range(n) if formulas[j] == formulas[i]]
            others = [j for j in np.argsort([abs(m.mass - molecule.mass) for m in molecules]).tolist() if j not in same]
            chosen = sorted([*same, *others[: max(0, 12 - len(same))]])
            (asked_of if i in asked else learned).writelines(
                f"S{i + 1}\t{molecules[j].smiles}\tM{j + 1}\n" for j in chosen
            )
            if i in asked:
                truth.write(f"S{i + 1}\t{molecule.smiles}\n")
    return paths
