"""Features of nodes: scaling, a kernel for every view, and the same for nodes that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.defaults import WIDTHS
from iokr.apps.links.settings import Settings
from iokr.apps.readers import Nodes, read_nodes, read_views
from iokr.apps.readers.file_table import Cells
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.tables import split_name
from iokr.kernels.algebra import Mean, Normalized
from iokr.kernels.alignment import Aligned
from iokr.kernels.base import Kernel
from iokr.kernels.features import Columns
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF, Cosine, Linear

__all__ = ["FeatureFormat", "Inputs", "Scaling", "inputs_of"]

Matrix = NDArray[np.float64]

_CONSTANT = 1e-12  # a feature with a smaller deviation, in units of its largest value, does not vary


@dataclass(frozen=True, eq=False)
class Inputs:
    """Nodes of one kind as kernels take them, the kernels to choose from, of size about 1, and the scaling."""

    X: Any
    kernels: list[Kernel]
    scaling: Scaling


def inputs_of(nodes: Nodes, settings: Settings, some: NDArray[np.int64] | None = None) -> Inputs:
    """Of features or of given kernel matrices; typical distances are those between `some` of the nodes, None is all."""
    if nodes.kernels is not None:
        return _of_kernels(nodes.kernels, settings)
    X = np.asarray(nodes.X)
    scaling = Scaling.of(X) if settings.scaled else Scaling()
    X = scaling(X)
    views = _columns_of_views(nodes)
    if settings.input_kernel == "linear":
        scaling = replace(scaling, length=_lengths(X, views))
        X = X / scaling.length
    kernels = [_kernels_of(settings.input_kernel, X if some is None else X[some], view) for view in views]
    if len(views) == 1:
        return Inputs(X, kernels[0], scaling)
    join = Mean if settings.combine == "mean" else partial(Aligned, method=settings.combine)
    return Inputs(X, [join(list(parts)) for parts in zip(*kernels, strict=True)], scaling)


def _of_kernels(matrices: dict[str, Matrix], settings: Settings) -> Inputs:
    """Nodes by their number; a matrix of any size is brought to a mean diagonal of 1."""
    kernels: list[Kernel] = [Precomputed(K / np.diagonal(K).mean()) for K in matrices.values()]
    numbers = np.arange(len(next(iter(matrices.values()))))
    if len(kernels) > 1:
        unit: list[Kernel] = [Normalized(kernel) for kernel in kernels]
        kernels = [Mean(unit) if settings.combine == "mean" else Aligned(unit, method=settings.combine)]
    return Inputs(numbers, kernels, Scaling())


def _columns_of_views(nodes: Nodes) -> list[list[int] | None]:
    """The columns of each view; None, all of them, for a single one."""
    if len(nodes.views) < 2:
        return [None]
    ends = np.cumsum([0, *(count for _, count in nodes.views)]).tolist()
    return [list(range(start, end)) for start, end in pairwise(ends)]


def _lengths(X: Matrix, views: list[list[int] | None]) -> Any:
    """The root mean square length of a node in each view, for every column; one number for a single view."""
    lengths = np.ones(X.shape[1])
    for view in views:
        columns = slice(None) if view is None else view
        lengths[columns] = np.sqrt((X[:, columns] ** 2).sum(axis=1).mean()) or 1.0
    return lengths if len(views) > 1 else float(lengths[0])


def _kernels_of(name: str, X: Matrix, view: list[int] | None) -> list[Kernel]:
    """The kernels to choose from on some columns, None being all."""
    kernels: list[Kernel]
    if name == "gaussian":
        gamma = float(RBF().fit(X if view is None else X[:, view]).gamma_)
        kernels = [RBF(gamma * width) for width in WIDTHS]
    else:
        kernels = [{"tanimoto": Tanimoto, "cosine": Cosine, "linear": Linear}[name]()]
    return kernels if view is None else [Columns(kernel, view) for kernel in kernels]


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
        scaled = X if np.isscalar(self.deviation) else (X / self.size - self.mean) / self.deviation
        unit_length = np.isscalar(self.length) and self.length == 1.0
        return np.asarray(scaled if unit_length else scaled / self.length)

    def state(self) -> dict[str, Any]:
        """For a file."""
        return {"size": self.size, "mean": self.mean, "deviation": self.deviation, "length": self.length}


# ------------------------------------------------------------------------------------------------ nodes that come later


@dataclass(frozen=True)
class FeatureFormat:
    """How the tables of a kind of nodes are read and scaled, so that nodes that come later get the same features."""

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
            "scaling": self.scaling.state(),
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
            many = len(self.views)
            count = "one table" if many == 1 else f"{many} tables"
            times = "once" if many == 1 else f"{many} times, in this order"
            raise ValueError(
                f"The model was trained with {count} of features, {tables_of}; give `{argument}` {times}, got "
                f"{len(tables)}."
            )
        means = []
        rest = self.means.tolist()
        for table, (_, columns) in zip(tables, self.views, strict=True):
            own_ids = ids if len(tables) == 1 or _without_ids(table) else None
            there = read_nodes(table, ids=own_ids, missing="zero", means={}, layout=self.layout)
            _check_columns(str(table), there.columns, columns, self.layout.one_hot)
            means.append(dict(zip(columns, rest, strict=False)))
            rest = rest[len(columns) :]
        new = read_views(tables, ids=ids, missing=self.missing, means=means, layout=self.layout)
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
    ends = np.cumsum([0, *(count for _, count in nodes.views)]).tolist()
    found = []
    for (name, _), (start, end) in zip(nodes.views, pairwise(ends), strict=True):
        found.append((name, tuple(column.removeprefix(f"{name}: ") for column in nodes.columns[start:end])))
    return tuple(found)


def _without_ids(table: Any) -> bool:
    return table.numbered if isinstance(table, Cells) else split_name(table)[0].suffix.lower() in (".npy", ".npz")


def _check_columns(table: str, new: Sequence[str], known: Sequence[str], one_hot: tuple[str, ...] = ()) -> None:
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
