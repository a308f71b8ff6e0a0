"""Cross-validation of link prediction over nodes: pairs of known and of new nodes apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from iokr._array import to_numpy
from iokr.data.objects import n_objects
from iokr.kernels.nodes import check_graph
from iokr.metrics.pairs import pair_metrics
from iokr.model_selection.nodes import TooFewLinks, check_labeled, node_folds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SETTINGS", "LinkSplit", "cross_validate_links", "held_out_metrics", "link_splits"]

SETTINGS = ("known-known", "known-new", "new-new")


def cross_validate_links(
    model: Any,
    X: Any,
    adjacency: Any,
    cv: Any = 5,
    *,
    labeled: Any = None,
    settings: tuple[str, ...] = SETTINGS,
) -> pd.DataFrame:
    """AUC-ROC, AUC-PR and early precision on pairs whose links the model never saw, a row per fold and setting.

    known–new and new–new: a fold of nodes is new; the model is fitted on the links between the others (and, if it uses
    unlabelled nodes, on the features of all). known–known: a fold of the pairs between the other nodes is hidden, that
    is, shown as not linked, in a fit of its own.

    Parameters
    ----------
    model : estimator with `fit(X, adjacency, labeled)` and `decision_function()`
        `LinkPredictor`, or one of `iokr_lab.baselines`.
    X : array or sequence of N nodes
    adjacency : array or sparse matrix of shape (N, N)
        Symmetric; only rows and columns in `labeled` are read.
    cv : int or splitter, default=5
        An integer is `NodeKFold(cv)`.
    labeled : integers, or mask of shape (N,), default=None
        The nodes whose mutual links are all known, of which the folds are made; None is all. The features
        of the others are used by semi-supervised models; their links are not evaluated.
    settings : tuple of str
        Which of "known-known", "known-new", "new-new"; without the first, one fit less per fold.

    Returns
    -------
    metrics : DataFrame
        Columns `fold`, `setting`, `roc_auc`, `average_precision`, `early_precision`, `prevalence`, `n_pairs`,
        `n_links`. They are NaN where a model gives no scores, or a fold has no links.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import LinkPredictor
    >>> from iokr.model_selection import cross_validate_links
    >>> X = np.arange(30.0)[:, None] // 10
    >>> metrics = cross_validate_links(LinkPredictor(), X, (X == X.T) - np.eye(30), cv=3)
    >>> metrics.groupby("setting").roc_auc.mean()
    setting
    known-known    1.0
    known-new      1.0
    new-new        1.0
    Name: roc_auc, dtype: float64
    """
    import pandas as pd

    if not hasattr(model, "decision_function") or isinstance(model, type):
        raise TypeError(f"`model` must be a link predictor, such as `LinkPredictor()`, got {model!r:.60}.")
    W = check_graph(adjacency, "adjacency")
    N = n_objects(X)
    if W.shape[0] != N:
        raise ValueError(f"`adjacency` has {W.shape[0]} nodes but X has {N}; cross-validation needs all links.")
    rows: list[dict[str, Any]] = []
    for split in link_splits(W, cv, labeled, settings):
        fitted = clone(model).fit(X, split.graph, labeled=split.train)
        for setting, truth, scores in split.held_out(to_numpy(fitted.decision_function())):
            rows.append({"fold": split.fold, "setting": setting, **held_out_metrics(truth, scores)})
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """The links that a model is fitted to, and the pairs of nodes that are held out."""

    fold: int
    train: np.ndarray  # numbers of the nodes whose links are known
    graph: csr_array  # (N, N), the links, without those that are hidden
    truth: np.ndarray  # (N, N), every pair: is it linked?
    pairs: Mapping[str, np.ndarray]  # for each setting, a mask (N, N) of its pairs i < j

    def held_out(self, scores: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """(setting, truth, scores) of the pairs that are held out, from the scores of all pairs, (N, N)."""
        for setting, pairs in self.pairs.items():
            yield setting, self.truth[pairs], scores[pairs]


def link_splits(
    graph: csr_array, cv: Any = 5, labeled: Any = None, settings: tuple[str, ...] = SETTINGS
) -> Iterator[LinkSplit]:
    """What `cross_validate_links` fits and evaluates on; known–known pairs of a fold are a split of their own."""
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown or not settings:
        raise ValueError(f"`settings` must be among {', '.join(map(repr, SETTINGS))}, got {settings!r}.")
    N = graph.shape[0]
    folds, index = node_folds(cv), check_labeled(labeled, N)
    linked = graph.toarray() != 0
    for fold, (train, test) in enumerate(folds.split(index)):
        train = index[train]
        known, new = np.zeros((2, N), dtype=bool)
        known[train] = new[index[test]] = True
        mixed = known[:, None] & new[None, :]
        where = {"known-new": mixed | mixed.T, "new-new": new[:, None] & new[None, :]}
        wanted = {setting: np.triu(where[setting], k=1) for setting in where if setting in settings}
        if "known-known" in settings:
            hidden = _hidden(train, N, folds.get_n_splits(), fold)
            shown = csr_array(graph.multiply(~hidden))
            yield _split(fold, train, shown, linked, {"known-known": np.triu(hidden, k=1)})
        if wanted:
            yield _split(fold, train, graph, linked, wanted)


def _split(fold: int, train: np.ndarray, graph: csr_array, linked: np.ndarray, pairs: dict[str, Any]) -> LinkSplit:
    if not graph[train][:, train].count_nonzero():
        raise TooFewLinks(
            f"Fold {fold} leaves no link between known nodes to learn from; use fewer folds, or a fuller `adjacency`."
        )
    return LinkSplit(fold, train, graph, linked, pairs)


def _hidden(train: np.ndarray, N: int, n_splits: int, seed: int) -> np.ndarray:
    """One pair in n_splits of those between training nodes, drawn with `seed`; a symmetric mask."""
    mask = np.zeros((N, N), dtype=bool)
    draw = np.triu(np.random.default_rng(seed).random((len(train), len(train))) < 1 / n_splits, k=1)
    mask[np.ix_(train, train)] = draw | draw.T
    return mask


def held_out_metrics(truth: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """`pair_metrics` of pairs that are held out; NaN where a model gives no scores, or there are no pairs."""
    unknown = dict.fromkeys(("roc_auc", "average_precision", "early_precision"), np.nan)
    if not len(truth):
        return unknown | {"prevalence": np.nan, "n_pairs": 0, "n_links": 0}
    if np.isnan(scores).any():  # the model does not score such pairs
        return pair_metrics(truth, np.zeros(len(truth))) | unknown
    return pair_metrics(truth, scores)
