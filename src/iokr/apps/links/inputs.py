"""Features of nodes as kernels take them: scaled, a kernel for every view, and what is done to later nodes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.defaults import WIDTHS
from iokr.apps.readers import Nodes, read_nodes, read_views
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.tables import split_name
from iokr.kernels.algebra import Mean
from iokr.kernels.alignment import Aligned
from iokr.kernels.base import Kernel
from iokr.kernels.features import Columns
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import RBF, Cosine, Linear

if TYPE_CHECKING:
    from iokr.apps.links.model import Options

__all__ = ["Features", "Scaling", "feature_inputs"]

Matrix = NDArray[np.float64]


def feature_inputs(
    options: Options, nodes: Nodes, some: NDArray[np.int64] | None = None
) -> tuple[Matrix, list[Kernel], Scaling]:
    """Nodes as the kernels take them, the kernels to choose from, of size about 1, and the scaling.

    Typical distances are those of `some` of the nodes; None is all. Several views have a kernel each, joined as
    `--combine` says.
    """
    X = np.asarray(nodes.X)
    scaling = Scaling.of(X) if options.scale and options.input_kernel != "tanimoto" else Scaling()
    X = scaling(X)
    ends = np.cumsum([0, *(count for _, count in nodes.views)])
    views = [list(range(a, b)) for a, b in pairwise(ends.tolist())] if len(nodes.views) > 1 else [None]
    if options.input_kernel == "linear":
        length = np.ones(X.shape[1])
        for view in views:
            columns = slice(None) if view is None else view
            length[columns] = np.sqrt((X[:, columns] ** 2).sum(axis=1).mean()) or 1.0
        scaling = replace(scaling, length=length if len(views) > 1 else float(length[0]))
        X = X / length
    of_views = [_kernels_of(options.input_kernel, X if some is None else X[some], view) for view in views]
    if len(views) == 1:
        return X, of_views[0], scaling
    join = Mean if options.combine == "mean" else partial(Aligned, method=options.combine)
    return X, [join(list(parts)) for parts in zip(*of_views, strict=True)], scaling


def _kernels_of(name: str, X: NDArray[Any], view: list[int] | None) -> list[Kernel]:
    """The kernels to choose from on some columns, None being all."""
    found: list[Kernel] = [{"tanimoto": Tanimoto, "cosine": Cosine, "linear": Linear}.get(name, Linear)()]
    if name == "gaussian":
        gamma = float(RBF().fit(X if view is None else X[:, view]).gamma_)
        found = [RBF(gamma * width) for width in WIDTHS]
    return found if view is None else [Columns(kernel, view) for kernel in found]


@dataclass(frozen=True)
class Scaling:
    """((x / size) − mean) / deviation / length: what was done to the features at training, for new nodes too."""

    size: Any = 1.0  # so that squares do not overflow
    mean: Any = 0.0
    deviation: Any = 1.0
    length: Any = 1.0

    @classmethod
    def of(cls, X: NDArray[Any]) -> Scaling:
        """Every feature with mean 0 and variance 1; one that does not vary is 0."""
        size = np.abs(X).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        X = X / size
        deviation = X.std(axis=0)
        return cls(size, X.mean(axis=0), np.where(deviation > 1e-12, deviation, np.inf))

    def __call__(self, X: NDArray[Any]) -> NDArray[Any]:
        """Features, scaled."""
        scaled = X if np.isscalar(self.deviation) else (X / self.size - self.mean) / self.deviation
        return np.asarray(scaled if np.isscalar(self.length) and self.length == 1.0 else scaled / self.length)


@dataclass(frozen=True)
class Features:
    """What is kept of the tables of a kind of nodes, so that nodes that come later are read in the same way."""

    columns: tuple[str, ...]
    views: tuple[tuple[str, tuple[str, ...]], ...]  # tables, with the names of their columns there
    layout: Layout
    means: Matrix  # to fill in
    missing: str
    scaling: Scaling

    @classmethod
    def of(cls, options: Options, nodes: Nodes, scaling: Scaling) -> Features:
        """Of nodes that were learned from."""
        means = np.asarray(nodes.X).mean(axis=0)
        return cls(nodes.columns, _views(nodes), options.layout, means, options.missing, scaling)

    def state(self) -> dict[str, Any]:
        """For a file."""
        parts = {name: getattr(self.scaling, name) for name in ("size", "mean", "deviation", "length")}
        return {
            "columns": list(self.columns),
            "views": [[name, list(columns)] for name, columns in self.views],
            "layout": asdict(self.layout),
            "means": self.means,
            "missing": self.missing,
            "scaling": parts,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Features:
        """From a file; those of the first models know one table, and nothing of its layout."""
        views = state.get("views") or [["", state["columns"]]]
        return cls(
            tuple(state["columns"]),
            tuple((name, tuple(columns)) for name, columns in views),
            Layout.from_state(state.get("layout", {})),
            np.asarray(state["means"]),
            state["missing"],
            Scaling(**state["scaling"]),
        )

    def read(self, model: Path, files: tuple[str, ...], ids: str | None, option: str) -> tuple[Nodes, Matrix]:
        """The nodes of files, and their features in the order and the scale of those that were learned from."""
        if len(files) != len(self.views):
            named, many = ", ".join(repr(name) for name, _ in self.views), len(self.views)
            raise ValueError(
                f"{model} was trained with {many} table{'s' * (many > 1)} of features, {named}; give {option} "
                f"{'once' if many == 1 else f'{many} times, in this order'}, got {len(files)}."
            )
        means, start = [], self.means.tolist()
        for name, (_, columns) in zip(files, self.views, strict=True):
            found = read_nodes(name, ids=_own(name, ids, len(files)), missing="zero", means={}, layout=self.layout)
            _check_columns(model, name, list(found.columns), list(columns), self.layout.one_hot)
            means.append(dict(zip(columns, start, strict=False)))
            start = start[len(columns) :]
        new = read_views(files, ids=ids, missing=self.missing, means=means, layout=self.layout)
        parts = enumerate(_views(new))
        at = {key: j for j, key in enumerate((k, name) for k, (_, columns) in parts for name in columns)}
        padded = np.column_stack([np.asarray(new.X), np.zeros(len(new.ids))])  # a category that no new node has is 0
        order = [at.get((k, name), -1) for k, (_, columns) in enumerate(self.views) for name in columns]
        return new, self.scaling(padded[:, order])


def _views(nodes: Nodes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The tables that the features come from, and the names of their columns there."""
    if len(nodes.views) < 2:
        return tuple((name, tuple(nodes.columns)) for name, _ in nodes.views)
    ends = np.cumsum([0, *(count for _, count in nodes.views)]).tolist()
    parts = ((name, nodes.columns[a:b]) for (name, _), (a, b) in zip(nodes.views, pairwise(ends), strict=True))
    return tuple((name, tuple(column.removeprefix(f"{name}: ") for column in columns)) for name, columns in parts)


def _own(name: str, ids: str | None, several: int) -> str | None:
    return ids if several == 1 or split_name(name)[0].suffix.lower() in (".npy", ".npz") else None


def _check_columns(model: Path, nodes: str, new: list[str], known: list[str], one_hot: tuple[str, ...] = ()) -> None:
    """The same names, in any order; a category may be missing, but none may be new."""
    absent, more = [c for c in known if c not in new], [c for c in new if c not in known]
    if len(set(new)) < len(new):
        raise ValueError(f"{nodes}: the column {max(new, key=new.count)!r} appears twice.")
    if one_hot:
        there = {name.partition("=")[0] for name in new}
        absent = [c for c in absent if "=" not in c or c.partition("=")[0] not in there]
    if not absent and not more:
        return
    parts = [f"has no column {_listed(absent)}"] if absent else []
    parts += [f"has {_listed(more)}, which the model does not know"] if more else []
    raise ValueError(
        f"{nodes} {' and '.join(parts)}; {model} was trained with {len(known)} columns, {_listed(known)}. "
        "Give the same columns, in any order."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
