"""`iokr links predict --model`: links of a model that is kept in a file, and of nodes that come later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr._array import to_numpy
from iokr.apps.links.bipartite import AcrossOutcome, FoundAcross, PlacedAcross, notes_across
from iokr.apps.links.comparison import Evaluated, compared_table
from iokr.apps.links.inputs import Features
from iokr.apps.links.methods import Learned
from iokr.apps.links.model import formula_notes, rejected_tsv
from iokr.apps.links.placed import Asked, Placed
from iokr.apps.links.prediction import Found
from iokr.apps.links.scores import Scored
from iokr.apps.readers import Nodes, Rejection
from iokr.apps.readers.tables import split_name
from iokr.apps.readers.text_tables import STDIN
from iokr.apps.report import Report, Table, run_info
from iokr.apps.report.progress import Progress
from iokr.apps.report.tables import no_formula
from iokr.files import BadFile, load, load_beside

__all__ = ["KIND", "predict_kept", "state_of_table"]

KIND = "iokr links train"  # what such a file says it is
_ALIKE = 1e-6  # of a deviation: features that another program has written with fewer digits

Matrix = NDArray[np.float64]


def state_of_table(table: Table) -> dict[str, Any]:
    """For a file."""
    return {"title": table.title, "rows": [dict(row) for row in table.rows], "note": table.note, "ours": table.ours}


def _table(state: dict[str, Any]) -> Table:
    return Table(state["title"], state["rows"], note=state["note"], ours=tuple(state["ours"]))


def predict_kept(
    path: Path,
    nodes: tuple[str, ...],
    partners: tuple[str, ...],
    ids: str | None,
    asked: Asked,
    *,
    seed: int,
    progress: Progress,
) -> Report:
    """The best pairs with a node that the model has not seen; without such nodes, the best of those that it knows."""
    start = perf_counter()
    progress(0, 3, "reading the model and the nodes")
    beside = load_beside(path)
    if beside.get("kind") != KIND:
        raise BadFile(f"{path} is no model of `iokr links train`; load it with `iokr.load`.")
    if "sides" in beside:
        report = _predict_across(path, beside, (nodes, partners), ids, asked, seed, progress)
    elif partners:
        raise ValueError(f"{path} is a model of one kind of nodes; leave --partners out.")
    else:
        report = _predict(path, beside, nodes, ids, asked, seed, progress)
    files = [path, *(split_name(name)[0] for name in (*nodes, *partners, ids) if name not in (None, STDIN))]
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=files))


def _predict(
    path: Path,
    beside: dict[str, Any],
    nodes: tuple[str, ...],
    ids: str | None,
    asked: Asked,
    seed: int,
    progress: Progress,
) -> Report:
    model = load(path)
    learned = Learned(beside.get("method", "iokr"), model)
    placed = _placed(beside, learned)
    given = _given(path, Features.from_state(beside), nodes, ids, "--nodes", placed.ids, placed.X)
    if given is not None and given.fresh.any():
        placed = placed.with_later(given.nodes.ids[given.fresh], given.X[given.fresh])
    evaluated = tuple(Evaluated.from_state(one) for one in beside.get("evaluated", []))
    threshold = beside.get("threshold")
    threshold = (
        model.best_threshold() if threshold is None else threshold
    )  # of a first model, found when it is asked for
    progress(1, 3, "ranking pairs")
    found = Found.of(learned, placed, Scored.of(learned, placed), evaluated, float(threshold), asked)
    if "evaluated" not in beside:
        found = replace(found, unevaluated=_UNEVALUATED)
    progress(2, 3, "writing and drawing")
    n = len(placed.labeled)
    compared = [compared_table(evaluated, beside["n_evaluated"], n, beside["scoring"])] if evaluated else []
    title = "Links of new nodes" if placed.n_later else "New links of a network"
    who = f"{placed.n_later} new nodes beside the {placed.n_fitted}" if placed.n_later else f"{placed.n_fitted} nodes"
    cell, safe = _cell(asked), asked.spreadsheet_safe
    return Report(
        title,
        f"{who} that the model knows, {placed.adjacency.nnz // 2} known links; the {found.in_words(asked)}.",
        (
            *found.parts(seed, safe=safe),
            *compared,
            _input_table([("nodes", len(placed.ids) - placed.n_later, given)]),
            *([_table(beside["chosen"])] if "chosen" in beside else []),
        ),
        (*found.notes(), *_NOTES[given is not None], *formula_notes(placed.ids.tolist(), safe=safe), *_words(beside)),
        files={**found.files(cell), "rejected.tsv": rejected_tsv(_gone([given]), cell)},
    )


_UNEVALUATED = (
    "The model is from a time when models were not evaluated at training: no probability is told, and the threshold is "
    "that of the largest F1 on leave-one-out scores, which is optimistic."
)
_NOTES = {True: ("Features are filled in and scaled with the numbers of the training nodes.",), False: ()}


def _words(beside: dict[str, Any]) -> tuple[str, ...]:
    return (beside["words"],) if "words" in beside else ()


def _placed(beside: dict[str, Any], learned: Learned) -> Placed:
    """The nodes that the model has learned with."""
    model = next(model for model, _ in learned.parts.values())
    labeled, X = np.asarray(beside["labeled"]), to_numpy(model.nodes_)
    if "links" in beside:
        return Placed(np.asarray(beside["ids"]), X, csr_array(beside["links"]), labeled)
    ends = model.network_.graph.tocoo()  # a file that knows the links between labelled nodes alone
    N = len(X)
    known = csr_array((ends.data, (labeled[ends.row], labeled[ends.col])), shape=(N, N))
    return Placed(np.asarray(beside["ids"]), X, known, labeled)


@dataclass(frozen=True, eq=False)
class Given:
    """Nodes of files, beside those that a model knows."""

    nodes: Nodes
    X: Matrix
    fresh: NDArray[np.bool_]  # which of them are new
    changed: tuple[Rejection, ...]  # nodes of the model that have other features now


def _given(
    path: Path,
    features: Features,
    files: tuple[str, ...],
    ids: str | None,
    option: str,
    known: NDArray[np.str_],
    known_X: Matrix,
) -> Given | None:
    if not files:
        return None
    nodes, X = features.read(path, files, ids, option)
    fresh = ~np.isin(nodes.ids, known)
    changed: list[Rejection] = []
    if not fresh.all():
        at = {name: i for i, name in enumerate(known.tolist())}
        old = known_X[[at[name] for name in nodes.ids[~fresh].tolist()]]
        other = ~np.isclose(X[~fresh], old, rtol=_ALIKE, atol=_ALIKE).all(axis=1)
        why = "other features than at training", "those of training are used"
        changed = [Rejection(files[0], None, "node", str(name), "", *why) for name in nodes.ids[~fresh][other].tolist()]
    return Given(nodes, X, fresh, tuple(changed))


def _gone(given: Sequence[Given | None]) -> list[Rejection]:
    """What was not taken as it is; nodes whose gaps were filled are kept, and not here."""
    found = [r for part in given if part is not None for r in (*part.nodes.rejections, *part.changed)]
    return [r for r in found if not r.action.startswith("filled")]


def _input_table(parts: Sequence[tuple[str, int, Given | None]]) -> Table:
    """What the model knows, what the files have, and what did not fit."""
    rows: list[dict[str, Any]] = []
    for kind, count, given in parts:
        rows.append({"what": f"{kind} of the model", "count": count, "": ""})
        if given is None:
            continue
        new, features = int(given.fresh.sum()), f"{len(given.nodes.columns)} features"
        rows.append({"what": f"new {kind}", "count": new, "": features})
        if not given.fresh.all():
            rows.append(
                {"what": f"{kind} of the files that the model knows", "count": int((~given.fresh).sum()), "": ""}
            )
        reasons = Counter((f"{r.what}: {r.reason}", r.action) for r in (*given.nodes.rejections, *given.changed))
        rows += [{"what": what, "count": times, "": action} for (what, action), times in reasons.items()]
    found = [given for *_, given in parts if given is not None]
    notes = [f"{said}." for given in found for said in given.nodes.notes]
    if found and not any(given.fresh.any() for given in found):
        notes.append("The model knows every node of the files: pairs of its nodes are listed.")
    elif any(not given.fresh.all() for given in found):
        notes.append("Only pairs with a new node are listed.")
    if _gone(found):
        notes.append("Every row that did not fit is listed in `rejected.tsv`.")
    return Table("Input", rows, note=" ".join(notes))


def _cell(asked: Asked) -> Callable[[Any], str]:
    return (lambda value: str(no_formula(value))) if asked.spreadsheet_safe else str


def _predict_across(
    path: Path,
    beside: dict[str, Any],
    files: tuple[tuple[str, ...], tuple[str, ...]],
    row_ids: str | None,
    asked: Asked,
    seed: int,
    progress: Progress,
) -> Report:
    model = load(path)
    kinds = (str(beside["kinds"][0]), str(beside["kinds"][1]))
    known = [np.asarray(side["ids"]) for side in beside["sides"]]
    given = [
        _given(path, Features.from_state(side), several, own, option, ids, np.asarray(side["X"]))
        for side, several, own, option, ids in zip(
            beside["sides"], files, (row_ids, None), ("--nodes", "--partners"), known, strict=True
        )
    ]
    fresh = [None if one is None or not one.fresh.any() else one.nodes.ids[one.fresh] for one in given]
    _check_apart(path, kinds, known, fresh)
    none = np.array([], dtype=str)
    placed = PlacedAcross((known[0], known[1]), kinds, model.links_)
    placed = placed.with_later(*(none if ids is None else ids for ids in fresh))
    placed.asked(asked)  # refused before the work
    progress(1, 3, "ranking pairs")
    X, Z = (
        np.asarray(side["X"]) if one is None else np.concatenate([np.asarray(side["X"]), one.X[one.fresh]])
        for side, one in zip(beside["sides"], given, strict=True)
    )
    outcome = AcrossOutcome(
        model,
        (float(beside["logistic"][0]), float(beside["logistic"][1])),
        float(beside["threshold"]),
        _table(beside["evaluated"]),
        _table(beside["chosen"]),
    )
    found = FoundAcross.of(placed, (X, Z), outcome, asked)
    progress(2, 3, "writing and drawing")
    later = sum(placed.n_later)
    which = "best pairs with a new node" if later and not asked.of_whom() else f"best other pairs{asked.of_whom()}"
    cell, safe = _cell(asked), asked.spreadsheet_safe
    return Report(
        "Links of new nodes between two kinds" if later else "New links between two kinds of nodes",
        f"{placed.in_words()}{f', {later} of the nodes new' if later else ''}; the {len(found.rows)} {which}, "
        f"{placed.each()}.",
        (
            *found.parts(seed, safe=safe),
            outcome.evaluated,
            _input_table([(kind, len(ids), one) for kind, ids, one in zip(kinds, known, given, strict=True)]),
            outcome.chosen,
        ),
        (
            *notes_across(kinds),
            *_NOTES[any(one is not None for one in given)],
            *formula_notes(placed.names, safe=safe),
            beside["words"],
        ),
        files={**found.files(cell), "rejected.tsv": rejected_tsv(_gone(given), cell)},
    )


def _check_apart(path: Path, kinds: tuple[str, str], known: list[Any], fresh: list[Any]) -> None:
    """A new node of one kind must not have the id of a node of the other."""
    for kind, ids, others in ((kinds[0], fresh[0], (known[1], fresh[1])), (kinds[1], fresh[1], (known[0], fresh[0]))):
        everyone = np.concatenate([part for part in others if part is not None])
        both = [] if ids is None else ids[np.isin(ids, everyone)].tolist()
        if both:
            other = kinds[1] if kind == kinds[0] else kinds[0]
            raise ValueError(
                f"{both[0]!r} is given as {kind}, and {path} or the other file has it as {other}; two kinds of nodes "
                "need ids of their own."
            )
