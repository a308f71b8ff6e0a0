"""The loaders of networks, on small files of the same form and on the real ones where they are.

Tests of `iokr_lab.data.networks` and `iokr_lab.data.archives`.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array

from iokr.datasets import DataNotFound
from iokr_lab.data import (
    ONTOLOGIES,
    information_content,
    load_nips_coauthorship,
    load_yeast_go,
    load_yeast_metabolic,
    load_yeast_ppi,
)


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def save(home, file, **arrays):
    path = home / file
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **{name: a for name, a in arrays.items() if a is not None})


def yeast(home, name="yeast_ppi", **changes):
    rng = np.random.default_rng(0)
    spellman = rng.normal(size=(4, 3)).astype(np.float32)
    spellman[1, 2] = np.nan
    arrays = {
        "orf": np.array(list("abcd")),
        "edges": np.array([[0, 1], [1, 3]], np.int16),
        "edges_medium": np.array([[0, 2]], np.int16),
        "edges_y2h_core": np.zeros((0, 2), np.int16),
        "edges_y2h_full": np.array([[2, 3]], np.int16),
        "mips_class": np.array(list("PGPG")),
        "expr_spellman": spellman,
        "expr_eisen": np.full((4, 2), np.nan, np.float32),
        "loc": np.eye(4, 2, dtype=np.uint8),
        "loc_names": np.array(["nucleus", "vacuole"]),
    } | changes
    save(home, f"{name}/{name}.npz", **arrays)
    return arrays


def test_a_yeast_network(home):
    arrays = yeast(home)
    network = load_yeast_ppi()
    expected = np.zeros((4, 4))
    expected[[0, 1, 1, 3], [1, 0, 3, 1]] = 1
    np.testing.assert_array_equal(network.adjacency.toarray(), expected)
    assert network.expression.shape == (4, 5) and network.expression[1, 2] == 0 and network.expression.dtype == float
    np.testing.assert_array_equal(network.expression[0, :3], arrays["expr_spellman"][0])
    assert np.isnan(network.expr_eisen).all() and network.loc_names == ("nucleus", "vacuole")
    assert network.edges_y2h_core.shape == (0, 2) and network.mips_class[3] == "G"


def test_the_metabolic_network_has_one_kind_of_edges(home):
    yeast(home, "yeast_metabolic", mips_class=None, edges_medium=None, edges_y2h_core=None, edges_y2h_full=None)
    network = load_yeast_metabolic()
    assert network.edges_medium is None and network.mips_class is None
    with pytest.raises(DataNotFound, match=r"yeast_ppi/yeast_ppi\.npz"):
        load_yeast_ppi()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"loc": None}, "not a yeast network file"),
        ({"edges": np.array([[0, 4]])}, "indices from 0 to 3, got 0 to 4"),
        ({"edges": np.array([[0, 0]])}, "self-loops or duplicate pairs"),
        ({"edges": np.array([[0, 1], [1, 0]])}, "self-loops or duplicate pairs"),
        ({"edges": np.array([0, 1])}, "pairs of row indices"),
        ({"edges": np.array([[0.5, 1.0]])}, "pairs of row indices"),
        ({"expr_eisen": np.zeros((3, 2))}, r"`expr_eisen` must have 4 rows, got shape \(3, 2\)"),
        ({"loc_names": np.array(["nucleus"])}, r"`loc` must be \(4, 1\)"),
    ],
)
def test_wrong_contents_are_named(home, changes, words):
    yeast(home, **changes)
    with pytest.raises(ValueError, match=words):
        load_yeast_ppi()


LOADERS = {
    "yeast_ppi/yeast_ppi.npz": load_yeast_ppi,
    "yeast_metabolic/yeast_metabolic.npz": load_yeast_metabolic,
    "yeast_go/yeast_go.npz": load_yeast_go,
    "nips_coauthorship/nips17_graph.npz": load_nips_coauthorship,
}


@pytest.mark.parametrize("file", LOADERS)
def test_not_there(home, file):
    with pytest.raises(DataNotFound, match=file):
        LOADERS[file]()


@pytest.mark.parametrize("contents", [b"not an archive", b"PK\x03\x04 cut short", b""])
@pytest.mark.parametrize("file", LOADERS)
def test_a_file_of_something_else_is_named(home, file, contents):
    (home / file).parent.mkdir()
    (home / file).write_bytes(contents)
    if "nips" in file:
        (home / "nips_coauthorship" / "nips12_words.npz").write_bytes(contents)
    with pytest.raises(ValueError, match=f"{file} is not a"):
        LOADERS[file]()


def go(home, **changes):
    arrays = {"orf": np.array(["a", "b"]), "evidence_codes": np.array(["IDA", "IPI"])}
    for ontology in ONTOLOGIES:
        arrays |= {
            f"{ontology}_terms": np.array(["t1", "t2", "t3"]),
            f"{ontology}_indptr": np.array([0, 2, 3]),
            f"{ontology}_indices": np.array([0, 2, 1]),
            f"{ontology}_evidence": np.array([1, 2, 3]),
            f"{ontology}_closure_terms": np.array(["t1", "t2", "t3", "t4"]),
            f"{ontology}_closure_indptr": np.array([0, 3, 4]),
            f"{ontology}_closure_indices": np.array([0, 2, 3, 1]),
        }
    save(home, "yeast_go/yeast_go.npz", **arrays | changes)


def test_gene_ontology(home):
    go(home)
    data = load_yeast_go()
    np.testing.assert_array_equal(data.terms["bp"].toarray(), [[1, 0, 1, 1], [0, 1, 0, 0]])
    np.testing.assert_array_equal(data.direct["cc"].toarray(), [[1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(data.without("mf", ["IPI"]).toarray(), [[1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(data.without("mf", ["IDA", "IPI"]).toarray(), np.zeros((2, 3)))
    np.testing.assert_array_equal(data.direct["mf"].toarray(), [[1, 0, 1], [0, 1, 0]])
    with pytest.raises(ValueError, match="`ontology` must be one of 'bp', 'cc', 'mf'"):
        data.without("BP", [])
    go(home, mf_indices=np.array([0, 2, 3]))
    with pytest.raises(ValueError, match=r"must have a sparse matrix of shape \(2, 3\)"):
        load_yeast_go()


def test_information_content():
    annotated = csr_array(np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    expected = np.zeros((4, 3))
    expected[1:3, 1] = np.log(2)
    np.testing.assert_allclose(information_content(annotated).toarray(), expected, atol=1e-15)


def nips(home, **changes):
    graph = {
        "author": np.array(["a", "b", "c"]),
        "edges": np.array([[0, 1]]),
        "doc_year": np.array([1987, 2003]),
        "doc_author_indptr": np.array([0, 2, 3]),
        "doc_author_indices": np.array([0, 1, 2]),
    } | changes
    save(home, "nips_coauthorship/nips17_graph.npz", **graph)
    words = {"indptr": np.array([0, 2]), "indices": np.array([0, 2]), "counts": np.array([5, 1])}
    save(home, "nips_coauthorship/nips12_words.npz", **words, vocab=np.array(["net", "tree", "gas"]))


def test_words_of_an_author_are_those_of_the_papers_with_text(home):
    nips(home)
    data = load_nips_coauthorship()
    np.testing.assert_array_equal(data.words.toarray(), [[5, 0, 1], [5, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(data.adjacency.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(data.papers.toarray(), [[1, 1, 0], [0, 0, 1]])
    nips(home, doc_year=np.array([]), doc_author_indptr=np.array([0]), doc_author_indices=np.array([], int))
    with pytest.raises(ValueError, match="must have at most the 0 papers"):
        load_nips_coauthorship()


def real(loader):
    try:
        return loader()
    except DataNotFound as error:
        pytest.skip(str(error))


def test_the_real_yeast_networks():
    ppi, metabolic = real(load_yeast_ppi), real(load_yeast_metabolic)
    degrees = ppi.adjacency.sum(axis=0)
    assert (len(ppi.orf), len(ppi.edges), degrees.min(), degrees.max()) == (984, 2438, 1, 51)
    assert np.isnan(ppi.expr_spellman).mean() == pytest.approx(0.05, abs=5e-4)
    assert (np.isnan(ppi.expr_eisen).all(axis=1).sum(), (ppi.loc.sum(axis=1) > 0).sum()) == (330, 838)
    assert (len(metabolic.orf), len(metabolic.edges), (metabolic.loc.sum(axis=1) > 0).sum()) == (666, 2589, 527)


def test_the_real_annotations():
    data, ppi = real(load_yeast_go), real(load_yeast_ppi)
    assert [data.direct[o].nnz for o in ONTOLOGIES] == [20863, 18383, 15856]
    assert (len(data.orf), data.terms["cc"].shape[1]) == (5617, 824)
    annotated = np.all([data.direct[o].sum(axis=1) > 0 for o in ONTOLOGIES], axis=0)
    assert annotated.sum() == 4077 and np.isin(ppi.orf, data.orf[annotated]).sum() == 872


def test_the_real_authors():
    data = real(load_nips_coauthorship)
    several = data.adjacency.sum(axis=0) >= 2
    assert data.words.shape[1] == 13649
    assert (len(data.author), several.sum(), data.adjacency[several][:, several].sum() / 2) == (2865, 2026, 4191)
    assert (several & (data.words.sum(axis=1) > 0)).sum() == 1458
