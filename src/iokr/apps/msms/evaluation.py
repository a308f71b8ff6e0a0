"""Evaluation: how often the true molecule is ranked first, by cross-validation over molecules, and by baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr._validation.arguments import check_integer
from iokr.apps.msms.baselines import BitwiseRidge, LibrarySearch, mass_nearness
from iokr.apps.msms.checkpoint import Checkpoint
from iokr.apps.msms.evaluation_result import EvaluationResult
from iokr.apps.msms.folds import Baselines, Confidence, OutOfFold, Scores, fold_numbers, out_of_fold
from iokr.apps.msms.inputs import check_given, run_info
from iokr.apps.msms.library import KnownGram, Library, check_options, read_library
from iokr.apps.msms.page import figures, rounded, write_report
from iokr.apps.readers.records import name_of, named_rows
from iokr.apps.report import Progress, Report, Table, silent
from iokr.chem.similarities import cosine, modified_cosine
from iokr.chem.structures.molecules import BadMolecule, Molecule
from iokr.data.candidates import CandidateSets
from iokr.estimators.identification.model import METHODS

__all__ = ["TableEvaluation", "evaluate", "evaluate_table"]

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
    start = perf_counter()
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
        progress=progress,
        baselines=baselines,
    )
    larger = groups if folds_from is None else ()
    fold_of = {
        group: fold_numbers(library, folds, group=group, column=folds_from, similarity=similarity, seed=seed)
        for group in dict.fromkeys(["inchikey14", *larger])
    }
    parts = Checkpoint.of(checkpoint, {**library.key(), "folds": fold_of, "baselines": baselines, "seed": seed})
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
            progress=progress,
            done=done,
            total=total,
        )
        done += len(numbers)
    calibration = {group: Confidence(scores, library.identities, method) for group, scores in found.items()}
    return EvaluationResult(library, found, calibration, delta, seed, run_info(start, library.paths, seed))


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


_NEEDED = "needs columns spectrum_id and smiles, inchikey or inchikey14"


@dataclass(frozen=True, eq=False)
class TableEvaluation:
    """Ranks of the true molecules in a table of candidates; made by `evaluate_table`.

    Attributes
    ----------
    ids : list of str
        The spectra of the table of truths.
    ranks : array
        The rank of each truth; ∞ where it is not listed.
    info : mapping
    """

    ids: list[str]
    ranks: NDArray[np.float64]
    info: dict[str, Any]

    def __repr__(self) -> str:
        return f"TableEvaluation(top-1 {self.metrics['top-1']} % of {len(self.ids)} spectra)"

    @property
    def metrics(self) -> dict[str, float]:
        """Top-k accuracies in per cent, and the mean reciprocal rank."""
        return rounded(figures(self.ranks))

    @property
    def queries(self) -> pd.DataFrame:
        """A row for each spectrum with the rank of its truth."""
        return pd.DataFrame({"spectrum_id": self.ids, "rank": self.ranks})

    def page(self) -> Report:
        """The report of a run."""
        missing = int(np.isinf(self.ranks).sum())
        n = len(self.ids)
        return Report(
            "Identification accuracy",
            f"The truth is first for {self.metrics['top-1']} % of {n} spectra.",
            (Table("Ranks of the truth", [{"spectra": n, **self.metrics, "truth not listed": missing}]),),
            ("Truths that are not listed count as missed at every k.",),
            info=self.info,
        )

    def report(self, folder: Any, *, force: bool = False, **options: Any) -> list[Path]:
        """Write the page, the table and metrics.json to a folder; `options` are `format` and `spreadsheet_safe`."""
        return write_report(self.page(), folder, force=force, **options)


def evaluate_table(results: Any, truth: Any) -> TableEvaluation:
    """Evaluate a table of ranked candidates, as `identify` returns and writes them.

    Parameters
    ----------
    results : path or data frame
        A row for each candidate, with the columns spectrum_id, score, and smiles, inchikey or inchikey14.
    truth : path or data frame
        A row for each spectrum, with the columns spectrum_id, and smiles, inchikey or inchikey14.

    Examples
    --------
    >>> import pandas as pd
    >>> from iokr.apps import msms
    >>> results = pd.DataFrame({"spectrum_id": ["a", "a"], "score": [0.9, 0.1], "smiles": ["CCO", "COC"]})
    >>> truth = pd.DataFrame({"spectrum_id": ["a"], "smiles": ["COC"]})
    >>> msms.evaluate_table(results, truth).ranks
    array([2.])
    """
    start = perf_counter()
    results = Path(results) if isinstance(results, str) else results
    truth = Path(truth) if isinstance(truth, str) else truth
    known = _truths(truth)
    ranked = pd.DataFrame(_ranked(results), columns=["spectrum_id", "score", "molecule"])
    if not ranked["spectrum_id"].isin(list(known)).any():
        raise ValueError(f"{name_of(truth)}: its {len(known)} spectrum ids do not occur in {name_of(results)}.")
    ranked["rank"] = ranked.groupby("spectrum_id")["score"].rank(ascending=False)
    ranks = ranked.drop_duplicates(["spectrum_id", "molecule"]).set_index(["spectrum_id", "molecule"])["rank"]
    ranks = ranks.reindex(pd.MultiIndex.from_tuples(list(known.items()))).fillna(np.inf)
    files = [path for path in (results, truth) if isinstance(path, Path)]
    return TableEvaluation(list(known), ranks.to_numpy(), run_info(start, files))


def _truths(source: Any) -> dict[str, str]:
    """The molecule of each spectrum."""
    found = {}
    for line, row in named_rows(source):
        where = f"{name_of(source)} line {line}"
        if "spectrum_id" not in row:
            raise ValueError(f"{where}: {_NEEDED}.")
        found[str(row["spectrum_id"])] = _identity(row, where)
    return found


def _ranked(source: Any) -> list[tuple[str, float, str]]:
    """(spectrum, score, molecule) of each candidate; spectra without ranked candidates are left out."""
    found = []
    for line, row in named_rows(source):
        where = f"{name_of(source)} line {line}"
        name = str(row.get("spectrum_id") or row.get("mappingfeatureid") or "")
        if not name:
            raise ValueError(f"{where}: needs a column spectrum_id.")
        if str(row.get("status", "ok")) == "ok":
            found.append((name, _score(row, where), _identity(row, where)))
    return found


def _score(row: dict[str, Any], where: str) -> float:
    if "score" not in row:
        raise ValueError(f"{where}: needs a column score.")
    try:
        return float(row["score"])
    except ValueError:
        raise ValueError(f"{where}: `score` must be a number, got {row['score']!r:.40}.") from None


def _identity(row: dict[str, Any], where: str) -> str:
    """The first block of the InChIKey, as the row has it or from its SMILES."""
    key = str(row.get("inchikey14") or row.get("inchikey2d") or row.get("inchikey") or "")[:14]
    if key:
        return key
    if "smiles" not in row:
        raise ValueError(f"{where}: {_NEEDED}.")
    try:
        return Molecule(str(row["smiles"])).identity
    except BadMolecule as error:
        raise ValueError(f"{where}: {error}") from None
