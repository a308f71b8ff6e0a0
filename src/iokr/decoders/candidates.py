"""ŷ = argmin_y ‖h(x) − ψ(y)‖² over a finite set, and the whole ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, blocks, smallest_k, take_rows, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import one_of
from iokr.data.candidates import CandidateSets, flatten_sets, index_in_set, shared_sequence
from iokr.data.objects import distinct, error_context, take
from iokr.decoders.base import Comparison, Decoder
from iokr.embeddings.base import Embedding

__all__ = ["Candidates", "compare_sets", "rank_sets", "rank_shared"]


_ENTRIES = 1 << 22  # entries of a block of scores: 32 MB
_ROWS = 2048  # largest number of candidates represented at a time
_FEWEST = 64  # smallest


@component
class Candidates(Decoder):
    """ŷ = argmin_y ‖h(x) − ψ(y)‖² over candidates: those given to `predict`, else the training outputs.

    Parameters
    ----------
    by : {None, "distance", "score"}, default=None
        Rank by ‖h(x) − ψ(y)‖² (ascending) or by ⟨h(x), ψ(y)⟩ (descending). None takes the distance if the loss fixes
        the length of h(x), as the square loss does, else the score. They differ unless k_Y(y, y) is constant.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import Candidates
    >>> from iokr.kernels import Delta
    >>> model = IOKR(output_kernel=Delta(), decoder=Candidates()).fit([[0.0], [1.0]], ["a", "b"])
    >>> model.predict([[0.2]], candidates=["b", "a"])
    array(['a'], dtype=object)
    """

    by: str | None = None

    limits: ClassVar[Limits] = {"by": one_of(None, "distance", "score")}

    def fit(self, Y: Any, embedding: Embedding) -> Candidates:
        """Keep the distinct training outputs as the default candidates."""
        self.check_parameters()
        first, _ = distinct(Y)
        self.Y_fit_ = take(Y, first)
        return self

    def decode(self, H: Array, embedding: Embedding, *, by: str = "distance") -> Any:
        """The best training output for each row of H."""
        best, _ = rank_shared(H, embedding, self.Y_fit_, 1, by=self.by or by)
        return take(self.Y_fit_, best[:, 0])


class _Pool:
    """Distinct candidates, each represented and evaluated once, in blocks; `which` maps candidates to these."""

    def __init__(self, Y: Any, embedding: Comparison, number: Callable[[int], Any] = int) -> None:
        with error_context("candidates", number):
            first, self.which = distinct(Y)
        self.unique = len(first) == len(self.which)
        self.Y = Y
        self.first = first
        self.size = len(first)
        self.embedding = embedding
        self.number = number
        self.reference = float(embedding.sq_norms(self._represent(slice(0, 1)))[0])

    def _represent(self, some: slice) -> Any:
        """Some of the distinct candidates. Errors give the number of a candidate among all, by `number`."""
        rows = self.first[some]
        with error_context("candidates", lambda i: self.number(int(rows[i]))):
            return self.embedding.represent(take(self.Y, rows), "candidates")

    def costs(self, H: Array, some: slice, by: str) -> Array:
        """‖ψ(y)‖² − ‖ψ(y₁)‖² − 2⟨h, ψ(y)⟩, or −⟨h, ψ(y)⟩, to be minimised.

        ‖h‖² is left out and ‖ψ(y₁)‖² of the first candidate subtracted, which are the same for every y: where all norms
        are equal, their rounding would hide a small h.
        """
        S = self._represent(some)
        inner = self.embedding.inner(H, S)
        if by == "score":
            return -inner
        inner *= -2.0
        inner += (asarray_like(self.embedding.sq_norms(S), H) - self.reference)[None, :]
        return inner

    def same(self, H: Array, by: str) -> Array | None:
        """‖h‖² + ‖ψ(y₁)‖², (m, 1), the difference of squared distances and costs; None for scores."""
        if by == "score":
            return None
        return (self.embedding.sq_norms_of(H) + self.reference)[:, None]

    def step(self, m: int) -> int:
        """The number of candidates in a block for m inputs."""
        return int(min(_ROWS, max(_FEWEST, _ENTRIES // max(m, 1))))


def rank_shared(
    H: Array, embedding: Comparison, candidates: Any, k: int | None, *, by: str
) -> tuple[np.ndarray, Array]:
    """(indices, values), best first, (m, min(k, c)); memory grows with k, not with the number of candidates."""
    pool = _Pool(shared_sequence(candidates, embedding), embedding)
    c = len(pool.which)
    k = c if k is None else min(k, c)
    xp = array_namespace(H)
    costs = H[:, :0]  # of the best so far
    order = xp.astype(costs, xp.int64)
    for some in blocks(pool.size, pool.step(H.shape[0])):
        block = pool.costs(H, some, by)
        near = smallest_k(block, min(k, block.shape[1]))
        costs = xp.concat([costs, xp.take_along_axis(block, near, axis=1)], axis=1)
        order = xp.concat([order, near + some.start], axis=1)
        smallest = smallest_k(costs, min(k, costs.shape[1]))
        costs = xp.take_along_axis(costs, smallest, axis=1)
        order = xp.take_along_axis(order, smallest, axis=1)
    index = to_numpy(order)
    if not pool.unique:
        index, costs = _spread(index, costs, pool, k)
    return index, _values(costs, pool.same(H, by))


def _spread(index: np.ndarray, costs: Array, pool: _Pool, k: int) -> tuple[np.ndarray, Array]:
    """From distinct candidates to all of them: equal candidates have the same value and remain in their order."""
    by_candidate = np.argsort(pool.which, kind="stable")
    starts = np.searchsorted(pool.which[by_candidate], np.arange(pool.size + 1))
    out = np.empty((index.shape[0], k), dtype=np.intp)
    place = np.empty((index.shape[0], k), dtype=np.intp)
    values = to_numpy(costs)
    for i, row in enumerate(index):
        copies = [by_candidate[starts[d] : starts[d + 1]] for d in row]
        columns = np.repeat(np.arange(len(row)), [len(part) for part in copies])
        positions = np.concatenate(copies)
        order = np.lexsort((positions, values[i, columns]))[:k]
        out[i] = positions[order]
        place[i] = columns[order]
    return out, array_namespace(costs).take_along_axis(costs, asarray_like(place, costs), axis=1)


def _values(costs: Array, same: Array | None) -> Array:
    """Scores, or squared distances, from costs."""
    if same is None:
        return -costs
    return array_namespace(costs).clip(costs + same, min=0.0)


def rank_sets(
    H: Array, embedding: Comparison, sets: CandidateSets, k: int | None, *, by: str
) -> tuple[list[np.ndarray], list[Array]]:
    """(indices, values) for each input over its own candidates, best first."""
    xp = array_namespace(H)
    indices: list[np.ndarray] = []
    values: list[Array] = []
    for costs, same in _set_costs(H, embedding, sets, by):
        c = int(costs.shape[0])
        order = smallest_k(costs[None, :], c if k is None else min(k, c))[0, :]
        indices.append(to_numpy(order).astype(np.intp))
        values.append(_values(xp.take(costs, order), same))
    return indices, values


def compare_sets(H: Array, embedding: Comparison, sets: CandidateSets, *, by: str) -> list[Array]:
    """Scores or squared distances of each input's own candidates, in their order."""
    return [_values(costs, same) for costs, same in _set_costs(H, embedding, sets, by)]


def _set_costs(H: Array, embedding: Comparison, sets: CandidateSets, by: str) -> Iterator[tuple[Array, Array | None]]:
    """For each input the costs of its own candidates, and what to add for distances (None for scores)."""
    Y, starts = flatten_sets(sets, int(H.shape[0]), embedding)
    pool = _Pool(Y, embedding, partial(index_in_set, starts))
    xp = array_namespace(H)
    owner = np.repeat(np.arange(len(sets)), np.diff(starts))
    by_candidate = np.argsort(pool.which, kind="stable")
    where = np.searchsorted(pool.which[by_candidate], np.arange(pool.size + 1))
    parts = []
    for some in blocks(pool.size, _ROWS):
        mine = by_candidate[where[some.start] : where[some.stop]]
        rows, row_place = np.unique(owner[mine], return_inverse=True)
        block = pool.costs(take_rows(H, rows), some, by)
        flat = row_place * block.shape[1] + (pool.which[mine] - some.start)
        parts.append(take_rows(xp.reshape(block, (-1,)), flat))
    costs = take_rows(xp.concat(parts), np.argsort(by_candidate, kind="stable"))
    same = pool.same(H, by)
    for i, (a, b) in enumerate(pairwise(starts)):
        yield costs[int(a) : int(b)], None if same is None else same[i, 0]
