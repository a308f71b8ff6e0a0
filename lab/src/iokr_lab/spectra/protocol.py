"""Spectra of MassBank, five folds over molecules, candidates of the same formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._component import component
from iokr.apps.msms.baselines import mass_nearness
from iokr.chem import cosine, modified_cosine
from iokr.data.candidates import CandidateSets
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel
from iokr.kernels.spectra import ProbabilityProduct
from iokr.kernels.subformulas import Subformulas
from iokr_lab.data.massbank import MassBank, load_massbank_msms
from iokr_lab.study import Plan

__all__ = ["KERNELS", "Similarities", "Spectra", "Split", "load"]

Matrix = NDArray[Any]
KERNELS = ("P", "P + L", "six")
_ROWS = 1024  # molecules compared at a time


@component
class Similarities(Kernel):
    """k(i, j) = matrix[i, j] for molecules i and the molecules j with spectra: a table of similarities, not copied."""

    matrix: Any = None

    domain = "indices"

    def __sklearn_clone__(self) -> Similarities:
        return Similarities(self.matrix)

    def represent(self, X: Any) -> Matrix:
        """Indices of molecules."""
        return np.asarray(X, dtype=np.intp).reshape(-1)

    def block(self, R: Matrix, S: Matrix) -> Matrix:
        """The entries; transposed if S has molecules without spectra."""
        if S.max(initial=0) >= self.matrix.shape[1]:
            return np.ascontiguousarray(self.block(S, R).T)
        return np.asarray(self.matrix[np.ix_(R, S)], dtype=np.float64)

    def diag(self, R: Matrix) -> Matrix:
        """Ones."""
        return np.ones(len(R))


@dataclass(frozen=True)
class Spectra(Plan):
    """The number of spectra, and the number of rows on which alphas are chosen."""

    repeat: int = 0
    n: int | None = None
    selection: int = 1500
    folds: int = 5


@dataclass(frozen=True)
class Data:
    """Spectra, and the matrices that methods share."""

    bank: MassBank
    chosen: NDArray[np.intp]  # indices of the spectra used
    grams: dict[str, Matrix]  # Gram matrices of the spectra, by kernel
    cosines: dict[str, Matrix]
    tanimoto: Matrix  # (molecules, spectra), float32
    sets: list[NDArray[np.intp]]
    fold: NDArray[np.intp]


@dataclass(frozen=True)
class Split:
    """One fold: training rows, queries, their candidates, and the position of the true one among them."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    candidates: list[NDArray[np.intp]]
    truth: list[int]

    @property
    def sets(self) -> CandidateSets:
        """The candidates as models take them, as indices of molecules."""
        return CandidateSets(self.candidates)


def load(plan: Spectra) -> Data:
    """Gram matrices of the kernels, similarities of spectra, and Tanimoto similarities of all molecules."""
    bank = load_massbank_msms()
    n = len(bank.spectra)
    chosen = np.arange(n) if plan.n is None else np.sort(np.random.default_rng(plan.seed).permutation(n)[: plan.n])
    used = bank.spectra[chosen]
    P = _unit(ProbabilityProduct(), used)
    L = _unit(ProbabilityProduct(places="losses"), used)
    parts = [Subformulas(of, weights)(used) for of in ("fragments", "losses") for weights in (0.0, 0.5)]
    six = (2 * P + L + sum(parts)) / 7
    matrices = {"P": P, "P + L": (P + L) / 2, "six": six}
    grams = {name: _spread(K, chosen, n) for name, K in matrices.items()}
    measures: dict[str, Callable[..., Any]] = {"cosine": cosine, "modified": modified_cosine, "mass": mass_nearness}
    similar = {name: _spread(f(used), chosen, n, np.float32) for name, f in measures.items()}
    fold = np.full(n, -1)
    fold[chosen] = np.random.default_rng(plan.seed).permutation(np.arange(len(chosen)) % plan.folds)
    sets = bank.candidates()
    return Data(bank, chosen, grams, similar, _tanimoto(bank), sets, fold)


def _unit(kernel: Any, spectra: Any) -> Matrix:
    return np.asarray(Normalized(kernel)(spectra))


def _spread(K: Matrix, chosen: Matrix, n: int, dtype: Any = np.float64) -> Matrix:
    """The matrix over all spectra, zero outside the chosen ones."""
    if len(chosen) == n:
        return K.astype(dtype, copy=False)
    full = np.zeros((n, n), dtype=dtype)
    full[np.ix_(chosen, chosen)] = K
    return full


def _tanimoto(bank: MassBank) -> Matrix:
    """Tanimoto similarity of every molecule to those with spectra, by products in single precision."""
    n = len(bank.spectra)
    right = bank.bits(np.arange(n)).astype(np.float32).T.copy()
    sizes = np.bitwise_count(bank.packed).sum(axis=1, dtype=np.float32)
    found = np.empty((len(bank.packed), n), dtype=np.float32)
    for start in range(0, len(found), _ROWS):
        some = slice(start, start + _ROWS)
        both = bank.bits(np.arange(len(found))[some]).astype(np.float32) @ right
        found[some] = both / (sizes[some, None] + sizes[None, :n] - both)
    return found


def split(data: Data, fold: int) -> Split:
    """Fold number `fold`; its queries are the spectra with more than one candidate."""
    train = np.flatnonzero((data.fold >= 0) & (data.fold != fold))
    test = np.array([i for i in np.flatnonzero(data.fold == fold) if len(data.sets[i]) > 1])
    names = data.bank.spectra.values("inchikey14")
    if {names[i] for i in train} & {names[i] for i in test}:
        raise AssertionError("A molecule is in the training and in the test part.")
    candidates = [data.sets[i] for i in test]
    truth = [int(np.flatnonzero(some == i)[0]) for some, i in zip(candidates, test, strict=True)]
    return Split(train, test, candidates, truth)
