"""K12 Table 2: its four methods, as published and with every parameter chosen on the training part, under one loss."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from iokr._array import to_numpy
from iokr.decoders.candidates import Candidates
from iokr.embeddings.base import Embedding
from iokr.embeddings.identity import Identity
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr.rivals.kde import KDE, KernelPCA
from iokr_lab.images.halves import Matrix, Split
from iokr_lab.images.usps_protocol import (
    AS_DISTRIBUTED,
    COMMON,
    FOLDS,
    PIXELS,
    PUBLISHED,
    SHOWN,
    SIGMAS_K,
    SIGMAS_L,
    Row,
    gaussian,
    loss,
    published_model,
    splits,
)
from iokr_lab.study import Case, Plan

ALPHAS = tuple(10.0**k for k in np.arange(-8, 2.5, 0.5))
EPSILONS = (1e-4, 1e-2, 1.0)
RANKS = (8, 16, 32, 64, None)
N_FOLDS = 5  # of the training part, where it is chosen by folds
FEW_SIGMAS = ((4.0, 5.6, 8.0), (7.0, 10.0, 14.0))  # σ_k and σ_l to choose from by folds, which refit everything


@dataclass(frozen=True)
class Method:
    """A row of the comparison: an operator kernel for every σ_k, an embedding for every σ_l.

    Parameters
    ----------
    name : str
    operators : tuple of callables
        From the scalar kernel to what is tried with it.
    embeddings : tuple of Embedding or None
    by_folds : bool
        Choose by five folds of the training part, refitting everything, instead of by leave-one-out.
    """

    name: str
    operators: tuple[Callable[[Kernel], Any], ...] = (lambda kernel: kernel,)
    embeddings: tuple[Embedding | None, ...] = (None,)
    by_folds: bool = False

    def models(self) -> Iterator[IOKRCV]:
        """What to choose from: each chooses σ_k, λ (and ε) by itself, in the output feature space."""
        sigmas_k, sigmas_l = FEW_SIGMAS if self.by_folds else (SIGMAS_K, SIGMAS_L)
        for sigma, embedding in itertools.product(sigmas_l, self.embeddings):
            kernels = [operator(gaussian(sigma_k)) for sigma_k in sigmas_k for operator in self.operators]
            yield IOKRCV(
                kernels,
                output_kernel=gaussian(sigma),
                embedding=embedding,
                alphas=ALPHAS,
                cv=KFold(N_FOLDS) if self.by_folds else None,
            )


def _conditional(epsilon: float) -> Callable[[Kernel], Any]:
    return lambda kernel: ConditionalCovariance(kernel, epsilon)


_CONDITIONAL = tuple(_conditional(epsilon) for epsilon in EPSILONS)
METHODS = (
    Method("identity"),
    Method("kernel PCA", embeddings=tuple(KernelPCA(rank) for rank in RANKS)),
    Method("covariance", operators=(Covariance,)),
    Method("covariance, by folds", operators=(Covariance,), by_folds=True),
    Method("conditional covariance", operators=_CONDITIONAL),
    Method("conditional covariance, by folds", operators=_CONDITIONAL, by_folds=True),
)
IDENTITY = METHODS[0].name


# ------------------------------------------------------------------------------------------------ as published


def own_model(row: Row) -> IOKR:
    """The method of a row of Table 2 with the parameters of that row.

    Open in the paper: ε, here a hundredth of the largest eigenvalue of K/n; the number of components, here all.
    """
    kernel, output_kernel = gaussian(row.sigma_k), gaussian(row.sigma_l)
    if "Weston" in row.method:
        return KDE(kernel, output_kernel=output_kernel, alpha=row.lam)
    operators: dict[str, Any] = {"covariance": Covariance, "conditional covariance": ConditionalCovariance}
    if row.method not in operators:
        return published_model(row)
    decoder = Candidates(by="score")
    return IOKR(operators[row.method](kernel), output_kernel=output_kernel, alpha=row.lam, decoder=decoder)


# ---------------------------------------------------------------------------- everything chosen on the training part


def chosen_model(method: Method, X: Matrix, Y: Matrix) -> IOKRCV:
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
    kernel = model.kernel_
    found = {
        "σ_k": _sigma(getattr(kernel, "kernel", kernel)),
        "λ": model.alpha_,
        "σ_l": _sigma(model.output_kernel_),
    }
    if isinstance(kernel, ConditionalCovariance):
        found["ε"] = kernel.epsilon_
    if isinstance(model.embedding_, KernelPCA):
        found["components"] = float(len(model.embedding_.eigenvalues_))
    return found


def _sigma(kernel: Any) -> float:
    """Back from γ = 1/(2σ²)."""
    return float((2 * kernel.gamma) ** -0.5)


# ---------------------------------------------------------------------------------- without an output kernel


def _pixels(split: Split) -> Any:
    kernels = [gaussian(sigma) for sigma in SIGMAS_K]
    return IOKRCV(kernels, embedding=Identity(centered=True)).fit(split.X, split.Y).predict(split.X_test)


def _nearest(split: Split) -> Any:
    return KNeighborsRegressor(n_neighbors=1).fit(split.X, split.Y).predict(split.X_test)


def _one_answer(split: Split) -> Matrix:
    losses = [loss(split.Y, np.broadcast_to(y, split.Y.shape), COMMON) for y in split.Y]
    return np.broadcast_to(split.Y[np.argmin(losses)], split.Y_test.shape)


BASELINES: dict[str, Callable[[Split], Matrix]] = {
    "pixels, no pre-image": _pixels,
    "nearest neighbour": _nearest,
    "one answer for all": _one_answer,
}


# ------------------------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class Draws(Plan):
    """How often digits are drawn, and whether methods that choose by folds, which takes long, are among the rest."""

    repeat: int = 5
    by_folds: bool = True

    @property
    def methods(self) -> list[str]:
        """Names of the methods that choose everything on the training part."""
        return [method.name for method in METHODS if self.by_folds or not method.by_folds]


@dataclass(frozen=True)
class AsPublished(Case):
    """The identity row of Table 2 under one interpretation of the paper: how many folds, which pixels."""

    draw: int
    n_folds: int
    pixels: str


@dataclass(frozen=True)
class AtParameters(Case):
    """A row of Table 2 at its own parameters, by its own method and by the identity operator."""

    draw: int
    row: str


@dataclass(frozen=True)
class Chosen(Case):
    """Every parameter chosen on the training part; or a baseline."""

    draw: int
    n_folds: int
    fold: int
    method: str


EXAMPLE = {"draw": 0, "n_folds": 3, "fold": 0}  # the split of the pictures
N_PICTURES = 12


def cases(plan: Draws, images: Matrix) -> list[Case]:
    """Every draw under every interpretation, at the parameters of every row, and by every method."""
    found: list[Case] = []
    for draw in range(plan.repeat):
        found += [AsPublished(draw, *which) for which in itertools.product(FOLDS, PIXELS)]
        found += [AtParameters(draw, row.method) for row in PUBLISHED]
        for n_folds, names in itertools.product(FOLDS, [[*plan.methods, *BASELINES]]):
            found += [Chosen(draw, n_folds, *which) for which in itertools.product(range(n_folds), names)]
    return found


def work(case: AsPublished | AtParameters | Chosen, plan: Draws, images: Matrix) -> dict[str, Any]:
    """RBF losses of one case, a value for each fold where it has several."""
    draw = plan.seed, case.draw
    if isinstance(case, AsPublished):
        return as_published(splits(images, case.n_folds, case.pixels, draw))
    if isinstance(case, AtParameters):
        parts = splits(images, 5, AS_DISTRIBUTED, draw)
        row = next(row for row in PUBLISHED if row.method == case.row)
        models = {"own": own_model(row), "identity": published_model(row)}
        return {who: [_loss(model, split, row) for split in parts] for who, model in models.items()}
    split = splits(images, case.n_folds, AS_DISTRIBUTED, draw)[case.fold]
    found: dict[str, Any] = {}
    if case.method in BASELINES:
        answers = BASELINES[case.method](split)
    else:
        model = chosen_model(next(method for method in METHODS if method.name == case.method), split.X, split.Y)
        answers = model.predict(split.X_test)
        found = {"chosen": chosen_parameters(model)}
        if case == Chosen(**EXAMPLE, method=IDENTITY):
            found["path"] = {"alphas": model.alphas, "errors": model.loo_errors_, "best": model.best_index_}
    if case == Chosen(**EXAMPLE, method=case.method):
        found["shown"] = np.asarray(answers[:N_PICTURES])
    return {"losses": {f"{sigma}": loss(split.Y_test, answers, sigma) for sigma in SHOWN}, **found}


def as_published(parts: list[Split]) -> dict[str, Any]:
    """The first row of Table 2; `tied` is the fraction of test digits to which all training digits are (un)like."""
    row = PUBLISHED[0]
    unlike = [gaussian(row.sigma_k)(split.X_test, split.X) == 0 for split in parts]
    return {
        "losses": [_loss(published_model(row), split, row) for split in parts],
        "tied": [float(zero.all(axis=1).mean()) for zero in unlike],
    }


def _loss(model: IOKR, split: Split, row: Row) -> float:
    """At the σ_l of a row."""
    return loss(split.Y_test, model.fit(split.X, split.Y).predict(split.X_test), row.sigma_l)
