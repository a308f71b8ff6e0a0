"""Labelled graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.kernels import ShortestPath, WeisfeilerLehman
from iokr_lab.bench.base import Contender, Question
from iokr_lab.bench.kernels.question import ask

__all__ = ["shortest_path", "shortest_path_pair", "weisfeiler_lehman", "weisfeiler_lehman_pair"]


def weisfeiler_lehman(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Names of nodes after up to five refinements."""
    X = _graphs(np.random.default_rng(seed), n)

    def baseline() -> Any:
        grakel = import_module("grakel")
        return grakel.WeisfeilerLehman(n_iter=5, base_graph_kernel=grakel.VertexHistogram).fit_transform(theirs())

    theirs = _grakel_graphs(X)
    baselines = [Contender("GraKeL", baseline, lambda K: {"K": K}, needs="grakel")]
    title = f"(i) WeisfeilerLehman(5), {n} graphs of 15 to 30 nodes"
    return ask(title, WeisfeilerLehman(5), X, weisfeiler_lehman_pair, 10, baselines=baselines, compiled=compiled)


def weisfeiler_lehman_pair(x: Any, z: Any, depth: int = 5) -> float:
    """Σ_h Σ_c n_c^h(x) n_c^h(z), names made for these two graphs."""
    names = [list(labels) for _, labels in (x, z)]
    near = [[np.flatnonzero(row).tolist() for row in A] for A, _ in (x, z)]
    total = 0
    for _ in range(depth + 1):
        a, b = map(Counter, names)
        total += sum(count * b[c] for c, count in a.items())
        short: dict[Any, int] = {}
        names = [
            [
                short.setdefault((own, tuple(sorted(side[j] for j in row))), len(short))
                for own, row in zip(side, rows, strict=True)
            ]
            for side, rows in zip(names, near, strict=True)
        ]
    return float(total)


def shortest_path(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Pairs of nodes with equal labels and distance."""
    X = _graphs(np.random.default_rng(seed), n)

    def baseline() -> Any:
        return import_module("grakel").ShortestPath().fit_transform(theirs())

    theirs = _grakel_graphs(X)
    baselines = [Contender("GraKeL", baseline, lambda K: {"K": K}, needs="grakel")]
    title = f"(j) ShortestPath(), {n} graphs of 15 to 30 nodes"
    return ask(title, ShortestPath(), X, shortest_path_pair, 6, baselines=baselines, compiled=compiled)


def shortest_path_pair(x: Any, z: Any) -> float:
    """Σ n_abd(x) n_abd(z), distances by breadth-first search."""
    a = Counter(_labelled_distances(*x))
    b = Counter(_labelled_distances(*z))
    return float(sum(count * b[key] for key, count in a.items()))


def _labelled_distances(A: Any, labels: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    near = [np.flatnonzero(row).tolist() for row in A]
    for start in range(len(labels)):
        distance = {start: 0}
        queue = [start]
        for i in queue:
            for j in near[i]:
                if j not in distance:
                    distance[j] = distance[i] + 1
                    queue.append(j)
        yield from ((labels[start], labels[j], d) for j, d in distance.items() if j != start)


def _graphs(rng: np.random.Generator, n: int) -> list[tuple[NDArray[np.int64], list[str]]]:
    """Random graphs with three edges for every two nodes, and three labels."""
    found = []
    for size in rng.integers(15, 31, size=n):
        A = np.triu(rng.random((size, size)) < 3.0 / size, 1).astype(np.int64)
        found.append((A + A.T, rng.choice(list("CNO"), size=size).tolist()))
    return found


def _grakel_graphs(X: Sequence[Any]) -> Callable[[], list[Any]]:
    """The same graphs as GraKeL holds them, made at the first call."""
    made: list[Any] = []

    def graphs() -> list[Any]:
        if not made:
            grakel = import_module("grakel")
            for A, labels in X:
                edges = {i: dict.fromkeys(np.flatnonzero(row).tolist(), 1.0) for i, row in enumerate(A)}
                made.append(grakel.Graph(edges, node_labels=dict(enumerate(labels))))
        return made

    return graphs
