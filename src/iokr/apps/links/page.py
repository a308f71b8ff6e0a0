"""The page of predicted links: a network and a table to work with, and the expected precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import OURS, Figure, LiveNetwork, LiveTable, Table, Text, draw_network, layout, plot
from iokr.apps.report.figures import Canvas

if TYPE_CHECKING:
    from iokr.apps.links.comparison import Evaluated

__all__ = ["live_parts", "precision_parts"]

FEWEST = 50  # predicted links that are drawn in any case
DRAWN = 150  # predicted links in the drawing for readers without script; with more it shows nothing
MANY = 6000  # nodes beyond which only those of predicted links are in the network
RANKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def live_parts(
    ids: NDArray[np.str_],
    adjacency: Any,
    kinds: tuple[tuple[str, ...], NDArray[np.int64]],
    table: LiveTable,
    pairs: NDArray[np.int64],
    seed: int,
    *,
    across: bool = False,
) -> tuple[Text, LiveNetwork, Text, LiveTable]:
    """The network and the table, each under its heading; `kinds` are names, and the kind of every node.

    Links `across` kinds alone leave no partner to be shared by two nodes that may be linked.
    """
    known = adjacency.tocoo()
    links = np.column_stack([known.row, known.col])
    half = links[:, 0] < links[:, 1]
    links, weights = links[half], known.data[half]
    n_links, nodes = len(links), np.unique(np.concatenate([links, pairs]))
    if len(nodes) > MANY:
        nodes = np.unique(pairs)
    at = np.full(len(ids), -1)
    at[nodes] = np.arange(len(nodes))
    inside = (at[links] >= 0).all(axis=1)
    links, weights, predicted = at[links[inside]], weights[inside], at[pairs]
    drawn = min(len(predicted), max(FEWEST, len(links)))  # more predicted than known links hide the network
    places = layout(len(nodes), np.concatenate([links, predicted[:drawn]]), seed=seed)
    groups, group = kinds[0], kinds[1][nodes]
    if len(np.unique(group)) < 2:
        groups, group = (), np.zeros(len(nodes), dtype=np.int64)
    words = f"{len(nodes)} of {len(ids)} nodes, {len(links)} of {n_links} known links."
    still = _still(places, predicted, links, words)
    names = [str(name) for name in ids[nodes]]
    network = LiveNetwork(names, places, links, table, predicted, still, weights, groups, group.tolist(), drawn, across)
    row = "a row for what speaks for it, " if any(table.details) else ""
    listed = f"Click {row}a name for its place in the network."
    return Text("The network", (words,)), network, Text("Predicted links", (listed,)), table


def _still(places: Any, predicted: NDArray[np.int64], known: NDArray[np.int64], words: str) -> Figure:
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


def precision_parts(evaluated: Sequence[Evaluated], found: list[dict[str, Any]]) -> tuple[Text | Table | Figure, ...]:
    """How many of the first links are to be expected right, by the folds."""
    if not evaluated:
        return ()
    expected = np.array([row["expected precision"] for row in found])
    ranks = [rank for rank in RANKS if rank < len(found)] + [len(found)]
    rows = [{"first": rank, "expected precision %": float(round(100 * expected[rank - 1], 1))} for rank in ranks]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot(np.arange(1, len(found) + 1), 100 * expected, color=OURS)
        axes.set(xlabel="rank", ylabel="expected precision (%)", ylim=(0, 102))
        if len(found) > 100:
            axes.set_xscale("log")

    words = (
        "Of pairs with a new node. Pairs of two labelled nodes were learned from as not linked: for them it tells how "
    )
    return (
        Text("How many are right?", (words + "alike they are to links, not how often such a pair is one.",)),
        Table("Expected precision of the first links", rows, ours=("expected precision %",)),
        plot(draw, caption="Expected precision at each rank, from folds of nodes."),
    )
