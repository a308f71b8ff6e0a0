"""Cross-validation of links: how well are links found that the model has not seen?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr._validation.arguments import check_integer
from iokr.apps.links.data import LinkData, Matrix, Numbers
from iokr.apps.links.described import describe
from iokr.apps.links.features import inputs_of
from iokr.apps.links.methods import (
    METHODS,
    STACKED,
    TrainingSet,
    bipartite,
    fit_methods,
    methods_table,
    percent,
    searches,
)
from iokr.apps.links.model import training_set
from iokr.apps.links.page import formula_notes, rejected_tsv, written
from iokr.apps.links.settings import FitOptions, Settings, check_arguments
from iokr.apps.report import MUTED, OURS, THEIRS, Report, Table, Text, run_info
from iokr.apps.report.progress import Progress, silent
from iokr.apps.report.rankings import curves_tsv, ranking_figures
from iokr.estimators.areas import AREAS, score_of
from iokr.estimators.bipartite import BipartitePredictor
from iokr.metrics.curves import Curves
from iokr.model_selection import NodeKFold, TooFewLinks
from iokr.model_selection.links import SETTINGS, held_out_metrics, link_splits

__all__ = ["LinkScores", "cross_validate"]

_STYLES = {"known-known": (MUTED, "--"), "known-new": (OURS, "-"), "new-new": (THEIRS, "-.")}
_STYLES_ACROSS = ((OURS, "-"), (THEIRS, "-."), (MUTED, "--"))


@dataclass(frozen=True, eq=False, repr=False)
class LinkScores:
    """How well links are found that a model has not seen, by kinds of pairs.

    Attributes
    ----------
    table : DataFrame
        For each kind of pairs, means and deviations of areas under ROC and precision-recall curves over the folds.
    comparison : DataFrame
        The same for every method, pairs of a known and a new node; empty where there is one method.
    metrics : DataFrame
        A row for each fold and kind of pairs, by the method that is best.
    method : str
        The best method.
    curves : dict of str to `iokr.metrics.curves.Curves`
        Means over the folds, by kind of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
    >>> scores = links.cross_validate(network, folds=2, method="pairs", alphas=(0.1,))
    >>> bool(scores.metrics.groupby("setting").roc_auc.mean().min() > 0.9)
    True
    """

    network: LinkData
    settings: Settings
    folds: int
    method: str
    metrics: pd.DataFrame
    curves: Mapping[str, Curves]
    comparison_table: Table | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"LinkScores({self.folds} folds, {self.method!r})"

    @property
    def table(self) -> pd.DataFrame:
        """Means and deviations for each kind of pairs."""
        return pd.DataFrame(self.summary_table().flat())

    @property
    def comparison(self) -> pd.DataFrame:
        """Every method."""
        return pd.DataFrame([] if self.comparison_table is None else self.comparison_table.flat())

    def summary_table(self) -> Table:
        """The `table`, for a report."""
        parts = {setting: self.metrics[self.metrics.setting == setting] for setting in self.network.kinds_of_pairs}
        rows = [
            {
                "pairs": setting,
                "AUC-ROC %": percent(part.roc_auc.to_numpy()),
                "AUC-PR %": percent(part.average_precision.to_numpy()),
                "early precision %": percent(part.early_precision.to_numpy()),
                "linked %": round(100 * part.n_links.sum() / max(part.n_pairs.sum(), 1), 2),
                "number of pairs": int(part.n_pairs.sum()),
                "links": int(part.n_links.sum()),
            }
            for setting, part in parts.items()
        ]
        title = f"Accuracy on held-out links, mean ± standard deviation over {self.folds} folds"
        return Table(title, rows, ours=("AUC-ROC %",))

    def report(
        self, folder: Path | str | None = None, *, force: bool = False, spreadsheet_safe: bool = False
    ) -> Report:
        """A page with tables and curves, with all files in `folder` where one is given.

        Files of an earlier run are overwritten with `force` only.
        """
        network = self.network
        table = self.summary_table()
        styles = dict(zip(network.kinds_of_pairs, _STYLES_ACROSS, strict=True)) if network.across else _STYLES
        tables = (table, self.comparison_table, network.input_table())
        kinds = "two kinds of nodes, " if network.across else ""
        found = Report(
            f"Cross-validation of link prediction, {kinds}{self.folds} folds",
            self._summary(table),
            (
                *(one for one in tables if one is not None),
                Text("Curves", ("Means over the folds; the thin line is random ranking.",)),
                *ranking_figures(self.curves, styles),
            ),
            self._notes(safe=spreadsheet_safe),
            self.info,
            {
                "curves.tsv": curves_tsv(self.curves),
                "rejected.tsv": rejected_tsv(network.rejections, safe=spreadsheet_safe),
            },
        )
        return written(found, folder, force=force, safe=spreadsheet_safe)

    def _summary(self, table: Table) -> str:
        network = self.network
        best = table.rows[0 if network.across else 1]
        nodes = f"{len(network.labeled)} labelled nodes"
        if network.across:
            nodes = " and ".join(
                f"{len(side.ids)} nodes of the kind {kind}"
                for side, kind in zip(network.sides, network.kinds, strict=True)
            )
        return (
            f"{nodes} with {network.n_links} known links. For {best['pairs']} pairs the AUC-ROC is "
            f"{best['AUC-ROC %']} % and the AUC-PR {best['AUC-PR %']} %, where {best['linked %']} % are linked."
        )

    def _notes(self, *, safe: bool) -> tuple[str, ...]:
        network = self.network
        ids = [name for side in network.sides for name in side.ids.tolist()]
        used = STACKED if self.method == "stack" else (self.method,)
        return (
            _HELD_OUT_ACROSS if network.across else _HELD_OUT,
            f"Parameters are chosen within each fold, by {_CHOSEN_BY[self.method]} ({self.settings.scoring}).",
            "Compare AUC-PR with the fraction of linked pairs, the value of random ranking. Early precision is the "
            "fraction of links among the first pairs, as many as there are links.",
            *([_TRANSDUCTIVE] if network.rows.X is not None else []),
            *formula_notes(ids, safe=safe),
            describe(network, self.settings, used),
        )


_HELD_OUT = (
    "A fold of nodes is held out: models see their features and none of their links. For known-known pairs a fold of "
    "the pairs is hidden, that is, shown as not linked."
)
_HELD_OUT_ACROSS = (
    "A fold of one kind of nodes, or of both, is held out: models see their features and none of their links. Pairs "
    "within a kind are not scored."
)
_CHOSEN_BY = {
    "iokr": "leave-one-out",
    "pairs": "folds of the other nodes",
    "stack": "leave-one-out and folds of the other nodes",
    "across": "leaving out rows and columns",
}
_OPTIMISTIC = "Known-new pairs. The figures of the best are optimistic: it is chosen by these folds."
_TRANSDUCTIVE = (
    "Held-out nodes' features enter scaling, imputation and the bandwidths to choose from (transductive), as in "
    "prediction; their links do not."
)


# ------------------------------------------------------------------------------------------------------------ the folds


def cross_validate(
    network: LinkData, *, folds: int = 5, seed: int = 0, progress: Progress = silent, **options: Unpack[FitOptions]
) -> LinkScores:
    """AUC-ROC and AUC-PR on links that the model has not seen, by folds over the nodes.

    Parameters are chosen anew in every fold.

    Parameters
    ----------
    network : LinkData
    folds : int, default=5
        The number of parts of the nodes; at most half the number of (labelled) nodes of a kind.
    seed, progress, **options :
        As in `fit`.

    Returns
    -------
    LinkScores

    Raises
    ------
    TooFewLinks
        When there are too few nodes or links for the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
    >>> links.cross_validate(network, folds=2, method="pairs", alphas=(0.1,)).table.pairs.tolist()
    ['known-known', 'known-new', 'new-new']
    """
    start = perf_counter()
    check_arguments({**network.arguments, **options})
    settings = Settings(**options)
    check_integer(folds, "folds", minimum=2)
    n = min(network.links.shape) if network.across else len(network.labeled)
    if n < 2 * folds:
        nodes = "nodes of a kind" if network.across else "labelled nodes"
        raise TooFewLinks(f"{n} {nodes} are too few for {folds} folds; `folds` must be at most half of them.")
    found = (_folds_across if network.across else _folds)(network, settings, folds, seed, progress)
    info = run_info(seed=seed, seconds=perf_counter() - start, files=network.files)
    return LinkScores(network, settings, folds, *found, info=info)


_Ranking = tuple[int, str, NDArray[np.bool_], Matrix]
"""A fold, the kind of its held-out pairs, whether they are linked, and their scores."""


def _metrics(rankings: list[_Ranking]) -> pd.DataFrame:
    return pd.DataFrame(
        {"fold": fold, "setting": setting, **held_out_metrics(truth, scores)}
        for fold, setting, truth, scores in rankings
    )


def _curves(rankings: list[_Ranking], settings: Iterable[str]) -> dict[str, Curves]:
    """The mean curves of each kind of pairs, over the folds that have links and other pairs."""
    curves: dict[str, list[Curves]] = {setting: [] for setting in settings}
    for _, setting, truth, scores in rankings:
        if truth.any() and not truth.all():
            curves[setting].append(Curves.of(truth, scores))
    return {setting: Curves.mean(found) for setting, found in curves.items() if found}


def _folds(
    network: LinkData, settings: Settings, folds: int, seed: int, progress: Progress
) -> tuple[str, pd.DataFrame, dict[str, Curves], Table | None]:
    """Every method on pairs with a new node; then the best one on pairs of known nodes, too."""
    data, inputs = training_set(network, settings)
    models = searches(inputs.kernels, settings)
    methods = settings.methods
    total = (len(methods) + 1) * folds
    rankings: dict[str, list[_Ranking]] = {method: [] for method in methods}

    def run(methods: Sequence[str], done: int, kinds_of_pairs: tuple[str, ...]) -> None:
        splitter = NodeKFold(folds, shuffle=True, random_state=seed)
        for split in link_splits(data.graph, splitter, data.labeled, kinds_of_pairs):
            part = TrainingSet(data.X, split.graph, split.train)
            for fitted in fit_methods(methods, models, part):
                found = split.held_out(fitted.decision_function())
                rankings[fitted.method] += [(split.fold, *ranking) for ranking in found]
                done += 1
                progress(done, total, f"{METHODS[fitted.method]}, fold {split.fold + 1} of {folds}")

    run(methods, 0, ("known-new", "new-new"))
    areas = {method: _known_new(found) for method, found in rankings.items()}
    order = sorted(methods, key=lambda method: -score_of(settings.scoring, np.nanmean(areas[method], axis=0)))
    best = order[0]
    comparison = None
    if len(methods) > 1:
        comparison = methods_table({method: areas[method] for method in order}, settings.scoring, _OPTIMISTIC)
    run([best], len(methods) * folds, ("known-known",))
    found = sorted(rankings[best], key=lambda one: SETTINGS.index(one[1]))
    return best, _metrics(found), _curves(found, SETTINGS), comparison


def _known_new(rankings: list[_Ranking]) -> Matrix:
    """The areas on pairs of a known and a new node, which are the most: they decide between models."""
    metrics = _metrics(rankings)
    return np.asarray(metrics.loc[metrics.setting == "known-new", list(AREAS)])


def _folds_across(
    network: LinkData, settings: Settings, folds: int, seed: int, progress: Progress
) -> tuple[str, pd.DataFrame, dict[str, Curves], None]:
    """Pairs with a new row, with a new column, and both new."""
    rows, columns = (inputs_of(nodes, settings) for nodes in network.sides)
    model = bipartite(rows, columns, settings)
    Y = network.links.toarray()
    kinds_of_pairs = network.kinds_of_pairs
    rankings = []
    splits = list(_splits_across(network.links.shape, folds, seed))
    for done, (fold, setting, new_rows, new_columns) in enumerate(splits):
        progress(done, len(splits), f"fold {fold + 1} of {folds}, {kinds_of_pairs[setting]}")
        held_out = _held_out_across(model, rows.X, columns.X, Y, new_rows, new_columns)
        if held_out is not None:
            rankings.append((fold, kinds_of_pairs[setting], *held_out))
    if not rankings:
        raise TooFewLinks("No fold has links to learn from and links to find; use fewer `folds`.")
    return "across", _metrics(rankings), _curves(rankings, kinds_of_pairs), None


def _splits_across(shape: tuple[int, int], folds: int, seed: int) -> Iterator[tuple[int, int, Numbers, Numbers]]:
    """(fold, setting, rows and columns that are new), setting 0, 1 or 2 as in `LinkData.kinds_of_pairs`."""
    rng = np.random.default_rng(seed)
    rows, columns = (np.array_split(rng.permutation(size), folds) for size in shape)
    nothing = np.arange(0)
    for fold in range(folds):
        yield fold, 0, rows[fold], nothing
        yield fold, 1, nothing, columns[fold]
        yield fold, 2, rows[fold], columns[fold]


def _held_out_across(
    model: BipartitePredictor, X: Matrix, Z: Matrix, Y: Matrix, rows: Numbers, columns: Numbers
) -> tuple[Any, Any] | None:
    """Whether pairs with these new rows and columns are linked, and their scores; None where nothing can be learned."""
    n, m = Y.shape
    i = np.setdiff1d(np.arange(n), rows)
    j = np.setdiff1d(np.arange(m), columns)
    known = Y[np.ix_(i, j)]
    rows = rows if len(rows) else i
    columns = columns if len(columns) else j
    truth = Y[np.ix_(rows, columns)].ravel() > 0
    if not known.any() or known.all() or not truth.any() or truth.all():
        return None
    scores = model.fit(X[i], Z[j], known).decision_function(X[rows], Z[columns])
    return truth, np.asarray(scores).ravel()
