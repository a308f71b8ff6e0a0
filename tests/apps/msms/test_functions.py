"""`iokr.apps.msms` from Python: data in memory and in files give the same results, as values with tables.

Tests of `iokr.apps.msms.inputs`, `iokr.apps.msms.inputs`, `iokr.apps.msms.training`,
`iokr.apps.msms.identification`, `iokr.apps.msms.identification_result`, `iokr.apps.msms.evaluation`,
`iokr.apps.msms.evaluation_result`, `iokr.apps.msms.model`, `iokr.apps.msms.evaluation` and `iokr.apps.msms.demo`.
"""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem
from sklearn.exceptions import NotFittedError

from iokr.apps import msms
from iokr.apps.msms.demo import write_demo

FAST = {"fingerprints": "maccs", "folds": 2}


@pytest.fixture(scope="module")
def made():
    return msms.make_spectra(30, unknowns=4)


@pytest.fixture(scope="module")
def model(made):
    return msms.train(made.library, made.library_candidates, **FAST)


@pytest.fixture(scope="module")
def result(model, made):
    return msms.identify(model, made.unknowns, made.candidates)


def test_files_and_memory_give_the_same(made, result, tmp_path):
    """But for the four decimals of the m/z in files."""
    paths = write_demo(tmp_path, n=30, unknowns=4)
    model = msms.train(paths["library.mgf"], str(paths["library_candidates.tsv"]), **FAST)
    other = msms.identify(model, [paths["unknowns.mgf"]], paths["candidates.tsv"])
    for name in ("spectrum_id", "smiles", "rank", "n_candidates", "in_library", "status"):
        assert other.table[name].tolist() == result.table[name].tolist()
    np.testing.assert_allclose(other.table["score"], result.table["score"], atol=0.02)


def test_candidates_of_every_form_give_the_same(made, model, result):
    sets = {
        name: [Chem.MolFromSmiles(smiles) for smiles in frame["smiles"]]
        for name, frame in made.candidates.groupby("spectrum_id", sort=False)
    }
    ids = [spectrum.metadata["id"] for spectrum in made.unknowns]
    for candidates in (sets, [sets[name] for name in ids]):
        table = msms.identify(model, made.unknowns, candidates).table
        assert table["smiles"].tolist() == result.table["smiles"].tolist()
        np.testing.assert_array_equal(table["score"], result.table["score"])


def test_a_database_of_molecules_or_of_a_frame(made, model):
    molecules = sorted(set(made.candidates["smiles"]))
    frame = pd.DataFrame({"smiles": molecules})
    tables = [msms.identify(model, made.unknowns, database=base).table for base in (molecules, frame)]
    assert tables[0]["smiles"].tolist() == tables[1]["smiles"].tolist()
    by_mass = msms.identify(model, made.unknowns, database=molecules, match="mass", ppm=20.0)
    truth = dict(made.truth.to_numpy())
    ranked = set(by_mass.table[["spectrum_id", "smiles"]].itertuples(index=False, name=None))
    assert set(truth.items()) <= ranked


def test_pairs_of_arrays_with_structures(made):
    """Spectra as (mz, intensity, precursor), and structures in a list."""
    library = [(spectrum.mz, spectrum.intensity, spectrum.precursor_mz) for spectrum in made.library]
    smiles = made.library.values("smiles")
    read = msms.read_spectra(library, structures=[Chem.MolFromSmiles(text) for text in smiles])
    plain = msms.train(read, fingerprints="maccs", folds=0)
    other = msms.train(msms.read_spectra(library, structures=smiles), fingerprints="maccs", folds=0)
    assert not plain.calibrated
    assert plain.smiles == other.smiles
    assert plain.identification.forward_.alpha == other.identification.forward_.alpha
    found = msms.identify(plain, [made.unknowns[0]], [made.candidates["smiles"][:12].tolist()])
    assert found.table["probability"].isna().all()
    with pytest.raises(ValueError, match="`structures` has 1 entries for 26 spectra"):
        msms.read_spectra(library, structures=["CCO"])


def test_tables_of_a_result(made, result):
    assert repr(result) == "IdentificationResult(4 of 4 spectra with ranked candidates)"
    table = result.table
    assert len(table) == len(made.candidates)
    assert table["tied_with"].dtype.kind == table["rank"].dtype.kind == "i"
    assert table.groupby("spectrum_id")["probability"].sum().to_numpy() == pytest.approx(np.ones(4))
    assert result.spectra["status"].tolist() == ["ok"] * 4
    assert result.rejected.empty
    assert result.predicted_fingerprints().shape == (4, 167)


def test_spectra_that_cannot_be_ranked_have_rows(made, model):
    """The second has one peak, the third no candidates."""
    first, *_ = made.unknowns
    spectra = [first, {"id": "few", "mz": [50.0], "intensity": [1.0], "precursor_mz": 90.0}, {**vars(made.unknowns[1])}]
    candidates = made.candidates.query(f"spectrum_id == '{first.metadata['id']}'")
    result = msms.identify(model, spectra, candidates, top=3)
    assert result.counts == {"ok": 1, "no_candidates": 1, "rejected": 1}
    assert result.table["status"].tolist() == ["ok"] * 3 + ["no_candidates", "rejected"]
    assert result.table["rank"].dtype == "Int64"
    assert set(result.rejected["reason"]) == {"too few peaks", "no candidates"}


def test_report_writes_what_the_command_writes(result, tmp_path):
    paths = result.report(tmp_path / "out", pages=1, format="csv")
    names = {path.name for path in paths}
    assert {"candidates.csv", "spectra.csv", "rejected.tsv", "metrics.json", "run.json", "report.html"} <= names
    with pytest.raises(FileExistsError):
        result.report(tmp_path / "out", format="csv")
    result.report(tmp_path / "out", force=True, format="csv")
    scores = msms.evaluate_table(tmp_path / "out" / "candidates.csv", msms.make_spectra(30, unknowns=4).truth)
    assert scores.ids == result.files.ids
    assert msms.evaluate_table(result.table, msms.make_spectra(30, unknowns=4).truth).ranks.tolist() == (
        scores.ranks.tolist()
    )


def test_a_saved_model_gives_the_same_scores(model, made, result, tmp_path):
    for compact in (True, False):
        model.save(tmp_path / "model.safetensors", compact=compact, command="by hand")
        again = msms.load(tmp_path / "model.safetensors")
        assert again.ids == model.ids
        assert again.calibration == model.calibration
        found = msms.identify(again, made.unknowns, made.candidates)
        np.testing.assert_array_equal(found.table["score"], result.table["score"])
        pd.testing.assert_frame_equal(found.table, result.table)


def test_iokr_load_gives_a_compact_copy(model, tmp_path):
    from iokr import load

    model.save(tmp_path / "model.safetensors")
    identification = load(tmp_path / "model.safetensors")
    with pytest.raises(NotFittedError, match="restore"):
        identification.scores([], [])
    assert identification.restore().forward_.alpha == model.identification.forward_.alpha


def test_own_spectra_count_or_exclude(made, model):
    tables = {own: msms.identify(model, made.unknowns, made.candidates, own=own).table for own in ("count", "exclude")}
    assert not tables["exclude"]["in_library"].fillna(False).any()
    assert tables["count"]["in_library"].any()
    assert model.identification.own == "leave-out"


def test_evaluation_has_tables(made, tmp_path):
    steps = []
    result = msms.evaluate(
        made.library,
        made.library_candidates,
        **FAST,
        groups=["scaffold"],
        progress=lambda done, total, what: steps.append((done, total, what)),
    )
    assert steps[-1] == (3, 4, "fold 2 of 2 by scaffold")
    methods = result.methods
    assert {"reverse", "forward", "fusion", "chance", "ridge on each bit"} <= set(methods["method"])
    assert set(methods["folds by"]) == {"molecule", "scaffold"}
    assert len(result.confidence) == 2
    assert len(result.queries) == result.n_queries
    assert result.subsets["queries"].max() <= result.n_queries
    assert all(name for frame in (methods, result.confidence, result.subsets) for name in frame.columns)
    names = [path.name for path in result.report(tmp_path / "out", pages=2)]
    assert "queries.tsv" in names


def test_a_checkpoint_continues_the_same_call_alone(made, tmp_path, monkeypatch):
    from iokr.apps.msms import folds

    path, whole, computed = tmp_path / "parts" / "folds.jsonl", folds.fold_scores, []

    def counted(problem, fold, number, **options):
        computed.append(number)
        return whole(problem, fold, number, **options)

    monkeypatch.setattr(folds, "fold_scores", counted)
    first = msms.train(made.library, made.library_candidates, **FAST, checkpoint=path)
    again = msms.train(made.library, made.library_candidates, **FAST, checkpoint=str(path))
    assert computed == [0, 1]
    assert again.calibration == first.calibration
    msms.train(made.library, made.library_candidates, **FAST, kernels="peaks", checkpoint=path)
    assert computed == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"folds": 1}, "`folds` must be 0 or at least 2"),
        ({"folds": 40}, "at least two molecules for each fold"),
        ({"kernels": "seven"}, "`kernels` must be one of"),
        ({"method": "backward"}, "`method` must be one of"),
        ({"unlabeled": [([50.0], [1.0])]}, '`method="forward"`'),
        ({"database": ["CCO"]}, "either `candidates`"),
        ({"memory": 1000.0}, "`memory` allows"),
        ({"folds_from": "batch"}, '`folds_from="batch"`'),
        ({"group": "colour"}, "`group` must be one of"),
    ],
)
def test_bad_arguments_are_named(made, arguments, message):
    with pytest.raises((ValueError, MemoryError), match=message) as raised:
        msms.train(made.library, made.library_candidates, **{**FAST, **arguments})
    assert "--" not in str(raised.value)


def test_evaluate_and_identify_check_their_arguments(made, model):
    with pytest.raises(ValueError, match="either `candidates`"):
        msms.evaluate(made.library)
    with pytest.raises(ValueError, match="`own` must be"):
        msms.evaluate(made.library, made.library_candidates, own="exclude")
    with pytest.raises(ValueError, match="`top` must be"):
        msms.identify(model, made.unknowns, made.candidates, top=0)
    with pytest.raises(ValueError, match="none of its"):
        msms.identify(model, made.unknowns, made.library_candidates)


def test_ion_modes_do_not_mix(made, model):
    negative = [{"mz": [50.0, 60.0, 70.0], "intensity": [1.0, 2.0, 3.0], "precursor_mz": 90.0, "ion_mode": "negative"}]
    with pytest.raises(ValueError, match="negative ion mode"):
        msms.identify(model, negative, [["CCO"]])
