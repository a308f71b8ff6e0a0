"""Folds of a library that keep molecules, scaffolds or groups of similar molecules together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components

from iokr._array import blocks
from iokr.apps.msms.checkpoint import Checkpoint
from iokr.apps.msms.library import Library
from iokr.apps.report import Progress
from iokr.data.bits import Bits
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.confidence import (
    calibration_error,
    group_means,
    in_set,
    mean_rank,
    nonconformity,
    probabilities,
    quantile,
    temperature,
)
from iokr.estimators.identification.model import METHODS
from iokr.kernels.structured.sets import Tanimoto

__all__ = ["GROUPS", "Baselines", "Confidence", "OutOfFold", "fold_numbers", "held_out_groups", "out_of_fold"]

_HELD_OUT = 0.2  # fraction of the groups that split calibration holds out
_BLOCK = 1024  # molecules whose similarities are computed together


def fold_numbers(
    library: Library, folds: int, *, group: str, column: str | None = None, similarity: float = 0.7, seed: int = 0
) -> NDArray[np.intp]:
    """The fold of each spectrum; no molecule is in two folds."""
    if column is None:
        fold = _balanced(_groups(library, group, similarity), folds, group, seed)
    else:
        fold = _folds_of_column(library, column)
    counts = pd.Series(fold).groupby(library.identities).nunique()
    if counts.max() > 1:
        raise ValueError(f"The molecule {counts.idxmax()} is in two folds; every molecule must be in one.")
    return fold


def _folds_of_column(library: Library, column: str) -> NDArray[np.intp]:
    """Folds by the values of a field of the spectra."""
    values = library.files.spectra.values(column)
    if None in values:
        name = library.files.ids[values.index(None)]
        raise ValueError(f'`folds_from="{column}"`: spectrum {name} does not have this field.')
    names, fold = np.unique([str(value) for value in values], return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f'`folds_from="{column}"`: all spectra have the value {str(names[0])!r}; at least two are needed.'
        )
    return fold


def _groups(library: Library, group: str, similarity: float) -> list[str]:
    """The group of each spectrum, by name."""
    if group == "scaffold":
        return [molecule.scaffold or f"acyclic {molecule.identity}" for molecule in library.molecules]
    if group == "similarity":
        return _similar_groups(library.bits, library.identities, similarity)
    return library.identities


def _similar_groups(bits: Bits, identities: Sequence[str], threshold: float) -> list[str]:
    """Single linkage: molecules connected by a chain of Tanimoto similarities of at least `threshold` are one group."""
    first = {name: i for i, name in reversed(list(enumerate(identities)))}  # the first spectrum of each molecule
    rows = np.array(list(first.values()), dtype=np.intp)
    kernel = Tanimoto()
    R = kernel.represent(bits[rows])
    graph: Any = vstack(
        [csr_array(np.asarray(kernel.block(R[part], R)) >= threshold) for part in blocks(len(rows), _BLOCK)]
    )
    _, labels = connected_components(graph, directed=False)
    group_of = dict(zip(first, labels.tolist(), strict=True))
    return [f"group {group_of[name]}" for name in identities]


def _balanced(groups: Sequence[str], folds: int, group: str, seed: int) -> NDArray[np.intp]:
    """Groups, the largest first, each into the fold with the fewest spectra; the seed orders groups of one size."""
    sizes = Counter(groups)
    if len(sizes) < folds:
        raise ValueError(f"`folds` must be at most the number of groups by {group}, {len(sizes)}, got {folds}.")
    order = sorted(sizes)
    np.random.default_rng(seed).shuffle(order)
    order.sort(key=lambda name: -sizes[name])  # stable
    filled = np.zeros(folds)
    fold_of: dict[str, int] = {}
    for name in order:
        fold_of[name] = int(np.argmin(filled))
        filled[fold_of[name]] += sizes[name]
    return np.array([fold_of[name] for name in groups])


def held_out_groups(library: Library, *, group: str, similarity: float = 0.7, seed: int = 0) -> NDArray[np.intp]:
    """0 for the spectra of a random fifth of the groups, 1 for all others."""
    groups = _groups(library, group, similarity)
    names = sorted(set(groups))
    np.random.default_rng(seed).shuffle(names)
    held_out = names[: max(1, round(_HELD_OUT * len(names)))]
    return 1 - np.isin(groups, held_out).astype(np.intp)


GROUPS = {"inchikey14": "molecule", "scaffold": "scaffold", "similarity": "group of similar molecules"}
_SURE = 0.9  # probability

# the scores of the candidates of each query, by method
Scores = dict[str, list[NDArray[Any]]]
# scores by other methods, of (Gram matrix, training rows, queries, candidates, their identities, own)
Baselines = Callable[[NDArray[Any], NDArray[Any], NDArray[Any], CandidateSets, list[list[str]], str], Scores]


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
    library: Library,
    fold: NDArray[np.intp],
    numbers: Sequence[int],
    *,
    group: str,
    methods: Sequence[str],
    baselines: Baselines | None = None,
    counted: bool = False,
    checkpoint: Checkpoint,
    progress: Progress,
    done: int,
    total: int,
) -> OutOfFold:
    """Scores of some folds, each by a model of all other folds; folds of the checkpoint are not computed again.

    Parameters
    ----------
    library : Library
    fold : array
        The fold of each spectrum.
    numbers : sequence of int
        The folds that are held out in turn.
    group : str
        What folds keep together.
    methods : sequence of str
        Out of "reverse", "forward" and "fusion".
    baselines : callable, default=None
        Scores of the same queries by other methods.
    counted : bool, default=False
        Also compute the ranks when own spectra count.
    checkpoint : Checkpoint
    progress : callable
    done, total : int
        Folds of the run that are finished, and all.
    """
    parts = []
    for number in numbers:
        progress(done + number, total, f"fold {number + 1} of {len(numbers)} by {GROUPS[group]}")
        key = f"{group} {number}"
        if key not in checkpoint.parts:
            scores = fold_scores(library, fold, number, methods=methods, baselines=baselines, counted=counted)
            checkpoint.put(key, scores)
        parts.append(checkpoint.parts[key])
    found = _gathered(parts, library, fold)
    if not len(found.rows):
        raise ValueError(
            "No spectrum has several candidates with the true molecule among them, so the model can be neither "
            "calibrated nor evaluated; give other `candidates`."
        )
    return found


def fold_scores(
    library: Library,
    fold: NDArray[np.intp],
    number: int,
    *,
    methods: Sequence[str],
    baselines: Baselines | None,
    counted: bool,
) -> dict[str, Any]:
    """The scores of one fold as plain data, as the checkpoint holds them."""
    candidates = library.candidates
    train = np.flatnonzero(fold != number)
    truth: dict[int, int] = {}  # of the queries of the fold: the place of the true molecule
    for i in np.flatnonzero(fold == number).tolist():
        place = candidates.index(i, library.identities[i])
        if place is not None and len(candidates.lists[i]) > 1:
            truth[i] = place
    if not truth:
        return {"truth": []}
    queries = np.array(list(truth))
    places = list(truth.values())
    K = library.gram(library.weights(train))
    model = library.fit_gram(K, train)
    sets, identities = candidates.sets(queries.tolist(), library.structures)

    def scores(own: str) -> Scores:
        values = {
            method: model.scores(queries, sets, identities, method=method, own=own)
            for method in METHODS
            if method in methods
        }
        if baselines is not None:
            values |= baselines(K, train, queries, sets, identities, own)
        return values

    found = scores(library.own)
    with_own = scores("count") if counted and library.own != "count" else {}
    similar = np.asarray(Tanimoto()(library.bits[queries], library.bits[train]))
    return {
        "truth": list(truth.items()),
        "scores": {method: [f.tolist() for f in values] for method, values in found.items()},
        "nearest": similar.max(axis=1).tolist(),
        "counted": {
            method: [mean_rank(f, t) for f, t in zip(values, places, strict=True)]
            for method, values in with_own.items()
        },
        "likeness": {method: _likeness(sets, values, places) for method, values in found.items()},
    }


def _likeness(candidates: CandidateSets, scores: Sequence[NDArray[Any]], truth: Sequence[int]) -> list[float]:
    """The Tanimoto similarity of each query's first candidate to the truth."""
    kernel = Tanimoto()
    queries = zip(candidates.sets, scores, truth, strict=True)
    return [round(float(kernel(rows[[np.argmax(f)]], rows[[t]])[0, 0]), 4) for rows, f, t in queries]


def _gathered(parts: Sequence[dict[str, Any]], library: Library, fold: NDArray[np.intp]) -> OutOfFold:
    """The folds together."""
    parts = [part for part in parts if part["truth"]]
    methods = list(parts[0]["scores"]) if parts else []
    truth = [pair for part in parts for pair in part["truth"]]

    def joined(what: str) -> dict[str, list[Any]]:
        values = {method: [one for part in parts for one in part[what].get(method, [])] for method in methods}
        return {method: found for method, found in values.items() if found}

    lists = library.candidates.lists
    places = [library.candidates.index(i, name) for i, name in enumerate(library.identities)]
    return OutOfFold(
        rows=np.array([i for i, _ in truth], dtype=np.intp),
        truth=[place for _, place in truth],
        scores={method: [np.array(f) for f in found] for method, found in joined("scores").items()},
        fold=fold,
        nearest=np.concatenate([[], *(part["nearest"] for part in parts)]),
        counted={method: np.array(found) for method, found in joined("counted").items()},
        likeness={method: np.array(found) for method, found in joined("likeness").items()},
        absent=sum(place is None and len(listed) > 0 for place, listed in zip(places, lists, strict=True)),
        single=sum(place is not None and len(listed) == 1 for place, listed in zip(places, lists, strict=True)),
    )


class Confidence:
    """Probabilities of every query, with the temperature and the nonconformity scores of the other folds.

    Parameters
    ----------
    found : OutOfFold
    identities : list of str
        The molecule of each spectrum of the library.
    method : str

    Attributes
    ----------
    p : list of arrays
        Probabilities of the candidates, for each query.
    best : array
        The largest of them.
    right : array
        Whether the first candidate is the truth.
    """

    def __init__(self, found: OutOfFold, identities: list[str], method: str) -> None:
        scores = found.scores[method]
        folds = found.fold[found.rows]
        self.truth = found.truth
        self._fold = folds
        T: dict[int, float] = {}
        self._calibration: dict[int, NDArray[Any]] = {}  # nonconformity scores, by the fold that they are for
        for number in np.unique(folds).tolist():
            others = np.flatnonzero(folds != number)
            if not len(others):  # all queries are in one fold
                others = np.arange(len(folds))
            other_scores = [scores[i] for i in others]
            truth = [found.truth[i] for i in others]
            groups = [identities[found.rows[i]] for i in others]
            T[number] = temperature(other_scores, truth)
            self._calibration[number] = group_means(nonconformity(other_scores, truth, T[number]), groups)
        self.p = [probabilities(f, T[number]) for f, number in zip(scores, folds.tolist(), strict=True)]
        self.best = np.array([p.max() for p in self.p])
        self.right = np.array([mean_rank(p, t) <= 1 for p, t in zip(self.p, self.truth, strict=True)])

    def sets(self, delta: float) -> list[NDArray[Any]]:
        """Which candidates are in the prediction set at level δ, for every query."""
        levels = {number: quantile(values, delta) for number, values in self._calibration.items()}
        return [in_set(p, levels[number]) for p, number in zip(self.p, self._fold.tolist(), strict=True)]

    def coverage(self, delta: float) -> tuple[float, float]:
        """(fraction of the sets that contain the truth, mean size of the sets)."""
        sets = self.sets(delta)
        contained = [bool(members[t]) for members, t in zip(sets, self.truth, strict=True)]
        return float(np.mean(contained)), float(np.mean([members.sum() for members in sets]))

    def row(self, delta: float) -> dict[str, Any]:
        """A row of the table of confidence."""
        sure = self.best >= _SURE
        accuracy = round(100 * float(self.right[sure].mean()), 1) if sure.any() else None
        covered, size = self.coverage(delta)
        return {
            "calibration error": round(calibration_error(self.best, self.right), 3),
            "queries with p ≥ 0.9, %": round(100 * float(sure.mean()), 1),
            "correct at p ≥ 0.9, %": accuracy,
            f"coverage of sets at δ = {delta:g}, %": round(100 * covered, 1),
            "mean size of sets": round(size, 2),
        }
