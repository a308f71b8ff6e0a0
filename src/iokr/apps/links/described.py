"""The model and its parameters, in a sentence and a table."""

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
        return f"Ridge regression on all pairs of the two kinds (`BipartitePredictor`); {inputs}."
    if len(methods) > 1:
        return (
            "Weighted sum (`LinkStack`) of ridge regression on all pairs (`PairLinkPredictor`) and input output kernel "
            f"regression (`LinkPredictor`); {inputs}."
        )
    if "pairs" in methods:
        return f"Ridge regression on all pairs of labelled nodes (`PairLinkPredictor`); {inputs}."
    graph = f"diffusion kernel with time {settings.beta:g} on the known links, whose weights are divided by their mean"
    semi = "; semi-supervised" if settings.unlabeled else ""
    return f"Input output kernel regression, ridge (`LinkPredictor`); {inputs}; {graph}{semi}."


def _inputs(network: LinkData, settings: Settings) -> str:
    """The input kernels, as a phrase."""
    nodes = network.rows
    scaled = "scaled " if settings.scaled else ""
    if nodes.kernels is not None:
        if len(nodes.kernels) == 1:
            return "given kernel matrix"
        return f"{len(nodes.kernels)} kernel matrices with unit diagonal, combined by {settings.combine}"
    if len(nodes.views) > 1:
        every = f"{settings.input_kernel} kernels on the {scaled}features of {len(nodes.views)} views"
        return f"{every}, combined by {settings.combine}"
    return f"{settings.input_kernel} kernel on {scaled}features"


# --------------------------------------------------------------------------------------------------------------- chosen


_Row = tuple[str, Any, str]
"""A parameter, its value, and a note."""


def chosen_table(network: LinkData, settings: Settings, fitted: FittedMethod) -> Table:
    """Chosen parameters, for one kind of nodes."""
    rows: list[_Row] = [("model", METHODS[fitted.method], "")]
    parts = {name: model for name, model, _ in parts_of(fitted.method, fitted.model)}
    shares = _shares(fitted)
    for name, search in fitted.searches.items():
        of = f"{METHODS[name]}, " if shares else ""
        if shares:
            idle = "" if name in parts else "not fitted to all links: it would not change a score"
            rows.append((f"{of}weight of its standardised scores", shares[name], idle))
        if name in parts:
            chosen = _chosen(network, settings, name, search, parts[name])
            rows += [(of + parameter, value, note) for parameter, value, note in chosen]
    by = {"iokr": "leave-one-out", "pairs": "folds of nodes"}.get(fitted.method, "held-out nodes")
    cells = [{"parameter": parameter, "value": value, "note": note} for parameter, value, note in rows]
    if fitted.n_sampled is None:
        return Table(f"Parameters, chosen by {by}", cells)
    others = " and as many others" if settings.unlabeled else ""
    some = f"{fitted.n_sampled} of {len(network.labeled)} labelled nodes{others}"
    note = f"Chosen on {some}, then fitted to all; `search_all=True` chooses on all of them."
    return Table(f"Parameters, chosen by {by} on a sample", cells, note=note)


def _shares(fitted: FittedMethod) -> dict[str, float]:
    """The weights of a stack, per standard deviation of the scores of each model."""
    if fitted.method != "stack":
        return {}
    weights = fitted.model.weights_ * fitted.model.lines_[:, 0]
    return dict(zip(fitted.searches, weights.tolist(), strict=True))


def _chosen(network: LinkData, settings: Settings, name: str, search: Any, fitted: Any) -> list[_Row]:
    """The parameters that a search has chosen, and whether they are at an end of its grid."""
    nodes = network.rows
    kernel = fitted.model_.kernel_ if name == "iokr" else fitted.kernel_
    names = list(nodes.kernels or {}) or [name for name, _ in nodes.views if len(nodes.views) > 1]
    end = _end(float(kernel.gamma_), [tried.gamma for tried in search.kernel]) if isinstance(kernel, RBF) else ""
    rows: list[_Row] = [("input kernel", kernel_words(kernel, names, settings.input_kernel), end)]
    if name == "pairs":
        rows += [
            ("alpha", search.alpha_, _end(search.alpha_, search.alphas)),
            ("mix (weight of pairs that share a node)", search.mix_, _end(search.mix_, search.mixes)),
        ]
        measure = f"{search.scoring} over folds of nodes"
    else:
        path = search.scores_[search.best_index_[:-1]] if len(search.alphas) > 1 else [0.0]
        best = search.alphas[int(np.argmax(path))]
        rows.append(("alpha", float(search.alpha_), _end(search.alpha_, search.alphas, best)))
        if search.manifold is not None:
            end = _end(search.manifold_weight_, search.manifold_weights)
            rows.append(("manifold weight", search.manifold_weight_, end))
        measure = f"leave-one-out {search.scoring}"
    scores = getattr(search, "scores_", None)
    if scores is not None:
        rows.append((measure, float(np.max(scores)), "optimistic: parameters were chosen by it"))
    return rows


def _end(value: float, tried: Sequence[float], best: float | None = None) -> str:
    """Whether a value, or that of the best score, is at an end of the grid, beyond which there may be better ones."""
    if len(tried) == 1:
        return "fixed"
    at = value if best is None else best
    if at not in (min(tried), max(tried)):
        return ""
    end = "smallest value of the grid" if at == min(tried) else "largest value of the grid"
    return end if at == value else f"best score at the {end}"


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
    """Chosen parameters, for two kinds of nodes."""
    rows: list[dict[str, Any]] = [{"parameter": "model", "value": "BipartitePredictor"}]
    kernels = model.kernel_, model.partner_kernel_
    for kind, kernel, nodes in zip(network.kinds, kernels, network.sides, strict=True):
        words = kernel_words(kernel, [name for name, _ in nodes.views], settings.input_kernel)
        rows.append({"parameter": f"kernel of {kind}", "value": words})
    rows += [{"parameter": "alpha", "value": float(model.alpha_)}, {"parameter": "threshold", "value": threshold}]
    return Table("Parameters, chosen by leaving out rows and columns", rows)
