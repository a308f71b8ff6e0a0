"""Gradient boosting in the feature space of the outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, is_sparse, row_sq_norms
from iokr._component import component
from iokr._validation.arguments import check_integer, check_number, check_random
from iokr.estimators.progress import begin, end, track, with_callbacks
from iokr.estimators.trees.base import OutputTrees, TreeData, fractions
from iokr.estimators.trees.growing import Partition, grow, indicator, leaf_weights

__all__ = ["OutputKernelBoosting", "Stage"]


@dataclass(frozen=True)
class Stage:
    """One step of boosting."""

    partition: Partition  # its tree
    values: np.ndarray  # ν times the mean residual of the members of each node
    leaf_weights: csr_array  # of these members

    def _stored(self) -> dict[str, Any]:
        return {"partition": self.partition, "values": self.values, "leaf_weights": self.leaf_weights}


@component
class OutputKernelBoosting(OutputTrees):
    """h_t(x) = h_{t−1}(x) + ν · mean of ψ(y_i) − h_{t−1}(x_i) over the leaf of x in tree t, h_0 the mean of ψ(y_i).

    Gradient boosting of ½‖ψ(y) − h(x)‖²: each tree splits where the variance of the residuals in the output feature
    space decreases most. With ν ≤ 1 and without `subsample` the training error never rises.

    Parameters
    ----------
    output_kernel : Kernel, default=None
        On the outputs; None takes outputs as vectors, ψ(y) = y.
    learning_rate : float, default=0.1
        ν > 0: smaller needs more trees and usually predicts better.
    n_estimators : int, default=100
        The number of trees; more fit the training rows more closely.
    subsample : float, default=1.0
        The fraction of the rows, drawn without replacement, that each tree is grown on; below 1 the trees differ more.
    max_depth : int, default=3
    splitter, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, max_leaf_nodes
        As in scikit-learn's `DecisionTreeRegressor`.
    min_impurity_decrease, ccp_alpha : float, default=0.0
        As there, in units of the variance of the residuals: larger keeps fewer nodes.
    n_components, tol, projection
        As in `OutputKernelTree`: split on fewer coordinates. Each tree draws its own random directions.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    trees_ : list of scikit-learn's Tree
    train_errors_ : array of shape (n_estimators + 1,)
        Mean of ‖ψ(y_i) − h_t(x_i)‖² over all training rows, t = 0, 1, ...
    oob_improvement_ : array of shape (n_estimators,)
        With `subsample` below 1: the decrease of this mean by tree t over the rows that it did not draw.
    lost_variance_ : float
        The fraction of the variance left out of the coordinates used for splitting, a mean over trees.
    feature_importances_ : array of shape (p,)
    output_kernel_, embedding_, decoder_ : fitted components
    n_features_in_ : int

    Notes
    -----
    A step costs a tree of this depth on r coordinates, and n d operations for d distinct outputs (q for vectors).
    β(x) may be negative; it sums to one. Paper: Geurts, Wehenkel, d'Alché-Buc, ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import OutputKernelBoosting
    >>> from iokr.kernels import RBF
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> model = OutputKernelBoosting(RBF(), n_estimators=20, random_state=0).fit(X, np.sin(6 * X))
    >>> bool(np.all(np.diff(model.train_errors_) <= 0))
    True
    >>> round(model.score(X, np.sin(6 * X)), 2)
    0.96
    """

    _: KW_ONLY
    learning_rate: float = 0.1
    n_estimators: int = 100
    subsample: float = 1.0
    max_depth: int | None = 3

    def _stored(self) -> dict[str, Any]:
        return {"sample_weight": self._normalized_weight, "step": self._nu, "stages": self._stages}

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OutputKernelBoosting:
        """Grow the trees, one after the other.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        n_trees = self._check_boosting()
        progress = begin(self, n_trees, X=X, y=y)
        data = self._prepare(X, y, sample_weight)
        w = data.normalized_weight
        self._normalized_weight = w
        self._nu = float(self.learning_rate)
        Psi = self.Psi_.toarray() if is_sparse(self.Psi_) else self.Psi_
        self.mean_ = w @ Psi
        R = Psi - self.mean_  # residuals, as vectors or as weights of the distinct outputs
        E = data.space.Z[data.which]
        E = E - w @ E  # the same residuals in orthonormal coordinates
        errors = [float(w @ row_sq_norms(E))]
        gains = []
        lost = []
        self._stages: list[Stage] = []
        rng = check_random(self.random_state)
        for _ in track(progress, self, range(n_trees), "tree"):
            bag = self._bag(data, rng)
            directions, unseen = data.space.directions(rng)
            seed = rng.randint(np.iinfo(np.int32).max)
            Z = data.space.project(E, directions)
            partition = grow(data.X, Z, bag, self._tree_parameters(), seed, data.rows)
            B = leaf_weights([partition])
            values = self._nu * (B @ R)
            self._stages.append(Stage(partition, values, B))
            before = row_sq_norms(E)
            R -= values[partition.leaf]
            E -= (self._nu * (B @ E))[partition.leaf]
            after = row_sq_norms(E)
            errors.append(float(w @ after))
            lost.append(unseen)
            out = np.where(partition.weight == 0, w, 0.0)
            gains.append(float(out @ (before - after)) / max(float(out.sum()), np.finfo(float).tiny))
        self.trees_ = [stage.partition.tree for stage in self._stages]
        self.train_errors_ = np.array(errors)
        self.lost_variance_ = float(np.mean(lost))
        self.__dict__.pop("oob_improvement_", None)  # of an earlier fit
        if self.subsample < 1:
            self.oob_improvement_ = np.array(gains)
        end(progress, self, X=X, y=y)
        return self

    def _check_boosting(self) -> int:
        """Check the parameters that a single tree does not have; the number of trees."""
        n_trees = check_integer(self.n_estimators, "n_estimators", minimum=1)
        nu = check_number(self.learning_rate, "learning_rate", minimum=0.0, strict=True)
        if nu >= 2:  # residuals of the training rows are multiplied by |1 − ν|
            raise ValueError(f"`learning_rate` must be below 2, otherwise residuals grow, got {nu:g}.")
        if check_number(self.subsample, "subsample", minimum=0.0, strict=True) > 1:
            raise ValueError(f"`subsample` must be a fraction of the rows, at most 1, got {self.subsample!r}.")
        return n_trees

    def _bag(self, data: TreeData, rng: np.random.RandomState) -> np.ndarray | None:
        """The weights of the rows that a tree is grown on."""
        if self.subsample == 1:
            return data.weight
        known = np.flatnonzero(data.normalized_weight)
        drawn = rng.choice(known, max(1, int(self.subsample * len(known))), replace=False)
        bag = np.zeros(data.n)
        bag[drawn] = 1.0 if data.weight is None else data.weight[drawn]
        return bag

    def _values(self, X: Any) -> Array:
        *_, H = self._staged(X)
        return asarray_like(H, X)

    def _staged(self, X: Any) -> Iterator[np.ndarray]:
        """h_0, h_1, ...: one array, changed in place."""
        rows = self._rows(X)
        H = np.tile(self.mean_, (rows.shape[0], 1))
        yield H
        for stage in self._stages:
            H += stage.values[stage.partition.tree.apply(rows)]
            yield H

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """h_t(x) in the embedding's coordinates, (m, q), for t = 0, 1, ..."""
        for H in self._staged(X):
            yield self._cast(asarray_like(H.copy(), X))

    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i): G + (1 − G1) w̄ᵀ, where from the last tree to the first
        G ← G + ν (p_t(x) − G P_t) B_t.

        p_t(x) and the rows of P_t indicate the leaves of x and of the training rows, B_t are the weights of the members
        of each leaf, w̄ = w/Σw.
        Rows sum to one.
        """
        rows = self._rows(X)
        G = np.zeros((rows.shape[0], len(self._normalized_weight)))
        for stage in reversed(self._stages):
            tree = stage.partition.tree
            starts = np.array([0, tree.node_count])
            P = indicator(stage.partition.leaf[:, None], starts)
            leaf = indicator(tree.apply(rows)[:, None], starts)
            G += self._nu * ((leaf.toarray() - G @ P) @ stage.leaf_weights)
        return self._cast(asarray_like(G + (1 - G.sum(axis=1))[:, None] * self._normalized_weight, X))

    @property
    def feature_importances_(self) -> np.ndarray:
        """The fraction of the decrease of variance due to each feature, (p,), summing to one."""
        check_is_fitted(self)
        return fractions(np.mean([tree.compute_feature_importances(normalize=False) for tree in self.trees_], axis=0))
