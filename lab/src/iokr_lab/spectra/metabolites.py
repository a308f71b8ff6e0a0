"""Molecules of MassBank's spectra among those of the same formula: forward and reverse regression beside their rivals.

Five folds over molecules, so that the truth is never a training molecule, while some wrong candidates are. Everything
is chosen inside the training folds: alphas by leave-one-molecule-out, T and the level of conformal sets from the
out-of-fold scores of the other folds. Ties count their mean rank; sets of one are no question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.baselines import BitwiseRidge, LibrarySearch
from iokr.apps.report import Report
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.confidence import mean_rank
from iokr.estimators.identification.model import Identification
from iokr_lab.spectra.page import page
from iokr_lab.spectra.protocol import Data, Known, Spectra, Split, load, split
from iokr_lab.study import Case, Results, Study

__all__ = ["STUDY", "Fold"]

OURS = ("reverse", "forward")
RIVALS: dict[str, tuple[str, int]] = {
    "library, modified cosine, 10 neighbours": ("modified", 10),
    "library, cosine, 10 neighbours": ("cosine", 10),
    "library, modified cosine, best hit": ("modified", 1),
    "library, cosine, best hit": ("cosine", 1),
    "library, nearest precursor mass": ("mass", 1),
}
BITWISE, CHANCE = "ridge on each bit, six", "chance"
DIGITS = 7


@dataclass(frozen=True)
class Fold(Case):
    """A method on one fold; `kernel` is empty for those without."""

    method: str
    kernel: str
    fold: int


def _cases(plan: Spectra, data: Data) -> list[Fold]:
    folds = range(plan.folds)
    ours = [Fold("regression", kernel, fold) for kernel in ("six", "P + L", "P") for fold in folds]
    rivals = [Fold("library", "", fold) for fold in folds] + [Fold(BITWISE, "six", fold) for fold in folds]
    return ours + rivals


def _work(case: Fold, plan: Spectra, data: Data) -> dict[str, Any]:
    """The scores of every query, by every method of the case, with own spectra left out and counted."""
    part = split(data, case.fold)
    if case.method == "regression":
        return _regression(part, data, plan, case.kernel)
    if case.method == "library":
        return _library(part, data, plan)
    return _bitwise(part, data, plan)


def _regression(part: Split, data: Data, plan: Spectra, kernel: str) -> dict[str, Any]:
    model = Identification(Known(data.grams[kernel]), output_kernel=Known(data.tanimoto), selection=plan.selection)
    model.fit(part.train, part.train, groups=part.train)
    found: dict[str, Any] = {"alpha": model.forward_.alpha, "reverse alpha": model.reverse_.alpha}
    for own in ("leave-out", "count"):
        model.own = own
        for method in OURS:
            scores = model.scores(part.test, part.sets, part.candidates, method=method)
            found[f"{method}, {own}"] = _cell(scores)
    near = data.tanimoto[np.ix_(part.test, part.train)]
    found["nearest"] = np.round(near.max(axis=1).astype(float), 4).tolist()
    found["best similarity"] = np.round(data.grams[kernel][np.ix_(part.test, part.train)].max(axis=1), 4).tolist()
    return found


def _library(part: Split, data: Data, plan: Spectra) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (cosine, neighbors) in RIVALS.items():
        rival = LibrarySearch(_lookup(data.cosines[cosine]), n_neighbors=neighbors, output_kernel=Known(data.tanimoto))
        rival.fit(part.train, part.train)
        for own in ("leave-out", "count"):
            found[f"{name}, {own}"] = _cell(rival.scores(part.test, part.sets, part.candidates, own=own))
    rng = np.random.default_rng((plan.seed, int(part.test[0])))
    found[f"{CHANCE}, leave-out"] = _cell([rng.uniform(size=len(some)) for some in part.candidates])
    return found


def _bitwise(part: Split, data: Data, plan: Spectra) -> dict[str, Any]:
    rival = BitwiseRidge(Known(data.grams["six"]), selection=plan.selection)
    rival.fit(part.train, data.bank.bits(part.train), groups=part.train)
    sets = CandidateSets([data.bank.bits(some) for some in part.candidates])
    found: dict[str, Any] = {"alpha": rival.model_.alpha}
    for own in ("leave-out", "count"):
        found[f"{BITWISE.partition(',')[0]}, {own}"] = _cell(rival.scores(part.test, sets, part.candidates, own=own))
    return found


def _lookup(S: NDArray[Any]) -> Callable[[Any, Any], NDArray[Any]]:
    return lambda X, Z: S[np.ix_(X, Z)]


def _cell(scores: list[NDArray[Any]]) -> list[list[float]]:
    """Rounded, so that cells stay small; far below the differences between candidates."""
    return [[float(f"{value:.{DIGITS}g}") for value in some] for some in scores]


def ranks(scores: list[list[float]], truth: list[int]) -> NDArray[np.float64]:
    """The mean rank of each truth."""
    return np.array([mean_rank(np.array(f), t) for f, t in zip(scores, truth, strict=True)])


def _page(results: Results, plan: Spectra, data: Data) -> Report:
    parts = [split(data, fold) for fold in range(plan.folds)]
    methods: dict[str, dict[str, list[list[list[float]]]]] = {}
    for case, cell in results.items():
        if not isinstance(case, Fold):
            continue
        for name, scores in cell.items():
            method, comma, own = name.rpartition(", ")
            if comma and own in ("leave-out", "count"):
                label = f"{method}, {case.kernel}" if case.kernel else method
                methods.setdefault(label, {}).setdefault(own, []).append(scores)
    chosen = [
        {
            "kernel": kernel,
            "λ, forward": sorted(
                {cell["alpha"] for cell in results.of(Fold, method="regression", kernel=kernel).values()}
            ),
            "λ, reverse": sorted(
                {cell["reverse alpha"] for cell in results.of(Fold, method="regression", kernel=kernel).values()}
            ),
        }
        for kernel in ("six", "P + L", "P")
    ]
    nearest = [cell["nearest"] for cell in results.of(Fold, method="regression", kernel="six").values()]
    return page(methods, parts, data, plan, chosen, np.concatenate(nearest))


PLANS = {"short": Spectra(n=800, selection=300), "default": Spectra()}
STUDY = Study(plans=PLANS, load=load, cases=_cases, work=_work, page=_page)
