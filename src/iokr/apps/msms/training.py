"""`iokr msms train`: folds for the calibration, then the model of all spectra, kept in a file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from iokr.apps.msms.kept import Kept
from iokr.apps.msms.learning import Grams, gathered, out_of_fold
from iokr.apps.msms.library import (
    Library,
    Molecules,
    Sets,
    cache_file,
    check_room,
    input_table,
    read_unlabeled,
    rejected_rows,
)
from iokr.apps.msms.options import Learning, Matching, Reading
from iokr.apps.msms.stages import Stages
from iokr.apps.msms.tables import figures, table_text
from iokr.apps.report import Report, Table, run_info
from iokr.apps.report.progress import Progress
from iokr.chem.spectra import MassSpectra
from iokr.chem.structures.fingerprints import Fingerprints
from iokr.chem.structures.molecules import rdkit_version
from iokr.cli.shared import command_line
from iokr.cli.signals import closing_words
from iokr.estimators.identification.confidence import mean_rank
from iokr.estimators.identification.model import Identification
from iokr.files import BadFile, load, load_beside, save

__all__ = ["KIND", "Model", "promise", "train"]

KIND = "iokr msms train"
_PROBES = ("CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "OCC1OC(O)C(O)C(O)C1O")
_SPLIT = 0.2  # of the molecules are kept for calibration alone


def train(
    reading: Reading,
    learning: Learning,
    matching: Matching,
    path: Path,
    progress: Progress,
    *,
    store_factor: bool = False,
    memory: float | None = None,
) -> Report:
    """Read, calibrate by folds over molecules, learn from all spectra, write."""
    start, progress = perf_counter(), Stages(progress)
    progress(0, 1, "reading spectra and structures")
    molecules = Molecules(learning.fingerprints, cache_file())
    library = Library.read(reading, learning, molecules)
    unlabeled = read_unlabeled(reading, learning, library)
    check_room(len(library.molecules) + (0 if unlabeled is None else len(unlabeled)), learning, memory)
    rejections = library.files.rejections
    sets: Sets | None = None
    if matching.paths() and learning.folds:
        progress(0, 1, "reading candidates")
        sets = Sets.of(library.files, matching, molecules)
        rejections = (*rejections, *sets.rejections)
    progress(0, 1, "comparing spectra")
    grams = Grams.of(library, learning, unlabeled)
    paths = [*reading.paths(), *matching.paths(), *learning.unlabeled]
    key = learning.key(paths, matching=matching, cleaning=reading.cleaning)
    kept = Kept(path.with_name(f"{path.name}.partial") / "folds.jsonl", key)
    calibration: dict[str, Any] = {"kind": "none"}
    model: Identification | None = None
    if sets is not None:
        with closing_words(lambda: kept.words("folds")):
            model, calibration = _calibrated(library, grams, sets, molecules, learning, kept, progress)
    if model is None:
        model = _final(library, grams, learning, np.arange(len(library.molecules)))
    progress(1, 1, "writing the model")
    info = run_info(seed=learning.seed, seconds=perf_counter() - start, files=paths)
    info["versions"]["rdkit"] = rdkit_version()
    _write(model, library, learning, reading, calibration, info, path, None if store_factor else grams)
    kept.forget()
    info |= progress.info()
    rows: list[dict[str, Any]] = [
        {"what": "spectra", "value": len(library.molecules)},
        {"what": "molecules", "value": len(set(library.identities))},
        {"what": "ion mode", "value": library.files.ion_mode or "not said"},
        *([] if unlabeled is None else [{"what": "spectra without structures", "value": len(unlabeled)}]),
        {"what": "alpha, forward", "value": f"{model.forward_.alpha:g}"},
        {"what": "alpha, reverse", "value": f"{model.reverse_.alpha:g}"},
    ]
    if "temperature" in calibration:
        rows.append({"what": "T of the probabilities", "value": f"{calibration['temperature']:.3g}"})
        rows.append({"what": "calibration molecules", "value": calibration["molecules"]})
        for name, value in calibration["figures"].items():
            shown = f"{value:.3f}" if name == "MRR" else f"{value:.1f} %"
            rows.append({"what": f"{name}, out of fold", "value": shown})
    report = Report(
        "A model of spectra",
        f"{len(library.molecules)} spectra of {len(set(library.identities))} molecules. {promise(calibration, 0.1)}",
        (Table("The model", rows), input_table("spectra with a structure", library.files, rejections)),
        (learning.in_words(),),
        files={"rejected.tsv": table_text(rejected_rows(rejections))},
    )
    return report.with_info(info)


def _final(library: Library, grams: Grams, learning: Learning, rows: np.ndarray) -> Identification:
    """The model of some spectra."""
    kernel = grams.kernel(grams.weights(rows, library.bits))
    model = Identification(kernel, method=learning.model, own=learning.own, manifold=grams.manifold)
    names = [library.identities[i] for i in rows]
    return model.fit(
        library.files.spectra[rows], np.asarray(library.bits[rows]), groups=names, X_unlabeled=grams.unlabeled
    )


def _calibrated(
    library: Library,
    grams: Grams,
    sets: Sets,
    molecules: Molecules,
    learning: Learning,
    kept: Kept,
    progress: Progress,
) -> tuple[Identification, dict[str, Any]]:
    """T, conformal values and best scores: out of fold, or of molecules kept for this alone."""
    split = learning.calibration == "split"
    fold = _held_out(library, learning) if split else library.fold_numbers(learning)
    numbers = [0] if split else list(range(int(fold.max()) + 1))
    parts = []
    for number in numbers:
        progress(number, len(numbers) + 1, f"fold {number + 1} of {len(numbers)}")
        if str(number) not in kept.parts:
            found = out_of_fold(
                library, grams, sets.entries, molecules.bits, learning, fold, number=number, methods=[learning.model]
            )
            kept.put(str(number), found)
        parts.append(kept.parts[str(number)])
    out = gathered(parts, library, sets.entries, fold)
    if not len(out.rows):
        raise ValueError(
            "No spectrum has a set of several candidates with its own molecule among them, so nothing can be "
            "calibrated; give other --candidates, or --folds 0."
        )
    progress(len(numbers), len(numbers) + 1, "learning from all spectra")
    # with a split the guarantee is for the model that never saw the molecules of the calibration
    model = _final(library, grams, learning, np.flatnonzero(fold != 0) if split else np.arange(len(fold)))
    scores = out.scores[learning.model]
    names = [library.identities[i] for i in out.rows]
    model.calibrate(scores, out.truth, names)
    ranks = np.array([mean_rank(f, t) for f, t in zip(scores, out.truth, strict=True)])
    return model, {
        "kind": "split" if split else "folds",
        "temperature": model.temperature_,
        "molecules": len(model.calibration_),
        "queries": len(out.rows),
        "absent": out.absent,
        "figures": {name: round(value, 3) for name, value in figures(ranks).items()},
    }


def _held_out(library: Library, learning: Learning) -> np.ndarray:
    """Fold 0: a fifth of the groups."""
    groups = library.groups(learning)
    names = sorted(set(groups))
    np.random.default_rng(learning.seed).shuffle(names)
    held = set(names[: max(1, round(_SPLIT * len(names)))])
    return np.array([0 if group in held else 1 for group in groups])


def promise(calibration: dict[str, Any], delta: float) -> str:
    """What the sets promise, in words."""
    if "temperature" not in calibration:
        return "Without calibration there are no probabilities and no sets: train with candidates and folds."
    share = f"{100 * (1 - delta):g} %"
    if calibration["kind"] == "split":
        return (
            f"Sets hold the truth with probability at least {share}, for queries that are exchangeable with the "
            f"{calibration['molecules']} molecules kept for calibration, when the truth is among the candidates."
        )
    return (
        f"Sets are calibrated to hold the truth in {share} of the cases, on {calibration['molecules']} molecules "
        "out of fold; that is what was observed, no theorem. All of it assumes that the truth is among the candidates."
    )


def _write(
    model: Identification,
    library: Library,
    learning: Learning,
    reading: Reading,
    calibration: dict[str, Any],
    info: dict[str, Any],
    path: Path,
    grams: Grams | None,
) -> None:
    """With `grams` compactly: the data in place of the two matrices of n², which the first use computes again."""
    inside = set(model.names_)  # some were perhaps kept for calibration
    used = [i for i, name in enumerate(library.identities) if name in inside]
    rows = np.array(used, dtype=np.intp)
    kept = library.files.spectra[rows]
    stored = model if grams is None else model.compact(kept, library.bits[rows], grams.unlabeled)
    save(
        stored,
        path,
        provenance={
            "command": command_line(),
            "date": info["date"],
            "files": info["data"],
            "model": learning.in_words(),
            "rdkit": info["versions"]["rdkit"],
        },
        beside={
            "kind": KIND,
            "ids": [library.files.ids[i] for i in used],
            "smiles": [library.molecules[i].smiles for i in used],
            "identities": [library.identities[i] for i in used],
            "mz": kept.mz,
            "intensity": kept.intensity,
            "indptr": kept.indptr,
            "precursor_mz": kept.precursor_mz,
            "ion_mode": library.files.ion_mode,
            "fingerprints": learning.fingerprints,
            "kernels": learning.kernels,
            "rdkit": info["versions"]["rdkit"],
            "probe": _probe(learning.fingerprints),
            "cleaning": {"min_peaks": reading.min_peaks, "min_intensity": reading.min_intensity},
            "calibration": calibration,
        },
    )


def _probe(kinds: str) -> str:
    """A hash of the fingerprints of three molecules: RDKit may change how it makes them."""
    return hashlib.sha256(np.asarray(Fingerprints(kinds).transform(list(_PROBES))).tobytes()).hexdigest()


class Model:
    """A model file: the model, and the library that it was learned from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        beside = load_beside(path)
        if beside.get("kind") != KIND:
            raise BadFile(f"{path} is no model of `iokr msms train`; load it with `iokr.load`.")
        if beside["probe"] != _probe(beside["fingerprints"]):
            raise BadFile(
                f"{path}: fingerprints of the probe molecules differ (written with RDKit {beside['rdkit']}, here "
                f"{rdkit_version()}); train again, or install {beside['rdkit']}."
            )
        self.beside = beside
        self.identification: Identification = load(path).restore()
        self.ids, self.smiles = [str(i) for i in beside["ids"]], [str(s) for s in beside["smiles"]]
        self.identities = [str(name) for name in beside["identities"]]
        arrays = (beside[name] for name in ("mz", "intensity", "indptr", "precursor_mz"))
        self.spectra = MassSpectra(*(np.asarray(array) for array in arrays))

    @property
    def calibration(self) -> dict[str, Any]:
        """What its probabilities and sets rest on."""
        return dict(self.beside["calibration"])

    @property
    def fingerprints(self) -> str:
        """The kinds."""
        return str(self.beside["fingerprints"])
