"""Molecules by RDKit: the largest fragment of a structure, identified by the first block of its InChIKey."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from logging import getLogger
from logging.handlers import BufferingHandler
from typing import Any

from iokr._state import Stateful

__all__ = ["BadMolecule", "Molecule", "bond_fragments", "import_rdkit", "quiet", "rdkit_version", "structure_text"]


class BadMolecule(ValueError):
    """A text that is not a molecule, or not a usable one; the message has the reason.

    Examples
    --------
    >>> from iokr.chem import BadMolecule
    >>> issubclass(BadMolecule, ValueError)
    True
    """


class Molecule(Stateful):
    """A molecule from SMILES or InChI: its largest fragment, without isotopes and stereochemistry.

    Molecules are equal if the first blocks of their InChIKeys are equal, which does not distinguish stereoisomers,
    charge states of an acid and tautomers. Needs the extra `chem`.

    Parameters
    ----------
    text : str or RDKit molecule
        SMILES, InChI (it begins with ``InChI=``), or the block of a molecule in an SDF file.

    Attributes
    ----------
    text : str
        The structure as given.
    smiles : str
        Canonical, of the largest fragment, without isotopes and stereochemistry.
    n_fragments : int
        Number of fragments of the structure.

    Examples
    --------
    >>> from iokr.chem import Molecule
    >>> salt = Molecule("C[C@H](N)C(=O)[O-].[Na+]")
    >>> salt.smiles, salt.n_fragments
    ('CC(N)C(=O)[O-]', 2)
    >>> salt == Molecule("CC(N)C(=O)O"), salt.identity
    (True, 'QNAYBMKLOCPYGJ')
    """

    def __init__(self, text: Any) -> None:
        Chem = import_rdkit()
        if isinstance(text, Chem.Mol):
            self.text: str = Chem.MolToSmiles(text)
            mol = Chem.Mol(text)
        elif isinstance(text, str):
            self.text = text if "\n" in text else text.strip()  # the block of an SDF file may begin with an empty line
            mol = _parse(self.text)
        else:
            raise TypeError(f"A molecule must be SMILES, InChI or an RDKit molecule, got {text!r:.60}.")
        with quiet():
            parts = Chem.GetMolFrags(mol, asMols=True, sanitizeFrags=False)
            self.n_fragments = len(parts)
            if not parts:
                raise BadMolecule("the molecule is empty.")
            mol = max(parts, key=lambda part: (part.GetNumHeavyAtoms(), part.GetNumAtoms(), Chem.MolToSmiles(part)))
            numbers = {atom.GetAtomicNum() for atom in mol.GetAtoms()}
            if 0 in numbers:
                raise BadMolecule(f"{self.text!r:.80} has dummy atoms (*).")
            if 6 not in numbers:
                raise BadMolecule(f"{self.text!r:.80} has no carbon.")
            for atom in mol.GetAtoms():
                atom.SetIsotope(0)
            Chem.RemoveStereochemistry(mol)
            try:
                Chem.SanitizeMol(mol)
                self.smiles = Chem.MolToSmiles(Chem.RemoveHs(mol))
            except ValueError as error:
                raise BadMolecule(f"{self.text!r:.80}: {str(error).splitlines()[0]}") from None

    @classmethod
    def of(cls, text: str, smiles: str, **known: Any) -> Molecule:
        """A molecule that was parsed before, from its canonical SMILES and further attributes by name."""
        molecule = cls.__new__(cls)
        molecule.__dict__.update(known, text=text, smiles=smiles)
        return molecule

    @cached_property
    def mol(self) -> Any:
        """The RDKit molecule of `smiles`."""
        with quiet():
            return import_rdkit().MolFromSmiles(self.smiles)

    @cached_property
    def inchikey(self) -> str:
        """The standard InChIKey."""
        with quiet():
            key: str = import_rdkit().MolToInchiKey(self.mol)
        if not key:
            raise BadMolecule(f"{self.text!r:.80} has no InChIKey.")
        return key

    @property
    def identity(self) -> str:
        """The first block of the InChIKey, 14 letters."""
        return self.inchikey[:14]

    @cached_property
    def formula(self) -> str:
        """The sum formula, without the charge."""
        from rdkit.Chem.rdMolDescriptors import CalcMolFormula

        return str(CalcMolFormula(self.mol)).partition("+")[0].partition("-")[0]

    @cached_property
    def mass(self) -> float:
        """The exact mass, in u."""
        from rdkit.Chem.rdMolDescriptors import CalcExactMolWt

        return float(CalcExactMolWt(self.mol))

    @property
    def charge(self) -> int:
        """The charge of the largest fragment."""
        return int(import_rdkit().GetFormalCharge(self.mol))

    @cached_property
    def scaffold(self) -> str:
        """The SMILES of the Murcko scaffold, the rings and their linkers; empty for an acyclic molecule."""
        from rdkit.Chem.Scaffolds import MurckoScaffold

        with quiet():
            core = MurckoScaffold.GetScaffoldForMol(self.mol)  # type: ignore[no-untyped-call]  # RDKit is untyped here
            return str(import_rdkit().MolToSmiles(core))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Molecule):
            return NotImplemented
        return self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def state(self) -> dict[str, Any]:
        return {"text": self.text}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Molecule:
        return cls(state["text"])

    def __reduce__(self) -> Any:
        return Molecule, (self.text,)

    def __repr__(self) -> str:
        return f"Molecule({self.smiles!r})"


def structure_text(structure: Any) -> str:
    """The text of a structure: a text itself, of a `Molecule` what it was made from, of an RDKit molecule its SMILES.

    >>> from iokr.chem.structures.molecules import Molecule, structure_text
    >>> structure_text("OCC"), structure_text(Molecule("OCC"))
    ('OCC', 'OCC')
    """
    if isinstance(structure, str):
        return structure
    if isinstance(structure, Molecule):
        return structure.text
    try:
        return Molecule(structure).text
    except TypeError:  # a number in a table: its text gets a reason where it is parsed
        return str(structure)


def bond_fragments(molecule: Molecule) -> Iterator[tuple[float, float]]:
    """(exact mass, order of the broken bond) of both parts, for each single or double bond outside rings.

    >>> from iokr.chem.structures.molecules import Molecule, bond_fragments
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


def rdkit_version() -> str:
    """The version of RDKit; fingerprints depend on it."""
    import_rdkit()
    from rdkit import rdBase

    return str(rdBase.rdkitVersion)


def import_rdkit() -> Any:
    """`rdkit.Chem`; an error says how to install it."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise ImportError("Molecules need RDKit, the extra `chem`: pip install 'iokr[chem]'") from error
    return Chem


def _parse(text: str) -> Any:
    """An RDKit molecule; `BadMolecule` with RDKit's reason if there is none."""
    Chem = import_rdkit()
    if not text:
        raise BadMolecule("the structure is empty.")
    if not text.replace("\t", " ").isprintable() and "M  END" not in text:  # RDKit would stop at the end of a line
        raise BadMolecule(f"{text!a:.80} is not a molecule: it has several lines or control characters.")
    read = Chem.MolFromInchi if text.startswith("InChI=") else Chem.MolFromSmiles
    if "M  END" in text:
        read = Chem.MolFromMolBlock
    with quiet():
        mol = read(text)
    if mol is None:
        messages = [line.partition("] ")[2].strip() for line in _printed(read, text)]
        reason = next((line for line in messages if line and line != "ERROR:"), "it cannot be parsed.")
        raise BadMolecule(f"{text!r:.80} is not a molecule: {reason}")
    return mol


def quiet() -> Any:
    """A context in which RDKit prints nothing."""
    import_rdkit()
    from rdkit import rdBase

    return rdBase.BlockLogs()


def _printed(read: Callable[[str], Any], text: str) -> list[str]:
    """The messages that RDKit would print when it reads a text."""
    from rdkit import rdBase

    collector = BufferingHandler(capacity=sys.maxsize)
    logger = getLogger("rdkit")
    before = logger.handlers[:]
    rdBase.LogToPythonLogger()
    own = [handler for handler in logger.handlers if handler not in before]
    logger.handlers = [collector]
    try:
        read(text)
    finally:
        logger.handlers = [*before, *own]
        rdBase.LogToCppStreams()
    return [record.getMessage() for record in collector.buffer]
