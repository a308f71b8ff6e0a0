"""Molecules: structures of one compound are equal, and other texts have a reason why they are not molecules."""

import logging
import pickle

import pytest

pytest.importorskip("rdkit")

from iokr.chem import BadMolecule, Molecule
from iokr.chem.structures.molecules import rdkit_version


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"),  # stereoisomers
        ("CC(=O)O", "CC(=O)[O-]"),  # charge states of one acid
        ("Oc1ccccn1", "O=c1cccc[nH]1"),  # mobile hydrogens
        ("CC(=O)[O-].[Na+]", "CC(=O)O"),  # a salt, in its largest fragment
        ("[13CH3]C(=O)O", "CC(=O)O"),
        ("InChI=1S/C2H4O2/c1-2(3)4/h1H3,(H,3,4)", "CC(=O)O"),
        ("C/C=C/C", "C/C=C\\C"),
    ],
)
def test_equal(one, other):
    assert Molecule(one) == Molecule(other) and len({Molecule(one), Molecule(other)}) == 1


def test_not_equal():
    assert Molecule("CC(=O)C") != Molecule("C=C(O)C")  # keto and enol
    assert Molecule("CCO") != "CCO"


def test_attributes():
    betaine = Molecule("C[N+](C)(C)CC(=O)O.[Cl-]")
    assert betaine.formula == "C5H12NO2" and betaine.charge == 1 and betaine.n_fragments == 2
    assert betaine.mass == pytest.approx(118.0863, abs=1e-4)
    assert betaine.inchikey.startswith(betaine.identity) and len(betaine.identity) == 14
    assert Molecule("c1ccccc1CCO").scaffold == "c1ccccc1" and Molecule("CCO").scaffold == ""
    assert Molecule("[2H]OC").smiles == "CO"
    assert pickle.loads(pickle.dumps(betaine)) == betaine
    from rdkit import Chem

    assert Molecule(Chem.MolFromSmiles("OCC")).smiles == "CCO"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("C1CC", "unclosed ring"),
        ("CN(C)(C)(C)C", "valence"),
        ("c1cc1", "kekulize"),
        ("molecule", "syntax error"),
        ("*CC", "dummy atoms"),
        ("[R1]CC", "is not a molecule"),
        ("O", "no carbon"),
        ("[Na+].[Cl-]", "no carbon"),
        ("InChI=1S/none", "is not a molecule"),
    ],
)
def test_errors_have_the_reason_of_rdkit(text, reason, capfd):
    with pytest.raises(BadMolecule, match=reason):
        Molecule(text)
    assert capfd.readouterr() == ("", "")


def test_rdkits_logs_are_as_before():
    from rdkit import Chem, rdBase

    before = rdBase.LogStatus(), logging.getLogger("rdkit").handlers[:]
    with pytest.raises(BadMolecule):
        Molecule("C1CC")
    assert rdBase.LogStatus() == before[0]
    assert Chem.MolFromSmiles("CC") is not None


def test_other_types():
    with pytest.raises(TypeError, match="SMILES"):
        Molecule(3)
    assert rdkit_version()
