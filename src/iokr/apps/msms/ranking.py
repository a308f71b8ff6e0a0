"""Scores, probabilities and evidence of the candidates of some queries, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.baselines import LibrarySearch
from iokr.apps.msms.candidates import CandidateLists, CandidateMolecule
from iokr.apps.msms.inputs import Structures, peaks_of
from iokr.apps.msms.model import SpectraModel
from iokr.apps.readers.spectra_files import SpectraFiles
from iokr.chem.similarities import modified_cosine
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.confidence import in_set, probabilities
from iokr.estimators.identification.model import Identification
from iokr.kernels.structured.sets import Tanimoto

__all__ = ["BEST", "MANY", "Ranker", "all_scores"]

MANY = 20_000  # distinct candidates from which the reverse model scores only the best by the forward model
BEST = 100  # of each query
_N_EVIDENCE = 5
_MATCH_SIMILARITY = 0.7  # modified cosine,
_MATCH_PEAKS = 6  # matched peaks
_MATCH_TOLERANCE = 10e-6  # and relative difference of the precursors of a library match


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
    methods = [method for method in dict.fromkeys((model.method, "reverse")) if method != "forward"]
    if best is None or all(len(f) <= best for f in forward):
        for method in methods:
            found[method] = model.scores(X, candidates, names, method=method, own=own)
        return found
    chosen = [np.sort(np.argsort(-f, kind="stable")[:best]) for f in forward]
    best_sets = CandidateSets([rows[places] for rows, places in zip(candidates.sets, chosen, strict=True)])
    best_names = [[listed[k] for k in places] for listed, places in zip(names, chosen, strict=True)]
    for method in methods:
        found[method] = [np.full(len(f), -np.inf) for f in forward]
        values = model.scores(X, best_sets, best_names, method=method, own=own)
        for f, places, value in zip(found[method], chosen, values, strict=True):
            f[places] = value
    return found


@dataclass(frozen=True, eq=False)
class _Query:
    """Values of one query: of its candidates, and of the training spectra."""

    row: int
    molecules: list[CandidateMolecule]
    bits: NDArray[Any]  # fingerprints of the candidates
    scores: dict[str, NDArray[Any]]
    library: NDArray[Any]  # scores of the candidates by library search
    beta: NDArray[Any]  # weights of the training spectra in the forward model
    kernel: NDArray[Any]  # kernel values with the training spectra
    similar: NDArray[Any]  # modified cosine with the training spectra
    matched: NDArray[Any]  # number of matched peaks


class Ranker:
    """Ranks the candidates of queries by a model."""

    def __init__(
        self,
        model: SpectraModel,
        files: SpectraFiles,
        candidates: CandidateLists,
        structures: Structures,
        *,
        top: int,
        delta: float,
        own: str,
    ) -> None:
        self.model = model
        self.files = files
        self.candidates = candidates
        self.structures = structures
        self.top = top
        self.delta = delta
        self.own = own
        self.reranks = candidates.n_distinct > MANY
        self._level = model.identification.set_level(1 - delta) if model.calibrated else np.inf
        self._rows: dict[str, list[int]] = {}  # the training spectra of each molecule
        for j, name in enumerate(model.identities):
            self._rows.setdefault(name, []).append(j)

    def key(self) -> dict[str, Any]:
        """The data and options that answers depend on: finished answers of another run are not used."""
        return {
            "model": self.model.key(),
            "spectra": peaks_of(self.files),
            "candidates": [[vars(one) for one in listed] for listed in self.candidates.lists],
            "options": [self.top, self.delta, self.own],
        }

    def answers(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """For each query its best candidates with scores, probabilities and evidence."""
        model, identification = self.model, self.model.identification
        X = self.files.spectra[np.array(rows, dtype=np.intp)]
        candidates, identities = self.candidates.sets(rows, self.structures)
        best = BEST if self.reranks else None
        scores = all_scores(identification, X, candidates, identities, best=best, own=self.own)
        similar, matched = modified_cosine.matches(X, model.spectra)
        search = LibrarySearch(lambda A, B: similar).fit(model.spectra, model.bits, model.identities)
        own = "count" if self.own == "count" else "leave-out"
        library = search.scores(X, candidates, identities, own=own)
        forward = identification.forward_
        beta = np.asarray(forward.weights(X))
        kernel = np.asarray(forward.kernel_.block(forward.kernel_.represent(X), forward.inputs_.points))
        return [
            self._answer(
                _Query(
                    row=i,
                    molecules=self.candidates.lists[i],
                    bits=candidates.sets[k],
                    scores={method: values[k] for method, values in scores.items()},
                    library=library[k],
                    beta=beta[k],
                    kernel=kernel[k],
                    similar=similar[k],
                    matched=matched[k],
                )
            )
            for k, i in enumerate(rows)
        ]

    def _answer(self, query: _Query) -> dict[str, Any]:
        identification = self.model.identification
        f = query.scores[identification.method]
        order = np.argsort(-f, kind="stable")
        if np.isinf(f).any():  # candidates without a score follow in the order of the forward model
            order = np.lexsort((-query.scores["forward"], -f))
        p = members = novelty = None
        if self.model.calibrated:
            p = probabilities(f, identification.temperature_)
            members = in_set(p, self._level)
            novelty = float(identification.novelty([f])[0])
        shown = order[: self.top]
        tanimoto = np.asarray(Tanimoto()(query.bits[shown], self.model.bits))
        margin = None
        if len(order) > 1:
            margin = _finite(float(f[order[0]]) - float(f[order[1]]))
        return {
            "candidates": [
                self._candidate(query, int(c), rank, f, p, members, tanimoto[rank - 1])
                for rank, c in enumerate(shown, start=1)
            ],
            "n_candidates": len(order),
            "margin": margin,
            "set_size": None if members is None else int(members.sum()),
            "novelty": novelty,
            "best_similarity": float(query.kernel.max()),
            "library_match": self._library_match(query),
            "nearest": [int(j) for j in np.argsort(-query.similar, kind="stable")[:2]],
            "note": "only candidate" if len(order) == 1 else "",
        }

    def _candidate(
        self,
        query: _Query,
        c: int,
        rank: int,
        f: NDArray[Any],
        p: NDArray[Any] | None,
        members: NDArray[Any] | None,
        tanimoto: NDArray[Any],
    ) -> dict[str, Any]:
        molecule = query.molecules[c]
        own_rows = self._rows.get(molecule.identity, [])
        return {
            "candidate_id": molecule.id,
            "name": molecule.name,
            "smiles": molecule.smiles,
            "inchikey14": molecule.identity,
            "formula": molecule.formula,
            "rank": rank,
            "score": _finite(f[c]),
            "score_forward": _finite(query.scores["forward"][c]),
            "score_reverse": _finite(query.scores["reverse"][c]),
            "score_library": float(query.library[c]),
            "probability": None if p is None else float(p[c]),
            "in_set": None if members is None else bool(members[c]),
            "tied_with": int((f == f[c]).sum()) - 1 if np.isfinite(f[c]) else None,
            "in_library": bool(own_rows),
            "evidence": self._evidence(query, tanimoto, own_rows),
        }

    def _evidence(self, query: _Query, tanimoto: NDArray[Any], own_rows: list[int]) -> list[list[Any]]:
        """The training spectra with the largest |β_i κ(y, y_i)|: id, β, k, Tanimoto similarity, row."""
        contribution = np.abs(query.beta * tanimoto)
        if self.own != "count":
            contribution[own_rows] = 0.0
        return [
            [
                self.model.ids[j],
                round(float(query.beta[j]), 4),
                round(float(query.kernel[j]), 4),
                round(float(tanimoto[j]), 4),
                int(j),
            ]
            for j in np.argsort(-contribution, kind="stable")[:_N_EVIDENCE]
            if contribution[j] > 0
        ]

    def _library_match(self, query: _Query) -> str:
        """The most similar training spectrum of the same precursor, if it is similar enough to be the same molecule."""
        ion = float(self.files.spectra.precursor_mz[query.row])
        near = np.abs(self.model.spectra.precursor_mz - ion) <= _MATCH_TOLERANCE * ion
        good = near & (query.similar >= _MATCH_SIMILARITY) & (query.matched >= _MATCH_PEAKS)
        if not good.any():
            return ""
        j = int(np.argmax(np.where(good, query.similar, -1)))
        return f"{self.model.ids[j]}:{query.similar[j]:.3f}:{int(query.matched[j])}"


def _finite(score: Any) -> float | None:
    """None for a candidate without a score: excluded, or not among the best by the forward model."""
    return float(score) if np.isfinite(score) else None
