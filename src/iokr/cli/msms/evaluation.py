"""`iokr msms evaluate`: how often the truth comes first, by folds over molecules, beside rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.chem.molecules import rdkit_version
from iokr.chem.similarities import cosine, modified_cosine
from iokr.cli.msms.kept import Kept
from iokr.cli.msms.learning import Grams, OutOfFold, gathered, out_of_fold
from iokr.cli.msms.library import Library, Molecules, Sets, cache_file, input_table, rejected_rows
from iokr.cli.msms.options import Learning, Matching, Reading
from iokr.cli.msms.tables import TOPS, figures, table_text
from iokr.cli.signals import closing_words
from iokr.datasets.records import named_rows
from iokr.estimators.identification.confidence import (
    calibration_error,
    mean_rank,
    nonconformity,
    probabilities,
    quantile,
    temperature,
)
from iokr.estimators.identification.model import in_set
from iokr.kernels.precomputed import Precomputed
from iokr.report import OURS, THEIRS, Figure, Report, Table, plot, run_info
from iokr.report.figures import Canvas
from iokr.report.progress import Progress
from iokr.rivals.spectra import BitwiseRidge, LibrarySearch

__all__ = ["evaluate", "judge"]

_DRAWS = 1000  # of the bootstrap over molecules
_LIBRARY = {
    "library, modified cosine, 10 neighbours": ("modified", 10),
    "library, cosine, 10 neighbours": ("cosine", 10),
    "library, modified cosine, best hit": ("modified", 1),
    "library, cosine, best hit": ("cosine", 1),
}
_WORDS = {"inchikey14": "molecule", "scaffold": "scaffold", "similarity": "group of similar molecules"}


def evaluate(
    reading: Reading,
    learning: Learning,
    matching: Matching,
    folder: Path,
    progress: Progress,
    *,
    rivals: bool = True,
    delta: float = 0.1,
    safe: bool = False,
) -> Report:
    """Folds over molecules, and over larger groups beside them; nothing is chosen on the fold that is judged."""
    start = perf_counter()
    progress(0, 1, "reading spectra and structures")
    molecules = Molecules(learning.fingerprints, cache_file())
    library = Library.read(reading, learning, molecules)
    progress(0, 1, "reading candidates")
    sets = Sets.of(library.files, matching, molecules)
    progress(0, 1, "comparing spectra")
    grams = Grams.of(library, learning)
    similar = {"cosine": cosine, "modified": modified_cosine} if rivals else {}
    matrices = {name: np.asarray(f(library.files.spectra)) for name, f in similar.items()}
    paths = [*reading.paths(), *matching.paths()]
    groups = list(dict.fromkeys(["inchikey14", learning.group])) if learning.folds_from is None else [learning.group]
    kept = Kept(folder.with_name(f"{folder.name}.partial") / "folds.jsonl", learning.key(paths, rivals=rivals))
    found: dict[str, OutOfFold] = {}
    methods = ("reverse", "forward", "fusion")
    with closing_words(lambda: kept.words("folds")):
        for g, group in enumerate(groups):
            fold = library.fold_numbers(replace(learning, group=group))
            numbers = list(range(int(fold.max()) + 1))
            beside = _rivals(matrices, learning) if rivals and group == "inchikey14" else None
            for number in numbers:
                progress(g * len(numbers) + number, len(groups) * len(numbers), f"fold {number + 1} by {_WORDS[group]}")
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
                        methods=methods,
                        more=beside,
                    )
                    kept.put(name, part)
            parts = [kept.parts[f"{group} {number}"] for number in numbers]
            found[group] = gathered(parts, library, sets.entries, fold)
    if not len(found[groups[0]].rows):
        raise ValueError(
            "No spectrum has a set of several candidates with its own molecule among them, so nothing can be judged."
        )
    progress(1, 1, "drawing the page")
    report = _report(found, library, learning, matching, delta)
    rejections = (*library.files.rejections, *sets.rejections)
    report = replace(
        report,
        items=(*report.items, input_table("spectra with a structure", library.files, rejections)),
        files={**report.files, "rejected.tsv": table_text(rejected_rows(rejections), safe=safe)},
    )
    info = run_info(seed=learning.seed, seconds=perf_counter() - start, files=paths)
    info["versions"]["rdkit"] = rdkit_version()
    kept.forget()
    return report.with_info(info)


def _rivals(matrices: dict[str, NDArray[Any]], learning: Learning) -> Callable[..., dict[str, list[NDArray[Any]]]]:
    """Library search, ridge on each bit, precursor mass and chance, on the rows of a fold."""

    def scores(
        library: Library, grams: Grams, train: NDArray[Any], test: NDArray[Any], candidates: Any, names: Any
    ) -> dict[str, list[NDArray[Any]]]:
        bits, identities = np.asarray(library.bits[train]), [library.identities[i] for i in train]
        own = "count" if learning.own == "count" else "leave-out"
        found: dict[str, list[NDArray[Any]]] = {}
        for name, (kind, neighbors) in _LIBRARY.items():
            S = matrices[kind]
            search = LibrarySearch(lambda X, Z, S=S: S[np.ix_(X, Z)], n_neighbors=neighbors)
            found[name] = search.fit(train, bits, identities).scores(test, candidates, names, own=own)
        K = grams.matrix(grams.weights(train, library.bits))
        bitwise = BitwiseRidge(Precomputed(K)).fit(train, bits, identities)
        found["ridge on each bit"] = bitwise.scores(test, candidates, names, own=own)
        rng = np.random.default_rng((learning.seed, int(test[0])))
        found["chance"] = [rng.uniform(size=len(some)) for some in candidates.sets]
        return found

    return scores


def _ranks(out: OutOfFold, method: str) -> NDArray[Any]:
    return np.array([mean_rank(f, t) for f, t in zip(out.scores[method], out.truth, strict=True)])


def _with_absent(ranks: NDArray[Any], out: OutOfFold) -> NDArray[Any]:
    """With those truths that were no candidates: missed at every k."""
    return np.append(ranks, np.full(out.absent, np.inf))


def _interval(hits: NDArray[Any], names: Sequence[str], seed: int) -> str:
    """A 95 % bootstrap interval over molecules."""
    order = {name: k for k, name in enumerate(dict.fromkeys(names))}
    owner = np.array([order[name] for name in names])
    sums, counts = np.bincount(owner, hits), np.bincount(owner)
    rng = np.random.default_rng((seed, 95))
    chosen = rng.integers(len(order), size=(_DRAWS, len(order)))
    means = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.percentile(100 * means, [2.5, 97.5])
    return f"{low:.1f} to {high:.1f}"


def _report(
    found: dict[str, OutOfFold], library: Library, learning: Learning, matching: Matching, delta: float
) -> Report:
    first = next(iter(found))
    rows = []
    for group, out in found.items():
        for method in out.scores:
            ranks = _ranks(out, method)
            values = figures(_with_absent(ranks, out))
            names = [library.identities[i] for i in out.rows]
            rows.append(
                {
                    "method": method,
                    "folds by": _WORDS[group],
                    **{key: round(value, 3 if key == "MRR" else 1) for key, value in values.items()},
                    "95 % of top-1": _interval((ranks <= 1).astype(float), names, learning.seed),
                }
            )
    out = found[first]
    confidence = {group: _confidence(part, learning.model, delta) for group, part in found.items()}
    ranks = _ranks(out, learning.model)
    best, said = figures(_with_absent(ranks, out)), ""
    for group in list(found)[1:]:
        fall = figures(_with_absent(_ranks(found[group], learning.model), found[group]))["top-1"]
        said += f" With folds by {_WORDS[group]} it finds {fall:.1f} %, the figure for molecules unlike the library's."
    queries = [
        {"spectrum_id": library.files.ids[i], "rank": rank, "n_candidates": len(f), "fold": int(out.fold[i])}
        for i, rank, f in zip(out.rows.tolist(), ranks.tolist(), out.scores[learning.model], strict=True)
    ]
    mine = tuple(k for k, row in enumerate(rows) if row["method"] == learning.model)
    return Report(
        "How well molecules are found",
        f"The {learning.model} model finds {best['top-1']:.1f} % of {len(ranks)} molecules first and "
        f"{best['top-10']:.1f} % among ten.{said}",
        (
            Table(f"{len(ranks)} spectra with several candidates", rows, ours=("top-1",), our_rows=mine),
            _curve(out),
            Table(
                f"Confidence of the {learning.model} model",
                [{"folds by": _WORDS[group], **row} for group, (row, _, _) in confidence.items()],
            ),
            _reliability(*confidence[first][1:]),
            Table("Where it is right", _breakdown(ranks, out, library)),
        ),
        (
            learning.in_words(),
            matching.in_words(),
            f"{out.absent} truths are not among their candidates and count as missed at every k; {out.single} sets "
            "hold one candidate, which is no question.",
            "Folds keep molecules whole. When an unknown is a molecule of the library, leaving its spectra out throws "
            "evidence away; folds by molecule do not show that case.",
            "T and the level of the sets for a fold come from the other folds; that they pool different models makes "
            "their coverage an observation, not a theorem.",
        ),
        files={"queries.tsv": table_text(queries)},
    )


def _confidence(out: OutOfFold, method: str, delta: float) -> tuple[dict[str, Any], NDArray[Any], NDArray[Any]]:
    scores, folds = out.scores[method], out.fold[out.rows]
    p_best, right, inside, size = np.empty(len(scores)), np.empty(len(scores), dtype=bool), [], []
    for number in np.unique(folds):
        others = np.flatnonzero(folds != number)
        if not len(others):
            others = np.flatnonzero(folds == number)
        T = temperature([scores[i] for i in others], [out.truth[i] for i in others])
        level = quantile(nonconformity([scores[i] for i in others], [out.truth[i] for i in others], T), delta)
        for i in np.flatnonzero(folds == number):
            p = probabilities(scores[i], T)
            members = in_set(p, level)
            p_best[i], right[i] = p.max(), mean_rank(p, out.truth[i]) <= 1
            inside.append(bool(members[out.truth[i]]))
            size.append(int(members.sum()))
    sure = p_best >= 0.9
    row = {
        "calibration error": round(calibration_error(p_best, right), 3),
        "p ≥ 0.9, %": round(100 * float(sure.mean()), 1),
        "of these right, %": round(100 * float(right[sure].mean()), 1) if sure.any() else None,
        f"sets at δ = {delta:g} hold the truth, %": round(100 * float(np.mean(inside)), 1),
        "candidates in them, mean": round(float(np.mean(size)), 2),
    }
    return row, p_best, right


def _breakdown(ranks: NDArray[Any], out: OutOfFold, library: Library) -> list[dict[str, Any]]:
    spectra = library.files.spectra
    sizes = np.array([len(f) for f in next(iter(out.scores.values()))])
    peaks, mass, near = spectra.lengths[out.rows], spectra.precursor_mz[out.rows], out.nearest
    parts: dict[str, NDArray[Any]] = {
        "2–5 candidates": sizes <= 5,
        "6–20 candidates": (sizes > 5) & (sizes <= 20),
        "more than 20 candidates": sizes > 20,
        "nearest training molecule: Tanimoto > 0.7": near > 0.7,
        "nearest 0.4–0.7": (near > 0.4) & (near <= 0.7),
        "nearest at most 0.4": near <= 0.4,
        "fewer than 20 peaks": peaks < 20,
        "20 peaks or more": peaks >= 20,
    }
    if not np.isnan(mass).all():
        low, high = np.nanpercentile(mass, [100 / 3, 200 / 3])
        parts |= {f"precursor below {low:.0f}": mass <= low, f"precursor above {high:.0f}": mass > high}
    for key in ("instrument", "adduct"):
        values = np.array([str(spectra.metadata[i].get(key) or "") for i in out.rows])
        names = [name for name in sorted(set(values.tolist())) if name]
        if len(names) > 1:
            parts |= {f"{key} {name}": values == name for name in names[:8]}
    return [
        {"queries": name, "number": int(rows.sum()), "top-1": round(100 * float(np.mean(ranks[rows] <= 1)), 1)}
        for name, rows in parts.items()
        if rows.any()
    ]


def _curve(out: OutOfFold) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        k = np.arange(1, TOPS[-1] + 1)
        for name in out.scores:
            ranks = _ranks(out, name)
            ours = name in ("reverse", "forward", "fusion")
            axes.plot(k, [100 * np.mean(ranks <= j) for j in k], color=OURS if ours else THEIRS, linewidth=0.9)
        axes.plot([], [], color=OURS, label="kernel regression")
        axes.plot([], [], color=THEIRS, label="rivals")
        axes.set(xlabel="k", ylabel="truth among the first k, %", ylim=(0, 101))
        axes.legend()

    return plot(draw, caption="How often the truth is among the first k candidates, a line for each method.")


def _reliability(p: NDArray[Any], right: NDArray[Any]) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot([0, 1], [0, 1], color=THEIRS, linewidth=0.8)
        number = np.minimum((p * 10).astype(int), 9)
        for b in np.unique(number):
            mine = number == b
            axes.scatter(p[mine].mean(), right[mine].mean(), s=8 + 60 * mine.mean(), color=OURS)
        axes.set(xlabel="probability of the first candidate", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))

    return plot(draw, caption="Probabilities against how often they are right; on the line they are calibrated.")


def judge(results: Path, truth: Path) -> Report:
    """Judge a table of candidates by a table of truths, columns spectrum_id and smiles or inchikey."""
    start = perf_counter()
    known: dict[str, str] = {}
    for line, row in named_rows(truth):
        if "spectrum_id" not in row:
            raise ValueError(f"{truth.name} line {line}: needs columns spectrum_id and smiles, inchikey or inchikey14.")
        known[str(row["spectrum_id"])] = _identity(row, truth, line)
    listed: dict[str, list[tuple[float, str]]] = {}
    for line, row in named_rows(results):
        name = str(row.get("spectrum_id") or row.get("mappingfeatureid") or "")
        if not name:
            raise ValueError(f"{results.name} line {line}: needs a column spectrum_id.")
        if str(row.get("status", "ok")) != "ok":  # a query that was not ranked
            continue
        try:
            score = float(row["score"])
        except KeyError:
            raise ValueError(f"{results.name} line {line}: needs a column score.") from None
        except ValueError:
            raise ValueError(f"{results.name} line {line}: the score {row['score']!r:.40} is no number.") from None
        listed.setdefault(name, []).append((score, _identity(row, results, line)))
    if not set(known) & set(listed):
        raise ValueError(f"{truth.name}: none of its {len(known)} spectrum ids is in {results.name}.")
    ranks = []
    for name, key in known.items():
        some = listed.get(name, [])
        scores, names = np.array([score for score, _ in some]), [own for _, own in some]
        ranks.append(mean_rank(scores, names.index(key)) if key in names else np.inf)
    found = np.array(ranks)
    values = {key: round(value, 3 if key == "MRR" else 1) for key, value in figures(found).items()}
    missing = int(np.isinf(found).sum())
    report = Report(
        "How often the truth came first",
        f"The truth is first in {values['top-1']} % of {len(found)} spectra.",
        (Table("Results judged", [{"spectra": len(found), **values, "truth not listed": missing}]),),
        ("A truth that is not listed counts as missed at every k.",),
    )
    return report.with_info(run_info(seconds=perf_counter() - start, files=[results, truth]))


def _identity(row: dict[str, Any], path: Path, line: int) -> str:
    """The first block of the InChIKey, as it stands there or from the SMILES."""
    key = str(row.get("inchikey14") or row.get("inchikey2d") or row.get("inchikey") or "")[:14]
    if key:
        return key
    if "smiles" not in row:
        raise ValueError(f"{path.name} line {line}: needs columns spectrum_id and smiles, inchikey or inchikey14.")
    from iokr.chem.molecules import BadMolecule, Molecule

    try:
        return Molecule(str(row["smiles"])).identity
    except BadMolecule as error:
        raise ValueError(f"{path.name} line {line}: {error}") from None
