"""`iokr msms evaluate`: how often the truth comes first, by folds over molecules, beside rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.baselines import BitwiseRidge, LibrarySearch, mass_nearness
from iokr.apps.msms.judged import GROUPS, report_of
from iokr.apps.msms.kept import Kept
from iokr.apps.msms.learning import Grams, KnownRows, OutOfFold, gathered, out_of_fold
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
from iokr.apps.msms.tables import table_text
from iokr.apps.report import Report, run_info
from iokr.apps.report.progress import Progress
from iokr.chem.similarities import cosine, modified_cosine
from iokr.chem.structures.molecules import rdkit_version
from iokr.cli.signals import closing_words
from iokr.estimators.identification.model import METHODS

__all__ = ["evaluate"]

_LIBRARY: dict[str, tuple[str, int]] = {
    "library, modified cosine, 10 neighbours": ("modified", 10),
    "library, cosine, 10 neighbours": ("cosine", 10),
    "library, modified cosine, best hit": ("modified", 1),
    "library, cosine, best hit": ("cosine", 1),
    "library, nearest precursor mass": ("mass", 1),
}
_SIMILAR: dict[str, Callable[..., Any]] = {"cosine": cosine, "modified": modified_cosine, "mass": mass_nearness}


def evaluate(
    reading: Reading,
    learning: Learning,
    matching: Matching,
    folder: Path,
    progress: Progress,
    *,
    groups: Sequence[str] = (),
    rivals: bool = True,
    delta: float = 0.1,
    pages: int = 20,
    memory: float | None = None,
    safe: bool = False,
) -> Report:
    """Folds over molecules, and over larger groups beside them; nothing is chosen on the fold that is judged."""
    start, progress = perf_counter(), Stages(progress)
    progress(0, 1, "reading spectra and structures")
    molecules = Molecules(learning.fingerprints, cache_file())
    library = Library.read(reading, learning, molecules)
    unlabeled = read_unlabeled(reading, learning, library)
    check_room(len(library.molecules) + (0 if unlabeled is None else len(unlabeled)), learning, memory, rivals=rivals)
    progress(0, 1, "reading candidates")
    sets = Sets.of(library.files, matching, molecules)
    progress(0, 1, "comparing spectra")
    grams = Grams.of(library, learning, unlabeled)
    matrices = {name: np.asarray(f(library.files.spectra)) for name, f in _SIMILAR.items()} if rivals else {}
    paths = [*reading.paths(), *matching.paths(), *learning.unlabeled]
    kinds = [learning.group] if learning.folds_from is not None else list(dict.fromkeys(["inchikey14", *groups]))
    key = learning.key(paths, rivals=rivals, matching=matching, cleaning=reading.cleaning)
    kept = Kept(folder.with_name(f"{folder.name}.partial") / "folds.jsonl", key)
    found: dict[str, OutOfFold] = {}
    done = 0
    with closing_words(lambda: kept.words("folds")):
        for group in kinds:
            fold = library.fold_numbers(replace(learning, group=group))
            numbers = list(range(int(fold.max()) + 1))
            beside = _rivals(matrices, learning) if rivals and group == kinds[0] else None
            for number in numbers:
                what = f"fold {number + 1} of {len(numbers)} by {GROUPS[group]}"
                progress(done, len(kinds) * len(numbers), what)
                done += 1
                name = f"{group} {number}"
                if name not in kept.parts:
                    part = out_of_fold(
                        library,
                        grams,
                        sets.entries,
                        molecules.bits,
                        learning,
                        fold,
                        number=number,
                        methods=METHODS,
                        more=beside,
                        counted=group == kinds[0],
                    )
                    kept.put(name, part)
            parts = [kept.parts[f"{group} {number}"] for number in numbers]
            found[group] = gathered(parts, library, sets.entries, fold)
    if not len(found[kinds[0]].rows):
        raise ValueError(
            "No spectrum has a set of several candidates with its own molecule among them, so nothing can be evaluated."
        )
    progress(done, done, "drawing the page")
    report = report_of(found, library, sets.entries, grams, learning, matching, delta=delta, pages=pages, safe=safe)
    rejections = (*library.files.rejections, *sets.rejections)
    report = replace(
        report,
        items=(*report.items, input_table("spectra with a structure", library.files, rejections)),
        files={**report.files, "rejected.tsv": table_text(rejected_rows(rejections), safe=safe)},
    )
    info = run_info(seed=learning.seed, seconds=perf_counter() - start, files=paths)
    info["versions"]["rdkit"] = rdkit_version()
    kept.forget()
    return report.with_info({**info, **progress.info()})


def _rivals(matrices: dict[str, NDArray[Any]], learning: Learning) -> Callable[..., dict[str, list[NDArray[Any]]]]:
    """Library search, ridge on each bit, precursor mass and chance, on the rows of a fold."""

    def scores(
        library: Library, grams: Grams, train: NDArray[Any], test: NDArray[Any], candidates: Any, names: Any, own: str
    ) -> dict[str, list[NDArray[Any]]]:
        bits, identities = np.asarray(library.bits[train]), [library.identities[i] for i in train]
        found: dict[str, list[NDArray[Any]]] = {}
        for name, (kind, neighbors) in _LIBRARY.items():
            S = matrices[kind]
            search = LibrarySearch(lambda X, Z, S=S: S[np.ix_(X, Z)], n_neighbors=neighbors)
            found[name] = search.fit(train, bits, identities).scores(test, candidates, names, own=own)
        K = grams.matrix(grams.weights(train, library.bits))
        bitwise = BitwiseRidge(KnownRows(K)).fit(train, bits, identities)
        found["ridge on each bit"] = bitwise.scores(test, candidates, names, own=own)
        rng = np.random.default_rng((learning.seed, int(test[0])))
        found["chance"] = [rng.uniform(size=len(some)) for some in candidates.sets]
        return found

    return scores
