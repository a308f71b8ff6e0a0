"""K12 Table 2: its four methods, as published and with every parameter chosen on the training part, under one loss."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

from iokr._array import to_numpy
from iokr.decoders.candidates import Candidates
from iokr.embeddings.base import Embedding
from iokr.embeddings.identity import Identity
from iokr.embeddings.kernel_pca import KernelPCA
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr.rivals import KDE
from iokr_lab.images.usps_protocol import (
    AS_DISTRIBUTED,
    COMMON,
    FOLDS,
    PUBLISHED,
    SHOWN,
    SIGMAS_K,
    SIGMAS_L,
    Draw,
    Matrix,
    Row,
    Split,
    Step,
    gaussian,
    loss,
    published_model,
    splits,
)

__all__ = [
    "BASELINES",
    "FEW_SIGMAS",
    "IDENTITY",
    "METHODS",
    "Common",
    "Difference",
    "Method",
    "at_published_parameters",
    "baselines",
    "chosen_model",
    "chosen_on_training_part",
    "chosen_parameters",
    "differences",
    "own_model",
]

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
IDENTITY = METHODS[0]
BASELINES = ("pixels, no pre-image", "nearest neighbour", "one answer for all")


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


def at_published_parameters(images: Matrix, draws: list[Draw], step: Step) -> dict[tuple[str, str], list[float]]:
    """(row, "own" or "identity"): losses at that row's σ_l of its own method and of the identity operator."""
    losses: dict[tuple[str, str], list[float]] = defaultdict(list)
    for draw in draws:
        step("the parameters of every row")
        for split, row in itertools.product(splits(images, 5, AS_DISTRIBUTED, draw), PUBLISHED):
            for who, model in (("own", own_model(row)), ("identity", published_model(row))):
                answers = model.fit(split.X, split.Y).predict(split.X_test)
                losses[row.method, who].append(loss(split.Y_test, answers, row.sigma_l))
    return losses


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


@dataclass(frozen=True)
class Common:
    """Everything under one loss: answers by method and number of folds, and what was chosen."""

    losses: dict[tuple[str, int, float], list[list[float]]]  # method, folds, σ of the loss: a list for each draw
    chosen: dict[tuple[str, int], list[dict[str, float]]]  # method, folds


def chosen_on_training_part(images: Matrix, draws: list[Draw], step: Step) -> Common:
    """Every parameter chosen on the training part; three baselines beside."""
    common = Common(defaultdict(list), defaultdict(list))
    for draw, n_folds in itertools.product(draws, FOLDS):
        of_draw: dict[tuple[str, float], list[float]] = defaultdict(list)
        for split in splits(images, n_folds, AS_DISTRIBUTED, draw):
            answers = {}
            for method in METHODS:
                step(f"chosen on the training part: {method.name}")
                model = chosen_model(method, split.X, split.Y)
                common.chosen[method.name, n_folds].append(chosen_parameters(model))
                answers[method.name] = model.predict(split.X_test)
            for (name, given), sigma in itertools.product({**answers, **baselines(split)}.items(), SHOWN):
                of_draw[name, sigma].append(loss(split.Y_test, given, sigma))
        for (name, sigma), losses in of_draw.items():
            common.losses[name, n_folds, sigma].append(losses)
    return common


def baselines(split: Split) -> dict[str, Matrix]:
    """Lower halves for the test part without an output kernel."""
    X, Y = split.X, split.Y
    pixels = IOKRCV([gaussian(sigma) for sigma in SIGMAS_K], embedding=Identity(centered=True)).fit(X, Y)
    typical = Y[np.argmin([loss(Y, np.broadcast_to(y, Y.shape), COMMON) for y in Y])]
    nearest = KNeighborsRegressor(n_neighbors=1).fit(X, Y)
    answers = (
        pixels.predict(split.X_test),
        nearest.predict(split.X_test),
        np.broadcast_to(typical, split.Y_test.shape),
    )
    return dict(zip(BASELINES, answers, strict=True))


@dataclass(frozen=True)
class Difference:
    """Mean loss of a method minus that of the identity operator on the same splits."""

    mean: float
    error: float  # standard error, over the draws
    n_draws: int

    @property
    def half_width(self) -> float:
        """Of the 95 % interval of Student's t."""
        return float(student.ppf(0.975, self.n_draws - 1)) * self.error if self.n_draws > 1 else float("nan")

    @property
    def clear(self) -> bool:
        """Whether 0 is outside that interval."""
        return abs(self.mean) > self.half_width

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def differences(common: Common, n_folds: int, sigma: float = COMMON) -> dict[str, Difference]:
    """Each method against the identity operator; a draw counts once, by the mean over its folds."""
    base = np.array(common.losses[IDENTITY.name, n_folds, sigma]).mean(axis=1)
    found = {}
    for name in dict.fromkeys(name for name, folds, s in common.losses if (folds, s) == (n_folds, sigma)):
        gaps = np.array(common.losses[name, n_folds, sigma]).mean(axis=1) - base
        error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")
        found[name] = Difference(float(gaps.mean()), error, len(gaps))
    return found
