"""Molecules as labelled graphs, and graphs as molecules."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr.chem.structures.molecules import BadMolecule, import_rdkit, quiet
from iokr.data.graphs import graphs

__all__ = ["graph_smiles", "molecule_graph"]

_BONDS = {"SINGLE": "-", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":"}


def molecule_graph(smiles: str) -> tuple[np.ndarray, list[str], np.ndarray]:
    """(adjacency, labels, edge labels) of a molecule: atoms by their elements, bonds by their orders; no hydrogens.

    The graph kernels and decoders take such triples. Bonds are ``-``, ``=``, ``#``, ``:`` (aromatic), others as named
    by RDKit. All fragments are included, and atoms of impossible valence are accepted. Needs the extra `chem`.

    Parameters
    ----------
    smiles : str

    Returns
    -------
    adjacency : ndarray of shape (N, N)
    labels : list of str
    edge_labels : ndarray of shape (N, N)
        Empty strings where there is no bond.

    Examples
    --------
    >>> from iokr.chem import molecule_graph
    >>> adjacency, labels, bonds = molecule_graph("CC=O")
    >>> labels, bonds[1].tolist()
    (['C', 'C', 'O'], ['-', '', '='])
    """
    Chem = import_rdkit()
    if not isinstance(smiles, str):
        raise TypeError(f"`smiles` must be a string, got {smiles!r:.60}.")
    if not smiles.isascii():
        raise BadMolecule(f"`smiles` must be a molecule, got {smiles!r:.60}.")
    with quiet():
        mol = Chem.MolFromSmiles(smiles.strip())
        if mol is None:
            mol = Chem.MolFromSmiles(smiles.strip(), sanitize=False)
            if mol is not None:  # without checks of valences; aromatic bonds stay as written
                steps = Chem.SANITIZE_ALL ^ Chem.SANITIZE_PROPERTIES ^ Chem.SANITIZE_KEKULIZE
                Chem.SanitizeMol(mol, steps, catchErrors=True)
    if mol is None or mol.GetNumAtoms() == 0:
        raise BadMolecule(f"`smiles` must be a molecule, got {smiles!r:.60}.")
    adjacency = Chem.GetAdjacencyMatrix(mol).astype(np.int64)
    bonds = np.full(adjacency.shape, "", dtype="U12")
    for bond in mol.GetBonds():
        a = bond.GetBeginAtomIdx()
        b = bond.GetEndAtomIdx()
        order = str(bond.GetBondType())
        bonds[a, b] = bonds[b, a] = _BONDS.get(order, order)
    return adjacency, [atom.GetSymbol() for atom in mol.GetAtoms()], bonds


def graph_smiles(graph: Any) -> str:
    """The SMILES of a graph of atoms and bonds; `BadMolecule` if there is none.

    Parameters
    ----------
    graph : graph, as the graph kernels take it
        Nodes are labelled with elements, edges with ``-``, ``=``, ``#`` or ``:``; without labels all bonds are single.

    Examples
    --------
    >>> from iokr.chem import graph_smiles, molecule_graph
    >>> graph_smiles(molecule_graph("O=CC"))
    'CC=O'
    """
    Chem = import_rdkit()
    [parsed] = graphs([graph], "label")
    orders = {sign: getattr(Chem.BondType, name) for name, sign in _BONDS.items()}
    mol = Chem.RWMol()
    for label in parsed.labels:
        try:
            mol.AddAtom(Chem.Atom(str(label)))
        except RuntimeError:
            raise BadMolecule(f"{label!r:.40} is not an element.") from None
    ends = np.repeat(np.arange(len(parsed)), np.diff(parsed.starts)).tolist()
    kinds = parsed.edges or ["-"] * len(ends)
    for a, b, kind in zip(ends, parsed.indices.tolist(), kinds, strict=True):
        if a < b:  # edges are listed from both ends
            if kind not in orders:
                raise BadMolecule(f"{kind!r:.40} is not a bond; bonds are {', '.join(orders)}.")
            mol.AddBond(a, b, orders[kind])
            if kind == ":":
                for atom in (a, b):
                    mol.GetAtomWithIdx(atom).SetIsAromatic(True)
                mol.GetBondBetweenAtoms(a, b).SetIsAromatic(True)
    try:
        with quiet():
            Chem.SanitizeMol(mol)
            return str(Chem.MolToSmiles(mol))
    except ValueError as error:
        raise BadMolecule(f"There is no molecule with these atoms and bonds: {str(error).splitlines()[0]}") from None
