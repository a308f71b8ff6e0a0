"""`iokr links predict`: the pairs most likely to be linked that are not known to be."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from iokr.cli.links.model import Options, Task
from iokr.kernels.vectors import RBF
from iokr.report import Figure, Network, Report, Table, Text, draw_network, layout, run_info, to_cytoscape, to_graphml
from iokr.report.progress import Progress

__all__ = ["predict_links"]

DRAWN = 150  # predicted links in the drawing; with more it shows nothing
SHOWN = 20  # links in the table


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
        (_first(found), task.input_table(), _chosen_table(task, model), *_drawing(task, found, seed)),
        (
            "A score is ⟨h(u), h(v)⟩: h places nodes by their features so that linked ones are close. Scores rank; "
            "they are no probabilities.",
            "The threshold is that of the largest F1 on leave-one-out scores between labelled nodes, and optimistic: "
            "`iokr links cv` tells how good the ranking is on links that the model has not seen.",
            "Pairs: both nodes labelled (all links between them were said to be known, so such a pair may be a link "
            "that was missed), one of them new, or both new.",
            options.in_words(),
        ),
        files={
            "edges.tsv": _edges_tsv(found),
            "network.graphml": to_graphml(network),
            "network.cyjs": to_cytoscape(network),
            "rejected.tsv": task.rejected(),
        },
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


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
    """The head of the list, that fits a narrow screen."""
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


def _chosen(value: float, tried: Any, best: float | None = None) -> str:
    """A number, and whether it, or that of the best score, is at an end of what was tried: more may lie beyond."""
    at = value if best is None else best
    end = "the smallest tried" if at == min(tried) else "the largest tried" if at == max(tried) else ""
    return f"{value:.4g}{', ' if end else ''}{'best at ' if end and at != value else ''}{end}"


def _chosen_table(task: Task, model: Any) -> Table:
    semi = model.manifold is not None
    best = model.alphas[int(np.argmax(model.scores_[model.best_index_[:-1]]))]
    rows = [
        {"what": "input kernel", "value": _kernel_words(task, model.kernel_)},
        {"what": "alpha", "value": _chosen(model.alpha_, model.alphas, best)},
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
