"""B16 section 6.2 as a protocol: models 0, 1, 2 over λ₂ and μ_t, and models that choose for themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BarycentricInterpolator
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.stats import ttest_rel

from iokr.embeddings.identity import Identity
from iokr.estimators.multitask.cv import MultiTaskCV
from iokr.estimators.multitask.learning import TaskProblem
from iokr.estimators.multitask.similarity import task_operator, task_similarity
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.structured.sets import Tanimoto
from iokr.losses.square import Square
from iokr.manifolds.laplacian import IteratedLaplacian
from iokr.problem import Problem
from iokr.report import usable_cores
from iokr_lab.data.nci import NCICancer

__all__ = [
    "Comparison",
    "Grid",
    "Modes",
    "Sweep",
    "candidates",
    "centred_gain",
    "compare",
    "holm",
    "molecules",
    "mse",
    "outputs",
    "paired_p",
    "split",
    "sweep",
]

Matrix = NDArray[np.float64]
Rows = NDArray[np.intp]
Step = Callable[[str], None]

SHARES = (0.05, 0.10, 0.20)
LAMBDA1 = 1.0
LAMBDA2 = (0.0, 1e-8, 1e-6, 1e-5, 1e-4)
STRENGTHS = (0.0, 0.4, 0.8, 0.95)
NEIGHBORS, POWER = 50, 5
OUTPUTS = {"±1": "active or not, +1 or −1", "score": "−log₁₀ GI50, the activity score over ten"}

ALPHAS = tuple(float(f"{alpha:.3g}") for alpha in np.logspace(-2, 3, 16))
COUPLINGS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)  # of models that choose for themselves
ALONE, OWN, SIMILAR, LEARNED, MEAN = (
    "independent",
    "independent, own alpha each",
    "estimated similarity",
    "learned operator",
    "mean of the labelled",
)
METHODS = (MEAN, ALONE, OWN, SIMILAR, LEARNED)


def outputs(data: NCICancer, kind: str) -> Matrix:
    """±1, or −log₁₀ GI50."""
    return np.where(data.active, 1.0, -1.0) if kind == "±1" else data.score / 10


def split(n: int, share: float, seed: int) -> tuple[Rows, Rows]:
    """Labelled and unlabelled rows; a larger share holds a smaller one of the same seed."""
    order = np.random.default_rng(seed).permutation(n)
    labelled = round(share * n)
    return order[:labelled], order[labelled:]


def mse(H: Matrix, Y: Matrix, A: Matrix | None = None) -> float:
    """(1/u) Σ ‖h(x_i) − y_i‖², in the metric A when one is given."""
    R = H - Y
    return float(np.mean(np.sum(R * (R if A is None else R @ A), axis=1)))


# ------------------------------------------------------------------------------------------------------- the molecules


@dataclass(frozen=True)
class Modes:
    """K = Z Zᵀ with Zᵀ(penalty)Z diagonal: one decomposition for every labelled set, every λ and every task operator.

    The graph is over all molecules, whichever are labelled, so h with kernel g k, at λ and μ, is that of the kernel
    Z diag(g/(λ + μgw)) Zᵀ on the labelled rows.
    """

    K: Matrix
    Z: Matrix
    w: NDArray[np.float64]

    def predict(self, rows: Rows, Y: Matrix, others: Rows, mu: float, A: Matrix, lam: float = LAMBDA1) -> Matrix:
        """h at `others` from the targets of `rows`, with the operator A between tasks."""
        gamma, E = np.linalg.eigh(A)
        Z, T = self.Z[rows], Y @ E
        distinct = np.unique(gamma)
        spectrum = np.empty((len(self.w), len(gamma)))
        for g, system in zip(distinct, self._kernels(rows, lam / distinct, mu), strict=True):
            columns = gamma == g
            system[np.diag_indices(len(rows))] += 1.0
            a = cho_solve(cho_factor(system, lower=True, overwrite_a=True, check_finite=False), T[:, columns])
            spectrum[:, columns] = (1 / (lam / g + mu * self.w))[:, None] * (Z.T @ a)
        return np.asarray(self.Z[others] @ (spectrum @ E.T))

    def _kernels(self, rows: Rows, x: Matrix, mu: float) -> Iterator[Matrix]:
        """Z diag(1/(x + μw)) Zᵀ on the labelled rows for each x = λ/g, descending; the last stands far from the others.

        As functions of log x the entries are analytic in a strip of half width π, so Chebyshev interpolation gives all
        but the last to 1e-10 from a dozen of them.
        """
        if mu == 0:
            plain = self.K[np.ix_(rows, rows)]
            yield from (plain / value for value in x)
            return
        Z = self.Z[rows]

        def exact(value: float) -> Matrix:
            half = Z / np.sqrt(value + mu * self.w)
            return np.asarray(half @ half.T)

        some = np.log(x[:-1])
        low, high = (some.min(), some.max()) if len(some) else (0.0, 0.0)
        middle, half = (low + high) / 2, (high - low) / 2
        needed = int(np.ceil(np.log(1e10) / np.arcsinh(np.pi / half))) + 1 if half else 1
        if needed < len(some):
            nodes = np.cos(np.pi * (np.arange(needed) + 0.5) / needed)
            basis = BarycentricInterpolator(nodes, np.eye(needed))((some - middle) / half)
            values = np.stack([exact(float(np.exp(middle + half * node))).ravel() for node in nodes])
            yield from ((row @ values).reshape(len(rows), -1) for row in basis)
        else:
            yield from (exact(value) for value in x[:-1])
        yield exact(x[-1])


def molecules(data: NCICancer) -> Modes:
    """Tanimoto kernel of the paths, and L⁵ of its graph of 50 nearest neighbours."""
    kernel = Tanimoto().fit(data.paths)
    R = kernel.represent(data.paths)
    gram = kernel.gram(R)
    K = np.array(gram.dense())
    L = np.asarray(IteratedLaplacian(power=POWER, n_neighbors=min(NEIGHBORS, len(K) - 1)).penalty(R, gram))
    s, U = eigh(K)
    root = U * np.sqrt(np.clip(s, 0.0, None))
    w, V = eigh(root.T @ L @ root, overwrite_a=True)
    return Modes(K, root @ V, np.clip(w, 0.0, None))


# ------------------------------------------------------------------------------------------------- Figures 6 and 7


@dataclass(frozen=True)
class Sweep:
    """Errors on the unlabelled molecules, a value per split.

    Keys: (outputs, share, model, λ₂, μ_t, metric), metric "y" or "published".
    """

    errors: dict[tuple[str, float, int, float, float, str], list[float]] = field(default_factory=dict)

    def add(self, key: tuple[str, float, int, float, float], on_y: float, published: float) -> None:
        """One split more."""
        for metric, error in (("y", on_y), ("published", published)):
            self.errors.setdefault((*key, metric), []).append(error)

    def of(self, kind: str, share: float, model: int, lam2: float, mu_t: float, metric: str = "y") -> Matrix:
        """The splits of one cell."""
        return np.array(self.errors[kind, share, model, lam2, mu_t, metric])


def sweep(data: NCICancer, modes: Modes, seeds: Sequence[int], step: Step) -> Sweep:
    """λ₁ = 1, outputs as they are: every model over λ₂ and μ_t.

    Model 1 predicts the y of model 0, so its error on y is that of model 0; the published one is in the metric of M.
    """
    result = Sweep()
    cells = list(itertools.product(OUTPUTS, SHARES, seeds))
    for (kind, share, seed), errors in in_parallel(
        lambda cell: _sweep(modes, outputs(data, cell[0]), *cell[1:]), cells
    ):
        step(f"{kind}, {share:.0%} labelled, split {seed}")
        for key, on_y, published in errors:
            result.add((kind, share, *key), on_y, published)
    return result


def _sweep(modes: Modes, Y: Matrix, share: float, seed: int) -> list[tuple[tuple[int, float, float], float, float]]:
    """((model, λ₂, μ_t), error on y, error as published)."""
    rows, others = split(len(Y), share, seed)
    M, truth, identity = task_similarity(Y[rows]), Y[others], np.eye(Y.shape[1])
    found = []
    for lam2 in LAMBDA2:
        alone = modes.predict(rows, Y[rows], others, 2 * lam2, identity)
        on_y = mse(alone, truth)
        for mu_t in (*STRENGTHS, 1.0):
            found.append(((1, lam2, mu_t), on_y, mse(alone, truth, mu_t * M + (1 - mu_t) * identity)))
        for mu_t in STRENGTHS:
            H = modes.predict(rows, Y[rows], others, 2 * lam2, task_operator(M, mu_t)) if mu_t else alone
            found.append(((2, lam2, mu_t), mse(H, truth), mse(H, truth)))
    return found


def in_parallel(work: Callable[[Any], Any], cells: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """(cell, work(cell)) in order; the linear algebra of two cells runs at a time where there are two cores."""
    with ThreadPoolExecutor(usable_cores()) as pool:
        yield from zip(cells, pool.map(work, cells), strict=True)


def centred_gain(data: NCICancer, modes: Modes, seeds: Sequence[int]) -> dict[tuple[str, bool, float], list[float]]:
    """Model 0 at the smallest share over λ₂, outputs as they are and centred: (outputs, centred, λ₂)."""
    errors: dict[tuple[str, bool, float], list[float]] = {}
    for kind, centred, seed in itertools.product(OUTPUTS, (False, True), seeds):
        Y = outputs(data, kind)
        rows, others = split(len(Y), SHARES[0], seed)
        mean = Y[rows].mean(axis=0) if centred else np.zeros(Y.shape[1])
        for lam2 in LAMBDA2:
            H = modes.predict(rows, Y[rows] - mean, others, 2 * lam2, np.eye(Y.shape[1])) + mean
            errors.setdefault((kind, centred, lam2), []).append(mse(H, Y[others]))
    return errors


# ------------------------------------------------------------------------------- models that choose for themselves


@dataclass(frozen=True)
class Comparison:
    """Errors on y at the unlabelled molecules, a value per split: (outputs, centred, share, method).

    `best` has the same for parameters chosen on the unlabelled molecules themselves, `chosen` what was chosen.
    """

    errors: dict[tuple[str, bool, float, str], list[float]] = field(default_factory=dict)
    best: dict[tuple[str, bool, str], list[float]] = field(default_factory=dict)
    chosen: dict[tuple[str, bool, float, str], list[tuple[float, float | None]]] = field(default_factory=dict)

    def of(self, kind: str, centred: bool, share: float, method: str) -> Matrix:
        """The splits of one cell."""
        return np.array(self.errors[kind, centred, share, method])


def candidates(centred: bool) -> dict[str, MultiTaskCV]:
    """Every method chooses its parameters by exact leave-one-out on the labelled molecules, from the same alphas."""
    shared: dict[str, Any] = {"alphas": ALPHAS, "embedding": Identity(centered=centred)}
    return {
        ALONE: MultiTaskCV(Precomputed(), strengths=(0.0,), **shared),
        SIMILAR: MultiTaskCV(Precomputed(), strengths=COUPLINGS, **shared),
        LEARNED: MultiTaskCV(Precomputed(), learn_tasks=True, tol=1e-4, **shared),
    }


def compare(data: NCICancer, modes: Modes, seeds: Sequence[int], step: Step) -> Comparison:
    """Supervised: λ and the coupling chosen on the labelled molecules alone."""
    result = Comparison()
    cells = list(itertools.product(OUTPUTS, (False, True), SHARES, seeds))
    for (kind, centred, share, seed), (errors, best, chosen) in in_parallel(
        lambda cell: _compare(modes, outputs(data, cell[0]), *cell[1:]), cells
    ):
        step(f"{kind}{', centred' if centred else ''}, {share:.0%} labelled, split {seed}, parameters chosen")
        for method, error in errors.items():
            result.errors.setdefault((kind, centred, share, method), []).append(error)
        for method, error in best.items():
            result.best.setdefault((kind, centred, method), []).append(error)
        for method, parameters in chosen.items():
            result.chosen.setdefault((kind, centred, share, method), []).append(parameters)
    return result


def _compare(
    modes: Modes, Y: Matrix, centred: bool, share: float, seed: int
) -> tuple[dict[str, float], dict[str, float], dict[str, tuple[float, float | None]]]:
    """Errors of every method, the best that could have been chosen (at the smallest share), and what was chosen."""
    rows, others = split(len(Y), share, seed)
    K, K_new = modes.K[np.ix_(rows, rows)], modes.K[np.ix_(others, rows)]
    errors, best, chosen = {MEAN: mse(np.broadcast_to(Y[rows].mean(axis=0), Y[others].shape), Y[others])}, {}, {}
    for method, model in candidates(centred).items():
        errors[method] = mse(model.fit(K, Y[rows]).predict(K_new), Y[others])
        chosen[method] = (model.alpha_, model.strength_)
    if share == SHARES[0]:
        grid = Grid(K, K_new, Y[rows], centred)
        errors[OWN] = mse(grid.own_alphas(), Y[others])
        for method, strengths in ((ALONE, (0.0,)), (SIMILAR, COUPLINGS)):
            best[method] = min(mse(H, Y[others]) for H in grid.answers(strengths))
    return errors, best, chosen


class Grid:
    """Answers for the unlabelled molecules at every strength and alpha, for those who may look at them."""

    def __init__(self, K: Matrix, K_new: Matrix, Y: Matrix, centred: bool) -> None:
        index = np.arange(len(K))
        self.mean = Y.mean(axis=0) if centred else np.zeros(Y.shape[1])
        self.K_new, self.Y = K_new, Y - self.mean
        self.tasks = TaskProblem(Problem(Precomputed(K).fit(index).gram(index), self.Y, Square(), 1.0))

    def answers(self, strengths: Sequence[float]) -> Iterator[Matrix]:
        """h for each strength and alpha."""
        M = task_similarity(self.Y)
        for A in (task_operator(M, mu_t) for mu_t in strengths):
            path = self.tasks.path(A)
            for alpha in ALPHAS:
                yield self.K_new @ path.coefficients(self.Y, alpha) @ A + self.mean

    def own_alphas(self) -> Matrix:
        """Independent tasks in every respect: each has the alpha with its own smallest leave-one-out error."""
        path = self.tasks.path(np.eye(self.Y.shape[1]))
        errors = [np.sum(path.loo_residuals(self.Y, alpha) ** 2, axis=0) for alpha in ALPHAS]
        best = np.argmin(errors, axis=0)
        answers = list(self.answers((0.0,)))
        return np.stack([answers[i][:, j] for j, i in enumerate(best)], axis=1)


def paired_p(first: Matrix, second: Matrix) -> float:
    """Two-sided paired t-test; 1 when the two are the same, or when there are fewer than two splits."""
    if len(first) < 2 or np.all(first == second):
        return 1.0
    return float(ttest_rel(first, second).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction for as many tests as there are."""
    order = np.argsort(p)
    corrected, worst = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - rank) * p[i]))
        corrected[i] = worst
    return corrected
