"""`iokr links train` and `iokr links predict --model`: learn once, then place nodes that come later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.cli.links.model import Options, Scaling, Task, rejected_tsv
from iokr.cli.links.words import chosen_rows, edges_tsv, live_links
from iokr.cli.shared import command_line
from iokr.datasets import Nodes, read_nodes
from iokr.datasets.tables import split_name
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.files import BadFile, load, load_beside, save
from iokr.report import Report, Table, run_info
from iokr.report.progress import Progress
from iokr.report.tables import no_formula

__all__ = ["predict_new", "train"]

_KIND = "iokr links train"  # what such a file says it is


def train(options: Options, path: Path, *, seed: int, progress: Progress) -> Report:
    """Learn from the files and write the model, with the ids and the scaling of its nodes."""
    start = perf_counter()
    progress(0, 3, "reading files")
    task = Task.of(options)
    progress(1, 3, "choosing parameters and learning")
    model = task.model.fit(task.X, task.graph, labeled=task.network.labeled)
    threshold = model.threshold_
    progress(2, 3, "writing the model")
    info = run_info(seed=seed, seconds=perf_counter() - start, files=options.paths())
    nodes, scaling = task.network.nodes, task.scaling
    raw = np.asarray(nodes.X)
    save(
        model,
        path,
        data={"nodes": raw, "links": task.network.adjacency},
        provenance={
            "command": command_line(),
            "date": info["date"],
            "files": info["data"],
            "model": options.in_words(),
        },
        beside={
            "kind": _KIND,
            "ids": nodes.ids,
            "labeled": task.network.labeled,
            "columns": list(nodes.columns),
            "means": raw.mean(axis=0),
            "missing": options.missing,
            "scaling": {name: getattr(scaling, name) for name in ("size", "mean", "deviation", "length")},
        },
    )
    table = task.input_table()
    if table.note:  # there is a model, and no folder for a list
        table = replace(table, note="`iokr links predict` with these files lists every row that did not fit.")
    report = Report(
        "A model of a network",
        f"{len(task.ids)} nodes, {task.network.n_links} known links between {len(task.network.labeled)} of them; the "
        f"threshold is {threshold:.3g}.",
        (table, _chosen(task, model)),
        (options.in_words(),),
    )
    return report.with_info(info)


def _chosen(task: Task, model: LinkPredictorCV) -> Table:
    rows = [*chosen_rows(task, model, model.kernel_), {"what": "threshold", "value": model.threshold_}]
    return Table("Chosen by leave-one-out", rows)


def predict_new(
    path: Path, nodes: str, ids: str | None, *, top: int, seed: int, safe: bool, progress: Progress
) -> Report:
    """The best pairs with a node that the model has not seen, new features scaled and checked as at training."""
    start = perf_counter()
    progress(0, 3, "reading the model and the nodes")
    beside = load_beside(path)
    if beside.get("kind") != _KIND:
        raise BadFile(f"{path} is no model of `iokr links train`; load it with `iokr.load`.")
    model: LinkPredictorCV = load(path)
    new, X = _new_nodes(path, nodes, ids, beside)
    progress(1, 3, "ranking pairs")
    old, fresh = np.asarray(beside["ids"]), ~np.isin(new.ids, beside["ids"])
    found = _ranked(model, X[fresh], new.ids[fresh], old, beside["labeled"], top)
    progress(2, 3, "writing")
    above = sum(row["above threshold"] for row in found)
    cell: Callable[[Any], str] = (lambda value: str(no_formula(value))) if safe else str
    report = Report(
        "Links of new nodes",
        f"{int(fresh.sum())} new nodes, placed among the {len(old)} that the model knows; the {len(found)} best pairs "
        f"with a new node, {above} of them above the threshold {model.threshold_:.3g}.",
        (live_links(found, safe=safe), _input_table(new, fresh)),
        (
            "A score is ⟨h(u), h(v)⟩: h places nodes by their features so that linked ones are close. Scores rank; "
            "they are no probabilities.",
            "Features are filled in and scaled with the numbers of the training nodes.",
        ),
        files={"edges.tsv": edges_tsv(found, cell), "rejected.tsv": rejected_tsv(new.rejections, cell)},
    )
    files = [path, *(split_name(name)[0] for name in (nodes, ids) if name)]
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=files))


def _new_nodes(path: Path, nodes: str, ids: str | None, beside: dict[str, Any]) -> tuple[Nodes, NDArray[Any]]:
    """The nodes of a file, and their features in the order and the scale of the model's."""
    columns = beside["columns"]
    _check_columns(path, nodes, list(read_nodes(nodes, ids=ids, missing="zero", means={}).columns), columns)
    means = dict(zip(columns, np.asarray(beside["means"]).tolist(), strict=True))
    new = read_nodes(nodes, ids=ids, missing=beside["missing"], means=means)
    at = {name: j for j, name in enumerate(new.columns)}
    X = np.asarray(new.X)[:, [at[name] for name in columns]]
    return new, Scaling(**beside["scaling"])(X)


def _check_columns(path: Path, nodes: str, new: list[str], known: list[str]) -> None:
    """The same names, in any order."""
    absent, more = [c for c in known if c not in new], [c for c in new if c not in known]
    if len(set(new)) < len(new):
        raise ValueError(f"{nodes}: the column {max(new, key=new.count)!r} appears twice.")
    if not absent and not more:
        return
    parts = [f"has no column {_listed(absent)}"] if absent else []
    parts += [f"has {_listed(more)}, which the model does not know"] if more else []
    raise ValueError(
        f"{nodes} {' and '.join(parts)}; {path} was trained with {len(known)} columns, {_listed(known)}. "
        "Give the same columns, in any order."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _ranked(
    model: LinkPredictorCV, X: NDArray[Any], ids: NDArray[Any], old: NDArray[Any], labeled: NDArray[Any], top: int
) -> list[dict[str, Any]]:
    """Rows of the list: pairs of a new node and one of the model's, and of two new ones."""
    if not len(X):
        raise ValueError("Every node of the file is in the model already; there is none to place.")
    known = np.isin(np.arange(len(old)), labeled)
    pairs, scores = (np.asarray(a) for a in model.predict_links(X, top=top))
    rows = [
        (float(score), str(ids[i]), str(old[j]), "labelled–new" if known[j] else "new–new")
        for (i, j), score in zip(pairs, scores, strict=True)
    ]
    if len(X) > 1:
        pairs, scores = (np.asarray(a) for a in model.predict_links(X, X, top=top))
        rows += [(float(s), str(ids[i]), str(ids[j]), "new–new") for (i, j), s in zip(pairs, scores, strict=True)]
    rows.sort(key=lambda row: -row[0])
    return [
        {
            "rank": rank,
            "source": source,
            "target": target,
            "score": score,
            "pair": kind,
            "above threshold": bool(score > model.threshold_),
        }
        for rank, (score, source, target, kind) in enumerate(rows[:top], start=1)
    ]


def _input_table(new: Nodes, fresh: NDArray[Any]) -> Table:
    rows: list[dict[str, Any]] = [{"what": "new nodes", "count": int(fresh.sum()), "": f"{len(new.columns)} features"}]
    if not fresh.all():
        rows.append({"what": "nodes of the model", "count": int((~fresh).sum()), "": "left out: it knows them"})
    rows += [{"what": f"{r.what} {r.source}: {r.reason}", "count": 1, "": r.action} for r in new.rejections[:20]]
    return Table("Input", rows)
