"""Output-kernel trees on the nodes of a graph."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, take_rows, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_integer
from iokr.apps.links.baselines import LinkBaseline, Nodes
from iokr.estimators.trees.forest import OutputKernelForest
from iokr.kernels.base import Kernel
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.vectors import Linear
from iokr_lab.baselines.vectors import check_features, eigen_basis, node_vectors

__all__ = ["OK3"]


@component
class OK3(LinkBaseline):
    """s(u, v) = β(u)ᵀ K_Y β(v), β from extra-trees: the mean of K_Y over the labelled nodes in the leaves of u and v.

    `OutputKernelForest` is fitted to the features of the nodes and K_Y, the output kernel of the training graph. A
    labelled node falls in its own leaves, so scores between labelled nodes are optimistic.

    Parameters
    ----------
    kernel : Kernel, default=None
        None: trees split the vectors X. With a kernel on other objects they split its eigen-features
        diag(s)^(−½) Uᵀ k_u, K = U diag(s) Uᵀ; with one on indices of nodes, as `Precomputed(matrix)`, they split
        `features` if given.
    features : array or sparse matrix with a row for every node index, default=None
    output_kernel : Kernel, default=None
        Kernel on the nodes of the training graph; None is `Normalized(Diffusion(1.0))`.
    n_estimators : int, default=100
        Number of trees.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Number of features tried at each split.
    min_samples_leaf : int, default=1
        Minimal number of nodes in a leaf; larger values smooth more.
    n_components : int, default=None
        Number of coordinates of K_Y used for splits; smaller is faster.
    n_jobs : int, default=None
        Number of trees grown in parallel.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    forest_ : OutputKernelForest

    References
    ----------
    Geurts, Wehenkel, d'Alché-Buc, ICML 2006; Geurts, Touleimat, Dutreix, d'Alché-Buc, BMC Bioinformatics 8, 2007. The
    papers that compare with it do not give the numbers of trees and features; these defaults are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.baselines import OK3
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1], [0.2]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = OK3(random_state=0).fit(X, graph, labeled=[0, 1, 2, 3]).decision_function()
    >>> bool(scores[4, 0] > scores[4, 2])
    True
    """

    _: KW_ONLY
    features: Any = None
    output_kernel: Kernel | None = None
    n_estimators: int = 100
    max_features: int | float | str | None = "sqrt"
    min_samples_leaf: int | float = 1
    n_components: int | None = None
    n_jobs: int | None = None
    random_state: Any = None

    def _stored(self) -> dict[str, Any]:
        return {"basis": self._basis}

    def check_parameters(self) -> None:
        check_integer(self.n_estimators, "n_estimators", minimum=1)
        check_features(self.features, self.kernel)

    def input_kernel(self, kernel: Kernel) -> Kernel:
        if self.kernel is None:
            return Linear()  # represents vectors by themselves
        return super().input_kernel(kernel)

    def learn(self, K: Array, W: Array) -> None:
        self._basis = None
        if self.kernel is not None and self.features is None:
            self._basis = eigen_basis(K)
        K_Y = to_numpy(self.output_gram(self.output_kernel))
        self.forest_ = OutputKernelForest(
            Precomputed(K_Y),
            n_estimators=self.n_estimators,
            max_features=self.max_features,
            min_samples_leaf=self.min_samples_leaf,
            n_components=self.n_components,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(self._inputs(take_rows(self.R_fit_, self.labeled_), K), np.arange(len(K_Y)))

    def _inputs(self, R: Any, K: Array) -> Any:
        """The features that trees split: vectors of the nodes, or diag(s)^(−½) Uᵀ k_u."""
        return node_vectors(R, K, self.features, self._basis)

    def compare(self, U: Nodes, V: Nodes) -> Array:
        others = None if V is U else self._inputs(V.R, V.K)
        return asarray_like(self.forest_.similarities(self._inputs(U.R, U.K), others), self._border.home)
