"""Networks: yeast proteins with their measurements and their Gene Ontology terms, and authors of NIPS papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_choice
from iokr.datasets.edges import adjacency_of
from iokr.datasets.home import find_data
from iokr_lab.data.archives import check_edges, check_rows, read_arrays, sparse_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_COMMON = ("orf", "edges", "expr_spellman", "expr_eisen", "loc", "loc_names")
_PPI_EDGES = ("edges_medium", "edges_y2h_core", "edges_y2h_full")
ONTOLOGIES = ("bp", "cc", "mf")


@dataclass(frozen=True)
class YeastNetwork:
    """Proteins, their links, and measurements of each protein.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.data import YeastNetwork
    >>> toy = YeastNetwork(np.array(["A", "B"]), np.array([[0, 1]]), np.zeros((2, 3)), np.full((2, 1), np.nan),
    ...                    np.zeros((2, 1)), ("nucleus",))
    >>> toy.adjacency.toarray()
    array([[0., 1.],
           [1., 0.]])
    >>> toy.expression.shape
    (2, 4)
    """

    orf: NDArray[np.str_]  # names of the proteins
    edges: NDArray[np.int64]  # (m, 2), row indices of the other arrays, i < j
    expr_spellman: NDArray[np.float64]  # (n, 77), along the cell cycle; NaN for missing values
    expr_eisen: NDArray[np.float64]  # (n, 79), under other conditions; NaN rows for proteins not in that study
    loc: NDArray[np.float64]  # (n, 23), 1 if the protein was observed in the compartment
    loc_names: tuple[str, ...]
    mips_class: NDArray[np.str_] | None = None  # letter of the functional class
    edges_medium: NDArray[np.int64] | None = None  # interactions of medium confidence
    edges_y2h_core: NDArray[np.int64] | None = None  # yeast two-hybrid, the core set
    edges_y2h_full: NDArray[np.int64] | None = None  # yeast two-hybrid, complete

    @property
    def adjacency(self) -> csr_array:
        """The links as a symmetric matrix of zeros and ones."""
        return adjacency_of(self.edges, len(self.orf))

    @property
    def expression(self) -> NDArray[np.float64]:
        """All expression values, missing values replaced by 0."""
        return np.nan_to_num(np.hstack([self.expr_spellman, self.expr_eisen]))


def load_yeast_ppi() -> YeastNetwork:
    """Interactions of 984 yeast proteins, of `data_home()`/yeast_ppi/yeast_ppi.npz.

    The high-confidence interactions of von Mering et al. (2002) between proteins measured by Spellman et al. (1998),
    2438 in all: the benchmark of Yamanishi, Vert and Kanehisa (2004), without its phylogenetic profiles.
    """
    return _load("yeast_ppi", (*_COMMON, "mips_class", *_PPI_EDGES))


def load_yeast_metabolic() -> YeastNetwork:
    """Yeast enzymes that share a metabolite, of `data_home()`/yeast_metabolic/yeast_metabolic.npz.

    666 genes and 2589 links, rebuilt from the genome-scale model iMM904; the published benchmark has 668 and 2782.
    """
    return _load("yeast_metabolic", _COMMON)


def _load(name: str, fields: tuple[str, ...]) -> YeastNetwork:
    """The file of a network, checked."""
    path = find_data(f"{name}/{name}.npz")
    arrays: dict[str, Any] = read_arrays(path, "a yeast network", fields)
    n = len(arrays["orf"])
    arrays["loc_names"] = tuple(arrays["loc_names"].tolist())
    for key in fields:
        if key.startswith("edges"):
            arrays[key] = check_edges(path, arrays[key], n, key)
    numbers = ("expr_spellman", "expr_eisen", "loc")
    check_rows(path, n, {key: arrays[key] for key in fields if key in (*numbers, "mips_class")})
    if arrays["loc"].shape != (n, len(arrays["loc_names"])):
        raise ValueError(f"{path}: `loc` must be {(n, len(arrays['loc_names']))}, got {arrays['loc'].shape}.")
    return YeastNetwork(**arrays | {key: arrays[key].astype(np.float64) for key in numbers})


# ---------------------------------------------------------------------------------------------------------- annotations


@dataclass(frozen=True)
class YeastGO:
    """Annotations of proteins with terms of biological process, cellular component and molecular function.

    The matrices of each ontology are (n, number of terms). A protein is annotated with a term if it is annotated with
    it or with a descendant (along ``is_a`` and ``part_of``; without the root).
    """

    orf: NDArray[np.str_]  # names of the proteins
    terms: Mapping[str, csr_array]  # 1 for annotations, including ancestor terms
    direct: Mapping[str, csr_array]  # 1 for direct annotations
    evidence: Mapping[str, csr_array]  # for direct annotations, a number whose bit i represents evidence_codes[i]
    evidence_codes: tuple[str, ...]

    def without(self, ontology: str, codes: Sequence[str]) -> csr_array:
        """Direct annotations with some evidence other than `codes`."""
        check_choice(ontology, "ontology", ONTOLOGIES)
        other = sum(1 << i for i, code in enumerate(self.evidence_codes) if code not in codes)
        matrix = self.direct[ontology].copy()
        matrix.data = ((self.evidence[ontology].data.astype(np.int64) & other) != 0).astype(np.float64)
        matrix.eliminate_zeros()
        return matrix


def information_content(annotated: csr_array) -> csr_array:
    """s_it = −ln(fraction of rows with term t) if row i has term t, else 0: rare terms get larger weights.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from iokr_lab.data import information_content
    >>> information_content(csr_array(np.array([[1.0, 1.0], [1.0, 0.0]]))).toarray().round(3)
    array([[0.   , 0.693],
           [0.   , 0.   ]])
    """
    counts = np.asarray(annotated.sum(axis=0)).ravel()
    weights = -np.log(np.where(counts > 0, counts, 1.0) / annotated.shape[0])
    return annotated.multiply(weights[None, :] + 0.0).tocsr()


def load_yeast_go() -> YeastGO:
    """Gene Ontology annotations of yeast, of `data_home()`/yeast_go/yeast_go.npz.

    5617 open reading frames, from the SGD annotation file of December 2011; annotations qualified by NOT and those
    without data are excluded.
    """
    path = find_data("yeast_go/yeast_go.npz")
    parts = ("terms", "indptr", "indices", "evidence", "closure_terms", "closure_indptr", "closure_indices")
    names = ("orf", "evidence_codes", *(f"{o}_{part}" for o in ONTOLOGIES for part in parts))
    arrays = read_arrays(path, "a Gene Ontology", names)
    n = len(arrays["orf"])

    def rows(prefix: str, data: NDArray[Any] | None = None) -> csr_array:
        shape = (n, len(arrays[f"{prefix}_terms"]))
        return sparse_rows(path, arrays[f"{prefix}_indptr"], arrays[f"{prefix}_indices"], data, shape)

    return YeastGO(
        arrays["orf"],
        {o: rows(f"{o}_closure") for o in ONTOLOGIES},
        {o: rows(o) for o in ONTOLOGIES},
        {o: rows(o, arrays[f"{o}_evidence"]) for o in ONTOLOGIES},
        tuple(arrays["evidence_codes"].tolist()),
    )


# -------------------------------------------------------------------------------------------------------------- authors


@dataclass(frozen=True)
class NIPSAuthors:
    """n authors, their d papers, and counts of v words in the papers with available text."""

    author: NDArray[np.str_]
    edges: NDArray[np.int64]  # pairs of authors with at least one joint paper, i < j
    papers: csr_array  # (d, n), 1 if the author wrote the paper
    year: NDArray[np.int64]  # year of each paper
    words: csr_array  # (n, v), counts of words in the papers of the author; zeros without text
    vocabulary: NDArray[np.str_]

    @property
    def adjacency(self) -> csr_array:
        """The joint papers as a symmetric matrix of zeros and ones."""
        return adjacency_of(self.edges, len(self.author))


def load_nips_coauthorship() -> NIPSAuthors:
    """The NIPS co-authorship network of `data_home()`/nips_coauthorship, papers of 1987 to 2003.

    `nips17_graph.npz` has the network, `nips12_words.npz` the words of its first 1740 papers (to 1999).
    """
    path = find_data("nips_coauthorship/nips17_graph.npz")
    words_path = find_data("nips_coauthorship/nips12_words.npz")
    names = ("author", "edges", "doc_year", "doc_author_indptr", "doc_author_indices")
    graph = read_arrays(path, "a co-authorship", names)
    text = read_arrays(words_path, "a word count", ("indptr", "indices", "counts", "vocab"))
    n = len(graph["author"])
    d = len(graph["doc_year"])
    known = len(text["indptr"]) - 1
    if known > d:
        raise ValueError(f"{words_path} must have at most the {d} papers of {path}, got {known}.")
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
