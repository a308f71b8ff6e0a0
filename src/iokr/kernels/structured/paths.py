"""Paths of labelled graphs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, ClassVar

import numpy as np

from iokr._component import Limits, component
from iokr._validation.arguments import FLAG, NATURAL
from iokr.data.graphs import Graph, graphs
from iokr.data.ragged import places_within
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary, name_rows, numbered
from iokr.kernels.structured.graphs import edge_labels

__all__ = ["Paths"]

_AT_ONCE = 1 << 12  # nodes whose paths are extended together


@component
class Paths(CountKernel):
    """k(x, z) = Σ_p n_p(x) n_p(z), p the words of labels along paths of 0 to `length` edges, n_p(x) ∈ {0, 1}.

    A path visits no node twice; its word is the labels of its nodes and of the edges between them, read from either
    end. n_p is 1 if a path of x has the word p; with `binary=False` it is the number of such paths.
    `TanimotoOf(Paths(6))` compares molecules by the fraction of words that they share. The cost is the number of paths
    of a graph, which in molecules doubles with every edge; a block is one product of sparse counts.

    Parameters
    ----------
    length : int, default=6
        The largest number of edges of a path; 0 compares labels of nodes only.
    binary : bool, default=True
        Whether repeated words count once.
    label : str, default="label"
        The node attribute of NetworkX graphs.
    edge_label : str, default=None
        The edge attribute of NetworkX graphs; None is `label`. Edges without it all have the same label.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Paths
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> Paths(2)([(path, "COC"), (path, "CCO")])  # C, O, CO, COC; C, O, CC, CO, CCO
    array([[4., 3.],
           [3., 5.]])

    References
    ----------
    Ralaivola, Swamidass, Saigo and Baldi, "Graph kernels for chemical informatics", Neural Networks 2005. Brouard,
    Szafranski and d'Alché-Buc, "Input output kernel regression", JMLR 2016, Section 6.2.1.
    """

    length: int = 6
    binary: bool = True
    label: str = "label"
    edge_label: str | None = None

    domain = "graphs"
    limits: ClassVar[Limits] = {"length": NATURAL, "binary": FLAG}

    def represent(self, X: Any) -> Counts:
        """The words of each graph, or their numbers."""
        parsed = graphs(X, self.label, self.edge_label)
        nodes, _ = numbered([label for g in parsed for label in g.labels])
        edges, _ = numbered([None, *(label for g in parsed for label in edge_labels(g))])
        vocabulary: dict[Hashable, int] = {}
        names = (list(nodes), list(edges))
        all_rows: list[np.ndarray] = []
        all_columns: list[np.ndarray] = []
        for start, some in _batches(parsed):
            for rows, words in _words(some, nodes, edges, self.length):
                all_rows.append(rows + start)
                all_columns.append(_numbered(words, names, vocabulary))
        rows = np.concatenate(all_rows)
        columns = np.concatenate(all_columns)
        if self.binary:
            rows, columns = np.divmod(np.unique(rows * len(vocabulary) + columns), len(vocabulary))
        return Counts.of(rows, columns, len(parsed), Vocabulary(vocabulary))


def _batches(parsed: list[Graph]) -> Iterator[tuple[int, list[Graph]]]:
    """(number of the first, graphs) with about `_AT_ONCE` nodes in all."""
    start = 0
    size = 0
    for stop, g in enumerate(parsed):
        if size and size + len(g) > _AT_ONCE:
            yield start, parsed[start:stop]
            start = stop
            size = 0
        size += len(g)
    yield start, parsed[start:]


def _words(
    some: list[Graph], nodes: dict[Hashable, int], edges: dict[Hashable, int], length: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(graphs, words) for 0, 1, … edges: the numbers of node, edge, node, … of each path, in one of its directions."""
    sizes = [len(g) for g in some]
    shifts = np.cumsum([0, *sizes])
    owner = np.repeat(np.arange(len(some)), sizes)
    labels = np.array([nodes[label] for g in some for label in g.labels], dtype=np.int64)
    near = np.concatenate([g.indices + shift for g, shift in zip(some, shifts[:-1], strict=True)])
    kinds = np.array([edges[label] for g in some for label in edge_labels(g)], dtype=np.int64)
    degrees = np.concatenate([np.diff(g.starts) for g in some])
    starts = np.concatenate([[0], np.cumsum(degrees)])
    visited = np.arange(len(owner))[:, None]  # the nodes of each path
    words = labels[:, None]
    yield owner, words
    for _ in range(length):
        last = visited[:, -1]
        times = degrees[last]
        path = np.repeat(np.arange(len(last)), times)  # every path by every edge of its last node
        edge = np.repeat(starts[last], times) + places_within(times)
        unseen = np.all(visited[path] != near[edge][:, None], axis=1)
        path = path[unseen]
        edge = edge[unseen]
        new = near[edge]
        visited = np.column_stack([visited[path], new])
        words = np.column_stack([words[path], kinds[edge], labels[new]])
        if not len(words):
            return
        once = visited[:, 0] < new  # each path is found from both of its ends
        yield owner[visited[once, 0]], words[once]


def _numbered(
    words: np.ndarray, names: tuple[list[Hashable], list[Hashable]], vocabulary: dict[Hashable, int]
) -> np.ndarray:
    """The column of each word, the same for both directions; new words are added to the vocabulary."""
    m = len(words)
    both = np.concatenate([words, words[:, ::-1]])
    numbers, first = name_rows(both, int(both.max(initial=0)) + 1)
    smaller = np.minimum(numbers[:m], numbers[m:])
    distinct, places = np.unique(smaller, return_inverse=True)
    columns = np.empty(len(distinct), dtype=np.int64)
    for j, row in enumerate(first[distinct].tolist()):
        word = tuple(names[i % 2][number] for i, number in enumerate(both[row].tolist()))
        columns[j] = vocabulary.setdefault(frozenset((word, word[::-1])), len(vocabulary))
    return columns[places]
