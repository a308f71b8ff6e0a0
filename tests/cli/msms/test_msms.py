"""`iokr msms`: from files to ranked molecules, and rejected records.

Tests of `iokr.cli.msms`, `iokr.apps.msms.training`, `iokr.apps.msms.identification`, `iokr.apps.msms.evaluation`,
`iokr.apps.msms.demo`, `iokr.apps.msms.page` and `iokr.apps.msms.page`.
"""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("rdkit")

from iokr import CandidateSets, load
from iokr.apps.msms.demo import write_demo
from iokr.chem import Fingerprints
from iokr.cli import app

FAST = ["--fingerprints", "maccs", "--folds", "3"]


def run(*arguments, ok=True):
    result = CliRunner().invoke(app, ["msms", *map(str, arguments)])
    assert (result.exit_code == 0) == ok, result.output
    return result.output


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


@pytest.fixture(scope="module")
def made(tmp_path_factory, cache):
    """Files, a model of them, and the folder of an identification."""
    folder = tmp_path_factory.mktemp("msms")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        paths = write_demo(folder, n=45, unknowns=6)
        model = folder / "model.safetensors"
        run("train", "-i", paths["library.mgf"], "--candidates", paths["library_candidates.tsv"], *FAST, "-o", model)
        out = folder / "out"
        run("identify", "-i", paths["unknowns.mgf"], "-m", model, "--candidates", paths["candidates.tsv"], "-o", out)
    return paths, model, out


def test_every_query_has_its_rows(made):
    paths, _, out = made
    table = rows(out / "candidates.tsv")
    asked = {row["spectrum_id"] for row in rows(paths["candidates.tsv"])}
    assert {row["spectrum_id"] for row in table} == asked
    for name in asked:
        mine = [row for row in table if row["spectrum_id"] == name]
        assert [int(row["rank"]) for row in mine] == list(range(1, len(mine) + 1))
        scores = [float(row["score"]) for row in mine]
        assert scores == sorted(scores, reverse=True)
        assert sum(float(row["probability"]) for row in mine) == pytest.approx(1.0, abs=1e-4)
        assert mine[0]["in_set"] == "yes"
        assert all(len(row["evidence"].split(";")) <= 5 for row in mine)
    assert len(rows(out / "spectra.tsv")) == len(asked)
    page = (out / "report.html").read_text("utf-8")
    assert "<svg" in page
    assert "assumes that the truth is among the candidates" in page
    info = json.loads((out / "run.json").read_text("utf-8"))
    assert info["counts"]["ok"] == len(asked)
    assert "rdkit" in info["versions"]


def test_the_table_has_the_scores_of_the_estimator(made):
    """Of a spectrum that is not in the library, from the model and the fingerprints."""
    paths, model, out = made
    from iokr.apps.readers import read_spectra_files

    spectra = read_spectra_files([paths["unknowns.mgf"]])
    identification = load(model).restore()
    name = spectra.ids[0]
    mine = [row for row in rows(out / "candidates.tsv") if row["spectrum_id"] == name]
    bits = np.asarray(Fingerprints("maccs").transform([row["smiles"] for row in mine]))
    groups = [[row["inchikey14"] for row in mine]]
    found = identification.scores(spectra.spectra[:1], CandidateSets([bits]), groups)[0]
    np.testing.assert_allclose(found, [float(row["score"]) for row in mine], rtol=1e-5)


def test_the_same_command_gives_the_same_bytes(made, tmp_path):
    paths, model, out = made
    run(
        "identify",
        "-i",
        paths["unknowns.mgf"],
        "-m",
        model,
        "--candidates",
        paths["candidates.tsv"],
        "-o",
        tmp_path / "b",
    )
    for name in ("candidates.tsv", "spectra.tsv", "rejected.tsv"):
        assert (tmp_path / "b" / name).read_bytes() == (out / name).read_bytes()


def test_results_can_be_evaluated_later(made, tmp_path):
    paths, _, out = made
    said = run(
        "evaluate", "--results", out / "candidates.tsv", "--truth", paths["truth.tsv"], "-o", tmp_path / "evaluated"
    )
    assert "Ranks of the truth" in said
    top = json.loads((tmp_path / "evaluated" / "metrics.json").read_text("utf-8"))["tables"][0]["rows"][0]["top-1"]
    assert top > 20


def test_a_library_without_candidates_is_not_calibrated(made, tmp_path):
    paths, _, _ = made
    model = tmp_path / "plain.safetensors"
    said = run("train", "-i", paths["library.mgf"], "--fingerprints", "maccs", "--folds", "0", "-o", model)
    assert "not calibrated" in said
    out = tmp_path / "out"
    run("identify", "-i", paths["unknowns.mgf"], "-m", model, "--candidates", paths["candidates.tsv"], "-o", out)
    first = rows(out / "candidates.tsv")[0]
    assert (first["probability"], first["in_set"]) == ("", "")
    run(
        "identify",
        "-i",
        paths["unknowns.mgf"],
        "-m",
        model,
        "--candidates",
        paths["candidates.tsv"],
        "-o",
        out,
        ok=False,
    )


def test_a_database_gives_candidates_by_mass_and_by_formula(made, tmp_path):
    paths, model, _ = made
    smiles = {row["smiles"] for row in rows(paths["candidates.tsv"])}
    base = tmp_path / "base.smi"
    base.write_text("".join(f"{text} D{i}\n" for i, text in enumerate(sorted(smiles))))
    for match in ("mass", "formula"):
        out = tmp_path / match
        run("identify", "-i", paths["unknowns.mgf"], "-m", model, "--database", base, "--match", match, "-o", out)
        found = rows(out / "candidates.tsv")
        assert all(row["status"] in ("ok", "no_candidates") for row in found)
        truth = {row["spectrum_id"]: row["smiles"] for row in rows(paths["truth.tsv"])}
        for name, text in truth.items():
            assert text in [row["smiles"] for row in found if row["spectrum_id"] == name]


def test_evaluate_shows_baselines_and_folds_over_scaffolds(made, tmp_path):
    paths, _, _ = made
    out = tmp_path / "evaluated"
    given = ["-i", paths["library.mgf"], "--candidates", paths["library_candidates.tsv"], *FAST]
    said = run("evaluate", *given, "--group", "scaffold", "-o", out)
    assert "scaffold" in said
    table = json.loads((out / "metrics.json").read_text("utf-8"))["tables"][0]["rows"]
    methods = {(row["method"], row["folds by"]) for row in table}
    assert ("reverse", "molecule") in methods
    assert ("reverse", "scaffold") in methods
    assert ("library, modified cosine, 10 neighbours", "molecule") in methods
    assert ("ridge on each bit", "molecule") in methods


def test_an_interrupted_training_continues_from_its_folds(made, tmp_path, monkeypatch):
    paths, model, _ = made
    from iokr.apps.msms import folds

    done = []

    def dies(problem, fold, number, **options):
        if number == 2:
            raise ValueError("killed")
        return counted(problem, fold, number, **options)

    def counted(problem, fold, number, **options):
        done.append(number)
        return whole(problem, fold, number, **options)

    whole = folds.fold_scores
    again = tmp_path / "again.safetensors"
    given = ["-i", paths["library.mgf"], "--candidates", paths["library_candidates.tsv"], *FAST, "-o", again]
    monkeypatch.setattr(folds, "fold_scores", dies)
    assert "killed" in run("train", *given, ok=False)
    assert done == [0, 1]
    monkeypatch.setattr(folds, "fold_scores", counted)
    run("train", *given)
    assert done == [0, 1, 2]
    assert not (tmp_path / "again.safetensors.partial").exists()
    assert load(again).temperature_ == load(model).temperature_


def test_an_interrupted_identification_continues_from_its_spectra(made, tmp_path, monkeypatch):
    paths, model, _ = made
    from iokr.apps.msms import identification
    from iokr.apps.msms.identification import Ranker

    monkeypatch.setattr(identification, "_QUERIES", 2)
    whole, calls = Ranker.answers, []

    def dies(ranker, rows):
        calls.append(rows)
        if len(calls) == 3:
            raise ValueError("interrupted")
        return whole(ranker, rows)

    again = tmp_path / "again"
    given = ["-i", paths["unknowns.mgf"], "-m", model, "--candidates", paths["candidates.tsv"], "-o", again]
    monkeypatch.setattr(Ranker, "answers", dies)
    run("identify", *given, ok=False)
    assert (tmp_path / "again.partial" / "spectra.jsonl").read_text().count("\n") == 4
    monkeypatch.setattr(Ranker, "answers", lambda ranker, rows: calls.append(rows) or whole(ranker, rows))
    run("identify", *given)
    assert len(calls) == 4
    assert len(rows(again / "spectra.tsv")) == 6
    assert not (tmp_path / "again.partial").exists()


def test_split_calibration_states_its_guarantee(made, tmp_path):
    paths, _, _ = made
    given = ["-i", paths["library.mgf"], "--candidates", paths["library_candidates.tsv"], *FAST]
    run("train", *given, "--calibration", "split", "-o", tmp_path / "split.safetensors")
    out = tmp_path / "out"
    queries = ["-i", paths["unknowns.mgf"], "--candidates", paths["candidates.tsv"]]
    run("identify", *queries, "-m", tmp_path / "split.safetensors", "-o", out)
    assert "with probability at least" in (out / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["identify", "-i", "{unknowns.mgf}", "-m", "{model}"],
            "--candidates, a list for each spectrum, or --database",
        ),
        (["identify", "-i", "{unknowns.mgf}", "-m", "{truth.tsv}", "--candidates", "{candidates.tsv}"], "truth.tsv"),
        (["identify", "-i", "{truth.tsv}", "-m", "{model}", "--candidates", "{candidates.tsv}"], "needs a column mzs"),
        (["identify", "-i", "{unknowns.mgf}", "-m", "{model}", "--candidates", "{truth.tsv}", "--delta", "2"], "delta"),
        (
            ["identify", "-i", "{unknowns.mgf}", "-m", "{model}", "--candidates", "{library_candidates.tsv}"],
            "none of its",
        ),
        (["identify", "-i", "nothing.mgf", "-m", "{model}", "--candidates", "{candidates.tsv}"], "nothing.mgf"),
        (["train", "-i", "{unknowns.mgf}", "--folds", "3"], "at least two molecules for each fold"),
        (["train", "-i", "{library.mgf}", "--folds", "1"], "with one fold there is no training set"),
        (["train", "-i", "{library.mgf}", "--fingerprints", "daylight"], "daylight"),
        (["evaluate", "--results", "{truth.tsv}"], "must be given together"),
        (
            ["evaluate", "-i", "{library.mgf}", "--candidates", "{library_candidates.tsv}", "--own-spectra", "exclude"],
            "--own-spectra must be",
        ),
    ],
)
def test_bad_input_gives_one_line(made, tmp_path, options, message):
    paths, model, _ = made
    known = {f"{{{name}}}": str(path) for name, path in paths.items()} | {"{model}": str(model)}
    said = run(*(known.get(option, option) for option in options), "-o", tmp_path / "x", ok=False)
    assert message in said
    assert "Traceback" not in said


def test_rejected_records_are_listed(made, tmp_path):
    paths, model, _ = made
    bad = tmp_path / "bad.mgf"
    text = paths["unknowns.mgf"].read_text()
    bad.write_text(text + "BEGIN IONS\nTITLE=few\nPEPMASS=100.0\n50.0 1\nEND IONS\n")
    sets = tmp_path / "sets.tsv"
    more = "few\tCCO\tx\nnobody\tCCO\tx\n" + f"{rows(paths['truth.tsv'])[0]['spectrum_id']}\tnot a molecule\tbad\n"
    sets.write_text(paths["candidates.tsv"].read_text() + more)
    out = tmp_path / "out"
    run("identify", "-i", bad, "-m", model, "--candidates", sets, "-o", out)
    reasons = {row["reason"] for row in rows(out / "rejected.tsv")}
    assert {"too few peaks", "structure not read"} <= reasons
    status = [row["status"] for row in rows(out / "spectra.tsv")]
    assert (status.count("ok"), status.count("rejected")) == (6, 1)


def test_help_needs_neither_rdkit_nor_scikit_learn():
    import subprocess
    import sys

    code = (
        "import sys\nfrom iokr.cli.commands import app\nfrom typer.testing import CliRunner\n"
        "assert CliRunner().invoke(app, ['msms', 'train', '--help']).exit_code == 0\n"
        "print([m for m in ('rdkit', 'sklearn', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
