"""From the options of `iokr links` to a network and a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.defaults import ALPHAS, NEIGHBORS, STRENGTHS
from iokr.apps.links.inputs import Scaling, feature_inputs
from iokr.apps.links.placed import Asked, Placed
from iokr.apps.readers import NetworkFiles, Rejection, read_network
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.tables import split_name
from iokr.apps.readers.text_tables import STDIN
from iokr.apps.report import Table
from iokr.apps.report.tables import no_formula, tab_separated
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.kernels.algebra import Mean, Normalized
from iokr.kernels.alignment import Aligned
from iokr.kernels.base import Kernel
from iokr.kernels.nodes import Diffusion
from iokr.kernels.precomputed import Precomputed
from iokr.manifolds.laplacian import Laplacian

__all__ = ["Options", "Task", "formula_notes", "rejected_tsv"]


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    edges: str
    nodes: tuple[str, ...]
    kernels: tuple[str, ...]
    ids: str | None
    labeled: str
    missing: str
    scale: bool
    input_kernel: str
    combine: str
    beta: float
    unlabeled: bool
    scoring: str
    spreadsheet_safe: bool = False
    method: str = "auto"
    all: bool = False
    alphas: tuple[float, ...] | None = None
    partners_of: tuple[str, ...] = ()
    between: tuple[str, str] | None = None
    columns: tuple[str, ...] | None = None
    id_column: str | None = None
    one_hot: tuple[str, ...] = ()
    transpose: bool = False
    decimal: str = "auto"
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    partners: tuple[str, ...] = ()
    bipartite: bool = False

    @property
    def layout(self) -> Layout:
        """Of the tables of nodes."""
        ids = () if self.id_column is None else (self.id_column,)
        return Layout(ids, self.columns, self.one_hot, self.transpose, self.decimal)

    @property
    def edge_columns(self) -> dict[str, Any]:
        """Of the edge list."""
        return {"source": self.source, "target": self.target, "weight": self.weight, "decimal": self.decimal}

    def cell(self, value: Any) -> str:
        """A value for a TSV file, as it is or, if that was asked for, safe for spreadsheets."""
        return str(no_formula(value)) if self.spreadsheet_safe else str(value)

    def paths(self) -> list[Path]:
        """The files that are read."""
        named = [*self.nodes, *self.partners, *self.kernels, self.edges, self.ids]
        named += [self.labeled] if self.labeled not in ("edges", "all") else []
        named += [*(self.between or ())]
        return list(dict.fromkeys(split_name(name)[0] for name in named if name not in (None, STDIN)))

    def asked(self, top: int) -> Asked:
        """Which links are listed."""
        return Asked(top, self.partners_of, self.between, self.spreadsheet_safe)

    def in_words(self, *methods: str) -> str:
        """The model in a sentence; two methods are a stack."""
        compared = self.compared_by()
        if len(methods) > 1:
            return (
                "Two models together, weighed by nodes left out (`LinkStack`): ridge regression on all pairs and Input "
                f"Output Kernel Regression; {compared}."
            )
        if methods == ("pairs",):
            return f"Ridge regression on all pairs of labelled nodes (`PairModel`): {compared}."
        graph = f"diffusion kernel with time {self.beta:g} on the known links, whose weights are divided by their mean"
        semi = "; the features of unlabelled nodes take part" if self.unlabeled else ""
        return f"Input Output Kernel Regression, ridge: {compared}, {graph}{semi}."

    def compared_by(self) -> str:
        """How inputs are compared."""
        scaled = "scaled " if self.scale and self.input_kernel != "tanimoto" else ""
        if len(self.nodes) > 1:
            every = f"{self.input_kernel} kernels on the {scaled}features of {len(self.nodes)} views"
            return f"{every}, combined by {self.combine}"
        if self.nodes:
            return f"{self.input_kernel} kernel on {scaled}features"
        if len(self.kernels) == 1:
            return "the given kernel"
        return f"{len(self.kernels)} kernels with unit diagonal, combined by {self.combine}"


@dataclass(frozen=True)
class Task:
    """A network, its nodes as the model takes them, and the model."""

    options: Options
    network: NetworkFiles
    X: NDArray[Any]
    model: LinkPredictorCV
    scaling: Scaling

    @classmethod
    def of(cls, options: Options) -> Task:
        """Read the files and set the model up."""
        network = read_network(
            options.edges,
            nodes=options.nodes,
            kernels=options.kernels,
            ids=options.ids,
            labeled=options.labeled,
            missing=options.missing,
            layout=options.layout,
            columns=options.edge_columns,
        )
        X, kernels, scaling = _inputs(options, network)
        manifold = Laplacian(n_neighbors=NEIGHBORS) if options.unlabeled else None
        model = LinkPredictorCV(
            kernels,
            alphas=options.alphas or ALPHAS,
            manifold_weights=STRENGTHS if options.unlabeled else None,
            scoring=options.scoring,
            output_kernel=Normalized(Diffusion(options.beta)),
            manifold=manifold,
        )
        return cls(options, network, X, model, scaling)

    @property
    def graph(self) -> Any:
        """The known links, weights divided by their mean, so that the diffusion time does not depend on the unit."""
        known = self.network.adjacency / self.network.adjacency.data.max()  # so that their sum does not overflow
        return known / known.data.mean()

    @property
    def ids(self) -> NDArray[np.str_]:
        """Of the nodes."""
        return self.network.nodes.ids

    def input_table(self) -> Table:
        """What was read, and what did not fit."""
        network = self.network
        nodes = network.nodes
        p, named = len(nodes.columns), ", ".join(nodes.kernels or nodes.columns[:3])
        measured = f"kernels {named}" if nodes.X is None else f"{p} features: {named}{', …' if p > 3 else ''}"
        if len(nodes.views) > 1:
            measured = f"{len(nodes.views)} views: " + ", ".join(
                f"{name} ({count} features)" for name, count in nodes.views
            )
        listed = _LABELED.get(self.options.labeled, "as listed")
        by_row = "nodes named by row number" if network.by_position else ""
        rows: list[dict[str, Any]] = [
            {"what": "nodes", "count": len(nodes.ids), "": measured},
            {"what": "labelled nodes", "count": len(network.labeled), "": listed},
            {"what": "known links, learned from", "count": network.n_learned, "": by_row},
        ]
        if network.comments:
            rows.append({"what": "lines that begin with #", "count": network.comments, "": "taken for comments"})
        actions = Counter((f"{r.what}: {r.reason}", r.action) for r in network.rejections)
        rows += [{"what": what, "count": count, "": action} for (what, action), count in actions.items()]
        gone = [r for r in network.rejections if not r.action.startswith("filled")]
        note = "Every row that did not fit is listed in `rejected.tsv`." if gone else ""
        return Table("Input", rows, note=" ".join((*(f"{said}." for said in network.notes), note)).strip())

    def rejected(self) -> str:
        """The rows that were not taken as they are, as TSV; nodes whose gaps were filled are kept, and not here."""
        gone = [r for r in self.network.rejections if not r.action.startswith("filled")]
        return rejected_tsv(gone, self.options.cell)

    @property
    def placed(self) -> Placed:
        """Its nodes, for a list of links."""
        return Placed(self.ids, self.X, self.network.adjacency, self.network.labeled)

    def notes(self) -> tuple[str, ...]:
        """What is to be known about ids that begin like a formula, if there are any."""
        return formula_notes(self.ids.tolist(), safe=self.options.spreadsheet_safe)


def formula_notes(ids: Sequence[str], *, safe: bool) -> tuple[str, ...]:
    """What is to be known about ids that begin like a formula, if there are any."""
    odd = [name for name in ids if no_formula(name) != name]
    if not odd:
        return ()
    some = f"{len(odd)} ids begin with =, +, - or @" if len(odd) > 1 else "An id begins with =, +, - or @"
    if safe:
        return (f"{some}: in TSV files an apostrophe stands before them; other files have ids as they are.",)
    return (f"{some}, which spreadsheets execute: `--spreadsheet-safe` writes an apostrophe before them.",)


def rejected_tsv(rejections: Sequence[Rejection], cell: Callable[[Any], str] = str) -> str:
    """Rows that did not fit, as TSV; `cell` writes a value."""
    head = [field.name for field in fields(Rejection)]
    return tab_separated(head, ([cell("" if v is None else v) for v in astuple(one)] for one in rejections))


_LABELED = {"edges": "those in the edge list", "all": "all"}


def _inputs(options: Options, network: NetworkFiles) -> tuple[NDArray[Any], list[Kernel], Scaling]:
    """Nodes as the kernels take them, the kernels to choose from, of size about 1 as `ALPHAS` expects, the scaling."""
    nodes = network.nodes
    if nodes.kernels is not None:
        given: list[Kernel] = [Precomputed(K / np.diagonal(K).mean()) for K in nodes.kernels.values()]
        numbers = np.arange(len(nodes.ids))
        if len(given) == 1:
            return numbers, given, Scaling()
        unit: list[Kernel] = [Normalized(kernel) for kernel in given]
        return numbers, [Mean(unit) if options.combine == "mean" else Aligned(unit, method=options.combine)], Scaling()
    X = np.asarray(nodes.X)
    if not np.ptp(X, axis=0).any():
        files = " and ".join(options.nodes)
        raise ValueError(f"{files}: every feature has one value for all {len(X)} nodes: nothing to learn from.")
    return feature_inputs(options, nodes, network.labeled)
