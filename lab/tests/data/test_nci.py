"""NCI-Cancer from files of the stated form."""

import gzip

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import load_nci_cancer, load_nci_smiles


def write(folder, **changes):
    rng = np.random.default_rng(0)
    table = {
        "nsc": np.array([10, 20, 30, 40]),
        "score": rng.integers(17, 148, size=(4, 3)).astype(np.uint8),
        "no_zero_active": np.array([True, True, False, True]),
        "middle_active": np.array([False, True, False, False]),
        "has_structure": np.array([True, True, True, False]),
        "cell_line": np.array(["A", "B", "C"]),
        "tissue": np.array(["lung", "lung", "skin"]),
    }
    paths = {
        "nsc": np.array([30, 20, 10]),  # an order of its own
        "indptr": np.array([0, 1, 3, 4]),
        "indices": np.array([4, 0, 2, 3]),
        "n_features": np.array(5),
    }
    for arrays in (table, paths):
        arrays.update({name: value for name, value in changes.items() if name in arrays})
    (folder / "nci_cancer").mkdir()
    np.savez(folder / "nci_cancer" / "nci_cancer.npz", **table)
    np.savez(folder / "nci_cancer" / "paths.npz", **paths)
    return table


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def test_molecules_with_a_structure_and_their_own_paths(home):
    table = write(home)
    data = load_nci_cancer()
    assert data.nsc.tolist() == [10, 20]
    np.testing.assert_array_equal(data.score, table["score"][:2])
    np.testing.assert_array_equal(data.paths.toarray(), [[0, 0, 0, 1, 0], [1, 0, 1, 0, 0]])
    np.testing.assert_array_equal(data.active, table["score"][:2] >= 60)
    assert data.cell_line == ("A", "B", "C") and data.tissue == ("lung", "lung", "skin")
    assert load_nci_cancer("all").nsc.tolist() == [10, 20, 30]
    assert load_nci_cancer("middle_active").nsc.tolist() == [20]


def test_not_there(home):
    with pytest.raises(DataNotFound, match="nci_cancer"):
        load_nci_cancer()


def test_unknown_subset(home):
    with pytest.raises(ValueError, match="`subset` must be one of"):
        load_nci_cancer("some")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"score": np.zeros((4, 2))}, r"\(4, 3\)"),
        ({"tissue": np.array(["lung"])}, "tissue"),
        ({"has_structure": np.ones(4, bool)}, "NSC 40"),
        ({"indices": np.array([9, 0, 2, 3])}, "sparse matrix"),
    ],
)
def test_wrong_contents_are_named(home, changes, words):
    write(home, **changes)
    with pytest.raises(ValueError, match=words):
        load_nci_cancer()


def test_the_real_files():
    try:
        data = load_nci_cancer()
    except DataNotFound as error:
        pytest.skip(str(error))
    assert data.score.shape == (2304, 59) and data.paths.shape == (2304, 25109)
    assert data.active.any(axis=1).all()
    assert load_nci_cancer("all").score.shape == (4553, 59)
    assert len(load_nci_smiles(data.nsc)) == 2304


def write_smiles(folder, text):
    (folder / "nci_cancer").mkdir()
    with gzip.open(folder / "nci_cancer" / "smiles.tsv.gz", "wt") as file:
        file.write(text)


def test_structures_by_number(home):
    write_smiles(home, "nsc\tsmiles\n10\tCCO\n20\tC=O\n30\t\n")
    assert load_nci_smiles([20, 10]) == ["C=O", "CCO"]
    for number in (30, 40):
        with pytest.raises(ValueError, match=f"1 are missing, such as NSC {number}"):
            load_nci_smiles(iter([10, number]))


def test_structures_in_another_form(home):
    write_smiles(home, "smiles\nCCO\n")
    with pytest.raises(ValueError, match="a number and a SMILES"):
        load_nci_smiles([10])
