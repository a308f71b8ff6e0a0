"""What `train` and `evaluate` share: a library, its candidates and Gram matrices, and the model that is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_choice
from iokr.apps.msms.candidates import CandidateLists, no_candidates, read_candidate_lists
from iokr.apps.msms.grams import Grams
from iokr.apps.msms.inputs import Library, Structures, check_memory, peaks_of, read_library
from iokr.apps.msms.stages import Stages
from iokr.apps.readers.records import Rejected
from iokr.estimators.identification.model import METHODS, OWN, Identification
from iokr.kernels.base import Kernel
from iokr.manifolds.laplacian import Laplacian

__all__ = ["Problem", "check_options", "make_problem"]

_NEIGHBORS = 10  # of a spectrum in the graph of the manifold
_CHOICES = {
    "kernels": ("peaks,losses", "peaks", "losses", "six"),
    "combine": ("mean", "alignf", "align"),
    "method": METHODS,
    "own": OWN,
    "group": ("inchikey14", "scaffold", "similarity"),
    "calibration": ("folds", "split"),
    "match": ("formula", "mass"),
}


def check_options(**options: Any) -> None:
    """Options with a fixed set of values, by name."""
    for name, value in options.items():
        check_choice(value, name, _CHOICES[name])


@dataclass(frozen=True, eq=False)
class Problem:
    """A library, its Gram matrices and candidates, and the model that is fitted to them."""

    library: Library
    structures: Structures
    grams: Grams
    candidates: CandidateLists
    method: str
    own: str

    def fit(self, kernel: Kernel, X: Any, rows: NDArray[Any], X_unlabeled: Any) -> Identification:
        """The model of some rows of the library, X their spectra as `kernel` takes them."""
        manifold = None
        if X_unlabeled is not None:
            manifold = Laplacian(n_neighbors=_NEIGHBORS)
        model = Identification(kernel, method=self.method, own=self.own, manifold=manifold)
        identities = [self.library.identities[i] for i in rows]
        return model.fit(X, np.asarray(self.library.bits[rows]), groups=identities, X_unlabeled=X_unlabeled)

    @property
    def rejections(self) -> tuple[Rejected, ...]:
        """All records that were left out or changed."""
        return (*self.library.files.rejections, *self.candidates.rejections)

    @property
    def paths(self) -> list[Path]:
        """The files that were read."""
        unlabeled = () if self.library.unlabeled is None else self.library.unlabeled.paths
        return [*self.library.files.paths, *self.candidates.paths, *unlabeled]

    @property
    def note(self) -> str:
        """The model as a sentence."""
        what = {
            "reverse": "The reverse model, molecules to spectra, by the cosine of what is expected and what is there",
            "forward": "The forward model, spectra to molecules",
            "fusion": "The sum of the forward and the reverse model",
        }[self.method]
        own = {
            "leave-out": "a candidate's own spectra are left out of its score",
            "count": "a candidate's own spectra count in its score",
            "exclude": "candidates with spectra in the library are no answers",
        }[self.own]
        more = ""
        if self.library.unlabeled is not None:
            more = f"; {len(self.library.unlabeled.paths)} files of spectra without structures"
        return (
            f"{what}; kernels {self.grams.kernels} ({self.grams.combine}), "
            f"fingerprints {self.structures.fingerprints.kinds}; {own}{more}."
        )

    def key(self) -> dict[str, Any]:
        """The data and options that scores depend on: finished parts of another run are not used."""
        unlabeled = self.library.unlabeled
        return {
            "spectra": peaks_of(self.library.files),
            "unlabeled": None if unlabeled is None else peaks_of(unlabeled),
            "molecules": [molecule.smiles for molecule in self.library.molecules],
            "candidates": [[one.smiles for one in listed] for listed in self.candidates.lists],
            "fingerprints": self.structures.fingerprints.kinds,
            "kernels": [repr(part) for part in self.grams.parts],
            "combine": self.grams.combine,
            "method": self.method,
            "own": self.own,
        }


def make_problem(
    spectra: Any,
    *,
    candidates: Any,
    database: Any,
    match: str,
    ppm: float,
    adduct: str | None,
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
    stages: Stages,
    baselines: bool = False,
) -> Problem:
    """Read the library and the candidates, and compute the Gram matrices; arguments as those of `train`."""
    check_options(kernels=kernels, combine=combine, method=method, own=own, match=match)
    if unlabeled is not None and method == "reverse":
        raise ValueError(
            "`unlabeled`: the reverse model maps molecules to spectra, and these have no molecule; use "
            '`method="forward"` or "fusion".'
        )
    stages(0, 1, "reading spectra and structures")
    structures = Structures(fingerprints, cache)
    library = read_library(spectra, structures, unlabeled=unlabeled, folds=folds)
    check_memory(library, kernels, memory, baselines=baselines)
    lists = no_candidates(library.files)
    if candidates is not None or database is not None:
        stages(0, 1, "reading candidates")
        lists = read_candidate_lists(
            library.files,
            structures,
            candidates=candidates,
            database=database,
            match=match,
            ppm=ppm,
            adduct=adduct,
        )
    stages(0, 1, "comparing spectra")
    grams = Grams.of(library, kernels=kernels, combine=combine, ppm=kernel_ppm)
    return Problem(library, structures, grams, lists, method, own)
