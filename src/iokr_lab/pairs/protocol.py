"""HV10 Table 1 and Fig. 2: networks, kernels, folds over pairs, and the runs; `pairs.py` makes the page."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
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
from iokr_lab.data.yeast import YeastNetwork, load_yeast_metabolic, load_yeast_ppi
from iokr_lab.links.protocol import Lookup
from iokr_lab.published import published
from iokr_lab.study import Case, Plan

Matrix = NDArray[np.float64]
KERNEL, DUPLICATE, BOTH = "kernel", "duplicate", "both"  # both are the same at δ = 0
_DIGITS = 9  # scores are compared after rounding: localisations leave many pairs exactly alike


@dataclass(frozen=True)
class Row:
    """A row of HV10 Table 1: the best strategy and its δ."""

    network: str
    inputs: str
    strategy: str
    mix: float

    def __str__(self) -> str:
        return f"{self.network}, {self.inputs}"


PUBLISHED = tuple(
    Row(network, inputs, strategy, best.mean)
    for name, columns in published("hv10_table1").items()
    for network, inputs in (name.split(", "),)
    for strategy, best in columns.items()
)
POSSIBLE = tuple(row for row in PUBLISHED if row.inputs != "phy")  # there are no phylogenetic profiles


@dataclass(frozen=True)
class PairsPlan(Plan):
    """How much of the published protocol is run; decoys and folds are drawn once.

    `inner` is the number of inner folds by which C is chosen; 1 is a single split. `tol_inner` and `tol` are the gaps
    at which SVMs stop there and in the final fit, `steps` the most that either takes for one C.
    """

    repeat: int = 0
    mixes: tuple[float, ...] = (0.0, 0.5, 1.0)
    decoys: int = 2
    inner: int = 1
    costs: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    folds: int = 5
    tol_inner: float = 5e-3
    tol: float = 2e-3
    steps: int = 600

    @property
    def words(self) -> str:
        """For the page."""
        choice = "one inner split" if self.inner == 1 else f"{self.inner} inner folds"
        return f"{len(self.mixes)} values of δ, {self.decoys} decoys per edge, C by {choice}"


PLANS = {
    "short": PairsPlan(mixes=(0.0, 1.0), decoys=1, costs=(1.0, 8.0), folds=2, tol_inner=2e-2, tol=1e-2),
    "default": PairsPlan(),
    "full": PairsPlan(mixes=tuple(round(0.1 * i, 1) for i in range(11)), decoys=9, inner=5, tol_inner=2e-3, tol=1e-3),
}


@dataclass(frozen=True)
class Fold(Case):
    """One fold of one point of a curve."""

    network: str
    inputs: str
    strategy: str
    mix: float
    fold: int

    def __str__(self) -> str:
        return f"{self.network}, {self.inputs}, {self.strategy}, δ = {self.mix:g}, fold {self.fold}"


def cases(plan: PairsPlan, data: object) -> list[Fold]:
    """Every cell; at δ = 0 both strategies are one."""
    return [
        Fold(row.network, row.inputs, strategy, mix, fold)
        for row, mix in itertools.product(POSSIBLE, plan.mixes)
        for strategy in ((KERNEL, DUPLICATE) if mix > 0 else (KERNEL,))
        for fold in range(plan.folds)
    ]


# ------------------------------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class Data:
    """Kernel matrices by network and inputs; pairs and their labels by network."""

    grams: dict[tuple[str, str], Matrix]
    pairs: dict[str, tuple[NDArray[np.int64], Matrix]]


def load(plan: PairsPlan) -> Data:
    """Both networks, their kernels, and the decoys of the plan."""
    networks = {"interaction": load_yeast_ppi(), "metabolic": load_yeast_metabolic()}
    return Data(
        {(row.network, row.inputs): node_gram(networks[row.network], row.inputs) for row in POSSIBLE},
        {name: labelled_pairs(network, plan.decoys, plan.seed) for name, network in networks.items()},
    )


def node_gram(data: YeastNetwork, inputs: str) -> Matrix:
    """k on the nodes, unit diagonal where there is anything known; "integrated" is the sum."""
    if inputs == "integrated":
        parts = ("exp", "loc") if data.edges_y2h_full is None else ("exp", "loc", "y2h")
        return np.asarray(sum(node_gram(data, part) for part in parts))
    if inputs == "exp":
        return np.asarray(RBF()(data.expression))
    if inputs == "loc":
        return np.asarray(Cosine()(data.loc))
    assert data.edges_y2h_full is not None
    graph, nodes = adjacency_of(data.edges_y2h_full, len(data.orf)), np.arange(len(data.orf))
    return np.asarray(Normalized(Diffusion(1.0, graph)).fit(nodes)(nodes))


def labelled_pairs(data: YeastNetwork, decoys: int, seed: int) -> tuple[NDArray[np.int64], Matrix]:
    """Edges, and random pairs without one, in random order."""
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


def work(case: Fold, plan: PairsPlan, data: Data) -> dict[str, Any]:
    """ROC of one fold, with the C that inner splits of its training pairs prefer."""
    start = thread_time()
    K = Lookup(data.grams[case.network, case.inputs])
    pairs, y = data.pairs[case.network]
    nodes = np.arange(len(K.matrix))
    folds = StratifiedKFold(plan.folds, shuffle=True, random_state=plan.seed)
    train, test = list(folds.split(pairs, y))[case.fold]
    alphas = [alpha_of(cost) for cost in plan.costs]

    def model(tol: float) -> PairModel:
        solver = CoordinateDescent(tol, plan.steps)
        return PairModel(K, strategy=case.strategy, mix=case.mix, loss=MaxMargin(), solver=solver)

    scores = np.zeros(len(alphas))
    inner = StratifiedKFold(max(plan.inner, 5), shuffle=True, random_state=plan.seed + 1)
    for one, other in itertools.islice(inner.split(pairs[train], y[train]), plan.inner):
        fit, check = train[one], train[other]
        path = model(plan.tol_inner).path(nodes, pairs[fit], y[fit], alphas)
        scores += [roc(y[check], fitted.decision_function(pairs[check])) for fitted in path]
    best = int(np.argmax(scores))
    # From C = 1 up: an SVM with a large C is found sooner, and surer, from one with a smaller.
    *_, fitted = model(plan.tol).path(nodes, pairs[train], y[train], alphas[: best + 1])
    return {
        "roc": roc(y[test], fitted.decision_function(pairs[test])),
        "C": plan.costs[best],
        "gap": float(fitted.solution_.gap),
        "seconds": round(thread_time() - start, 2),
    }


def roc(y: Matrix, f: Any) -> float:
    """Area under the curve; scores equal up to rounding are ties."""
    f = np.asarray(f)
    return float(roc_auc_score(y, np.round(f / max(float(np.abs(f).max()), 1e-300), _DIGITS)))
