"""K12 Table 2: its protocol and its four methods, as published and with everything chosen on the training part.

The identity operator is the KDE of Cortes et al. (2005): h(x) = Σᵢ βᵢ(x) ψ(yᵢ) with β(x) = (K + λI)⁻¹ k_x, then the
training output whose features are closest to h(x).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from iokr._array import to_numpy
from iokr.apps.report import Spread
from iokr.decoders.candidates import Candidates
from iokr.embeddings.base import Embedding
from iokr.embeddings.eigen import KernelPCA
from iokr.embeddings.identity import Identity
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import RBF
from iokr.metrics import rbf_loss
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr_lab.baselines.kde import KDE
from iokr_lab.images.halves import ImageSplit, Matrix, halves
from iokr_lab.published import published
from iokr_lab.study import Case, Plan

DRAWN_FROM, DRAWN = 1000, 600
N_PICTURES = 12
FOLDS = {5: "5 folds of 120", 3: "3 folds of 200"}  # training on one of them
PIXELS: dict[str, Callable[[Matrix], Matrix]] = {
    "[−1, 1]": lambda images: images,
    "[0, 1]": lambda images: (images + 1) / 2,
    "standardised": lambda images: (images - images.mean(axis=0)) / np.maximum(images.std(axis=0), 1e-3),
    "unit length": lambda images: images / np.linalg.norm(images, axis=1, keepdims=True),
}
AS_DISTRIBUTED = "[−1, 1]"

COMMON = 10  # σ of the one loss by which everything is chosen and compared
SHOWN = (7, 10, 12)  # the losses of the published rows, to read ours in their units
SIGMAS_K = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)  # what to try for the input kernel
SIGMAS_L = (3.5, 5.0, 7.0, 10.0, 14.0, 20.0)  # and for the output kernel
ALPHAS = tuple(10.0**k for k in np.arange(-8, 2.5, 0.5))
EPSILONS = (1e-4, 1e-2, 1.0)
RANKS = (8, 16, 32, 64, None)
N_FOLDS = 5  # of the training part, where it is chosen by folds
FEW_SIGMAS = ((4.0, 5.6, 8.0), (7.0, 10.0, 14.0))  # σ_k and σ_l to choose from by folds, which refit everything


def splits(images: Matrix, n_folds: int, pixels: str, draw: tuple[int, int]) -> list[ImageSplit]:
    """Draw digits; train on one fold of them and test on the others, for every fold in turn."""
    rows = np.random.default_rng(draw).choice(len(images), size=min(DRAWN, len(images)), replace=False)
    upper, lower = halves(PIXELS[pixels](images[rows]))
    every = np.arange(len(rows))
    parts = ((train, np.delete(every, train)) for train in np.array_split(every, n_folds))
    return [ImageSplit(upper[train], lower[train], upper[test], lower[test]) for train, test in parts]


def gaussian(sigma: float) -> RBF:
    """exp(−‖x − z‖² / (2σ²))."""
    return RBF(gamma=1 / (2 * sigma**2))


def loss(Y: Matrix, answers: Any, sigma: float) -> float:
    """Mean of 2 − 2 exp(−‖y − ŷ‖² / (2σ²)): the paper's RBF loss."""
    return rbf_loss(Y, answers, gamma=1 / (2 * sigma**2))


# ------------------------------------------------------------------------------------------------ as published


@dataclass(frozen=True)
class PublishedRow:
    """A row of K12 Table 2, as printed."""

    method: str
    lam: float
    sigma_k: float
    sigma_l: float

    @property
    def loss(self) -> Spread:
        """As printed."""
        return published("k12_table2")[self.method]["RBF loss"]


PUBLISHED = (
    PublishedRow("KDE of Cortes et al. (identity)", 0.01, 0.1, 10),
    PublishedRow("KDE of Weston et al. (kernel PCA)", 0.001, 0.07, 7),
    PublishedRow("covariance", 0.1, 1, 12),
    PublishedRow("conditional covariance", 0.1, 1, 12),
)


def published_model(row: PublishedRow, operator: Callable[[Kernel], Any] = lambda kernel: kernel) -> IOKR:
    """The identity operator, or another one, with the parameters of a row of Table 2.

    ‖ψ(y)‖ = 1, so the closest output is the one with the largest ⟨h(x), ψ(y)⟩; ranked by that, it is found also where
    h(x) is too small to be seen beside 1.
    """
    kernel, output_kernel = operator(gaussian(row.sigma_k)), gaussian(row.sigma_l)
    return IOKR(kernel, output_kernel=output_kernel, alpha=row.lam, decoder=Candidates(by="score"))


def own_model(row: PublishedRow) -> IOKR:
    """The method of a row of Table 2 with the parameters of that row.

    Open in the paper: ε, here a hundredth of the largest eigenvalue of K/n; the number of components, here all.
    """
    if "Weston" in row.method:
        return KDE(gaussian(row.sigma_k), output_kernel=gaussian(row.sigma_l), alpha=row.lam)
    operators: dict[str, Any] = {"covariance": Covariance, "conditional covariance": ConditionalCovariance}
    return published_model(row, operators[row.method]) if row.method in operators else published_model(row)


# ---------------------------------------------------------------------------- everything chosen on the training part


@dataclass(frozen=True)
class OperatorMethod:
    """A row of the comparison: an operator kernel for every σ_k, an embedding for every σ_l."""

    name: str
    operators: tuple[Callable[[Kernel], Any], ...] = (lambda kernel: kernel,)  # what is tried with a scalar kernel
    embeddings: tuple[Embedding | None, ...] = (None,)
    by_folds: bool = False  # of the training part, refitting everything, instead of by leave-one-out

    def models(self) -> Iterator[IOKRCV]:
        """What to choose from: each chooses σ_k, λ (and ε) by itself, in the output feature space."""
        sigmas_k, sigmas_l = FEW_SIGMAS if self.by_folds else (SIGMAS_K, SIGMAS_L)
        folds = KFold(N_FOLDS) if self.by_folds else None
        for sigma, embedding in itertools.product(sigmas_l, self.embeddings):
            kernels = [operator(gaussian(sigma_k)) for sigma_k in sigmas_k for operator in self.operators]
            yield IOKRCV(kernels, output_kernel=gaussian(sigma), embedding=embedding, alphas=ALPHAS, cv=folds)


_CONDITIONAL = tuple(partial(ConditionalCovariance, epsilon=epsilon) for epsilon in EPSILONS)
METHODS = (
    OperatorMethod("identity"),
    OperatorMethod("kernel PCA", embeddings=tuple(KernelPCA(rank) for rank in RANKS)),
    OperatorMethod("covariance", operators=(Covariance,)),
    OperatorMethod("covariance, by folds", operators=(Covariance,), by_folds=True),
    OperatorMethod("conditional covariance", operators=_CONDITIONAL),
    OperatorMethod("conditional covariance, by folds", operators=_CONDITIONAL, by_folds=True),
)
IDENTITY = METHODS[0].name


def chosen_model(method: OperatorMethod, X: Matrix, Y: Matrix) -> IOKRCV:
    """σ_k, λ and ε by the error in the output feature space; σ_l and the number of components by the common loss."""
    left_out = out_of_fold_loss if method.by_folds else left_out_loss
    models: list[IOKRCV] = [model.fit(X, Y) for model in method.models()]
    return min(models, key=lambda model: left_out(model, X, Y))


def left_out_loss(model: IOKRCV, X: Matrix, Y: Matrix) -> float:
    """The common loss when each training digit is completed without its own lower half, also as an answer."""
    E = model.embedding_
    S = E.represent(Y)
    costs = to_numpy(E.sq_norms(S))[None, :] - 2 * to_numpy(E.inner(model.loo_decision_function(), S))
    np.fill_diagonal(costs, np.inf)
    return loss(Y, Y[costs.argmin(axis=1)], COMMON)


def out_of_fold_loss(model: IOKRCV, X: Matrix, Y: Matrix) -> float:
    """The common loss when each fold of the training part is completed by a model of the others."""
    kernel = model.kernel[model.best_index_[0]]
    plain = IOKR(kernel, output_kernel=model.output_kernel, embedding=model.embedding, alpha=model.alpha_)
    return loss(Y, cross_val_predict(plain, X, Y, cv=model.cv), COMMON)


def chosen_parameters(model: IOKRCV) -> dict[str, float]:
    """σ_k, λ, σ_l, and what else the method has."""
    kernel, output_kernel = model.kernel_, model.output_kernel_
    found = {"σ_k": _sigma(getattr(kernel, "kernel", kernel)), "λ": model.alpha_, "σ_l": _sigma(output_kernel)}
    if isinstance(kernel, ConditionalCovariance):
        found["ε"] = kernel.epsilon_
    if isinstance(model.embedding_, KernelPCA):
        found["components"] = float(len(model.embedding_.eigenvalues_))
    return found


def _sigma(kernel: Any) -> float:
    """Back from γ = 1/(2σ²)."""
    return float((2 * kernel.gamma) ** -0.5)


def _pixels(split: ImageSplit) -> Any:
    kernels = [gaussian(sigma) for sigma in SIGMAS_K]
    return IOKRCV(kernels, embedding=Identity(centered=True)).fit(split.X, split.Y).predict(split.X_test)


def _nearest(split: ImageSplit) -> Any:
    return KNeighborsRegressor(n_neighbors=1).fit(split.X, split.Y).predict(split.X_test)


def _one_answer(split: ImageSplit) -> Matrix:
    losses = [loss(split.Y, np.broadcast_to(y, split.Y.shape), COMMON) for y in split.Y]
    return np.broadcast_to(split.Y[np.argmin(losses)], split.Y_test.shape)


BASELINES: dict[str, Callable[[ImageSplit], Matrix]] = {
    "pixels, no pre-image": _pixels,
    "nearest neighbour": _nearest,
    "one answer for all": _one_answer,
}


# ------------------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class DigitDraws(Plan):
    """How often digits are drawn, and whether methods that choose by folds, which takes long, are among the rest."""

    repeat: int = 5
    by_folds: bool = True

    @property
    def methods(self) -> list[str]:
        """Names of the methods that choose everything on the training part."""
        return [method.name for method in METHODS if self.by_folds or not method.by_folds]


@dataclass(frozen=True)
class TableRow(Case):
    """A row of Table 2 at its own parameters, by its own method or by the identity operator."""

    draw: int
    n_folds: int
    pixels: str
    row: str
    by: str = "identity"


@dataclass(frozen=True)
class Completion(Case):
    """Every parameter chosen on the training part; or a baseline."""

    draw: int
    n_folds: int
    fold: int
    method: str


def example(method: str) -> Completion:
    """The split of the pictures."""
    return Completion(draw=0, n_folds=3, fold=0, method=method)


def cases(plan: DigitDraws, images: Matrix) -> list[Case]:
    """On every draw the first row of Table 2 under every interpretation of the paper, all rows, and every method."""
    found: dict[Case, None] = {}
    rows = [row.method for row in PUBLISHED]
    methods = [*plan.methods, *BASELINES]
    for draw in range(plan.repeat):
        found |= {TableRow(draw, *which, rows[0]): None for which in itertools.product(FOLDS, PIXELS)}
        every = itertools.product(rows, ("own method", "identity"))
        found |= {TableRow(draw, 5, AS_DISTRIBUTED, *which): None for which in every}
        for n_folds in FOLDS:
            found |= {Completion(draw, n_folds, *which): None for which in itertools.product(range(n_folds), methods)}
    return list(found)


def work(case: TableRow | Completion, plan: DigitDraws, images: Matrix) -> dict[str, Any]:
    """RBF losses."""
    if isinstance(case, TableRow):
        return _at_parameters(case, splits(images, case.n_folds, case.pixels, (plan.seed, case.draw)))
    return _chosen(case, splits(images, case.n_folds, AS_DISTRIBUTED, (plan.seed, case.draw))[case.fold])


def _at_parameters(case: TableRow, parts: list[ImageSplit]) -> dict[str, list[float]]:
    """For each fold the loss, and the fraction of test digits to which every training digit is equally (un)like."""
    row = next(row for row in PUBLISHED if row.method == case.row)
    model = published_model(row) if case.by == "identity" else own_model(row)
    answers = [model.fit(split.X, split.Y).predict(split.X_test) for split in parts]
    unlike = [gaussian(row.sigma_k)(split.X_test, split.X) == 0 for split in parts]
    return {
        "losses": [loss(split.Y_test, given, row.sigma_l) for split, given in zip(parts, answers, strict=True)],
        "tied": [float(zero.all(axis=1).mean()) for zero in unlike],
    }


def _chosen(case: Completion, split: ImageSplit) -> dict[str, Any]:
    """Losses at the σ of every row, what was chosen, and on the split of the pictures what they show."""
    found: dict[str, Any] = {}
    if case.method in BASELINES:
        answers = BASELINES[case.method](split)
    else:
        model = chosen_model(next(method for method in METHODS if method.name == case.method), split.X, split.Y)
        answers, found["chosen"] = model.predict(split.X_test), chosen_parameters(model)
        if case == example(IDENTITY):
            found["path"] = {"alphas": model.alphas, "errors": model.loo_errors_, "best": model.best_index_}
    if case == example(case.method):
        found["shown"] = np.asarray(answers[:N_PICTURES])
    return {"losses": {f"{sigma}": loss(split.Y_test, answers, sigma) for sigma in SHOWN}, **found}
