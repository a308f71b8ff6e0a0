"""The model that `train` returns, and its file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Report
from iokr.chem.cleaning import Cleaning
from iokr.chem.spectra import MassSpectra
from iokr.chem.structures.fingerprints import Fingerprints
from iokr.chem.structures.molecules import rdkit_version
from iokr.estimators.identification.model import Identification
from iokr.files import BadFile, load_beside, save
from iokr.files import load as load_file

__all__ = ["SpectraModel", "load"]

_KIND = "iokr msms train"  # in the file
_PROBES = ("CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "OCC1OC(O)C(O)C(O)C1O")


@dataclass(frozen=True, eq=False)
class SpectraModel:
    """A fitted `Identification` with the spectra and molecules that it was fitted to; made by `train` and `load`.

    Attributes
    ----------
    identification : Identification
        The estimator; calibrated, if `train` had candidates and folds.
    spectra : MassSpectra
        The n training spectra.
    bits : array of shape (n, p)
        Fingerprints of their molecules.
    ids, smiles, identities : lists of n texts
        Ids of the spectra; SMILES and first blocks of the InChIKeys of their molecules.
    ion_mode : str or None
        Of all training spectra, where it is known.
    fingerprints, kernels : str
        The kinds of fingerprints and the kernels on spectra.
    calibration : dict
        Temperature, number of calibration molecules and metrics out of fold; `{"kind": "none"}` without calibration.
    provenance : dict
        Date, versions, data files and their hashes.
    training : Report or None
        Tables about the training; None for a model from a file.
    """

    identification: Identification
    spectra: MassSpectra
    bits: NDArray[Any]
    ids: list[str]
    smiles: list[str]
    identities: list[str]
    ion_mode: str | None
    fingerprints: str
    kernels: str
    cleaning: Cleaning
    calibration: Mapping[str, Any]
    unlabeled: MassSpectra | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    training: Report | None = None

    def __repr__(self) -> str:
        calibrated = "calibrated" if self.calibrated else "not calibrated"
        n_molecules = len(set(self.identities))
        what = f"{len(self.ids)} spectra of {n_molecules} molecules"
        return f"SpectraModel({self.identification.method}, {what}, {calibrated})"

    @property
    def calibrated(self) -> bool:
        """Whether it gives probabilities and prediction sets."""
        return "temperature" in self.calibration

    def stored(self, *, compact: bool) -> Identification:
        """The estimator as a file holds it."""
        if not compact:
            return self.identification
        return self.identification.compact(self.spectra, self.bits, self.unlabeled)

    def guarantee(self, delta: float) -> str:
        """What the prediction sets at level δ guarantee, as a sentence."""
        if not self.calibrated:
            return "The model is not calibrated: it gives no probabilities and no prediction sets."
        share = f"{100 * (1 - delta):g} %"
        n_molecules = self.calibration["molecules"]
        if self.calibration["kind"] == "split":
            return (
                f"Prediction sets contain the true molecule with probability at least {share}, for queries that are "
                f"exchangeable with the {n_molecules} calibration molecules and whose truth is among the candidates."
            )
        return (
            f"Prediction sets are calibrated by cross-validation on {n_molecules} molecules to contain the true "
            f"molecule in {share} of cases; this is an empirical coverage, not a guarantee. It assumes that the truth "
            "is among the candidates."
        )

    def save(self, path: Any, *, compact: bool = True, command: str | None = None) -> None:
        """Write the model to a file that `load` reads.

        Parameters
        ----------
        path : path
            By custom with the suffix `.safetensors`.
        compact : bool, default=True
            Store the training data in place of the two fitted matrices, 16n² bytes; `load` fits them again.
        command : str, default=None
            The command line that made the model, for its provenance.
        """
        origin = {} if command is None else {"command": command}
        beside = {
            "kind": _KIND,
            "ids": self.ids,
            "smiles": self.smiles,
            "identities": self.identities,
            "mz": self.spectra.mz,
            "intensity": self.spectra.intensity,
            "indptr": self.spectra.indptr,
            "precursor_mz": self.spectra.precursor_mz,
            "ion_mode": self.ion_mode,
            "fingerprints": self.fingerprints,
            "kernels": self.kernels,
            "rdkit": rdkit_version(),
            "probe": _probe(self.fingerprints),
            "cleaning": {"min_peaks": self.cleaning.min_peaks, "min_intensity": self.cleaning.min_intensity},
            "calibration": dict(self.calibration),
        }
        save(self.stored(compact=compact), path, provenance={**origin, **self.provenance}, beside=beside)


def load(path: Any) -> SpectraModel:
    """Read a model that `SpectraModel.save` or `iokr msms train` has written.

    A compact file is fitted again, which takes about as long as the last step of `train`.

    Parameters
    ----------
    path : path

    Raises
    ------
    BadFile
        If the file is not such a model, or RDKit computes other fingerprints than those that it was trained on.
    """
    path = Path(path)
    beside = load_beside(path)
    if beside.get("kind") != _KIND:
        raise BadFile(f"{path} is not a model of `iokr msms train`; load it with `iokr.load`.")
    if beside["probe"] != _probe(beside["fingerprints"]):
        raise BadFile(
            f"{path}: RDKit {rdkit_version()} computes other fingerprints than RDKit {beside['rdkit']}, with which the "
            "model was trained; train again, or install that version."
        )
    arrays = [np.asarray(beside[name]) for name in ("mz", "intensity", "indptr", "precursor_mz")]
    identification: Identification = load_file(path)
    unlabeled = None
    if hasattr(identification, "fitted_to_"):  # a compact file
        _, bits, unlabeled = identification.fitted_to_
        identification.restore()
    else:
        bits = identification.reverse_.inputs_.points.parts[0]  # the inputs of the reverse model are the fingerprints
    return SpectraModel(
        identification=identification,
        spectra=MassSpectra(*arrays),
        bits=np.asarray(bits),
        ids=[str(name) for name in beside["ids"]],
        smiles=[str(text) for text in beside["smiles"]],
        identities=[str(name) for name in beside["identities"]],
        ion_mode=beside["ion_mode"],
        fingerprints=str(beside["fingerprints"]),
        kernels=str(beside["kernels"]),
        cleaning=Cleaning(**beside["cleaning"]),
        calibration=beside["calibration"],
        unlabeled=unlabeled,
        path=path,
    )


def _probe(kinds: str) -> str:
    """A hash of the fingerprints of three molecules: versions of RDKit may differ in them."""
    return hashlib.sha256(np.asarray(Fingerprints(kinds).transform(list(_PROBES))).tobytes()).hexdigest()
