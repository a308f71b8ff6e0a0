"""`iokr links predict --partners`: two kinds of nodes, such as drugs and targets; only pairs across are scored."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr.cli.links.defaults import ALPHAS, WIDTHS
from iokr.cli.links.model import Options, Scaling, rejected_tsv
from iokr.cli.links.page import live_parts
from iokr.cli.links.words import edges_tsv, live_links
from iokr.datasets import Nodes, Rejection, read_nodes
from iokr.datasets.node_files import rejected
from iokr.datasets.tables import read_table, split_name
from iokr.estimators.areas import areas_of
from iokr.estimators.bipartite import BipartitePredictor
from iokr.estimators.links.probability import fit_logistic
from iokr.kernels.base import Kernel
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF, Cosine, Linear
from iokr.report import Network, Report, Table, run_info, to_cytoscape, to_graphml
from iokr.report.progress import Progress

__all__ = ["predict_across"]

Matrix = NDArray[np.float64]


def predict_across(options: Options, partners: str, *, top: int, seed: int, progress: Progress) -> Report:
    """The best pairs of a node and a partner that are not known to be linked."""
    start = perf_counter()
    progress(0, 4, "reading files")
    rows, columns = (read_nodes(str(name), missing=options.missing) for name in (options.nodes, partners))
    Y, rejections = _read_links(options.edges, rows, columns)
    progress(1, 4, "choosing parameters and learning")
    (X, kernels), (Z, others) = (_inputs(options, nodes) for nodes in (rows, columns))
    model = BipartitePredictor(
        kernels,
        others,
        alpha=options.alphas or ALPHAS[::2],
        scoring=None if options.scoring == "roc_auc" else options.scoring,
    ).fit(X, Z, Y)
    progress(2, 4, "ranking pairs")
    pairs, scores = (np.asarray(part) for part in model.predict_links(top=top))
    left_out = {leave: np.asarray(model.loo_decision_function(leave)) for leave in ("row", "column")}
    found = _rows(model, rows, columns, Y, pairs, scores, left_out)
    progress(3, 4, "writing and drawing")
    ids = np.concatenate([rows.ids, columns.ids])
    n, m = Y.shape
    known = csr_array(np.block([[np.zeros((n, n)), Y], [Y.T, np.zeros((m, m))]]))
    kinds = ("rows: " + _stem(options.nodes), "columns: " + _stem(partners)), np.repeat([0, 1], [n, m])
    network = _network(rows, columns, Y, found)
    ends = np.column_stack([pairs[:, 0], n + pairs[:, 1]]).astype(np.int64)
    table = live_links(found, safe=options.spreadsheet_safe)
    report = Report(
        "New links between two kinds of nodes",
        f"{n} nodes and {m} partners with {int(Y.sum())} known links; the {len(found)} best other pairs, every one "
        "of a node and a partner.",
        (
            *live_parts(ids, known, kinds, table, ends, seed),
            _judged_table(Y, left_out),
            _input_table(rows, columns, Y, rejections),
            Table("Chosen by leaving out rows and columns", _chosen(model)),
        ),
        (
            "A score is k₁ᵀ C k₂, ridge regression on all pairs across; nothing within a kind is scored or drawn.",
            "A new row is a node all of whose links are left out, a new column a partner all of whose are; both are "
            "exact, without a refit. The probability is calibrated on rows left out.",
            "A pair that is not in the edge list counts as not linked.",
        ),
        files={
            "edges.tsv": edges_tsv(found, options.cell),
            "network.graphml": to_graphml(network),
            "network.cyjs": to_cytoscape(network),
            "rejected.tsv": rejected_tsv(rejections, options.cell),
        },
    )
    files = [*options.paths(), split_name(partners)[0]]
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=files))


def _stem(name: str | None) -> str:
    return str(name).replace("\\", "/").rpartition("/")[2].partition(".")[0]


def _read_links(edges: str, rows: Nodes, columns: Nodes) -> tuple[Matrix, tuple[Rejection, ...]]:
    """Y, and what did not fit; either order of the two ends, a first row that names no node is a header."""
    table = read_table(edges, 2)
    at, to = ({name: i for i, name in enumerate(nodes.ids.tolist())} for nodes in (rows, columns))
    both = sorted(set(at) & set(to))
    if both:
        raise ValueError(f"{both[0]!r} is a node and a partner; two kinds of nodes need ids of their own.")
    Y = np.zeros((len(at), len(to)))
    rejections = [*rows.rejections, *columns.rejections]
    for i, (a, b) in enumerate(table.text.tolist()):
        a, b = (b, a) if a in to and b in at else (a, b)
        if a in at and b in to:
            if Y[at[a], to[b]]:
                rejections.append(rejected(table, i, "edge", a, b, "duplicate", "counted once"))
            Y[at[a], to[b]] = 1.0
        elif {a, b} <= set(at) or {a, b} <= set(to):
            rejections.append(rejected(table, i, "edge", a, b, "two nodes of one kind", "left out"))
        elif i == 0 and a not in at and b not in to:
            rejections.append(rejected(table, i, "edge", a, b, "names no node", "taken for a header"))
        else:
            rejections.append(rejected(table, i, "edge", a, b, "unknown node", "left out"))
    if not Y.any():
        raise ValueError(
            f"{table.name}: none of its {len(table.text)} rows joins a node like {str(rows.ids[0])!r} and a partner "
            f"like {str(columns.ids[0])!r}; it begins with {' '.join(table.text[0])!r:.60}."
        )
    return Y, tuple(rejections)


def _inputs(options: Options, nodes: Nodes) -> tuple[Matrix, list[Kernel]]:
    """Features of one kind as the kernels take them, and the kernels to choose from."""
    X = np.asarray(nodes.X)
    if options.input_kernel == "tanimoto":
        return X, [Tanimoto()]
    X = Scaling.of(X)(X) if options.scale else X
    if options.input_kernel == "gaussian":
        gamma = float(RBF().fit(X).gamma_)
        return X, [RBF(gamma * width) for width in WIDTHS]
    if options.input_kernel == "cosine":
        return X, [Cosine()]
    return X / np.sqrt((X**2).sum(axis=1).mean()), [Linear()]


def _rows(
    model: BipartitePredictor,
    rows: Nodes,
    columns: Nodes,
    Y: Matrix,
    pairs: NDArray[np.int64],
    scores: Matrix,
    left_out: dict[str, Matrix],
) -> list[dict[str, Any]]:
    a, b = fit_logistic(Y.ravel() > 0, left_out["row"].ravel())
    chance = 1 / (1 + np.exp(-np.clip(a * scores + b, -500, 500)))
    degrees = Y.sum(axis=1), Y.sum(axis=0)
    return [
        {
            "rank": r + 1,
            "source": str(rows.ids[i]),
            "target": str(columns.ids[j]),
            "score": float(scores[r]),
            "probability": float(chance[r]),
            "known links of source": int(degrees[0][i]),
            "known links of target": int(degrees[1][j]),
            "above threshold": bool(scores[r] > model.threshold_),
        }
        for r, (i, j) in enumerate(pairs)
    ]


def _judged_table(Y: Matrix, left_out: dict[str, Matrix]) -> Table:
    """How well links of a new row, and of a new column, are found."""
    rows = []
    for leave, S in left_out.items():
        roc, precision = areas_of(Y.ravel() > 0, S.ravel())
        rows.append(
            {
                "new": f"{leave}s, one at a time",
                "AUC-ROC %": round(100 * roc, 1),
                "AUC-PR %": round(100 * precision, 1),
                "linked %": round(100 * float(Y.mean()), 2),
            }
        )
    return Table(
        "Links that the model has not seen", rows, ours=("AUC-ROC %",), note="Parameters were chosen by these."
    )


def _input_table(rows: Nodes, columns: Nodes, Y: Matrix, rejections: tuple[Rejection, ...]) -> Table:
    cells: list[dict[str, Any]] = [
        {"what": "nodes, rows", "count": len(rows.ids), "": f"{len(rows.columns)} features"},
        {"what": "partners, columns", "count": len(columns.ids), "": f"{len(columns.columns)} features"},
        {"what": "known links", "count": int(Y.sum()), "": ""},
    ]
    reasons = sorted({(f"{r.what}: {r.reason}", r.action) for r in rejections})
    for what, action in reasons:
        count = sum((f"{r.what}: {r.reason}", r.action) == (what, action) for r in rejections)
        cells.append({"what": what, "count": count, "": action})
    note = "Every row that did not fit is listed in `rejected.tsv`." if rejections else ""
    return Table("Input", cells, note=note)


def _chosen(model: BipartitePredictor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"what": "model", "value": "BipartitePredictor"}]
    for what, kernel in (("kernel of nodes", model.kernel_), ("kernel of partners", model.partner_kernel_)):
        words = f"gaussian, gamma {kernel.gamma_:.4g}" if isinstance(kernel, RBF) else type(kernel).__name__.lower()
        found.append({"what": what, "value": words})
    return [*found, {"what": "alpha", "value": float(model.alpha_)}, {"what": "threshold", "value": model.threshold_}]


def _network(rows: Nodes, columns: Nodes, Y: Matrix, found: list[dict[str, Any]]) -> Network:
    nodes = {str(name): {"kind": kind} for part, kind in ((rows, "node"), (columns, "partner")) for name in part.ids}
    links: list[tuple[str, str, dict[str, Any]]] = [
        (str(rows.ids[i]), str(columns.ids[j]), {"kind": "known"}) for i, j in np.argwhere(Y > 0)
    ]
    for row in found:
        values = {name: row[name] for name in ("score", "rank", "probability")}
        links.append((row["source"], row["target"], {"kind": "predicted", **values}))
    return Network(nodes, links)
