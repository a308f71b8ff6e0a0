"""K12 Table 2: the protocol and the row of the identity operator; `usps_methods.py` compares the methods.

The identity operator is the KDE of Cortes et al. (2005): h(x) = Σᵢ βᵢ(x) ψ(yᵢ) with β(x) = (K + λI)⁻¹ k_x, then the
training output whose features are closest to h(x).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.decoders.candidates import Candidates
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr.metrics import rbf_loss
from iokr.report import Spread
from iokr_lab.images.halves import halves

__all__ = [
    "AS_DISTRIBUTED",
    "COMMON",
    "DRAWN",
    "DRAWN_FROM",
    "FOLDS",
    "PIXELS",
    "PUBLISHED",
    "SHOWN",
    "SIGMAS_K",
    "SIGMAS_L",
    "Draw",
    "Matrix",
    "Reading",
    "Row",
    "Split",
    "Step",
    "as_published",
    "gaussian",
    "loss",
    "published_model",
    "splits",
]

Matrix = NDArray[np.float64]
Draw = tuple[int, int]  # seed of one drawing of digits
Step = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """A row of K12 Table 2, as printed."""

    method: str
    lam: float
    sigma_k: float
    sigma_l: float
    loss: Spread


PUBLISHED = (
    Row("KDE of Cortes et al. (identity)", 0.01, 0.1, 10, Spread(1.0423, 0.0996)),
    Row("KDE of Weston et al. (kernel PCA)", 0.001, 0.07, 7, Spread(1.0246, 0.0529)),
    Row("covariance", 0.1, 1, 12, Spread(0.7616, 0.0304)),
    Row("conditional covariance", 0.1, 1, 12, Spread(0.6241, 0.0411)),
)
DRAWN_FROM, DRAWN = 1000, 600
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


@dataclass(frozen=True)
class Split:
    """Upper halves X and lower halves Y of the training part and of the test part."""

    X: Matrix
    Y: Matrix
    X_test: Matrix
    Y_test: Matrix


def splits(images: Matrix, n_folds: int, pixels: str, draw: Draw) -> Iterator[Split]:
    """Draw digits; train on one fold of them and test on the others, for every fold in turn."""
    rows = np.random.default_rng(draw).choice(len(images), size=min(DRAWN, len(images)), replace=False)
    upper, lower = halves(PIXELS[pixels](images[rows]))
    for train in np.array_split(np.arange(len(rows)), n_folds):
        test = np.delete(np.arange(len(rows)), train)
        yield Split(upper[train], lower[train], upper[test], lower[test])


def gaussian(sigma: float) -> RBF:
    """exp(−‖x − z‖² / (2σ²))."""
    return RBF(gamma=1 / (2 * sigma**2))


def loss(Y: Matrix, answers: Any, sigma: float) -> float:
    """Mean of 2 − 2 exp(−‖y − ŷ‖² / (2σ²)): the paper's RBF loss."""
    return rbf_loss(Y, answers, gamma=1 / (2 * sigma**2))


def published_model(row: Row) -> IOKR:
    """The identity operator with the parameters of a row of Table 2.

    ‖ψ(y)‖ = 1, so the closest output is the one with the largest ⟨h(x), ψ(y)⟩; ranked by that, it is found also where
    h(x) is too small to be seen beside 1.
    """
    output_kernel = gaussian(row.sigma_l)
    return IOKR(gaussian(row.sigma_k), output_kernel=output_kernel, alpha=row.lam, decoder=Candidates(by="score"))


@dataclass(frozen=True)
class Reading:
    """The first row of Table 2, run once for every fold of every draw."""

    losses: list[float]
    tied: list[float]  # share of test digits to which every training digit is equally (un)like


def as_published(images: Matrix, draws: list[Draw], step: Step) -> dict[tuple[int, str], Reading]:
    """The identity row of Table 2, under every reading of the paper: how many folds, which pixels."""
    row = PUBLISHED[0]
    readings = {key: Reading([], []) for key in itertools.product(FOLDS, PIXELS)}
    for draw, ((n_folds, pixels), reading) in itertools.product(draws, readings.items()):
        step("Table 2 as published")
        for split in splits(images, n_folds, pixels, draw):
            answers = published_model(row).fit(split.X, split.Y).predict(split.X_test)
            reading.losses.append(loss(split.Y_test, answers, row.sigma_l))
            unlike = gaussian(row.sigma_k)(split.X_test, split.X) == 0
            reading.tied.append(float(unlike.all(axis=1).mean()))
    return readings
