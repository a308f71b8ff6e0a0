"""Selection of kernel, output kernel, manifold and alpha for link prediction, by leave-one-out or node folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from iokr._array import Array, asarray_like, gemm, take_rows, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import one_of
from iokr.data.objects import take
from iokr.decoders.base import Identity
from iokr.estimators.areas import SCORINGS, AreaRule, areas_by_name
from iokr.estimators.links.evaluate import LinkFold, LinkGrid, check_link_grid, leave_nodes_out, on_node_folds
from iokr.estimators.links.network import LinkData, Network, fit_output_kernel
from iokr.estimators.links.predictor import LinkRegression
from iokr.estimators.outputs import encode
from iokr.estimators.progress import CallbackSupportMixin, Progress, begin, end, report, with_callbacks
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.regression.posing import Data, Fit, TrainingSet, check_data, solve
from iokr.estimators.search.engine import cv_results, n_points, select
from iokr.estimators.search.result import ALPHAS, SearchResult, drop_single_axes
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.model_selection.nodes import TooFewLinks, node_folds
from iokr.solvers.base import Solver

__all__ = ["LinkPredictorCV"]


@component
class LinkPredictorCV(CallbackSupportMixin, LinkRegression):  # type: ignore[misc]
    """argmax over kernels, K_Y, manifolds, μ and α of the AUC of ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩ over labelled pairs.

    One factorisation per kernel (and manifold and, with a strong penalty, manifold weight) is reused for every output
    kernel and every alpha. The output kernel is held fixed in leave-one-out. It was computed from all links, also those
    of the node left out, so the scores are optimistic: use them to choose, not to report. `cv=5` recomputes the output
    kernel from the links of each training fold instead, for any loss.

    With few known links the largest AUC is mostly noise, so alpha is averaged: with r(α) the score along the path and s
    its standard error, log α is the mean of log α under the weights w(α) = m(α) exp((r(α) − max r)/s). m(α) are the
    degrees of freedom Σ s_l/(s_l + α) that are lost near α, s_l the eigenvalues of K on labelled nodes: values outside
    the spectrum, where the solution does not depend on alpha, have no weight, however wide the grid is. Kernel, output
    kernel, manifold and manifold weight are those with the largest mean of r under w. With many links s is small, and
    the choice that of the largest score, which `rule="best"` always takes.

    Parameters
    ----------
    kernel : Kernel, or a list of them, default=None
        As in `LinkPredictor`; a list is searched.
    alphas, manifold_weights :
        As in `IOKRCV`; every weight is combined with every manifold.
    scoring : {"roc_auc", "average_precision", "both"}, default="roc_auc"
        "both" maximises σ(½[logit r + logit p]), the logistic mean of the two areas r and p.
    rule : {"averaged", "best"}, default="averaged"
        Weigh scores by their standard error, or choose the largest. For the area under the ROC curve s is that of
        Hanley and McNeil, for the average precision √(p(1−p)/number of links).
    cv : int, splitter of nodes or None, default=None
        None is leave-one-out in closed form (quadratic losses); an integer is `NodeKFold(cv)`, scored on pairs with a
        node of the fold.
    output_kernel, manifold :
        As in `LinkPredictor`, or lists of them, such as `[Normalized(Diffusion(beta)) for beta in (0.3, 1, 3)]`.
    loss, solver :
        As in `LinkPredictor`.

    Attributes
    ----------
    alpha_ : float
        With `rule="averaged"` between the values of `alphas`.
    manifold_weight_ : float
        The selected weight of the manifold; 0 without a manifold.
    search_ : SearchResult
        The scores on named axes, all of them kept, those of each fold, and the choice.
    best_index_ : tuple of int
        Index of the choice; for an averaged alpha, of the nearest of `alphas`.
    scores_ : array
        Axes kernel × output kernel × manifold × manifold weight × alpha, axes of length one dropped.
    areas_ : dict of str to array
        "roc_auc" and "average_precision" at the same indices, for every `scoring`.
    freedom_ : array
        m(α) at the same indices.
    cv_results_ : dict
        The scores as a table, `pandas.DataFrame(model.cv_results_)`, in the form of scikit-learn's searches.
    interrupted_ : bool
        True if the search was interrupted (Ctrl-C); unknown scores are then NaN.
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
    >>> model.kernel_, round(model.alpha_, 2)
    (RBF(gamma=1.0), 0.01)
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = ALPHAS
    manifold_weights: Sequence[float] | None = None
    scoring: str = "roc_auc"
    rule: str = "averaged"
    cv: Any = None
    output_kernel: Any = None
    loss: Loss | None = None
    manifold: Any = None
    solver: Solver | None = None

    limits: ClassVar[Limits] = {"scoring": one_of(*SCORINGS), "rule": one_of("averaged", "best")}
    _listable: ClassVar[tuple[str, ...]] = ("output_kernel", "manifold")

    cv_results_ = cv_results

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, adjacency: Any, labeled: Any = None, progress: Progress | None = None) -> LinkPredictorCV:
        """Select, and learn h from the links between labelled nodes.

        Parameters
        ----------
        X, adjacency, labeled :
            As in `LinkPredictor.fit`.
        progress : callable, default=None
            Called as `progress(done, total, what)` each time that a point of the grid is scored.
        """
        self._check_components()
        grid = check_link_grid(self.kernel, self.output_kernel, self.manifold, self.manifold_weights, self.alphas)
        n_folds = 1 if self.cv is None else int(node_folds(self.cv).get_n_splits(X))
        context = begin(self, n_points(grid.axes) * n_folds, X=X, y=None)
        links = self._prepare(X, adjacency, labeled, grid.kernels)
        n = len(links.network.labeled)
        n_pairs, n_links = n * (n - 1) // 2, links.network.graph.nnz // 2
        if n_links == n_pairs:
            raise TooFewLinks("Scores need linked and unlinked pairs, but all pairs of labelled nodes are linked.")
        rule = AreaRule(self.scoring, self.rule, n_links, n_pairs - n_links)
        fitted = [fit_output_kernel(kernel, links.network) for kernel in grid.output_kernels]
        some = next((manifold for manifold in grid.manifolds if manifold is not None), None)
        model = IOKR(grid.kernels[0], loss=self.loss, manifold=some, solver=self.solver, intercept=False)
        X_unlabeled = None if some is None else links.X_unlabeled
        given = check_data(model, links.X_labeled, fitted[0][1], None, X_unlabeled, grid.kernels[0])
        targets = [self._encode(replace(given, y=asarray_like(V, given.y))) for _, V in fitted]
        data = partial(_without_penalty, targets)
        if self.cv is None:
            evaluate = leave_nodes_out(grid, data, links.network.pairs(), rule, self.solver)
        else:
            evaluate = on_node_folds(grid, data, self._folds(links, grid), rule, self.solver)

        def solve_best(found: SearchResult) -> Fit:
            i, b, m, j, _ = found.best_index
            manifold = grid.manifolds[m]
            return solve(
                data(b, manifold),
                grid.kernels[i],
                found.best["alpha"],
                manifold=manifold,
                manifold_weight=grid.manifold_weights[m][j],
                solver=self.solver,
            )

        found = select(
            self,
            grid.axes,
            evaluate,
            rule=rule,
            solve=solve_best,
            n_folds=n_folds,
            progress=report(context, self, progress),
        )
        self.freedom_ = drop_single_axes(found.measures["freedom"])[0]
        i, b, m, _, _ = found.best_index
        fit = found.solution
        self.alpha_ = fit.alpha
        self.manifold_weight_ = fit.manifold_weight
        manifold = grid.manifolds[m]
        if manifold is not None:
            manifold = clone(manifold).set_params(weight=fit.manifold_weight)
        model.set_params(kernel=grid.kernels[i], alpha=fit.alpha, manifold=manifold)
        model._set_fit(data(b, manifold), fit)
        self._set_fit(links, fitted[b][0], model)
        self.kernel_ = model.kernel_
        end(context, self, X=X, y=None)
        return self

    def _encode(self, given: TrainingSet) -> Data:
        return Data(given, *encode(given.y, loss=self.loss, decoder=Identity()))

    def _folds(self, links: LinkData, grid: LinkGrid) -> Iterator[LinkFold]:
        """Training nodes of each fold, and the areas of pairs with a held-out node."""
        if links.pairwise:
            raise ValueError(
                "`cv` needs the Gram matrix of all nodes: use `Precomputed(matrix)` and node numbers as X."
            )
        labeled, graph = links.network.labeled, links.network.graph
        n = len(labeled)
        X = links.X_labeled
        linked = graph.toarray() > 0
        semi = any(manifold is not None for manifold in grid.manifolds)
        for train, test in node_folds(self.cv).split(np.arange(n)):
            new = np.isin(np.arange(n), test)
            rows, columns = np.nonzero(np.triu(new[:, None] | new[None, :], k=1))
            truth = linked[rows, columns]
            # scores are computed for rows of held-out nodes only: one of these, then the other node of each pair
            held_out = np.where(new[rows], rows, columns)
            where = np.searchsorted(np.flatnonzero(new), held_out), rows + columns - held_out
            part = graph[train][:, train]
            if part.nnz == 0 or not truth.any() or truth.all():
                continue
            network = Network(links.network.n_nodes, labeled[train], part)
            others = take(links.X, network.unlabeled) if semi else None
            V = [fit_output_kernel(kernel, network)[1] for kernel in grid.output_kernels]
            given = TrainingSet(take(X, train), None, X_unlabeled=others)
            targets = [self._encode(replace(given, y=asarray_like(v, X))) for v in V]
            data = partial(_without_penalty, targets)
            yield LinkFold(data, X, partial(_new_areas, truth, np.flatnonzero(new), where))


def _without_penalty(targets: list[Data], b: int, manifold: Manifold | None) -> Data:
    """The data of an output kernel; without a manifold unlabelled nodes are left out."""
    data = targets[b]
    if manifold is None:
        data = replace(data, rows=replace(data.rows, X_unlabeled=None))
    return data


def _new_areas(truth: np.ndarray, new: np.ndarray, where: tuple[np.ndarray, np.ndarray], H: Array) -> dict[str, float]:
    """Both areas of pairs with a held-out node."""
    return areas_by_name(truth, to_numpy(gemm(take_rows(H, new), H))[where])
