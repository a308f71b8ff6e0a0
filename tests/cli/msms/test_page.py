"""A page of 2000 unknowns stays usable: every row in its table, details behind each, a size that a browser opens."""

import json
import re

import pytest
from typer.testing import CliRunner

pytest.importorskip("rdkit")

from iokr.apps.msms.demo import write_demo
from iokr.cli import app

MANY, LARGEST = 2000, 15e6


def test_a_page_of_many_unknowns(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths = write_demo(tmp_path, n=20, unknowns=4)
    model, queries, sets = tmp_path / "model.safetensors", tmp_path / "many.mgf", tmp_path / "sets.tsv"
    records = [text + "END IONS\n" for text in paths["unknowns.mgf"].read_text().split("END IONS") if "BEGIN" in text]
    known = [line.split("\t", 1) for line in paths["candidates.tsv"].read_text().splitlines()[1:]]
    with queries.open("w") as spectra, sets.open("w") as table:
        table.write("spectrum_id\tsmiles\tcandidate_id\n")
        for k in range(MANY):
            record = records[k % len(records)]
            name = re.search("TITLE=(.*)", record).group(1)
            spectra.write(record.replace(f"TITLE={name}\n", f"TITLE={name}.{k}\n"))
            table.writelines(f"{name}.{k}\t{rest}\n" for own, rest in known if own == name)
    given = ["-i", paths["library.mgf"], "--candidates", paths["library_candidates.tsv"], "--fingerprints", "maccs"]
    for command in (
        ["train", *given, "--folds", "2", "-o", model],
        ["identify", "-i", queries, "-m", model, "--candidates", sets, "-o", tmp_path / "out"],
    ):
        result = CliRunner().invoke(app, ["msms", *map(str, command)])
        assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert len(page.encode()) < LARGEST
    data = next(
        found
        for found in map(
            json.loads, re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
        )
        if found.get("title") == "Best candidates"
    )
    assert data["rows"] == len(data["details"]) == MANY
    assert page.count("above the training spectrum") >= 20
    assert "src=" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
