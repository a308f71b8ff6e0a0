"""What was chosen, in tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iokr.apps.links.data import LinkData
from iokr.apps.links.methods import METHODS, FittedMethod, parts_of
from iokr.apps.links.settings import Settings
from iokr.apps.report import Table
from iokr.estimators.bipartite import BipartitePredictor
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.vectors import RBF

__all__ = ["chosen_across", "chosen_table", "describe", "kernel_words"]


def describe(network: LinkData, settings: Settings, methods: Sequence[str]) -> str:
    """The model in a sentence; two methods are a stack."""
    inputs = _inputs(network, settings)
    if network.across:
        return f"Ridge regression on all pairs across (`BipartitePredictor`): {inputs}."
    if len(methods) > 1:
        return (
            "Two models together, weighed by nodes left out (`LinkStack`): ridge regression on all pairs and Input "
            f"Output Kernel Regression; {inputs}."
        )
    if "pairs" in methods:
        return f"Ridge regression on all pairs of labelled nodes (`PairModel`): {inputs}."
    graph = f"diffusion kernel with time {settings.beta:g} on the known links, whose weights are divided by their mean"
    semi = "; the features of unlabelled nodes take part" if settings.unlabeled else ""
    return f"Input Output Kernel Regression, ridge: {inputs}, {graph}{semi}."


def _inputs(network: LinkData, settings: Settings) -> str:
    """The input kernel in words."""
    nodes = network.rows
    scaled = "scaled " if settings.scaled else ""
    if nodes.kernels is not None:
        count = len(nodes.kernels)
        return (
            "the given kernel" if count == 1 else f"{count} kernels with unit diagonal, combined by {settings.combine}"
        )
    if len(nodes.views) > 1:
        every = f"{settings.input_kernel} kernels on the {scaled}features of {len(nodes.views)} views"
        return f"{every}, combined by {settings.combine}"
    return f"{settings.input_kernel} kernel on {scaled}features"


# --------------------------------------------------------------------------------------------------------------- chosen


def chosen_table(network: LinkData, settings: Settings, fitted: FittedMethod) -> Table:
    """What was chosen, and on which nodes; for one kind of nodes."""
    rows: list[dict[str, Any]] = [{"what": "model", "value": METHODS[fitted.method], "": ""}]
    parts = {name: model for name, model, _ in parts_of(fitted.method, fitted.model)}
    shares = _shares(fitted)
    for name, search in fitted.searches.items():
        of = f"{METHODS[name]}, " if shares else ""
        if shares:
            idle = "" if name in parts else "not learned from all links: it would not change a score"
            rows.append({"what": f"{of}weight of a deviation of its scores", "value": shares[name], "": idle})
        if name in parts:
            rows += [{**row, "what": of + row["what"]} for row in _chosen(network, settings, name, search, parts[name])]
    by = {"iokr": "by leave-one-out", "pairs": "by folds of nodes"}.get(fitted.method, "by leaving out nodes")
    if fitted.n_sampled is None:
        return Table(f"Chosen {by}", rows)
    others = " and as many others" if settings.unlabeled else ""
    some = f"{fitted.n_sampled} of {len(network.labeled)} labelled nodes{others}"
    note = f"Chosen on {some}, then learned from all; `--all` searches on all of them."
    return Table(f"Chosen {by} on a sample", rows, note=note)


def _shares(fitted: FittedMethod) -> dict[str, float]:
    """Of a stack: what a deviation of each model's scores weighs."""
    if fitted.method != "stack":
        return {}
    weights = fitted.model.weights_ * fitted.model.lines_[:, 0]
    return dict(zip(fitted.searches, weights.tolist(), strict=True))


def _chosen(network: LinkData, settings: Settings, name: str, search: Any, fitted: Any) -> list[dict[str, Any]]:
    """What a search has chosen: numbers as numbers, and whether they are at an end of what was tried."""
    nodes = network.rows
    kernel = _input_kernel(name, fitted)
    names = list(nodes.kernels or {}) or [name for name, _ in nodes.views if len(nodes.views) > 1]
    rows: list[dict[str, Any]] = []

    def put(what: str, value: Any, note: str = "") -> None:
        rows.append({"what": what, "value": value, "": note})

    widths = [tried.gamma for tried in search.kernel] if isinstance(kernel, RBF) else []
    put("input kernel", kernel_words(kernel, names, settings.input_kernel), _end(_gamma(kernel), widths))
    if name == "pairs":
        put("alpha", search.alpha_, _end(search.alpha_, search.alphas))
        put("mix, weight of pairs that share a node", search.mix_, _end(search.mix_, search.mixes))
        measure = f"{search.scoring} over folds of nodes"
    else:
        path = search.scores_[search.best_index_[:-1]] if len(search.alphas) > 1 else [0.0]
        put("alpha", float(search.alpha_), _end(search.alpha_, search.alphas, search.alphas[int(np.argmax(path))]))
        if search.manifold is not None:
            tried = search.manifold_weights
            put("weight of unlabelled nodes", search.manifold_weight_, _end(search.manifold_weight_, tried))
        measure = f"leave-one-out {search.scoring}"
    scores = getattr(search, "scores_", None)
    if scores is not None:
        put(measure, float(np.max(scores)), "optimistic")
    return rows


def _input_kernel(name: str, fitted: Any) -> Any:
    return fitted.model_.kernel_ if name == "iokr" else fitted.kernel_


def _gamma(kernel: Any) -> float:
    return float(kernel.gamma_) if isinstance(kernel, RBF) else 0.0


def _end(value: float, tried: Sequence[float], best: float | None = None) -> str:
    """Whether a value, or that of the best score, is at an end of what was tried: more may lie beyond."""
    if not len(tried):
        return ""
    if len(tried) == 1:
        return "given"
    at = value if best is None else best
    if at not in (min(tried), max(tried)):
        return ""
    end = "the smallest tried" if at == min(tried) else "the largest tried"
    return end if at == value else f"best at {end}"


def kernel_words(kernel: Any, names: Sequence[str], single: str) -> str:
    """A fitted kernel: of one table by the word for it, of several by their names and, if it has them, weights."""
    if isinstance(kernel, RBF):
        return f"gaussian, gamma {kernel.gamma_:.4g}"
    parts = getattr(kernel, "kernels_", None)
    if parts is None:
        return names[0] if isinstance(kernel, Precomputed) and names else single
    found = []
    for name, part in zip(names, parts, strict=True):
        base = getattr(part, "base_", None)
        found.append(f"{name} (gaussian, gamma {base.gamma_:.4g})" if isinstance(base, RBF) else name)
    weights = getattr(kernel, "weights_", None)
    if weights is not None:
        return " + ".join(f"{weight:.3g} {name}" for weight, name in zip(weights, found, strict=True))
    return f"mean of {', '.join(found)}"


def chosen_across(network: LinkData, settings: Settings, model: BipartitePredictor, threshold: float) -> Table:
    """What was chosen, for two kinds of nodes."""
    rows: list[dict[str, Any]] = [{"what": "model", "value": "BipartitePredictor"}]
    kernels = model.kernel_, model.partner_kernel_
    for kind, kernel, nodes in zip(network.kinds, kernels, network.sides, strict=True):
        words = kernel_words(kernel, [name for name, _ in nodes.views], settings.input_kernel)
        rows.append({"what": f"kernel of {kind}", "value": words})
    rows += [{"what": "alpha", "value": float(model.alpha_)}, {"what": "threshold", "value": threshold}]
    return Table("Chosen by leaving out rows and columns", rows)
