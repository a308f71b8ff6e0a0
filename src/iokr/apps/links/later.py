"""Nodes that come later than a model: their features as at training, and which of them the model knows already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.data import left_out, listed, rejection_rows
from iokr.apps.links.features import FeatureFormat
from iokr.apps.links.nodes import ModelNodes, Side
from iokr.apps.links.reading import as_tables
from iokr.apps.readers import Nodes, Rejection
from iokr.apps.readers.typed_tables import as_ids
from iokr.apps.report import Table

if TYPE_CHECKING:
    from iokr.apps.links.model import LinkModel

__all__ = ["LaterNodes", "input_table", "with_later"]

_SAME = 1e-6  # of a deviation: features that another program has written with fewer digits

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LaterNodes:
    """Nodes of tables that were given to a fitted model."""

    nodes: Nodes
    X: Matrix
    fresh: NDArray[np.bool_]  # which of them the model does not know
    changed: tuple[Rejection, ...]  # nodes of the model that have other features now

    @classmethod
    def read(cls, side: Side, features: FeatureFormat, tables: Any, ids: Any, argument: str) -> LaterNodes:
        """From tables, with the features of training."""
        several = as_tables(tables, argument, features.layout)
        nodes, X = features.read(several, None if ids is None else as_ids(ids, "ids"), argument)
        fresh = ~np.isin(nodes.ids, side.ids)
        at = {name: i for i, name in enumerate(side.ids.tolist())}
        again = nodes.ids[~fresh].tolist()
        known = np.asarray(side.X)[[at[name] for name in again]]
        changed = ~np.isclose(X[~fresh], known, rtol=_SAME, atol=_SAME).all(axis=1)
        why = ("other features than at training", "training features are used")
        odd = [name for name, other in zip(again, changed.tolist(), strict=True) if other]
        return cls(nodes, X, fresh, tuple(Rejection(str(several[0]), None, "node", one, "", *why) for one in odd))

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        """Rows that were left out or modified."""
        return (*self.nodes.rejections, *self.changed)


def with_later(
    model: LinkModel, nodes: Any, partners: Any, ids: Any
) -> tuple[ModelNodes, tuple[LaterNodes | None, ...]]:
    """The nodes of a model and those of tables, of either kind."""
    sides = model.nodes.sides
    if partners is not None and not model.nodes.across:
        raise ValueError("The model has one kind of nodes; leave `partners` out.")
    given = [("nodes", nodes, ids), ("partners", partners, None)][: len(sides)]
    if not model.formats and nodes is not None:
        raise ValueError(
            "The model was fitted to kernel matrices: nodes that come later have no place in them; leave `nodes` out."
        )
    later = []
    for k, (argument, tables, own_ids) in enumerate(given):
        form = None if tables is None else model.formats[k]
        later.append(None if form is None else LaterNodes.read(sides[k], form, tables, own_ids, argument))
    fresh = [_fresh(side, one) for side, one in zip(sides, later, strict=True)]
    if model.nodes.across:
        _check_apart(model.nodes, [ids for ids, _ in fresh])
    return model.nodes.with_later(fresh), tuple(later)


def _fresh(side: Side, later: LaterNodes | None) -> tuple[NDArray[np.str_], Any]:
    """Ids and features of the nodes that the model does not know."""
    if later is None:
        return side.ids[:0], side.X[:0]
    return later.nodes.ids[later.fresh], later.X[later.fresh]


def _check_apart(nodes: ModelNodes, fresh: Sequence[NDArray[np.str_]]) -> None:
    """A new node of one kind must not have the id of a node of the other."""
    for k, side in enumerate(nodes.sides):
        other = nodes.sides[1 - k]
        everyone = np.concatenate([other.ids, fresh[1 - k]])
        both = fresh[k][np.isin(fresh[k], everyone)].tolist()
        if both:
            raise ValueError(
                f"{both[0]!r} is given as {side.kind}, but the model or the other table has it as {other.kind}; ids of "
                "two kinds of nodes must differ."
            )


def input_table(nodes: ModelNodes, later: Sequence[LaterNodes | None]) -> Table:
    """Counts of nodes of the model, of new nodes and of rejected rows, for a report."""
    rows: list[dict[str, Any]] = []
    given = [one for one in later if one is not None]
    names = nodes.kinds if nodes.across else ("nodes",)
    for name, side, one in zip(names, nodes.sides, later or [None] * len(names), strict=True):
        rows.append({"item": f"{name} of the model", "count": side.n_fitted, "details": ""})
        if one is not None:
            features = f"{len(one.nodes.columns)} features"
            rows.append({"item": f"new {name}", "count": int(one.fresh.sum()), "details": features})
            if not one.fresh.all():
                again = f"{name} that are in the model already"
                rows.append({"item": again, "count": int((~one.fresh).sum()), "details": ""})
            rows += rejection_rows(one.rejections)
    notes = [f"{note}." for one in given for note in one.nodes.notes]
    if given and not nodes.n_later:
        notes.append("All nodes of the tables are in the model: pairs of its nodes are ranked.")
    elif any(not one.fresh.all() for one in given):
        notes.append("Only pairs with a new node are ranked.")
    rejections = [rejection for one in given for rejection in one.rejections]
    return Table("Input", rows, note=" ".join([*notes, *([listed(rejections)] if left_out(rejections) else [])]))
