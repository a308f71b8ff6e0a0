"""The page of predicted links: a network and a table to work with, the expected precision, and the files beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr.apps.links.comparison import FOLDS
from iokr.apps.links.data import left_out
from iokr.apps.links.later import input_table
from iokr.apps.links.methods import METHODS, STACKED
from iokr.apps.links.nodes import ModelNodes
from iokr.apps.readers import Rejection
from iokr.apps.report import (
    OURS,
    Figure,
    LiveNetwork,
    LiveTable,
    Network,
    Report,
    Table,
    Text,
    draw_network,
    layout,
    plot,
    to_cytoscape,
    to_graphml,
)
from iokr.apps.report.figures import Canvas
from iokr.apps.report.tables import no_formula, tab_separated

if TYPE_CHECKING:
    from iokr.apps.links.model import LinkModel
    from iokr.apps.links.prediction import LinkResult

__all__ = ["cell_of", "formula_notes", "model_report", "network_of", "prediction_report", "rejected_tsv"]

FEWEST = 50  # predicted links that are drawn in any case
DRAWN = 150  # predicted links in the drawing for readers without script; with more it shows nothing
MANY = 6000  # nodes beyond which only those of predicted links are in the network
RANKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)

Cell = Callable[[Any], str]


def prediction_report(result: LinkResult, *, spreadsheet_safe: bool = False) -> Report:
    """Everything of a result: page, tables and files."""
    model = result.model
    nodes = result.nodes
    listed = _live_links(result.rows, result.details, safe=spreadsheet_safe)
    direct = model.network is not None and not result.later
    inputs = model.network.input_table() if model.network is not None and direct else input_table(nodes, result.later)
    rejections = list(model.network.rejections) if model.network is not None and direct else []
    for one in result.later:
        rejections += [] if one is None else one.rejections
    tables = (model.comparison_table, inputs, model.chosen_table)
    scaled = "Features are filled in and scaled with the numbers of the training nodes."
    cell = cell_of(safe=spreadsheet_safe)
    return Report(
        _title(nodes),
        _summary(result),
        (
            *_live_parts(result, listed),
            *_precision_parts(result.rows),
            *(table for table in tables if table is not None),
        ),
        (
            *(_notes_across(model) if nodes.across else _notes(model)),
            *([scaled] if any(one is not None for one in result.later) else []),
            *formula_notes(nodes.ids.tolist(), safe=spreadsheet_safe),
            *([model.description] if model.description and not (direct and nodes.across) else []),
        ),
        result.info,
        {**_link_files(result, cell), "rejected.tsv": rejected_tsv(rejections, cell)},
    )


def model_report(model: LinkModel) -> Report:
    """Everything of a model: how good it is, what was chosen."""
    nodes = model.nodes
    inputs = input_table(nodes, ()) if model.network is None else _without_list(model.network.input_table())
    tables = (model.comparison_table, inputs, model.chosen_table)
    what = "two kinds of nodes" if nodes.across else "a network"
    return Report(
        f"A model of {what}",
        f"{_known(nodes)}; the threshold is {model.threshold:.3g}.",
        tuple(table for table in tables if table is not None),
        (model.description,),
        model.info,
    )


def _known(nodes: ModelNodes) -> str:
    """How many nodes of training and known links there are."""
    if nodes.across:
        (rows, columns), (one, other) = nodes.sides, nodes.kinds
        both = f"{len(rows.ids)} nodes of the kind {one} and {len(columns.ids)} of the kind {other}"
        return f"{both} with {nodes.links.nnz} known links"
    n_learned = nodes.links[nodes.labeled][:, nodes.labeled].nnz // 2
    return f"{nodes.sides[0].n_fitted} nodes, {n_learned} known links between {len(nodes.labeled)} of them"


def _without_list(table: Table) -> Table:
    """There is a model, and no folder for a list."""
    note = "Every row that did not fit is listed in `rejected.tsv`."
    other = "`iokr links predict` with these files lists every row that did not fit."
    return replace(table, note=table.note.replace(note, other))


def _title(nodes: ModelNodes) -> str:
    if nodes.across:
        return "Links of new nodes between two kinds" if nodes.n_later else "New links between two kinds of nodes"
    return "Links of new nodes" if nodes.n_later else "New links of a network"


def _summary(result: LinkResult) -> str:
    """How many nodes, known links and predicted ones there are."""
    nodes = result.nodes
    with_new = nodes.n_later and not result.selection.described()
    best = f"{len(result.rows)} best {'pairs with a new node' if with_new else 'other pairs'}"
    best += result.selection.described()
    if nodes.across:
        one, other = nodes.kinds
        new = f", {nodes.n_later} of the nodes new" if nodes.n_later else ""
        return f"{_known(nodes)}{new}; the {best}, each of one {one} and one {other}."
    [side] = nodes.sides
    above = sum(row["above threshold"] for row in result.rows)
    best += f", {above} of them above the threshold {result.model.threshold:.3g}"
    if result.model.network is not None and not result.later:
        return f"{_known(nodes)}; the {best}."
    who = f"{nodes.n_later} new nodes beside the {side.n_fitted}" if nodes.n_later else f"{side.n_fitted} nodes"
    return f"{who} that the model knows, {nodes.links.nnz // 2} known links; the {best}."


# ---------------------------------------------------------------------------------------------------------------- notes

_SCORE = {
    "iokr": "A score is ⟨h(u), h(v)⟩: h places nodes by their features so that linked ones are close.",
    "pairs": "A score is a sum over training pairs, each weighed by how alike it is to the pair (`PairModel`).",
    "stack": "A score is the sum of those of two models, `LinkPredictor` and `PairModel`, each with the weight that "
    "nodes left out give it (`LinkStack`).",
}
_CALIBRATED = (
    f"Probability, expected precision and threshold come from {FOLDS} folds of nodes: pairs with a new node, "
    "scored by models that never saw its links. The expected precision is the fraction of links among those that "
    "scored at least as high; the threshold that of the largest F1."
)


def _notes(model: LinkModel) -> tuple[str, ...]:
    """What scores, probabilities and kinds of pairs mean."""
    return (
        _score_note(model),
        model.caveat or _CALIBRATED,
        "Pairs: both nodes labelled (all links between them were said to be known, so such a pair may be a link "
        "that was missed), one of them new, or both new.",
        "What speaks for a link: the largest terms of its score, over the training nodes most like either end. Others "
        "may speak against it; shares need not add up to 100 %.",
    )


def _score_note(model: LinkModel) -> str:
    """What a score is; of a stack in which one model weighs nothing, that of the other."""
    used = [name for name, _, _ in model.parts]
    if model.method != "stack" or len(used) > 1:
        return f"{_SCORE[model.method]} Scores rank; they are no probabilities."
    idle = next(name for name in STACKED if name not in used)
    return (
        f"{_SCORE[used[0]]} Scores rank; they are no probabilities. In the stack of the two models `{METHODS[idle]}` "
        f"has the weight 0: it was not learned from all links, and `{METHODS[used[0]]}` is used alone."
    )


def _notes_across(model: LinkModel) -> tuple[str, ...]:
    """What scores and figures of two kinds of nodes mean."""
    one, other = model.nodes.kinds
    return (
        "A score is k₁ᵀ C k₂, ridge regression on all pairs across; nothing within a kind is scored or drawn.",
        f"A new {one} is one all of whose links are left out, a new {other} likewise; both are exact, without "
        "a refit. Where both are new, thirds of either kind are left out. Probabilities: calibrated on new rows.",
        "A pair that is not in the edge list counts as not linked.",
        "What speaks for a link: a score is a sum over the known links, and these have the largest terms. Others may "
        "speak against it; all together are 100 %.",
    )


def formula_notes(ids: Sequence[str], *, safe: bool) -> tuple[str, ...]:
    """A note on ids that begin like a formula, if there are any."""
    odd = [name for name in ids if no_formula(name) != name]
    if not odd:
        return ()
    some = f"{len(odd)} ids begin with =, +, - or @" if len(odd) > 1 else "An id begins with =, +, - or @"
    if safe:
        return (f"{some}: in TSV files an apostrophe stands before them; other files have ids as they are.",)
    return (f"{some}, which spreadsheets execute: `--spreadsheet-safe` writes an apostrophe before them.",)


# ---------------------------------------------------------------------------------------------------------------- files


def network_of(result: LinkResult) -> Network:
    """Known and predicted links, and what is known of the nodes."""
    nodes = result.nodes
    about: dict[str, dict[str, Any]]
    if nodes.across:
        about = {str(name): {"kind": side.kind} for side in nodes.sides for name in side.ids}
    else:
        labeled = set(nodes.labeled.tolist())
        about = {str(name): {"labeled": i in labeled} for i, name in enumerate(nodes.ids)}
    links: list[tuple[str, str, dict[str, Any]]] = []
    for i, j, weight in nodes.known_links():
        weights = {} if nodes.across else {"weight": weight}
        links.append((str(nodes.ids[i]), str(nodes.ids[j]), {"kind": "known", **weights}))
    for row in result.rows:
        values: dict[str, Any] = {name: row[name] for name in ("score", "rank", "probability") if name in row}
        links.append((row["source"], row["target"], {"kind": "predicted", **values}))
    return Network(about, links)


def _link_files(result: LinkResult, cell: Cell) -> dict[str, str]:
    """The list, and the network with it."""
    network = network_of(result)
    head = [name.replace(" ", "_") for name in result.rows[0]]
    cells = [[_written(value, cell) for value in row.values()] for row in result.rows]
    return {
        "edges.tsv": tab_separated(head, cells),
        "network.graphml": to_graphml(network),
        "network.cyjs": to_cytoscape(network),
    }


def _written(value: Any, cell: Cell) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cell(value)


def cell_of(*, safe: bool) -> Cell:
    """A value for a TSV file, as it is or safe for spreadsheets."""
    return (lambda value: str(no_formula(value))) if safe else str


def rejected_tsv(rejections: Sequence[Rejection], cell: Cell = str) -> str:
    """Rows that did not fit, as TSV; nodes whose gaps were filled are in the network, and not here."""
    head = [field.name for field in fields(Rejection)]
    rows = ([cell("" if value is None else value) for value in astuple(one)] for one in left_out(rejections))
    return tab_separated(head, rows)


# ----------------------------------------------------------------------------------------------------------- live parts


def _live_links(rows: list[dict[str, Any]], details: Any, *, safe: bool) -> LiveTable:
    """The list, to work with."""
    note = "The whole list is in `edges.tsv`."
    ours = ("probability",) if rows and "probability" in rows[0] else ("score",)
    table = Table("predicted links", rows, note=note, ours=ours)
    return LiveTable(table, details, names=("source", "target"), file="edges.tsv", safe=safe)


def _live_parts(result: LinkResult, table: LiveTable) -> tuple[Text, LiveNetwork, Text, LiveTable]:
    """The network and the table, each under its heading.

    Links across two kinds leave no partner to be shared by two nodes that may be linked.
    """
    nodes = result.nodes
    pairs = result.pairs
    known = nodes.adjacency.tocoo()
    half = known.row < known.col
    links = np.column_stack([known.row, known.col])[half]
    weights = known.data[half]
    shown = np.unique(np.concatenate([links, pairs]))
    if len(shown) > MANY:
        shown = np.unique(pairs)
    at = np.full(len(nodes.ids), -1)
    at[shown] = np.arange(len(shown))
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
    row = "a row for what speaks for it, " if any(table.details) else ""
    listed = f"Click {row}a name for its place in the network."
    return Text("The network", (words,)), network, Text("Predicted links", (listed,)), table


def _still(places: Any, predicted: Any, known: Any, words: str) -> Figure:
    """The best predicted links, with the known ones between their nodes, for readers without script."""
    best = predicted[:DRAWN]
    used = np.unique(best)
    to = np.full(len(places), -1)
    to[used] = np.arange(len(used))
    return draw_network(
        places[used],
        {"plain": to[known[(to[known] >= 0).all(axis=1)]], "predicted": to[best]},
        names={"plain": "known", "predicted": "predicted"},
        caption=f"The first {len(best)} of {len(predicted)} predicted links; in all {words}",
        size=(7.2, 7.4),
    )


def _precision_parts(rows: list[dict[str, Any]]) -> tuple[Text | Table | Figure, ...]:
    """The expected precision of the first links, where nodes were held out."""
    if "expected precision" not in rows[0]:
        return ()
    expected = np.array([row["expected precision"] for row in rows])
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
        "Of pairs with a new node. Pairs of two labelled nodes were learned from as not linked: for them it tells how "
        "alike they are to links, not how often such a pair is one."
    )
    return (
        Text("How many are right?", (words,)),
        Table("Expected precision of the first links", table, ours=("expected precision %",)),
        plot(draw, caption="Expected precision at each rank, from folds of nodes."),
    )
