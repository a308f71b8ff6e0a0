"""Features of nodes: scaling, a kernel for every view, and the same for new nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr.apps.links.data import Matrix, Numbers, left_out, listed, rejection_rows
from iokr.apps.links.nodes import ModelNodes, Side
from iokr.apps.links.reading import as_tables
from iokr.apps.links.settings import WIDTHS, Settings
from iokr.apps.readers import Nodes, Rejection, read_views
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.typed_tables import as_ids
from iokr.apps.report import Table
from iokr.kernels.algebra import Mean, Normalized
from iokr.kernels.alignment import Aligned
from iokr.kernels.base import Kernel
from iokr.kernels.features import Columns
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF, Cosine, Linear

if TYPE_CHECKING:
    from iokr.apps.links.model import LinkModel

__all__ = ["FeatureFormat", "Inputs", "LaterNodes", "Scaling", "input_table", "inputs_of", "with_later"]

_SAME = 1e-6  # of a deviation: features that another program has written with fewer digits
_CONSTANT = 1e-12  # a feature with a smaller deviation, in units of its largest value, does not vary


@dataclass(frozen=True, eq=False)
class Inputs:
    """Nodes of one kind as kernels take them, the kernels to choose from, of size about 1, and the scaling."""

    X: Any
    kernels: list[Kernel]
    scaling: Scaling


def inputs_of(nodes: Nodes, settings: Settings, some: Numbers | None = None) -> Inputs:
    """Of features or of given kernel matrices; typical distances are those between `some` of the nodes, None is all."""
    join: Any = Mean if settings.combine == "mean" else partial(Aligned, method=settings.combine)
    if nodes.kernels is not None:
        return _of_kernels(nodes.kernels, join)
    X = np.asarray(nodes.X)
    scaling = Scaling.of(X) if settings.scaled else Scaling()
    X = scaling(X)
    views = _columns_of_views(nodes)
    if settings.input_kernel == "linear":
        scaling = replace(scaling, length=_lengths(X, views))
        X = X / scaling.length
    typical = X if some is None else X[some]
    kernels = [_kernels_of(settings.input_kernel, typical[:, columns]) for columns in views]
    if len(views) == 1:
        return Inputs(X, kernels[0], scaling)
    parts = [[Columns(kernel, columns) for kernel in own] for own, columns in zip(kernels, views, strict=True)]
    return Inputs(X, [join(list(terms)) for terms in zip(*parts, strict=True)], scaling)


def _of_kernels(matrices: dict[str, Matrix], join: Callable[[list[Kernel]], Kernel]) -> Inputs:
    """Nodes by their number; a matrix of any size is brought to a mean diagonal of 1."""
    kernels: list[Kernel] = [Precomputed(K / np.diagonal(K).mean()) for K in matrices.values()]
    numbers = np.arange(len(next(iter(matrices.values()))))
    if len(kernels) > 1:
        kernels = [join([Normalized(kernel) for kernel in kernels])]
    return Inputs(numbers, kernels, Scaling())


def _columns_of_views(nodes: Nodes) -> list[Any]:
    """The columns of each view; a slice of all of them for a single one."""
    if len(nodes.views) < 2:
        return [slice(None)]
    return [part.tolist() for part in _split(np.arange(len(nodes.columns)), nodes)]


def _split(columns: Any, nodes: Nodes) -> list[Any]:
    """The columns of each table."""
    return np.split(columns, np.cumsum([count for _, count in nodes.views])[:-1])


def _lengths(X: Matrix, views: list[Any]) -> Any:
    """The root mean square length of a node in each view, for every column; one number for a single view."""
    lengths = np.ones(X.shape[1])
    for columns in views:
        lengths[columns] = np.sqrt((X[:, columns] ** 2).sum(axis=1).mean()) or 1.0
    return lengths if len(views) > 1 else float(lengths[0])


def _kernels_of(name: str, X: Matrix) -> list[Kernel]:
    """The kernels to choose from."""
    if name == "gaussian":
        gamma = float(RBF().fit(X).gamma_)
        return [RBF(gamma * width) for width in WIDTHS]
    return [{"tanimoto": Tanimoto, "cosine": Cosine, "linear": Linear}[name]()]


@dataclass(frozen=True)
class Scaling:
    """((x / size) − mean) / deviation / length: what was done to the features at training, for new nodes too."""

    size: Any = 1.0  # so that squares do not overflow
    mean: Any = 0.0
    deviation: Any = 1.0
    length: Any = 1.0

    @classmethod
    def of(cls, X: Matrix) -> Scaling:
        """Every feature with mean 0 and variance 1; one that does not vary is 0."""
        size = np.abs(X).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        X = X / size
        deviation = X.std(axis=0)
        return cls(size, X.mean(axis=0), np.where(deviation > _CONSTANT, deviation, np.inf))

    def __call__(self, X: Matrix) -> Matrix:
        """Features, scaled."""
        return np.asarray((X / self.size - self.mean) / self.deviation / self.length)


# ------------------------------------------------------------------------------------------------------------ new nodes


@dataclass(frozen=True)
class FeatureFormat:
    """How the tables of a kind of nodes are read and scaled, so that new nodes get the same features."""

    columns: tuple[str, ...]
    views: tuple[tuple[str, tuple[str, ...]], ...]  # tables, with the names of their columns there
    layout: Layout
    means: Matrix  # that fill in missing features
    missing: str
    scaling: Scaling

    @classmethod
    def of(cls, nodes: Nodes, layout: Layout, missing: str, scaling: Scaling) -> FeatureFormat:
        """That of nodes of training."""
        return cls(nodes.columns, _views(nodes), layout, np.asarray(nodes.X).mean(axis=0), missing, scaling)

    def state(self) -> dict[str, Any]:
        """For a file."""
        return {
            "columns": list(self.columns),
            "views": [[name, list(columns)] for name, columns in self.views],
            "layout": asdict(self.layout),
            "means": self.means,
            "missing": self.missing,
            "scaling": vars(self.scaling),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> FeatureFormat:
        """From a file; the first models have one table, and nothing of its layout."""
        views = state.get("views") or [["", state["columns"]]]
        return cls(
            tuple(state["columns"]),
            tuple((name, tuple(columns)) for name, columns in views),
            Layout.from_state(state.get("layout", {})),
            np.asarray(state["means"]),
            state["missing"],
            Scaling(**state["scaling"]),
        )

    def read(self, tables: Sequence[Any], ids: Any, argument: str) -> tuple[Nodes, Matrix]:
        """Nodes from tables, and their features in the order and on the scale of training."""
        if len(tables) != len(self.views):
            tables_of = ", ".join(repr(name) for name, _ in self.views)
            raise ValueError(
                f"The model was trained with features of {tables_of}; give `{argument}` a table for each, in this "
                f"order, got {len(tables)}."
            )
        ends = np.cumsum([len(columns) for _, columns in self.views])
        parts = zip(self.views, np.split(self.means, ends[:-1]), strict=True)
        # the mean of another column is 0; such columns are refused below
        means = [defaultdict(float, zip(columns, part, strict=False)) for (_, columns), part in parts]
        new = read_views(tables, ids=ids, missing=self.missing, means=means, layout=self.layout)
        for table, (_, there), (_, columns) in zip(tables, _views(new), self.views, strict=True):
            _check_columns(str(table), there, columns, self.layout.one_hot)
        names = [(k, name) for k, (_, columns) in enumerate(_views(new)) for name in columns]
        at = {name: j for j, name in enumerate(names)}
        absent = len(names)  # a category that no new node has is a column of zeros
        padded = np.column_stack([np.asarray(new.X), np.zeros(len(new.ids))])
        order = [at.get((k, name), absent) for k, (_, columns) in enumerate(self.views) for name in columns]
        return new, self.scaling(padded[:, order])


def _views(nodes: Nodes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The tables that the features come from, and the names of their columns there."""
    if len(nodes.views) < 2:
        return tuple((name, tuple(nodes.columns)) for name, _ in nodes.views)
    parts = zip(nodes.views, _split(np.array(nodes.columns, dtype=object), nodes), strict=True)
    return tuple((name, tuple(column.removeprefix(f"{name}: ") for column in columns)) for (name, _), columns in parts)


def _check_columns(table: str, new: Sequence[str], known: Sequence[str], one_hot: tuple[str, ...]) -> None:
    """The same names, in any order; a category may be missing, but none may be new."""
    absent = [column for column in known if column not in new]
    more = [column for column in new if column not in known]
    if len(set(new)) < len(new):
        raise ValueError(f"{table}: the column {max(new, key=list(new).count)!r} appears twice.")
    if one_hot:
        there = {name.partition("=")[0] for name in new}
        absent = [column for column in absent if "=" not in column or column.partition("=")[0] not in there]
    if not absent and not more:
        return
    parts = [f"has no column {_named(absent)}"] if absent else []
    parts += [f"has {_named(more)}, which the model does not know"] if more else []
    raise ValueError(
        f"{table} {' and '.join(parts)}; the model was trained with {len(known)} columns, {_named(known)}. "
        "Give the same columns, in any order."
    )


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more


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
        at = pd.Index(side.ids).get_indexer(nodes.ids)
        fresh = at < 0
        known = np.asarray(side.X)[at[~fresh]]
        changed = ~np.isclose(X[~fresh], known, rtol=_SAME, atol=_SAME).all(axis=1)
        why = ("other features than at training", "training features are used")
        odd = nodes.ids[~fresh][changed].tolist()
        return cls(nodes, X, fresh, tuple(Rejection(str(several[0]), None, "node", one, "", *why) for one in odd))

    @property
    def added(self) -> tuple[NDArray[np.str_], Matrix]:
        """The ids and the features of those that the model does not know."""
        return self.nodes.ids[self.fresh], self.X[self.fresh]

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
        raise ValueError("The model was fitted to kernel matrices: new nodes have no rows in them; leave `nodes` out.")
    later = tuple(
        LaterNodes.read(side, form, tables, own_ids, argument) if form and tables is not None else None
        for side, form, (argument, tables, own_ids) in zip(sides, model.formats or [None], given, strict=True)
    )
    found = model.nodes.with_later([None if one is None else one.added for one in later])
    twice = pd.Index(found.ids).duplicated()
    if twice.any():
        name = str(found.ids[twice][0])
        kinds = " and as ".join(found.kinds)
        raise ValueError(f"{name!r} is given as {kinds}; ids of two kinds of nodes must differ.")
    return found, later


def input_table(nodes: ModelNodes, later: Sequence[LaterNodes | None]) -> Table:
    """Counts of nodes of the model, of new nodes and of rejected rows, for a report."""
    rows: list[dict[str, Any]] = []
    given = [one for one in later if one is not None]
    names = nodes.kinds if nodes.across else ("nodes",)
    for name, side, one in zip(names, nodes.sides, later or [None] * len(names), strict=True):
        rows.append({"item": f"{name} of the model", "count": side.n_fitted, "details": ""})
        if one is not None:
            n_fresh = int(one.fresh.sum())
            rows.append({"item": f"new {name}", "count": n_fresh, "details": f"{len(one.nodes.columns)} features"})
            if n_fresh < len(one.fresh):
                again = f"{name} that are in the model already"
                rows.append({"item": again, "count": len(one.fresh) - n_fresh, "details": ""})
            rows += rejection_rows(one.rejections)
    notes = [f"{note}." for one in given for note in one.nodes.notes]
    if given and not nodes.n_later:
        notes.append("All nodes of the tables are in the model: pairs of its nodes are ranked.")
    elif any(not one.fresh.all() for one in given):
        notes.append("Only pairs with a new node are ranked.")
    rejections = [rejection for one in given for rejection in one.rejections]
    return Table("Input", rows, note=" ".join([*notes, *([listed(rejections)] if left_out(rejections) else [])]))
