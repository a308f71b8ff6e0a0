"""`iokr msms identify`: candidates of unknown spectra, ranked, with what speaks for them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.baselines import LibrarySearch
from iokr.apps.msms.kept import Kept
from iokr.apps.msms.learning import query_sets
from iokr.apps.msms.library import Entry, Molecules, Sets, cache_file, input_table, read_queries, rejected_rows
from iokr.apps.msms.options import Learning, Matching, Reading
from iokr.apps.msms.page import Card, cards
from iokr.apps.msms.scoring import BEST, MANY, all_scores
from iokr.apps.msms.stages import Stages
from iokr.apps.msms.tables import table_file, table_text
from iokr.apps.msms.training import Model, promise
from iokr.apps.report import LiveTable, Report, Spread, Table, run_info
from iokr.apps.report.progress import Progress
from iokr.chem.similarities import modified_cosine
from iokr.chem.structures.fingerprints import Fingerprints
from iokr.chem.structures.molecules import rdkit_version
from iokr.cli.signals import closing_words
from iokr.estimators.identification.confidence import in_set, probabilities
from iokr.kernels.structured.sets import Tanimoto

__all__ = ["COLUMNS", "SIRIUS", "identify"]

_BLOCK, _TOGETHER = 64, 1024  # queries scored together, and their candidates
_EVIDENCE = 5
_MATCH, _PEAKS = 0.7, 6  # modified cosine and matched peaks of a library match
_RERANKED = (
    f"There are more than {MANY} candidates, so the {BEST} of each query that the forward model has first were ranked; "
    "the others come after them and have no score."
)
_ON_PAGE = (
    *("spectrum", "precursor", "candidates", "best", "formula", "probability", "set", "novelty"),
    *("library match", "status"),
)
COLUMNS = (
    *("spectrum_id", "rank", "candidate_id", "name", "smiles", "inchikey14", "formula", "score", "score_forward"),
    *("score_reverse", "score_library", "probability", "in_set", "margin", "n_candidates", "tied_with", "in_library"),
    *("library_match", "evidence", "status"),
)
SIRIUS = {
    "rank": "structurePerIdRank",
    "inchikey14": "InChIkey2D",
    "formula": "molecularFormula",
    "probability": "ConfidenceScoreExact",
    "spectrum_id": "mappingFeatureId",
    "spectrum": "mappingFeatureId",
}


@dataclass(frozen=True)
class Request:
    """What is asked of a model."""

    top: int = 20
    delta: float = 0.1
    own: str = "leave-out"
    pages: int = 20
    sirius: bool = False
    fingerprints: bool = False
    format: str = "tsv"
    safe: bool = False

    def table(self, rows: list[dict[str, Any]], columns: tuple[str, ...] = ()) -> str | bytes:
        """Rows of a file, in the format and with the names that were asked for."""
        if self.sirius:
            rows = [{SIRIUS.get(k, k): v for k, v in row.items()} for row in rows]
        names = [SIRIUS.get(name, name) for name in columns] if self.sirius else list(columns)
        return table_file(rows, self.format, columns=names, safe=self.safe)


def identify(
    reading: Reading, model_path: Path, matching: Matching, request: Request, folder: Path, progress: Progress
) -> Report:
    """Rank the candidates of every spectrum; finished queries are kept when the run is interrupted."""
    start, progress = perf_counter(), Stages(progress)
    progress(0, 1, "reading the model")
    model = Model(model_path)
    if model.beside["kernels"] == "six" and matching.database is not None and matching.match == "mass":
        raise ValueError(
            f"{model_path} compares sub-formulas, which need the formula of the unknown, and --match mass does not "
            "give it; use --match formula, or train with --kernels peaks,losses."
        )
    progress(0, 1, "reading spectra")
    files = read_queries(reading)
    theirs = model.beside["ion_mode"]
    if theirs and files.ion_mode and theirs != files.ion_mode:
        raise ValueError(f"the spectra are of {files.ion_mode} ion mode and {model_path} was trained on {theirs}.")
    progress(0, 1, "reading candidates")
    molecules = Molecules(model.fingerprints, cache_file())
    sets = Sets.of(files, matching, molecules)
    if request.own == "exclude":
        sets = sets.without(set(model.identities), files)
    paths = [*reading.paths(), *matching.paths(), model_path]
    key = Learning(own=request.own).key(
        paths, top=request.top, delta=request.delta, matching=matching, cleaning=reading.cleaning
    )
    kept = Kept(folder.with_name(f"{folder.name}.partial") / "queries.jsonl", key)
    asked = [i for i, entries in enumerate(sets.entries) if entries]
    todo = [i for i in asked if files.ids[i] not in kept.parts]
    with closing_words(lambda: kept.words(f"of {len(asked)} queries")):
        for some in _blocks(todo, sets):
            progress(len(kept.parts), len(asked), "identifying")
            for i, found in zip(some, _answers(model, files, sets, some, molecules, request), strict=True):
                kept.put(files.ids[i], found)
    progress(len(asked), max(len(asked), 1), "writing")
    rows = [row for i in range(len(files.spectra)) for row in _rows(files, i, kept.parts.get(files.ids[i]))]
    rows += [{"spectrum_id": r.id, "status": "rejected"} for r in files.rejections if r.action == "left out"]
    best = [_summary(files, i, kept.parts.get(files.ids[i])) for i in range(len(files.spectra))]
    best += [
        {"spectrum": r.id, "status": "rejected", "note": r.reason} for r in files.rejections if r.action == "left out"
    ]
    rejections = (*files.rejections, *sets.rejections)
    shown = [_card(model, files, i, kept.parts[files.ids[i]], request) for i in asked[: request.pages]]
    counts = {status: sum(row["status"] == status for row in best) for status in ("ok", "no_candidates", "rejected")}
    columns = (*COLUMNS, "adduct") if request.sirius else COLUMNS
    bits = {"fingerprints.npz": _fingerprints(model, files, asked)} if request.fingerprints else {}
    report = Report(
        "Molecules of unknown spectra",
        f"{counts['ok']} of {files.n_read} spectra have ranked candidates, {counts['no_candidates']} have none, "
        f"{counts['rejected']} could not be used. {promise(model.calibration, request.delta)}",
        (
            LiveTable(
                Table("Best candidates", _shown(best), ours=("probability",)),
                details=[_details(kept.parts.get(str(row["spectrum"]))) for row in best],
                file=f"spectra.{request.format}",
                safe=request.safe,
            ),
            *cards(shown),
            input_table("spectra", files, rejections),
        ),
        (
            "A score compares the spectrum with what the model expects of a candidate; a probability compares the "
            "candidates of one spectrum with each other. Whether the truth is among them, the model cannot know: "
            "`novelty` is a rank among spectra whose truth was there, not a verdict.",
            "When the unknown may be a molecule of the library, look at `library_match`: that is a library search, and "
            "does not change the ranking.",
            matching.in_words(),
            *([_RERANKED] if sets.many(MANY) else []),
        ),
        files={
            f"candidates.{request.format}": request.table(rows, columns),
            f"spectra.{request.format}": request.table(best),
            "rejected.tsv": table_text(rejected_rows(rejections), safe=request.safe),
            **bits,
        },
    )
    info = run_info(seconds=perf_counter() - start, files=paths)
    info["versions"]["rdkit"] = rdkit_version()
    info |= {"model": hashlib.sha256(model_path.read_bytes()).hexdigest(), "counts": counts}
    kept.forget()
    return report.with_info({**info, **progress.info()})


def _blocks(rows: list[int], sets: Sets) -> Iterator[list[int]]:
    """Queries that are scored together: few where they have many candidates, whose values with all spectra are held."""
    some: list[int] = []
    for i in rows:
        if some and (len(some) == _BLOCK or sum(len(sets.entries[j]) for j in (*some, i)) > _TOGETHER):
            yield some
            some = []
        some.append(i)
    if some:
        yield some


def _fingerprints(model: Model, files: Any, rows: list[int]) -> bytes:
    """fingerprints.npz: β(x)ᵀY of the forward model, within [0, 1], for each query and bit."""
    found = np.empty((len(rows), len(_training_bits(model)[0])), dtype=np.float32)
    Y = _training_bits(model).astype(np.float32)
    for begin in range(0, len(rows), _BLOCK):
        some = rows[begin : begin + _BLOCK]
        B = np.asarray(model.identification.forward_.weights(files.spectra[np.array(some, dtype=np.intp)]))
        found[begin : begin + len(some)] = np.clip(B.astype(np.float32) @ Y, 0.0, 1.0)
    buffer = io.BytesIO()
    names = Fingerprints(model.fingerprints).get_feature_names_out().astype(str)
    np.savez_compressed(buffer, spectrum_id=np.array([files.ids[i] for i in rows], dtype=str), bits=found, names=names)
    return buffer.getvalue()


def _answers(
    model: Model, files: Any, sets: Sets, rows: list[int], molecules: Molecules, request: Request
) -> list[dict[str, Any]]:
    """For each query its kept candidates with scores, probabilities and evidence, as plain data."""
    identification = model.identification
    X = files.spectra[np.array(rows, dtype=np.intp)]
    entries = [sets.entries[i] for i in rows]
    candidates, names = query_sets(entries, molecules.bits)
    values = all_scores(identification, X, candidates, names, best=BEST if sets.many(MANY) else None, own=request.own)
    similar, matched = modified_cosine.matches(X, model.spectra)
    search = LibrarySearch(lambda A, B: similar).fit(model.spectra, np.asarray(_training_bits(model)), model.identities)
    library = search.scores(X, candidates, names, own="count" if request.own == "count" else "leave-out")
    B = np.asarray(identification.forward_.weights(X))
    kernel, points = identification.forward_.kernel_, identification.forward_.inputs_.points
    cross = np.asarray(kernel.block(kernel.represent(X), points))
    known: dict[str, list[int]] = {}
    for j, name in enumerate(model.identities):
        known.setdefault(name, []).append(j)
    calibrated = hasattr(identification, "temperature_")
    level = identification.set_level(1 - request.delta) if calibrated else np.inf
    found = []
    for k, (i, some) in enumerate(zip(rows, entries, strict=True)):
        f = values[identification.method][k]
        order = np.lexsort((-values["forward"][k], -f)) if np.isinf(f).any() else np.argsort(-f, kind="stable")
        p = probabilities(f, identification.temperature_) if calibrated else None
        members = None if p is None else in_set(p, level)
        best = float(f[order[0]])
        tanimoto = np.asarray(Tanimoto()(candidates.sets[k][order[: request.top]], _training_bits(model)))
        answers = [
            {
                **_described(some[c]),
                "rank": rank,
                "score": _finite(f[c]),
                "score_forward": _finite(values["forward"][k][c]),
                "score_reverse": _finite(values["reverse"][k][c]),
                "score_library": float(library[k][c]),
                "probability": None if p is None else float(p[c]),
                "in_set": None if members is None else bool(members[c]),
                "tied_with": int((f == f[c]).sum()) - 1 if np.isfinite(f[c]) else None,
                "in_library": some[c].identity in known,
                "evidence": _evidence(
                    model, B[k], cross[k], tanimoto[rank - 1], known.get(some[c].identity, []), request
                ),
            }
            for rank, c in enumerate(order[: request.top], start=1)
        ]
        found.append(
            {
                "candidates": answers,
                "n_candidates": len(some),
                "margin": _finite(best - float(f[order[1]])) if len(some) > 1 else None,
                "set_size": None if members is None else int(members.sum()),
                "novelty": float(identification.novelty([f])[0]) if calibrated else None,
                "best_similarity": float(cross[k].max()),
                "library_match": _match(model, files, i, similar[k], matched[k]),
                "nearest": [int(j) for j in np.argsort(-similar[k], kind="stable")[:2]],
                "note": "only candidate" if len(some) == 1 else "",
            }
        )
    return found


def _finite(score: Any) -> float | None:
    """None for a candidate that was excluded, or not worth the reverse model."""
    return float(score) if np.isfinite(score) else None


def _training_bits(model: Model) -> NDArray[Any]:
    """Fingerprints of the training rows, as the model holds them."""
    return np.asarray(model.identification.reverse_.inputs_.points.parts[0])


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "candidate_id": entry.candidate.id,
        "name": entry.candidate.name,
        "smiles": entry.smiles,
        "inchikey14": entry.identity,
        "formula": entry.formula,
    }


def _evidence(
    model: Model, beta: NDArray[Any], k: NDArray[Any], t: NDArray[Any], own: list[int], request: Request
) -> list[list[Any]]:
    """The training spectra with the largest |β_i κ(y, y_i)|: id, β, k, Tanimoto."""
    strength = np.abs(beta * t)
    if request.own != "count":
        strength[own] = 0.0
    best = np.argsort(-strength, kind="stable")[:_EVIDENCE]
    return [
        [model.ids[j], round(float(beta[j]), 4), round(float(k[j]), 4), round(float(t[j]), 4), int(j)]
        for j in best
        if strength[j] > 0
    ]


def _match(model: Model, files: Any, i: int, similar: NDArray[Any], matched: NDArray[Any]) -> str:
    """The library spectrum that this one may simply be: much alike, many peaks, the same precursor."""
    ion = float(files.spectra.precursor_mz[i])
    near = np.abs(model.spectra.precursor_mz - ion) <= 10e-6 * ion
    good = (similar >= _MATCH) & (matched >= _PEAKS) & near
    if not good.any():
        return ""
    j = int(np.argmax(np.where(good, similar, -1)))
    return f"{model.ids[j]}:{similar[j]:.3f}:{int(matched[j])}"


def _rows(files: Any, i: int, found: dict[str, Any] | None) -> list[dict[str, Any]]:
    name = files.ids[i]
    if found is None:
        return [{"spectrum_id": name, "status": "no_candidates"}]
    shared = {
        "spectrum_id": name,
        "adduct": files.spectra.metadata[i].get("adduct"),
        "margin": found["margin"],
        "n_candidates": found["n_candidates"],
        "library_match": found["library_match"],
        "status": "ok",
    }
    return [
        {**row, **shared, "evidence": ";".join(f"{e[0]}:{e[1]}:{e[2]}:{e[3]}" for e in row["evidence"])}
        for row in found["candidates"]
    ]


def _summary(files: Any, i: int, found: dict[str, Any] | None) -> dict[str, Any]:
    """The row of a query in the table of best candidates."""
    row: dict[str, Any] = {
        "spectrum": files.ids[i],
        "precursor": round(float(files.spectra.precursor_mz[i]), 4),
        "peaks": int(files.spectra.lengths[i]),
    }
    if found is None:
        return {**row, "status": "no_candidates"}
    best = found["candidates"][0]
    p = best["probability"]
    return {
        **row,
        "candidates": found["n_candidates"],
        "best": best["name"] or best["candidate_id"] or best["inchikey14"],
        "smiles": best["smiles"],
        "formula": best["formula"],
        "probability": None if p is None else round(p, 3),
        "set": found["set_size"],
        "margin": None if found["margin"] is None else round(found["margin"], 4),
        "novelty": None if found["novelty"] is None else round(found["novelty"], 3),
        "best similarity": round(found["best_similarity"], 3),
        "library match": found["library_match"],
        "status": "ok",
        "note": found["note"],
    }


def _shown(best: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the table of the page has of each query: its other columns are in the file."""
    there = [name for name in _ON_PAGE if any(row.get(name) not in (None, "") for row in best)]
    rows: list[dict[str, Any]] = [{name: row.get(name) for name in there} for row in best]
    for row, whole in zip(rows, best, strict=True):
        if row.get("precursor") is not None:
            row["precursor"] = Spread(float(row["precursor"]), np.nan, digits=4)
        row["status"] = ", ".join(part for part in (whole["status"], whole.get("note")) if part)
    return rows


def _details(found: dict[str, Any] | None) -> list[Table | str]:
    if found is None:
        return ["There was nothing to rank."]
    rows = [
        {
            "rank": row["rank"],
            "name": row["name"] or row["candidate_id"] or row["inchikey14"],
            "smiles": row["smiles"],
            "formula": row["formula"],
            "score": None if row["score"] is None else round(row["score"], 4),
            "probability": None if row["probability"] is None else round(row["probability"], 3),
            "in the set": row["in_set"],
            "spoken for by": ", ".join(f"{e[0]} ({e[3]:.2f})" for e in row["evidence"][:3]),
        }
        for row in found["candidates"][:5]
    ]
    return [Table("The first candidates, and the training spectra that speak for them (Tanimoto)", rows)]


def _card(model: Model, files: Any, i: int, found: dict[str, Any], request: Request) -> Card:
    spoken = [e[4] for row in found["candidates"][:1] for e in row["evidence"][:1]]
    near = list(dict.fromkeys([*spoken, *found["nearest"]]))[:2]
    return Card(
        files.ids[i],
        files.spectra[i],
        [(model.ids[j], model.spectra[j]) for j in near],
        found["candidates"][:5],
        [model.smiles[j] for j in spoken],
    )
