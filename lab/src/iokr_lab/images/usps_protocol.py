"""K12 Table 2: the protocol and the four methods, as published and with all parameters chosen on the training part.

The identity operator is the KDE of Cortes et al. (2005): h(x) = Σᵢ βᵢ(x) ψ(yᵢ) with β(x) = (K + λI)⁻¹ k_x, then the
training output whose features are closest to h(x). Models of features have no intercept, those of pixels have one.
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
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import RBF
from iokr.metrics import rbf_loss
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr_lab.baselines.kde import KDE
from iokr_lab.images.halves import Matrix, halves
from iokr_lab.published import published
from iokr_lab.splits import TrainTest
from iokr_lab.study import Case, Plan

DRAWN_FROM = 1000
DRAWN = 600
N_PICTURES = 12
FOLDS = {5: "5 folds of 120", 3: "3 folds of 200"}  # one of them for training
PIXELS: dict[str, Callable[[Matrix], Matrix]] = {
    "[−1, 1]": lambda images: images,
    "[0, 1]": lambda images: (images + 1) / 2,
    "standardised": lambda images: (images - images.mean(axis=0)) / np.maximum(images.std(axis=0), 1e-3),
    "unit length": lambda images: images / np.linalg.norm(images, axis=1, keepdims=True),
}
AS_DISTRIBUTED = "[−1, 1]"

COMMON = 10  # σ of the loss by which parameters are chosen and methods compared
SHOWN = (7, 10, 12)  # σ of the losses of the published rows
SIGMAS_K = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0)  # grid of the input kernel
SIGMAS_L = (3.5, 5.0, 7.0, 10.0, 14.0, 20.0)  # grid of the output kernel
ALPHAS = tuple(10.0**k for k in np.arange(-8, 2.5, 0.5))
EPSILONS = (1e-4, 1e-2, 1.0)
RANKS = (8, 16, 32, 64, None)
N_FOLDS = 5  # folds of the training part, for methods chosen by folds
FEW_SIGMAS = ((4.0, 5.6, 8.0), (7.0, 10.0, 14.0))  # grids of σ_k and σ_l for folds, which refit every model


def splits(images: Matrix, n_folds: int, pixels: str, draw: tuple[int, int]) -> list[TrainTest]:
    """Draw digits; train on one fold and test on the others, for every fold."""
    rows = np.random.default_rng(draw).choice(len(images), size=min(DRAWN, len(images)), replace=False)
    upper, lower = halves(PIXELS[pixels](images[rows]))
    every = np.arange(len(rows))
    return [TrainTest.of(upper, lower, train, np.delete(every, train)) for train in np.array_split(every, n_folds)]


def gaussian(sigma: float) -> RBF:
    """exp(−‖x − z‖² / (2σ²))."""
    return RBF(gamma=1 / (2 * sigma**2))


def loss(Y: Matrix, predicted: Any, sigma: float) -> float:
    """Mean of 2 − 2 exp(−‖y − ŷ‖² / (2σ²)): the paper's RBF loss."""
    return rbf_loss(Y, predicted, gamma=1 / (2 * sigma**2))


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
    """The identity operator, or another operator, with the parameters of a row of Table 2.

    ‖ψ(y)‖ = 1, so the closest output has the largest ⟨h(x), ψ(y)⟩; ranking by this score avoids cancellation if h(x) is
    tiny compared with 1.
    """
    kernel = operator(gaussian(row.sigma_k))
    output_kernel = gaussian(row.sigma_l)
    decoder = Candidates(by="score")
    return IOKR(kernel, output_kernel=output_kernel, alpha=row.lam, decoder=decoder, intercept=False)


def own_model(row: PublishedRow) -> IOKR:
    """The method of a row of Table 2 with the parameters of that row.

    The paper does not give ε, here a hundredth of the largest eigenvalue of K/n, nor the number of components, here
    all.
    """
    if "Weston" in row.method:
        return KDE(gaussian(row.sigma_k), output_kernel=gaussian(row.sigma_l), alpha=row.lam)
    operators: dict[str, Any] = {"covariance": Covariance, "conditional covariance": ConditionalCovariance}
    if row.method in operators:
        return published_model(row, operators[row.method])
    return published_model(row)


# -------------------------------------------------------------------------- all parameters chosen on the training part


@dataclass(frozen=True)
class OperatorMethod:
    """A row of the comparison: an operator kernel for every σ_k, an embedding for every σ_l."""

    name: str
    operators: tuple[Callable[[Kernel], Any], ...] = (lambda kernel: kernel,)  # applied to the scalar kernel
    embeddings: tuple[Embedding | None, ...] = (None,)
    by_folds: bool = False  # choose by folds of the training part with refits instead of by leave-one-out

    def models(self) -> Iterator[IOKRCV]:
        """The candidates; each chooses σ_k, λ (and ε) in the output feature space."""
        sigmas_k: tuple[float, ...] = SIGMAS_K
        sigmas_l: tuple[float, ...] = SIGMAS_L
        folds = None
        if self.by_folds:
            sigmas_k, sigmas_l = FEW_SIGMAS
            folds = KFold(N_FOLDS)
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
    """The leave-one-out common loss; the own lower half is not a candidate either."""
    E = model.embedding_
    S = E.represent(Y)
    costs = to_numpy(E.sq_norms(S))[None, :] - 2 * to_numpy(E.inner(model.loo_decision_function(), S))
    np.fill_diagonal(costs, np.inf)
    return loss(Y, Y[costs.argmin(axis=1)], COMMON)


def out_of_fold_loss(model: IOKRCV, X: Matrix, Y: Matrix) -> float:
    """The common loss over folds of the training part, each predicted by a model of the others."""
    kernel = model.kernel[model.best_index_[0]]
    plain = IOKR(kernel, output_kernel=model.output_kernel, embedding=model.embedding, alpha=model.alpha_)
    return loss(Y, cross_val_predict(plain, X, Y, cv=model.cv), COMMON)


def chosen_parameters(model: IOKRCV) -> dict[str, float]:
    """σ_k, λ, σ_l, and ε or the number of components."""
    kernel = model.kernel_
    output_kernel = model.output_kernel_
    found = {"σ_k": _sigma(getattr(kernel, "kernel", kernel)), "λ": model.alpha_, "σ_l": _sigma(output_kernel)}
    if isinstance(kernel, ConditionalCovariance):
        found["ε"] = kernel.epsilon_
    if isinstance(model.embedding_, KernelPCA):
        found["components"] = float(len(model.embedding_.eigenvalues_))
    return found


def _sigma(kernel: Any) -> float:
    """σ from γ = 1/(2σ²)."""
    return float((2 * kernel.gamma) ** -0.5)


def _pixels(split: TrainTest) -> Any:
    kernels = [gaussian(sigma) for sigma in SIGMAS_K]
    return IOKRCV(kernels, intercept=True).fit(split.X, split.Y).predict(split.X_test)


def _nearest(split: TrainTest) -> Any:
    return KNeighborsRegressor(n_neighbors=1).fit(split.X, split.Y).predict(split.X_test)


def _one_output(split: TrainTest) -> Matrix:
    losses = [loss(split.Y, np.broadcast_to(y, split.Y.shape), COMMON) for y in split.Y]
    return np.broadcast_to(split.Y[np.argmin(losses)], split.Y_test.shape)


BASELINES: dict[str, Callable[[TrainTest], Matrix]] = {
    "pixels, no pre-image": _pixels,
    "nearest neighbour": _nearest,
    "one output for all": _one_output,
}


# ------------------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class DigitDraws(Plan):
    """The number of draws of digits, and whether methods that choose by folds, which are slow, are included."""

    repeat: int = 5
    by_folds: bool = True

    @property
    def methods(self) -> list[str]:
        """Names of the methods that choose all parameters on the training part."""
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
    """A method with all parameters chosen on the training part, or a baseline."""

    draw: int
    n_folds: int
    fold: int
    method: str


def example(method: str) -> Completion:
    """The split of the pictures."""
    return Completion(draw=0, n_folds=3, fold=0, method=method)


def cases(plan: DigitDraws, images: Matrix) -> list[Case]:
    """For every draw: the first row of Table 2 under every interpretation, all rows, and every method."""
    found: dict[Case, None] = {}  # an ordered set
    rows = [row.method for row in PUBLISHED]
    methods = [*plan.methods, *BASELINES]
    for draw in range(plan.repeat):
        for n_folds, pixels in itertools.product(FOLDS, PIXELS):
            found[TableRow(draw, n_folds, pixels, rows[0])] = None
        for row, by in itertools.product(rows, ("own method", "identity")):
            found[TableRow(draw, 5, AS_DISTRIBUTED, row, by)] = None
        for n_folds in FOLDS:
            for fold, method in itertools.product(range(n_folds), methods):
                found[Completion(draw, n_folds, fold, method)] = None
    return list(found)


def work(case: TableRow | Completion, plan: DigitDraws, images: Matrix) -> dict[str, Any]:
    """RBF losses."""
    if isinstance(case, TableRow):
        return _at_parameters(case, splits(images, case.n_folds, case.pixels, (plan.seed, case.draw)))
    return _chosen(case, splits(images, case.n_folds, AS_DISTRIBUTED, (plan.seed, case.draw))[case.fold])


def _at_parameters(case: TableRow, parts: list[TrainTest]) -> dict[str, list[float]]:
    """The loss of each fold, and the share of test digits whose kernel values with all training digits are zero."""
    row = next(row for row in PUBLISHED if row.method == case.row)
    model = published_model(row) if case.by == "identity" else own_model(row)
    losses = []
    tied = []
    for split in parts:
        predicted = model.fit(split.X, split.Y).predict(split.X_test)
        losses.append(loss(split.Y_test, predicted, row.sigma_l))
        zero = gaussian(row.sigma_k)(split.X_test, split.X) == 0
        tied.append(float(zero.all(axis=1).mean()))
    return {"losses": losses, "tied": tied}


def _chosen(case: Completion, split: TrainTest) -> dict[str, Any]:
    """Losses at the σ of every row, the chosen parameters, and for the split of the pictures the predictions."""
    found: dict[str, Any] = {}
    if case.method in BASELINES:
        predicted = BASELINES[case.method](split)
    else:
        [method] = [method for method in METHODS if method.name == case.method]
        model = chosen_model(method, split.X, split.Y)
        predicted = model.predict(split.X_test)
        found["chosen"] = chosen_parameters(model)
        if case == example(IDENTITY):
            found["path"] = {"alphas": model.alphas, "errors": model.loo_errors_, "best": model.best_index_}
    if case == example(case.method):
        found["shown"] = np.asarray(predicted[:N_PICTURES])
    return {"losses": {f"{sigma}": loss(split.Y_test, predicted, sigma) for sigma in SHOWN}, **found}
