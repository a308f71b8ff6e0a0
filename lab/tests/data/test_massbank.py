"""The loader of MassBank's spectra, on small files of the same form and on the real ones where they are."""

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import load_massbank_msms, write_massbank_files


def write(folder, **changes):
    rng = np.random.default_rng(0)
    home = folder / "massbank_msms"
    home.mkdir()
    spectra = {
        "indptr": np.array([0, 2, 5]),
        "mz": np.array([50.0, 60.0, 40.0, 45.0, 70.0], dtype=np.float32),
        "intensity": np.array([1.0, 0.5, 0.2, 1.0, 0.3], dtype=np.float32),
        "precursor_mz": np.array([90.0, 80.0]),
        "inchikey14": np.array(["A" * 14, "B" * 14]),
        "n_merged": np.array([1, 2]),
        "casmi2016": np.array([True, False]),
    }
    molecules = {
        "smiles": np.array(["CCO", "CC", "COC", "CCN"]),
        "n_spectra": np.array(2),
        "formula": np.array(["C2H6O", "C2H6", "C2H7N"]),
        "formula_id": np.array([0, 1, 0, 2]),
    }
    fingerprints = {"fp": rng.integers(0, 256, size=(4, 533)).astype(np.uint8)}
    for name, arrays in {"spectra": spectra, "molecules": molecules, "fingerprints": fingerprints}.items():
        np.savez(home / f"{name}.npz", **{k: changes.get(k, v) for k, v in arrays.items()})


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def test_spectra_molecules_candidates_and_folds(home):
    write(home)
    data = load_massbank_msms()
    assert len(data.spectra) == 2 and data.spectra[1].mz.tolist() == [40.0, 45.0, 70.0]
    assert data.spectra[0].metadata["smiles"] == "CCO" and data.spectra[0].metadata["formula"] == "C2H6O"
    assert [c.tolist() for c in data.candidates()] == [[0, 2], [1]]
    assert data.bits([0, 3]).shape == (2, data.n_bits) and data.bits(0).shape == (data.n_bits,)
    assert sorted(data.folds(2).tolist()) == [0, 1]


def test_written_as_files(home, tmp_path):
    write(home)
    mgf, table = write_massbank_files(tmp_path / "out", [0])
    assert mgf.read_text().count("BEGIN IONS") == 1 and "SMILES=CCO\n50.00000 1\n60.00000 0.5" in mgf.read_text()
    assert table.read_text().splitlines() == [
        "spectrum_id\tsmiles\tcandidate_id",
        "MB0001\tCCO\tM00001",
        "MB0001\tCOC\tM00003",
    ]


@pytest.mark.parametrize("bad", [{"n_spectra": np.array(3)}, {"fp": np.zeros((4, 8), dtype=np.uint8)}])
def test_other_files_are_refused(home, bad):
    write(home, **bad)
    with pytest.raises(ValueError, match="must have"):
        load_massbank_msms()


def test_the_real_files():
    try:
        data = load_massbank_msms()
    except DataNotFound:
        pytest.skip("no data")
    assert len(data.spectra) == 3991 and len(data.smiles) == 26603
    sizes = np.array([len(c) for c in data.candidates()])
    assert sizes.max() == 99 and (sizes == 1).sum() == 876
    assert all(i in c for i, c in enumerate(data.candidates()))
