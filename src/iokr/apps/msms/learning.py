"""The model of a library, and scores out of fold: what calibration and evaluation share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._component import component
from iokr.apps.msms.library import Entry, Library
from iokr.apps.msms.options import Learning
from iokr.chem.spectra import MassSpectra
from iokr.data.bits import Bits
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.confidence import mean_rank
from iokr.estimators.identification.model import METHODS, Identification
from iokr.kernels.algebra import Mean, Normalized
from iokr.kernels.alignment import alignment_weights
from iokr.kernels.base import Kernel
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.spectra import ProbabilityProduct
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.subformulas import Subformulas
from iokr.manifolds.laplacian import Laplacian

__all__ = ["Grams", "KnownRows", "OutOfFold", "gathered", "kernel_parts", "out_of_fold", "query_sets"]

_NEIGHBORS = 10  # of a spectrum in the graph of those without structures


def kernel_parts(learning: Learning) -> list[Kernel]:
    """The kernels of --kernels: unit probability products, and with `six` those on sub-formulas."""
    P: Kernel = Normalized(ProbabilityProduct(ppm=learning.kernel_ppm))
    L: Kernel = Normalized(ProbabilityProduct(ppm=learning.kernel_ppm, places="losses"))
    if learning.kernels == "peaks":
        return [P]
    if learning.kernels == "losses":
        return [L]
    if learning.kernels == "peaks,losses":
        return [P, L]
    parts = [Subformulas(of, weights) for of in ("fragments", "losses") for weights in (0.0, 0.5)]
    return [P, P, L, *parts] if learning.combine == "mean" else [P, L, *parts]


@component
class KnownRows(Precomputed):
    """As `Precomputed`, of a matrix that kernels have made: neither checked nor copied for every fit."""

    def fit(self, X: Any) -> KnownRows:
        """Take the matrix as it is."""
        self.matrix_ = self.matrix
        return self

    def __sklearn_clone__(self) -> KnownRows:
        return KnownRows(self.matrix)


@dataclass(frozen=True)
class Grams:
    """Gram matrices of the library, one for each kernel, and how they become one."""

    parts: list[Kernel]
    matrices: list[NDArray[Any]]
    combine: str
    unlabeled: MassSpectra | None = None  # spectra without structures, after those of the library

    @classmethod
    def of(cls, library: Library, learning: Learning, unlabeled: MassSpectra | None = None) -> Grams:
        """Evaluate each kernel once."""
        parts = kernel_parts(learning)
        spectra = library.files.spectra if unlabeled is None else library.files.spectra.concat(unlabeled)
        made: dict[str, NDArray[Any]] = {}
        for part in parts:
            if repr(part) not in made:
                made[repr(part)] = np.asarray(part(spectra))
        return cls(parts, [made[repr(part)] for part in parts], learning.combine, unlabeled)

    @property
    def manifold(self) -> Laplacian | None:
        """How spectra without structures count: near ones have near answers."""
        return None if self.unlabeled is None else Laplacian(n_neighbors=_NEIGHBORS)

    def rest(self) -> NDArray[np.intp] | None:
        """Rows of the spectra without structures."""
        n = len(self.matrices[0])
        return None if self.unlabeled is None else np.arange(n - len(self.unlabeled), n)

    def weights(self, rows: NDArray[Any], bits: Bits) -> NDArray[Any]:
        """Alike, or by alignment with the molecules of some rows."""
        if self.combine == "mean" or len(self.parts) == 1:
            return np.full(len(self.parts), 1 / len(self.parts))
        target = np.asarray(Tanimoto()(bits[rows]))
        return alignment_weights([K[np.ix_(rows, rows)] for K in self.matrices], target, self.combine)[0]

    def matrix(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Σ ω_t K_t."""
        return np.asarray(sum(w * K for w, K in zip(weights, self.matrices, strict=True)))

    def kernel(self, weights: NDArray[Any]) -> Kernel:
        """Σ ω_t k_t."""
        if self.combine == "mean":
            return self.parts[0] if len(self.parts) == 1 else Mean(self.parts)
        kept: list[Any] = [float(w) * part for w, part in zip(weights, self.parts, strict=True) if w > 1e-9]
        combined: Kernel = reduce(add, kept)
        return combined


def query_sets(entries: Sequence[Sequence[Entry]], bits: Callable[[Sequence[str]], Bits]) -> tuple[CandidateSets, Any]:
    """Sets of fingerprints, and the molecule of each candidate."""
    rows = bits([entry.smiles for some in entries for entry in some])
    matrix = np.asarray(rows)
    ends = np.cumsum([len(some) for some in entries])[:-1]
    return CandidateSets(np.split(matrix, ends)), [[entry.identity for entry in some] for some in entries]


@dataclass(frozen=True)
class OutOfFold:
    """Scores of library spectra by models that never saw their fold."""

    rows: NDArray[np.intp]  # spectra with a set of several candidates, the truth among them
    truth: list[int]
    scores: dict[str, list[NDArray[Any]]]  # by method
    fold: NDArray[np.intp]
    nearest: NDArray[Any]  # Tanimoto to the nearest training molecule
    counted: dict[str, NDArray[Any]]  # ranks of the truth when own spectra count, by method
    likeness: dict[str, NDArray[Any]]  # Tanimoto of the first candidate to the truth, by method
    absent: int = 0  # truths that are not among their candidates
    single: int = 0  # sets of one


def out_of_fold(
    library: Library,
    grams: Grams,
    sets: list[list[Entry]],
    bits: Callable[[Sequence[str]], Bits],
    learning: Learning,
    fold: NDArray[np.intp],
    *,
    number: int,
    methods: Sequence[str],
    more: Callable[..., dict[str, list[NDArray[Any]]]] | None = None,
    counted: bool = False,
) -> dict[str, Any]:
    """One fold: scores of its queries as plain data, so that a run that is killed keeps them.

    `more` gives those of rivals; with `counted` also ranks when a candidate's own spectra count.
    """
    train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
    names = library.identities
    asked = [int(i) for i in test if len(sets[i]) > 1 and names[i] in {entry.identity for entry in sets[i]}]
    if {names[i] for i in train} & {names[i] for i in asked}:
        raise AssertionError("A molecule is in the training and in the test part.")
    found: dict[str, Any] = {"rows": asked, "scores": {method: [] for method in methods}, "nearest": [], "alphas": []}
    found |= {"counted": {}, "likeness": {}}
    if not asked:
        return found
    K = grams.matrix(grams.weights(train, library.bits))
    model = Identification(KnownRows(K), method=learning.model, own=learning.own, manifold=grams.manifold)
    model.fit(train, np.asarray(library.bits[train]), groups=[names[i] for i in train], X_unlabeled=grams.rest())
    candidates, identities = query_sets([sets[i] for i in asked], bits)
    truth = [_truth(sets[i], names[i]) for i in asked]

    def scores(own: str) -> dict[str, list[NDArray[Any]]]:
        ours = {
            m: model.scores(np.array(asked), candidates, identities, method=m, own=own) for m in METHODS if m in methods
        }
        if more is None:
            return ours
        return {**ours, **more(library, grams, train, np.array(asked), candidates, identities, own)}

    for name, values in scores(learning.own).items():
        found["scores"][name] = [f.tolist() for f in values]
        found["likeness"][name] = _likeness(candidates, values, truth)
    if counted and learning.own != "count":
        for name, values in scores("count").items():
            found["counted"][name] = [mean_rank(f, t) for f, t in zip(values, truth, strict=True)]
    near = np.asarray(Tanimoto()(library.bits[np.array(asked)], library.bits[train]))
    found["nearest"] = near.max(axis=1).tolist()
    found["alphas"] = [model.forward_.alpha, model.reverse_.alpha]
    return found


def _truth(entries: Sequence[Entry], name: str) -> int:
    return next(k for k, entry in enumerate(entries) if entry.identity == name)


def _likeness(candidates: CandidateSets, scores: Sequence[NDArray[Any]], truth: Sequence[int]) -> list[float]:
    """Tanimoto of each query's first candidate to the truth."""
    found = []
    for rows, f, t in zip(candidates.sets, scores, truth, strict=True):
        a, b = np.asarray(rows[int(np.argmax(f))]) > 0, np.asarray(rows[t]) > 0
        found.append(round(float((a & b).sum() / max((a | b).sum(), 1)), 4))
    return found


def gathered(
    parts: Sequence[dict[str, Any]], library: Library, sets: list[list[Entry]], fold: NDArray[np.intp]
) -> OutOfFold:
    """The folds together."""
    names = library.identities
    rows = [i for part in parts for i in part["rows"]]
    truth = [_truth(sets[i], names[i]) for i in rows]
    methods = list(dict.fromkeys(name for part in parts for name in part["scores"]))
    scores = {name: [np.array(f) for part in parts for f in part["scores"].get(name, [])] for name in methods}
    inside = [names[i] in {entry.identity for entry in sets[i]} for i in range(len(sets))]
    absent = sum(1 for i, there in enumerate(inside) if not there and sets[i])
    single = sum(1 for i, there in enumerate(inside) if there and len(sets[i]) == 1)
    nearest = np.array([value for part in parts for value in part["nearest"]])
    counted, likeness = (
        {name: np.array([v for part in parts for v in part[what].get(name, [])]) for name in methods}
        for what in ("counted", "likeness")
    )
    counted = {name: values for name, values in counted.items() if len(values)}
    return OutOfFold(np.array(rows, dtype=np.intp), truth, scores, fold, nearest, counted, likeness, absent, single)
