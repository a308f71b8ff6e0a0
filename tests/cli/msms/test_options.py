"""Options of `iokr msms`: folds over larger groups, spectra without structures, Parquet, other columns, memory.

Tests of `iokr.cli.msms_options`, `iokr.apps.msms.evaluation_result` and `iokr.apps.msms.evaluation`.
"""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("rdkit")

from iokr import load
from iokr.apps.msms.demo import write_demo
from iokr.apps.readers import read_spectra_files
from iokr.chem import Fingerprints
from iokr.cli import app

FAST = ["--fingerprints", "maccs"]


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["msms", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files, and a model that is not calibrated."""
    folder = tmp_path_factory.mktemp("msms")
    paths = write_demo(folder, n=40, unknowns=5)
    model = folder / "model.safetensors"
    run("train", "-i", paths["library.mgf"], *FAST, "--folds", "0", "-o", model)
    return {**paths, "model": model}


def identify(made, out, *more, model=None):
    given = ["-i", made["unknowns.mgf"], "-m", model or made["model"], "--candidates", made["candidates.tsv"]]
    return run("identify", *given, "--pages", "0", *more, "-o", out)


def test_folds_over_larger_groups_and_baselines(made, tmp_path):
    given = ["-i", made["library.mgf"], "--candidates", made["library_candidates.tsv"], *FAST, "--folds", "3"]
    out = tmp_path / "evaluated"
    said = run("evaluate", *given, "--group", "scaffold", "--group", "similarity", "--pages", "2", "-o", out)
    tables = json.loads((out / "metrics.json").read_text("utf-8"))["tables"]
    methods = {(row["method"], row["folds by"]): row for row in tables[0]["rows"]}
    for group in ("molecule", "scaffold", "group of similar molecules"):
        assert ("reverse", group) in methods
        assert group in said
    for baseline in ("library, nearest precursor mass", "library, cosine, best hit", "ridge on each bit", "chance"):
        assert 0 <= methods[baseline, "molecule"]["top-1, own spectra count"] <= 100
    assert methods["reverse", "molecule"]["Tanimoto to truth"] <= 1
    assert "±" in methods["reverse", "molecule"]["top-1 over folds"]
    assert len(tables[1]["rows"]) == 3
    page = (out / "report.html").read_text("utf-8")
    assert "With folds by scaffold, " in page
    assert "(the truth)" in page
    info = json.loads((out / "run.json").read_text("utf-8"))
    assert info["seconds"] > 0 and "rdkit" in info["versions"]


def test_spectra_without_structures_change_the_forward_model(made, tmp_path):
    """They are the unknowns here; a compact file holds them, and the restored model gives the same scores."""
    given = ["-i", made["library.mgf"], "--candidates", made["library_candidates.tsv"], *FAST, "--folds", "2"]
    model = tmp_path / "semi.safetensors"
    said = run("train", *given, "--model", "forward", "--unlabeled", made["unknowns.mgf"], "-o", model)
    assert "spectra without structures" in said
    identify(made, tmp_path / "a", model=model)
    stored = tmp_path / "stored.safetensors"
    run("train", *given, "--model", "forward", "--unlabeled", made["unknowns.mgf"], "--store-factor", "-o", stored)
    identify(made, tmp_path / "b", model=stored)
    assert (tmp_path / "a" / "candidates.tsv").read_bytes() == (tmp_path / "b" / "candidates.tsv").read_bytes()
    assert load(stored).forward_.manifold.n_neighbors == 10
    out = tmp_path / "evaluated"
    run("evaluate", *given, "--model", "fusion", "--unlabeled", made["unknowns.mgf"], "--no-baselines", "-o", out)
    refused = run("train", *given, "--unlabeled", made["unknowns.mgf"], "-o", tmp_path / "no", code=1)
    assert "--model forward" in refused


@pytest.mark.parametrize("kernels", ["peaks,losses", "six"])
def test_compact_models_give_the_same_results(made, tmp_path, kernels):
    small, whole = tmp_path / "small.safetensors", tmp_path / "whole.safetensors"
    given = ["-i", made["library.mgf"], *FAST, "--folds", "0", "--kernels", kernels]
    run("train", *given, "-o", small)
    run("train", *given, "--store-factor", "-o", whole)
    assert "forward_" in load(whole).__dict__
    assert "forward_" not in load(small).__dict__
    identify(made, tmp_path / "a", model=small)
    identify(made, tmp_path / "b", model=whole)
    assert (tmp_path / "a" / "candidates.tsv").read_bytes() == (tmp_path / "b" / "candidates.tsv").read_bytes()


def test_fingerprints_predicted_by_the_forward_model(made, tmp_path):
    identify(made, tmp_path / "out", "--write-fingerprints")
    with np.load(tmp_path / "out" / "fingerprints.npz") as found:
        ids, bits, names = found["spectrum_id"], found["bits"], found["names"]
    spectra, library = (read_spectra_files([made[name]]) for name in ("unknowns.mgf", "library.mgf"))
    assert ids.tolist() == list(spectra.ids)
    assert bits.shape == (5, len(names)) == (5, 167)
    Y = np.asarray(Fingerprints("maccs").transform(library.spectra.values("smiles")))
    expected = np.asarray(load(made["model"]).restore().forward_.weights(spectra.spectra)) @ Y
    np.testing.assert_allclose(bits, np.clip(expected, 0, 1), atol=1e-5)
    assert bits.min() >= 0
    assert bits.max() <= 1


def test_parquet_in_and_out(made, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def write(name, columns):
        parquet.write_table(pa.table(columns), tmp_path / name)
        return tmp_path / name

    spectra = read_spectra_files([made["unknowns.mgf"]])
    known = rows(made["candidates.tsv"])
    queries = write(
        "queries.parquet",
        {
            "identifier": list(spectra.ids),
            "mzs": [list(s.mz) for s in spectra.spectra],
            "intensities": [list(s.intensity) for s in spectra.spectra],
            "precursor_mz": spectra.spectra.precursor_mz,
            "formula": spectra.spectra.values("formula"),
            "adduct": spectra.spectra.values("adduct"),
        },
    )
    sets = write("sets.parquet", {name: [row[name] for row in known] for name in known[0]})
    given = ["-m", made["model"], "--pages", "0", "--format", "parquet"]
    run("identify", "-i", queries, "--candidates", sets, *given, "-o", tmp_path / "out")
    identify(made, tmp_path / "plain")
    table = parquet.read_table(tmp_path / "out" / "candidates.parquet").to_pylist()
    plain = rows(tmp_path / "plain" / "candidates.tsv")
    assert [row["smiles"] for row in table] == [row["smiles"] for row in plain]
    np.testing.assert_allclose([row["score"] for row in table], [float(row["score"]) for row in plain], atol=1e-5)
    assert isinstance(table[0]["rank"], int)
    assert isinstance(table[0]["in_library"], bool)
    assert len(parquet.read_table(tmp_path / "out" / "spectra.parquet")) == 5
    base = write("base.parquet", {"smiles": sorted({row["smiles"] for row in known})})
    run("identify", "-i", queries, "--database", base, *given, "-o", tmp_path / "base")
    results = tmp_path / "out" / "candidates.parquet"
    assert "Ranks of the truth" in run(
        "evaluate", "--results", results, "--truth", made["truth.tsv"], "-o", tmp_path / "evaluated"
    )


def test_columns_as_sirius_names_them(made, tmp_path):
    identify(made, tmp_path / "out", "--sirius-columns")
    (first, *_) = rows(tmp_path / "out" / "candidates.tsv")
    wanted = ("structurePerIdRank", "InChIkey2D", "smiles", "molecularFormula", "adduct", "mappingFeatureId")
    assert all(first[name] for name in wanted)
    assert "ConfidenceScoreExact" in first
    assert rows(tmp_path / "out" / "spectra.tsv")[0]["mappingFeatureId"]
    out = tmp_path / "evaluated"
    run("evaluate", "--results", tmp_path / "out" / "candidates.tsv", "--truth", made["truth.tsv"], "-o", out)


def test_memory_is_checked_before_the_work(made, tmp_path):
    given = ["-i", made["library.mgf"], *FAST, "--folds", "0", "-o", tmp_path / "model.safetensors"]
    said = run("train", *given, "--memory", "10kB", code=1)
    assert "--memory allows" in said
    assert "use fewer spectra" in said
    assert "is not a size" in run("train", *given, "--memory", "much", code=2)


def test_folds_of_a_field_of_the_spectra(made, tmp_path):
    lines = []
    for line in made["library.mgf"].read_text().splitlines():
        lines.append(line)
        if line.startswith("TITLE="):
            lines.append(f"FOLD={'train' if int(line[7:]) % 3 else 'test'}")
    path = tmp_path / "folds.mgf"
    path.write_text("\n".join(lines))
    given = ["-i", path, "--candidates", made["library_candidates.tsv"], *FAST, "--no-baselines", "--pages", "0"]
    run("evaluate", *given, "--folds-from", "fold", "-o", tmp_path / "out")
    table = json.loads((tmp_path / "out" / "metrics.json").read_text("utf-8"))["tables"][0]
    assert {row["folds by"] for row in table["rows"]} == {"molecule"}


def test_molecules_of_the_library_may_be_excluded(made, tmp_path):
    """One spectrum has no other candidates: it is rejected."""
    name = rows(made["truth.tsv"])[0]["spectrum_id"]
    sets = tmp_path / "sets.tsv"
    truths = {row["smiles"] for row in rows(made["truth.tsv"])}
    library = [row["smiles"] for row in rows(made["candidates.tsv"]) if row["smiles"] not in truths]
    kept = [line for line in made["candidates.tsv"].read_text().splitlines() if not line.startswith(f"{name}\t")]
    sets.write_text("\n".join([*kept, f"{name}\t{library[0]}\tonly"]) + "\n")
    out = tmp_path / "out"
    given = ["-i", made["unknowns.mgf"], "-m", made["model"], "--candidates", sets, "--pages", "0"]
    run("identify", *given, "--own-spectra", "exclude", "-o", out)
    table = rows(out / "candidates.tsv")
    assert {row["in_library"] for row in table} == {"no", ""}
    assert [row["status"] for row in table if row["spectrum_id"] == name] == ["no_candidates"]
    assert "no new candidates" in [row["reason"] for row in rows(out / "rejected.tsv")]


def test_many_candidates_are_ranked_in_two_steps(made, tmp_path, monkeypatch):
    from iokr.apps.msms import identification

    monkeypatch.setattr(identification, "MANY", 5)
    monkeypatch.setattr(identification, "BEST", 4)
    identify(made, tmp_path / "out")
    table = rows(tmp_path / "out" / "candidates.tsv")
    for name in {row["spectrum_id"] for row in table}:
        mine = [row for row in table if row["spectrum_id"] == name]
        assert [row["score"] != "" for row in mine] == [True] * 4 + [False] * (len(mine) - 4)
        beyond = [float(row["score_forward"]) for row in mine[4:]]
        assert beyond == sorted(beyond, reverse=True)
        assert max(beyond) <= min(float(row["score_forward"]) for row in mine[:4])
    assert "The others follow without a score" in (tmp_path / "out" / "report.html").read_text("utf-8")
