"""HV10 Table 1 and Fig. 2: networks, kernels, folds over pairs, and the runs; `pairs.py` shows them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from iokr.datasets.edges import adjacency_of
from iokr.estimators.pairs.model import PairModel
from iokr.kernels.algebra import Normalized
from iokr.kernels.nodes import Diffusion
from iokr.kernels.vectors import RBF, Cosine
from iokr.losses.margin import MaxMargin
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr_lab.cells import Cells
from iokr_lab.data.yeast import YeastNetwork, load_yeast_metabolic, load_yeast_ppi
from iokr_lab.links.protocol import Lookup

__all__ = [
    "DUPLICATE",
    "KERNEL",
    "PUBLISHED",
    "Case",
    "Protocol",
    "Row",
    "cases",
    "curves",
    "default",
    "full",
    "run_case",
]

Matrix = NDArray[np.float64]
KERNEL, DUPLICATE = "kernel", "duplicate"
_DIGITS = 9  # scores are compared after rounding: localisations leave many pairs exactly alike


@dataclass(frozen=True)
class Row:
    """A row of HV10 Table 1; strategies None: both, at δ = 0."""

    network: str
    inputs: str
    strategy: str | None
    mix: float
    possible: bool = True

    def __str__(self) -> str:
        return f"{self.network}, {self.inputs}"


PUBLISHED = (
    Row("interaction", "exp", DUPLICATE, 0.7),
    Row("interaction", "loc", KERNEL, 0.6),
    Row("interaction", "phy", DUPLICATE, 0.8, possible=False),
    Row("interaction", "y2h", None, 0.0),
    Row("interaction", "integrated", None, 0.0),
    Row("metabolic", "exp", KERNEL, 0.6),
    Row("metabolic", "loc", KERNEL, 1.0),
    Row("metabolic", "phy", KERNEL, 0.6, possible=False),
    Row("metabolic", "integrated", None, 0.0),
)


@dataclass(frozen=True)
class Protocol:
    """How much of the published protocol is run.

    `inner` is the number of inner folds by which C is chosen; 1 is a single split. `tol_inner` and `tol` are the gaps
    at which machines stop there and in the final fit, `steps` the most that either takes for one C.
    """

    mixes: tuple[float, ...]
    decoys: int
    inner: int
    costs: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    folds: int = 5
    tol_inner: float = 5e-3
    tol: float = 2e-3
    steps: int = 600

    def key(self, seed: int) -> dict[str, Any]:
        """What must be the same for a finished cell to be used again."""
        return {"seed": seed, **json.loads(json.dumps(asdict(self)))}

    @property
    def words(self) -> str:
        """For the page."""
        choice = "one inner split" if self.inner == 1 else f"{self.inner} inner folds"
        return f"{len(self.mixes)} values of δ, {self.decoys} decoys per edge, C by {choice}"


def default() -> Protocol:
    """A short one."""
    return Protocol(mixes=(0.0, 0.5, 1.0), decoys=2, inner=1)


def full() -> Protocol:
    """As published."""
    return Protocol(tuple(round(0.1 * i, 1) for i in range(11)), decoys=9, inner=5, tol_inner=2e-3, tol=1e-3)


@dataclass(frozen=True)
class Case:
    """One fold of one point of a curve."""

    network: str
    inputs: str
    strategy: str
    mix: float
    fold: int

    def __str__(self) -> str:
        return f"{self.network}, {self.inputs}, {self.strategy}, δ = {self.mix:g}, fold {self.fold}"


def cases(protocol: Protocol) -> Iterator[Case]:
    """Every cell; at δ = 0 both strategies are one."""
    for row, mix in itertools.product(PUBLISHED, protocol.mixes):
        if row.possible:
            for strategy in (KERNEL, DUPLICATE) if mix > 0 else (KERNEL,):
                for fold in range(protocol.folds):
                    yield Case(row.network, row.inputs, strategy, mix, fold)


# ------------------------------------------------------------------------------------------------------------- data


@cache
def _network(name: str) -> YeastNetwork:
    return load_yeast_ppi() if name == "interaction" else load_yeast_metabolic()


@cache
def node_gram(network: str, inputs: str) -> Matrix:
    """k on the nodes, unit diagonal where there is anything known; "integrated" is the sum."""
    data = _network(network)
    if inputs == "integrated":
        parts = ("exp", "loc", "y2h") if network == "interaction" else ("exp", "loc")
        return np.asarray(sum(node_gram(network, part) for part in parts))
    if inputs == "exp":
        return np.asarray(RBF()(data.expression))
    if inputs == "loc":
        return np.asarray(Cosine()(data.loc))
    assert data.edges_y2h_full is not None
    graph, nodes = adjacency_of(data.edges_y2h_full, len(data.orf)), np.arange(len(data.orf))
    return np.asarray(Normalized(Diffusion(1.0, graph)).fit(nodes)(nodes))


@cache
def labelled_pairs(network: str, decoys: int, seed: int) -> tuple[NDArray[np.int64], Matrix]:
    """Edges, and random pairs without one, in random order."""
    data = _network(network)
    rng = np.random.default_rng([seed, decoys])
    m, edges = len(data.orf), np.sort(data.edges, axis=1)
    taken = set((edges[:, 0] * m + edges[:, 1]).tolist())
    apart: list[int] = []
    while len(apart) < decoys * len(edges):
        a, b = np.sort(rng.integers(m, size=2)).tolist()
        if a != b and a * m + b not in taken:
            taken.add(a * m + b)
            apart.append(a * m + b)
    pairs = np.concatenate([edges, np.array([divmod(key, m) for key in apart])])
    y = np.concatenate([np.ones(len(edges)), -np.ones(len(apart))])
    order = rng.permutation(len(y))
    return pairs[order], y[order]


# ------------------------------------------------------------------------------------------------------------- runs


def alpha_of(cost: float) -> float:
    """α = 2/C: the published C goes with k^δ, half of our kernel."""
    return 2 / cost


def run_case(case: Case, protocol: Protocol, seed: int) -> dict[str, Any]:
    """ROC of one fold, with the C that inner splits of its training pairs prefer."""
    start = thread_time()
    K = Lookup(node_gram(case.network, case.inputs))
    pairs, y = labelled_pairs(case.network, protocol.decoys, seed)
    nodes = np.arange(len(K.matrix))
    folds = StratifiedKFold(protocol.folds, shuffle=True, random_state=seed)
    train, test = list(folds.split(pairs, y))[case.fold]
    alphas = [alpha_of(cost) for cost in protocol.costs]

    def model(tol: float) -> PairModel:
        solver = CoordinateDescent(tol, protocol.steps)
        return PairModel(K, strategy=case.strategy, mix=case.mix, loss=MaxMargin(), solver=solver)

    scores = np.zeros(len(alphas))
    inner = StratifiedKFold(max(protocol.inner, 5), shuffle=True, random_state=seed + 1)
    for one, other in itertools.islice(inner.split(pairs[train], y[train]), protocol.inner):
        fit, check = train[one], train[other]
        path = model(protocol.tol_inner).path(nodes, pairs[fit], y[fit], alphas)
        scores += [roc(y[check], fitted.decision_function(pairs[check])) for fitted in path]
    best = int(np.argmax(scores))
    # From C = 1 up: a machine with a large C is found sooner, and surer, from one with a smaller.
    *_, fitted = model(protocol.tol).path(nodes, pairs[train], y[train], alphas[: best + 1])
    return {
        "roc": roc(y[test], fitted.decision_function(pairs[test])),
        "C": protocol.costs[best],
        "gap": float(fitted.solution_.gap),
        "seconds": round(thread_time() - start, 2),
    }


def roc(y: Matrix, f: Any) -> float:
    """Area under the curve; scores equal up to rounding are ties."""
    f = np.asarray(f)
    return float(roc_auc_score(y, np.round(f / max(float(np.abs(f).max()), 1e-300), _DIGITS)))


def curves(row: Row, protocol: Protocol, cells: Cells) -> dict[str, list[list[float]]]:
    """ROC of every fold along δ, for each strategy."""

    def folds(strategy: str, mix: float) -> list[float]:
        known = strategy if mix > 0 else KERNEL
        done = [Case(row.network, row.inputs, known, mix, fold) for fold in range(protocol.folds)]
        return [cells[str(case)]["roc"] for case in done]

    return {strategy: [folds(strategy, mix) for mix in protocol.mixes] for strategy in (KERNEL, DUPLICATE)}
