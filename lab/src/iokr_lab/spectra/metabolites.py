"""Molecules of MassBank's spectra among those of the same formula: forward and reverse regression and baselines.

Five folds over molecules: the true molecule is never a training molecule, but some wrong candidates are. All parameters
are chosen in the training folds: alphas by leave-one-molecule-out, T and the level of conformal sets from out-of-fold
scores of the other folds. Ties count their mean rank; queries with a single candidate are left out.
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
from iokr.estimators.identification.model import Identification
from iokr_lab.spectra.page import page
from iokr_lab.spectra.protocol import Data, Similarities, Spectra, Split, load, split
from iokr_lab.study import Case, Results, Study

__all__ = ["STUDY", "Fold"]

OURS = ("reverse", "forward")
OWN = ("leave-out", "count")
BASELINES: dict[str, tuple[str, int]] = {
    "library, modified cosine, 10 neighbours": ("modified", 10),
    "library, cosine, 10 neighbours": ("cosine", 10),
    "library, modified cosine, best hit": ("modified", 1),
    "library, cosine, best hit": ("cosine", 1),
    "library, nearest precursor mass": ("mass", 1),
}
BITWISE = "ridge on each bit, six"
CHANCE = "chance"
DIGITS = 7


@dataclass(frozen=True)
class Fold(Case):
    """A method on one fold; `kernel` is empty for methods without one."""

    method: str
    kernel: str
    fold: int


def _cases(plan: Spectra, data: Data) -> list[Fold]:
    folds = range(plan.folds)
    ours = [Fold("regression", kernel, fold) for kernel in ("six", "P + L", "P") for fold in folds]
    library = [Fold("library", "", fold) for fold in folds]
    bitwise = [Fold(BITWISE, "six", fold) for fold in folds]
    return ours + library + bitwise


def _work(case: Fold, plan: Spectra, data: Data) -> dict[str, Any]:
    """The scores of every query by every method of the case, with own spectra left out and included."""
    part = split(data, case.fold)
    if case.method == "regression":
        return _regression(part, data, plan, case.kernel)
    if case.method == "library":
        return _library(part, data, plan)
    return _bitwise(part, data, plan)


def _regression(part: Split, data: Data, plan: Spectra, kernel: str) -> dict[str, Any]:
    similarities = Similarities(data.tanimoto)
    model = Identification(Similarities(data.grams[kernel]), output_kernel=similarities, selection=plan.selection)
    model.fit(part.train, part.train, groups=part.train)
    found: dict[str, Any] = {"alpha": model.forward_.alpha, "reverse alpha": model.reverse_.alpha}
    for own in OWN:
        for method in OURS:
            scores = model.scores(part.test, part.sets, part.candidates, method=method, own=own)
            found[f"{method}, {own}"] = _rounded(scores)
    near = data.tanimoto[np.ix_(part.test, part.train)]
    found["nearest"] = np.round(near.max(axis=1).astype(float), 4).tolist()
    found["best similarity"] = np.round(data.grams[kernel][np.ix_(part.test, part.train)].max(axis=1), 4).tolist()
    return found


def _library(part: Split, data: Data, plan: Spectra) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (cosine, neighbors) in BASELINES.items():
        similar = _lookup(data.cosines[cosine])
        search = LibrarySearch(similar, n_neighbors=neighbors, output_kernel=Similarities(data.tanimoto))
        search.fit(part.train, part.train)
        for own in OWN:
            found[f"{name}, {own}"] = _rounded(search.scores(part.test, part.sets, part.candidates, own=own))
    rng = np.random.default_rng((plan.seed, int(part.test[0])))
    found[f"{CHANCE}, leave-out"] = _rounded([rng.uniform(size=len(some)) for some in part.candidates])
    return found


def _bitwise(part: Split, data: Data, plan: Spectra) -> dict[str, Any]:
    ridge = BitwiseRidge(Similarities(data.grams["six"]), selection=plan.selection)
    ridge.fit(part.train, data.bank.bits(part.train), groups=part.train)
    sets = CandidateSets([data.bank.bits(some) for some in part.candidates])
    found: dict[str, Any] = {"alpha": ridge.model_.alpha}
    for own in OWN:
        scores = ridge.scores(part.test, sets, part.candidates, own=own)
        found[f"{BITWISE.partition(',')[0]}, {own}"] = _rounded(scores)
    return found


def _lookup(S: NDArray[Any]) -> Callable[[Any, Any], NDArray[Any]]:
    return lambda X, Z: S[np.ix_(X, Z)]


def _rounded(scores: list[NDArray[Any]]) -> list[list[float]]:
    """Rounded far below the differences between candidates, so that cells stay small."""
    return [[float(f"{value:.{DIGITS}g}") for value in some] for some in scores]


def _page(results: Results, plan: Spectra, data: Data) -> Report:
    parts = [split(data, fold) for fold in range(plan.folds)]
    methods: dict[str, dict[str, list[list[list[float]]]]] = {}
    for case, cell in results.of(Fold).items():
        for name, scores in cell.items():
            method, comma, own = name.rpartition(", ")
            if comma and own in OWN:
                label = f"{method}, {case.kernel}" if case.kernel else method
                methods.setdefault(label, {}).setdefault(own, []).append(scores)
    chosen = []
    for kernel in ("six", "P + L", "P"):
        alphas = set(results.numbers(Fold, "alpha", method="regression", kernel=kernel))
        reverse = set(results.numbers(Fold, "reverse alpha", method="regression", kernel=kernel))
        chosen.append({"kernel": kernel, "λ, forward": sorted(alphas), "λ, reverse": sorted(reverse)})
    nearest = results.numbers(Fold, "nearest", method="regression", kernel="six")
    return page(methods, parts, data, plan, chosen, np.concatenate(nearest))


PLANS = {"short": Spectra(n=800, selection=300), "default": Spectra()}
STUDY = Study(plans=PLANS, load=load, cases=_cases, work=_work, page=_page)
