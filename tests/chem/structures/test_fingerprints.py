"""Fingerprints are those of RDKit, computed once, and with a cache once for all runs.

Tests of `iokr.chem.structures.fingerprints` and `iokr.chem.structures.cache`.
"""

import numpy as np
import pytest

pytest.importorskip("rdkit")

import iokr.chem.structures.fingerprints as module
from iokr import IOKR
from iokr.chem import Bits, Fingerprints, Molecule
from iokr.datasets import DataNotFound
from iokr.kernels import Features, Linear, Tanimoto
from reference import assert_close

SMILES = ["CCO", "CC(=O)O", "c1ccccc1", "CCO", "CC(N)C(=O)O"]


def test_equal_rdkits_own():
    from rdkit import Chem
    from rdkit.Chem import MACCSkeys, rdFingerprintGenerator

    bits = np.asarray(Fingerprints().fit_transform(SMILES))
    assert bits.shape == (5, 4263)
    morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    for row, smiles in zip(bits, SMILES, strict=True):
        mol = Chem.MolFromSmiles(smiles)
        assert row[:167].tolist() == list(MACCSkeys.GenMACCSKeys(mol))
        assert row[167:2215].tolist() == list(morgan.GetFingerprint(mol))


def test_equal_to_those_that_come_with_the_spectra():
    from iokr_lab.data import load_massbank_msms

    try:
        data = load_massbank_msms()
    except DataNotFound:
        pytest.skip("no data")
    rows = np.random.default_rng(0).permutation(len(data.smiles))[:20]
    np.testing.assert_array_equal(Fingerprints().fit_transform(data.smiles[rows]).packed, data.packed[rows])


@pytest.mark.parametrize(
    ("kinds", "width"), [("maccs", 167), ("morgan3", 2048), (["atompair", "maccs"], 2215), ("rdkit6 , morgan2", 4096)]
)
def test_kinds(kinds, width):
    bits = Fingerprints(kinds).fit_transform(SMILES)
    assert isinstance(bits, Bits) and bits.shape == (5, width)
    assert len(Fingerprints(kinds).get_feature_names_out()) == width


def test_counts():
    counts = Fingerprints("morgan2c").fit_transform(["CCCCCC", "CC"])
    bits = Fingerprints("morgan2").fit_transform(["CCCCCC", "CC"])
    assert counts.dtype == np.uint16 and counts.max() > 1
    np.testing.assert_array_equal(counts > 0, np.asarray(bits) > 0)


def test_stereo_isotopes_and_salts_change_nothing():
    same = ["C[C@H](N)C(=O)O", "CC(N)C(=O)O", "[13CH3]C(N)C(=O)O", "CC(N)C(=O)O.Cl", Molecule("CC(N)C(=O)O")]
    assert len({row.tobytes() for row in Fingerprints().fit_transform(same)}) == 1


def test_each_text_is_computed_once_and_cached(tmp_path, monkeypatch):
    cache = tmp_path / "deep" / "prints.sqlite"
    made = []
    original = module._molecule
    monkeypatch.setattr(module, "_molecule", lambda item, i: made.append(item) or original(item, i))
    first = Fingerprints(cache=cache).fit_transform(SMILES)
    assert sorted(made) == sorted(set(SMILES))
    again = Fingerprints(cache=cache).fit_transform(SMILES[::-1])
    assert len(made) == len(set(SMILES))
    np.testing.assert_array_equal(again.packed, first.packed[::-1])
    Fingerprints("maccs", cache=str(cache)).fit_transform(SMILES)  # other kinds are another entry
    assert len(made) == 2 * len(set(SMILES))
    monkeypatch.setattr(module, "rdkit_version", lambda: "1901.01")  # so is another RDKit
    Fingerprints(cache=cache).fit_transform(SMILES)
    assert len(made) == 3 * len(set(SMILES))


def test_a_file_that_is_not_a_cache(tmp_path):
    path = tmp_path / "cache.sqlite"
    path.write_bytes(b"not a database" * 100)
    before = path.read_bytes()
    with pytest.warns(UserWarning, match=r"cache.sqlite cannot be used.*Delete it"):
        found = Fingerprints(cache=path).fit_transform(SMILES)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(Fingerprints().fit_transform(SMILES)))
    assert path.read_bytes() == before


@pytest.mark.parametrize("cache", ["/proc/nowhere/cache.sqlite", "a" * 5000, "\0"])
def test_a_cache_that_cannot_be_written_gives_a_warning(cache):
    with pytest.warns(UserWarning, match="cannot be used"):
        assert Fingerprints(cache=cache).fit_transform(SMILES).shape[0] == len(SMILES)


@pytest.mark.parametrize("cache", [5, b"x", [], object()])
def test_a_cache_is_a_path(cache):
    with pytest.raises(TypeError, match="`cache` must be a path"):
        Fingerprints(cache=cache).fit_transform(SMILES)


def test_the_first_object_that_is_not_a_molecule_is_named():
    with pytest.raises(ValueError, match="Molecule 1: 'C1CC'"):
        Fingerprints().fit_transform(["CC", "C1CC"])
    with pytest.raises(TypeError, match="Molecule 1: "):
        Fingerprints().fit_transform(["CC", 7])
    with pytest.raises(ValueError, match="kinds"):
        Fingerprints("maccs,ecfp").fit(SMILES)
    with pytest.raises(TypeError, match="kinds"):
        Fingerprints(3).fit(SMILES)


def test_in_models_and_kernels():
    bits = Fingerprints("maccs").fit_transform(SMILES)
    dense = np.asarray(bits)
    assert_close(Tanimoto()(bits), Tanimoto()(dense.astype(float)), 1e-15)
    assert_close(Features(Fingerprints("maccs"))(SMILES), Linear()(dense), 1e-12)
    X = np.arange(5.0)[:, None]
    model = IOKR(Linear(), output_kernel=Tanimoto(), alpha=0.1).fit(X, bits)
    other = IOKR(Linear(), output_kernel=Tanimoto(), alpha=0.1).fit(X, dense)
    assert_close(model.scores(X, bits), other.scores(X, dense), 1e-12)
    np.testing.assert_array_equal(model.predict(X, candidates=bits), other.predict(X, candidates=dense))
