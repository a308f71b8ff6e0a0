"""The pages on small made-up data: complete, and with the published numbers.

Tests of `iokr_lab.links.nips`, `iokr_lab.links.yeast_ppi`, `iokr_lab.links.yeast_go` and of what they have in common,
`iokr_lab.links.semi` and `iokr_lab.links.boosted`.
"""

from importlib import import_module

import numpy as np
import pytest
from scipy.sparse import csr_array

from iokr.apps.report import Figure
from iokr_lab import find
from iokr_lab.data import ONTOLOGIES
from iokr_lab.links import nips_along
from iokr_lab.links import semi as link_semi
from iokr_lab.links.protocol import LinkPlan
from iokr_lab.published import published
from iokr_lab.study import run
from link_samples import GROUP, N, W, X


def test_published_numbers_are_those_of_the_papers():
    assert str(published("b11_table2")["IOKR-ridge"]["ROC"]) == "83.3 ± 2.1"
    assert str(published("b16_table4", "ROC")["OK3+ET"]["GO-MF"]) == "79.3 ± 1.8"
    assert str(published("b16_table6", "PR")[link_semi.EM]["5%"]) == "15.7 ± 1.4"
    row = published("b16_table3", "ROC")[link_semi.IOKR]
    assert {column: str(number) for column, number in row.items()} == {
        "5%": "83.6 ± 5.9",
        "10%": "93.6 ± 1.0",
        "20%": "96.5 ± 0.4",
    }
    assert str(published("b11_table1")[link_semi.SUPERVISED]["ROC, 20%"]) == "82.2 ± 0.8"


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Small files of the forms of the real ones."""
    rng = np.random.default_rng(1)
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    edges = np.argwhere(np.triu(W))
    orf = np.array([f"Y{i:03}" for i in range(N)])

    def save(name, **arrays):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **arrays)

    none = np.zeros((0, 2), int)
    yeast = {"orf": orf, "edges": edges, "expr_spellman": 4 * X, "expr_eisen": X, "loc": np.eye(4)[GROUP]}
    yeast |= {"loc_names": np.array(list("abcd")), "mips_class": np.full(N, "P")}
    save("yeast_ppi/yeast_ppi.npz", **yeast, edges_medium=none, edges_y2h_core=none, edges_y2h_full=none)
    terms = csr_array(((X > 0.3) | (rng.random((N, 4)) < 0.2) | np.eye(N, 4, dtype=bool)).astype(float))
    terms = csr_array(np.hstack([terms.toarray(), np.ones((N, 1))]))
    go = {"orf": orf, "evidence_codes": np.array(["IDA", "IPI"])}
    for ontology in ONTOLOGIES:
        for prefix in (ontology, f"{ontology}_closure"):
            go |= {
                f"{prefix}_terms": np.arange(5),
                f"{prefix}_indptr": terms.indptr,
                f"{prefix}_indices": terms.indices,
            }
        go[f"{ontology}_evidence"] = np.where(np.arange(terms.nnz) % 5, 1, 3)
    save("yeast_go/yeast_go.npz", **go)
    save(
        "nips_coauthorship/nips17_graph.npz",
        author=orf,
        edges=edges,
        doc_year=np.full(N, 1990),
        doc_author_indptr=np.arange(N + 1),
        doc_author_indices=np.arange(N),
    )
    words = csr_array(np.round(3 + 2 * np.abs(X)).astype(int))
    save(
        "nips_coauthorship/nips12_words.npz",
        indptr=words.indptr,
        indices=words.indices,
        counts=words.data,
        vocab=np.array(list("abcd")),
    )
    return tmp_path


@pytest.mark.parametrize(("name", "n_tables"), [("nips", 8), ("yeast-ppi", 7), ("yeast-go", 11)])
def test_page_has_published_beside_ours(home, name, n_tables, monkeypatch):
    monkeypatch.setattr(nips_along, "SHARES", dict(zip((0.3, 0.4, 0.5, 0.6), nips_along.SHARES.values(), strict=True)))
    study, steps = import_module(f"iokr_lab.{find(name).module}").STUDY, []
    plan = LinkPlan(seed=1, repeat=2, fractions=(0.3, 0.4, 0.5), betas=(1.0,), n_trees=3, candidates=1)
    report = run(study, plan, progress=lambda *step: steps.append(step))
    assert len(report.tables) == n_tables
    assert sum(isinstance(item, Figure) for item in report.items) == (3 if name == "nips" else 1)
    page = report.html()
    assert ("B16, Figure 5" in page) == (name == "nips")
    assert ("TPPK by SVM" in page) == (name == "yeast-ppi")
    printed = {"nips": "83.6 ± 5.9", "yeast-ppi": "13.7 ± 4.4", "yeast-go": "144.60 ± 70.70"}
    assert printed[name] in page
    assert steps[-1][:2] == (report.info["cells"],) * 2
    for table in report.tables:
        ours = [row[column] for row in table.rows for column in table.ours if row.get(column) is not None]
        assert all(np.isfinite(cell.mean) for cell in ours)
    assert report.info["seed"] == 1
    names = [[str(next(iter(row.values()))) for row in table.rows] for table in report.tables]
    assert any(
        {"PairModel", "IOKR"} <= {name[: len(key)] for name in column for key in ("PairModel", "IOKR")}
        for column in names
    ), "pairs and nodes side by side"
    assert any("not scaled" in name for column in names for name in column)
