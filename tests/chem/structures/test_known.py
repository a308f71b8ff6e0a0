"""Molecules read once: the same from RDKit and from the file."""

import sqlite3

import pytest

pytest.importorskip("rdkit")

from iokr.chem import Molecule
from iokr.chem.structures import molecules
from iokr.chem.structures.known import KnownMolecules

TEXTS = ["OCC", "C[C@H](N)C(=O)[O-].[Na+]", "InChI=1S/CH4/h1H4", "C1CC", ""]


def test_cached_molecules_equal_parsed_ones(tmp_path, monkeypatch):
    cache = tmp_path / "folder" / "known.sqlite"
    first = KnownMolecules(cache)
    first.read(TEXTS)
    monkeypatch.setattr(
        "iokr.chem.structures.known.Molecule.__init__", lambda self, text: pytest.fail("it was read again")
    )
    again = KnownMolecules(cache)
    again.read(TEXTS[:3])
    for text in TEXTS[:3]:
        a, b = first[text], again[text]
        assert isinstance(b, Molecule)
        for name in ("text", "smiles", "n_fragments", "inchikey", "identity", "formula", "mass", "charge", "scaffold"):
            assert getattr(a, name) == getattr(b, name)


def test_texts_that_are_not_molecules_have_a_reason(tmp_path):
    known = KnownMolecules(tmp_path / "known.sqlite")
    known.read(TEXTS)
    for text in TEXTS[3:]:
        with pytest.raises(molecules.BadMolecule) as error:
            _ = Molecule(text).identity
        assert known[text] == str(error.value)


def test_entries_of_another_rdkit_are_not_used(tmp_path, monkeypatch):
    cache = tmp_path / "known.sqlite"
    KnownMolecules(cache).read(["CCO"])
    monkeypatch.setattr("iokr.chem.structures.known.rdkit_version", lambda: "another")
    KnownMolecules(cache).read(["CCO"])
    with sqlite3.connect(cache) as store:
        assert store.execute("SELECT COUNT(*) FROM structures").fetchone() == (2,)


def test_a_file_that_is_not_a_cache(tmp_path):
    (tmp_path / "known.sqlite").write_text("no database")
    known = KnownMolecules(tmp_path / "known.sqlite")
    with pytest.warns(UserWarning, match="Delete it if it is damaged"):
        known.read(["CCO"])
    assert known["CCO"].formula == "C2H6O"
