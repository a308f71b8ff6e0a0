"""Cross-validation of links: how well are links found that the model has not seen?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from iokr._validation.arguments import check_integer
from iokr.apps.links.comparison import methods_table, percent
from iokr.apps.links.data import LinkData
from iokr.apps.links.described import describe
from iokr.apps.links.features import inputs_of
from iokr.apps.links.methods import METHODS, STACKED, TrainingSet, fit_methods, searches
from iokr.apps.links.model import training_set
from iokr.apps.links.page import cell_of, formula_notes, rejected_tsv
from iokr.apps.links.settings import FitOptions, Settings, check_arguments
from iokr.apps.links.two_kinds import bipartite, held_out_across, new_nodes, splits_across
from iokr.apps.report import MUTED, OURS, THEIRS, Report, Table, Text, run_info, write_run
from iokr.apps.report.progress import Progress, silent
from iokr.apps.report.rankings import curves_tsv, ranking_figures
from iokr.estimators.areas import AREAS, score_of
from iokr.metrics.curves import Curves
from iokr.model_selection import NodeKFold, TooFewLinks
from iokr.model_selection.links import SETTINGS, held_out_metrics, link_splits

if TYPE_CHECKING:
    import pandas as pd

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
        import pandas as pd

        return pd.DataFrame(self.summary_table().flat())

    @property
    def comparison(self) -> pd.DataFrame:
        """Every method."""
        import pandas as pd

        return pd.DataFrame([] if self.comparison_table is None else self.comparison_table.flat())

    @property
    def kinds_of_pairs(self) -> tuple[str, ...]:
        """Which nodes of a held-out pair are new."""
        return new_nodes(self.network.kinds) if self.network.across else SETTINGS

    def summary_table(self) -> Table:
        """The `table`, for a report."""
        rows = []
        for setting in self.kinds_of_pairs:
            part = self.metrics[self.metrics.setting == setting]
            rows.append(
                {
                    "pairs": setting,
                    "AUC-ROC %": percent(part.roc_auc.to_numpy()),
                    "AUC-PR %": percent(part.average_precision.to_numpy()),
                    "early precision %": percent(part.early_precision.to_numpy()),
                    "linked %": round(100 * part.n_links.sum() / max(part.n_pairs.sum(), 1), 2),
                    "number of pairs": int(part.n_pairs.sum()),
                    "links": int(part.n_links.sum()),
                }
            )
        title = f"Accuracy on held-out links, mean ± standard deviation over {self.folds} folds"
        return Table(title, rows, ours=("AUC-ROC %",))

    def report(self, folder: Path | str | None = None, *, spreadsheet_safe: bool = False) -> Report:
        """A page with tables and curves; written to `folder` with all files, where one is given."""
        network = self.network
        table = self.summary_table()
        styles = dict(zip(self.kinds_of_pairs, _STYLES_ACROSS, strict=True)) if network.across else _STYLES
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
                "rejected.tsv": rejected_tsv(network.rejections, cell_of(safe=spreadsheet_safe)),
            },
        )
        if folder is not None:
            write_run(found, Path(folder), spreadsheet_safe=spreadsheet_safe)
        return found

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


class _Ranking(NamedTuple):
    """Held-out pairs of one kind in a fold: whether they are linked, and their scores."""

    fold: int
    setting: str
    truth: NDArray[np.bool_]
    scores: NDArray[np.float64]


def _metrics(rankings: list[_Ranking]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [{"fold": one.fold, "setting": one.setting, **held_out_metrics(one.truth, one.scores)} for one in rankings]
    )


def _curves(rankings: list[_Ranking], settings: Iterable[str]) -> dict[str, Curves]:
    """The mean curves of each kind of pairs, over the folds that have links and other pairs."""
    found = {}
    for setting in settings:
        some = [one for one in rankings if one.setting == setting and one.truth.any() and not one.truth.all()]
        if some:
            found[setting] = Curves.mean(Curves.of(one.truth, one.scores) for one in some)
    return found


def _folds(
    network: LinkData, settings: Settings, folds: int, seed: int, progress: Progress
) -> tuple[str, pd.DataFrame, dict[str, Curves], Table | None]:
    """Every method on pairs with a new node; then the best one on pairs of known nodes, too."""
    data, inputs = training_set(network, settings)
    models = searches(inputs.kernels, settings)
    methods = [*models, "stack"] if settings.method == "auto" else [settings.method]
    total = (len(methods) + 1) * folds
    rankings: dict[str, list[_Ranking]] = {method: [] for method in methods}

    def run(methods: Sequence[str], models: Mapping[str, Any], done: int, kinds_of_pairs: tuple[str, ...]) -> None:
        splitter = NodeKFold(folds, shuffle=True, random_state=seed)
        for split in link_splits(data.graph, splitter, data.labeled, kinds_of_pairs):
            part = TrainingSet(data.X, split.graph, split.train)
            for fitted in fit_methods(methods, models, part):
                found = split.held_out(fitted.decision_function())
                rankings[fitted.method] += [_Ranking(split.fold, *ranking) for ranking in found]
                done += 1
                progress(done, total, f"{METHODS[fitted.method]}, fold {split.fold + 1} of {folds}")

    run(methods, models, 0, ("known-new", "new-new"))
    metrics = {method: _metrics(found) for method, found in rankings.items()}
    best = max(metrics, key=lambda method: _score(metrics[method], settings.scoring))
    comparison = _comparison_table(metrics, best, settings.scoring) if len(methods) > 1 else None
    needed = {name: models[name] for name in (STACKED if best == "stack" else (best,))}
    run([best], needed, len(methods) * folds, ("known-known",))
    found = sorted(rankings[best], key=lambda one: SETTINGS.index(one.setting))
    return best, _metrics(found), _curves(found, SETTINGS), comparison


def _score(metrics: pd.DataFrame, scoring: str) -> float:
    """What decides between models: pairs of a known and a new node, which are the most."""
    part = metrics[metrics.setting == "known-new"]
    return float(score_of(scoring, [part[name].mean() for name in AREAS]))


def _comparison_table(metrics: Mapping[str, pd.DataFrame], best: str, scoring: str) -> Table:
    """Every method, pairs of a known and a new node."""
    order = sorted(metrics, key=lambda method: -_score(metrics[method], scoring))
    areas = {name: metrics[name].query("setting == 'known-new'")[list(AREAS)].to_numpy() for name in order}
    note = "Known-new pairs. The figures of the best are optimistic: it is chosen by these folds."
    return methods_table(areas, f"Models on held-out nodes; {METHODS[best]} is the best by {scoring}", note)


def _folds_across(
    network: LinkData, settings: Settings, folds: int, seed: int, progress: Progress
) -> tuple[str, pd.DataFrame, dict[str, Curves], None]:
    """Pairs with a new row, with a new column, and both new."""
    rows, columns = (inputs_of(nodes, settings) for nodes in network.sides)
    model = bipartite(rows, columns, settings)
    Y = network.links.toarray()
    kinds_of_pairs = new_nodes(network.kinds)
    rankings = []
    splits = list(splits_across(network.links.shape, folds, seed))
    for done, (fold, setting, new_rows, new_columns) in enumerate(splits):
        progress(done, len(splits), f"fold {fold + 1} of {folds}, {kinds_of_pairs[setting]}")
        held_out = held_out_across(model, rows.X, columns.X, Y, new_rows, new_columns)
        if held_out is not None:
            rankings.append(_Ranking(fold, kinds_of_pairs[setting], *held_out))
    if not rankings:
        raise TooFewLinks("No fold has links to learn from and links to find; use fewer `folds`.")
    return "across", _metrics(rankings), _curves(rankings, kinds_of_pairs), None
