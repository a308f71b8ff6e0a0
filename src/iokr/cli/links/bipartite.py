"""`iokr links predict --partners` and `--bipartite`: two kinds of nodes; only pairs across are scored."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr.cli.links.across import Across
from iokr.cli.links.model import Options, rejected_tsv
from iokr.cli.links.page import live_parts
from iokr.cli.links.words import edges_tsv, live_links
from iokr.datasets.tables import split_name
from iokr.estimators.areas import areas_of
from iokr.estimators.bipartite import BipartitePredictor
from iokr.estimators.links.probability import fit_logistic
from iokr.kernels.vectors import RBF
from iokr.report import Network, Report, Table, run_info, to_cytoscape, to_graphml
from iokr.report.progress import Progress

__all__ = ["predict_across"]

Matrix = NDArray[np.float64]
_PARTS = 3  # into which rows, and columns, are cut where both are new


def predict_across(options: Options, partners: str | None, *, top: int, seed: int, progress: Progress) -> Report:
    """The best pairs of a node and a partner that are not known to be linked."""
    start = perf_counter()
    progress(0, 4, "reading files")
    task = Across.of(options, partners)
    progress(1, 4, "choosing parameters and learning")
    model = task.model.fit(task.X, task.Z, task.Y)
    progress(2, 4, "judging and ranking pairs")
    pairs, scores = (np.asarray(part) for part in model.predict_links(top=top))
    left_out = {leave: np.asarray(model.loo_decision_function(leave)) for leave in ("row", "column")}
    left_out["both"] = _both_left_out(model, task, seed)
    found = _rows(model, task, pairs, scores, left_out)
    progress(3, 4, "writing and drawing")
    Y, (one, other) = task.Y, task.kinds
    ids = np.concatenate([task.rows.ids, task.columns.ids])
    n, m = Y.shape
    known = csr_array(np.block([[np.zeros((n, n)), Y], [Y.T, np.zeros((m, m))]]))
    network = _network(task, found)
    ends = np.column_stack([pairs[:, 0], n + pairs[:, 1]]).astype(np.int64)
    table = live_links(found, safe=options.spreadsheet_safe)
    report = Report(
        "New links between two kinds of nodes",
        f"{n} nodes of the kind {one} and {m} of the kind {other} with {int(Y.sum())} known links; the {len(found)} "
        "best other pairs, every one of a node of either kind.",
        (
            *live_parts(ids, known, ((one, other), np.repeat([0, 1], [n, m])), table, ends, seed),
            _judged_table(task, left_out),
            task.input_table(),
            Table("Chosen by leaving out rows and columns", _chosen(task, model)),
        ),
        (
            "A score is k₁ᵀ C k₂, ridge regression on all pairs across; nothing within a kind is scored or drawn.",
            f"A new {one} is one all of whose links are left out, a new {other} likewise; both are exact, without "
            "a refit. Where both are new, thirds of either kind are left out. Probabilities: calibrated on new rows.",
            "A pair that is not in the edge list counts as not linked.",
        ),
        files={
            "edges.tsv": edges_tsv(found, options.cell),
            "network.graphml": to_graphml(network),
            "network.cyjs": to_cytoscape(network),
            "rejected.tsv": rejected_tsv(task.rejections, options.cell),
        },
    )
    files = [*options.paths(), *([] if partners is None else [split_name(partners)[0]])]
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=files))


def _both_left_out(model: BipartitePredictor, task: Across, seed: int) -> Matrix:
    """Scores of every pair by a model that knows neither its row nor its column; NaN where too little is left."""
    n, m = len(task.rows.ids), len(task.columns.ids)
    S = np.full((n, m), np.nan)
    rng = np.random.default_rng(seed)
    rows, columns = (np.array_split(rng.permutation(size), min(_PARTS, size)) for size in (n, m))
    alone = BipartitePredictor(model.row_model_.kernel.kernel, model.column_model_.kernel.kernel, alpha=model.alpha_)
    for one in rows:
        for other in columns:
            i, j = np.setdiff1d(np.arange(n), one), np.setdiff1d(np.arange(m), other)
            if len(i) and len(j) and task.Y[np.ix_(i, j)].any():
                fitted = alone.fit(task.X[i], task.Z[j], task.Y[np.ix_(i, j)])
                S[np.ix_(one, other)] = fitted.decision_function(task.X[one], task.Z[other])
    return S


def _rows(
    model: BipartitePredictor, task: Across, pairs: NDArray[np.int64], scores: Matrix, left_out: dict[str, Matrix]
) -> list[dict[str, Any]]:
    Y = task.Y
    a, b = fit_logistic(Y.ravel() > 0, left_out["row"].ravel())
    chance = 1 / (1 + np.exp(-np.clip(a * scores + b, -500, 500)))
    degrees = Y.sum(axis=1), Y.sum(axis=0)
    one, other = task.kinds
    kinds = np.array([["both new", f"new {one}"], [f"new {other}", "both known"]])
    known = (degrees[0] > 0).astype(int), (degrees[1] > 0).astype(int)
    return [
        {
            "rank": r + 1,
            "source": str(task.rows.ids[i]),
            "target": str(task.columns.ids[j]),
            "score": float(scores[r]),
            "probability": float(chance[r]),
            "pair": str(kinds[known[0][i], known[1][j]]),
            "known links of source": int(degrees[0][i]),
            "known links of target": int(degrees[1][j]),
            "above threshold": bool(scores[r] > model.threshold_),
        }
        for r, (i, j) in enumerate(pairs)
    ]


def _judged_table(task: Across, left_out: dict[str, Matrix]) -> Table:
    """How well links of a new row, of a new column, and of both are found."""
    one, other = task.kinds
    words = {"row": f"{one}, one at a time", "column": f"{other}, one at a time", "both": "both, by thirds"}
    rows = []
    for leave, S in left_out.items():
        seen = ~np.isnan(S)
        truth = task.Y[seen] > 0
        if truth.any() and not truth.all():
            roc, precision = areas_of(truth, S[seen])
            areas = {"AUC-ROC %": round(100 * roc, 1), "AUC-PR %": round(100 * precision, 1)}
            rows.append({"new": words[leave], **areas, "linked %": round(100 * float(truth.mean()), 2)})
    note = "Kernels and alpha were chosen by the first two; `iokr links cv` chooses them anew in every fold."
    return Table("Links that the model has not seen", rows, ours=("AUC-ROC %",), note=note)


def _chosen(task: Across, model: BipartitePredictor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"what": "model", "value": "BipartitePredictor"}]
    for kind, kernel in zip(task.kinds, (model.kernel_, model.partner_kernel_), strict=True):
        words = f"gaussian, gamma {kernel.gamma_:.4g}" if isinstance(kernel, RBF) else type(kernel).__name__.lower()
        found.append({"what": f"kernel of {kind}", "value": words})
    return [*found, {"what": "alpha", "value": float(model.alpha_)}, {"what": "threshold", "value": model.threshold_}]


def _network(task: Across, found: list[dict[str, Any]]) -> Network:
    sides = zip((task.rows, task.columns), task.kinds, strict=True)
    nodes = {str(name): {"kind": kind} for part, kind in sides for name in part.ids}
    links: list[tuple[str, str, dict[str, Any]]] = [
        (str(task.rows.ids[i]), str(task.columns.ids[j]), {"kind": "known"}) for i, j in np.argwhere(task.Y > 0)
    ]
    for row in found:
        values = {name: row[name] for name in ("score", "rank", "probability")}
        links.append((row["source"], row["target"], {"kind": "predicted", **values}))
    return Network(nodes, links)
