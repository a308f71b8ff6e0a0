"""h(x) = Σ_i β_i(x) ψ(y_i), β from the leaf of a tree that splits on the variance of the output kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._component import component
from iokr._validation.arguments import check_random
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.estimators.trees.base import OutputTrees
from iokr.estimators.trees.growing import grow

__all__ = ["OutputKernelTree"]


@component
class OutputKernelTree(OutputTrees):
    """Var(S) = (1/|S|) Σ_i k_Y(y_i, y_i) − (1/|S|²) Σ_ij k_Y(y_i, y_j): a tree that splits where this falls most.

    h(x) is the mean of ψ(y_i) over the leaf of x. Scikit-learn's tree is grown on coordinates Z of the outputs with
    Z Zᵀ = K_Y, where its criterion is this variance; equal outputs are embedded once. Without an output kernel the
    outputs are vectors, and the tree is scikit-learn's own.

    Parameters
    ----------
    output_kernel : Kernel, default=None
        On the outputs; None takes outputs as vectors, ψ(y) = y.
    splitter : {"best", "random"}, default="best"
        The best threshold of each feature, or one drawn at random.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_features, max_leaf_nodes
        As in scikit-learn's `DecisionTreeRegressor`.
    min_impurity_decrease, ccp_alpha : float, default=0.0
        As there, in units of Var: larger keeps fewer nodes.
    n_components : int, default=None
        The number of coordinates to split on; None takes all. Smaller is faster: the cost of a split is proportional
        to it. Predictions stay exact means of ψ(y_i) over the members of a leaf.
    tol : float, default=None
        The largest fraction of the variance that may be left out of the coordinates; larger is faster.
    projection : {"principal", "random"}, default="principal"
        Split on the `n_components` coordinates with the largest variance, or on random directions.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    tree_ : scikit-learn's Tree
        The nodes; `tree_.impurity` is Var in the coordinates used for splitting.
    lost_variance_ : float
        The fraction of the variance left out of these coordinates.
    feature_importances_ : array of shape (p,)
    output_kernel_, embedding_, decoder_ : fitted components
        The embedding holds the distinct outputs; `decision_function` gives weights on these.
    n_features_in_ : int

    Notes
    -----
    About n p r log n operations for n rows, p features and r coordinates, r at most the number of distinct outputs.
    X is converted to float32, as by scikit-learn's trees; NaN in X is a missing value. Trees are grown on the CPU;
    results are arrays of the library and on the device of X. Paper: Geurts, Wehenkel, d'Alché-Buc, ICML 2006.

    Examples
    --------
    >>> from iokr import OutputKernelTree
    >>> from iokr.kernels import Delta
    >>> tree = OutputKernelTree(Delta()).fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    >>> tree.predict([[0.4], [5.2]])
    array(['a', 'b'], dtype=object)
    >>> tree.weights([[0.4]])
    array([[0.5, 0.5, 0. , 0. ]])
    """

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OutputKernelTree:
        """Grow the tree.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
        sample_weight : array of shape (n,), default=None
            A weight of 2 is equivalent to the row twice, except for `min_samples_split` and `min_samples_leaf`, which
            count rows.

        Returns
        -------
        self
        """
        progress = begin(self, 0, X=X, y=y)
        data = self._prepare(X, y, sample_weight)
        directions, lost = data.space.directions(check_random(self.random_state))
        Z = data.space.project(data.space.Z, directions)[data.which]
        partition = grow(data.X, Z, data.weight, self._tree_parameters(), self.random_state, data.rows)
        self._keep_trees([partition], [lost])
        self.tree_ = partition.tree
        end(progress, self, X=X, y=y)
        return self

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of each row, (m,), by node number."""
        return np.asarray(self._leaves(X)[:, 0])
