"""Evaluation: how often the true molecule is ranked first, by cross-validation over molecules, and by baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_integer
from iokr.apps.msms.baselines import BitwiseRidge, LibrarySearch, mass_nearness
from iokr.apps.msms.candidates import check_given
from iokr.apps.msms.checkpoint import Checkpoint
from iokr.apps.msms.evaluation_result import EvaluationResult
from iokr.apps.msms.folds import fold_numbers
from iokr.apps.msms.library import KnownGram, Library, check_options, read_library
from iokr.apps.msms.out_of_fold import Baselines, Confidence, OutOfFold, Scores, out_of_fold
from iokr.apps.msms.stages import Stages
from iokr.apps.report import Progress, silent
from iokr.chem.similarities import cosine, modified_cosine
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.model import METHODS

__all__ = ["evaluate"]

_SIMILARITIES: dict[str, Callable[..., Any]] = {
    "cosine": cosine,
    "modified": modified_cosine,
    "mass": mass_nearness,
}
_LIBRARY_SEARCHES = {  # the similarity, and the number of neighbours
    "library, modified cosine, 10 neighbours": ("modified", 10),
    "library, cosine, 10 neighbours": ("cosine", 10),
    "library, modified cosine, best hit": ("modified", 1),
    "library, cosine, best hit": ("cosine", 1),
    "library, nearest precursor mass": ("mass", 1),
}


def evaluate(
    spectra: Any,
    candidates: Any = None,
    *,
    database: Any = None,
    match: str = "formula",
    ppm: float = 10.0,
    adduct: str | None = None,
    baselines: bool = True,
    fingerprints: str = "maccs,morgan2,rdkit6",
    kernels: str = "peaks,losses",
    combine: str = "mean",
    method: str = "reverse",
    kernel_ppm: float = 5.0,
    folds: int = 5,
    folds_from: str | None = None,
    groups: Sequence[str] = (),
    similarity: float = 0.7,
    unlabeled: Any = None,
    own: str = "leave-out",
    delta: float = 0.1,
    seed: int = 0,
    memory: float | None = None,
    cache: Any = None,
    checkpoint: Any = None,
    progress: Progress = silent,
) -> EvaluationResult:
    """Evaluate models of spectra by cross-validation over molecules, next to library search and other baselines.

    No parameter is chosen on the fold that is evaluated.

    Parameters
    ----------
    spectra, candidates, database, match, ppm, adduct
        As for `train`; candidates or a database are needed.
    baselines : bool, default=True
        Also evaluate library searches, ridge regression of each fingerprint bit, and random scores.
    fingerprints, kernels, combine, method, kernel_ppm, folds, folds_from
        As for `train`. All three methods are evaluated; `method` is the one for which confidence is shown.
    groups : sequence of {"scaffold", "similarity"}, default=()
        Evaluate also with folds over these larger groups, for molecules unlike those of the library.
    similarity, unlabeled, seed, memory, cache, checkpoint, progress
        As for `train`.
    own : {"leave-out", "count"}, default="leave-out"
        Training spectra of a candidate are left out of its score, or count in it.
    delta : float, default=0.1
        Prediction sets are evaluated at the level 1 − δ.

    Returns
    -------
    result : EvaluationResult

    Examples
    --------
    >>> from iokr.apps import msms
    >>> made = msms.make_spectra(30, unknowns=3)
    >>> result = msms.evaluate(made.library, made.library_candidates, fingerprints="maccs", folds=2, baselines=False)
    >>> result.methods[["method", "folds by"]].to_numpy().tolist()
    [['reverse', 'molecule'], ['forward', 'molecule'], ['fusion', 'molecule']]
    """
    if own == "exclude":
        raise ValueError(
            '`own` must be "leave-out" or "count", got "exclude": the truth is never in the training set of its fold, '
            "so excluding training molecules would reveal it."
        )
    check_given(candidates, database)
    check_integer(folds, "folds", minimum=2)
    for group in groups:
        check_options(group=group)
    stages = Stages(progress)
    library = read_library(
        spectra,
        candidates=candidates,
        database=database,
        match=match,
        ppm=ppm,
        adduct=adduct,
        fingerprints=fingerprints,
        kernels=kernels,
        combine=combine,
        kernel_ppm=kernel_ppm,
        method=method,
        own=own,
        folds=folds,
        unlabeled=unlabeled,
        memory=memory,
        cache=cache,
        stages=stages,
        baselines=baselines,
    )
    larger = groups if folds_from is None else ()
    fold_of = {
        group: fold_numbers(library, folds, group=group, column=folds_from, similarity=similarity, seed=seed)
        for group in dict.fromkeys(["inchikey14", *larger])
    }
    run = {**library.key(), "folds": fold_of, "baselines": baselines, "seed": seed}
    parts = Checkpoint.of(checkpoint, run)
    total = sum(int(fold.max()) + 1 for fold in fold_of.values())
    done = 0
    found: dict[str, OutOfFold] = {}
    for group, fold in fold_of.items():
        numbers = range(int(fold.max()) + 1)
        first = not found  # baselines and own spectra that count are compared with folds over molecules only
        found[group] = out_of_fold(
            library,
            fold,
            numbers,
            group=group,
            methods=METHODS,
            baselines=_baselines(library, seed) if baselines and first else None,
            counted=first,
            checkpoint=parts,
            stages=stages,
            done=done,
            total=total,
        )
        done += len(numbers)
    calibration = {group: Confidence(scores, library.identities, method) for group, scores in found.items()}
    return EvaluationResult(library, found, calibration, delta, seed, stages.info(library.paths, seed))


def _baselines(library: Library, seed: int) -> Baselines:
    """Library searches, ridge on each bit, and random scores."""
    similarities = {name: np.asarray(similarity(library.files.spectra)) for name, similarity in _SIMILARITIES.items()}

    def scores(
        K: NDArray[Any],
        train: NDArray[Any],
        queries: NDArray[Any],
        candidates: CandidateSets,
        identities: list[list[str]],
        own: str,
    ) -> Scores:
        bits = np.asarray(library.bits[train])
        groups = [library.identities[i] for i in train]
        found: Scores = {}
        for name, (similarity, n_neighbors) in _LIBRARY_SEARCHES.items():
            S = similarities[similarity]
            search = LibrarySearch(lambda X, Z, S=S: S[np.ix_(X, Z)], n_neighbors=n_neighbors)
            found[name] = search.fit(train, bits, groups).scores(queries, candidates, identities, own=own)
        ridge = BitwiseRidge(KnownGram(K)).fit(train, bits, groups)
        found["ridge on each bit"] = ridge.scores(queries, candidates, identities, own=own)
        rng = np.random.default_rng((seed, int(queries[0])))
        found["chance"] = [rng.uniform(size=len(rows)) for rows in candidates.sets]
        return found

    return scores
