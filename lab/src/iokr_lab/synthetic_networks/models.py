"""Ridge and maximum margin on a random network: at one setting, over a grid, and rules of choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel
from iokr.kernels.nodes import Diffusion
from iokr.losses.margin import MaxMargin
from iokr_lab.links.along import deformed, heat_penalty
from iokr_lab.links.protocol import MEASURES
from iokr_lab.lookup import Lookup
from iokr_lab.synthetic_networks.protocol import Areas, Matrix, Network, evaluate

Labeled = NDArray[np.int64]

PENALTY = "subgraph, exp(−L)"
PLAIN = "subgraph, no penalty"
BLOCK_PLAIN = "block of the whole, no penalty"
WIDTHS = (0.1, 0.316, 0.562, 1.0, 1.78)  # γ in units of 1 / median squared distance
ALPHAS = (1e-3, 1e-2, 0.0316, 0.1, 0.316, 1.0)
# The larger grids of leave-one-out on networks with classes.
MORE_WIDTHS = (0.03, *WIDTHS)
MORE_ALPHAS = (*ALPHAS, 10.0)
RATIO = 1.0  # μ/λ of the penalty exp(−L)
MARGIN_ALPHA = 10.0  # every node is a support vector; smaller values change little


@dataclass(frozen=True)
class Setting:
    """Width of the Gaussian kernel, in units of 1 / median squared distance, λ, and μ/λ of the penalty exp(−L)."""

    width: float
    alpha: float
    ratio: float = RATIO


RIDGE = Setting(0.6, 0.02)
MARGIN = Setting(4.0, MARGIN_ALPHA)


def grams(network: Network, widths: Iterable[float], ratio: float) -> list[Lookup]:
    """K (I + ρ P K)⁻¹ over all nodes for each width, with the Gaussian kernel K and P = exp(−L); ρ = 0 gives K.

    Semi-supervised learning with manifold weight μ = ρλ is supervised learning with this kernel. It does not depend on
    the labelled nodes, so it serves every labelled set and every λ.
    """

    def gram(K: Matrix) -> Matrix:
        if ratio == 0:
            return K
        return deformed(K, heat_penalty(K), ratio)

    return [Lookup(gram(network.gaussian(width))) for width in widths]


def centred(network: Network, width: float) -> Lookup:
    """The centred Gaussian kernel, without the constant function."""
    K = network.gaussian(width)
    return Lookup(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())


def output_kernel(network: Network, beta: float | None = None, normalized: bool = False) -> Kernel:
    """The output kernel of the links between labelled nodes."""
    kernel = Diffusion(network.beta if beta is None else beta)
    return Normalized(kernel) if normalized else kernel


def block_kernel(network: Network) -> Kernel:
    """The output kernel as a block of the kernel of the whole network."""
    return Lookup(network.kernel)


# --------------------------------------------------------------------------------------------------------- one setting


def ridge_at(network: Network, labeled: Labeled, kernel: Lookup, target: Kernel, alpha: float = RIDGE.alpha) -> Areas:
    """Ridge with one kernel and one λ."""
    return evaluate(network, labeled)(LinkPredictor(kernel, output_kernel=target, alpha=alpha))


def margin_at(network: Network, labeled: Labeled, kernel: Lookup, target: Kernel) -> Areas:
    """Maximum margin with one kernel; the diagonal of K_Y is not constant, as published."""
    return evaluate(network, labeled)(LinkPredictor(kernel, output_kernel=target, loss=MaxMargin(), alpha=MARGIN_ALPHA))


# -------------------------------------------------------------------------------------------------------- ridge, a grid


Grid = dict[str, Any]
"""Areas of one labelled set at every width and λ, of shape (widths, λs, 2): ROC and PR in percent.

"evaluated": on the evaluated pairs; "loo": on labelled pairs by leave-one-out with fixed K_Y; "folds": on labelled
pairs by five folds of nodes, with K_Y from the links of the other folds. "weighted" has, for these two, the areas on
the evaluated pairs with λ the geometric mean weighted by the scores and their standard errors.
"""


def ridge_grid(network: Network, labeled: Labeled, kernels: Sequence[Lookup], target: Kernel) -> Grid:
    """Ridge with every kernel and λ of the grid."""
    measure = evaluate(network, labeled)
    found = [[measure(LinkPredictor(k, output_kernel=target, alpha=alpha)) for alpha in ALPHAS] for k in kernels]

    def search(cv: int | None) -> tuple[Matrix, Areas]:
        model = LinkPredictorCV(list(kernels), alphas=ALPHAS, output_kernel=target, cv=cv)
        weighted = measure(model)
        return 100 * np.stack([model.areas_[name] for name in MEASURES], axis=-1), weighted

    loo = search(None)
    try:
        folds = search(5)
    except ValueError:  # too few links for folds of nodes
        folds = loo
    return {
        "evaluated": np.array([[list(one.values()) for one in row] for row in found]),
        "loo": loo[0],
        "folds": folds[0],
        "weighted": {"loo": loo[1], "folds": folds[1]},
    }


@dataclass(frozen=True)
class Rule:
    """A choice of width and λ: the best AUC-ROC by one of the areas of `Grid`, per labelled set or once for all.

    Alternatively λ is averaged, weighted by the standard errors of these areas, for each labelled set.
    """

    by: str
    once: bool = False
    weighted: bool = False

    def choose(self, grids: Sequence[Grid]) -> list[Areas]:
        """The areas on the evaluated pairs with the choice of the rule, for each labelled set."""
        if self.weighted:
            return [grid["weighted"][self.by] for grid in grids]
        scores = [np.asarray(grid[self.by])[..., 0] for grid in grids]
        if self.once:
            scores = [np.mean(scores, axis=0)] * len(grids)
        return [at(grid, _argmax(score)) for grid, score in zip(grids, scores, strict=True)]


def at(grid: Grid, place: tuple[int, int]) -> Areas:
    """The areas on the evaluated pairs at a width and a λ."""
    return dict(zip(MEASURES, map(float, np.asarray(grid["evaluated"])[place]), strict=True))


def _argmax(values: Matrix) -> tuple[int, int]:
    i, j = np.unravel_index(np.argmax(values), values.shape)
    return int(i), int(j)


# ------------------------------------------------------------------------------------------------- one labelled set


@dataclass(frozen=True, eq=False)
class Kernels:
    """The input kernels of a network; they serve all its labelled sets."""

    network: Network
    ridge: Lookup
    margin: Lookup
    penalty: list[Lookup]
    plain: list[Lookup]

    @classmethod
    def of(cls, network: Network, *, plain: Sequence[float] = (), penalty: Sequence[float] = ()) -> Kernels:
        """The kernels of the single setting of each model, and those of the given widths."""
        [ridge] = grams(network, [RIDGE.width], RIDGE.ratio)
        [margin] = grams(network, [MARGIN.width], MARGIN.ratio)
        return cls(network, ridge, margin, grams(network, penalty, RIDGE.ratio), grams(network, plain, 0.0))

    def both(self, labeled: Labeled) -> dict[str, Any]:
        """Ridge and margin, each with its single setting."""
        target = output_kernel(self.network)
        return {
            "ridge": ridge_at(self.network, labeled, self.ridge, target),
            "margin": margin_at(self.network, labeled, self.margin, target),
        }

    def as_published(self, labeled: Labeled) -> dict[str, Any]:
        """Supervised ridge with the best width and λ by leave-one-out with fixed K_Y, as the paper describes."""
        target = output_kernel(self.network)
        model = LinkPredictorCV(self.plain, alphas=MORE_ALPHAS, output_kernel=target, rule="best")
        return {"as published": evaluate(self.network, labeled)(model)}

    def changed(self, labeled: Labeled) -> dict[str, Any]:
        """Ridge over the grid by interpretation, and the margin with one change at a time."""
        network = self.network
        target = output_kernel(self.network)
        block = block_kernel(network)
        grids = {
            PENALTY: ridge_grid(network, labeled, self.penalty, target),
            PLAIN: ridge_grid(network, labeled, self.plain, target),
            BLOCK_PLAIN: ridge_grid(network, labeled, self.plain, block),
        }
        [narrow] = grams(network, [MARGIN.width], 0.0)
        variants = {
            "no penalty": (narrow, target),
            f"no penalty, width {WIDTHS[-2]:g}": (self.plain[-2], target),
            "centred kernel": (centred(network, MARGIN.width), target),
            f"centred kernel, width {WIDTHS[0]:g}": (centred(network, WIDTHS[0]), target),
            f"exp(−L), width {WIDTHS[-2]:g}": (self.penalty[-2], target),
            "exp(−L), K_Y with β = 1": (self.margin, output_kernel(network, beta=1.0)),
            "exp(−L), K_Y a block of the whole": (self.margin, block),
            "exp(−L), K_Y with unit diagonal": (self.margin, output_kernel(network, normalized=True)),
        }
        margins = {name: margin_at(network, labeled, *variant) for name, variant in variants.items()}
        return {"grids": grids, "margins": margins}
