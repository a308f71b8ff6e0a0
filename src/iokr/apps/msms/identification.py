"""Identification: the candidates of unknown spectra, ranked, with the training spectra that contribute most."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

from iokr._validation.arguments import check_integer
from iokr.apps.msms.candidates import CandidateLists, read_candidate_lists
from iokr.apps.msms.checkpoint import opened
from iokr.apps.msms.identification_result import IdentificationResult
from iokr.apps.msms.inputs import Structures, as_spectra
from iokr.apps.msms.model import SpectraModel, load
from iokr.apps.msms.problem import check_options
from iokr.apps.msms.ranking import Ranker
from iokr.apps.msms.stages import Stages
from iokr.apps.report import Progress, run_info, silent
from iokr.chem.structures.molecules import rdkit_version

__all__ = ["identify"]

_QUERIES = 64  # scored together at most
_CANDIDATES = 1024  # of the queries scored together, unless one query has more


def identify(
    model: Any,
    spectra: Any,
    candidates: Any = None,
    *,
    database: Any = None,
    match: str = "formula",
    ppm: float = 10.0,
    adduct: str | None = None,
    top: int = 20,
    delta: float = 0.1,
    own: str = "leave-out",
    cache: Any = None,
    checkpoint: Any = None,
    progress: Progress = silent,
) -> IdentificationResult:
    """Rank the candidates of unknown spectra.

    Parameters
    ----------
    model : SpectraModel or path
    spectra : SpectraFiles, or what `read_spectra` takes
    candidates, database, match, ppm, adduct
        Candidates of each spectrum, or molecules among which it finds them; see `train`.
    top : int, default=20
        Number of candidates that are listed for each spectrum.
    delta : float, default=0.1
        Prediction sets contain the truth with a probability of about 1 − δ, for a calibrated model.
    own : {"leave-out", "count", "exclude"}, default="leave-out"
        Training spectra of a candidate are left out of its score, count in it, or exclude the candidate.
    cache : path, default=None
        A file for fingerprints and InChIKeys, which later calls use again; see `cache_file`.
    checkpoint : path or Checkpoint, default=None
        A file for finished spectra, from which the same call continues after an interrupt.
    progress : callable, default=silent
        Called with (done, total, what).

    Returns
    -------
    result : IdentificationResult

    Examples
    --------
    >>> from iokr.apps import msms
    >>> made = msms.make_spectra(30, unknowns=3)
    >>> model = msms.train(made.library, made.library_candidates, fingerprints="maccs", folds=2)
    >>> result = msms.identify(model, made.unknowns, made.candidates)
    >>> result
    IdentificationResult(3 of 3 spectra with ranked candidates)
    >>> result.spectra["status"].tolist()
    ['ok', 'ok', 'ok']
    """
    check_options(own=own, match=match)
    check_integer(top, "top", minimum=1)
    start = perf_counter()
    stages = Stages(progress)
    if not isinstance(model, SpectraModel):
        stages(0, 1, "reading the model")
        model = load(model)
    if model.kernels == "six" and database is not None and match == "mass":
        raise ValueError(
            'the model compares sub-formulas, which need the formula of the unknown, and `match="mass"` does not '
            'give it; use `match="formula"`, or train with `kernels="peaks,losses"`.'
        )
    stages(0, 1, "reading spectra")
    files = as_spectra(spectra)
    if model.ion_mode and files.ion_mode and model.ion_mode != files.ion_mode:
        raise ValueError(f"the spectra are of {files.ion_mode} ion mode and the model was trained on {model.ion_mode}.")
    stages(0, 1, "reading candidates")
    structures = Structures(model.fingerprints, cache)
    lists = read_candidate_lists(
        files, structures, candidates=candidates, database=database, match=match, ppm=ppm, adduct=adduct
    )
    if own == "exclude":
        lists = lists.without(set(model.identities), files)
    ranker = Ranker(model, files, lists, structures, top=top, delta=delta, own=own)
    answers = opened(checkpoint, **ranker.key())
    rows = [i for i, listed in enumerate(lists.lists) if listed]
    for block in _blocks([i for i in rows if files.ids[i] not in answers.parts], lists):
        stages(len(answers.parts), len(rows), "identifying")
        for i, answer in zip(block, ranker.answers(block), strict=True):
            answers.put(files.ids[i], answer)
    paths = [*files.paths, *lists.paths]
    if model.path is not None:
        paths.append(model.path)
    info = run_info(seconds=perf_counter() - start, files=paths)
    info["versions"]["rdkit"] = rdkit_version()
    return IdentificationResult(
        model=model,
        files=files,
        candidates=lists,
        answers=answers.parts,
        delta=delta,
        reranked=ranker.reranks,
        info={**info, **stages.info()},
    )


def _blocks(rows: list[int], lists: CandidateLists) -> Iterator[list[int]]:
    """Queries that are scored together: fewer where they have many candidates, as all their scores are in memory."""
    block: list[int] = []
    n_candidates = 0
    for i in rows:
        n_candidates += len(lists.lists[i])
        if block and (len(block) == _QUERIES or n_candidates > _CANDIDATES):
            yield block
            block = []
            n_candidates = len(lists.lists[i])
        block.append(i)
    if block:
        yield block
