"""QM9 is read from a gzipped table of one column."""

import gzip

import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import load_qm9


def test_molecules_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    with pytest.raises(DataNotFound):
        load_qm9()
    (tmp_path / "qm9").mkdir()
    for text, expected in [("smiles\nC\nCC#N\n\n", ["C", "CC#N"]), ("name\nC\n", None)]:
        with gzip.open(tmp_path / "qm9" / "qm9_smiles.csv.gz", "wt") as file:
            file.write(text)
        if expected is None:
            with pytest.raises(ValueError, match="the first line must be 'smiles'"):
                load_qm9()
        else:
            assert load_qm9().tolist() == expected
