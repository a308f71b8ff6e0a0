"""Networks of yeast proteins: physical interactions, and shared metabolites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.edges import adjacency_of
from iokr.datasets.home import find_data
from iokr_lab.data.archives import check_edges, check_rows, read_arrays

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["YeastNetwork", "load_yeast_metabolic", "load_yeast_ppi"]

_COMMON = ("orf", "edges", "expr_spellman", "expr_eisen", "loc", "loc_names")
_PPI_EDGES = ("edges_medium", "edges_y2h_core", "edges_y2h_full")


@dataclass(frozen=True)
class YeastNetwork:
    """Proteins, the links between them, and what was measured on each.

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
    edges: NDArray[np.int64]  # (m, 2), rows of the other arrays, i < j
    expr_spellman: NDArray[np.float64]  # (n, 77), along the cell cycle; NaN where missing
    expr_eisen: NDArray[np.float64]  # (n, 79), under other conditions; NaN rows for proteins not in that study
    loc: NDArray[np.float64]  # (n, 23), 1 where the protein was seen in the compartment
    loc_names: tuple[str, ...]
    mips_class: NDArray[np.str_] | None = None  # letter of the functional class
    edges_medium: NDArray[np.int64] | None = None  # interactions of medium confidence
    edges_y2h_core: NDArray[np.int64] | None = None  # yeast two-hybrid, the core set
    edges_y2h_full: NDArray[np.int64] | None = None  # and all

    @property
    def adjacency(self) -> csr_array:
        """The links as a symmetric matrix of zeros and ones."""
        return adjacency_of(self.edges, len(self.orf))

    @property
    def expression(self) -> NDArray[np.float64]:
        """All expression values side by side, 0 where missing."""
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
    n, arrays["loc_names"] = len(arrays["orf"]), tuple(arrays["loc_names"].tolist())
    for key in (key for key in fields if key.startswith("edges")):
        arrays[key] = check_edges(path, arrays[key], n, key)
    numbers = ("expr_spellman", "expr_eisen", "loc")
    check_rows(path, n, {key: arrays[key] for key in fields if key in (*numbers, "mips_class")})
    if arrays["loc"].shape != (n, len(arrays["loc_names"])):
        raise ValueError(f"{path}: `loc` must be {(n, len(arrays['loc_names']))}, got {arrays['loc'].shape}.")
    return YeastNetwork(**arrays | {key: arrays[key].astype(np.float64) for key in numbers})
