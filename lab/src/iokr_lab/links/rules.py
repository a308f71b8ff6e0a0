"""Ridge on five folds of nodes; λ, β and kernel chosen by ROC, by PR or by the odds of both from one search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from iokr.estimators.areas import AREAS, AreaRule
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.kernels import Diffusion, Normalized
from iokr.kernels.base import Kernel
from iokr.model_selection import NodeKFold
from iokr_lab.links.protocol import Matrix, known_new, nodes_of, scored
from iokr_lab.lookup import Lookup

__all__ = ["ALPHAS", "Rule", "choose", "ridge_by_rules", "search"]

ALPHAS = tuple(float(alpha) for alpha in np.logspace(-2, 1, 7))


class Rule(NamedTuple):
    """The criterion maximised on the training folds, and the candidates for β."""

    criterion: str
    betas: tuple[float, ...]


class Choice(NamedTuple):
    """The parameters chosen by a rule."""

    beta: float
    kernel: int
    alpha: float


def diffusion(beta: float, scaled: bool) -> Kernel:
    """exp(−βL), scaled to unit diagonal if `scaled`."""
    kernel = Diffusion(beta)
    return Normalized(kernel) if scaled else kernel


def search(
    kernels: Sequence[Matrix], W: Matrix, train: np.ndarray, betas: Sequence[float], *, split: int, scaled: bool = True
) -> np.ndarray:
    """Mean areas over four folds of the training nodes, of shape (areas, kernels, β, alphas)."""
    model = LinkPredictorCV(
        [Lookup(K) for K in kernels],
        alphas=ALPHAS,
        output_kernel=[diffusion(beta, scaled) for beta in betas],
        cv=NodeKFold(4, random_state=split),
        rule="best",
    ).fit(np.arange(len(W)), W, labeled=train)
    shape = len(kernels), len(betas), len(ALPHAS)
    return np.stack([model.areas_[name].reshape(shape) for name in AREAS])


def choose(areas: np.ndarray, betas: Sequence[float], rule: Rule) -> Choice:
    """The parameters with the largest criterion over kernels, the β of the rule, and alphas."""
    allowed = [betas.index(beta) for beta in rule.betas]
    (i, b), alpha = AreaRule(rule.criterion, "best").among(areas[:, :, allowed], ALPHAS)
    return Choice(rule.betas[b], i, alpha)


def ridge_by_rules(
    kernels: Sequence[Matrix], W: Matrix, rules: Mapping[str, Rule], *, split: int, fold: int, scaled: bool = True
) -> dict[str, dict[str, Any]]:
    """One of five folds of nodes: each rule chooses on the training nodes and scores test × training pairs."""
    train, test = nodes_of(len(W), split, fold)
    betas = list(dict.fromkeys(beta for rule in rules.values() for beta in rule.betas))
    areas = search(kernels, W, train, betas, split=split, scaled=scaled)
    choices = {name: choose(areas, betas, rule) for name, rule in rules.items()}
    cells = {}
    for choice in dict.fromkeys(choices.values()):
        K = kernels[choice.kernel]
        model = LinkPredictor(alpha=choice.alpha, output_kernel=diffusion(choice.beta, scaled))
        scores, seconds = known_new(model, K, W, train, test)
        cells[choice] = {**scored(W[np.ix_(test, train)].ravel(), scores.ravel()), "seconds": seconds}
    return {name: cells[choice] for name, choice in choices.items()}
