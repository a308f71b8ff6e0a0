"""Linear paths of graphs beside a search of its own, and beside the published features of molecules."""

import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from iokr import IOKR
from iokr.data.objects import concat
from iokr.kernels import Paths, Tanimoto, TanimotoOf
from reference import assert_close

DATA = Path(os.environ.get("IOKR_DATA", "")) / "nci_cancer"


def graphs(n: int, largest: int, seed: int = 0, edges: str = "-=") -> list:
    """Random graphs with labels at nodes and edges."""
    rng = np.random.default_rng(seed)
    found = []
    for size in rng.integers(1, largest + 1, size=n):
        A = np.triu(rng.uniform(size=(size, size)) < 0.5, 1).astype(int)
        B = np.triu(rng.choice(list(edges), size=(size, size)), 1)
        labels = rng.choice(list("CNO"), size=size).tolist()
        found.append((A + A.T, labels, np.where(B == "", B.T, B)))
    return found


def words(graph, length: int) -> Counter:
    """Every path, once, as its word in the direction that comes first."""
    A, labels, edges = graph
    found: Counter = Counter()

    def extend(path, word):
        if len(path) == 1 or path[0] < path[-1]:
            found[min(word, word[::-1])] += 1
        if len(path) <= length:
            for j in np.flatnonzero(A[path[-1]]):
                if j not in path:
                    extend([*path, int(j)], (*word, edges[path[-1]][j], labels[j]))

    for start, label in enumerate(labels):
        extend([start], (label,))
    return found


@pytest.mark.parametrize("length", [0, 1, 2, 5])
@pytest.mark.parametrize("binary", [True, False])
def test_words_of_paths_are_counted(length, binary):
    X, Z = graphs(9, 6), graphs(7, 6, seed=1)
    sides = [[words(g, length) for g in some] for some in (X, Z)]
    if binary:
        sides = [[Counter(dict.fromkeys(counts, 1)) for counts in side] for side in sides]
    expected = [[sum(x[f] * z[f] for f in x) for z in sides[1]] for x in sides[0]]
    np.testing.assert_array_equal(Paths(length, binary)(X, Z), expected)


def test_a_ring_has_two_ways_around():
    ring = np.roll(np.eye(4, dtype=int), 1, axis=1)
    ring = ring + ring.T
    assert Paths(3, binary=False)([(ring, "aaaa")])[0, 0] == 4 * 4**2  # 4 paths of each length, one word for each


def test_batches_and_parts_join(monkeypatch):
    X, Z = graphs(9, 6), graphs(7, 6, seed=1)
    kernel = Paths(4, binary=False).fit(X)
    whole = kernel([*X, *Z])
    both = concat(kernel.represent(X), kernel.represent(Z))
    np.testing.assert_array_equal(kernel.block(both, both), whole)
    monkeypatch.setattr("iokr.kernels.structured.paths._AT_ONCE", 3)
    np.testing.assert_array_equal(kernel([*X, *Z]), whole)


def test_tanimoto_of_paths_is_tanimoto_of_their_features():
    X = graphs(9, 6)
    counts = Paths(3).fit(X).represent(X).matrix.toarray()
    assert_close(TanimotoOf(Paths(3))(X), Tanimoto()(counts), 1e-12)
    as_outputs = IOKR(output_kernel=TanimotoOf(Paths(3)), alpha=1e-6).fit(np.arange(9.0)[:, None], X)
    assert_close(TanimotoOf(Paths(3))(as_outputs.predict(np.arange(9.0)[:, None]), X).diagonal(), np.ones(9), 1e-12)


@pytest.mark.skipif(not (DATA / "paths.npz").exists(), reason="needs the data set nci_cancer")
def test_published_features_of_molecules():
    """`paths.npz` has 25 109 columns in an order of its own: the rows must agree after columns are matched."""
    pytest.importorskip("rdkit", reason="needs the extra chem")
    from iokr.chem import molecule_graph

    table = np.load(DATA / "paths.npz")
    with gzip.open(DATA / "smiles.tsv.gz", "rt") as file:
        smiles = dict(line.rstrip("\n").split("\t") for line in file)
    rows = [*range(0, len(table["nsc"]), 40), 61, 2276, 3229]  # the last three have impossible valences
    molecules = [molecule_graph(smiles[str(table["nsc"][row])]) for row in rows]
    ours = Paths(6).fit(molecules).represent(molecules).matrix
    theirs = [table["indices"][table["indptr"][row] : table["indptr"][row + 1]] for row in rows]
    np.testing.assert_array_equal(np.diff(ours.indptr), [len(columns) for columns in theirs])
    shared = (ours @ ours.T).toarray()
    expected = [[len(np.intersect1d(a, b, assume_unique=True)) for b in theirs] for a in theirs]
    np.testing.assert_array_equal(shared, expected)


def test_refusals():
    with pytest.raises(ValueError, match="`length` must be an integer of at least 0"):
        Paths(-1)(graphs(2, 3))
    with pytest.raises(ValueError, match="`binary` must be"):
        Paths(2, "yes")(graphs(2, 3))
