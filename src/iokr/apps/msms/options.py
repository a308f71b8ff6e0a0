"""What the user asked for, in words that models and pages use."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from iokr.chem.cleaning import Cleaning

__all__ = ["Learning", "Matching", "Reading"]


@dataclass(frozen=True)
class Reading:
    """Which spectra are read, and how they are cleaned."""

    inputs: tuple[Path, ...]
    annotations: Path | None = None
    ion_mode: str | None = None
    min_peaks: int = 3
    min_intensity: float = 0.001

    @property
    def cleaning(self) -> Cleaning:
        """The cleaning."""
        return Cleaning(min_intensity=self.min_intensity, min_peaks=self.min_peaks)

    def paths(self) -> list[Path]:
        """The files."""
        return [*self.inputs, *([] if self.annotations is None else [self.annotations])]


@dataclass(frozen=True)
class Matching:
    """Where the candidates of a spectrum come from."""

    candidates: Path | None = None
    database: Path | None = None
    match: str = "formula"
    ppm: float = 10.0
    adduct: str | None = None

    def paths(self) -> list[Path]:
        """The files."""
        return [path for path in (self.candidates, self.database) if path is not None]

    def in_words(self) -> str:
        """A sentence."""
        if self.candidates is not None:
            return f"Candidates are those of {self.candidates.name}."
        if self.database is None:
            return "No candidates were given."
        how = "of the same formula" if self.match == "formula" else f"within {self.ppm:g} ppm of the precursor's mass"
        return f"Candidates are the molecules of {self.database.name} {how}."


@dataclass(frozen=True)
class Learning:
    """The model, and the folds over molecules that it is calibrated or judged by."""

    fingerprints: str = "maccs,morgan2,rdkit6"
    kernels: str = "peaks,losses"
    combine: str = "mean"
    model: str = "reverse"
    kernel_ppm: float = 5.0
    own: str = "leave-out"
    folds: int = 5
    folds_from: str | None = None
    group: str = "inchikey14"
    similarity: float = 0.7
    calibration: str = "folds"
    unlabeled: tuple[Path, ...] = ()
    seed: int = 0

    def in_words(self) -> str:
        """A sentence."""
        what = {
            "reverse": "The reverse model, molecules to spectra, by the cosine of what is expected and what is there",
            "forward": "The forward model, spectra to molecules",
            "fusion": "The sum of the forward and the reverse model",
        }[self.model]
        own = {
            "leave-out": "a candidate's own spectra are left out of its score",
            "count": "a candidate's own spectra count in its score",
            "exclude": "candidates with spectra in the library are no answers",
        }[self.own]
        more = f"; {len(self.unlabeled)} files of spectra without structures" if self.unlabeled else ""
        return f"{what}; kernels {self.kernels} ({self.combine}), fingerprints {self.fingerprints}; {own}{more}."

    def key(self, paths: list[Path], **more: Any) -> str:
        """A hash of these options and of the files: what finished parts of a run depend on."""
        digest = hashlib.sha256(json.dumps({**asdict(self), **more}, sort_keys=True, default=str).encode())
        for path in paths:
            digest.update(path.read_bytes())
        return digest.hexdigest()
