"""The page of predicted links: interactive network and table, expected precision, and further files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from iokr.apps.links.data import left_out
from iokr.apps.links.features import input_table
from iokr.apps.links.methods import FOLDS, METHODS, STACKED
from iokr.apps.links.nodes import ModelNodes
from iokr.apps.readers import Rejection
from iokr.apps.report import (
    OURS,
    Figure,
    LiveNetwork,
    LiveTable,
    Report,
    Table,
    Text,
    draw_network,
    layout,
    plot,
    require_report_packages,
    to_cytoscape,
    to_graphml,
    write_run,
)
from iokr.apps.report.figures import Canvas
from iokr.apps.report.tables import no_formula, text_of

if TYPE_CHECKING:
    import networkx as nx

    from iokr.apps.links.model import LinkModel
    from iokr.apps.links.prediction import LinkResult

__all__ = ["formula_notes", "model_report", "network_of", "prediction_report", "rejected_tsv", "written"]

FEWEST = 50  # predicted links that are drawn in any case
DRAWN = 150  # predicted links in the drawing for readers without script; with more it shows nothing
MANY = 6000  # nodes beyond which only those of predicted links are in the network
RANKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def prediction_report(result: LinkResult, *, spreadsheet_safe: bool = False) -> Report:
    """Everything of a result: page, tables and files."""
    model = result.model
    nodes = result.nodes
    network = None if result.later else model.network  # what was read last: later nodes, or those of training
    inputs = input_table(nodes, result.later) if network is None else network.input_table()
    later = [one for one in result.later if one is not None]
    rejections = [rejection for one in later for rejection in one.rejections]
    if network is not None:
        rejections += network.rejections
    rows = result.table.drop(columns="evidence")
    calibrated = "probability" if "probability" in rows else "score"
    links = Table("predicted links", rows.to_dict("records"), note="All rows are in `edges.tsv`.", ours=(calibrated,))
    listed = LiveTable(links, result.details, names=("source", "target"), file="edges.tsv", safe=spreadsheet_safe)
    found = network_of(result)
    tables = (model.comparison_table, inputs, model.chosen_table)
    return Report(
        f"Predicted links{' of new nodes' if nodes.n_later else ''}{', two kinds of nodes' if nodes.across else ''}",
        _summary(result),
        (
            *_live_parts(result, listed),
            *_precision_parts(rows),
            *(table for table in tables if table is not None),
        ),
        (
            *(_notes_across(model) if nodes.across else _notes(model)),
            *([_IMPUTED] if later else []),
            *formula_notes(nodes.ids.tolist(), safe=spreadsheet_safe),
            *([model.description] if model.description else []),
        ),
        result.info,
        {
            "edges.tsv": _tsv(rows.rename(columns=lambda name: name.replace(" ", "_")), safe=spreadsheet_safe),
            "network.graphml": to_graphml(found),
            "network.cyjs": to_cytoscape(found),
            "rejected.tsv": rejected_tsv(rejections, safe=spreadsheet_safe),
        },
    )


def model_report(model: LinkModel) -> Report:
    """Everything of a model: its accuracy, and the parameters that were chosen."""
    inputs = input_table(model.nodes, ()) if model.network is None else model.network.input_table(listed_in="")
    tables = (model.comparison_table, inputs, model.chosen_table)
    return Report(
        f"Link prediction model{', two kinds of nodes' if model.nodes.across else ''}",
        f"{_known(model.nodes)} The threshold is {model.threshold:.3g}.",
        tuple(table for table in tables if table is not None),
        (model.description,),
        model.info,
    )


def _summary(result: LinkResult) -> str:
    """The numbers of nodes, of known links and of predicted ones."""
    nodes = result.nodes
    new = f" {nodes.n_later} new nodes." if nodes.n_later else ""
    found = f"{len(result.table)} predicted links{result.selection.described()}"
    if nodes.n_later and not result.selection.described():
        found += " with a new node"
    above = result.table["above threshold"].sum()
    return f"{_known(nodes)}{new} {found}, {above} of them above the threshold {result.model.threshold:.3g}."


def _known(nodes: ModelNodes) -> str:
    """The numbers of nodes of training and of known links."""
    if nodes.across:
        kinds = " and ".join(f"{side.n_fitted} nodes of the kind {side.kind}" for side in nodes.sides)
        return f"{kinds}, with {nodes.links.nnz} known links."
    labeled = nodes.labeled
    n_links = nodes.links[labeled][:, labeled].nnz // 2
    n_fitted = nodes.sides[0].n_fitted
    return f"{n_fitted} nodes, with {n_links} known links between {len(labeled)} labelled nodes."


# ---------------------------------------------------------------------------------------------------------------- notes

_IMPUTED = "Features of new nodes are imputed and scaled with the values of the training nodes."
_RANKING = "Use scores for ranking only; they are not probabilities."
_SCORES = {
    "iokr": f"The score is ⟨h(u), h(v)⟩, where h maps features so that linked nodes are close. {_RANKING}",
    "pairs": f"The score is a sum over the training pairs, weighted by their similarity to the pair. {_RANKING}",
    "stack": "The score is a weighted sum of the scores of `LinkPredictor` and `PairLinkPredictor`; the weights are "
    f"fitted on held-out nodes (`LinkStack`). {_RANKING}",
}
_CALIBRATED = (
    f"Probability, expected precision and threshold are estimated on pairs with a held-out node, in {FOLDS} folds of "
    "nodes. The expected precision is the fraction of links among held-out pairs with at least the same score; the "
    "threshold maximises F1."
)


def _notes(model: LinkModel) -> tuple[str, ...]:
    """How to read scores, probabilities, kinds of pairs, and evidence."""
    return (
        _score_note(model),
        model.caveat or _CALIBRATED,
        "Pairs are labelled–labelled, labelled–new or new–new. All links between labelled nodes are assumed to be "
        "known, so a predicted labelled–labelled pair is a candidate for a missed link.",
        "Evidence lists the largest terms of the score, over the training nodes most similar to either end; other "
        "contributions may be negative, so shares need not sum to 100 %.",
    )


def _score_note(model: LinkModel) -> str:
    """What the score is; for a stack in which one model has no weight, that of the other."""
    used = [name for name, _, _ in model.parts]
    if model.method != "stack" or len(used) > 1:
        return _SCORES[model.method]
    idle = next(name for name in STACKED if name not in used)
    return (
        f"{_SCORES[used[0]]} In the stack `{METHODS[idle]}` has the weight 0: it is not fitted to all links, and the "
        f"scores are those of `{METHODS[used[0]]}`."
    )


def _notes_across(model: LinkModel) -> tuple[str, ...]:
    """How to read scores, probabilities and evidence of two kinds of nodes."""
    one, other = model.nodes.kinds
    return (
        f"The score is k₁ᵀ C k₂, ridge regression on all pairs of a {one} and a {other}; pairs within a kind are not "
        f"scored. {_RANKING}",
        f"Probabilities are calibrated, and the threshold maximises F1, on scores of each {one} without its links "
        "(leave-one-out in closed form).",
        "A pair that is not in the edge list counts as not linked.",
        "Evidence lists the largest terms of the score, a sum over the known links; other terms may be negative, and "
        "all of them sum to 100 %.",
    )


def written(report: Report, folder: Path | str | None, *, force: bool, safe: bool) -> Report:
    """The report, of which all files are written to `folder` where one is given."""
    if folder is not None:
        write_run(report, Path(folder), force=force, spreadsheet_safe=safe)
    return report


def formula_notes(ids: Sequence[str], *, safe: bool) -> tuple[str, ...]:
    """A note on ids that spreadsheets take for formulas, if there are any."""
    odd = [name for name in ids if no_formula(name) != name]
    if not odd:
        return ()
    some = f"{len(odd)} ids begin with =, +, - or @" if len(odd) > 1 else "An id begins with =, +, - or @"
    if safe:
        return (f"{some}: an apostrophe precedes them in TSV files; other files contain ids as they are.",)
    return (f"{some}, which spreadsheets execute: `spreadsheet_safe=True` writes an apostrophe before them.",)


# ---------------------------------------------------------------------------------------------------------------- files


def network_of(result: LinkResult) -> nx.Graph:
    """Known and predicted links, and what is known of the nodes."""
    require_report_packages("networkx")
    import networkx as nx

    nodes = result.nodes
    graph: nx.Graph = nx.Graph()
    if nodes.across:
        for side in nodes.sides:
            graph.add_nodes_from(side.ids.tolist(), kind=side.kind)
    else:
        labeled = zip(nodes.ids.tolist(), nodes.is_labeled.tolist(), strict=True)
        graph.add_nodes_from((name, {"labeled": one}) for name, one in labeled)
    known, weights = nodes.known_links()
    for (one, other), weight in zip(nodes.ids[known].tolist(), weights.tolist(), strict=True):
        weighted = {} if nodes.across else {"weight": weight}
        graph.add_edge(one, other, kind="known", **weighted)
    named = [name for name in ("score", "rank", "probability") if name in result.table]
    for row in result.table.to_dict("records"):
        graph.add_edge(row["source"], row["target"], kind="predicted", **{name: row[name] for name in named})
    return graph


def rejected_tsv(rejections: Sequence[Rejection], *, safe: bool) -> str:
    """Rows that did not fit, as TSV; nodes whose gaps were filled are in the network, and not here."""
    columns = [field.name for field in fields(Rejection)]
    table = pd.DataFrame([astuple(one) for one in left_out(rejections)], columns=columns, dtype=object)
    return _tsv(table.fillna(""), safe=safe)


def _tsv(table: pd.DataFrame, *, safe: bool) -> str:
    """A table as TSV; truth values are yes or no."""
    table = table.map(lambda cell: text_of(cell) if isinstance(cell, bool) else cell)
    if safe:
        table = table.map(no_formula)
    return str(table.to_csv(sep="\t", index=False, lineterminator="\n", na_rep="nan"))


# ----------------------------------------------------------------------------------------------------------- live parts


def _live_parts(result: LinkResult, table: LiveTable) -> tuple[Text, LiveNetwork, Text, LiveTable]:
    """The network and the table, each under its heading.

    Links across two kinds leave no partner to be shared by two nodes that may be linked.
    """
    nodes = result.nodes
    pairs = result.pairs
    links, weights = nodes.known_links()
    shown = np.unique(np.concatenate([links, pairs]))
    if len(shown) > MANY:
        shown = np.unique(pairs)
    at = pd.Index(shown).get_indexer(np.arange(len(nodes.ids)))  # −1 for a node that is not shown
    inside = (at[links] >= 0).all(axis=1)
    words = f"{len(shown)} of {len(nodes.ids)} nodes, {inside.sum()} of {len(links)} known links."
    links = at[links[inside]]
    predicted = at[pairs]
    drawn = min(len(predicted), max(FEWEST, len(links)))  # more predicted than known links hide the network
    places = layout(len(shown), np.concatenate([links, predicted[:drawn]]), seed=result.info["seed"])
    groups, all_groups = nodes.groups()
    group = all_groups[shown]
    if len(np.unique(group)) < 2:
        groups = ()
        group = np.zeros(len(shown), dtype=np.int64)
    network = LiveNetwork(
        [str(name) for name in nodes.ids[shown]],
        places,
        links,
        table,
        predicted,
        _still(places, predicted, links, words),
        weights[inside],
        groups,
        group.tolist(),
        drawn,
        nodes.across,
    )
    row = "a row to see its evidence, and " if any(table.details) else ""
    click = f"Click {row}a name to find the node in the network."
    return Text("The network", (words,)), network, Text("Predicted links", (click,)), table


def _still(places: Any, predicted: Any, known: Any, words: str) -> Figure:
    """The best predicted links, with the known ones between their nodes, for readers without script."""
    best = predicted[:DRAWN]
    used = np.unique(best)
    to = pd.Index(used).get_indexer(np.arange(len(places)))  # −1 for a node that is not drawn
    return draw_network(
        places[used],
        {"plain": to[known[(to[known] >= 0).all(axis=1)]], "predicted": to[best]},
        names={"plain": "known", "predicted": "predicted"},
        caption=f"The first {len(best)} of {len(predicted)} predicted links; the whole network has {words}",
        size=(7.2, 7.4),
    )


def _precision_parts(rows: pd.DataFrame) -> tuple[Text | Table | Figure, ...]:
    """The expected precision of the first links, where nodes were held out."""
    if "expected precision" not in rows:
        return ()
    expected = rows["expected precision"].to_numpy()
    n = len(rows)
    ranks = [rank for rank in RANKS if rank < n] + [n]
    table = [{"first": rank, "expected precision %": float(round(100 * expected[rank - 1], 1))} for rank in ranks]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot(np.arange(1, n + 1), 100 * expected, color=OURS)
        axes.set(xlabel="rank", ylabel="expected precision (%)", ylim=(0, 102))
        if n > 100:
            axes.set_xscale("log")

    words = (
        "Expected fraction of links among the first pairs, estimated on pairs with a held-out node. Caveat: pairs of "
        "two labelled nodes were training examples of absent links. For them the value measures the similarity to "
        "links, and is not the fraction of such pairs that are links."
    )
    return (
        Text("Expected precision", (words,)),
        Table("Expected precision of the first links", table, ours=("expected precision %",)),
        plot(draw, caption="Expected precision by rank, from held-out nodes."),
    )
