"""Molecules that are parsed once: RDKit's SMILES, InChIKeys, formulas and masses are cached."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from iokr.chem.structures.cache import Cache
from iokr.chem.structures.molecules import BadMolecule, Molecule, rdkit_version

__all__ = ["KnownMolecules"]

_COLUMNS = ("smiles", "n_fragments", "inchikey", "formula", "mass")


class KnownMolecules:
    """Texts ↦ molecules, each parsed once; with `cache`, once for all runs.

    Parsing takes about a millisecond per molecule, the InChIKey two. Texts that are not molecules are not cached. Needs
    the extra `chem`.

    Parameters
    ----------
    cache : path, optional
        A file of SMILES, InChIKeys, formulas and masses, by text and version of RDKit.

    Examples
    --------
    >>> from iokr.chem.structures.known import KnownMolecules
    >>> known = KnownMolecules()
    >>> known["OCC"].formula, known["C1CC"]
    ('C2H6O', "'C1CC' is not a molecule: SMILES Parse Error: unclosed ring for input: 'C1CC'")
    """

    def __init__(self, cache: Any = None) -> None:
        self._cache = Cache(cache, "structures", _COLUMNS)
        self._molecules: dict[str, Molecule | str] = {}

    def __getitem__(self, text: str) -> Molecule | str:
        """The molecule, or the reason why the text is not one."""
        if text not in self._molecules:
            self.read([text])
        return self._molecules[text]

    def read(self, texts: Iterable[str]) -> None:
        """Read many molecules, from the cache where it has them."""
        new = [text for text in texts if text not in self._molecules]
        keys = {sha256(text.encode("utf-8", "surrogatepass")).hexdigest(): text for text in new}
        version = rdkit_version()
        rows = self._cache.read(list(keys), version)
        for key, values in rows.items():
            self._molecules[keys[key]] = Molecule.of(keys[key], **dict(zip(_COLUMNS, values, strict=True)))
        computed = {}
        for key, text in keys.items():
            if key not in rows:
                found = self._molecules[text] = _molecule(text)
                if isinstance(found, Molecule):
                    computed[key] = [getattr(found, name) for name in _COLUMNS]
        self._cache.write(computed, version)


def _molecule(text: str) -> Molecule | str:
    try:
        molecule = Molecule(text)
        for name in _COLUMNS:
            getattr(molecule, name)
    except BadMolecule as error:
        return str(error)
    molecule.__dict__.pop("mol", None)  # RDKit's molecule is large, and is made again when it is needed
    return molecule
