"""Identification: the candidates of unknown spectra, ranked, with the training spectra that contribute most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_integer
from iokr.apps.msms.baselines import LibrarySearch
from iokr.apps.msms.checkpoint import Checkpoint
from iokr.apps.msms.identification_result import BEST, MANY, IdentificationResult
from iokr.apps.msms.inputs import (
    CandidateLists,
    Structures,
    as_spectra,
    check_given,
    peaks_of,
    read_candidate_lists,
    run_info,
)
from iokr.apps.msms.library import check_options
from iokr.apps.msms.model import SpectraModel, load
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.apps.report import Progress, silent
from iokr.chem.similarities import modified_cosine
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.confidence import in_set, probabilities
from iokr.estimators.identification.model import Identification
from iokr.kernels.structured.sets import Tanimoto

__all__ = ["Ranker", "all_scores", "identify"]

_QUERIES = 64  # scored together at most
_CANDIDATES = 1024  # of the queries scored together, unless one query has more
_N_EVIDENCE = 5
_MATCH_SIMILARITY = 0.7  # modified cosine,
_MATCH_PEAKS = 6  # matched peaks
_MATCH_TOLERANCE = 10e-6  # and relative difference of the precursors of a library match


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
    check_given(candidates, database)
    start = perf_counter()
    if not isinstance(model, SpectraModel):
        progress(0, 1, "reading the model")
        model = load(model)
    if model.kernels == "six" and database is not None and match == "mass":
        raise ValueError(
            'The model compares sub-formulas and needs the formula of every spectrum, which `match="mass"` does not '
            'give; use `match="formula"`, or a model trained with the kernels "peaks,losses".'
        )
    progress(0, 1, "reading spectra")
    files = as_spectra(spectra)
    if model.ion_mode and files.ion_mode and model.ion_mode != files.ion_mode:
        raise ValueError(f"The spectra have {files.ion_mode} ion mode and the model {model.ion_mode}.")
    progress(0, 1, "reading candidates")
    structures = Structures(model.fingerprints, cache)
    lists = read_candidate_lists(
        files, structures, candidates=candidates, database=database, match=match, ppm=ppm, adduct=adduct
    )
    if own == "exclude":
        lists = lists.without(set(model.identities), files)
    ranker = Ranker(model, files, lists, structures, top, delta, own)
    answers = Checkpoint.of(checkpoint, ranker.key())
    rows = [i for i, listed in enumerate(lists.lists) if listed]
    for block in _blocks([i for i in rows if files.ids[i] not in answers.parts], lists):
        progress(len(answers.parts), len(rows), "ranking candidates")
        for i, answer in zip(block, ranker.answers(block), strict=True):
            answers.put(files.ids[i], answer)
    paths = [*files.paths, *lists.paths]
    if model.path is not None:
        paths.append(model.path)
    return IdentificationResult(model, files, lists, answers.parts, delta, ranker.reranks, run_info(start, paths))


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


def all_scores(
    model: Identification,
    X: Any,
    candidates: CandidateSets,
    names: Sequence[Sequence[Any]],
    *,
    best: int | None = None,
    own: str | None = None,
) -> dict[str, list[NDArray[Any]]]:
    """Scores by the forward and the reverse model, and by the model's own method.

    A score of the forward model is cheap, one of the reverse model costs 2n² for its norm. With `best`, the latter is
    computed only for that many candidates of each query, the best by the forward model; the others have −∞.
    """
    forward = model.scores(X, candidates, names, method="forward", own=own)
    found = {"forward": forward}
    chosen = [np.sort(np.argsort(-f, kind="stable")[:best]) for f in forward]
    best_sets = CandidateSets([rows[places] for rows, places in zip(candidates.sets, chosen, strict=True)])
    best_names = [[listed[k] for k in places] for listed, places in zip(names, chosen, strict=True)]
    for method in sorted({model.method, "reverse"} - {"forward"}):
        found[method] = [np.full(len(f), -np.inf) for f in forward]
        values = model.scores(X, best_sets, best_names, method=method, own=own)
        for f, places, value in zip(found[method], chosen, values, strict=True):
            f[places] = value
    return found


@dataclass(frozen=True, eq=False)
class Ranker:
    """Ranks the candidates of queries by a model."""

    model: SpectraModel
    files: SpectraFiles
    candidates: CandidateLists
    structures: Structures
    top: int
    delta: float
    own: str

    @cached_property
    def reranks(self) -> bool:
        """Whether the reverse model scores only the best candidates by the forward model."""
        return len({one.identity for listed in self.candidates.lists for one in listed}) > MANY

    def key(self) -> dict[str, Any]:
        """The data and options that answers depend on: finished answers of another run are not used."""
        return {
            "model": self.model.stored(compact=True),
            "ids": self.model.ids,
            "spectra": peaks_of(self.files),
            "candidates": [[vars(one) for one in listed] for listed in self.candidates.lists],
            "options": [self.top, self.delta, self.own],
        }

    def answers(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """For each query its best candidates with scores, probabilities and evidence."""
        model = self.model
        forward = model.identification.forward_
        X = self.files.spectra[np.array(rows, dtype=np.intp)]
        sets, identities = self.candidates.sets(rows, self.structures)
        best = BEST if self.reranks else None
        scores = all_scores(model.identification, X, sets, identities, best=best, own=self.own)
        similar, matched = modified_cosine.matches(X, model.spectra)
        search = LibrarySearch(lambda A, B: similar).fit(model.spectra, model.bits, model.identities)
        own = "count" if self.own == "count" else "leave-out"
        scores["library"] = search.scores(X, sets, identities, own=own)
        beta = np.asarray(forward.weights(X))
        kernel = np.asarray(forward.kernel_.block(forward.kernel_.represent(X), forward.inputs_.points))
        answers = []
        for k, i in enumerate(rows):
            values = {method: found[k] for method, found in scores.items()}
            answers.append(
                {
                    **self._answer(i, values, np.asarray(sets.sets[k]), beta[k], kernel[k]),
                    "best_similarity": float(kernel[k].max()),
                    "library_match": self._library_match(i, similar[k], matched[k]),
                    "nearest": int(np.argmax(similar[k])),
                }
            )
        return answers

    def _answer(
        self, i: int, scores: dict[str, NDArray[Any]], bits: NDArray[Any], beta: NDArray[Any], kernel: NDArray[Any]
    ) -> dict[str, Any]:
        """The best candidates of query i, from their scores and fingerprints, and β and k of the training spectra."""
        identification = self.model.identification
        f = scores[identification.method]
        order = np.argsort(-f, kind="stable")
        if np.isinf(f).any():  # candidates without a score follow in the order of the forward model
            order = np.lexsort((-scores["forward"], -f))
        confidence: dict[str, Any] = {"set_size": None, "novelty": None}
        p = members = None
        if self.model.calibrated:
            p = probabilities(f, identification.temperature_)
            members = in_set(p, identification.set_level(1 - self.delta))
            confidence = {"set_size": int(members.sum()), "novelty": float(identification.novelty([f])[0])}
        shown = order[: self.top]
        tanimoto = np.asarray(Tanimoto()(bits[shown], self.model.bits))
        identities = np.array(self.model.identities)  # the molecule of each training spectrum
        candidates = []
        for rank, (c, t) in enumerate(zip(shown, tanimoto, strict=True), start=1):
            molecule = self.candidates.lists[i][c]
            own_rows = identities == molecule.identity
            candidates.append(
                {
                    "candidate_id": molecule.id,
                    "name": molecule.name,
                    "smiles": molecule.smiles,
                    "inchikey14": molecule.identity,
                    "formula": molecule.formula,
                    "rank": rank,
                    "score": _finite(f[c]),
                    "score_forward": _finite(scores["forward"][c]),
                    "score_reverse": _finite(scores["reverse"][c]),
                    "score_library": float(scores["library"][c]),
                    "probability": None if p is None else float(p[c]),
                    "in_set": None if members is None else bool(members[c]),
                    "tied_with": int((f == f[c]).sum()) - 1 if np.isfinite(f[c]) else None,
                    "in_library": bool(own_rows.any()),
                    "evidence": self._evidence(beta, kernel, t, own_rows),
                }
            )
        return {
            "candidates": candidates,
            "n_candidates": len(order),
            "margin": _finite(f[order[0]] - f[order[1]]) if len(order) > 1 else None,
            **confidence,
            "note": "only candidate" if len(order) == 1 else "",
        }

    def _evidence(
        self, beta: NDArray[Any], kernel: NDArray[Any], tanimoto: NDArray[Any], own_rows: NDArray[np.bool_]
    ) -> list[list[Any]]:
        """The training spectra with the largest |β_i κ(y, y_i)|: id, β, k, Tanimoto similarity, row."""
        contribution = np.abs(beta * tanimoto)
        if self.own != "count":
            contribution[own_rows] = 0.0
        best = [int(j) for j in np.argsort(-contribution, kind="stable")[:_N_EVIDENCE] if contribution[j] > 0]
        return [
            [self.model.ids[j], *(round(float(values[j]), 4) for values in (beta, kernel, tanimoto)), j] for j in best
        ]

    def _library_match(self, i: int, similar: NDArray[Any], matched: NDArray[Any]) -> str:
        """The most similar training spectrum of the same precursor, if it is similar enough to be the same molecule."""
        ion = float(self.files.spectra.precursor_mz[i])
        near = np.abs(self.model.spectra.precursor_mz - ion) <= _MATCH_TOLERANCE * ion
        good = near & (similar >= _MATCH_SIMILARITY) & (matched >= _MATCH_PEAKS)
        if not good.any():
            return ""
        j = int(np.argmax(np.where(good, similar, -1)))
        return f"{self.model.ids[j]}:{similar[j]:.3f}:{int(matched[j])}"


def _finite(score: Any) -> float | None:
    """None for a candidate without a score: excluded, or not among the best by the forward model."""
    return float(score) if np.isfinite(score) else None
