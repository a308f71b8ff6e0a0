"""`iokr links train` and `iokr links predict --model`: learn once, then place nodes that come later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.cli.links.model import Options, Scaling, Task, rejected_tsv
from iokr.cli.links.words import chosen_rows, edges_tsv, live_links
from iokr.cli.shared import command_line
from iokr.datasets import Nodes, read_nodes, read_views
from iokr.datasets.layouts import Layout
from iokr.datasets.tables import split_name
from iokr.datasets.text_tables import STDIN
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
            "views": [[name, columns] for name, columns in _views(nodes)],
            "layout": asdict(options.layout),
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


def _views(nodes: Nodes) -> list[tuple[str, list[str]]]:
    """The tables that the features come from, and the names of their columns there."""
    if len(nodes.views) < 2:
        return [(name, list(nodes.columns)) for name, _ in nodes.views]
    ends = np.cumsum([0, *(count for _, count in nodes.views)]).tolist()
    parts = ((name, nodes.columns[a:b]) for (name, _), (a, b) in zip(nodes.views, pairwise(ends), strict=True))
    return [(name, [column.removeprefix(f"{name}: ") for column in columns]) for name, columns in parts]


def predict_new(
    path: Path, nodes: tuple[str, ...], ids: str | None, *, top: int, seed: int, safe: bool, progress: Progress
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
    files = [path, *(split_name(name)[0] for name in (*nodes, ids) if name not in (None, STDIN))]
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=files))


def _new_nodes(
    path: Path, nodes: tuple[str, ...], ids: str | None, beside: dict[str, Any]
) -> tuple[Nodes, NDArray[Any]]:
    """The nodes of files, and their features in the order and the scale of the model's."""
    views = beside.get("views") or [["", beside["columns"]]]
    if len(nodes) != len(views):
        named = ", ".join(repr(name) for name, _ in views)
        raise ValueError(
            f"{path} was trained with {len(views)} table{'s' * (len(views) > 1)} of features, {named}; give --nodes "
            f"{'once' if len(views) == 1 else f'{len(views)} times, in this order'}, got {len(nodes)}."
        )
    said: dict[str, Any] = dict(beside.get("layout", {}))
    given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in said.items()}
    layout = Layout(**given)
    means, start = [], np.asarray(beside["means"]).tolist()
    for name, (_, columns) in zip(nodes, views, strict=True):
        found = read_nodes(name, ids=_own(name, ids, len(nodes)), missing="zero", means={}, layout=layout)
        _check_columns(path, name, list(found.columns), columns, layout.one_hot)
        means.append(dict(zip(columns, start, strict=False)))
        start = start[len(columns) :]
    new = read_views(nodes, ids=ids, missing=beside["missing"], means=means, layout=layout)
    parts = _views(new)
    at = {(k, name): j for j, (k, name) in enumerate((k, c) for k, (_, columns) in enumerate(parts) for c in columns)}
    padded = np.column_stack([np.asarray(new.X), np.zeros(len(new.ids))])  # a category that no new node has is 0
    X = padded[:, [at.get((k, name), -1) for k, (_, columns) in enumerate(views) for name in columns]]
    return new, Scaling(**beside["scaling"])(X)


def _own(name: str, ids: str | None, several: int) -> str | None:
    return ids if several == 1 or split_name(name)[0].suffix.lower() in (".npy", ".npz") else None


def _check_columns(path: Path, nodes: str, new: list[str], known: list[str], one_hot: tuple[str, ...] = ()) -> None:
    """The same names, in any order; a category may be missing, but none may be new."""
    absent, more = [c for c in known if c not in new], [c for c in new if c not in known]
    if len(set(new)) < len(new):
        raise ValueError(f"{nodes}: the column {max(new, key=new.count)!r} appears twice.")
    if one_hot:
        there = {name.partition("=")[0] for name in new}
        absent = [c for c in absent if "=" not in c or c.partition("=")[0] not in there]
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
