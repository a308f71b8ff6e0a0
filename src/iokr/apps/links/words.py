"""What was chosen in words and numbers, and the list of links as a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr.apps.links.methods import METHODS, Learned
from iokr.apps.report import LiveTable, Network, Table, to_cytoscape, to_graphml
from iokr.apps.report.tables import tab_separated
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.vectors import RBF

if TYPE_CHECKING:
    from iokr.apps.links.model import Task

__all__ = ["chosen_table", "edges_tsv", "link_files", "live_links", "views_in_words"]


def live_links(found: list[dict[str, Any]], details: Any = (), *, safe: bool = False) -> LiveTable:
    """The list, to work with."""
    note = "The whole list is in `edges.tsv`."
    ours = ("probability",) if found and "probability" in found[0] else ("score",)
    table = Table("predicted links", found, note=note, ours=ours)
    return LiveTable(table, details, names=("source", "target"), file="edges.tsv", safe=safe)


def edges_tsv(found: list[dict[str, Any]], cell: Callable[[Any], str] = str) -> str:
    """The whole list; `cell` writes a value."""
    head = [name.replace(" ", "_") for name in found[0]]
    return tab_separated(head, ([_written(value, cell) for value in row.values()] for row in found))


def link_files(found: list[dict[str, Any]], network: Network, cell: Callable[[Any], str]) -> dict[str, str]:
    """The list, and the network with it."""
    return {
        "edges.tsv": edges_tsv(found, cell),
        "network.graphml": to_graphml(network),
        "network.cyjs": to_cytoscape(network),
    }


def _written(value: Any, cell: Callable[[Any], str]) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else cell(value)


def _kernel_words(task: Task, kernel: Any) -> tuple[Any, str]:
    """The input kernel, given ones by their names, and a note."""
    views = task.network.nodes.views
    names = list(task.network.nodes.kernels or {}) or [name for name, _ in views if len(views) > 1]
    if isinstance(kernel, RBF):
        value, note = _chosen(float(kernel.gamma_), [tried.gamma for tried in task.model.kernel])
        return f"gaussian, gamma {value:.4g}", note
    return views_in_words(kernel, names, task.options.input_kernel), ""


def views_in_words(kernel: Any, names: list[str], single: str) -> str:
    """A fitted kernel: of one table by the word for it, of several by their names and, if it has them, weights."""
    if isinstance(kernel, RBF):
        return f"gaussian, gamma {kernel.gamma_:.4g}"
    parts = getattr(kernel, "kernels_", None)
    if parts is None:
        return names[0] if isinstance(kernel, Precomputed) and names else single
    bases = [getattr(part, "base_", None) for part in parts]
    told = [
        f"{name} (gaussian, gamma {base.gamma_:.4g})" if isinstance(base, RBF) else name
        for name, base in zip(names, bases, strict=True)
    ]
    weights = getattr(kernel, "weights_", None)
    if weights is not None:
        return " + ".join(f"{weight:.3g} {name}" for weight, name in zip(weights, told, strict=True))
    return f"mean of {', '.join(told)}"


def _chosen(value: float, tried: Any, best: float | None = None) -> tuple[float, str]:
    """A number, and whether it, or that of the best score, is at an end of what was tried: more may lie beyond."""
    at = value if best is None else best
    if len(tried) < 2:
        return value, "given"
    end = "the smallest tried" if at == min(tried) else "the largest tried" if at == max(tried) else ""
    return value, f"{'best at ' if end and at != value else ''}{end}"


def chosen_table(task: Task, learned: Learned) -> Table:
    """What was chosen, and on which nodes."""
    rows: list[dict[str, Any]] = [{"what": "model", "value": METHODS[learned.method], "": ""}]
    for method, search in learned.searches.items():
        of = f"{METHODS[method]}, " if learned.shares else ""
        if learned.shares:
            share = learned.shares[method]
            idle = "" if method in learned.used else "not learned from all links: it would not change a score"
            rows.append({"what": f"{of}weight of a deviation of its scores", "value": share, "": idle})
        if method in learned.used:
            kernel = _fitted_kernel(learned.parts[method][0])
            rows += [{**row, "what": of + row["what"]} for row in _chosen_rows(task, search, kernel)]
    by = {"iokr": "by leave-one-out", "pairs": "by folds of nodes"}.get(learned.method, "by leaving out nodes")
    if learned.sampled is None:
        return Table(f"Chosen {by}", rows)
    n = len(task.network.labeled)
    others = " and as many others" if task.options.unlabeled else ""
    some = f"{learned.sampled} of {n} labelled nodes{others}"
    note = f"Chosen on {some}, then learned from all; `--all` searches on all of them."
    return Table(f"Chosen {by} on a sample", rows, note=note)


def _fitted_kernel(model: Any) -> Any:
    """The input kernel of a fitted model."""
    return model.kernel_ if hasattr(model, "kernel_") else model.model_.kernel_


def _chosen_rows(task: Task, model: Any, kernel: Any) -> list[dict[str, Any]]:
    """Numbers as numbers, words beside them."""
    kernel_value, kernel_note = _kernel_words(task, kernel)
    rows: list[dict[str, Any]] = [{"what": "input kernel", "value": kernel_value, "": kernel_note}]

    def put(what: str, value: tuple[float, str]) -> None:
        rows.append({"what": what, "value": value[0], "": value[1]})

    scores = getattr(model, "scores_", None)
    if hasattr(model, "mix_"):
        put("alpha", _chosen(model.alpha_, model.alphas))
        put("mix, weight of pairs that share a node", _chosen(model.mix_, model.mixes))
        what = f"{model.scoring} over folds of nodes"
    else:
        several = len(model.alphas) > 1
        best = model.alphas[int(np.argmax(model.scores_[model.best_index_[:-1]]))] if several else None
        put("alpha", _chosen(float(model.alpha_), model.alphas, best))
        if model.manifold is not None:
            put("weight of unlabelled nodes", _chosen(model.manifold_weight_, model.manifold_weights))
        what = f"leave-one-out {model.scoring}"
    if scores is not None:
        rows.append({"what": what, "value": float(np.max(scores)), "": "optimistic"})
    return rows
