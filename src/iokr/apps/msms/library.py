"""A library of spectra with structures: its candidates, kernels and Gram matrices, and the models fitted to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._component import component
from iokr._system.memory import available_memory, human_bytes
from iokr._validation.arguments import check_choice
from iokr.apps.msms.inputs import CandidateLists, Structures, as_spectra, peaks_of, read_candidate_lists
from iokr.apps.readers.molecule_files import read_structures
from iokr.apps.readers.records import Rejected
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.apps.report import Progress
from iokr.chem.structures.molecules import Molecule
from iokr.data.bits import Bits
from iokr.estimators.identification.model import METHODS, OWN, Identification
from iokr.kernels.algebra import Mean, Normalized
from iokr.kernels.alignment import alignment_weights
from iokr.kernels.base import Kernel
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.spectra import ProbabilityProduct
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.subformulas import Subformulas
from iokr.manifolds.laplacian import Laplacian

__all__ = ["KnownGram", "Library", "check_options", "read_library"]

_CHOICES = {
    "kernels": ("peaks,losses", "peaks", "losses", "six"),
    "combine": ("mean", "alignf", "align"),
    "method": METHODS,
    "own": OWN,
    "group": ("inchikey14", "scaffold", "similarity"),
    "calibration": ("folds", "split"),
    "match": ("formula", "mass"),
}
_METHODS = {
    "reverse": "The reverse model, molecules to spectra, scored by the cosine of predicted and observed spectrum",
    "forward": "The forward model, spectra to molecules",
    "fusion": "The sum of the standardised scores of the forward and the reverse model",
}
_OWN = {
    "leave-out": "training spectra of a candidate are left out of its score",
    "count": "training spectra of a candidate count in its score",
}
_N_WORK = 7  # matrices of n²: both models, and the work space of fitting them
_N_BASELINES = 3  # matrices of n²: similarities of the library search
_NEIGHBORS = 10  # of a spectrum in the graph of the manifold
_NO_WEIGHT = 1e-9  # kernels of a smaller weight are left out of the model


def check_options(**options: Any) -> None:
    """Options with a fixed set of values, by name."""
    for name, value in options.items():
        check_choice(value, name, _CHOICES[name])


@component
class KnownGram(Precomputed):
    """As `Precomputed`, of a matrix that kernels have computed: neither checked nor copied for every fit."""

    def fit(self, X: Any) -> KnownGram:
        """Take the matrix as it is."""
        self.matrix_ = self.matrix
        return self

    def __sklearn_clone__(self) -> KnownGram:
        return KnownGram(self.matrix)


@dataclass(frozen=True, eq=False)
class Library:
    """Spectra with structures, and what the models of a run are made of.

    Gram matrices are of all spectra, those without structures last.
    """

    files: SpectraFiles
    molecules: list[Molecule]
    bits: Bits
    unlabeled: SpectraFiles | None  # spectra without structures
    structures: Structures
    candidates: CandidateLists
    kernels: str
    combine: str
    parts: list[Kernel]
    matrices: list[NDArray[Any]]
    method: str
    own: str

    @cached_property
    def identities(self) -> list[str]:
        """The molecule of each spectrum, by the first block of its InChIKey."""
        return [molecule.identity for molecule in self.molecules]

    @property
    def rejections(self) -> tuple[Rejected, ...]:
        """All records that were left out or changed."""
        return (*self.files.rejections, *self.candidates.rejections)

    @property
    def paths(self) -> list[Path]:
        """The files that were read."""
        unlabeled = () if self.unlabeled is None else self.unlabeled.paths
        return [*self.files.paths, *self.candidates.paths, *unlabeled]

    @property
    def note(self) -> str:
        """The model as a sentence."""
        more = "" if self.unlabeled is None else f"; {len(self.unlabeled.spectra)} spectra without structures"
        return (
            f"{_METHODS[self.method]}; kernels {self.kernels} ({self.combine}), "
            f"fingerprints {self.structures.fingerprints.kinds}; {_OWN[self.own]}{more}."
        )

    def key(self) -> dict[str, Any]:
        """The data and options that scores depend on: finished parts of another run are not used."""
        return {
            "spectra": peaks_of(self.files),
            "unlabeled": None if self.unlabeled is None else peaks_of(self.unlabeled),
            "molecules": [molecule.smiles for molecule in self.molecules],
            "candidates": [[one.smiles for one in listed] for listed in self.candidates.lists],
            "fingerprints": self.structures.fingerprints.kinds,
            "kernels": [self.combine, *map(repr, self.parts)],
            "model": [self.method, self.own],
        }

    # ---------------------------------------------------------------------------------------------------------- kernels

    def weights(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Weights of the kernels: equal, or by alignment with the Tanimoto kernel of the molecules of some rows."""
        n = len(self.parts)
        if self.combine == "mean" or n == 1:
            return np.full(n, 1 / n)
        target = np.asarray(Tanimoto()(self.bits[rows]))
        return alignment_weights([K[np.ix_(rows, rows)] for K in self.matrices], target, self.combine)[0]

    def gram(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Σ_t ω_t K_t."""
        return np.asarray(sum(w * K for w, K in zip(weights, self.matrices, strict=True)))

    def _kernel(self, weights: NDArray[Any]) -> Kernel:
        """Σ_t ω_t k_t."""
        if self.combine == "mean":
            return self.parts[0] if len(self.parts) == 1 else Mean(self.parts)
        return reduce(add, [part * float(w) for w, part in zip(weights, self.parts, strict=True) if w > _NO_WEIGHT])

    # ----------------------------------------------------------------------------------------------------------- models

    def fit(self, rows: NDArray[np.intp]) -> Identification:
        """The model of some spectra."""
        unlabeled = None if self.unlabeled is None else self.unlabeled.spectra
        return self._fit(self._kernel(self.weights(rows)), self.files.spectra[rows], rows, unlabeled)

    def fit_gram(self, K: NDArray[Any], rows: NDArray[np.intp]) -> Identification:
        """The model of some spectra, which are given to it as rows of a Gram matrix."""
        n = len(self.molecules)
        unlabeled = np.arange(n, len(K)) if len(K) > n else None
        return self._fit(KnownGram(K), rows, rows, unlabeled)

    def _fit(self, kernel: Kernel, X: Any, rows: NDArray[np.intp], X_unlabeled: Any) -> Identification:
        manifold = None if X_unlabeled is None else Laplacian(n_neighbors=_NEIGHBORS)
        model = Identification(kernel, method=self.method, own=self.own, manifold=manifold)
        identities = [self.identities[i] for i in rows]
        return model.fit(X, np.asarray(self.bits[rows]), groups=identities, X_unlabeled=X_unlabeled)


def read_library(
    spectra: Any,
    *,
    fingerprints: str,
    kernels: str,
    combine: str,
    kernel_ppm: float,
    method: str,
    own: str,
    folds: int,
    unlabeled: Any,
    memory: float | None,
    cache: Any,
    progress: Progress,
    baselines: bool = False,
    **matching: Any,
) -> Library:
    """Read the spectra and their candidates, and compute the Gram matrices.

    Arguments are those of `train`; `matching` are candidates, database, match, ppm and adduct.
    """
    check_options(kernels=kernels, combine=combine, method=method, own=own, match=matching["match"])
    if unlabeled is not None and method == "reverse":
        raise ValueError(
            "`unlabeled`: the reverse model maps molecules to spectra and cannot use spectra without molecules; use "
            '`method="forward"` or `method="fusion"`.'
        )
    progress(0, 1, "reading spectra and structures")
    structures = Structures(fingerprints, cache)
    files, molecules = read_structures(as_spectra(spectra), structures.known)
    n_molecules = len({molecule.identity for molecule in molecules})
    if n_molecules < 2 * max(folds, 1):
        raise ValueError(
            f"The library has {n_molecules} molecules with a usable spectrum, but it needs at least two molecules "
            f"for each fold, {2 * max(folds, 1)}."
        )
    bits = structures.fingerprints.transform([molecule.smiles for molecule in molecules])
    blocks = files.spectra
    others = None
    if unlabeled is not None:
        others = _read_unlabeled(unlabeled, files)
        blocks = blocks.concat(others.spectra)
    parts = _kernel_parts(kernels, combine, kernel_ppm)
    distinct = {repr(part): part for part in parts}
    _check_memory(len(blocks), len(distinct), memory, baselines=baselines)
    progress(0, 1, "reading candidates")
    candidates = read_candidate_lists(files, structures, **matching)
    progress(0, 1, "comparing spectra")
    computed = {name: np.asarray(part(blocks)) for name, part in distinct.items()}
    matrices = [computed[repr(part)] for part in parts]
    return Library(
        files, molecules, bits, others, structures, candidates, kernels, combine, parts, matrices, method, own
    )


def _read_unlabeled(unlabeled: Any, library: SpectraFiles) -> SpectraFiles:
    """Spectra without structures, cleaned as the library is, of its ion mode."""
    found = as_spectra(unlabeled, cleaning=library.cleaning, ion_mode=library.ion_mode)
    if not len(found.spectra):
        raise ValueError(f"`unlabeled`: no usable spectrum among {found.n_read}.")
    if found.ion_mode and library.ion_mode and found.ion_mode != library.ion_mode:
        raise ValueError(
            f"`unlabeled` has spectra of {found.ion_mode} ion mode, but the library has {library.ion_mode} ion mode."
        )
    return found


def _check_memory(n: int, n_grams: int, limit: float | None, *, baselines: bool) -> None:
    """Raise `MemoryError` if the matrices of n² numbers exceed `limit` bytes, or the memory that is free."""
    matrices = n_grams + _N_WORK + (_N_BASELINES if baselines else 0)
    needed = 8.0 * n**2 * matrices
    allowed = available_memory() if limit is None else limit
    if allowed is not None and needed > allowed:
        what = f"{human_bytes(allowed)} are free" if limit is None else f"`memory` allows {human_bytes(allowed)}"
        raise MemoryError(
            f"Training on {n} spectra needs about {human_bytes(needed)}, and {what}; use fewer spectra or "
            '`kernels="peaks"`.'
        )


def _kernel_parts(kernels: str, combine: str, ppm: float) -> list[Kernel]:
    """Normalised probability products of peaks and of losses, and with "six" the kernels on sub-formulas."""
    peaks: Kernel = Normalized(ProbabilityProduct(ppm=ppm))
    losses: Kernel = Normalized(ProbabilityProduct(ppm=ppm, places="losses"))
    if kernels != "six":
        return [{"peaks": peaks, "losses": losses}[name] for name in kernels.split(",")]
    subformulas = [Subformulas(of, weights) for of in ("fragments", "losses") for weights in (0.0, 0.5)]
    if combine == "mean":
        return [peaks, peaks, losses, *subformulas]  # peaks have twice the weight of every other kernel
    return [peaks, losses, *subformulas]
