"""`iokr links cv`: how well are links found that the model has not seen?"""

from __future__ import annotations

from itertools import starmap
from time import perf_counter
from typing import Any

import pandas as pd

from iokr.apps.links.methods import METHODS, STACKED, searches
from iokr.apps.links.model import Options, Task
from iokr.apps.report import MUTED, OURS, THEIRS, Report, Spread, Table, Text, run_info
from iokr.apps.report.progress import Progress
from iokr.apps.report.rankings import curves_tsv, ranking_figures
from iokr.estimators.areas import AREAS, score_of
from iokr.metrics.curves import Curves
from iokr.model_selection import NodeKFold, cross_validate_links

__all__ = ["cross_validate"]

SETTINGS = {"known-known": "two known nodes", "known-new": "a known and a new node", "new-new": "two new nodes"}
STYLES = dict(zip(SETTINGS.values(), ((MUTED, "--"), (OURS, "-"), (THEIRS, "-.")), strict=True))
_TRANSDUCTIVE = (
    "Features are scaled, missing ones filled in and the widths to choose from set once, with the features of all "
    "nodes, new ones among them, as `iokr links predict` does. No link takes part in that."
)


def cross_validate(options: Options, *, folds: int, seed: int, progress: Progress) -> Report:
    """AUC-ROC and AUC-PR on links that the model has not seen, by folds over the labelled nodes."""
    start = perf_counter()
    progress(0, 1, "reading files")
    task = Task.of(options)
    labeled = task.network.labeled
    if len(labeled) < 2 * folds:
        raise ValueError(
            f"{len(labeled)} labelled nodes are too few for {folds} folds; use --folds, at most half of them."
        )
    models = searches(task)
    total = (len(models) + 1) * folds + 1
    pairs: dict[str, dict[str, list[tuple[Any, Any]]]] = {name: {s: [] for s in SETTINGS} for name in models}

    def measure(method: str, before: int, settings: tuple[str, ...]) -> Any:
        def watch(fold: int, setting: str, truth: Any, scores: Any) -> None:
            if truth.any() and not truth.all():
                pairs[method][setting].append((truth, scores))
            progress(before * folds + fold + 1, total, f"{METHODS[method]}, fold {fold + 1} of {folds}")

        splits = NodeKFold(folds, shuffle=True, random_state=seed)
        data = task.X, task.graph, splits
        return cross_validate_links(models[method], *data, labeled=labeled, settings=settings, watch=watch)

    found = {method: measure(method, k, ("known-new", "new-new")) for k, method in enumerate(models)}
    chosen = max(found, key=lambda method: _score(found[method], options.scoring))
    metrics = pd.concat([measure(chosen, len(models), ("known-known",)), found[chosen]])
    progress(total - 1, total, "drawing the page")
    curves = {setting: Curves.mean(starmap(Curves.of, found)) for setting, found in pairs[chosen].items() if found}
    table = _cv_table(metrics, folds)
    best = table.rows[1]
    report = Report(
        f"Links of a network, {folds} folds",
        f"{len(labeled)} nodes with {task.network.n_learned} known links. For pairs of a known and a new node the "
        f"AUC-ROC is {best['AUC-ROC %']} %, the AUC-PR {best['AUC-PR %']} % where {best['linked %']} % are linked.",
        (
            table,
            *([_methods_table(found, chosen, options.scoring)] if len(found) > 1 else []),
            task.input_table(),
            Text("Curves", ("Means over the folds, for the three kinds of pairs; the thin line is guessing.",)),
            *ranking_figures({SETTINGS[setting]: curve for setting, curve in curves.items()}, STYLES),
        ),
        (
            "A fold of the nodes is new: the model is given their features and none of their links. For pairs of two "
            "known nodes a fold of the pairs is hidden, that is, shown as not linked.",
            f"Parameters are chosen anew in every fold, by {_CHOICE[chosen]} of its known nodes ({options.scoring}).",
            "AUC-PR is to be read beside the fraction of pairs that are linked, which is what guessing reaches. Early "
            "precision is the fraction of links among the first pairs, as many as there are links.",
            *([_TRANSDUCTIVE] if options.nodes else []),
            *task.notes(),
            options.in_words(*(STACKED if chosen == "stack" else (chosen,))),
        ),
        files={"curves.tsv": curves_tsv(curves), "rejected.tsv": task.rejected()},
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


_CHOICE = {"iokr": "leave-one-out", "pairs": "folds", "stack": "leave-one-out and folds"}


def _score(metrics: Any, scoring: str) -> float:
    """What decides between models: pairs of a known and a new node, which are the most."""
    part = metrics[metrics.setting == "known-new"]
    return float(score_of(scoring, [part[name].mean() for name in AREAS]))


def _methods_table(found: dict[str, Any], chosen: str, scoring: str) -> Table:
    """Every model, pairs of a known and a new node."""
    rows = []
    for method in sorted(found, key=lambda method: -_score(found[method], scoring)):
        mine, best = (found[name].query("setting == 'known-new'").reset_index() for name in (method, chosen))
        behind = {
            f"minus the best, {short}": None
            if method == chosen
            else Spread.of((100 * (mine[name] - best[name])).dropna(), digits=1)
            for short, name in (("ROC", "roc_auc"), ("PR", "average_precision"))
        }
        areas = {short: Spread.of(100 * mine[name].dropna(), digits=1) for short, name in _AREA_WORDS.items()}
        rows.append({"model": METHODS[method], **areas, **behind})
    note = f"Pairs of a known and a new node; by {scoring}. The first is used; its choice by these folds flatters it."
    return Table(f"{METHODS[chosen]} is used", rows, note=note, our_rows=(0,))


_AREA_WORDS = {"AUC-ROC %": "roc_auc", "AUC-PR %": "average_precision"}


def _cv_table(metrics: Any, folds: int) -> Table:
    rows = []
    for setting, words in SETTINGS.items():
        part = metrics[metrics.setting == setting]

        def percent(measure: str, part: Any = part) -> Spread | None:
            values = part[measure].dropna()
            return Spread.of(100 * values, digits=1) if len(values) else None

        rows.append(
            {
                "pair of": words,
                "AUC-ROC %": percent("roc_auc"),
                "AUC-PR %": percent("average_precision"),
                "early precision %": percent("early_precision"),
                "linked %": round(100 * part.n_links.sum() / max(part.n_pairs.sum(), 1), 2),
                "pairs": int(part.n_pairs.sum()),
                "links": int(part.n_links.sum()),
            }
        )
    return Table(f"Links that the model has not seen, mean ± deviation over {folds} folds", rows, ours=("AUC-ROC %",))
