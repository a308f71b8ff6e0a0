"""The experiment `graphs` on few and small graphs: what is measured, and the page.

Tests of `iokr_lab.graphs.blocks`, and `iokr_lab.graphs.molecules`.
"""

import gzip

import numpy as np
import pytest

from iokr.apps.report import Figure
from iokr.datasets import DataNotFound, make_blocks
from iokr_lab import find
from iokr_lab.data import load_qm9
from iokr_lab.graphs import blocks, graphs, molecules
from iokr_lab.study import run

SMILES = ["CCCCCCO", "CC(C)CCCO", "CCOCC(C)O", "CC1CCCC1O", "CCC(=O)CCN", "NCC(=O)CCC", "OCC1CCC1C", "CCCC#CCO"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A QM9 of few molecules."""
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    (tmp_path / "qm9").mkdir()
    chains = [f"{'C' * a}{middle}{'C' * b}" for a in range(1, 5) for b in range(3, 5) for middle in ("O", "N", "C(=O)")]
    with gzip.open(tmp_path / "qm9" / "qm9_smiles.csv.gz", "wt") as file:
        file.write("\n".join(["smiles", *SMILES, *chains]) + "\n")
    return tmp_path


def test_shares_of_labels():
    np.testing.assert_allclose(blocks.shares([(None, [0.0, 0.0, 2.0, 6.0])]), [[0.5, 0, 0.25, 0, 0, 0, 0.25]])


def test_a_draw_of_block_graphs(monkeypatch):
    pytest.importorskip("ot", reason="needs the extra graph")
    monkeypatch.setattr(blocks, "TESTED", (1.0, 2.5))
    monkeypatch.setattr(blocks, "make_blocks", lambda *args, **given: make_blocks(*args, **given, n_nodes=8))
    cell = blocks.blocks_work(blocks.Blocks("symmetric", 0), 0, (2, 1), True, 8)
    assert set(cell["fgw"]) == set(cell["each"]) > {blocks.EDITED, blocks.BEST, "barycentre of 2", blocks.AGAIN}
    assert cell["fgw"]["barycentre of 2"] == pytest.approx(np.mean(cell["each"]["barycentre of 2"]), abs=1e-4)
    _, Y = make_blocks(8, n_nodes=8, seed=0)
    constant = blocks._distances(Y)
    assert np.array_equal(constant, constant.T) and not constant.diagonal().any()


def test_truth_is_exact_and_a_molecule():
    pytest.importorskip("ot", reason="needs the extra graph")
    truth = [molecules.molecule_graph(s) for s in SMILES[:4]]
    cell = molecules.measured(truth, truth)
    assert cell["exact"] == cell["valid"] == cell["known"] == 100 and cell["edits"] == 0 and cell["fgw"] < 1e-12
    assert cell["similarity"] == pytest.approx(1)
    cell = molecules.measured(truth, [graph[:2] for graph in truth])
    assert cell["exact without bonds"] == 100 and "exact" not in cell
    apart = (np.zeros((2, 2), dtype=int), ["C", "C"], np.full((2, 2), ""))
    assert not molecules.is_molecule(apart)


def test_the_page(data, tmp_path, monkeypatch):
    pytest.importorskip("ot", reason="needs the extra graph")
    monkeypatch.setattr(blocks, "TESTED", (1.0, 2.5))
    monkeypatch.setattr(blocks, "make_blocks", lambda *args, **given: make_blocks(*args, **given, n_nodes=8))
    assert len(load_qm9()) == len(SMILES) + 24
    plan = graphs.GraphPlan(
        repeat=1, neighbors=(5,), edited=0, training=8, molecules=14, tested=2, others=2, decoders=molecules.DECODERS
    )
    report = run(graphs.STUDY, plan, n_jobs=1)
    assert "0.1765" in report.summary
    assert any(isinstance(part, Figure) for part in report.items)
    text = str(report.items)
    for name in molecules.DECODERS:
        assert name in text
    assert graphs.STUDY.plan("short").repeat == 1


def test_files_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    assert find("graphs").missing()
    with pytest.raises(DataNotFound):
        load_qm9()
    (tmp_path / "qm9").mkdir()
    with gzip.open(tmp_path / "qm9" / "qm9_smiles.csv.gz", "wt") as file:
        file.write("name\nC\n")
    with pytest.raises(ValueError, match="the first line must be 'smiles'"):
        load_qm9()
