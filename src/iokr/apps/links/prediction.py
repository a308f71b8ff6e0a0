"""The pairs most likely to be linked that are not known to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from iokr._validation.arguments import check_integer
from iokr.apps.links.data import LinkData, Matrix, Numbers, files_of
from iokr.apps.links.explanation import Details, Terms, evidence, evidence_across, shared_neighbours, similarity
from iokr.apps.links.features import LaterNodes, with_later
from iokr.apps.links.model import LinkModel, fit
from iokr.apps.links.nodes import ModelNodes, PairScores, Selection, rank
from iokr.apps.links.page import network_of, prediction_report, written
from iokr.apps.links.settings import FitOptions, check_arguments
from iokr.apps.report import Report, Table, run_info
from iokr.apps.report.progress import Progress, silent

if TYPE_CHECKING:
    import networkx as nx
__all__ = ["LinkResult", "predict"]


@dataclass(frozen=True, eq=False, repr=False)
class LinkResult:
    """Predicted links, best first, with probabilities and evidence.

    Attributes
    ----------
    model : LinkModel
    nodes : ModelNodes
        The nodes of the model, and new ones.
    pairs : ndarray of shape (k, 2)
        The numbers of source and target among `nodes`.
    table : DataFrame
        A row for each predicted link: rank, source, target, score, probability (where nodes could be held out to
        calibrate it), and the training nodes or known links that contribute most to the score.
    comparison, chosen : DataFrame
        Those of the model.
    info : dict
        Of the run: seed, seconds, versions, files.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
    >>> result = links.predict(network, method="iokr", alphas=(0.01, 0.1), top=3)
    >>> result.table[["rank", "source", "target"]].shape, len(result.network().edges) - network.n_links
    ((3, 3), 3)
    """

    model: LinkModel
    nodes: ModelNodes
    pairs: Numbers
    table: pd.DataFrame
    details: Details
    selection: Selection
    later: tuple[LaterNodes | None, ...] = ()
    info: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"LinkResult({len(self.table)} links, {self.model!r})"

    @property
    def comparison(self) -> pd.DataFrame:
        """How well links of held-out nodes are found."""
        return self.model.comparison

    @property
    def chosen(self) -> pd.DataFrame:
        """The parameters that were chosen."""
        return self.model.chosen

    def network(self) -> nx.Graph:
        """Known and predicted links, with the attribute `kind`."""
        return network_of(self)

    def report(
        self, folder: Path | str | None = None, *, force: bool = False, spreadsheet_safe: bool = False
    ) -> Report:
        """A page with tables, the network and evidence, with all files in `folder` where one is given.

        Files of an earlier run are overwritten with `force` only.
        """
        found = prediction_report(self, spreadsheet_safe=spreadsheet_safe)
        return written(found, folder, force=force, safe=spreadsheet_safe)


def predict(
    source: LinkData | LinkModel,
    *,
    nodes: Any = None,
    partners: Any = None,
    ids: Any = None,
    top: int = 1000,
    partners_of: Sequence[str] | None = None,
    between: tuple[Any, Any] | None = None,
    seed: int = 0,
    progress: Progress = silent,
    **options: Unpack[FitOptions],
) -> LinkResult:
    """Rank the pairs of nodes that are not known to be linked.

    Parameters
    ----------
    source : LinkData or LinkModel
        A network, to which a model is fitted, or a fitted model.
    nodes, partners : like those of `read`, optional
        For a fitted model: new nodes of each kind; their features are scaled and checked as at training.
        Only pairs with a node that the model does not know are ranked.
    ids : path or sequence of str, optional
        Ids of the rows of `nodes`, where these have none.
    top : int, default=1000
        How many links to list.
    partners_of : sequence of str, optional
        Only pairs with one of these nodes.
    between : pair of lists of ids, or of files of ids, optional
        Only pairs of a node of one list and one of the other.
    seed, progress, **options :
        As in `fit`.

    Returns
    -------
    LinkResult

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
    >>> model = links.fit(network, method="iokr", alphas=(0.01, 0.1))
    >>> new = np.array([[0.02], [5.9]])
    >>> later = links.predict(model, nodes=new, ids=["u", "v"], partners_of=["v"], top=1)
    >>> later.table.source[0], int(later.table.target[0]) > 30
    ('v', True)
    """
    start = perf_counter()
    selection = Selection(check_integer(top, "top", minimum=1), tuple(partners_of or ()), between)
    chosen = {"partners_of": partners_of, "between": between}
    if isinstance(source, LinkModel):
        model = source
        check_arguments({"model": model, "nodes": nodes, "partners": partners, **chosen, **options})
        known, later = with_later(model, nodes, partners, ids)
    else:
        check_arguments({**source.arguments, **chosen, **options})
        # A mistake in the selection is found before the work.
        selection.blocks(ModelNodes.of(source, [side.ids for side in source.sides]))
        model = fit(source, seed=seed, progress=progress, **options)
        known, later = model.nodes, ()
    blocks = selection.blocks(known)
    progress(0, 1, "ranking pairs")
    scores = PairScores.of(model.parts, known)
    pairs, values = rank(known, scores, blocks, selection.top)
    table, details = _table(model, known, scores, pairs, values)
    progress(1, 1, "ranking pairs")
    files = files_of([list(model.files), nodes, partners], [ids, *(between or ())])
    info = run_info(seed=seed, seconds=perf_counter() - start, files=files)
    return LinkResult(model, known, pairs, table, details, selection, later, info)


def _table(
    model: LinkModel, nodes: ModelNodes, scores: PairScores, pairs: Numbers, values: Matrix
) -> tuple[pd.DataFrame, Details]:
    """The list of links, and the evidence for each."""
    names = nodes.ids[pairs]
    if nodes.across:
        one, other = nodes.kinds
        degrees = nodes.adjacency.sum(axis=1).astype(np.int64)[pairs]
        known = (degrees > 0).astype(int)
        kinds = np.array([["both new", f"new {one}"], [f"new {other}", "both known"]])
        columns = {
            **model.calibrated(values, 1.0),
            "pair": kinds[known[:, 0], known[:, 1]],
            "known links of source": degrees[:, 0],
            "known links of target": degrees[:, 1],
        }
        details = evidence_across(nodes, model.estimator, pairs)
    else:
        terms = Terms.of(model.parts, nodes)
        kinds = np.array(["new–new", "labelled–new", "labelled–labelled"])
        columns = {
            **model.calibrated(values, scores.size(nodes.labeled)),
            "pair": kinds[nodes.is_labeled[pairs].sum(axis=1)],
            "shared partners": shared_neighbours(nodes, pairs),
            "similarity": similarity(nodes, terms.kernel, pairs),
        }
        details = evidence(nodes, scores, terms, pairs)
    table = {
        "rank": np.arange(1, len(pairs) + 1),
        "source": names[:, 0],
        "target": names[:, 1],
        "score": values,
        **columns,
        "above threshold": values > model.threshold,
        "evidence": [_text(parts) for parts in details],
    }
    return pd.DataFrame(table), details


def _text(details: Sequence[Table]) -> str:
    """Evidence in a cell: ends and shares of the largest terms."""
    rows = [list(row.values()) for table in details for row in table.rows]
    return "; ".join(f"{row[0]} – {row[1]} ({row[-1]})" for row in rows)
