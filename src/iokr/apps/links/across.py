"""Two kinds of nodes from files: two tables, or one table and the sides of the edge list; `iokr links cv` on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import starmap
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.defaults import ALPHAS
from iokr.apps.links.inputs import Scaling, feature_inputs
from iokr.apps.links.model import Options, rejected_tsv
from iokr.apps.readers import Nodes, Rejection, read_views
from iokr.apps.readers.edge_files import read_edges
from iokr.apps.readers.file_table import FileTable
from iokr.apps.readers.node_files import rejected
from iokr.apps.report import MUTED, OURS, THEIRS, Report, Spread, Table, Text, run_info
from iokr.apps.report.progress import Progress
from iokr.apps.report.rankings import curves_tsv, ranking_figures
from iokr.estimators.areas import areas_of
from iokr.estimators.bipartite import BipartitePredictor
from iokr.metrics.curves import Curves

__all__ = ["Across", "cross_validate_across"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Across:
    """Rows and columns with their features, the links between them, and the model."""

    options: Options
    rows: Nodes
    columns: Nodes
    kinds: tuple[str, str]  # what rows and columns are called
    Y: Matrix
    X: Matrix
    Z: Matrix
    model: BipartitePredictor
    scalings: tuple[Scaling, Scaling]
    rejections: tuple[Rejection, ...]
    notes: tuple[str, ...] = ()
    comments: int = 0

    @classmethod
    def of(cls, options: Options) -> Across:
        """Read the files; without partners an end's column in the edge list tells of which kind a node is."""
        given: dict[str, Any] = {"missing": options.missing, "layout": options.layout}
        rows = read_views(options.nodes, ids=options.ids, **given)
        more: tuple[Rejection, ...] = ()
        notes = rows.notes
        comments = rows.comments
        if not options.partners:
            table = read_edges(options.edges, known=rows.ids.tolist(), **options.edge_columns)
            (rows, columns), more = _sides(table, rows)
            named = ("rows", "columns")
        else:
            columns = read_views(options.partners, **given)
            known = [*rows.ids.tolist(), *columns.ids.tolist()]
            table = read_edges(options.edges, known=known, **options.edge_columns)
            named = (_stem(options.nodes[0]), _stem(options.partners[0]))
            notes, comments = (*notes, *columns.notes), comments + columns.comments
        kinds = (table.head[0], table.head[1]) if len(set(table.head)) == 2 and all(table.head) else named
        Y, rejections = _links(table, rows, columns)
        (X, kernels, one), (Z, others, other) = (feature_inputs(options, nodes) for nodes in (rows, columns))
        alphas = options.alphas or ALPHAS[::2]
        scoring = None if options.scoring == "roc_auc" else options.scoring
        model = BipartitePredictor(kernels, others, alpha=alphas, scoring=scoring)
        everything = (*rows.rejections, *columns.rejections, *more, *rejections)
        notes = (*notes, *table.notes)
        scalings, comments = (one, other), comments + table.comments
        return cls(options, rows, columns, kinds, Y, X, Z, model, scalings, everything, notes, comments)

    def input_table(self) -> Table:
        """What was read, and what did not fit."""
        (one, other), Y = self.kinds, self.Y
        cells: list[dict[str, Any]] = [
            {"what": f"nodes, {one}", "count": len(self.rows.ids), "": _measured(self.rows)},
            {"what": f"partners, {other}", "count": len(self.columns.ids), "": _measured(self.columns)},
            {"what": "known links", "count": int(Y.sum()), "": ""},
        ]
        if self.comments:
            cells.append({"what": "lines that begin with #", "count": self.comments, "": "taken for comments"})
        reasons = Counter((f"{r.what}: {r.reason}", r.action) for r in self.rejections)
        cells += [{"what": what, "count": count, "": action} for (what, action), count in reasons.items()]
        note = "Every row that did not fit is listed in `rejected.tsv`." if self._gone() else ""
        return Table("Input", cells, note=" ".join((*(f"{said}." for said in self.notes), note)).strip())

    def rejected(self) -> str:
        """The rows that were not taken as they are, as TSV; nodes whose gaps were filled are kept, and not here."""
        return rejected_tsv(self._gone(), self.options.cell)

    def _gone(self) -> list[Rejection]:
        return [r for r in self.rejections if not r.action.startswith("filled")]


def _measured(nodes: Nodes) -> str:
    if len(nodes.views) < 2:
        return f"{len(nodes.columns)} features"
    return f"{len(nodes.views)} views: " + ", ".join(f"{name} ({count} features)" for name, count in nodes.views)


def _stem(name: str) -> str:
    return str(name).replace("\\", "/").rpartition("/")[2].partition(".")[0] or str(name)


def _sides(table: FileTable, nodes: Nodes) -> tuple[tuple[Nodes, Nodes], tuple[Rejection, ...]]:
    """The nodes of the first column of an edge list and those of the second; others are of no kind that is known."""
    ends = [set(table.text[:, side].tolist()) for side in (0, 1)]
    both = sorted((ends[0] & ends[1]) & set(nodes.ids.tolist()))
    if both:
        raise ValueError(
            f"{table.name}: {both[0]!r} is in both columns, so its kind cannot be told ({len(both)} such nodes); give "
            "two tables, --nodes and --partners, or leave --bipartite out."
        )
    where = [np.array([name in side for name in nodes.ids.tolist()]) for side in ends]
    for side, there in zip(("first", "second"), where, strict=True):
        if not there.any():
            raise ValueError(
                f"{table.name}: no node of its {side} column has features; it begins with "
                f"{' '.join(table.text[0])!r:.60}, the nodes are like {str(nodes.ids[0])!r}."
            )
    lost = tuple(
        Rejection(table.name, None, "node", str(name), "", "in neither column", "left out", "its kind is not known")
        for name in nodes.ids[~(where[0] | where[1])]
    )
    parts = [replace(nodes, ids=nodes.ids[at], X=np.asarray(nodes.X)[at], rejections=()) for at in where]
    return (replace(parts[0], rejections=nodes.rejections), parts[1]), lost


def _links(table: FileTable, rows: Nodes, columns: Nodes) -> tuple[Matrix, list[Rejection]]:
    """Y, and what did not fit; either order of the two ends, a first row that names no node is a header."""
    at, to = ({name: i for i, name in enumerate(nodes.ids.tolist())} for nodes in (rows, columns))
    both = sorted(set(at) & set(to))
    if both:
        raise ValueError(f"{both[0]!r} is a node and a partner; two kinds of nodes need ids of their own.")
    weights = table.values[:, 0] if table.values.shape[1] else np.ones(len(table.text))
    Y, rejections = np.zeros((len(at), len(to))), []
    for i, (a, b) in enumerate(table.text.tolist()):
        a, b = (b, a) if a in to and b in at else (a, b)
        reason, action = "", "left out"
        if not np.isfinite(weights[i]) or weights[i] < 0:
            raise ValueError(f"{table.at(i)}, column weight: expected a number of at least 0, got {weights[i]:g}.")
        if a in at and b in to:
            if Y[at[a], to[b]]:
                reason, action = "duplicate", "counted once"
            elif weights[i] == 0:
                reason, action = "weight 0", "taken as no link"
            else:
                Y[at[a], to[b]] = 1.0
        elif {a, b} <= set(at) or {a, b} <= set(to):
            reason = "two nodes of one kind"
        elif i == 0 and a not in at and b not in to and not table.head:
            reason, action = "names no node", "taken for a header"
        else:
            reason = "unknown node"
        if reason:
            rejections.append(rejected(table, i, "edge", a, b, reason, action))
    if not Y.any():
        raise ValueError(
            f"{table.name}: none of its {len(table.text)} rows joins a node like {str(rows.ids[0])!r} and a partner "
            f"like {str(columns.ids[0])!r}; it begins with {' '.join(table.text[0])!r:.60}."
        )
    if Y.all():
        raise ValueError(
            f"{table.name}: every node is linked with every partner; there is nothing to learn or to find."
        )
    return Y, rejections


# ---------------------------------------------------------------------------------------------------- cross-validation


def cross_validate_across(options: Options, *, folds: int, seed: int, progress: Progress) -> Report:
    """Areas of pairs with a new row, a new column, and both, everything chosen anew in every fold."""
    start = perf_counter()
    progress(0, 1, "reading files")
    task = Across.of(options)
    n, m = task.Y.shape
    if min(n, m) < 2 * folds:
        raise ValueError(
            f"{min(n, m)} nodes of a kind are too few for {folds} folds; use --folds, at most half of them."
        )
    rng = np.random.default_rng(seed)
    rows, columns = (np.array_split(rng.permutation(size), folds) for size in (n, m))
    one, other = task.kinds
    settings = (f"a new {one}", f"a new {other}", "both new")
    found: dict[str, list[tuple[Any, Any]]] = {setting: [] for setting in settings}
    for k in range(folds):
        for s, setting in enumerate(settings):
            progress(3 * k + s, 3 * folds + 1, f"fold {k + 1} of {folds}, {setting}")
            i, j = (rows[k] if s != 1 else np.arange(0)), (columns[k] if s != 0 else np.arange(0))
            scored = _fold(task, i, j)
            if scored is not None:
                found[setting].append(scored)
    progress(3 * folds, 3 * folds + 1, "drawing the page")
    curves = {setting: Curves.mean(starmap(Curves.of, parts)) for setting, parts in found.items() if parts}
    table = _folds_table(found, folds)
    report = Report(
        f"Links between two kinds of nodes, {folds} folds",
        f"{n} nodes of the kind {one} and {m} of the kind {other} with {int(task.Y.sum())} known links.",
        (
            table,
            task.input_table(),
            Text("Curves", ("Means over the folds; the thin line is guessing.",)),
            *ranking_figures(curves, dict(zip(settings, ((OURS, "-"), (THEIRS, "-."), (MUTED, "--")), strict=True))),
        ),
        (
            "A fold of one kind, or of both, is new: the model is given none of its links. Kernels and alpha are "
            "chosen anew in every fold, by leaving out rows and columns. Nothing within a kind is scored.",
            "AUC-PR is to be read beside the fraction of pairs that are linked, which is what guessing reaches.",
        ),
        files={"curves.tsv": curves_tsv(curves), "rejected.tsv": task.rejected()},
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


def _fold(task: Across, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> tuple[Any, Any] | None:
    """Whether pairs with these new rows and columns are linked, and their scores; None where nothing can be learned."""
    i, j = (np.setdiff1d(np.arange(size), part) for size, part in zip(task.Y.shape, (rows, columns), strict=True))
    Y = task.Y[np.ix_(i, j)]
    asked = np.ix_(rows if len(rows) else i, columns if len(columns) else j)
    truth = task.Y[asked].ravel() > 0
    if not Y.any() or Y.all() or not truth.any() or truth.all():
        return None
    model = task.model.fit(task.X[i], task.Z[j], Y)
    scores = model.decision_function(*(part[at.ravel()] for part, at in zip((task.X, task.Z), asked, strict=True)))
    return truth, np.asarray(scores).ravel()


def _folds_table(found: dict[str, list[tuple[Any, Any]]], folds: int) -> Table:
    rows = []
    for setting, parts in found.items():
        if not parts:
            continue
        areas = 100 * np.array([areas_of(truth, scores) for truth, scores in parts])
        truth = np.concatenate([part for part, _ in parts])
        rows.append(
            {
                "pair with": setting,
                "AUC-ROC %": Spread.of(areas[:, 0], digits=1),
                "AUC-PR %": Spread.of(areas[:, 1], digits=1),
                "linked %": round(100 * float(truth.mean()), 2),
                "pairs": len(truth),
                "links": int(truth.sum()),
            }
        )
    title = f"Links that the model has not seen, mean ± deviation over {folds} folds"
    return Table(title, rows, ours=("AUC-ROC %",))
