"""Records that cannot be used are listed in rejected.tsv; files that cannot be used give one line and exit code 1."""

import csv
import gzip
import json
import shutil

import pytest
from typer.testing import CliRunner

pytest.importorskip("rdkit")

from iokr.apps.msms import model as model_file
from iokr.apps.msms.demo import write_demo
from iokr.cli import app

PEAKS = "50.01 10\n63.02 30\n77.04 100\n95.05 20\n"
PROFILE = "".join(f"{50 + i / 1000:.3f} {10 + i % 7}\n" for i in range(2500))


def run(*arguments):
    result = CliRunner().invoke(app, ["msms", *map(str, arguments)])
    assert "Traceback" not in result.output
    return result


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def ions(*header, peaks=PEAKS):
    return "\n".join(["BEGIN IONS", *header, peaks.rstrip("\n"), "END IONS", ""])


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files of a few spectra and a model that is not calibrated."""
    folder = tmp_path_factory.mktemp("bad")
    paths = write_demo(folder, n=20, unknowns=3)
    model = folder / "model.safetensors"
    given = ["-i", paths["library.mgf"], "--fingerprints", "maccs", "--folds", "0", "-o", model]
    assert run("train", *given).exit_code == 0
    return {**paths, "model": model}


# ------------------------------------------------------------------------------------------- rejected, the run goes on

SPECTRA = {
    "no precursor": (ions("TITLE=bad"), "no precursor"),
    "precursor is a word": (ions("TITLE=bad", "PEPMASS=heavy"), "bad precursor"),
    "precursor below zero": (ions("TITLE=bad", "PEPMASS=-122.1"), "bad precursor"),
    "one peak": (ions("TITLE=bad", "PEPMASS=122.1", peaks="77.04 1\n"), "too few peaks"),
    "no peaks": (ions("TITLE=bad", "PEPMASS=122.1", peaks=""), "too few peaks"),
    "peaks above the precursor": (ions("TITLE=bad", "PEPMASS=40.0"), "too few peaks"),
    "a peak that is a word": (ions("TITLE=bad", "PEPMASS=122.1", peaks=PEAKS + "abc 5\n"), "peaks not numeric"),
    "a peak without intensity": (ions("TITLE=bad", "PEPMASS=122.1", peaks=PEAKS + "99.1\n"), "peaks not numeric"),
    "m/z zero": (ions("TITLE=bad", "PEPMASS=122.1", peaks=PEAKS + "0 5\n"), "m/z not positive"),
    "a peak that is not finite": (ions("TITLE=bad", "PEPMASS=122.1", peaks=PEAKS + "99.0 inf\n"), "peaks not finite"),
    "a peak that is nan": (ions("TITLE=bad", "PEPMASS=122.1", peaks=PEAKS + "nan 3\n"), "peaks not finite"),
    "a negative intensity": (ions("TITLE=bad", "PEPMASS=122.1", peaks=PEAKS + "99.0 -3\n"), "negative intensity"),
    "all intensities zero": (
        ions("TITLE=bad", "PEPMASS=122.1", peaks="50 0\n60 0\n70 0\n"),
        "all intensities 0",
    ),
    "MS level 1": (ions("TITLE=bad", "PEPMASS=122.1", "MSLEVEL=1"), "MS level 1"),
    "profile data": (ions("TITLE=bad", "PEPMASS=122.1", peaks=PROFILE), "profile data"),
}


@pytest.mark.parametrize("kind", SPECTRA)
def test_rejected_spectra(made, tmp_path, kind):
    record, reason = SPECTRA[kind]
    path = tmp_path / "queries.mgf"
    path.write_text(made["unknowns.mgf"].read_text() + record)
    out = tmp_path / "out"
    given = ["-i", path, "-m", made["model"], "--candidates", made["candidates.tsv"], "--pages", "0", "-o", out]
    assert run("identify", *given).exit_code == 0
    (row,) = [row for row in rows(out / "rejected.tsv") if row["id"] == "bad"]
    assert (row["file"], row["reason"], row["action"]) == ("queries.mgf", reason, "left out")
    assert int(row["line"]) > 1
    status = {row["spectrum_id"]: row["status"] for row in rows(out / "candidates.tsv")}
    assert status["bad"] == "rejected"
    assert list(status.values()).count("ok") == 3
    counts = json.loads((out / "run.json").read_text())["counts"]
    assert counts == {"ok": 3, "no_candidates": 0, "rejected": 1}


CANDIDATES = {
    "SMILES with an open ring": ("C1CC", "structure not read", "left out", "ring"),
    "SMILES of too many bonds": ("C(C)(C)(C)(C)C", "structure not read", "left out", "valence"),
    "no SMILES": ("", "structure not read", "left out", "empty"),
    "dummy atoms": ("*CCO", "structure not read", "left out", "dummy"),
    "no carbon": ("O", "structure not read", "left out", "no carbon"),
    "a sentence": ("see supplement", "structure not read", "left out", "see supplement"),
}


@pytest.mark.parametrize("kind", CANDIDATES)
def test_rejected_candidates(made, tmp_path, kind):
    smiles, reason, action, detail = CANDIDATES[kind]
    name = rows(made["truth.tsv"])[0]["spectrum_id"]
    sets = tmp_path / "sets.tsv"
    sets.write_text(made["candidates.tsv"].read_text() + f"{name}\t{smiles}\tbad\n")
    out = tmp_path / "out"
    given = ["-i", made["unknowns.mgf"], "-m", made["model"], "--candidates", sets, "--pages", "0", "-o", out]
    assert run("identify", *given).exit_code == 0
    (row,) = [row for row in rows(out / "rejected.tsv") if row["id"] == "bad"]
    assert (row["file"], row["what"], row["reason"], row["action"]) == ("sets.tsv", "candidate", reason, action)
    assert int(row["line"]) == sets.read_text().count("\n")
    assert detail in row["detail"]
    listed = [row["candidate_id"] for row in rows(out / "candidates.tsv") if row["spectrum_id"] == name]
    assert ("bad" in listed) == (action == "kept")


def test_another_formula_in_a_set_of_one_formula(made, tmp_path):
    queries, sets, out = tmp_path / "queries.mgf", tmp_path / "sets.tsv", tmp_path / "out"
    queries.write_text(ions("TITLE=a", "PEPMASS=61.0648", "FORMULA=C3H8O", peaks="30 1\n40 2\n50 3\n"))
    sets.write_text("spectrum_id\tsmiles\tcandidate_id\na\tCCCO\tx\na\tCC(C)O\ty\na\tCCO\tbad\n")
    given = ["-i", queries, "-m", made["model"], "--candidates", sets, "--pages", "0", "-o", out]
    assert run("identify", *given).exit_code == 0
    (row,) = rows(out / "rejected.tsv")
    assert (row["id"], row["reason"], row["action"]) == ("bad", "formula differs", "kept")
    assert row["detail"] == "C2H6O, not C3H8O"
    assert len(rows(out / "candidates.tsv")) == 3


def test_duplicate_molecules_and_sets_of_unknown_spectra(made, tmp_path):
    first = rows(made["candidates.tsv"])[0]
    sets = tmp_path / "sets.tsv"
    more = f"{first['spectrum_id']}\t{first['smiles']}\ttwice\nnobody\tCCO\ta\nnobody\tCCC\tb\n"
    sets.write_text(made["candidates.tsv"].read_text() + more)
    out = tmp_path / "out"
    given = ["-i", made["unknowns.mgf"], "-m", made["model"], "--candidates", sets, "--pages", "0", "-o", out]
    assert run("identify", *given).exit_code == 0
    found = {row["id"]: row for row in rows(out / "rejected.tsv")}
    assert found["twice"]["reason"] == "duplicate molecule"
    assert (found["nobody"]["reason"], found["nobody"]["detail"]) == ("no such spectrum", "2 candidates")


def test_duplicate_ids_and_spectra_without_candidates(made, tmp_path):
    path = tmp_path / "queries.mgf"
    text = made["unknowns.mgf"].read_text()
    path.write_text(text + text[: text.index("END IONS")] + "END IONS\n")
    out = tmp_path / "out"
    given = ["-i", path, "-m", made["model"], "--candidates", made["candidates.tsv"], "--pages", "0", "-o", out]
    assert run("identify", *given).exit_code == 0
    reasons = {row["reason"]: row for row in rows(out / "rejected.tsv")}
    assert reasons["duplicate id"]["action"] == "renamed"
    assert reasons["no candidates"]["id"] == reasons["duplicate id"]["detail"]
    assert json.loads((out / "run.json").read_text())["counts"] == {"ok": 3, "no_candidates": 1, "rejected": 0}


@pytest.mark.parametrize(
    ("header", "match", "reason"),
    [
        (["PEPMASS=122.0964", "ADDUCT=[M+Xy]+"], "mass", "unknown adduct '[M+Xy]+'"),
        (["PEPMASS=122.0964"], "mass", "no adduct"),
        (["PEPMASS=122.0964"], "formula", "no formula"),
        (["PEPMASS=122.0964", "FORMULA=C8Qq2"], "formula", "bad formula"),
    ],
)
def test_spectra_that_match_no_molecule_of_a_database(made, tmp_path, header, match, reason):
    path, base = tmp_path / "queries.mgf", tmp_path / "base.smi"
    path.write_text(made["unknowns.mgf"].read_text() + ions("TITLE=bad", *header))
    base.write_text("".join(f"{row['smiles']} {row['candidate_id']}\n" for row in rows(made["candidates.tsv"])))
    base.write_text(base.read_text() + "C1CC open\n")
    out = tmp_path / "out"
    given = ["-i", path, "-m", made["model"], "--database", base, "--match", match, "--pages", "0", "-o", out]
    assert run("identify", *given).exit_code == 0
    found = rows(out / "rejected.tsv")
    assert reason in [row["reason"] for row in found if row["id"] == "bad"]
    assert [row["what"] for row in found if row["id"] == "open"] == ["molecule"]
    assert [row["status"] for row in rows(out / "candidates.tsv") if row["spectrum_id"] == "bad"] == ["no_candidates"]


LIBRARY = {
    "structure missing": ([], "structure missing", "left out"),
    "an InChIKey alone": (["INCHIKEY=LFQSCWFLJHTTHZ-UHFFFAOYSA-N"], "structure missing", "left out"),
    "SMILES not read": (["SMILES=C1CC"], "structure not read", "left out"),
    "dummy atoms": (["SMILES=*CC"], "structure not read", "left out"),
    "InChIKey of another": (["SMILES=CCO", "INCHIKEY=QNAYBMKLOCPYGJ-UHFFFAOYSA-N"], "InChIKey disagrees", "kept"),
    "a salt": (["SMILES=CC(=O)[O-].[Na+]"], "several fragments", "kept the largest"),
    "precursor of another": (["SMILES=CCCCO", "ADDUCT=[M+H]+"], "precursor disagrees", "kept"),
}


@pytest.mark.parametrize("kind", LIBRARY)
def test_library_spectra_with_a_bad_structure(made, tmp_path, kind):
    header, reason, action = LIBRARY[kind]
    path, model = tmp_path / "library.mgf", tmp_path / "model.safetensors"
    path.write_text(made["library.mgf"].read_text() + ions("TITLE=bad", "PEPMASS=122.1", *header))
    assert run("train", "-i", path, "--fingerprints", "maccs", "--folds", "0", "-o", model).exit_code == 0
    found = rows(tmp_path / "model.rejected.tsv")
    assert (reason, action) in [(row["reason"], row["action"]) for row in found if row["id"] == "bad"]


def test_latin_1_is_reported(made, tmp_path):
    path, model = tmp_path / "library.mgf", tmp_path / "model.safetensors"
    path.write_bytes(made["library.mgf"].read_bytes() + ions("TITLE=bad", "NAME=caféine").encode("latin-1"))
    assert run("train", "-i", path, "--fingerprints", "maccs", "--folds", "0", "-o", model).exit_code == 0
    assert "not UTF-8" in [row["reason"] for row in rows(tmp_path / "model.rejected.tsv")]


# ----------------------------------------------------------------------------------------------- one line, exit code 1

QUERIES = {
    "a table of numbers": ("queries.mgf", b"x,y\n1,2\n", "queries.mgf: no spectrum found (first line 'x,y')"),
    "nothing": ("queries.mgf", b"", "queries.mgf: no spectrum found"),
    "BEGIN inside": (
        "queries.mgf",
        b"BEGIN IONS\nTITLE=a\nBEGIN IONS\n",
        "queries.mgf line 3: BEGIN IONS inside a spectrum that began on line 1.",
    ),
    "no END": (
        "queries.mgf",
        b"\nBEGIN IONS\nPEPMASS=100\n50 1\n",
        "queries.mgf: the file ends inside the spectrum that began on line 2 (no END IONS).",
    ),
    "END without BEGIN": ("queries.mgf", b"END IONS\n", "queries.mgf line 1: END IONS without BEGIN IONS"),
    "a picture": ("queries.mgf", b"\x89PNG\0\0\0", "queries.mgf line 1: NUL character"),
    "a name that says nothing": ("queries.dat", b"x", "queries.dat: unknown format"),
    "damaged gzip": ("queries.mgf.gz", gzip.compress(b"BEGIN IONS\n" * 100)[:30], "queries.mgf.gz is not a gzip file"),
    "no gzip": ("queries.mgf.gz", b"BEGIN IONS\n", "queries.mgf.gz is not a gzip file"),
    "no MSP": ("queries.msp", b"x y\n", "queries.msp: no spectrum found"),
    "no mzML": ("queries.mzML", b"<mzML><run>", "queries.mzML is not an mzML file"),
    "no Parquet": ("queries.parquet", b"PAR1 no", "queries.parquet"),
    "a table without peaks": ("queries.tsv", b"identifier\tsmiles\na\tCCO\n", "queries.tsv: needs a column mzs"),
    "a row with more cells": ("queries.tsv", b"mzs\tintensities\n1\t2\t3\n", "queries.tsv line 2: 3 cells"),
    "the other ion mode": (
        "queries.mgf",
        ions("TITLE=a", "PEPMASS=122.1", "IONMODE=negative").encode(),
        "negative ion mode",
    ),
    "both ion modes": (
        "queries.mgf",
        (ions("TITLE=a", "PEPMASS=122.1", "CHARGE=1-") + ions("TITLE=b", "PEPMASS=122.1", "CHARGE=1+")).encode(),
        "positive and negative ion mode (1 and 1 spectra)",
    ),
}


@pytest.mark.parametrize("kind", QUERIES)
def test_bad_files_of_spectra(made, tmp_path, kind):
    name, content, message = QUERIES[kind]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out"
    given = ["-m", made["model"], "--candidates", made["candidates.tsv"], "-o", out]
    result = run("identify", "-i", tmp_path / name, *given)
    assert result.exit_code == 1, result.output
    assert message in result.output
    assert not out.exists()


SETS = {
    "no column smiles": ("sets.tsv", "id\tname\n1\tx\n", "sets.tsv: needs a column"),
    "ids of nobody": ("sets.tsv", "spectrum_id\tsmiles\nF1\tCCO\n", "sets.tsv: none of its 1 spectrum ids is in"),
    "only a header": ("sets.tsv", "spectrum_id\tsmiles\n", "sets.tsv: the table has no rows"),
    "an empty table": ("sets.tsv", "", "sets.tsv: the file is empty"),
    "a row with more cells": ("sets.tsv", "spectrum_id\tsmiles\nS1\tC\tx\n", "sets.tsv line 2: 3 cells"),
    "no JSON": ("sets.json", "{", "sets.json is not JSON"),
    "JSON of numbers": ("sets.json", '{"S1": [1, 2]}', "sets.json: expected an object of lists of SMILES"),
    "a list": ("sets.json", "[]", "sets.json: expected an object of lists of SMILES"),
}


@pytest.mark.parametrize("kind", SETS)
def test_bad_files_of_candidates(made, tmp_path, kind):
    name, content, message = SETS[kind]
    (tmp_path / name).write_text(content)
    given = ["-i", made["unknowns.mgf"], "-m", made["model"], "-o", tmp_path / "out"]
    result = run("identify", *given, "--candidates", tmp_path / name)
    assert result.exit_code == 1, result.output
    assert message in result.output


BASES = {
    "no SDF": ("base.sdf", "hello\n", "base.sdf: no molecule found"),
    "nothing that is a molecule": ("base.smi", "C1CC a\n*C b\n", "base.smi: no molecule found in 2 entries"),
    "no column": (
        "base.csv",
        "id,name\n1,x\n",
        "base.csv: needs a column smiles, canonical_smiles or inchi; it has id, name",
    ),
    "no such file": ("", "", "does not exist"),
}


@pytest.mark.parametrize("kind", BASES)
def test_bad_databases(made, tmp_path, kind):
    name, content, message = BASES[kind]
    path = tmp_path / (name or "nothing.smi")
    if name:
        path.write_text(content)
    given = ["-i", made["unknowns.mgf"], "-m", made["model"], "-o", tmp_path / "out"]
    result = run("identify", *given, "--database", path)
    assert result.exit_code == 1, result.output
    assert message in result.output


def _other_format(data):
    return data.replace(b'\\"format\\":2', b'\\"format\\":3')


def _other_array(data):
    middle = len(data) - 2000
    return data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_other_format, "format 3"),
        (_other_array, "hash"),
        (lambda data: data[:1000], "model.safetensors"),
        (lambda data: b"no model", "model.safetensors"),
        (lambda data: b"", "model.safetensors"),
    ],
    ids=["another format", "another array", "half of it", "a text", "nothing"],
)
def test_bad_model_files(made, tmp_path, change, message):
    path = tmp_path / "model.safetensors"
    path.write_bytes(change(made["model"].read_bytes()))
    given = ["-i", made["unknowns.mgf"], "--candidates", made["candidates.tsv"], "-o", tmp_path / "out"]
    result = run("identify", *given, "-m", path)
    assert result.exit_code == 1, result.output
    assert message in result.output


def test_fingerprints_of_another_rdkit(made, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "_PROBES", ("CCO", "CCN", "CCC"))
    given = ["-i", made["unknowns.mgf"], "--candidates", made["candidates.tsv"], "-o", tmp_path / "out"]
    result = run("identify", *given, "-m", made["model"])
    assert result.exit_code == 1
    assert "computes other fingerprints than RDKit" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--folds", "12"], "at least two molecules for each fold"),
        (["--folds-from", "fold"], "does not have this field"),
        (["--annotations", "{truth}"], "needs a column scan, spectrum_id, id, title or native_id"),
        (["--ion-mode", "negative", "--folds", "2"], "molecules with a usable spectrum"),
    ],
)
def test_libraries_without_a_model(made, tmp_path, options, message):
    table = tmp_path / "more.tsv"
    table.write_text("smiles\nCCO\n")
    given = [str(table) if option == "{truth}" else option for option in options]
    model = tmp_path / "model.safetensors"
    sets = ["--candidates", made["library_candidates.tsv"], "--fingerprints", "maccs", "-o", model]
    result = run("train", "-i", made["library.mgf"], *sets, *given)
    assert result.exit_code == 1, result.output
    assert message in result.output
    assert not model.exists()


@pytest.mark.parametrize(
    ("results", "truth", "message"),
    [
        ("spectrum_id\tinchikey14\tscore\nS1\tA\thigh\n", "spectrum_id\tinchikey\nS1\tA\n", "results.tsv line 2"),
        ("spectrum_id\tinchikey14\tscore\nS1\tA\t1\n", "spectrum_id\tsmiles\nS1\tC1CC\n", "truth.tsv line 2"),
        ("spectrum_id\tinchikey14\tscore\nS1\tA\t1\n", "id\tsmiles\nS1\tC\n", "truth.tsv line 2: needs columns"),
        ("name\tscore\nS1\t1\n", "spectrum_id\tsmiles\nS1\tC\n", "results.tsv line 2: needs a column spectrum_id"),
        (
            "spectrum_id\tinchikey14\tscore\nS9\tA\t1\n",
            "spectrum_id\tsmiles\nS1\tC\n",
            "its 1 spectrum ids do not occur",
        ),
        ("spectrum_id\tscore\nS1\t1\n", "spectrum_id\tsmiles\nS1\tC\n", "results.tsv line 2: needs columns"),
        ("spectrum_id\tsmiles\nS1\tC\n", "spectrum_id\tsmiles\nS1\tC\n", "results.tsv line 2: needs a column score"),
    ],
)
def test_bad_tables_of_results(tmp_path, results, truth, message):
    (tmp_path / "results.tsv").write_text(results)
    (tmp_path / "truth.tsv").write_text(truth)
    given = ["--results", tmp_path / "results.tsv", "--truth", tmp_path / "truth.tsv", "-o", tmp_path / "out"]
    result = run("evaluate", *given)
    assert result.exit_code == 1, result.output
    assert message in result.output


def test_files_are_not_overwritten(made, tmp_path):
    given = ["-i", made["unknowns.mgf"], "-m", made["model"], "--candidates", made["candidates.tsv"], "--pages", "0"]
    assert run("identify", *given, "-o", tmp_path / "out").exit_code == 0
    before = (tmp_path / "out" / "candidates.tsv").read_bytes()
    result = run("identify", *given, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "--force" in result.output
    assert (tmp_path / "out" / "candidates.tsv").read_bytes() == before
    model = shutil.copy(made["model"], tmp_path / "model.safetensors")
    again = run("train", "-i", made["library.mgf"], "--folds", "0", "-o", model)
    assert again.exit_code == 1
    assert "--force" in again.output
