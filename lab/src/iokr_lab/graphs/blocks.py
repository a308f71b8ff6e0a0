"""Graphs of blocks that split as a number grows: FGW barycentres and baselines, λ and γ by leave-one-out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.datasets import make_blocks
from iokr.decoders.barycenter import GraphBarycenter
from iokr.decoders.edits import GraphEdits
from iokr.estimators.regression.cv import IOKRCV
from iokr.kernels.features import Features
from iokr.kernels.structured.graphs import WeisfeilerLehman
from iokr.kernels.vectors import RBF
from iokr.metrics import fgw
from iokr_lab.study import Case
from iokr_lab.timing import timed

__all__ = [
    "AGAIN",
    "BEST",
    "CONSTANT",
    "EDITED",
    "KERNEL",
    "NEAREST",
    "PUBLISHED",
    "Blocks",
    "barycentre",
    "blocks_work",
]

Matrix = NDArray[np.float64]

TRAINING = 50
TESTED = tuple(np.arange(1.0, 6.0, 0.5))
GAMMAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
PUBLISHED = {"FGW": 0.1765, "seconds of training": 758.0}  # the neural variant in the authors' public example
GENERATORS = {"symmetric": False, "both directions drawn": True}
NEAREST = "nearest training graph"
CONSTANT = "constant graph"
BEST = "training graph of minimal risk"
KERNEL = "training graph by k_Y"
EDITED = "edits by k_Y"
AGAIN = "another draw of the same x"


def barycentre(k: int) -> str:
    """The name of the barycentre of k training graphs."""
    return f"barycentre of {k}"


@dataclass(frozen=True)
class Blocks(Case):
    """A generator and a draw of training and test graphs."""

    generator: str
    draw: int


def shares(Y: Any) -> Matrix:
    """The shares of nodes with labels 0, 1, …, 6: explicit output features for leave-one-out."""
    return np.array([np.bincount(np.asarray(labels, dtype=int), minlength=7)[:7] / len(labels) for _, labels in Y])


def blocks_work(case: Blocks, seed: int, neighbors: Sequence[int], edited: bool, training: int) -> dict[str, Any]:
    """Mean FGW to the test graphs, seconds per graph, and the chosen parameters."""
    directed = GENERATORS[case.generator]
    first = 3 * (1000 * seed + case.draw)
    X, Y = make_blocks(training, directed=directed, seed=first)
    X_test, Y_test = make_blocks(x=TESTED, directed=directed, seed=first + 1)
    _, again = make_blocks(x=TESTED, directed=directed, seed=first + 2)
    kernels = [RBF(gamma) for gamma in GAMMAS]
    search = IOKRCV(kernels, output_kernel=Features(shares), decoder=GraphBarycenter(rounded=False))
    model, fitting = timed(lambda: search.fit(X, Y))
    D = _distances(Y)

    def barycentre_of(k: int) -> Any:
        model.decoder_.set_params(n_neighbors=k)
        return model.predict(X_test)

    methods: dict[str, Callable[[], Any]] = {barycentre(k): partial(barycentre_of, k) for k in neighbors}
    methods |= {
        BEST: lambda: Y[np.argmin(model.weights(X_test) @ D, axis=1)],
        KERNEL: lambda: _by_kernel(model, X_test, Y),
        NEAREST: lambda: Y[np.argmin(np.abs(X_test - X.T), axis=1)],
        CONSTANT: lambda: Y[np.full(len(Y_test), np.argmin(D.sum(axis=0)))],
    }
    if edited and not directed:
        edits = IOKRCV(kernels, output_kernel=WeisfeilerLehman(1), decoder=GraphEdits(1, 3, nodes=False)).fit(X, Y)
        methods[EDITED] = lambda: edits.predict(X_test)
    predicted: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for name, method in methods.items():
        predicted[name], spent = timed(method)
        seconds[name] = spent / len(Y_test)
    predicted[AGAIN] = again
    errors = {}
    for name, found in predicted.items():
        errors[name] = [fgw([y], [z]) for y, z in zip(Y_test, found, strict=True)]
    shown = barycentre(5) if 5 in neighbors else barycentre(neighbors[0])
    return {
        "fgw": {name: float(np.mean(values)) for name, values in errors.items()},
        "each": {name: [round(float(v), 4) for v in values] for name, values in errors.items()},
        "seconds": seconds,
        "fitting": fitting,
        "gamma": float(model.kernel_.gamma),
        "alpha": float(model.alpha_),
        "shown": _pictures(Y_test, predicted[shown]) if case.draw == 0 else None,
    }


def _by_kernel(model: IOKRCV, X: Matrix, Y: Any) -> Any:
    """The training graph with the shares of labels nearest to h(x)."""
    return Y[np.argmin(np.asarray(model.distances(X, Y)), axis=1)]


def _distances(Y: Any) -> Matrix:
    D = np.zeros((len(Y), len(Y)))
    for i in range(len(Y)):
        for j in range(i):
            D[i, j] = D[j, i] = fgw([Y[i]], [Y[j]])
    return D


def _pictures(truth: Any, found: Any) -> list[dict[str, Any]]:
    """Adjacency matrices of every third test graph, nodes sorted by label, for a figure."""
    pictures = []
    for i in range(0, len(truth), 3):
        row: dict[str, Any] = {"x": TESTED[i]}
        for name, (C, F) in (("truth", truth[i]), ("found", found[i])):
            labels = np.asarray(F, dtype=float).ravel()
            order = np.argsort(labels, kind="stable")
            row[name] = np.round(np.asarray(C, dtype=float)[np.ix_(order, order)], 2).tolist()
            row[f"{name} labels"] = np.round(labels[order], 2).tolist()
        pictures.append(row)
    return pictures
