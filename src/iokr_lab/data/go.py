"""Gene Ontology terms of yeast proteins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr._validation import check_choice
from iokr.datasets.home import find_data
from iokr_lab.data.archives import read_arrays, sparse_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ONTOLOGIES", "YeastGO", "information_content", "load_yeast_go"]

ONTOLOGIES = ("bp", "cc", "mf")


@dataclass(frozen=True)
class YeastGO:
    """Proteins by terms, for the three ontologies: biological process, cellular component, molecular function.

    Matrices are (n, ·), by ontology. A protein is annotated by a term or by a term below it (along ``is_a`` and
    ``part_of``; the root is left out).
    """

    orf: NDArray[np.str_]  # names of the proteins
    terms: Mapping[str, csr_array]  # 1 where annotated
    direct: Mapping[str, csr_array]  # annotations as they were made
    evidence: Mapping[str, csr_array]  # where `direct` is 1, a number whose bit i stands for evidence_codes[i]
    evidence_codes: tuple[str, ...]

    def without(self, ontology: str, codes: Sequence[str]) -> csr_array:
        """Direct annotations that rest on some evidence other than `codes`, (n, ·)."""
        check_choice(ontology, "ontology", ONTOLOGIES)
        kept = sum(1 << i for i, code in enumerate(self.evidence_codes) if code not in codes)
        matrix = self.direct[ontology].copy()
        matrix.data = ((self.evidence[ontology].data.astype(np.int64) & kept) != 0).astype(np.float64)
        matrix.eliminate_zeros()
        return matrix


def information_content(annotated: csr_array) -> csr_array:
    """s_it = −ln(fraction of rows annotated by t) where row i is annotated by t, else 0: rare terms weigh more.

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
    without data are left out.
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
