"""The parts of a molecule that a broken bond leaves."""

from __future__ import annotations

from collections.abc import Iterator

from iokr.chem.structures.molecules import Molecule

__all__ = ["bond_fragments"]


def bond_fragments(molecule: Molecule) -> Iterator[tuple[float, float]]:
    """(exact mass, order of the broken bond) of both parts, for each single or double bond outside rings.

    >>> from iokr.chem import Molecule
    >>> from iokr.chem.structures.fragments import bond_fragments
    >>> [(round(mass, 3), order) for mass, order in bond_fragments(Molecule("CO"))]
    [(16.031, 1.0), (18.011, 1.0)]
    """
    from rdkit import Chem
    from rdkit.Chem.rdMolDescriptors import CalcExactMolWt

    mol = molecule.mol
    for bond in mol.GetBonds():
        order = float(bond.GetBondTypeAsDouble())
        if bond.IsInRing() or order > 2:
            continue
        parts = Chem.FragmentOnBonds(mol, [bond.GetIdx()], addDummies=False)
        for part in Chem.GetMolFrags(parts, asMols=True):
            yield float(CalcExactMolWt(part)), order
