"""B16 section 6.2: models 0, 1, 2 over λ₂ and μ_t, and models that choose their parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BarycentricInterpolator
from scipy.linalg import cho_factor, cho_solve, eigh

from iokr.chem.structures.graphs import molecule_graph
from iokr.chem.structures.molecules import rdkit_version
from iokr.datasets.home import DataNotFound
from iokr.estimators.multitask.cv import MultiTaskCV
from iokr.estimators.multitask.operators import TaskProblem, task_operator, task_similarity
from iokr.kernels.algebra import TanimotoOf
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.structured.paths import Paths
from iokr.kernels.structured.sets import Tanimoto
from iokr.losses.square import Square
from iokr.manifolds.laplacian import IteratedLaplacian
from iokr.problem import Problem
from iokr_lab.data.nci import NCICancer, load_nci_cancer, load_nci_smiles
from iokr_lab.study import Case, Plan

Matrix = NDArray[np.float64]
Rows = NDArray[np.intp]

FRACTIONS = (0.05, 0.10, 0.20)
LAMBDA1 = 1.0
LAMBDA2 = (0.0, 1e-8, 1e-6, 1e-5, 1e-4)
TASK_WEIGHTS = (0.0, 0.4, 0.8, 0.95)
NEIGHBORS = 50
POWER = 5
BONDS = 6
OUTPUTS = {"±1": "active or not, +1 or −1", "score": "−log₁₀ GI50, the activity score over ten"}

ALPHAS = tuple(float(f"{alpha:.3g}") for alpha in np.logspace(-2, 3, 16))
COUPLINGS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)  # task weights of models that choose their parameters
ALONE = "independent"
OWN = "independent, own alpha each"
SIMILAR = "estimated similarity"
LEARNED = "learned operator"
MEAN = "mean of the labelled"
METHODS = (MEAN, ALONE, OWN, SIMILAR, LEARNED)


def outputs(data: NCICancer, kind: str) -> Matrix:
    """±1, or −log₁₀ GI50."""
    if kind == "±1":
        return np.where(data.active, 1.0, -1.0)
    return data.score / 10


def split(n: int, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Labelled and unlabelled rows; a larger fraction includes a smaller one of the same seed."""
    order = np.random.default_rng(seed).permutation(n)
    labelled = round(fraction * n)
    return order[:labelled], order[labelled:]


def mse(H: Matrix, Y: Matrix, A: Matrix | None = None) -> float:
    """(1/u) Σ ‖h(x_i) − y_i‖², in the metric A if it is given."""
    R = H - Y
    RA = R if A is None else R @ A
    return float(np.mean(np.sum(R * RA, axis=1)))


# ------------------------------------------------------------------------------------------------------- the molecules


@dataclass(frozen=True)
class Modes:
    """K = Z Zᵀ with diagonal Zᵀ(penalty)Z: one decomposition for every labelled set, every λ and every task operator.

    The graph is over all molecules, labelled or not, so h with kernel g k, at λ and μ, is that of the kernel
    Z diag(g/(λ + μgw)) Zᵀ on the labelled rows.
    """

    K: Matrix
    Z: Matrix
    w: NDArray[np.float64]

    def predict(self, rows: Rows, Y: Matrix, others: Rows, mu: float, A: Matrix, lam: float = LAMBDA1) -> Matrix:
        """h at `others` from the targets of `rows` with the operator A between tasks."""
        gamma, E = np.linalg.eigh(A)
        Z = self.Z[rows]
        T = Y @ E
        distinct = np.unique(gamma)
        spectrum = np.empty((len(self.w), len(gamma)))
        for g, system in zip(distinct, self.kernels(rows, lam / distinct, mu), strict=True):
            columns = gamma == g
            system[np.diag_indices(len(rows))] += 1.0
            a = cho_solve(cho_factor(system, lower=True, overwrite_a=True, check_finite=False), T[:, columns])
            spectrum[:, columns] = (1 / (lam / g + mu * self.w))[:, None] * (Z.T @ a)
        return np.asarray(self.Z[others] @ (spectrum @ E.T))

    def kernels(self, rows: Rows, x: Matrix, mu: float) -> Iterator[Matrix]:
        """Z diag(1/(x + μw)) Zᵀ on the labelled rows for each x = λ/g in descending order.

        As functions of log x the entries are analytic in a strip of half width π, so Chebyshev interpolation gives them
        to 1e-10 from a dozen matrices. The last x is far from the others and is computed directly.
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
        low = float(some.min()) if len(some) else 0.0
        high = float(some.max()) if len(some) else 0.0
        middle = (low + high) / 2
        half = (high - low) / 2
        needed = 1
        if half > 0:
            needed = int(np.ceil(np.log(1e10) / np.arcsinh(np.pi / half))) + 1
        if needed < len(some):
            nodes = np.cos(np.pi * (np.arange(needed) + 0.5) / needed)
            basis = BarycentricInterpolator(nodes, np.eye(needed))((some - middle) / half)
            values = np.stack([exact(float(np.exp(middle + half * node))).ravel() for node in nodes])
            yield from ((row @ values).reshape(len(rows), -1) for row in basis)
        else:
            yield from (exact(value) for value in x[:-1])
        yield exact(x[-1])


def molecules(data: NCICancer) -> Modes:
    """The Tanimoto kernel of the paths, and L⁵ of its graph of 50 nearest neighbours."""
    kernel = Tanimoto().fit(data.paths)
    R = kernel.represent(data.paths)
    gram = kernel.gram(R)
    K = np.array(gram.dense())
    L = np.asarray(IteratedLaplacian(power=POWER, n_neighbors=min(NEIGHBORS, len(K) - 1)).penalty(R, gram))
    s, U = eigh(K)
    root = U * np.sqrt(np.clip(s, 0.0, None))
    w, V = eigh(root.T @ L @ root, overwrite_a=True)
    return Modes(K, root @ V, np.clip(w, 0.0, None))


# ----------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Data:
    """Molecules, the shared decomposition, and the kernel from structures or the reason why it is missing."""

    nci: NCICancer
    modes: Modes
    structures: Matrix | str = ""


def load(plan: Plan) -> Data:
    """The data, the kernel of the molecules and the decomposition with its graph."""
    nci = load_nci_cancer()
    return Data(nci, molecules(nci), kernel_of_structures(nci))


def kernel_of_structures(data: NCICancer) -> Matrix | str:
    """The Tanimoto kernel of paths of up to six bonds, computed from structures; or the reason why it is missing."""
    try:
        rdkit_version()
        smiles = load_nci_smiles(data.nsc)
    except (ImportError, DataNotFound) as error:
        return " ".join(str(error).split())
    graphs = [molecule_graph(text) for text in smiles]
    return np.asarray(TanimotoOf(Paths(BONDS))(graphs))


@dataclass(frozen=True)
class Sweep(Case):
    """Figures 6 and 7 on one split: λ₁ = 1, outputs not centred, every model over λ₂ and μ_t."""

    outputs: str
    fraction: float
    split: int


@dataclass(frozen=True)
class Comparison(Case):
    """Supervised models with λ and coupling chosen on the labelled molecules; `centred` ones have intercepts."""

    outputs: str
    centred: bool
    fraction: float
    split: int


@dataclass(frozen=True)
class FromStructures(Case):
    """Independent tasks at the smallest fraction, as in `Comparison`, with the kernel computed from structures."""

    outputs: str
    centred: bool
    split: int

    def __str__(self) -> str:
        return f"from structures, {super().__str__()}"


def cases(plan: Plan, data: Data) -> list[Case]:
    """Every split of all three kinds of cases."""
    splits = range(plan.repeat)
    found: list[Case] = [Sweep(*case) for case in itertools.product(OUTPUTS, FRACTIONS, splits)]
    found += [Comparison(*case) for case in itertools.product(OUTPUTS, (False, True), FRACTIONS, splits)]
    if not isinstance(data.structures, str):
        found += [FromStructures(*case) for case in itertools.product(OUTPUTS, (False, True), splits)]
    return found


def work(case: Sweep | Comparison | FromStructures, plan: Plan, data: Data) -> dict[str, Any]:
    """Errors on the unlabelled molecules of the split."""
    Y = outputs(data.nci, case.outputs)
    if isinstance(case, FromStructures):
        rows, others = split(len(Y), FRACTIONS[0], plan.seed + case.split)
        assert not isinstance(data.structures, str)
        return alone(data.structures, Y, rows, others, case.centred)
    rows, others = split(len(Y), case.fraction, plan.seed + case.split)
    if isinstance(case, Sweep):
        return sweep(data.modes, Y, rows, others, case.fraction == FRACTIONS[0])
    return compare(data.modes, Y, rows, others, case.centred, case.fraction == FRACTIONS[0])


def sweep(modes: Modes, Y: Matrix, rows: Rows, others: Rows, centred_too: bool) -> dict[str, Any]:
    """Lists of model, λ₂, μ_t, error on y and published error; and the errors of model 0 on centred outputs by λ₂.

    Model 1 makes the predictions of model 0, so both have the same error on y; its published error uses the metric of
    M.
    """
    M = task_similarity(Y[rows])
    truth = Y[others]
    identity = np.eye(Y.shape[1])
    mean = Y[rows].mean(axis=0)
    errors = []
    centred = []
    for lam2 in LAMBDA2:
        alone = modes.predict(rows, Y[rows], others, 2 * lam2, identity)
        for mu_t in (*TASK_WEIGHTS, 1.0):
            metric = mu_t * M + (1 - mu_t) * identity
            errors.append((1, lam2, mu_t, mse(alone, truth), mse(alone, truth, metric)))
        for mu_t in TASK_WEIGHTS:
            H = alone
            if mu_t > 0:
                H = modes.predict(rows, Y[rows], others, 2 * lam2, task_operator(M, mu_t))
            errors.append((2, lam2, mu_t, mse(H, truth), mse(H, truth)))
        if centred_too:
            H = modes.predict(rows, Y[rows] - mean, others, 2 * lam2, identity) + mean
            centred.append(mse(H, truth))
    return {"errors": errors, "centred": centred}


# --------------------------------------------------------------------------------- models that choose their parameters


def candidates(centred: bool) -> dict[str, MultiTaskCV]:
    """The methods; each chooses its parameters by exact leave-one-out on the labelled molecules, same alphas."""
    shared: dict[str, Any] = {"alphas": ALPHAS, "intercept": centred}
    return {
        ALONE: MultiTaskCV(Precomputed(), task_weights=(0.0,), **shared),
        SIMILAR: MultiTaskCV(Precomputed(), task_weights=COUPLINGS, **shared),
        LEARNED: MultiTaskCV(Precomputed(), learn_tasks=True, tol=1e-4, **shared),
    }


def compare(modes: Modes, Y: Matrix, rows: Rows, others: Rows, centred: bool, smallest: bool) -> dict[str, Any]:
    """Error on y and chosen parameters by method; at the smallest fraction also the best possible error."""
    K = modes.K[np.ix_(rows, rows)]
    K_new = modes.K[np.ix_(others, rows)]
    truth = Y[others]
    error = {MEAN: mse(np.broadcast_to(Y[rows].mean(axis=0), truth.shape), truth)}
    best = {}
    models = {method: model.fit(K, Y[rows]) for method, model in candidates(centred).items()}
    error |= {method: mse(model.predict(K_new), truth) for method, model in models.items()}
    if smallest:
        grid = GridPredictions(K, K_new, Y[rows], centred)
        error[OWN] = mse(grid.own_alphas(), truth)
        for method, task_weights in ((ALONE, (0.0,)), (SIMILAR, COUPLINGS)):
            best[method] = min(mse(H, truth) for H in grid.at(task_weights))
    return {
        "error": error,
        "best": best,
        "alpha": {method: model.alpha_ for method, model in models.items()},
        "task_weight": {method: model.task_weight_ for method, model in models.items()},
    }


def alone(K: Matrix, Y: Matrix, rows: Rows, others: Rows, centred: bool) -> dict[str, Any]:
    """Error on y of independent tasks with a kernel over all molecules, and the chosen alpha."""
    model = candidates(centred)[ALONE].fit(K[np.ix_(rows, rows)], Y[rows])
    return {"error": mse(model.predict(K[np.ix_(others, rows)]), Y[others]), "alpha": model.alpha_}


class GridPredictions:
    """Predictions for the unlabelled molecules at every task weight and alpha."""

    def __init__(self, K: Matrix, K_new: Matrix, Y: Matrix, centred: bool) -> None:
        index = np.arange(len(K))
        self.K_new = K_new
        self.Y = Y
        self.centred = centred
        ones = np.ones((len(Y), 1)) if centred else None
        self.tasks = TaskProblem(Problem(Precomputed(K).fit(index).gram(index), Y, Square(), 1.0, constants=ones))

    def at(self, task_weights: Sequence[float]) -> Iterator[Matrix]:
        """h for each task weight and alpha."""
        M = task_similarity(self.Y, centred=self.centred)
        for A in (task_operator(M, mu_t) for mu_t in task_weights):
            path = self.tasks.path(A)
            for alpha in ALPHAS:
                solution = path.solution(self.Y, alpha)
                H = self.K_new @ solution.C @ A
                yield H if solution.intercept is None else H + solution.intercept

    def own_alphas(self) -> Matrix:
        """Independent tasks, each with the alpha of its own smallest leave-one-out error."""
        path = self.tasks.path(np.eye(self.Y.shape[1]))
        errors = [np.sum(path.loo_residuals(self.Y, alpha) ** 2, axis=0) for alpha in ALPHAS]
        best = np.argmin(errors, axis=0)
        predicted = list(self.at((0.0,)))
        return np.stack([predicted[i][:, j] for j, i in enumerate(best)], axis=1)
