"""Structures of a library, sets of candidates, databases."""

import gzip
import json

import numpy as np
import pytest

pytest.importorskip("rdkit")

from iokr.apps.readers import read_candidates, read_database, read_spectra_files, read_structures
from iokr.chem import Molecule

PEAKS = "45.03 10\n43.01 5\n47.04 100\n"


def library(folder, *headers):
    text = "".join(
        f"BEGIN IONS\nTITLE=s{i}\n{'' if 'PEPMASS' in h else 'PEPMASS=47.0491'}\n{h}\n{PEAKS}END IONS\n"
        for i, h in enumerate(headers)
    )
    path = folder / "lib.mgf"
    path.write_text(text)
    return read_spectra_files(path)


@pytest.mark.parametrize(
    ("header", "reason", "action"),
    [
        ("SMILES=CCO\nADDUCT=[M+H]+", None, None),
        ("INCHI=InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3", None, None),
        ("", "structure missing", "left out"),
        ("INCHIKEY=LFQSCWFLJHTTHZ-UHFFFAOYSA-N", "structure missing", "left out"),
        ("SMILES=C1CC", "structure not read", "left out"),
        ("SMILES=*CC", "structure not read", "left out"),
        ("SMILES=O", "structure not read", "left out"),
        ("SMILES=CCO\nINCHIKEY=LFQSCWFLJHTTHZ-UHFFFAOYSA-N", None, None),
        ("SMILES=CCO\nINCHIKEY=AAAAAAAAAAAAAA-UHFFFAOYSA-N", "InChIKey disagrees", "kept"),
        ("SMILES=CCO.Cl", "several fragments", "kept the largest"),
        ("SMILES=CCC\nADDUCT=[M+H]+", "precursor disagrees", "kept"),
        ("SMILES=CCC\nADDUCT=[M+?]+", None, None),
        ("SMILES=C[N+](C)(C)C\nADDUCT=[M]+\nPEPMASS=74.09643", None, None),
    ],
)
def test_structures(tmp_path, header, reason, action):
    found, molecules = read_structures(library(tmp_path, header, "SMILES=CCO"))
    assert len(molecules) == len(found.spectra) == (1 if action == "left out" else 2)
    assert [(r.id, r.reason, r.action) for r in found.rejections] == ([("s0", reason, action)] if reason else [])
    left_out = [r for r in found.rejections if r.action == "left out"]
    assert found.n_read == len(found.spectra) + len(left_out)


def test_reasons_are_rdkits(tmp_path):
    found, _ = read_structures(library(tmp_path, "SMILES=C1CC"))
    assert "unclosed ring" in found.rejections[0].detail


# ------------------------------------------------------------------------------------------------------ candidate sets


def test_candidates_of_a_table(tmp_path):
    spectra = library(tmp_path, "SMILES=CCO", "SMILES=CC")
    path = tmp_path / "cands.tsv"
    head = "spectrum_id\tsmiles\tcandidate_id\tname\n"
    path.write_text(head + "s0\tCCO\tc1\tethanol\ns0\tCOC\tc2\t\nzz\tC\t\t\nzz\tN\t\t\n")
    found = read_candidates(path, spectra)
    candidates = [(c.smiles, c.id, c.name, c.line) for c in found.sets["s0"]]
    assert candidates == [("CCO", "c1", "ethanol", 2), ("COC", "c2", "", 3)]
    (row,) = found.rejections
    assert (row.line, row.id, row.reason, row.detail) == (4, "zz", "no such spectrum", "2 candidates")


def test_candidates_of_json(tmp_path):
    spectra = library(tmp_path, "SMILES=CCO", "SMILES=CCO", "SMILES=CC")
    path = tmp_path / "cands.json"
    path.write_text(json.dumps({"CCO": ["CCO", "COC"], "s2": ["CC"], "other": []}))
    found = read_candidates(path, spectra)
    assert {name: [c.smiles for c in rows] for name, rows in found.sets.items()} == {
        "s0": ["CCO", "COC"],
        "s1": ["CCO", "COC"],
        "s2": ["CC"],
    }
    assert [r.id for r in found.rejections] == ["other"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("cands.tsv", "id\tname\n1\ta\n", "cands.tsv: needs a column spectrum_id; it has id, name."),
        ("cands.tsv", "spectrum_id\tname\n1\ta\n", "cands.tsv: needs a column smiles; it has name, spectrum_id."),
        (
            "cands.tsv",
            "spectrum_id\tsmiles\nF1\tC\nF2\tC\n",
            "cands.tsv: none of its 2 spectrum ids is in lib.mgf (first: F1; ids of the spectra: s0).",
        ),
        ("cands.json", "[1, 2]", "cands.json: expected an object of lists of SMILES"),
        ("cands.json", '{"a": "CC"}', "cands.json: expected an object of lists of SMILES"),
        ("cands.json", "{", "cands.json is not JSON"),
        ("cands.json", "[" * 100_000, "cands.json is not JSON"),
    ],
)
def test_fatal(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError) as error:
        read_candidates(path, library(tmp_path, "SMILES=CCO"))
    assert message in str(error.value)


# ----------------------------------------------------------------------------------------------------------- databases


def check(table):
    assert [c.smiles for c in table.candidates] == ["CC", "CCO", "COC", "c1ccccc1"]
    np.testing.assert_allclose(table.masses, [30.04695, 46.041865, 46.041865, 78.04695], atol=1e-5)
    assert [table.candidates[i].smiles for i in table.near(46.0419, 10)] == ["CCO", "COC"]
    assert [table.candidates[i].smiles for i in table.of_formula("OH6C2")] == ["CCO", "COC"]
    assert len(table.near(100.0)) == 0 and len(table.of_formula("C9H20")) == 0
    assert [r.reason for r in table.rejections] == ["structure not read"]


@pytest.mark.parametrize("name", ["db.tsv", "db.csv", "db.csv.gz"])
def test_tables(tmp_path, name):
    text = "id,SMILES,name\n1,OCC,ethanol\n2,C1CC,\n3,CC,\n4,COC,ether\n5,c1ccccc1,\n"
    text = text.replace(",", "\t") if name == "db.tsv" else text
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    table = read_database(tmp_path / name)
    check(table)
    assert table.candidates[1].id == "1" and table.candidates[1].name == "ethanol" and table.rejections[0].line == 3


def test_parquet_with_inchi(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    pd.DataFrame({"inchi": ["InChI=1S/CH4/h1H4"]}).to_parquet(tmp_path / "db.parquet")
    assert read_database(tmp_path / "db.parquet").candidates[0].smiles == "C"


def test_smi(tmp_path):
    path = tmp_path / "db.smi"
    path.write_text("# molecules\nOCC ethanol\nC1CC\nCC\nCOC\tmethyl ether\nc1ccccc1\n")
    table = read_database(path)
    check(table)
    assert {c.id for c in table.candidates} >= {"ethanol", "methyl ether"}


@pytest.mark.parametrize("suffix", [".sdf", ".sdf.gz"])
def test_sdf(tmp_path, suffix):
    from rdkit import Chem

    def block(smiles, name):
        mol = Chem.MolFromSmiles(smiles)
        mol.SetProp("_Name", name)
        return Chem.MolToMolBlock(mol)

    parts = [block(s, s) for s in ("OCC", "CC", "COC")] + ["broken\n\n\n  x\nM  END\n", block("c1ccccc1", "benzene")]
    text = "$$$$\n".join(f"{part}> <NOTE>\nx\n\n" for part in parts)
    (tmp_path / f"db{suffix}").write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    table = read_database(tmp_path / f"db{suffix}")
    check(table)
    assert table.candidates[3].name == "benzene" and table.rejections[0].id == "broken"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("db.tsv", "id\tname\n1\ta\n", "db.tsv: needs a column smiles, canonical_smiles or inchi; it has id, name."),
        ("db.smi", "C1CC\n", "db.smi: no molecule found in 1 entries;"),
        ("db.smi", "", "db.smi: no molecule found in 0 entries;"),
        ("db.sdf", "", "db.sdf: no molecule found; is it an SDF file?"),
        ("db.mol2", "", "db.mol2: unknown format"),
    ],
)
def test_invalid_databases(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError) as error:
        read_database(tmp_path / name)
    assert words in str(error.value)


def test_candidates_and_databases_in_memory():
    import pandas as pd
    from rdkit import Chem

    spectra = read_spectra_files([([50.0, 60.0, 70.0], [1.0, 2.0, 3.0], 80.0)])
    frame = pd.DataFrame({"Spectrum_ID": ["1", "1"], "SMILES": ["CCO", Chem.MolFromSmiles("OCC")], "name": ["x", None]})
    for source in (frame, {"1": ["CCO", Molecule("CCO")]}, [["CCO", Chem.MolFromSmiles("CCO")]]):
        (candidates,) = read_candidates(source, spectra).sets.values()
        assert [candidate.smiles for candidate in candidates] == ["CCO", "CCO"]
    with pytest.raises(ValueError, match="`candidates` has 2 lists for 1 spectra"):
        read_candidates([["CCO"], ["C"]], spectra)
    for base in (["CCO", Chem.MolFromSmiles("CC")], pd.DataFrame({"smiles": ["CCO", "CC"]})):
        assert read_database(base).formulas.tolist() == ["C2H6", "C2H6O"]
