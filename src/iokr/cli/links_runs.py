"""What `iokr links cv` and `iokr links predict` do, each a function that returns a report."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from iokr.cli.links_model import Options, Task
from iokr.kernels.vectors import RBF
from iokr.metrics.curves import GRID, Curves
from iokr.model_selection import NodeKFold, cross_validate_links
from iokr.report import (
    MUTED,
    OURS,
    THEIRS,
    Figure,
    Network,
    Report,
    Spread,
    Table,
    Text,
    draw_network,
    layout,
    run_info,
    to_cytoscape,
    to_graphml,
)
from iokr.report.progress import Progress
from iokr.report.rankings import ranking_figures

__all__ = ["cross_validate", "predict_links"]

SETTINGS = {"known-known": "two known nodes", "known-new": "a known and a new node", "new-new": "two new nodes"}
STYLES = dict(zip(SETTINGS.values(), ((MUTED, "--"), (OURS, "-"), (THEIRS, "-.")), strict=True))
DRAWN = 150  # predicted links in the drawing; with more it shows nothing
SHOWN = 20  # links in the table


def cross_validate(options: Options, *, folds: int, seed: int, progress: Progress) -> Report:
    """AUC-ROC and AUC-PR on links that the model has not seen, by folds over the labelled nodes."""
    start = perf_counter()
    total = 2 * folds + 1
    progress(0, total, "reading files")
    task = Task.of(options)
    labeled = task.network.labeled
    if len(labeled) < 2 * folds:
        raise ValueError(
            f"{len(labeled)} labelled nodes are too few for {folds} folds; use --folds, at most half of them."
        )
    pairs: dict[str, list[tuple[Any, Any]]] = {setting: [] for setting in SETTINGS}

    def watch(fold: int, setting: str, truth: Any, scores: Any) -> None:
        pairs[setting].append((truth, scores))
        progress(2 * fold + 1 + (setting != "known-known"), total, f"fold {fold + 1} of {folds}")

    figures = cross_validate_links(
        task.model,
        task.X,
        task.graph,
        NodeKFold(folds, shuffle=True, random_state=seed),
        labeled=labeled,
        watch=watch,
    )
    progress(total - 1, total, "drawing the page")
    curves = {
        setting: Curves.mean(Curves.of(truth, scores) for truth, scores in found if truth.any() and not truth.all())
        for setting, found in pairs.items()
        if any(truth.any() and not truth.all() for truth, _ in found)
    }
    table = _cv_table(figures, folds)
    best = table.rows[1]
    report = Report(
        f"Links of a network, {folds} folds",
        f"{len(labeled)} nodes with {task.network.n_links} known links. For pairs of a known and a new node the "
        f"AUC-ROC is {best['AUC-ROC %']} %, the AUC-PR {best['AUC-PR %']} % where {best['linked %']} % are linked.",
        (
            table,
            task.input_table(),
            Text("Curves", ("Means over the folds, for the three kinds of pairs; the thin line is guessing.",)),
            *ranking_figures({SETTINGS[setting]: curve for setting, curve in curves.items()}, STYLES),
        ),
        (
            "A fold of the nodes is new: the model is given their features and none of their links. For pairs of two "
            "known nodes a fold of the pairs is hidden, that is, shown as not linked.",
            f"Parameters are chosen anew in every fold, by leave-one-out on its known nodes ({options.scoring}).",
            "AUC-PR is to be read beside the share of pairs that are linked, which is what guessing reaches. Early "
            "precision is the share of links among the first pairs, as many as there are links.",
            *([_TRANSDUCTIVE] if options.nodes else []),
            _model_note(options),
        ),
        files={"curves.tsv": _curves_tsv(curves), "rejected.tsv": task.rejected()},
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


def predict_links(options: Options, *, top: int, seed: int, progress: Progress) -> Report:
    """The best pairs that are not known to be linked."""
    start = perf_counter()
    progress(0, 4, "reading files")
    task = Task.of(options)
    progress(1, 4, "choosing parameters and learning")
    model = task.model.fit(task.X, task.graph, labeled=task.network.labeled)
    progress(2, 4, "ranking pairs")
    found = _ranked(task, model, top)
    progress(3, 4, "writing and drawing")
    network = _network(task, found)
    report = Report(
        "New links of a network",
        f"{len(task.ids)} nodes, {task.network.n_links} known links between {len(task.network.labeled)} of them; the "
        f"{len(found)} best other pairs, {sum(row['above threshold'] for row in found)} of them above the threshold "
        f"{model.threshold_:.3g}.",
        (
            _first(found),
            task.input_table(),
            _chosen_table(task, model),
            *_drawing(task, found, seed),
        ),
        (
            "A score is ⟨h(u), h(v)⟩: h places nodes by their features so that linked ones are close. Scores rank; "
            "they are no probabilities.",
            "The threshold is that of the largest F1 on leave-one-out scores between labelled nodes, and optimistic: "
            "`iokr links cv` tells how good the ranking is on links that the model has not seen.",
            "Pairs: both nodes labelled (all links between them were said to be known, so such a pair may be a link "
            "that was missed), one of them new, or both new.",
            _model_note(options),
        ),
        files={
            "edges.tsv": _edges_tsv(found),
            "network.graphml": to_graphml(network),
            "network.cyjs": to_cytoscape(network),
            "rejected.tsv": task.rejected(),
        },
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


_TRANSDUCTIVE = (
    "Features are scaled, missing ones filled in and the widths to choose from set once, with the features of all "
    "nodes, new ones among them, as `iokr links predict` does. No link takes part in that."
)


def _model_note(options: Options) -> str:
    """The model in a sentence."""
    if options.nodes:
        scaled = "scaled " if options.scale and options.input_kernel != "tanimoto" else ""
        compared = f"{options.input_kernel} kernel on {scaled}features"
    elif len(options.kernels) == 1:
        compared = "the given kernel"
    else:
        compared = f"{len(options.kernels)} kernels with unit diagonal, combined by {options.combine}"
    graph = f"diffusion kernel with time {options.beta:g} on the known links, whose weights are divided by their mean"
    semi = "; the features of unlabelled nodes take part" if options.unlabeled else ""
    return f"Input Output Kernel Regression, ridge: {compared}, {graph}{semi}."


# ---------------------------------------------------------------------------------------------------- cross-validation


def _cv_table(figures: Any, folds: int) -> Table:
    rows = []
    for setting, words in SETTINGS.items():
        part = figures[figures.setting == setting]

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


def _curves_tsv(curves: dict[str, Curves]) -> str:
    lines = ["setting\tcurve\tx\ty"]
    for setting, curve in curves.items():
        lines += [f"{setting}\troc\t{x:.4g}\t{y:.6g}" for x, y in zip(GRID, curve.found, strict=True)]
        lines += [f"{setting}\tprecision-recall\t{x:.4g}\t{y:.6g}" for x, y in zip(GRID, curve.precision, strict=True)]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------------------------- prediction


def _ranked(task: Task, model: Any, top: int) -> list[dict[str, Any]]:
    """Rows of the list of predicted links."""
    known = task.network.adjacency
    outside = task.network.n_links - known[task.network.labeled][:, task.network.labeled].nnz // 2
    pairs, scores = (np.asarray(a) for a in model.predict_links(top=top + outside))
    fresh = np.asarray(known[pairs[:, 0], pairs[:, 1]]).ravel() == 0
    labeled = np.isin(np.arange(len(task.ids)), task.network.labeled)
    kinds = np.array(["new–new", "labelled–new", "labelled–labelled"])[labeled[pairs].sum(axis=1)]
    return [
        {
            "rank": rank,
            "source": str(task.ids[i]),
            "target": str(task.ids[j]),
            "score": float(score),
            "pair": str(kind),
            "above threshold": bool(score > model.threshold_),
        }
        for rank, ((i, j), score, kind) in enumerate(
            zip(pairs[fresh][:top], scores[fresh][:top], kinds[fresh][:top], strict=True), start=1
        )
    ]


def _first(found: list[dict[str, Any]]) -> Table:
    """The head of the list, narrow enough for a telephone."""
    rows = [{"rank": r["rank"], "link": f"{r['source']} – {r['target']}", "score": r["score"]} for r in found[:SHOWN]]
    note = "The whole list is in `edges.tsv`, with the kind of each pair."
    return Table(f"The first {len(rows)} of {len(found)} predicted links", rows, note=note, ours=("score",))


def _edges_tsv(found: list[dict[str, Any]]) -> str:
    lines = ["rank\tsource\ttarget\tscore\tpair\tabove_threshold"]
    for row in found:
        above = "yes" if row["above threshold"] else "no"
        lines.append("\t".join([*(str(row[name]) for name in ("rank", "source", "target", "score", "pair")), above]))
    return "\n".join(lines) + "\n"


def _links(task: Task) -> list[tuple[int, int, float]]:
    """Known links (i, j, weight), i < j."""
    known = task.network.adjacency.tocoo()
    return [(int(i), int(j), float(w)) for i, j, w in zip(known.row, known.col, known.data, strict=True) if i < j]


def _network(task: Task, found: list[dict[str, Any]]) -> Network:
    """Known and predicted links."""
    labeled = set(task.network.labeled.tolist())
    nodes = {str(name): {"labeled": i in labeled} for i, name in enumerate(task.ids)}
    links: list[tuple[str, str, dict[str, Any]]] = [
        (str(task.ids[i]), str(task.ids[j]), {"kind": "known", "weight": weight}) for i, j, weight in _links(task)
    ]
    links += [(r["source"], r["target"], {"kind": "predicted", "score": r["score"], "rank": r["rank"]}) for r in found]
    return Network(nodes, links)


def _kernel_words(task: Task, kernel: Any) -> str:
    """The input kernel, given ones by their names."""
    names = list(task.network.nodes.kernels or {})
    if isinstance(kernel, RBF):
        return f"RBF, gamma {_chosen(kernel.gamma_, [tried.gamma for tried in task.model.kernel])}"
    if not names:
        return str(kernel)
    weights = getattr(kernel, "weights_", None)
    if weights is not None:
        return " + ".join(f"{weight:.3g} {name}" for weight, name in zip(weights, names, strict=True))
    return names[0] if len(names) == 1 else f"mean of {', '.join(names)}"


def _chosen(value: float, tried: Any) -> str:
    """A number, and whether it stands at an end of what was tried, so that the best may lie beyond."""
    end = ", the smallest tried" if value == min(tried) else ", the largest tried" if value == max(tried) else ""
    return f"{value:.4g}{end}"


def _chosen_table(task: Task, model: Any) -> Table:
    semi = model.manifold is not None
    rows = [
        {"what": "input kernel", "value": _kernel_words(task, model.kernel_)},
        {"what": "alpha", "value": _chosen(model.alpha_, model.alphas)},
        *([{"what": "weight of unlabelled nodes", "value": _chosen(model.strength_, model.strengths)}] if semi else []),
        {"what": f"leave-one-out {model.scoring}, optimistic", "value": f"{np.max(model.scores_):.3f}"},
        {"what": "threshold", "value": f"{model.threshold_:.4g}"},
    ]
    return Table("Chosen by leave-one-out", rows)


def _drawing(task: Task, found: list[dict[str, Any]], seed: int) -> tuple[Text, Figure]:
    """The best predicted links, with the known ones between their nodes."""
    at = {str(name): i for i, name in enumerate(task.ids)}
    predicted = np.array([(at[row["source"]], at[row["target"]]) for row in found[:DRAWN]], dtype=np.int64)
    used, ends = np.unique(predicted, return_inverse=True)
    predicted = ends.reshape(-1, 2)
    known = np.argwhere(np.triu(task.network.adjacency[used][:, used].toarray()) > 0)
    labeled = np.isin(used, task.network.labeled)
    some = bool(labeled.any() and not labeled.all())
    places = layout(len(used), np.concatenate([known, predicted]), seed=seed)
    words = "The nodes of the best predicted links, and the known links between them. Linked nodes are drawn close."
    return (
        Text("Where the predicted links are", (words,)),
        draw_network(
            places,
            {"plain": known, "predicted": predicted},
            names={"plain": "known", "predicted": "predicted"} | ({"stressed": "labelled"} if some else {}),
            stressed=labeled if some else None,
            caption=f"{len(predicted)} of {len(found)} predicted links, {len(used)} of {len(task.ids)} nodes, "
            f"{len(known)} of {task.network.n_links} known links.",
            size=(7.2, 7.4),
        ),
    )
