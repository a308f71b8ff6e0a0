"""Authors of NIPS papers: who wrote with whom, and which words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.edges import adjacency_of
from iokr.datasets.home import find_data
from iokr_lab.data.archives import check_edges, read_arrays, sparse_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["NIPSAuthors", "load_nips_coauthorship"]


@dataclass(frozen=True)
class NIPSAuthors:
    """n authors, their d papers, and the v words of the papers whose text there is."""

    author: NDArray[np.str_]
    edges: NDArray[np.int64]  # pairs of authors with at least one joint paper, i < j
    papers: csr_array  # (d, n), 1 where the author wrote the paper
    year: NDArray[np.int64]  # of each paper
    words: csr_array  # (n, v), how often each word occurs in the papers of the author; zeros where there is no text
    vocabulary: NDArray[np.str_]

    @property
    def adjacency(self) -> csr_array:
        """The joint papers as a symmetric matrix of zeros and ones."""
        return adjacency_of(self.edges, len(self.author))


def load_nips_coauthorship() -> NIPSAuthors:
    """The NIPS co-authorship network of `data_home()`/nips_coauthorship, papers of 1987 to 2003.

    `nips17_graph.npz` holds the network, `nips12_words.npz` the words of its first 1740 papers (to 1999).
    """
    path, words_path = (find_data(f"nips_coauthorship/{name}.npz") for name in ("nips17_graph", "nips12_words"))
    graph = read_arrays(
        path, "a co-authorship", ("author", "edges", "doc_year", "doc_author_indptr", "doc_author_indices")
    )
    text = read_arrays(words_path, "a word count", ("indptr", "indices", "counts", "vocab"))
    n, d, known = len(graph["author"]), len(graph["doc_year"]), len(text["indptr"]) - 1
    if known > d:
        raise ValueError(f"{words_path} has {known} papers, but there are {d} in {path}.")
    papers = sparse_rows(path, graph["doc_author_indptr"], graph["doc_author_indices"], None, (d, n))
    shape = (known, len(text["vocab"]))
    counts = sparse_rows(words_path, text["indptr"], text["indices"], text["counts"], shape)
    return NIPSAuthors(
        graph["author"],
        check_edges(path, graph["edges"], n),
        papers,
        graph["doc_year"].astype(np.int64),
        (papers[:known].T @ counts).tocsr(),
        text["vocab"],
    )
