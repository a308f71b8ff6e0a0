"""Scores of candidates by models that did not see the fold of their spectrum: for calibration and for evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.candidates import CandidateLists
from iokr.apps.msms.checkpoint import Checkpoint
from iokr.apps.msms.grams import KnownGram
from iokr.apps.msms.problem import Problem
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.confidence import mean_rank
from iokr.estimators.identification.model import METHODS
from iokr.kernels.structured.sets import Tanimoto

__all__ = ["Baselines", "OutOfFold", "out_of_fold"]

Scores = dict[str, list[NDArray[Any]]]
"""Scores of the candidates of each query, by method."""

Baselines = Callable[[NDArray[Any], NDArray[Any], NDArray[Any], CandidateSets, list[list[str]], str], Scores]
"""Scores by other methods, of (Gram matrix, training rows, queries, candidates, their identities, own)."""


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Scores out of fold of the queries: spectra with several candidates, the truth among them."""

    rows: NDArray[np.intp]  # of the queries in the library
    truth: list[int]  # the place of the true molecule among the candidates
    scores: Scores
    fold: NDArray[np.intp]  # of every spectrum of the library
    nearest: NDArray[Any]  # Tanimoto similarity to the nearest training molecule
    counted: dict[str, NDArray[Any]]  # ranks of the truth when own spectra count, by method
    likeness: dict[str, NDArray[Any]]  # Tanimoto similarity of the first candidate to the truth, by method
    absent: int  # spectra whose true molecule is not among their candidates
    single: int  # spectra whose only candidate is the truth

    def ranks(self, method: str) -> NDArray[Any]:
        """The rank of the truth, of every query."""
        return np.array([mean_rank(f, t) for f, t in zip(self.scores[method], self.truth, strict=True)])

    def with_absent(self, ranks: NDArray[Any]) -> NDArray[Any]:
        """Ranks of the queries and of the truths that are not candidates: these have rank ∞."""
        return np.append(ranks, np.full(self.absent, np.inf))


def out_of_fold(
    problem: Problem,
    fold: NDArray[np.intp],
    numbers: Sequence[int],
    *,
    name: str,
    methods: Sequence[str],
    baselines: Baselines | None = None,
    counted: bool = False,
    checkpoint: Checkpoint,
    progress: Callable[[int], None],
) -> OutOfFold:
    """Scores of some folds, each by a model of all other folds; folds of the checkpoint are not computed again.

    Parameters
    ----------
    problem : Problem
    fold : array
        The fold of each spectrum.
    numbers : sequence of int
        The folds that are held out in turn.
    name : str
        Of the folds, in the checkpoint.
    methods : sequence of str
        Out of "reverse", "forward" and "fusion".
    baselines : callable, default=None
        Scores of the same queries by other methods.
    counted : bool, default=False
        Also compute the ranks when own spectra count.
    checkpoint : Checkpoint
    progress : callable
        Called with each number.
    """
    parts = []
    for number in numbers:
        progress(number)
        key = f"{name} {number}"
        if key not in checkpoint.parts:
            part = fold_scores(problem, fold, number, methods=methods, baselines=baselines, counted=counted)
            checkpoint.put(key, part)
        parts.append(checkpoint.parts[key])
    found = _gathered(parts, problem, fold)
    if not len(found.rows):
        raise ValueError(
            "No spectrum has several candidates with its own molecule among them, so nothing can be calibrated or "
            "evaluated; give other `candidates`."
        )
    return found


def fold_scores(
    problem: Problem,
    fold: NDArray[np.intp],
    number: int,
    *,
    methods: Sequence[str],
    baselines: Baselines | None,
    counted: bool,
) -> dict[str, Any]:
    """The scores of one fold as plain data, as the checkpoint holds them."""
    library = problem.library
    names = library.identities
    train = np.flatnonzero(fold != number)
    rows = [int(i) for i in np.flatnonzero(fold == number) if _is_query(problem.candidates, int(i), names[i])]
    if {names[i] for i in train} & {names[i] for i in rows}:
        raise AssertionError("A molecule is in the training set and in the held-out fold.")
    found: dict[str, Any] = {"rows": rows, "scores": {method: [] for method in methods}}
    found |= {"nearest": [], "counted": {}, "likeness": {}}
    if not rows:
        return found
    queries = np.array(rows)
    K = problem.grams.matrix(problem.grams.weights(train, library.bits))
    unlabeled = None
    if library.n_unlabeled:
        unlabeled = np.arange(len(K) - library.n_unlabeled, len(K))
    model = problem.fit(KnownGram(K), train, train, unlabeled)
    candidates, identities = problem.candidates.sets(rows, problem.structures)
    truth = [_truth(problem.candidates, i, names[i]) for i in rows]

    def scores(own: str) -> Scores:
        values = {
            method: model.scores(queries, candidates, identities, method=method, own=own)
            for method in METHODS
            if method in methods
        }
        if baselines is not None:
            values |= baselines(K, train, queries, candidates, identities, own)
        return values

    for method, values in scores(problem.own).items():
        found["scores"][method] = [f.tolist() for f in values]
        found["likeness"][method] = _likeness(candidates, values, truth)
    if counted and problem.own != "count":
        for method, values in scores("count").items():
            found["counted"][method] = [mean_rank(f, t) for f, t in zip(values, truth, strict=True)]
    similar = np.asarray(Tanimoto()(library.bits[queries], library.bits[train]))
    found["nearest"] = similar.max(axis=1).tolist()
    return found


def _is_query(candidates: CandidateLists, i: int, identity: str) -> bool:
    return len(candidates.lists[i]) > 1 and candidates.index(i, identity) is not None


def _truth(candidates: CandidateLists, i: int, identity: str) -> int:
    place = candidates.index(i, identity)
    assert place is not None
    return place


def _likeness(candidates: CandidateSets, scores: Sequence[NDArray[Any]], truth: Sequence[int]) -> list[float]:
    """The Tanimoto similarity of each query's first candidate to the truth."""
    found = []
    for rows, f, t in zip(candidates.sets, scores, truth, strict=True):
        first = np.asarray(rows[int(np.argmax(f))]) > 0
        true = np.asarray(rows[t]) > 0
        shared = (first & true).sum()
        either = (first | true).sum()
        found.append(round(float(shared / max(either, 1)), 4))
    return found


def _gathered(parts: Sequence[dict[str, Any]], problem: Problem, fold: NDArray[np.intp]) -> OutOfFold:
    """The folds together."""
    names, candidates = problem.library.identities, problem.candidates
    rows = [i for part in parts for i in part["rows"]]
    methods = list(dict.fromkeys(method for part in parts for method in part["scores"]))
    scores = {m: [np.array(f) for part in parts for f in part["scores"].get(m, [])] for m in methods}
    likeness = {m: np.array([value for part in parts for value in part["likeness"].get(m, [])]) for m in methods}
    counted = {m: np.array([value for part in parts for value in part["counted"].get(m, [])]) for m in methods}
    places = [candidates.index(i, names[i]) for i in range(len(names))]
    return OutOfFold(
        rows=np.array(rows, dtype=np.intp),
        truth=[_truth(candidates, i, names[i]) for i in rows],
        scores=scores,
        fold=fold,
        nearest=np.array([value for part in parts for value in part["nearest"]]),
        counted={m: values for m, values in counted.items() if len(values)},
        likeness=likeness,
        absent=sum(1 for i, place in enumerate(places) if place is None and candidates.lists[i]),
        single=sum(1 for i, place in enumerate(places) if place is not None and len(candidates.lists[i]) == 1),
    )
