"""`iokr links train`: compare and learn once, and keep what was learned in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from iokr.apps.links.across import Across
from iokr.apps.links.bipartite import learn_across
from iokr.apps.links.clock import Clock
from iokr.apps.links.comparison import compared_table
from iokr.apps.links.inputs import Features
from iokr.apps.links.kept import KIND, state_of_table
from iokr.apps.links.learning import KEEP, Outcome, learn, work
from iokr.apps.links.methods import METHODS
from iokr.apps.links.model import Options, Task
from iokr.apps.links.ranking import threshold_of
from iokr.apps.links.scores import Scored
from iokr.apps.links.words import chosen_table
from iokr.apps.report import Report, Table, run_info
from iokr.apps.report.progress import Progress
from iokr.cli.shared import command_line
from iokr.files import save

__all__ = ["train", "train_across"]


def train(options: Options, path: Path, *, seed: int, progress: Progress) -> Report:
    """Compare models as `predict` does, learn the best, and write it with the ids and the scaling of its nodes."""
    start = perf_counter()
    progress(0, 100, "reading files")
    task = Task.of(options)
    clock = Clock(progress, work(task, kept=True))
    outcome = learn(task, clock, seed)
    clock.at(KEEP)
    learned, evaluated, placed = outcome.learned, outcome.evaluated, task.placed
    threshold = threshold_of(placed, Scored.of(learned, placed), evaluated)
    labeled, chosen, words = task.network.labeled, chosen_table(task, learned), options.in_words(*learned.used)
    info = run_info(seed=seed, seconds=perf_counter() - start, files=options.paths())
    save(
        learned.model,
        path,
        data={"nodes": np.asarray(task.network.nodes.X), "links": task.network.adjacency},
        provenance=_provenance(_won(outcome), words, info),
        beside={
            "kind": KIND,
            "method": learned.method,
            "ids": task.ids,
            "labeled": labeled,
            "links": task.network.adjacency,
            **Features.of(options, task.network.nodes, task.scaling).state(),
            "threshold": threshold,
            "evaluated": [one.state(pairs=one is evaluated[0]) for one in evaluated],
            "n_evaluated": outcome.n_evaluated,
            "scoring": options.scoring,
            "chosen": state_of_table(chosen),
            "words": words,
        },
    )
    report = Report(
        "A model of a network",
        f"{len(task.ids)} nodes, {task.network.n_learned} known links between {len(labeled)} of them; the threshold is "
        f"{threshold:.3g}.",
        (
            *([compared_table(evaluated, outcome.n_evaluated, len(labeled), options.scoring)] if evaluated else []),
            _without_list(task.input_table()),
            chosen,
        ),
        (words,),
    )
    return report.with_info(info)


def _won(outcome: Outcome) -> str:
    """Which model it is, and among how many."""
    name, count = METHODS[outcome.learned.method], len(outcome.evaluated)
    return f"{name}, the best of {count} by folds of nodes" if count > 1 else name


def train_across(options: Options, path: Path, *, seed: int, progress: Progress) -> Report:
    """Learn from two kinds of nodes, and write the model with the ids and the scaling of both."""
    start = perf_counter()
    progress(0, 4, "reading files")
    task = Across.of(options)
    outcome = learn_across(task, seed, progress)
    progress(3, 4, "writing the model")
    one, other = task.kinds
    words = f"Ridge regression on all pairs across (`BipartitePredictor`): {options.compared_by()}."
    info = run_info(seed=seed, seconds=perf_counter() - start, files=options.paths())
    both = zip((task.rows, task.columns), task.scalings, strict=True)
    sides = [{"ids": nodes.ids, **Features.of(options, nodes, scaling).state()} for nodes, scaling in both]
    save(
        outcome.model,
        path,
        data={"nodes": task.rows.X, "partners": task.columns.X, "links": task.Y},
        provenance=_provenance(f"BipartitePredictor between {one} and {other}", words, info),
        beside={
            "kind": KIND,
            "kinds": [one, other],
            "sides": [side | {"X": X} for side, X in zip(sides, (task.X, task.Z), strict=True)],
            "threshold": outcome.threshold,
            "logistic": list(outcome.logistic),
            "evaluated": state_of_table(outcome.evaluated),
            "chosen": state_of_table(outcome.chosen),
            "words": words,
        },
    )
    n, m = task.Y.shape
    report = Report(
        "A model of two kinds of nodes",
        f"{n} nodes of the kind {one} and {m} of the kind {other} with {int(task.Y.sum())} known links; the threshold "
        f"is {outcome.threshold:.3g}.",
        (outcome.evaluated, _without_list(task.input_table()), outcome.chosen),
        (words,),
    )
    return report.with_info(info)


def _provenance(method: str, words: str, info: dict[str, Any]) -> dict[str, Any]:
    return {"method": method, "model": words, "command": command_line(), "date": info["date"], "files": info["data"]}


def _without_list(table: Table) -> Table:
    """There is a model, and no folder for a list."""
    note = "Every row that did not fit is listed in `rejected.tsv`."
    other = "`iokr links predict` with these files lists every row that did not fit."
    return replace(table, note=table.note.replace(note, other))
