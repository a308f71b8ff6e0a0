"""Training: a model calibrated on folds over molecules, then fitted to all spectra."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from iokr._validation.arguments import check_integer
from iokr.apps.msms.checkpoint import Checkpoint
from iokr.apps.msms.folds import OutOfFold, fold_numbers, held_out_groups, out_of_fold
from iokr.apps.msms.inputs import input_table, run_info
from iokr.apps.msms.library import Library, check_options, read_library
from iokr.apps.msms.model import SpectraModel
from iokr.apps.msms.page import figures, rejected_frame, table_file
from iokr.apps.report import Progress, Report, Table, silent
from iokr.estimators.identification.model import Identification

__all__ = ["train"]


def train(
    spectra: Any,
    candidates: Any = None,
    *,
    database: Any = None,
    match: str = "formula",
    ppm: float = 10.0,
    adduct: str | None = None,
    fingerprints: str = "maccs,morgan2,rdkit6",
    kernels: str = "peaks,losses",
    combine: str = "mean",
    method: str = "reverse",
    kernel_ppm: float = 5.0,
    folds: int = 5,
    folds_from: str | None = None,
    group: str = "inchikey14",
    similarity: float = 0.7,
    calibration: str = "folds",
    unlabeled: Any = None,
    seed: int = 0,
    memory: float | None = None,
    cache: Any = None,
    checkpoint: Any = None,
    progress: Progress = silent,
) -> SpectraModel:
    """Train a model of spectra with known structures; with candidates, calibrate it on held-out molecules.

    Parameters
    ----------
    spectra : SpectraFiles, or what `read_spectra` takes
        Those without a structure are left out.
    candidates : path, data frame, dictionary, or list of lists, default=None
        Candidates of each spectrum: a table with the columns spectrum_id and smiles, a dictionary {id: structures}, or
        structures for each spectrum. Without candidates the model is not calibrated.
    database : path, data frame, or list of structures, default=None
        Molecules among which each spectrum finds its candidates, in place of `candidates`.
    match : {"formula", "mass"}, default="formula"
        Candidates from the database have the formula of the spectrum, or the mass of its precursor within `ppm`.
    ppm : float, default=10.0
    adduct : str, default=None
        Of spectra without an adduct in their metadata, such as "[M+H]+"; for ``match="mass"``.
    fingerprints : str, default="maccs,morgan2,rdkit6"
        Kinds of `iokr.chem.Fingerprints`.
    kernels : {"peaks,losses", "peaks", "losses", "six"}, default="peaks,losses"
        On the spectra. "six" adds kernels on sub-formulas and needs the formula of every spectrum.
    combine : {"mean", "alignf", "align"}, default="mean"
        Weights of the kernels: equal, or by alignment with the molecules.
    method : {"reverse", "forward", "fusion"}, default="reverse"
        See `iokr.Identification`.
    kernel_ppm : float, default=5.0
        Standard deviation of m/z in the kernels.
    folds : int, default=5
        Folds over molecules for the calibration; 0 trains without calibration.
    folds_from : str, default=None
        A metadata field with the fold of each spectrum, in place of random folds.
    group : {"inchikey14", "scaffold", "similarity"}, default="inchikey14"
        What folds keep together: molecules, scaffolds, or groups of similar molecules.
    similarity : float, default=0.7
        Tanimoto similarity from which two molecules are in one group.
    calibration : {"folds", "split"}, default="folds"
        On scores out of fold, or on a fifth of the molecules that are held out of the final model.
    unlabeled : paths or spectra, default=None
        Spectra without structures, for the forward model.
    seed : int, default=0
    memory : float, default=None
        `MemoryError` is raised before the work if it needs more bytes; None is the free memory.
    cache : path, default=None
        A file for fingerprints and InChIKeys, which later calls use again; see `cache_file`.
    checkpoint : path or Checkpoint, default=None
        A file for finished folds, from which the same call continues after an interrupt.
    progress : callable, default=silent
        Called with (done, total, what).

    Returns
    -------
    model : SpectraModel

    Examples
    --------
    >>> from iokr.apps import msms
    >>> made = msms.make_spectra(30, unknowns=3)
    >>> model = msms.train(made.library, made.library_candidates, fingerprints="maccs", folds=2)
    >>> model
    SpectraModel(reverse, 27 spectra of 27 molecules, calibrated)
    """
    check_options(group=group, calibration=calibration)
    check_integer(folds, "folds", minimum=0)
    if folds == 1:
        raise ValueError("`folds` must be 0 or at least 2, got 1: with one fold there is no training set.")
    start = perf_counter()
    library = read_library(
        spectra,
        candidates=candidates if folds else None,
        database=database if folds else None,
        match=match,
        ppm=ppm,
        adduct=adduct,
        fingerprints=fingerprints,
        kernels=kernels,
        combine=combine,
        kernel_ppm=kernel_ppm,
        method=method,
        own="leave-out",
        folds=folds,
        unlabeled=unlabeled,
        memory=memory,
        cache=cache,
        progress=progress,
    )
    rows = np.arange(len(library.molecules))
    facts: dict[str, Any] = {"kind": "none"}
    if folds and (candidates is not None or database is not None):
        if calibration == "split":
            fold = held_out_groups(library, group=group, similarity=similarity, seed=seed)
            numbers = [0]
            rows = np.flatnonzero(fold != 0)  # the guarantee of the sets needs a model that did not see fold 0
        else:
            fold = fold_numbers(library, folds, group=group, column=folds_from, similarity=similarity, seed=seed)
            numbers = list(range(int(fold.max()) + 1))
        held_out = out_of_fold(
            library,
            fold,
            numbers,
            group=group,
            methods=[method],
            checkpoint=Checkpoint.of(checkpoint, {**library.key(), "fold": fold}),
            progress=progress,
            done=0,
            total=len(numbers) + 1,
        )
        progress(len(numbers), len(numbers) + 1, "fitting the final model")
        identification = library.fit(rows)
        facts = {"kind": calibration, **_calibrate(identification, held_out, library.identities)}
    else:
        identification = library.fit(rows)
    info = run_info(start, library.paths, seed)
    model = SpectraModel(
        identification=identification,
        spectra=library.files.spectra[rows],
        bits=library.bits[rows],
        ids=[library.files.ids[i] for i in rows],
        smiles=[library.molecules[i].smiles for i in rows],
        identities=[library.identities[i] for i in rows],
        ion_mode=library.files.ion_mode,
        fingerprints=fingerprints,
        kernels=kernels,
        cleaning=library.files.cleaning,
        calibration=facts,
        unlabeled=None if library.unlabeled is None else library.unlabeled.spectra,
        provenance={
            "date": info["date"],
            "files": info["data"],
            "model": library.note,
            "rdkit": info["versions"]["rdkit"],
        },
    )
    return replace(model, training=_report(model, library).with_info(info))


def _calibrate(identification: Identification, held_out: OutOfFold, identities: list[str]) -> dict[str, Any]:
    """Calibrate the model on scores of held-out molecules; the facts that its file has about them."""
    method = identification.method
    identification.calibrate(held_out.scores[method], held_out.truth, [identities[i] for i in held_out.rows])
    return {
        "temperature": identification.temperature_,
        "molecules": len(identification.calibration_),
        "queries": len(held_out.rows),
        "absent": held_out.absent,
        "figures": {name: round(value, 3) for name, value in figures(held_out.ranks(method)).items()},
    }


def _report(model: SpectraModel, library: Library) -> Report:
    """The tables of a training."""
    calibration = model.calibration
    n_molecules = len(set(library.identities))
    facts: dict[str, Any] = {
        "spectra": len(library.molecules),
        "molecules": n_molecules,
        "ion mode": model.ion_mode or "unknown",
    }
    if model.unlabeled is not None:
        facts["spectra without structures"] = len(model.unlabeled)
    facts["alpha, forward"] = f"{model.identification.forward_.alpha:g}"
    facts["alpha, reverse"] = f"{model.identification.reverse_.alpha:g}"
    if model.calibrated:
        facts["temperature"] = f"{calibration['temperature']:.3g}"
        facts["calibration molecules"] = calibration["molecules"]
        for name, value in calibration["figures"].items():
            facts[f"{name}, out of fold"] = f"{value:.3f}" if name == "MRR" else f"{value:.1f} %"
    return Report(
        "Model of mass spectra",
        f"{len(library.molecules)} spectra of {n_molecules} molecules. {model.guarantee(0.1)}",
        (
            Table("Model", [{"property": name, "value": value} for name, value in facts.items()]),
            input_table("spectra with a structure", library.files, library.rejections),
        ),
        (library.note,),
        files={"rejected.tsv": table_file(rejected_frame(library.rejections))},
    )
