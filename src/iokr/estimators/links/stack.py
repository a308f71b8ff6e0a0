"""Σ_m w_m t_m(s_m(u, v)): a weighted mean of several models of links, with weights from held-out nodes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, to_numpy
from iokr._component import Component, component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_choice, check_integer
from iokr.estimators.areas import AREAS, SCORINGS, areas_of, score_of
from iokr.estimators.inputs import is_pairwise
from iokr.estimators.links.network import Network, check_network
from iokr.estimators.links.ranking import fit_logistic
from iokr.model_selection.nodes import TooFewLinks, node_folds

__all__ = ["LinkStack"]

_LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 1025), 1 - np.logspace(-2, -7, 1024)]))  # of ranks, fine near 1
_MOST_NODES = 1000  # labelled nodes whose scores define the ranks, or the mean and deviation, of a model
_STEPS = 20  # of the search for weights of ranks: multiples of 1/20


@component
class LinkStack(Component):
    """s(u, v) = Σ_m w_m t_m(s_m(u, v)), w ≥ 0: the weighted mean of models of links that use different information.

    Scores of two models have different scales. t_m makes them comparable: the rank of a score among those between the
    labelled nodes, at most a thousand of them ("ranks"), or the log-odds of a link given the score ("logits"). The
    weights have the best areas ("ranks") or the smallest log loss ("logits") on pairs of a known and a held-out node.

    Parameters
    ----------
    models : sequence of models of links
        `LinkPredictor`, `LinkPredictorCV`, `PairLinkPredictor`, baselines, or any other with
        `fit(X, adjacency, labeled)` and `decision_function(X1, X2)`.
    combine : {"ranks", "logits"}, default="ranks"
    scoring : {"roc_auc", "average_precision", "both"}, default="both"
        The score that weights of ranks maximise; "both" is the logistic mean of the areas, as in `LinkPredictorCV`.
    cv : int, splitter of nodes or None, default=5
        Folds of nodes that are held out with all their links; every model is refitted on each. None leaves nodes out in
        closed form, for models that all have `loo_decision_function`: one fit, but the output kernel of `LinkPredictor`
        was computed from all links, so that its weight is optimistic.

    Attributes
    ----------
    models_ : list
        Fitted on all labelled nodes; None in place of a model with weight zero.
    weights_ : array of shape (number of models,)
        Sum to one for "ranks".
    areas_ : dict of str to array
        "roc_auc" and "average_precision" on held-out nodes, of each model and, last, of the stack (optimistic, as its
        weights were chosen there).
    slopes_ : array of shape (number of models,), or None
        Log-odds are linear in each score: s(u, v) is Σ_m slopes_m s_m(u, v) plus a constant. None for ranks.
    logistic_ : tuple of float
        (a, b) of `link_probability`.
    labeled_ : array of shape (n,)
    links_ : array of shape (k, 2)
        The known links.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import LinkPredictor, LinkStack
    >>> from iokr.kernels import RBF
    >>> from iokr_lab.baselines import TPPK
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> distance = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    >>> adjacency = (distance < 0.5) - np.eye(60)
    >>> stack = LinkStack([LinkPredictor(RBF(1.0), alpha=0.1), TPPK(RBF(1.0))]).fit(X[:40], adjacency[:40, :40])
    >>> stack.decision_function(X[40:]).shape, round(float(stack.weights_.sum()), 6)
    ((20, 40), 1.0)
    """

    models: Sequence[Any]
    _: KW_ONLY
    combine: str = "ranks"
    scoring: str = "both"
    cv: Any = 5

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkStack:
        """Weigh the models on held-out nodes, fit those with a positive weight; arguments as in `LinkPredictor.fit`."""
        network = check_network(X, adjacency, labeled)
        return self._learn(X, network, self._weigh(X, network))

    def weigh(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkStack:
        """The first half of `fit`: the weights, from held-out nodes; no model is fitted on all nodes."""
        self._weigh(X, check_network(X, adjacency, labeled))
        return self

    def learn(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkStack:
        """The second half of `fit`: models with a positive weight are fitted, on the nodes of `weigh` or on others."""
        check_is_fitted(self, "weights_")
        return self._learn(X, check_network(X, adjacency, labeled))

    def _weigh(self, X: Any, network: Network) -> list[Any] | None:
        """The weights; the fitted models, if they were needed for the weights."""
        models = self._check_models()
        linked = network.graph.toarray() > 0
        if linked[np.triu_indices(len(linked), k=1)].all():
            raise TooFewLinks("Scores need linked and unlinked pairs, but all pairs of labelled nodes are linked.")
        fitted = None
        if self.cv is None:
            fitted = [clone(model).fit(X, network.graph, labeled=network.labeled) for model in models]
            truth, scores = self._closed(fitted, linked)
        else:
            truth, scores = self._folds(models, X, network, linked)
        self.lines_ = None
        T = scores
        if self.combine == "logits":
            self.lines_ = np.array([fit_logistic(truth, s) for s in scores])
            T = scores * self.lines_[:, :1] + self.lines_[:, 1:]
        self.weights_ = self._weights(truth, T)
        areas = np.array([areas_of(truth, t) for t in (*T, self.weights_ @ T)]).T
        self.areas_ = dict(zip(AREAS, areas, strict=True))
        self.logistic_ = fit_logistic(truth, self.weights_ @ T)
        return fitted

    def _learn(self, X: Any, network: Network, fitted: list[Any] | None = None) -> LinkStack:
        """Fit the models with a positive weight, unless they are fitted."""
        self.labeled_ = network.labeled
        self.links_ = network.links()
        n = len(self.labeled_)
        some = self.labeled_[np.linspace(0, n - 1, min(_MOST_NODES, n)).astype(int)]
        if fitted is None:
            fitted = [
                clone(model).fit(X, network.graph, labeled=network.labeled) if w else None
                for model, w in zip(self.models, self.weights_, strict=True)
            ]
        self.models_: list[Any] = [model if w else None for model, w in zip(fitted, self.weights_, strict=True)]
        self.units_: list[Any] = [None if model is None else self._unit(_among(model, some)) for model in self.models_]
        self.slopes_: Any = None
        if self.lines_ is not None:
            deviations = [1.0 if unit is None else unit["deviation"] for unit in self.units_]
            self.slopes_ = self.weights_ * self.lines_[:, 0] / deviations
        return self

    def _check_models(self) -> list[Any]:
        """The models, each with the interface of a link predictor."""
        check_choice(self.combine, "combine", ("ranks", "logits"))
        check_choice(self.scoring, "scoring", SCORINGS)
        if isinstance(self.models, str) or not isinstance(self.models, Sequence) or not self.models:
            raise TypeError(f"`models` must be a sequence of at least one model of links, got {self.models!r:.60}.")
        for model in self.models:
            arguments = list(inspect.signature(model.fit).parameters) if hasattr(model, "fit") else []
            if isinstance(model, type) or arguments[1:3] != ["adjacency", "labeled"]:
                raise TypeError(
                    "`models` must have `fit(X, adjacency, labeled)` and `decision_function(X1, X2)`, as "
                    f"`LinkPredictor` has, got {model!r:.60}."
                )
            if is_pairwise(getattr(model, "kernel", None)):
                raise ValueError(
                    "`Precomputed()` does not support held-out nodes: use `Precomputed(matrix)`, and numbers as X."
                )
            if self.cv is None and not hasattr(model, "loo_decision_function"):
                raise ValueError(f"{model!r:.60} has no `loo_decision_function`; set `cv=5`.")
        return list(self.models)

    def _closed(self, fitted: list[Any], linked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether pairs of labelled nodes are linked, and their scores without their nodes' labels, in common units."""
        pairs = np.triu_indices(len(linked), k=1)
        left_out = [to_numpy(model.loo_decision_function()).astype(float) for model in fitted]
        return linked[pairs], np.stack([self._in_units(S[pairs], self._unit(S)) for S in left_out])

    def _folds(self, models: list[Any], X: Any, network: Network, linked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether pairs of a known and a held-out node are linked, and their scores by each model, in common units."""
        truth, scores = [], []
        for train, test in node_folds(self.cv).split(np.arange(len(linked))):
            part = network.graph[train][:, train]
            if part.nnz == 0:
                continue
            rows = []
            for model in models:
                one = clone(model).fit(X, part, labeled=network.labeled[train])
                S = _among(one, network.labeled)
                rows.append(self._in_units(S[np.ix_(test, train)].ravel(), self._unit(S[np.ix_(train, train)])))
            truth.append(linked[np.ix_(test, train)].ravel())
            scores.append(np.stack(rows))
        known = np.concatenate(truth) if truth else np.zeros(0, dtype=bool)
        if not known.any() or known.all():
            raise TooFewLinks("No fold has links to learn from and links to find; use fewer folds.")
        return known, np.concatenate(scores, axis=1)

    def _in_units(self, s: np.ndarray, unit: dict[str, Any]) -> np.ndarray:
        """The rank of a score among those of labelled nodes, or the score standardised by their mean and deviation."""
        if self.combine == "ranks":
            return np.asarray(np.interp(s, unit["quantiles"], _LEVELS))
        return np.asarray((s - unit["mean"]) / unit["deviation"])

    def _unit(self, S: np.ndarray) -> dict[str, Any]:
        """Quantiles (for ranks), or mean and deviation (for log-odds), of the scores between different nodes."""
        s = S[np.triu_indices(len(S), k=1)]
        s = s[~np.isnan(s)]
        if self.combine == "ranks":
            return {"quantiles": np.quantile(s, _LEVELS)}
        return {"mean": float(s.mean()), "deviation": float(s.std()) or 1.0}

    def _weights(self, truth: np.ndarray, T: np.ndarray) -> np.ndarray:
        if len(T) == 1:
            return np.ones(1)
        if self.combine == "logits":
            return _by_log_loss(truth, T)
        return _by_areas(truth, T, self.scoring)

    def decision_function(self, X1: Any = None, X2: Any = None) -> Array:
        """Σ_m w_m t_m(s_m(u, v)), (m1, m2), for nodes of X1 and of X2; None is the nodes of `fit`. Higher: a link."""
        check_is_fitted(self, "models_")
        total: Any = 0.0
        for m in np.flatnonzero(self.weights_):
            S = self.models_[m].decision_function(X1, X2)
            t = self._in_units(to_numpy(S).astype(float), self.units_[m])
            if self.lines_ is not None:
                t = self.lines_[m, 0] * t + self.lines_[m, 1]
            total = total + self.weights_[m] * t
        return asarray_like(total, S)

    def link_probability(self, X1: Any = None, X2: Any = None) -> Array:
        """σ(a s(u, v) + b), (m1, m2): the probability of a link, calibrated on held-out nodes, without a guarantee."""
        scores = self.decision_function(X1, X2)
        a, b = self.logistic_
        return asarray_like(1 / (1 + np.exp(-(a * to_numpy(scores) + b))), scores)

    def predict_links(
        self, X1: Any = None, X2: Any = None, *, top: int = 100, known: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """The `top` pairs most likely to be linked, best first, and their scores; as in `LinkPredictor`."""
        check_is_fitted(self, "models_")
        check_integer(top, "top", minimum=1)
        S = to_numpy(self.decision_function(X1, X2))
        m1, m2 = S.shape
        check_matrix(m1, m2, None, 2.0, "An order of all pairs")
        listed = ~np.isnan(S)
        if X2 is X1:
            listed = np.triu(listed, k=1)
        if X1 is None and X2 is None and not known:
            listed[self.links_[:, 0], self.links_[:, 1]] = False
        i, j = np.nonzero(listed)
        order = np.argsort(-S[i, j], kind="stable")[:top]
        return np.column_stack([i[order], j[order]]), S[i[order], j[order]]


def _among(model: Any, nodes: np.ndarray) -> np.ndarray:
    """Scores between some of the nodes of `fit`; baselines without `scores_among` compute those of all nodes."""
    if hasattr(model, "scores_among"):
        S = to_numpy(model.scores_among(nodes))
    else:
        S = to_numpy(model.decision_function())[np.ix_(nodes, nodes)]
    return np.asarray(S, dtype=float)


def _by_areas(truth: np.ndarray, T: np.ndarray, scoring: str) -> np.ndarray:
    """Multiples of 1/20 that sum to one: each step adds the model that makes the areas of the sum largest."""
    counts = np.zeros(len(T))
    total = np.zeros(T.shape[1])
    best = -np.inf
    kept = counts
    for _ in range(_STEPS):
        scores = [float(score_of(scoring, areas_of(truth, total + t))) for t in T]
        m = int(np.argmax(scores))
        counts = counts + (np.arange(len(T)) == m)
        total = total + T[m]
        if scores[m] > best:
            best = scores[m]
            kept = counts
    return np.asarray(kept / kept.sum())


def _by_log_loss(truth: np.ndarray, T: np.ndarray) -> np.ndarray:
    """w ≥ 0 with the smallest log loss of σ(Σ w_m t_m + b)."""
    from scipy.optimize import minimize

    y, n = truth.astype(float), len(truth)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = w[:-1] @ T + w[-1]
        residual = 1 / (1 + np.exp(-np.clip(z, -500, 500))) - y
        value = float(np.mean(np.logaddexp(0.0, z) - y * z))
        return value, np.append(T @ residual, residual.sum()) / n

    start = np.append(np.full(len(T), 1 / len(T)), 0.0)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(T) + [(None, None)])
    w = np.asarray(found.x[:-1])
    return w if w.sum() > 0 else start[:-1]
