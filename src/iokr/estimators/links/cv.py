"""Selection of kernel, strength and alpha for link prediction: leave-one-out AUC in closed form, or node folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array, asarray_like, gemm, is_array, take_rows, to_numpy
from iokr._component import component
from iokr._objects import take
from iokr._validation import check_choice
from iokr.decoders.identity import Identity
from iokr.estimators.links.network import LinkData, Network, fit_output_kernel
from iokr.estimators.links.predictor import LinkRegression
from iokr.estimators.outputs import encode
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.regression.posing import Data, Given, check_data
from iokr.estimators.regression.selection import (
    ALPHAS,
    Fold,
    check_grid,
    drop_single_axes,
    select_by_folds,
    select_by_leave_one_out,
    solve_best,
)
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.metrics.pairs import pair_metrics
from iokr.model_selection.nodes import node_folds
from iokr.solvers.base import Path, Solver

__all__ = ["LinkPredictorCV", "both_areas"]

_AREAS = ("roc_auc", "average_precision")


def both_areas(roc_auc: Any, average_precision: Any) -> Any:
    """σ(½[logit r + logit p]) = √(rp) / (√(rp) + √((1−r)(1−p))), the logistic mean of the areas r and p.

    The area under the ROC curve lies between ½ and 1 and moves by hundredths; that under the precision-recall curve
    starts from the prevalence and moves by multiples. Odds put them on one scale: doubling those of a link before
    another pair counts as much as doubling those of a link among the pairs that are named.
    """
    r, p = np.asarray(roc_auc), np.asarray(average_precision)
    good, bad = np.sqrt(r * p), np.sqrt((1 - r) * (1 - p))
    return good / (good + bad)


def _areas(linked: np.ndarray, scores: np.ndarray) -> list[float]:
    """Both areas, from one sort."""
    metrics = pair_metrics(linked, scores)
    return [metrics[name] for name in _AREAS]


def _with_criterion(scoring: str, areas: np.ndarray) -> np.ndarray:
    """What is minimised, in a first row before those of the two areas."""
    score = both_areas(*areas) if scoring == "both" else areas[_AREAS.index(scoring)]
    return np.stack([-score, *areas])


def _leave_one_out_areas(
    scoring: str, pairs: tuple[np.ndarray, np.ndarray, np.ndarray], path: Path, targets: Array, alphas: Sequence[float]
) -> np.ndarray:
    """The criterion and the areas of ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩ over labelled pairs, a column per alpha."""
    rows, columns, linked = pairs
    found = []
    for alpha in alphas:
        H = targets - path.loo_residuals(targets, alpha)
        found.append(_areas(linked, to_numpy(gemm(H, H))[rows, columns]))
    return _with_criterion(scoring, np.array(found).T)


@component
class LinkPredictorCV(LinkRegression):
    """argmax over kernel, μ and α of the AUC of ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩ over labelled pairs, in closed form.

    One factorisation per kernel (and, with a strong manifold penalty, per strength) is reused for every alpha. The
    output kernel is held fixed in leave-one-out, so it still knows the links of the node left out and the scores are
    optimistic: they are there to choose by. `cv=5` recomputes it from the links of each training fold instead, for any
    loss.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
        As in `LinkPredictor`; a list is searched.
    alphas, strengths :
        As in `IOKRCV`.
    scoring : {"roc_auc", "average_precision", "both"}, default="roc_auc"
        "both" maximises σ(½[logit r + logit p]), the logistic mean of the two areas r and p, for one model that is
        good by either.
    cv : int, splitter of nodes or None, default=None
        None is leave-one-out in closed form (quadratic losses); an integer is `NodeKFold(cv)`, scored on pairs with a
        node of the fold.
    output_kernel, loss, manifold, solver :
        As in `LinkPredictor`.

    Attributes
    ----------
    alpha_, strength_, best_index_ :
        As in `IOKRCV`, at the largest score.
    scores_ : array
        Axes kernel × strength × alpha, axes of length one dropped.
    areas_ : dict of str to array
        "roc_auc" and "average_precision" at the same indices, whatever `scoring`.
    labeled_, threshold_, model_, output_kernel_, n_features_in_ :
        As in `LinkPredictor`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import LinkPredictorCV
    >>> from iokr.kernels import RBF
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> adjacency = (abs(X - X.T) < 0.5) - np.eye(40)
    >>> model = LinkPredictorCV([RBF(0.01), RBF(1.0)], alphas=(0.01, 1.0)).fit(X, adjacency)
    >>> model.scores_.round(2)
    array([[0.94, 0.84],
           [1.  , 1.  ]])
    >>> model.kernel_, model.alpha_
    (RBF(gamma=1.0), 0.01)
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = ALPHAS
    strengths: Sequence[float] | None = None
    scoring: str = "roc_auc"
    cv: Any = None
    output_kernel: Kernel | None = None
    loss: Loss | None = None
    manifold: Manifold | None = None
    solver: Solver | None = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkPredictorCV:
        """Select, and learn h from the links between labelled nodes; arguments as in `LinkPredictor.fit`."""
        check_choice(self.scoring, "scoring", (*_AREAS, "both"))
        grid = check_grid(self.kernel, self.strengths, self.alphas, self.manifold)
        links = self._prepare(X, adjacency, labeled, grid.kernels)
        n = len(links.network.labeled)
        if links.network.graph.nnz == n * (n - 1):
            raise ValueError("Every two labelled nodes are linked, so no score tells links from other pairs.")
        model = IOKR(grid.kernels[0], loss=self.loss, manifold=self.manifold, solver=self.solver)
        X_unlabeled = None if self.manifold is None else links.X_unlabeled
        given = check_data(model, links.X_labeled, links.V, None, X_unlabeled, grid.kernels[0])
        data = Data(given, *encode(given.y, loss=self.loss, decoder=Identity()))
        parts: dict[str, Any] = {"manifold": self.manifold, "solver": self.solver}
        if self.cv is None:
            criterion = partial(_leave_one_out_areas, self.scoring, links.network.pairs())
            selected = select_by_leave_one_out(data, grid, criterion=criterion, **parts)
        else:
            sums, n_folds = select_by_folds(self._folds(links), grid, **parts)
            if not n_folds:
                raise ValueError("No fold has links to learn from and links to find; use fewer folds.")
            selected = solve_best(data, grid, _with_criterion(self.scoring, sums / n_folds), **parts)
        self.alpha_, self.strength_ = selected.fit.alpha, selected.fit.strength
        errors, *areas = (drop_single_axes(values, selected.index)[0] for values in selected.measures)
        _, self.best_index_ = drop_single_axes(selected.measures[0], selected.index)
        self.scores_, self.areas_ = np.asarray(-errors), dict(zip(_AREAS, areas, strict=True))
        manifold = None if self.manifold is None else clone(self.manifold).set_params(strength=self.strength_)
        model.set_params(kernel=grid.kernels[selected.index[0]], alpha=self.alpha_, manifold=manifold)
        model.keep(data, selected.fit)
        self._keep(links, model)
        self.kernel_ = self.model_.kernel_
        return self

    def _folds(self, links: LinkData) -> Iterator[Fold]:
        """Labelled nodes to learn from, and the areas of pairs with another one, whose links the model never saw."""
        if links.pairwise:
            raise ValueError("`cv` needs the Gram over all nodes: give `Precomputed(matrix)` and node numbers as X.")
        labeled, graph = links.network.labeled, links.network.graph
        n, X, linked = len(labeled), links.X_labeled, graph.toarray() > 0
        for train, test in node_folds(self.cv).split(np.arange(n)):
            new = np.isin(np.arange(n), test)
            rows, columns = np.nonzero(np.triu(new[:, None] | new[None, :], k=1))
            truth = linked[rows, columns]
            ours = np.where(new[rows], rows, columns)  # a node of the fold: only rows of these are scored
            where = np.searchsorted(np.flatnonzero(new), ours), rows + columns - ours
            part = graph[train][:, train]
            if part.nnz == 0 or not truth.any() or truth.all():
                continue
            network = Network(links.network.n_nodes, labeled[train], part)
            _, V = fit_output_kernel(self.output_kernel, network)
            others = None if self.manifold is None else take(links.X, network.unlabeled)
            given = Given(take(X, train), asarray_like(V, X) if is_array(X) else V, X_unlabeled=others)
            data = Data(given, *encode(given.y, loss=self.loss))
            yield Fold(data, X, partial(_new_areas, truth, np.flatnonzero(new), where))


def _new_areas(truth: np.ndarray, new: np.ndarray, where: tuple[np.ndarray, np.ndarray], H: Array) -> list[float]:
    """Both areas of pairs with a node of the fold."""
    return _areas(truth, to_numpy(gemm(take_rows(H, new), H))[where])
