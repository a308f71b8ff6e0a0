"""Molecules that were read before: a text is parsed and named by RDKit once, and kept in a file for the next run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from iokr.chem.structures.molecules import BadMolecule, Molecule, rdkit_version

__all__ = ["KnownMolecules"]

_MANY = 500  # of SQLite's parameters in one question
_COLUMNS = ("smiles", "n_fragments", "inchikey", "formula", "mass")


class KnownMolecules:
    """Texts ↦ molecules, each read once; with `cache`, once for ever.

    Parsing takes a millisecond a molecule and the InChIKey two. A text that is no molecule is read anew each time.
    Needs the extra `chem`.

    Parameters
    ----------
    cache : path, optional
        A file in which SMILES, InChIKeys, formulas and masses are kept, by text and RDKit's version.

    Examples
    --------
    >>> from iokr.chem.structures.known import KnownMolecules
    >>> known = KnownMolecules()
    >>> known["OCC"].formula, "open ring" in known, known["C1CC"]
    ('C2H6O', False, "'C1CC' is no molecule: SMILES Parse Error: unclosed ring for input: 'C1CC'")
    """

    def __init__(self, cache: Any = None) -> None:
        self.cache = cache
        self._read: dict[str, Molecule | str] = {}

    def __contains__(self, text: object) -> bool:
        return text in self._read

    def __getitem__(self, text: str) -> Molecule | str:
        """The molecule, or why there is none."""
        if text not in self._read:
            self.read([text])
        return self._read[text]

    def read(self, texts: Iterable[str]) -> None:
        """Read many at once: those of the file in few questions, the others by RDKit."""
        wanted = [text for text in dict.fromkeys(texts) if text not in self._read]
        if not wanted:
            return
        if self.cache is None:
            self._read |= {text: _molecule(text) for text in wanted}
            return
        keys = {_key(text): text for text in wanted}
        Path(self.cache).parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as store:
            for row in self._kept(store, list(keys)):
                self._read[keys[row[0]]] = Molecule.of(keys[row[0]], **dict(zip(_COLUMNS, row[1:], strict=True)))
            new = {key: _molecule(text) for key, text in keys.items() if text not in self._read}
            self._read |= {keys[key]: molecule for key, molecule in new.items()}
            version = rdkit_version()
            rows = [
                (key, version, *(getattr(found, name) for name in _COLUMNS))
                for key, found in new.items()
                if isinstance(found, Molecule)
            ]
            with store:
                store.executemany("INSERT OR REPLACE INTO molecules VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def _kept(self, store: sqlite3.Connection, keys: list[str]) -> Iterable[tuple[Any, ...]]:
        for start in range(0, len(keys), _MANY):
            some = keys[start : start + _MANY]
            marks = ",".join("?" * len(some))
            yield from store.execute(
                f"SELECT text, {', '.join(_COLUMNS)} FROM molecules WHERE rdkit = ? AND text IN ({marks})",
                [rdkit_version(), *some],
            )

    def _connected(self) -> closing[sqlite3.Connection]:
        try:
            store = sqlite3.connect(self.cache, timeout=60.0)
            store.execute(
                "CREATE TABLE IF NOT EXISTS molecules (text TEXT, rdkit TEXT, smiles TEXT, n_fragments INTEGER,"
                " inchikey TEXT, formula TEXT, mass REAL, PRIMARY KEY (text, rdkit))"
            )
        except sqlite3.Error as error:
            raise ValueError(f"{self.cache} cannot be used as a cache of molecules ({error}); delete it.") from None
        return closing(store)


def _key(text: str) -> str:
    """Short, as the text may be a block of an SDF file."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _molecule(text: str) -> Molecule | str:
    try:
        molecule = Molecule(text)
        for name in _COLUMNS:
            getattr(molecule, name)
    except BadMolecule as error:
        return str(error)
    molecule.__dict__.pop("mol", None)  # RDKit's own is large, and made again when it is asked for
    return molecule
