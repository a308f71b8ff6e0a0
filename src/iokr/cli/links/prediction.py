"""`iokr links predict`: the pairs most likely to be linked that are not known to be."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.cli.links.clock import Clock
from iokr.cli.links.comparison import FOLDS, Judged, compare, compared_table
from iokr.cli.links.explanation import explain, shared_neighbours, similarity
from iokr.cli.links.methods import CHOOSE, COMPARED, LEARN, Scored, fit_method, sample_size, searches
from iokr.cli.links.model import Options, Task
from iokr.cli.links.page import live_parts, precision_parts
from iokr.cli.links.words import chosen_table, edges_tsv, live_links
from iokr.datasets.tables import read_table
from iokr.estimators.links.ranking import best_pairs, f1_threshold
from iokr.report import Network, Report, run_info, to_cytoscape, to_graphml
from iokr.report.progress import Progress

__all__ = ["predict_links"]

READ, COMPARE, RANK, WRITE = "reading files", "comparing models", "ranking pairs", "writing and drawing"


def predict_links(options: Options, *, top: int, seed: int, progress: Progress) -> Report:
    """The best pairs that are not known to be linked."""
    start = perf_counter()
    progress(0, 100, READ)
    task = Task.of(options)
    lists = _lists(task)
    clock = Clock(progress, work(task))
    judged, n_judged = compare(task, clock, COMPARE, seed)
    method = judged[0].method if judged else next(iter(searches(task)))
    scored = fit_method(task, method, clock, seed)
    clock.at(RANK)
    pairs, scores = ranked(task, scored, lists, top)
    clock.at(WRITE)
    found, threshold = rows_of(task, scored, judged, pairs, scores)
    network = _network(task, found)
    table = live_links(found, explain(task, scored, pairs), safe=options.spreadsheet_safe)
    report = Report(
        "New links of a network",
        f"{len(task.ids)} nodes, {task.network.n_learned} known links between {len(task.network.labeled)} of them; the "
        f"{len(found)} best other pairs{_of_whom(options)}, {sum(row['above threshold'] for row in found)} of them "
        f"above the threshold {threshold:.3g}.",
        (
            *live_parts(task.ids, task.network.adjacency, _kinds(task), table, pairs, seed),
            *precision_parts(judged, found),
            *([compared_table(task, judged, n_judged)] if judged else []),
            task.input_table(),
            chosen_table(task, scored),
        ),
        (*_notes(judged, method), *task.notes(), options.in_words(method)),
        files={
            "edges.tsv": edges_tsv(found, options.cell),
            "network.graphml": to_graphml(network),
            "network.cyjs": to_cytoscape(network),
            "rejected.tsv": task.rejected(),
        },
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


def _kinds(task: Task) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Nodes whose links are known, and the others."""
    return ("labelled", "new"), np.where(np.isin(np.arange(len(task.ids)), task.network.labeled), 0, 1)


def work(task: Task) -> dict[str, float]:
    """The parts of the command, with their flops."""
    N, n = len(task.ids), len(task.network.labeled)
    asked = [method for method in ("iokr", "pairs") if task.options.method in (method, "auto", "stack")]
    sample = sample_size(task)
    learned = sum({"iokr": 8.0, "pairs": 30.0}[method] for method in asked) * float(n) ** 3 if sample else 0.0
    return {
        COMPARE: 1.3 * FOLDS * sum(_search(task, method, 0.8 * min(n, COMPARED)) for method in asked),
        CHOOSE: sum(_search(task, method, sample or n) for method in asked),
        LEARN: learned,
        RANK: 2.0 * N * N * n,
        WRITE: 2e9 + 1e6 * N,
    }


def _search(task: Task, method: str, n: float) -> float:
    """Flops of a search on n labelled nodes: eigenvectors, which are slower per flop, products, and sorted pairs."""
    kernels, alphas = len(task.model.kernel), len(task.model.alphas)
    if method == "pairs":
        model = searches(replace(task, options=replace(task.options, method="pairs")))["pairs"].model
        grid, n = float(len(model.mixes) * len(model.alphas)), (1 - 1 / float(model.cv)) * n
        return float(kernels * model.cv) * (35 * n**3 + grid * (2.5 * n**3 + 1000 * n**2))
    if task.options.unlabeled:  # one reduction for every strength and alpha
        N = n + min(len(task.ids) - len(task.network.labeled), max(n, COMPARED))
        every = len(task.model.strengths or (0.0,)) * alphas * (2 * N * n**2 + 6 * n**3 + 1000 * n**2)
        return kernels * (15 * N**3 + every)
    return kernels * (30 * n**3 + alphas * (3 * n**3 + 1000 * n**2))


def _lists(task: Task) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Node numbers of the two lists between which pairs are asked for; None is all nodes."""
    options, everyone = task.options, np.arange(len(task.ids))
    if options.partners_of:
        return _numbers(task, list(options.partners_of), "--for"), everyone
    if options.between:
        named = [read_table(name, names=frozenset({"id", "ids", "node", "nodes", "name"})) for name in options.between]
        one, other = (_numbers(task, table.text[:, 0].tolist(), table.name) for table in named)
        return one, other
    return None


def _numbers(task: Task, names: list[str], where: str) -> NDArray[np.int64]:
    at = {str(name): i for i, name in enumerate(task.ids.tolist())}
    strangers = [name for name in names if name not in at]
    if strangers:
        lower = strangers[0].lower()
        near = [name for name in at if lower in name.lower() or name.lower() in lower][:3]
        like = f"; did you mean {', '.join(map(repr, near))}?" if near else f"; the nodes are like {next(iter(at))!r}."
        raise ValueError(f"{where}: there is no node {strangers[0]!r:.60}{like}")
    return np.array(list(dict.fromkeys(at[name] for name in names)), dtype=np.int64)


def _of_whom(options: Options) -> str:
    if options.partners_of:
        return f" with {', '.join(options.partners_of[:3])}{' …' if len(options.partners_of) > 3 else ''}"
    return " between the two lists" if options.between else ""


def ranked(
    task: Task, scored: Scored, lists: tuple[NDArray[np.int64], NDArray[np.int64]] | None, top: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The best pairs that are not known to be linked, smaller number first, and their scores."""
    known = task.network.adjacency.tocsr()
    if lists is None:
        links = np.column_stack(known.nonzero())
        links = links[links[:, 0] < links[:, 1]]
        pairs, scores = best_pairs(scored.A, scored.B, top=top, known=links, one_list=True)
        return pairs.astype(np.int64), scores
    one, other = lists
    at, to = (np.full(len(task.ids), -1) for _ in range(2))
    at[one], to[other] = np.arange(len(one)), np.arange(len(other))
    links = np.column_stack(known[one][:, other].nonzero())
    both = one[to[one] >= 0]
    own = np.column_stack([at[both], to[both]])  # a node and itself
    a, b = np.meshgrid(both[at[other[to[both]]] >= 0], both, indexing="ij")
    twice = np.column_stack([at[a.ravel()], to[b.ravel()]])[(at[b.ravel()] < at[a.ravel()])]
    left_out = np.concatenate([links, own, twice]).astype(np.int64)
    pairs, scores = best_pairs(scored.A[one], scored.B[other], top=top, known=left_out)
    if not len(pairs):
        raise ValueError("Every pair that was asked for is known to be linked, or is a node and itself.")
    return np.sort(np.column_stack([one[pairs[:, 0]], other[pairs[:, 1]]]), axis=1), scores


def rows_of(
    task: Task, scored: Scored, judged: list[Judged], pairs: NDArray[np.int64], scores: NDArray[np.float64]
) -> tuple[list[dict[str, Any]], float]:
    """Rows of the list of predicted links, and the threshold."""
    labeled = np.isin(np.arange(len(task.ids)), task.network.labeled)
    kinds = np.array(["new–new", "labelled–new", "labelled–labelled"])[labeled[pairs].sum(axis=1)]
    columns: dict[str, Any] = {}
    if judged:
        size = scored.size(task.network.labeled)
        best = judged[0]
        threshold = size * best.threshold
        columns["probability"] = best.probability(scores / size)
        columns["expected precision"] = best.precision(scores / size)
    else:
        threshold = _threshold(task, scored)
    alike, shared = similarity(task, scored, pairs), shared_neighbours(task, pairs)
    ids = task.ids
    rows = [
        {
            "rank": r + 1,
            "source": str(ids[i]),
            "target": str(ids[j]),
            "score": float(scores[r]),
            **{name: float(values[r]) for name, values in columns.items()},
            "pair": str(kinds[r]),
            "shared partners": int(shared[r]),
            "similarity": float(alike[r]),
            "above threshold": bool(scores[r] > threshold),
        }
        for r, (i, j) in enumerate(pairs)
    ]
    return rows, threshold


def _threshold(task: Task, scored: Scored) -> float:
    """Without folds: that of the largest F1 on the pairs that were learned from, which is optimistic."""
    known = task.network.labeled
    a, b = np.triu_indices(len(known), k=1)
    linked = task.network.adjacency[known][:, known].toarray()[a, b] != 0
    return f1_threshold(linked, scored.scores(np.column_stack([known[a], known[b]])))


def _notes(judged: list[Judged], method: str) -> tuple[str, ...]:
    score = {
        "iokr": "A score is ⟨h(u), h(v)⟩: h places nodes by their features so that linked ones are close. Scores rank; "
        "they are no probabilities.",
        "pairs": "A score is a sum over training pairs, each weighed by how alike it is to the pair (`PairModel`). "
        "Scores rank; they are no probabilities.",
        "stack": "A score is the sum of those of two models, `LinkPredictor` and `PairModel`, each with the weight "
        "that nodes left out give it (`LinkStack`). Scores rank; they are no probabilities.",
    }[method]
    folds = (
        f"Probability, expected precision and threshold come from {FOLDS} folds of nodes: pairs with a new node, "
        "scored by models that never saw its links. The expected precision is the fraction of links among those that "
        "scored at least as high; the threshold that of the largest F1."
    )
    none = "There are too few links for folds of nodes, so no probability is told, and the threshold is optimistic."
    return (
        score,
        folds if judged else none,
        "Pairs: both nodes labelled (all links between them were said to be known, so such a pair may be a link "
        "that was missed), one of them new, or both new.",
        "What speaks for a link: the largest terms of its score, over the training nodes most like either end. Others "
        "may speak against it; shares need not add up to 100 %.",
    )


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
    told = ("score", "rank", "probability")
    for row in found:
        values = {name: row[name] for name in told if name in row}
        links.append((row["source"], row["target"], {"kind": "predicted", **values}))
    return Network(nodes, links)
