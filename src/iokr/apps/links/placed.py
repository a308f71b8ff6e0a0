"""Nodes that can be scored: those that a model has learned with, and those that came later."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr.apps.readers.network_files import alike
from iokr.apps.readers.tables import read_table

__all__ = ["Asked", "Placed", "numbers_of", "read_list"]

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Placed:
    """Ids, nodes as the kernels take them, the known links between them; later nodes stand last, without links."""

    ids: NDArray[np.str_]
    X: Any
    adjacency: Any  # (N, N), sparse
    labeled: Numbers
    n_later: int = 0

    @property
    def n_fitted(self) -> int:
        """How many nodes the model has learned with, labelled or not."""
        return len(self.ids) - self.n_later

    @property
    def later(self) -> Numbers:
        """The numbers of the others."""
        return np.arange(self.n_fitted, len(self.ids))

    def with_later(self, ids: NDArray[np.str_], X: Any) -> Placed:
        """Beside nodes that came later."""
        N, more = len(self.ids), len(ids)
        known = csr_array(self.adjacency)
        pointers = np.concatenate([known.indptr, np.full(more, known.indptr[-1])])
        wider = csr_array((known.data, known.indices, pointers), shape=(N + more, N + more))
        return Placed(np.concatenate([self.ids, ids]), np.concatenate([self.X, X]), wider, self.labeled, more)

    def kinds(self) -> tuple[tuple[str, ...], Numbers]:
        """Nodes whose links are known, and the others."""
        return ("labelled", "new"), np.where(np.isin(np.arange(len(self.ids)), self.labeled), 0, 1)

    def links(self) -> list[tuple[int, int, float]]:
        """Known links (i, j, weight), i < j."""
        known = self.adjacency.tocoo()
        return [(int(i), int(j), float(w)) for i, j, w in zip(known.row, known.col, known.data, strict=True) if i < j]


@dataclass(frozen=True)
class Asked:
    """Which links are listed: how many, of whom, and how they are written."""

    top: int
    partners_of: tuple[str, ...] = ()
    between: tuple[str, str] | None = None
    spreadsheet_safe: bool = False

    def lists(self, placed: Placed) -> tuple[Numbers, Numbers] | None:
        """Node numbers of the two lists between which pairs are asked for; None is all nodes.

        Where there are nodes that came later and nothing else is said, pairs with one of them.
        """
        everyone = np.arange(len(placed.ids))
        if self.partners_of:
            return numbers_of(placed.ids, list(self.partners_of), "--for"), everyone
        if self.between:
            one, other = (numbers_of(placed.ids, *read_list(name)) for name in self.between)
            return one, other
        return (placed.later, everyone) if placed.n_later else None

    def of_whom(self) -> str:
        """The same in words."""
        if self.partners_of:
            some = (name if "`" in name else f"`{name}`" for name in self.partners_of[:3])
            return f" with {', '.join(some)}{' …' if len(self.partners_of) > 3 else ''}"
        return " between the two lists" if self.between else ""


def read_list(name: str) -> tuple[list[str], str]:
    """The ids of a file, and its name."""
    table = read_table(name, names=frozenset({"id", "ids", "node", "nodes", "name"}))
    return table.text[:, 0].tolist(), table.name


def numbers_of(ids: NDArray[np.str_], names: list[str], where: str) -> Numbers:
    """The numbers of nodes by their names, each once; a stranger is refused with the names that are like it."""
    at = {str(name): i for i, name in enumerate(ids.tolist())}
    strangers = [name for name in names if name not in at]
    if strangers:
        lower = alike(strangers[0])
        near = [name for name in at if lower in alike(name) or alike(name) in lower]
        near = sorted(near, key=lambda name: abs(len(name) - len(strangers[0]))) or get_close_matches(strangers[0], at)
        like = (
            f"; did you mean {', '.join(map(repr, near[:3]))}?" if near else f"; the nodes are like {next(iter(at))!r}."
        )
        raise ValueError(f"{where}: there is no node {strangers[0]!r:.60}{like}")
    return np.array(list(dict.fromkeys(at[name] for name in names)), dtype=np.int64)
